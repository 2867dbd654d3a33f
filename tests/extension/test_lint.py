"""What can be said of the package without a browser: Mozilla's linter, the policy, the permissions."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .node import ROOT, needs, run

SOURCE = ROOT / "extension" / "src"
EXPLAINED = {
    # Firefox for Android learned of these two releases later. The extension is not offered for Android.
    ("KEY_FIREFOX_ANDROID_UNSUPPORTED_BY_MIN_VERSION", "manifest.json"),
}
FORBIDDEN = (
    r"\binnerHTML\b",
    r"\bouterHTML\b",
    r"\binsertAdjacentHTML\b",
    r"\bcreateContextualFragment\b",
    r"\bsetHTMLUnsafe\b",
    r"\bparseHTMLUnsafe\b",
    r"\bdocument\.write",
    r"\bDOMParser\b",
    r"\beval\s*\(",
    r"\bnew Function\b",
    r"\bimportScripts\b",
    r"\bimport\s*\(",
    r"""setTimeout\(\s*["'`]""",
)
ADDRESSES = {"https://eitr.example.org"}
"""The only address in the package: an example that a field shows while it is empty."""


@cache
def packages(folder: Path) -> Path:
    needs("esbuild", "third-party-web", "tldts", "web-ext")
    run("node", "extension/build.mjs", "--all", "--to", folder)
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packages(tmp_path_factory.mktemp("built"))


def manifest(built: Path, browser: str) -> dict[str, Any]:
    return json.loads((built / browser / "manifest.json").read_text("utf-8"))


def test_mozillas_linter_finds_no_errors_and_no_unexplained_warning(built):
    command = [ROOT / "node_modules/.bin/web-ext", "lint", "--source-dir", built / "firefox", "--output", "json"]
    done = subprocess.run([*command, "--no-config-discovery"], capture_output=True, text=True, timeout=180, check=False)
    found = json.loads(done.stdout)
    assert found["errors"] == []
    assert found["notices"] == []
    assert {(one["code"], one["file"]) for one in found["warnings"]} == EXPLAINED


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_no_text_becomes_markup_or_code(built, pattern):
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".ts", ".html")]
    files += [path for path in built.rglob("*") if path.suffix in (".js", ".html")]
    assert len(files) > 40
    assert [str(path) for path in files if re.search(pattern, path.read_text("utf-8"))] == []


def test_pages_hold_no_scripts_styles_or_handlers_of_their_own(built):
    pages = list((built / "chrome").rglob("*.html"))
    assert len(pages) == 6
    for page in pages:
        text = page.read_text("utf-8")
        assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", text) == []
        assert re.findall(r"""(?:src|href)="(?:https?:)?//""", text) == []


@pytest.mark.parametrize("browser", ["chrome", "firefox"])
def test_no_address_of_another_host_is_in_the_package(built, browser):
    files = [path for path in (built / browser).rglob("*") if path.suffix in (".js", ".html", ".css")]
    found = {
        address for path in files for address in re.findall(r"(?:https?|wss?)://[\w.-]+\.\w+", path.read_text("utf-8"))
    }
    assert found - ADDRESSES == set()


@pytest.mark.parametrize("browser", ["chrome", "firefox"])
def test_the_policy_allows_nothing_but_the_package_and_servers(built, browser):
    policy = manifest(built, browser)["content_security_policy"]["extension_pages"]
    rules = {name: sources for name, *sources in (rule.split() for rule in policy.split(";"))}
    assert rules == {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'", "https:", "http://127.0.0.1:*", "http://localhost:*"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }


@pytest.mark.parametrize("browser", ["chrome", "firefox"])
def test_every_permission_is_justified_and_every_justification_is_needed(built, browser):
    asked = manifest(built, browser)
    wanted = {*asked["permissions"], *asked["host_permissions"]}
    text = (ROOT / "docs" / "extension.md").read_text("utf-8")
    table = text.partition("## Permissions, and why")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| permission")]
    explained = {re.findall(r"`([^`]+)`", row.split("|")[1])[0] for row in rows}
    assert wanted == explained
    assert all(len(row.split("|")[2].split()) >= 5 for row in rows), "a reason is a sentence"


@pytest.mark.parametrize("browser", ["chrome", "firefox"])
def test_what_the_web_may_reach_is_one_page_at_an_address_that_changes(built, browser):
    asked = manifest(built, browser)
    (reachable,) = asked["web_accessible_resources"]
    assert reachable["resources"] == ["pages/warning/warning.html"]
    assert reachable["use_dynamic_url"] is True
    assert asked["incognito"] == "not_allowed"
    assert "externally_connectable" not in asked
    assert "content_scripts" not in asked, "before consent no script of ours is in any page"
