"""Theorem 1, Corollary 1 and Remark 1, beside what happens on a strongly convex problem."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eitr.lab import theory
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.seed_statistics import SeedValues
from eitr.lab.plotting import BLACK, BLUE, GREEN, VERMILION, LineStyle, draw_spread, legend_below, panels, styled
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.convex import ConvexRun
from eitr.lab.runs.federated import attackers_of, paper_rule
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
EPSILON = 0.1
"""Put into the printed Delta2 although the condition leaves no epsilon: nothing else would give a number."""
STABLE = 0.02
"""A distance that changes by at most this share of the start is stable: the lab's 2 points."""
ROUNDING = 1e-6
"""Smaller changes of a relative distance are rounding."""
NETWORK = 264_678
"""Parameters of the paper's network."""

MEASURED = LineStyle("measured", BLACK, "-", "o", 2.2)
PAPER = LineStyle("as printed", VERMILION, (0, (4, 1.5)), "s")
CORRECTED = LineStyle("corrected", BLUE, (0, (1, 1.2)), "^")
FOLLOWED = LineStyle("corrected, with each round's measured error", GREEN, (0, (5, 1.5, 1, 1.5)), "v")


@dataclass(frozen=True, slots=True)
class Sweep:
    """One quantity varied, all others as usual."""

    symbol: str
    quick: tuple[float, ...]
    full: tuple[float, ...]
    value: Callable[[ConvexRun], float]
    printed: str
    """Which way Remark 1 says the error goes as it grows."""

    def of(self, results: Results) -> dict[float, list[Result]]:
        """Return the runs along this sweep by value: label flip, the paper's rescaling, all else as usual."""
        usual = _usual()
        found: dict[float, list[Result]] = {}
        for result in results:
            run = result.run
            others = [sweep for sweep in SWEEPS if sweep.symbol != self.symbol]
            plain = run.poison in ("flip", "none") and run.rule.rescale == "paper" and run.samples == usual.samples
            if plain and all(_same(sweep, run, usual) for sweep in others):
                found.setdefault(self.value(run), []).append(result)
        return {value: found[value] for value in sorted(found)}


def _same(sweep: Sweep, run: ConvexRun, usual: ConvexRun) -> bool:
    return math.isclose(sweep.value(run), sweep.value(usual), abs_tol=1e-9)


def _of_rule(name: str) -> Callable[[ConvexRun], float]:
    return lambda run: float(getattr(run.rule, name))


SWEEPS = (
    Sweep("N", (5, 20, 80), (5, 10, 20, 50, 100), lambda run: float(run.parameters), "falls"),
    Sweep("M", (10, 40), (10, 20, 50, 100), lambda run: float(run.clients), "falls"),
    Sweep("p", (0.0, 0.2, 0.3, 0.4), (0.0, 0.1, 0.2, 0.3, 0.4), lambda run: run.share, "rises"),
    Sweep("a", (0.1, 0.5, 0.9), (0.1, 0.3, 0.5, 0.7, 0.9), _of_rule("a"), "falls"),
    Sweep("kappa", (0.1, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4), _of_rule("kappa"), "falls"),
)


def _usual(seed: int = 0, rounds: int = 100, **changed: Any) -> ConvexRun:
    """Return the usual run: 10 clients, 3 of them flip labels, 20 parameters, 200 samples each."""
    rule = {name: changed.pop(name) for name in ("a", "kappa", "rescale") if name in changed}
    return ConvexRun(seed=seed, rounds=rounds, rule=paper_rule("reputation", **rule), **changed)


def _varied(sweep: Sweep, value: float) -> dict[str, Any]:
    """Return what a sweep changes of the usual run."""
    match sweep.symbol:
        case "N":
            return {"parameters": int(value)}
        case "M":
            return {"clients": int(value), "attackers": attackers_of(0.3, int(value))}
        case "p":
            attackers = attackers_of(value, 10)
            return {"attackers": attackers, "poison": "flip" if attackers else "none"}
    return {sweep.symbol: value}


MANY: dict[str, Any] = {"clients": 400, "attackers": 40, "parameters": 2, "samples": 500}
"""So many clients and so few parameters that the condition of the theorem can be met."""


