"""Build the wheel and the source distribution, with the browser extension's packages inside: `make dist`.

Writes `dist/eitr-VERSION-py3-none-any.whl` and `dist/eitr-VERSION.tar.gz`. The extension's packages lie in the source
tree only while Python's are built, so that a server started from a checkout never offers old ones.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PACKAGED = ROOT / "src" / "eitr" / "assets" / "extension"


def main() -> None:
    subprocess.run(["node", "extension/build.mjs", "--all"], cwd=ROOT, check=True)
    PACKAGED.mkdir(exist_ok=True)
    try:
        for package in DIST.glob("eitr-*.zip"):
            shutil.copy(package, PACKAGED)
        subprocess.run([sys.executable, "-m", "hatchling", "build", "--directory", DIST], cwd=ROOT, check=True)
    finally:
        shutil.rmtree(PACKAGED)


if __name__ == "__main__":
    main()
