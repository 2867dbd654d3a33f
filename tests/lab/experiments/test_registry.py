import json
import subprocess
import sys

import pytest

from eitr.errors import InputError
from eitr.lab.experiments.registry import EXPERIMENTS, experiment
from eitr.lab.runs.profile import PROFILES
from tests.lab.experiments.generated_results import FEDERATED


def runs(id, profile="paper"):
    return experiment(id).runs(PROFILES[profile])


def test_experiments_come_in_the_order_of_the_paper_and_then_ours():
    assert list(EXPERIMENTS) == [
        "centralised",
        "reputation-once",
        "reputation-continuous",
        "reputation-loop",
        "convergence",
        "attackers",
        "poison-rate",
        "clients",
        "looping",
        "hyper",
        "weights",
        "images",
        "clients-100",
        "theory",
        "robustness",
        "new-topic",
        "ablation",
        "inside",
    ]


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="hyper"):
        experiment("nonsense")


@pytest.mark.parametrize("profile", PROFILES)
def test_no_run_is_asked_for_twice_and_every_seed_is_there(profile):
    for id in FEDERATED:
        found = runs(id, profile)
        assert len({run.key for run in found}) == len(found), id
        assert {run.seed for run in found} == set(PROFILES[profile].seeds), id


def test_experiments_share_their_runs():
    by_id = {id: set(runs(id)) for id in FEDERATED}
    at_30 = {run for run in by_id["convergence"] if run.attack}
    assert at_30 <= by_id["attackers"]
    assert {run for run in by_id["clients"] if run.clients == 10} <= by_id["attackers"]
    assert {run for run in by_id["clients"] if run.clients == 100} <= by_id["clients-100"]
    assert {run for run in by_id["looping"] if run.schedule.kind == "every"} <= by_id["attackers"]
    assert len(set.union(*by_id.values())) == 855


def test_the_quick_profile_stays_quick():
    first = {run for id in ("convergence", "attackers", "weights") for run in runs(id, "quick")}
    assert len(first) == 116
    assert max(run.rounds for run in first) == 15


def test_claims_are_judged_for_the_paper_s_rescaling_and_the_median_s_stands_beside_it():
    rescalings = {run.rule.rescale for run in runs("attackers") if run.rule.name == "reputation"}
    assert rescalings == {"paper", "median"}
    others = set().union(*(set(runs(id)) for id in FEDERATED if id not in ("attackers", "convergence")))
    assert {run.rule.rescale for run in others if run.rule.name == "reputation"} == {"paper"}


def test_looping_attackers_strike_every_thirtieth_round_of_a_hundred():
    schedules = {run.schedule for run in runs("looping")} - {run.schedule for run in runs("attackers")}
    assert [[r for r in range(1, 101) if s.active(r)] for s in schedules] == [[30, 60, 90]]
    assert any(
        s.active(r) for run in runs("looping", "quick") for s in [run.schedule] if s.kind == "loop" for r in range(15)
    )


def test_experiments_are_listed_without_any_package_of_the_extra():
    code = (
        "import sys\n"
        "for name in ('torch', 'matplotlib', 'pyarrow', 'jinja2'): sys.modules[name] = None\n"
        "from eitr.cli import main\n"
        "sys.argv = ['eitr', 'lab', 'list', '--json']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert [one["id"] for one in listed] == list(EXPERIMENTS)
    assert sum(one["runs"]["quick"] for one in listed) > 400