class Theory(Experiment):
    """The bound over the rounds, and the error as N, M, p, a and kappa vary."""

    id: ClassVar[str] = "theory"
    title: ClassVar[str] = "Theorem 1, Corollary 1 and Remark 1 on a strongly convex problem"
    paper: ClassVar[str] = "Section III-C: Theorem 1, Corollary 1, Remark 1"
    note: ClassVar[str] = (
        "L2-regularised logistic regression, 10 clients of 200 samples, 20 parameters, 3 attackers that flip labels, "
        "one full gradient step of 0.9/L a round. The printed formulas are shown as they stand; where their condition "
        f"leaves no epsilon, {EPSILON} is put in to have a number. Varied quantities are relative to the usual one."
    )

    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return every poison under both ways of rescaling, the setting that meets the condition, and the sweeps."""
        rounds = max(profile.rounds, 40)
        changes: list[dict[str, Any]] = [
            {"poison": poison, "attackers": 0 if poison == "none" else 3, "rescale": rescale}
            for rescale in ("paper", "median")
            for poison in ("none", "flip", "scale", "arbitrary")
        ]
        changes += [{**MANY, "rescale": "median"}]
        changes += [_varied(s, value) for s in SWEEPS for value in (s.quick if profile.quick else s.full)]
        runs = [_usual(seed, rounds, **change) for change in changes for seed in profile.seeds]
        return list({run.key: run for run in runs}.values())

    def table(self, results: Results) -> Table:
        """Return one row for each kind of run: constants, both bounds, and what was measured."""
        table = Table(
            ("poison", "rescale", "M", "N", "p", "a", "kappa", "seeds", "diverged", "start", "final distance",
             "deviation",
             "Delta1 printed", "bound printed", "bound corrected", "rate printed", "rate corrected", "epsilon left")
        )  # fmt: skip
        for group in _groups(results):
            run = group[0].run
            final = SeedValues(tuple(float(result["distance"][-1]) for result in group))
            measured = [float(f"{value:.5g}") for value in (_start(group[0]), final.mean, final.deviation)]
            key = (run.poison, run.rule.rescale, run.clients, run.parameters, run.share, run.rule.a, run.rule.kappa)
            numbers = (delta1_printed, lambda r: printed_bound(r)[-1], lambda r: corrected_bound(r)[-1], rate_printed,
                       rate_corrected, epsilon_left)  # fmt: skip
            means = [float(f"{np.mean([number(result) for result in group]):.5g}") for number in numbers]
            lost = sum(not np.isfinite(result["distance"][-1]) for result in group)
            table.rows.append((*key, len(group), lost, *measured, *means))
        return table

    @styled
    def figure(self, results: Results) -> "Figure":
        """Draw the bounds over the rounds in three settings, and the five sweeps."""
        figure, axes = panels(2, 4)
        _draw_bounds(axes[0, 0], list(_select(results, "flip", "median")), "3 of 10 flip labels")
        _draw_bounds(
            axes[0, 1], list(_select(results, "arbitrary", "paper")), "3 of 10 send anything\n(rescaling as printed)"
        )
        axes[0, 3].set_ylabel("relative to the usual")
        _draw_contraction(axes[0, 2], list(_select(results, "none", "paper")))
        for panel, sweep in zip([axes[0, 3], *axes[1]], SWEEPS, strict=True):
            _draw_sweep(panel, sweep, sweep.of(results))
        axes[0, 0].set_ylabel("distance to w*")
        axes[1, 0].set_ylabel("relative to the usual")
        legend_below(figure, axes.flat)
        return figure

    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge the theorem, its condition, the corollary and the directions of the remarks."""
        return [
            *_bounds(results),
            _contraction(list(_select(results, "none", "paper"))),
            _condition(list(_select(results, "flip", "paper"))),
            _corollary(list(_select(results, "flip", "paper"))),
            _delta1(results),
            *(direction(sweep, sweep.of(results)) for sweep in SWEEPS),
            *(_stable(sweep, sweep.of(results)) for sweep in SWEEPS if sweep.symbol in ("a", "kappa")),
            _trade_off(SWEEPS[-1].of(results)),
        ]


