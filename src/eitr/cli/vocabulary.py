"""`eitr vocabulary`: choose the words that weigh most."""

from pathlib import Path
from typing import Annotated

import typer

from eitr.cli.console import busy, tell


def vocabulary(
    rows: Annotated[list[Path], typer.Argument(metavar="ROWS.jsonl[.gz]...", help="Pages, one JSON object per line.")],
    out: Annotated[Path, typer.Option(help="Where the vocabulary goes, a JSON file.")],
    size: Annotated[int, typer.Option(help="How many words.", min=1, max=100_000)] = 1000,
    federated: Annotated[
        bool, typer.Option("--federated", help="Each file is one client, which tells only the weights of its terms.")
    ] = False,
    min_clients: Annotated[
        int, typer.Option(help="Federated: terms of fewer clients never leave the ranking.", min=1)
    ] = 3,
) -> None:
    """Choose the words that weigh most (TF-IDF), in one place or as a federation of clients.

    Examples: `eitr vocabulary pages.jsonl.gz --out vocabulary.json`,
    `eitr vocabulary ann.jsonl bob.jsonl eve.jsonl --federated --out vocabulary.json`
    """
    from eitr.cli.bulk import central_vocabulary, federated_vocabulary

    with busy("ranking words"):
        if federated:
            chosen = federated_vocabulary(rows, size=size, min_clients=min_clients)
        else:
            chosen = central_vocabulary(rows, size=size)
    chosen.save(out)
    tell(f"{len(chosen)} words in {out}, the weightiest: {', '.join(chosen.words[:10])}")
