import pytest

from eitr.errors import InputError
from eitr.lab.runs.profile import PROFILES, make_profile
from eitr.model.plan import TrainingPlan


def test_the_paper_s_profile_has_the_paper_s_settings():
    paper = make_profile("paper")
    assert (paper.rounds, paper.seeds, paper.plan) == (100, (0, 1, 2), TrainingPlan())
    assert (paper.plan.batch_size, paper.plan.learning_rate) == (64, 0.01)
    assert paper.steps == paper.plan.epochs * paper.plan.max_batches == 300
    assert not paper.quick


def test_the_quick_profile_trains_as_many_epochs_as_the_paper_so_that_attackers_have_the_same_lead():
    assert PROFILES["quick"].plan.epochs == PROFILES["paper"].plan.epochs
    assert PROFILES["quick"].quick


def test_seeds_count_from_0_and_data_are_known_by_the_name_of_their_file():
    assert make_profile("quick", seeds=3).seeds == (0, 1, 2)
    assert make_profile("quick", data="folder/news-sections.npz") == make_profile("quick", data="news-sections")


@pytest.mark.parametrize(
    ("name", "seeds", "message"),
    [("slow", None, "quick, paper"), ("quick", 0, "between 1 and 1000"), ("paper", 10**12, "between 1 and 1000")],
)
def test_what_is_no_profile_is_refused(name, seeds, message):
    with pytest.raises(InputError, match=message):
        make_profile(name, seeds=seeds)


@pytest.mark.long
def test_the_quick_profile_learns_the_built_in_pages():
    torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")
    from eitr.lab.experiments.scenario import clean
    from eitr.lab.simulation.compute import compute, examples_for
    from eitr.lab.simulation.context import Context

    runs = clean(make_profile("quick", seeds=1))
    (done,) = compute(runs, Context(device=torch.device("cpu")), examples_for(runs, "builtin", None))
    assert done.arrays["accuracy"][0] < 0.6
    assert done.arrays["accuracy"][-1] > 0.8


def test_a_prepared_file_cannot_pass_for_the_generated_data():
    with pytest.raises(InputError, match="another name"):
        make_profile("quick", data="somewhere/builtin.npz")
