import subprocess
import sys

HEAVY = ("lxml", "numba", "safetensors", "rich", "typer", "matplotlib", "PIL", "scipy", "torch")
SCRIPT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY}:
            raise ImportError(name + " is not installed here")

sys.meta_path.insert(0, Absent())
from pathlib import Path
from eitr.datasets import dirichlet_partition, load, read_examples, save_examples
import eitr.datasets.cifar10
examples = load("builtin", size=100)
save_examples(examples, Path(sys.argv[1]))
parts = dirichlet_partition(read_examples(Path(sys.argv[1])).labels, 5, 1.0, 0)
print(len(parts))
"""


def test_the_built_in_data_need_nothing_but_numpy(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "a.npz")], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("5\n", "")
