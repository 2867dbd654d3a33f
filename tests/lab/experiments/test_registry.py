import json
import subprocess
import sys

import pytest

from eitr.errors import InputError
from eitr.lab.experiments.paper_figures import NUMBERS
from eitr.lab.experiments.registry import EXPERIMENTS, experiment
from eitr.lab.experiments.scenario import MANY_SEEDS, READINGS
from eitr.lab.runs.profile import PROFILES
from tests.lab.experiments.generated_results import FEDERATED

LARGE = ("centralised", "clients", "clients-100")


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
        "attacker-epochs",
        "poison-rate",
        "clients",
        "looping",
        "hyper",
        "weights",
        "users",
        "agreement",
        "images",
        "clients-100",
        "theory",
        "robustness",
        "new-topic",
        "ablation",
        "inside",
        "crowd",
        "privacy",
        "privacy-labels",
    ]


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="hyper"):
        experiment("nonsense")


@pytest.mark.parametrize("profile", PROFILES)
def test_no_run_is_asked_for_twice_and_every_seed_is_there(profile):
    for id in FEDERATED:
        found = runs(id, profile)
        assert len({run.key for run in found}) == len(found), id
        seeds = MANY_SEEDS if profile == "paper" and id in LARGE else len(PROFILES[profile].seeds)
        assert {run.seed for run in found} == set(range(seeds)), id


def test_experiments_share_their_runs():
    by_id = {id: set(runs(id)) for id in FEDERATED}
    at_30 = {run for run in by_id["convergence"] if run.attack}
    assert at_30 <= by_id["attackers"]
    assert {run for run in by_id["attacker-epochs"] if run.epochs_of_attackers == 15} <= by_id["attackers"]
    assert {run for run in by_id["clients"] if run.clients == 100} <= by_id["clients-100"]
    assert {run for run in by_id["centralised"] if run.clients > 1} <= by_id["clients"]
    assert {run for run in by_id["looping"] if run.schedule.kind == "every"} <= by_id["attackers"]
    assert len(set.union(*by_id.values())) == 989


def test_the_quick_profile_stays_quick():
    first = {run for id in ("convergence", "attackers", "weights") for run in runs(id, "quick")}
    assert len(first) == 146
    assert max(run.rounds for run in first) == 15


def test_the_papers_text_is_run_with_the_papers_rescaling_and_fused_without_pages_to_validate_with():
    rules = {run.rule for id in FEDERATED for run in runs(id)}
    assert {rule.rescale for rule in rules if rule.name == "reputation"} == {"paper"}
    assert {rule.validation for rule in rules if rule.name == "fused"} == {False}


@pytest.mark.parametrize("id", ["convergence", "attackers", "attacker-epochs", "clients-100", "weights", "looping"])
def test_all_three_readings_take_part(id):
    assert set(READINGS) <= {run.rule.name for run in runs(id)}


def test_every_client_takes_300_steps_a_round_and_attackers_450_unless_their_epochs_are_varied():
    found = [run for id in FEDERATED for run in runs(id)]
    assert {run.steps for run in found} == {300}
    assert {run.epochs_of_attackers for run in found if run.attack} == {5, 10, 15}
    varied = {(run.attackers, run.clients) for run in found if run.attack and run.epochs_of_attackers != 15}
    assert varied == {(3, 10), (8, 10)}


def test_federations_of_many_clients_have_60_rounds_and_two_seeds():
    for id in LARGE:
        assert {(run.rounds, run.seed) for run in runs(id)} == {(60, 0), (60, 1)}
    assert {run.attackers for run in runs("clients-100")} == {0, 10, 30, 50}


def test_figures_are_numbered_as_in_the_printed_paper():
    assert experiment("centralised").paper == "Fig. 1 (centralised)"
    assert experiment("clients-100").paper == "Fig. 16 and 17 (convergence_100, attack_100)"
    assert list(NUMBERS.values()) == sorted(set(NUMBERS.values()))


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
