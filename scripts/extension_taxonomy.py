"""Write the extension's copy of the topics from `eitr.taxonomy`: `python scripts/extension_taxonomy.py`.

`tests/extension/test_package.py` fails when the copy is not what this script writes.
"""

import json
from dataclasses import asdict
from pathlib import Path

from eitr.taxonomy import NON_SENSITIVE, TOPICS, Topic

TARGET = Path(__file__).resolve().parent.parent / "extension" / "src" / "core" / "taxonomy.ts"

HEAD = """\
// Generated from src/eitr/taxonomy.py by scripts/extension_taxonomy.py: change it there.

/** One class: its name in files and on the wire, its badge, and the words people read. */
export interface Topic {
  readonly name: string;
  /** The letter on the badge; empty for pages that are not sensitive. */
  readonly letter: string;
  /** The badge's colour; white text on it has a contrast of at least 4.5:1. */
  readonly colour: string;
  readonly title: string;
  /** Completes the sentence "This page is about ...". */
  readonly about: string;
}

/** In the order every vector of probabilities uses. */
export const TOPICS: readonly Topic[] = [
"""


def typescript() -> str:
    """Return the text of the file."""
    return f"{HEAD}{''.join(map(_lines, TOPICS))}];\n\nexport const NON_SENSITIVE = {NON_SENSITIVE};\n"


def _lines(topic: Topic) -> str:
    members = "".join(f"    {name}: {json.dumps(value)},\n" for name, value in asdict(topic).items())
    return f"  {{\n{members}  }},\n"


if __name__ == "__main__":
    TARGET.write_text(typescript(), "utf-8")
