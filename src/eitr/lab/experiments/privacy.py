"""What an update tells about the pages it was made of, by defence and attack, and what each defence costs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.privacy_cells import Cell, Leak, cells_of, strongest
from eitr.lab.plotting import BLACK, BLUE, VERMILION, as_percent, legend_below, panels, series_style, styled
from eitr.lab.results.store import Results
from eitr.lab.runs.privacy import ANY, BASES, CHOICES, CORRECTIONS, PAPER_SGD, START, Defence, PrivacyRun
from eitr.lab.runs.profile import Profile
from eitr.model.private import largest_auc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT = Defence()
"""What servers and browsers use unless an operator chooses otherwise."""
USES = 2
"""In so many rounds a browser uses a page."""
OWN_PAGES = (1, 4, 16)
MOST_AUC, MOST_UPPER_END, MOST_BEST, MOST_LABEL = 0.60, 0.65, 0.04, 0.15
"""Our goals for the default; they were fixed before anything was measured."""
WITH_INTERVAL = ("auc", "auc_label_known", "words")
RATIO = "likelihood-ratio"
"""The attack that knows everything but the noise and the one page."""


def _sgd(layers: int, cover_pages: int, own_weight: float = 1.0, clip: float = 0.0) -> Defence:
    return Defence(
        method=PAPER_SGD, layers=layers, cover_pages=cover_pages, own_weight=own_weight, clip=clip, noise=0.0
    )


AVERAGED = _sgd(2, 200, clip=0.5)
"""The defence under which the same pages are also sent 20 times."""
COMPARED = (
    DEFAULT,
    *(Defence(noise=noise) for noise in (1.0, 0.25, 0.0)),
    *(Defence(cover_pages=cover) for cover in (0, 60, 600)),
    *(Defence(own_weight=own) for own in (1.0, 10.0)),
    Defence(layers=2),
    Defence(layers=2, noise=0.0),
    *(_sgd(1, cover, clip=clip) for cover, clip in ((0, 0.0), (200, 0.0), (200, 0.5))),
    AVERAGED,
    *(_sgd(2, 200, own, clip=0.5) for own in (4.0, 10.0)),
    *(_sgd(layers, cover) for layers in (2, 3) for cover in (0, 60, 200, 600)),
)
"""The cheapest to compute come first, and those with the same layers together."""
CELLS = ((1, ANY), (1, CORRECTIONS), (4, ANY), (4, CORRECTIONS))
"""Own pages, and which, of the comparison."""
QUICK_COMPARED = (_sgd(1, 0), _sgd(1, 200, clip=0.5), Defence(noise=0.0), DEFAULT)


class Privacy(Experiment):
    """Every attack on the default and on other defences."""

    id = "privacy"
    title = "What an update tells about the pages behind it"
    paper = "–"
    ours = True
    note = (
        "Needs --start with a pool of cover pages, for example shipped. 200 victims a cell train on own pages, drawn "
        "from test pages, and on cover pages. An attacker sees each update and ranks 300 candidates, of which 1, 4 or "
        "16 are the victim's; candidates are of the same kind: any pages, or corrections, which the model gets wrong. "
        "It knows the model, the pool and the defence, and chooses its settings on victims that it simulates with "
        "training pages. AUC: how often an own page ranks above another, 0.5 is a guess; best 3: the share of own "
        "pages among the three best candidates; label: how often an own page's label is guessed, above the share of "
        "the most frequent label; words: how often a word of the own pages scores above the same word at victims "
        "without it, so that frequency alone gives 0.5. An error is half of a 95 % interval over the victims. "
        "known-cover also knows which cover pages were drawn. likelihood-ratio knows everything but the noise and "
        "whether one page was there: no test is better, and the bound holds for it. What outsiders learn with "
        "identities of their own who isolate a victim in the published model is at most what the server sees here. "
        "Uses: rounds with the same pages, over which the attacker averages. Base: the start, or the model after 40 "
        "rounds. Cost: accuracy on test pages before and after 40 rounds of 10 clients with 4 new training pages "
        "each, and the share of 40 corrected pages that are right after 10 rounds; updates are averaged. The "
        "default has the profile's seeds, all else has one. quick: 20 victims, 60 candidates, the last layer alone."
    )

    def runs(self, profile: Profile) -> Sequence[PrivacyRun]:
        """Return the default in all cells, and the other defences in four of them."""
        size: dict[str, Any] = {"data": profile.data, "start": profile.start}
        if profile.quick:
            size |= {"victims": 20, "candidates": 60, "simulated": 200}
            found = [PrivacyRun(defence=defence, **size) for defence in QUICK_COMPARED]
            found += [PrivacyRun(defence=DEFAULT, own_pages=4, choice=CORRECTIONS, uses=USES, **size)]
            return found
        found = [
            PrivacyRun(defence=DEFAULT, own_pages=own, choice=choice, uses=uses, base=base, seed=seed, **size)
            for own in OWN_PAGES
            for choice in CHOICES
            for base in BASES
            for uses in (1, USES)
            for seed in profile.seeds
        ]
        first = profile.seeds[0]
        found += [
            PrivacyRun(defence=defence, own_pages=own, choice=choice, seed=first, **size)
            for defence in COMPARED
            for own, choice in CELLS
        ]
        found += [
            PrivacyRun(defence=AVERAGED, own_pages=4, choice=choice, uses=uses, seed=first, **size)
            for choice in CHOICES
            for uses in (USES, 20)
        ]
        return list({run.key: run for run in found}.values())

    def table(self, results: Results) -> Table:
        """Return one row per cell and attack."""
        measures = ("auc", "best", "label", "auc_label_known", "words")
        table = Table(
            ("defence", "own pages", "which", "uses", "base", "seeds", "attack", "AUC", "error", "best 3",
             "label above its share", "AUC, label known", "error of it", "words", "error of words",
             "most that is possible")
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
                where = (run.defence.title, run.own_pages, run.choice, run.uses, run.base, len(cell.results))
                bound = round(_bound(cell), 4) if attack == RATIO else None
                table.rows.append((*where, attack, *map(_rounded, numbers), bound))
        return table

    def summary(self, results: Results) -> Table:
        """Return one row per defence: its strongest attack in each measure, and its cost."""
        table = Table(
            ("defence", "AUC at most", "attack", "best 3 at most", "label at most", "words at most",
             "accuracy before", "after 40 rounds", "corrections right after 10 rounds")
        )  # fmt: skip
        cells = cells_of(results)
        for defence in dict.fromkeys(cell.run.defence for cell in cells):
            theirs = [cell for cell in cells if cell.run.defence == defence]
            auc = strongest(theirs, "auc")
            most = [strongest(theirs, measure).mean for measure in ("best", "label", "words")]
            costs = [theirs[0].cost(name) for name in ("accuracy_start", "accuracy_later", "corrections_learned")]
            table.rows.append((defence.title, _rounded(auc.mean), auc.attack, *map(_rounded, [*most, *costs])))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw the strongest attack over two costs, one mark per defence, and over the noise with its bound."""
        figure, axes = panels(1, 3, height=5.6, share_y=True)
        left, middle, right = axes[0]
        cells = [cell for cell in cells_of(results) if cell.run.base == START and cell.run.uses == 1]
        for number, defence in enumerate(dict.fromkeys(cell.run.defence for cell in cells)):
            theirs = [cell for cell in cells if cell.run.defence == defence]
            leak, style = strongest(theirs, "auc"), series_style(number, defence.title)
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
        legend_below(figure, axes.flat, 3)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge the goals for the default."""
        cells = [cell for cell in cells_of(results) if cell.run.defence == DEFAULT]
        return [
            _area(cells, "auc", "which pages are the victim's"),
            _area(cells, "words", "which words are on them, beyond how frequent they are"),
            _share(cells, "best", MOST_BEST, "An own page is among the best 3 candidates at most {} % of the time."),
            _share(cells, "label", MOST_LABEL, "The label is right at most {} points above its share."),
            _below_bound(cells),
        ]


def _bound(cell: Cell) -> float:
    return largest_auc(cell.run.defence.noise, cell.run.uses)


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
            points.append(strongest(theirs, measure, attack))
        axes.errorbar(range(len(noises)), [one.mean for one in points], [one.error or 0.0 for one in points],
                      color=colour, marker=marker, label=label)  # fmt: skip
    bounds = [largest_auc(noise, 1) for noise in noises]
    axes.plot(range(len(noises)), bounds, color=BLACK, linestyle=(0, (4, 1.5)), label="bound for any test")
    axes.set_xticks(range(len(noises)), [f"{noise:g}" for noise in noises])


def _with_noise(cell: Cell) -> Defence:
    """Return the default with the noise of a cell."""
    return Defence(noise=cell.run.defence.noise)


def _area(cells: Sequence[Cell], measure: str, what: str) -> ClaimVerdict:
    """Judge the largest area, and the largest upper end of an interval, over all cells and attacks."""
    largest = strongest(cells, measure)
    upper = strongest(cells, measure, by=lambda leak: leak.upper)
    return ClaimVerdict(
        claim=f"No attack tells {what}: AUC at most {MOST_AUC:.2f}, the upper end of its interval at most "
        f"{MOST_UPPER_END:.2f}.",
        measured=f"At most {largest.mean:.3f} ({largest.words}); upper end at most {upper.upper:.3f} ({upper.words}).",
        holds=largest.mean <= MOST_AUC and upper.upper <= MOST_UPPER_END,
    )


def _share(cells: Sequence[Cell], measure: str, most: float, claim: str) -> ClaimVerdict:
    found = strongest(cells, measure)
    return ClaimVerdict(
        claim=claim.format(f"{100 * most:.0f}"),
        measured=f"At most {100 * found.mean:.1f} % ({found.words}).",
        holds=found.mean <= most,
    )


def _below_bound(cells: Sequence[Cell]) -> ClaimVerdict:
    """Judge whether the best possible test stays within what the noise allows: otherwise the step has a mistake."""
    above: list[tuple[float, Leak, Cell]] = []
    for cell in cells:
        leak = cell.leak("auc_label_known", RATIO)
        if leak is not None:
            above.append((leak.mean - (leak.error or 0.0) - _bound(cell), leak, cell))
    excess, closest, where = max(above, key=lambda one: one[0])
    return ClaimVerdict(
        claim="The best possible test, which knows all but the noise and one page, stays within its bound.",
        measured=f"Closest to it: {closest.mean:.3f} ± {closest.error or 0.0:.3f} with a bound of {_bound(where):.3f} "
        f"({closest.words}).",
        holds=excess <= 0,
    )
