"""`eitr rules`: the aggregation rules and their settings."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from eitr.cli.console import add_row
from eitr.cli.plugin_option import Plugins


def rules(
    name: Annotated[str | None, typer.Argument(metavar="[RULE]", help="Show the settings of this rule.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines, with all settings.")] = False,
    plugin: Plugins = None,
) -> None:
    """List the aggregation rules, or show the settings of one.

    Examples: `eitr rules`, `eitr rules fused`, `eitr rules --json`
    """
    from eitr.aggregation.interface import INPUTS
    from eitr.aggregation.registry import RULES, rule_class
    from eitr.settings import settings_of, spelled

    chosen = RULES.values() if name is None else [rule_class(name)]
    listed: list[dict[str, Any]] = [
        {
            "name": rule.name,
            "summary": rule.summary,
            "needs": sorted(rule.needs),
            "settings": [
                {"name": spelled(item), "default": item.default, "allowed": bounds.describe(), "help": bounds.help}
                for item, bounds in settings_of(rule)
            ],
        }
        for rule in chosen
    ]
    if as_json:
        print(json.dumps(listed, indent=2))
        return
    if name is None:
        table = Table(Column("rule", no_wrap=True), "what it does", box=None, pad_edge=False)
        for entry in listed:
            add_row(table, Text(entry["name"], "bold"), entry["summary"])
        Console().print(table)
        Console().print("\n`eitr rules RULE` shows the settings of a rule.", highlight=False)
        return
    console = Console()
    (entry,) = listed
    console.print(Text.assemble((entry["name"], "bold"), f": {entry['summary']}"))
    for need in entry["needs"]:
        console.print(f"Needs {INPUTS[need]}.", highlight=False)
    table = Table("setting", "default", "allowed", "meaning", box=None, pad_edge=False)
    for one in entry["settings"]:
        add_row(table, one["name"], str(one["default"]), one["allowed"], one["help"])
    console.print()
    console.print(table)