def _groups(results: Results) -> list[list[Result]]:
    """Return the results by everything but the seed."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(repr({**result.run.describe(), "seed": 0}), []).append(result)
    return list(found.values())


def _select(results: Results, poison: str, rescale: str, **changed: Any) -> Results:
    """Return the runs of one poison and one way of rescaling, all else as usual or as told."""
    usual = _usual()
    wanted = {"parameters": usual.parameters, "clients": usual.clients, "samples": usual.samples, **changed}
    attackers = wanted.pop("attackers", 0 if poison == "none" else usual.attackers)
    chosen = results.where(poison=poison, attackers=attackers, **wanted)
    rule = paper_rule("reputation", rescale=rescale)
    return Results(result for result in chosen if result.run.rule == rule)


def _start(result: Result) -> float:
    return float(result["distance"][0])


def delta1_printed(result: Result) -> float:
    """Return the printed Delta1 with the run's largest residual."""
    run, rule = result.run, result.run.rule
    E = theory.residual_bound(M=run.clients, lambda_=rule.lambda_, median_residual=float(result["residual"]))
    return theory.delta1_paper(
        M=run.clients, N=run.parameters, a=rule.a, kappa=rule.kappa, W=rule.W, varpi=rule.varpi, delta=rule.delta, E=E
    )


def delta2_printed(result: Result) -> float:
    """Return the printed Delta2, with an epsilon that the condition may not grant."""
    run = result.run
    constants = {name: float(result[name]) for name in ("L", "diameter", "variance", "gradient")}
    return theory.delta2_paper(
        M=run.clients, Q=run.samples, p=run.share, d=run.parameters, epsilon=EPSILON, **constants
    )


def epsilon_left(result: Result) -> float:
    """Return the epsilon that the corrected condition leaves; negative: nothing is promised."""
    run = result.run
    constants = {name: float(result[name]) for name in ("L", "diameter", "skewness")}
    return theory.condition_corrected(M=run.clients, Q=run.samples, p=run.share, d=run.parameters, **constants)


def printed_bound(result: Result) -> Floats:
    """Return Theorem 1 as printed, round by round, from round 0."""
    known = {"start": _start(result), "L": float(result["L"]), "r": float(result["r"]), "N": result.run.parameters}
    known |= {"delta1": delta1_printed(result), "delta2": delta2_printed(result)}
    return np.array([theory.bound_paper(t=t, **known) for t in range(len(result["distance"]))])


def corrected_bound(result: Result) -> Floats:
    """Return the corrected bound: Delta1 = varpi/2, Delta2 from the honest gradients of the visited points."""
    rule = result.run.rule
    known = {name: float(result[name]) for name in ("mu", "L", "r")}
    known |= {"start": _start(result), "delta1": theory.delta1_corrected(varpi=rule.varpi, rescale=rule.rescale)}
    delta2, N = float(np.nanmax(result["honest_error"])), result.run.parameters
    return np.array([theory.bound_corrected(t=t, N=N, delta2=delta2, **known) for t in range(len(result["distance"]))])


def followed_bound(result: Result, factor: float) -> Floats:
    """Return the recursion d <- factor d + error, with the error that was measured in each round."""
    bound = [_start(result)]
    for error in result["from_median"] + result["median_error"]:
        bound.append(factor * bound[-1] + float(error))
    return np.array(bound)


def contraction(result: Result) -> float:
    """Return 1 - mu r."""
    return theory.contraction_corrected(mu=float(result["mu"]), L=float(result["L"]), r=float(result["r"]))


def rate_printed(result: Result) -> float:
    """Return Remark 1's rate."""
    run, rule = result.run, result.run.rule
    known = {name: getattr(rule, name) for name in ("a", "kappa", "W", "varpi", "delta")}
    return theory.rate_paper(M=run.clients, N=run.parameters, p=run.share, Q=run.samples, **known)


def rate_corrected(result: Result) -> float:
    """Return the rate that the corrected bound gives."""
    run = result.run
    known = {"mu": float(result["mu"]), "r": float(result["r"]), "varpi": run.rule.varpi}
    return theory.rate_corrected(M=run.clients, N=run.parameters, p=run.share, Q=run.samples, **known)


