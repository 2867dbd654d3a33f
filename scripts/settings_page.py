"""Write docs/settings.md from the settings themselves: `python -m scripts.settings_page`."""

from pathlib import Path

from eitr.server.settings import described, variable

TARGET = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """# Settings of the server

Each is an environment variable, or a line `NAME=value` of the file that `EITR_SETTINGS` names; the environment wins.
`eitr settings` shows what they are at the moment. Some are options of `eitr serve`, too, and these win over both.

| variable | default | meaning |
|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = []
    for name, field in described():
        default = "" if field.default in ("", None, []) else f"`{field.default}`"
        rows.append(f"| `{variable(name)}` | {default} | {field.description} |")
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page())
