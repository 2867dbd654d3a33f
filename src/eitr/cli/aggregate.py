"""`eitr aggregate`: one round from files to files."""

from pathlib import Path
from typing import Annotated

import typer

from eitr.cli.console import busy, tell
from eitr.cli.plugin_option import Plugins
from eitr.cluster.engine import HELP, LOCAL


def aggregate(
    updates: Annotated[Path, typer.Option(help="(clients, parameters) float32 or float64, a .npy file.")],
    out: Annotated[Path, typer.Option(help="Where the new parameters go, a .npy file.")],
    report: Annotated[Path, typer.Option(help="Where the report goes, a JSON file.")],
    rule: Annotated[str, typer.Option(help="The rule; `eitr rules` lists them.")] = "fused",
    clients: Annotated[Path | None, typer.Option(help="Client ids, one per line, in the order of the updates.")] = None,
    counts: Annotated[Path | None, typer.Option(help="Claimed sample counts, one per line.")] = None,
    base: Annotated[Path | None, typer.Option("--global", help="Global parameters of the round, .npy.")] = None,
    root: Annotated[Path | None, typer.Option(help="Parameters trained on trusted data, .npy.")] = None,
    state: Annotated[Path | None, typer.Option(help="State of the rule: read if it exists, then replaced.")] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Validation pages for `fused`: JSON lines of title, text, label."),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="The model's vocabulary, for --validation (default: the shipped one).")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the rule, name=value.")] = None,
    index: Annotated[int, typer.Option("--round", help="The number of the round.", min=0)] = 0,
    engine: Annotated[str, typer.Option(help=HELP, metavar="ENGINE")] = LOCAL,
    plugin: Plugins = None,
) -> None:
    """Combine the updates of a round into new parameters.

    Bad input is reported in one line with exit status 2, and no file is changed.

    Example: `eitr aggregate --global base.npy --updates U.npy --state state.safetensors --out model.npy
    --report report.json --set kappa=0.3`. With `--engine ray:10.0.0.1:6379` a Ray cluster computes the same result.
    """
    from eitr.cli.aggregate_files import Job, run

    job = Job(
        rule=rule,
        updates=updates,
        out=out,
        report=report,
        clients=clients,
        counts=counts,
        base=base,
        root=root,
        state=state,
        validation=validation,
        vocabulary=vocabulary,
        settings=tuple(settings or ()),
        index=index,
        engine=engine,
    )
    with busy("aggregating (the first run compiles the kernels, which takes some seconds)"):
        finished = run(job)
    assumed = finished.get("notes", {}).get("assumed_attackers")
    told = "" if assumed is None else f", {assumed} of them assumed to be attackers (--set attackers=N says how many)"
    tell(f"{rule}: {len(finished['clients'])} clients{told}, {finished['seconds']:.3f} s; see {out} and {report}")