def relative(results: Sequence[Result]) -> SeedValues:
    """Return the final distance as a share of the start, seed by seed."""
    ordered = sorted(results, key=lambda result: result.run.seed)
    return SeedValues(tuple(float(result["distance"][-1] / result["distance"][0]) for result in ordered))


def _bounds(results: Results) -> list[ClaimVerdict]:
    """Judge the measured distance against both bounds."""
    flipped, scaled, anything = (list(_select(results, poison, "paper")) for poison in ("flip", "scale", "arbitrary"))
    clipped = [r for poison in ("none", "flip", "scale", "arbitrary") for r in _select(results, poison, "median")]
    many = list(_select(results, "flip", "median", **MANY))
    return [
        _below("Theorem 1 as printed: the distance stays below the bound when attackers flip labels.", flipped,
               printed_bound, " Trivially: the bound never comes below the start."),
        _below("Theorem 1 as printed: the distance stays below the bound when attackers scale gradients by -5.", scaled,
               printed_bound, " Trivially: the bound never comes below the start."),
        _below("Theorem 1 as printed: the distance stays below the bound when attackers send anything.", anything,
               printed_bound),
        _below("The corrected bound, with clipping around the median: the distance stays below it, whatever is sent.",
               clipped, corrected_bound),
        _below("With 400 clients and 2 parameters the condition can be met; the printed bound holds there.", many,
               printed_bound, _many_words(many)),
        _below("With 400 clients and 2 parameters the corrected bound, Delta2 after Yin et al., holds.", many,
               sure_bound),
    ]  # fmt: skip


def sure_bound(result: Result) -> Floats:
    """Return the corrected bound with the Delta2 that the condition grants, known before the first round."""
    run, rule = result.run, result.run.rule
    constants = {name: float(result[name]) for name in ("L", "diameter", "skewness")}
    delta2 = theory.delta2_corrected(
        M=run.clients,
        Q=run.samples,
        p=run.share,
        d=run.parameters,
        deviation=math.sqrt(result["variance"]),
        **constants,
    )
    known = {name: float(result[name]) for name in ("mu", "L", "r")} | {"start": _start(result), "delta2": delta2}
    delta1, N = theory.delta1_corrected(varpi=rule.varpi, rescale=rule.rescale), run.parameters
    return np.array([theory.bound_corrected(t=t, N=N, delta1=delta1, **known) for t in range(len(result["distance"]))])


def _many_words(results: Sequence[Result]) -> str:
    left = [epsilon_left(result) for result in results]
    return f" Epsilon left: {min(left):.3f} to {max(left):.3f}." if left else ""


def _below(claim: str, results: Sequence[Result], bound: Callable[[Result], Floats], more: str = "") -> ClaimVerdict:
    """Judge whether the distance is below a bound in every round of every run."""
    if not results:
        return ClaimVerdict(claim=claim, measured="No runs.", holds=None)
    holds = all(bool((result["distance"] <= bound(result) + 1e-12).all()) for result in results)
    nearest = max(float((result["distance"] / bound(result))[1:].max()) for result in results)
    finals = [float(result["distance"][-1]) for result in results]
    limits = [float(bound(result)[-1]) for result in results]
    lost = sum(math.isinf(final) for final in finals)
    return ClaimVerdict(
        claim=claim,
        measured=f"Distance at the end {min(finals):.3g} to {max(finals):.3g} (start about {_start(results[0]):.2f}), "
        f"bound {min(limits):.4g} to {max(limits):.4g}; largest distance over bound in any round: "
        f"{nearest:.3g}.{f' Diverged: {lost} of {len(results)} runs.' if lost else ''}{more if holds else ''}",
        holds=holds,
    )


def _contraction(results: Sequence[Result]) -> ClaimVerdict:
    """Judge the factor 1 - L r on plain gradient descent, where nothing else is in the way."""
    claim = "Without any error a round brings the model nearer to w* by the factor 1 - L r."
    if not results:
        return ClaimVerdict(claim=claim, measured="No runs.", holds=None)
    factors = [float((r["exact"][1:6] / r["exact"][:5]).max()) for r in results]
    printed = [theory.contraction_paper(L=float(r["L"]), r=float(r["r"])) for r in results]
    right = [contraction(result) for result in results]
    return ClaimVerdict(
        claim=claim,
        measured=f"Exact gradient descent, first five rounds: factor up to {max(factors):.3f}; "
        f"1 - L r = {max(printed):.3f}, 1 - mu r = {max(right):.3f}, which is the right one.",
        holds=all(factor <= limit for factor, limit in zip(factors, printed, strict=True)),
    )


