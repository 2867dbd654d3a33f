"""`eitr vocabulary`: choose the words of a vocabulary."""

from pathlib import Path
from typing import Annotated

import typer

from eitr.cli.console import busy, tell


def vocabulary(
    rows: Annotated[list[Path], typer.Argument(metavar="ROWS.jsonl[.gz]...", help="Pages, one JSON object per line.")],
    out: Annotated[Path, typer.Option(help="Where the vocabulary goes, a JSON file.")],
    size: Annotated[int, typer.Option(help="How many words.", min=1, max=100_000)] = 1000,
    federated: Annotated[
        bool, typer.Option("--federated", help="Each file is one client, which reports only the weights of its terms.")
    ] = False,
    min_clients: Annotated[int, typer.Option(help="Federated: leave out terms that fewer clients report.", min=1)] = 3,
) -> None:
    """Choose a vocabulary by TF-IDF weight, from all pages at once or as a federation of clients.

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
    tell(f"{len(chosen)} words in {out}; those with the largest weights: {', '.join(chosen.words[:10])}")
