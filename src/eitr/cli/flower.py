"""`eitr flower`: a project for Flower, and what a federation on Flower has come to."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from eitr.cli.console import add_row, printable, tell

flower = typer.Typer(
    name="flower",
    help="Federations of organisations on Flower: make a project, see rounds and reputations.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@flower.command()
def new(folder: Annotated[Path, typer.Argument(help="The folder to make.")]) -> None:
    """Make a project that `flwr run` takes as it is.

    Example: `eitr flower new page-federation`
    """
    from eitr.flower.project import write_project

    write_project(folder)
    tell(f"{folder} is ready. Set what you need in {folder / 'pyproject.toml'}, then: flwr run {folder} --stream")


@flower.command()
def show(
    folder: Annotated[Path, typer.Argument(help="The folder of the checkpoint (the setting `checkpoint`).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Show how many rounds a federation has done, and the reputation of each node.

    Examples: `eitr flower show federation`, `eitr flower show federation --json`
    """
    from eitr.aggregation.registry import make_rule
    from eitr.errors import InputError
    from eitr.flower.checkpoint import load_checkpoint, rule_of

    found = load_checkpoint(folder, rule := make_rule(rule_of(folder)))
    if found is None:
        raise InputError(f"{folder} has no checkpoint")
    nodes: list[dict[str, Any]] = []
    for node, name in sorted(found.nodes.items()):
        refusals = [(one["round"], one["refused"][node]) for one in found.history if node in one["refused"]]
        nodes.append(
            {
                "node": node,
                "name": name,
                "rounds": int(found.state.rounds[found.state.clients.index(node)])
                if node in found.state.clients
                else 0,
                "reputation": rule.standing(found.state, node),
                "weight": found.history[-1]["weights"].get(node, 0.0) if found.history else 0.0,
                "refused": len(refusals),
                "last_refusal": f"round {refusals[-1][0]}: {refusals[-1][1]}" if refusals else "",
            }
        )
    if as_json:
        print(json.dumps({"round": found.round, "rule": rule.name, "nodes": nodes}, indent=2))
        return
    console = Console()
    console.print(f"{found.round} rounds done with the rule {rule.name}", highlight=False)
    right = [Column(name, justify="right") for name in ("rounds", "reputation", "weight", "refused")]
    table = Table(Column("node", no_wrap=True), "name", *right, "last refusal", box=None, pad_edge=False)
    for one in nodes:
        reputation = "-" if one["reputation"] is None else f"{one['reputation']:.3f}"
        add_row(
            table,
            one["node"][:12],
            printable(one["name"]),
            str(one["rounds"]),
            reputation,
            f"{one['weight']:.3f}",
            str(one["refused"]),
            printable(one["last_refusal"]),
        )
    console.print(table)