def _condition(results: Sequence[Result]) -> ClaimVerdict:
    """Judge whether the theorem says anything about federations like the paper's."""
    claim = "The condition of Theorem 1 can be met in the paper's setting, so that the theorem applies."
    if not results:
        return ClaimVerdict(claim=claim, measured="No runs.", holds=None)
    left = max(epsilon_left(result) for result in results)
    own = theory.condition_paper(M=10, Q=800, p=0.3, d=NETWORK, L=1.0, gradient=1.0, epsilon=1e-6)
    return ClaimVerdict(
        claim=claim,
        measured=f"Its left side must stay below 1/2. With 10 clients and 20 parameters it is {0.5 - left:.1f}; "
        f"with 10 clients and the paper's {NETWORK:,} parameters about {0.5 - own:.0f}.",
        holds=left > 0 and own >= 0,
    )


def _corollary(results: Sequence[Result]) -> ClaimVerdict:
    """Judge Corollary 1: from some round on, the distance is within twice the error."""
    claim = "Corollary 1 as printed: after the given number of rounds the distance is within the given radius."
    if not results:
        return ClaimVerdict(claim=claim, measured="No runs.", holds=None)
    holds, texts = True, []
    for r in results:
        known = {"L": float(r["L"]), "N": r.run.parameters, "delta1": delta1_printed(r), "delta2": delta2_printed(r)}
        rounds = math.ceil(theory.rounds_paper(start=_start(r), r=float(r["r"]), **known))
        radius = theory.radius_paper(**known)
        holds &= rounds < len(r["distance"]) and bool((r["distance"][rounds:] <= radius).all())
        texts.append((rounds, radius, _start(r)))
    rounds, radius, start = texts[0]
    return ClaimVerdict(
        claim=claim,
        measured=f"It asks for {rounds} rounds and promises {radius:.4g}; the model starts at {start:.2f} already"
        f"{', so this says nothing' if radius > start else ''}.",
        holds=holds,
    )


def _delta1(results: Results) -> ClaimVerdict:
    """Judge Remark 1's order of Delta1 by computing it."""
    claim = "Remark 1: Delta1 falls with N, like 1/N."
    known = {"a": 0.5, "kappa": 0.3, "W": 2.0, "varpi": 2.0, "delta": 0.1, "E": 0.1}
    values = {N: theory.delta1_paper(M=10, N=N, **known) for N in (10, 100, 10_000, NETWORK)}
    limit = theory.delta1_limit(M=10, varpi=2.0, delta=0.1, E=0.1)
    shown = ", ".join(f"N = {N:,}: {value:.1f}" for N, value in values.items())
    return ClaimVerdict(
        claim=claim,
        measured=f"Computed from its own formula (M = 10, usual settings): {shown}; "
        f"the limit is {limit:.1f}. It grows.",
        holds=values[NETWORK] < values[10],
    )


def direction(sweep: Sweep, found: dict[float, list[Result]]) -> ClaimVerdict:
    """Judge whether the error goes where Remark 1 says as one quantity grows, beyond the standard error."""
    claim = f"Remark 1: the error {sweep.printed} as {sweep.symbol} grows."
    if len(found) < 2:
        return ClaimVerdict(claim=claim, measured="There is one value only, nothing to compare.", holds=None)
    spreads = {value: relative(group) for value, group in found.items()}
    change = spreads[max(found)].minus(spreads[min(found)])
    signed = change if sweep.printed == "rises" else SeedValues(tuple(-value for value in change.values))
    return ClaimVerdict(claim=claim, measured=_along(sweep, spreads), holds=_clearly(signed))


def _clearly(change: SeedValues) -> bool:
    """Return whether a change is positive beyond its standard error, and beyond rounding: a changes nothing else."""
    return change.clearly_positive and change.mean > ROUNDING


def _along(sweep: Sweep, spreads: dict[float, SeedValues]) -> str:
    shown = "; ".join(f"{sweep.symbol} = {value:g}: {spread.percent}" for value, spread in spreads.items())
    return f"Final distance, of the start: {shown}."


