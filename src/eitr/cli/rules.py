"""`eitr rules`: the aggregation rules and their settings."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text


def rules(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False) -> None:
    """List the aggregation rules and their settings.

    Example: `eitr rules --json`
    """
    from eitr.aggregation.registry import RULES
    from eitr.settings import settings_of, spelled

    listed: list[dict[str, Any]] = [
        {
            "name": rule.name,
            "summary": rule.summary,
            "settings": [
                {"name": spelled(item), "default": item.default, "allowed": bounds.describe(), "help": bounds.help}
                for item, bounds in settings_of(rule)
            ],
        }
        for rule in RULES.values()
    ]
    if as_json:
        print(json.dumps(listed, indent=2))
        return
    table = Table("rule", "setting", "default", "allowed", "meaning", box=None, pad_edge=False)
    for entry in listed:
        table.add_row(Text(entry["name"], "bold"), "", "", "", Text(entry["summary"], "italic"))
        for one in entry["settings"]:
            table.add_row("", one["name"], str(one["default"]), one["allowed"], one["help"])
    Console().print(table)
