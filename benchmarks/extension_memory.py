"""Memory of the extension: that of its process, beside the same process of an extension that does nothing."""

import shutil
from pathlib import Path

EMPTY_WORKER = """
chrome.runtime.onInstalled.addListener(() => undefined);
chrome.runtime.onMessage.addListener(() => undefined);
chrome.webNavigation.onCommitted.addListener(() => undefined);
chrome.webRequest.onBeforeRequest.addListener(() => undefined, { urls: ["http://*/*", "https://*/*"] });
const script = { id: "page", js: ["content/content.js"], matches: ["http://*/*", "https://*/*"] };
chrome.scripting.registerContentScripts([script]).catch(() => undefined)
  .finally(() => { self.ready = true });
"""


def empty_extension(ours: Path, folder: Path) -> Path:
    """Write an extension with our manifest, our pages without their scripts, and nothing else in it."""
    shutil.copytree(ours, folder, ignore=shutil.ignore_patterns("data"))
    for script in folder.rglob("*.js"):
        script.write_text(EMPTY_WORKER if script.name == "worker.js" else "", "utf-8")
    return folder


def extension_process(profile: Path) -> int:
    """Return the number of the process in which the extension of the browser with this profile runs."""
    found = [pid for pid in _below(_browser(profile)) if "--extension-process" in _processes().get(pid, "")]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} processes of extensions, not one")
    return found[0]


def megabytes(pid: int) -> float:
    """Return what a process alone has, and its share of what it has with others."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    raise RuntimeError("the kernel does not say")


def _browser(profile: Path) -> int:
    lines = _processes().items()
    return next(pid for pid, line in lines if f"--user-data-dir={profile}" in line and "--type=" not in line)


def _processes() -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
            except OSError:
                continue
    return found


def _below(pid: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return [one for child in children for one in (child, *_below(child))]