def _stable(sweep: Sweep, found: dict[float, list[Result]]) -> ClaimVerdict:
    """Judge what Fig. 11 shows: a and kappa hardly matter."""
    claim = f"As in Fig. 11, {sweep.symbol} hardly matters."
    if len(found) < 2:
        return ClaimVerdict(claim=claim, measured="There is one value only, nothing to compare.", holds=None)
    means = [relative(group).mean for group in found.values()]
    return ClaimVerdict(
        claim=claim,
        measured=f"The final distance changes by {100 * (max(means) - min(means)):.2f} % of the start; "
        f"hardly means at most {STABLE:.0%}.",
        holds=max(means) - min(means) <= STABLE,
    )


def _trade_off(found: dict[float, list[Result]]) -> ClaimVerdict:
    """Judge Remark 2, which says the opposite of Remark 1 about kappa."""
    claim = "Remark 2: a larger reward kappa makes the error larger (Remark 1 says smaller)."
    if len(found) < 2:
        return ClaimVerdict(claim=claim, measured="There is one value only, nothing to compare.", holds=None)
    spreads = {value: relative(group) for value, group in found.items()}
    change = spreads[max(found)].minus(spreads[min(found)])
    return ClaimVerdict(claim=claim, measured=_along(SWEEPS[-1], spreads), holds=_clearly(change))


def _draw_bounds(axes: Any, results: Sequence[Result], title: str) -> None:
    """Draw the measured distance and the bounds, over the rounds."""
    if not results:
        return
    t = np.arange(len(results[0]["distance"]))
    draw_spread(axes, t, np.stack([r["distance"] for r in results]), MEASURED, marks=6)
    draw_spread(axes, t, np.stack([printed_bound(r) for r in results]), PAPER, marks=6)
    if all(np.isfinite(corrected_bound(r)).all() for r in results):
        draw_spread(axes, t, np.stack([corrected_bound(r) for r in results]), CORRECTED, marks=6)
    draw_spread(axes, t, np.stack([followed_bound(r, contraction(r)) for r in results]), FOLLOWED, marks=6)
    axes.set_yscale("log")
    axes.set_xlabel("round")
    axes.set_title(title)


def _draw_contraction(axes: Any, results: Sequence[Result]) -> None:
    """Draw exact gradient descent beside both factors, where the printed one has not left the picture."""
    if not results:
        return
    t = np.arange(min(21, len(results[0]["exact"])))
    draw_spread(axes, t, np.stack([r["exact"][t] for r in results]), MEASURED, marks=6)
    printed = [theory.contraction_paper(L=float(r["L"]), r=float(r["r"])) ** t * _start(r) for r in results]
    draw_spread(axes, t, np.stack(printed), PAPER, marks=6)
    draw_spread(axes, t, np.stack([contraction(r) ** t * _start(r) for r in results]), CORRECTED, marks=6)
    axes.set_yscale("log")
    axes.set_ylim(1e-6, 3)
    axes.set_xlabel("round")
    axes.set_title("no errors at all:\nthe first term")


def _draw_sweep(axes: Any, sweep: Sweep, found: dict[float, list[Result]]) -> None:
    """Draw measured error and both rates along a sweep, each relative to its value in the usual setting."""
    from matplotlib.ticker import LogLocator, NullLocator

    usual = next((value for value in found if math.isclose(value, sweep.value(_usual()))), None)
    if usual is None:
        return
    seeds = min(len(group) for group in found.values())
    for style, number in ((MEASURED, _share_left), (PAPER, rate_printed), (CORRECTED, rate_corrected)):
        values = np.array([[number(result) for result in group[:seeds]] for group in found.values()]).T
        draw_spread(axes, list(found), values / values[:, [list(found).index(usual)]], style)
    if sweep.symbol in ("N", "M"):
        axes.set_xscale("log")
        axes.set_xticks(list(found), [f"{value:g}" for value in found], minor=False)
        axes.minorticks_off()
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(sweep.symbol)
    axes.set_title(f"{sweep.symbol} varied")


def _share_left(result: Result) -> float:
    return float(result["distance"][-1] / result["distance"][0])
