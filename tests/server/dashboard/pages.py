"""Every page there is, and what a real browser does with it."""

import os
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Playwright

from tests.server.dashboard.example import ABANDONED, QUARANTINED, ROUNDS, Example

ROOT = Path(__file__).resolve().parents[3]
AXE = Path(os.environ.get("EITR_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
PATIENCE_MS = 180_000
"""No test waits for a fixed time; for what it waits for it waits so long, which no machine should need."""


def paths(example: Example | None) -> dict[str, str]:
    """Return the pages of a signed-in operator, by name; without an example those of an empty server."""
    lists = {
        "overview": "/",
        "rounds": "/rounds",
        "participants": "/participants",
        "models": "/models",
        "invitations": "/invitations",
        "alerts": "/alerts",
        "audit": "/audit",
        "settings": "/settings",
        "extension": "/extension",
    }
    if example is None:
        return {f"{name}-empty": path for name, path in lists.items() if name not in ("models", "audit")}
    return {
        **lists,
        "round-published": "/rounds/4",
        "round-quarantined": f"/rounds/{QUARANTINED}",
        "publish-anyway": f"/rounds/{QUARANTINED}/publish",
        "retry": f"/rounds/{QUARANTINED}/retry",
        "round-abandoned": f"/rounds/{ABANDONED}",
        "round-open": f"/rounds/{ROUNDS + 1}",
        "participant": f"/participants/{example.attackers[-1]}",
        "participant-idle": f"/participants/{example.idle}",
        "participant-muted": f"/participants/{example.attackers[1]}",
        "model": "/models/3",
        "compare": "/models/compare?from=2&to=5",
        "rollback": "/models/3/rollback",
        "problem": "/rounds/999",
    }


def launch_chromium(playwright: Playwright) -> Browser:
    """Start the system's Chromium, else the one Playwright brings."""
    return playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])


def sign_in(page: Page, name: str, password: str) -> None:
    """Fill in the form."""
    page.goto("/login")
    page.fill("#name", name)
    page.fill("#password", password)
    page.click("main button")
    page.wait_for_url("**/")


def complaints(page: Page, axe: str) -> list[str]:
    """Return what axe-core finds wrong with a page."""
    page.evaluate(axe)
    found: list[Any] = page.evaluate("async () => (await axe.run()).violations")
    return [f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:120]})" for one in found]
