"""What an update tells about the pages it was made of, by defence and attack, and what each defence costs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.privacy_cells import Cell, Leak, cells_of, strongest
from eitr.lab.experiments.privacy_goals import MOST_AUC, RATIO, bound, judged
from eitr.lab.experiments.privacy_runs import DEFAULT, full_runs, quick_runs
from eitr.lab.plotting import BLACK, BLUE, VERMILION, as_percent, legend_below, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.privacy import (
    BACKDOOR,
    FLIP,
    NO_ATTACK,
    OF_ONE_TOPIC,
    START,
    Defence,
    DefenceRun,
    PoisonRun,
    PrivacyRun,
)
from eitr.lab.runs.profile import Profile
from eitr.model.private import largest_auc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITH_INTERVAL = ("auc", "auc_label_known", "words")


class Privacy(Experiment):
    """Every attack on the default and on other defences."""

    id = "privacy"
    title = "What an update tells about the pages behind it"
    paper = "–"
    ours = True
    note = (
        "Needs --start with a pool of cover pages, for example shipped. 200 victims a cell train on own pages, "
        "drawn from test pages, and on cover pages. An attacker sees each update and ranks 300 candidates, of "
        "which 1, 4 or 16 are the victim's; candidates are of the same kind: any pages, or corrections, which the "
        "model gets wrong. It knows the model, the pool and the defence, and chooses its settings on victims that "
        "it simulates with training pages. AUC: how often an own page ranks above another, 0.5 is a guess; best 3: "
        "the share of own pages among the three best candidates; label: how often an own page's label is guessed, "
        "above the share of the most frequent label; words: how often a word of the own pages scores above the "
        "same word at victims without it, so that frequency alone gives 0.5. An error is half of a 95 % interval "
        "over the victims. known-cover also knows which cover pages were drawn. likelihood-ratio knows everything "
        "but the noise and whether one page was there: no test is better, and the bound holds for it. Uses: rounds "
        "with the same pages, over which the attacker averages. Base: the start, or the model after 40 rounds, or "
        "one that a server made so that 256 pages, which it looks for, are singled out. Seen by: the server; an "
        "outsider, whose nine other identities isolate the victim in a published model that `fused` made; a thief "
        "of what `fused` remembers, who knows the seed. Groups: the server sees sums of so many updates. Published "
        "noise: what the server adds to the published step, for an outsider, in steps of one page. Topic: victims "
        "all of whose pages are of one class, or corrections of pages of one class, new ones in each round: how often "
        "the class is guessed, above its share. Weight: the error of the own weight that a participant reads in "
        "published models, maybe after honest rounds in which it calibrates itself. Cost: accuracy "
        "on test pages before and after 40 rounds of 10 clients with 4 new training pages each, and the share of "
        "40 corrected pages that are right after 10 rounds; updates are averaged. Under attack: accuracy after 40 "
        "rounds of 50 clients with `fused`, 30 % of them attackers. Victims under the default have the profile's "
        "seeds, all else has one. quick: 20 victims, 60 candidates, the last layer alone."
    )

    def runs(self, profile: Profile) -> Sequence[DefenceRun]:
        """Return the default in all cells, the other defences in four of them, then attacks on model and weights."""
        where: dict[str, Any] = {"data": profile.data, "start": profile.start, "pool": profile.pool}
        found = quick_runs(where) if profile.quick else full_runs(where, profile.seeds)
        return list({run.key: run for run in found}.values())

    def table(self, results: Results) -> Table:
        """Return one row per cell and attack."""
        measures = ("auc", "best", "label", "auc_label_known", "words", "topic")
        table = Table(
            ("defence", "seen by", "own pages", "which", "uses", "base", "seeds", "attack", "AUC", "error", "best 3",
             "label above its share", "AUC, label known", "error of it", "words", "error of words",
             "topic above its share", "most that is possible")
        )  # fmt: skip
        for cell in cells_of(results):
            run = cell.run
            for attack in cell.attacks:
                numbers: list[float | None] = []
                for measure in measures:
                    leak = cell.leak(measure, attack)
                    numbers.append(None if leak is None else leak.mean)
                    if measure in WITH_INTERVAL:
                        numbers.append(None if leak is None else leak.error)
                where = (run.defence.title, run.viewer, run.own_pages, run.choice, run.uses, run.base)
                possible = round(bound(cell), 4) if attack == RATIO else None
                table.rows.append((*where, len(cell.results), attack, *map(_rounded, numbers), possible))
        return table

    def summary(self, results: Results) -> Table:
        """Return one row per defence and viewer: the strongest attack in each measure, and the cost."""
        table = Table(
            ("defence", "seen by", "AUC at most", "attack", "best 3 at most", "label at most", "words at most",
             "topic at most", "accuracy before", "after 40 rounds", "corrections right after 10 rounds",
             "accuracy with 50 clients", "under flip", "under backdoor", "triggered pages called the target")
        )  # fmt: skip
        cells = cells_of(results)
        for defence, viewer in dict.fromkeys((cell.run.defence, cell.run.viewer) for cell in cells):
            theirs = [cell for cell in cells if (cell.run.defence, cell.run.viewer) == (defence, viewer)]
            auc = strongest(theirs, "auc")
            most = [_mean(strongest(theirs, measure)) for measure in ("best", "label", "words", "topic")]
            costs = [theirs[0].cost(name) for name in ("accuracy_start", "accuracy_later", "corrections_learned")]
            attacked = [_under(results, defence, poison, "accuracy_later") for poison in (NO_ATTACK, FLIP, BACKDOOR)]
            attacked += [_under(results, defence, BACKDOOR, "triggered")]
            numbers = map(_rounded, [*most, *costs, *attacked])
            attack = None if auc is None else auc.attack
            table.rows.append((defence.title, viewer, _rounded(_mean(auc)), attack, *numbers))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw the strongest attack over two costs, one mark per defence, and over the noise with its bound."""
        figure, axes = panels(1, 3, height=7.0, share_y=True)
        left, middle, right = axes[0]
        cells = [cell for cell in cells_of(results) if _in_figure(cell.run)]
        for number, defence in enumerate(dict.fromkeys(cell.run.defence for cell in cells)):
            theirs = [cell for cell in cells if cell.run.defence == defence]
            leak, style = strongest(theirs, "auc"), series_style(number, defence.title)
            if leak is None:
                continue
            lost = theirs[0].cost("accuracy_start") - theirs[0].cost("accuracy_later")
            for panel, cost in ((left, lost), (middle, theirs[0].cost("corrections_learned"))):
                size = 9 if defence == DEFAULT else 6
                panel.errorbar(cost, leak.mean, leak.error, color=style.colour, marker=style.marker, markersize=size,
                               linestyle="none", linewidth=1, label=style.label)  # fmt: skip
        _draw_noise(right, cells)
        for panel, title, name in (
            (left, "Leak over accuracy", "accuracy lost in 40 rounds"),
            (middle, "Leak over learning", "corrections right after 10 rounds"),
            (right, "Leak over noise", "noise, in steps of one page"),
        ):
            panel.set_title(title)
            panel.set_xlabel(name)
            panel.axhline(MOST_AUC, color=BLACK, linestyle=(0, (1, 3)), linewidth=1.2, label="goal")
            panel.set_ylim(0.4, 1.02)
        as_percent(left, x=True)
        as_percent(middle, x=True)
        left.set_ylabel("AUC of the strongest attack")
        legend_below(figure, axes.flat, 2)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge the goals for the default."""
        return judged(results)


def _in_figure(run: PrivacyRun) -> bool:
    """Say whether a cell is one of those by which defences are compared."""
    return run.base == START and run.uses == 1 and run.choice not in OF_ONE_TOPIC and run.viewer == run.defence.against


def _mean(leak: Leak | None) -> float | None:
    return None if leak is None else leak.mean


def _under(results: Results, defence: Defence, poison: str, name: str) -> float | None:
    """Return what was measured while attackers poison the model, the mean over the seeds; None if it was not."""
    found = [
        float(one[name])
        for one in results
        if isinstance(one.run, PoisonRun) and (one.run.defence, one.run.poison) == (defence, poison)
    ]
    return sum(found) / len(found) if found else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _draw_noise(axes: Any, cells: Sequence[Cell]) -> None:
    """Draw the default with other noise: what was measured, and the most that any test can have."""
    noises = sorted({cell.run.defence.noise for cell in cells if cell.run.defence == _with_noise(cell)})
    for label, measure, attack, colour, marker in (
        ("strongest attack", "auc", None, BLUE, "o"),
        ("likelihood ratio", "auc_label_known", RATIO, VERMILION, "s"),
    ):
        points = []
        for noise in noises:
            theirs = [cell for cell in cells if cell.run.defence == Defence(noise=noise)]
            leak = strongest(theirs, measure, attack)
            points += [] if leak is None else [leak]
        axes.errorbar(range(len(noises)), [one.mean for one in points], [one.error or 0.0 for one in points],
                      color=colour, marker=marker, label=label)  # fmt: skip
    bounds = [largest_auc(noise, 1) for noise in noises]
    axes.plot(range(len(noises)), bounds, color=BLACK, linestyle=(0, (4, 1.5)), label="bound for any test")
    axes.set_xticks(range(len(noises)), [f"{noise:g}" for noise in noises])


def _with_noise(cell: Cell) -> Defence:
    """Return the default with the noise of a cell."""
    return Defence(noise=cell.run.defence.noise)
