"""Which goals the measurements meet."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from perf_parts import (
    DEFAULT,
    HEAT,
    ITERATIONS,
    LIST_ITERATIONS,
    Compared,
    Foretold,
    Held,
    Kept,
    Ran,
    Results,
    Scaled,
    Searched,
)
from perf_process import Failure, Measurement, Outcome

TEXTBOOK_TIMES = {"TSNMF, heat": 12.0, "TSNMF, default graph": 8.0}
NMF_TIMES = {"TSNMF, heat": 4.0, "TSNMF, default graph": 6.0}
HEAT_TIMES, SECONDS = 1.5, 60.0
SEARCHES, HARDEST_SEARCHES, HARDEST = 6.0, 15.0, 0.001
GIBIBYTES, EXPONENT, POINTS = 4.0, 1.3, 1.0
COPIES, MEMORY_EXPONENT = 2.0, 1.1
SWEEP_SHARE = 1 / 5
FITS, GROWTH = 10.0, 1.1
KINDS = ("exact", "approximate")


@dataclass(frozen=True)
class Goal:
    """One line of the table of goals; ``met`` is None where it was not measured."""

    number: int
    wanted: str
    measured: str
    met: bool | None


def judge(results: Results) -> list[Goal]:
    """All goals that the parts that were run speak of."""
    goals: list[Goal] = []
    for scaled in results.scaled:
        goals += default_goals(scaled)
    for compared in results.compared:
        if compared.data.name == "eyaleb":
            goals += speed_goals(compared)
    goals += list_goals(results.kept)
    for scaled in results.scaled:
        goals += scale_goals(scaled)
        goals.append(growth_goal(scaled, "TSNMF, exact"))
    goals += map(copies_goal, results.held)
    for swept in results.swept:
        for many, few, what in swept.cases():
            wanted = f"{swept.data.name}: {what} in less than a fifth of 49 fits"
            parts = share(seconds(many), seconds(few))
            goals.append(below(5, wanted, parts, SWEEP_SHARE, "{:.2f} of them"))
    for searched in results.searched:
        goals += search_goals(searched)
    for ran in results.ran:
        goals += command_goals(ran)
    if results.foretold:
        goals.append(block_goal(results.foretold))
    return goals


def search_goals(searched: Searched) -> Iterable[Goal]:
    """Goal 6."""
    which = f"AutoTSNMF, {searched.data.name}, {searched.n:,}"
    times = share(seconds(searched.search), seconds(searched.fit))
    wanted = f"{which}: at most {FITS:g} times a fit at the defaults"
    yield below(6, wanted, times, FITS, "{:.1f} times")
    lost = difference(score(searched.fit), score(searched.search))
    wanted = f"{which}: NMI at most {POINTS:g} point below that of the fit"
    yield below(6, wanted, lost, POINTS, "{:+.1f} points below")


def command_goals(ran: Ran) -> Iterable[Goal]:
    """Goal 7: neither reading nor writing takes as long as the fit."""
    fit = ran.stages.get("fitting")
    for stage in ("reading", "writing"):
        if fit is not None:
            wanted = f"twofold cluster, {ran.what}: {stage} takes less than the fit"
            part = share(ran.stages.get(stage), fit)
            yield below(7, wanted, part, 1.0, "{:.2f} of it")


def block_goal(foretold: list[Foretold]) -> Goal:
    """Goal 7: predictions hold a block, and the labels of all."""
    held = {each.n: beyond(each.outcome) for each in foretold}
    few, many = min(held), max(held)
    labels = 8 * many / 2**20
    most = held[many]
    known = None if most is None else most - labels
    wanted = f"predict: {many:,} samples hold what {few:,} do, and their labels"
    return below(7, wanted, share(known, held[few]), GROWTH, "{:.2f} times")


def speed_goals(compared: Compared) -> Iterable[Goal]:
    """Goal 1."""
    for name, limit in TEXTBOOK_TIMES.items():
        ours = seconds(compared.outcomes[name])
        wanted = f"{name}: {limit:g} times faster than the textbook version"
        times = share(textbook_seconds(compared, name), ours)
        met = None if times is None else times >= limit
        yield Goal(1, wanted, text(times, "{:.1f} times"), met)
        wanted = f"{name}: at most {NMF_TIMES[name]:g} times scikit-learn's NMF"
        times = share(ours, seconds(compared.outcomes["NMF"]))
        yield below(1, wanted, times, NMF_TIMES[name], "{:.1f} times")


def textbook_seconds(compared: Compared, name: str) -> float | None:
    """Of all iterations by the textbook version, each of which costs the same."""
    outcome = compared.textbook[name]
    if isinstance(outcome, Failure) or not outcome.iterations:
        return None
    return ITERATIONS / outcome.iterations * outcome.seconds


def list_goals(kept: list[Kept]) -> Iterable[Goal]:
    """Goal 2: the side that searched most, in usual cases and in the hardest one."""
    for hardest, limit in ((False, SEARCHES), (True, HARDEST_SEARCHES)):
        found = [
            max(case.searches) if isinstance(case.searches, list) else None
            for case in kept
            if (case.energy_weight == HARDEST) is hardest
        ]
        if found:
            known = [searches for searches in found if searches is not None]
            most = max(known) if len(known) == len(found) else None
            which = f"{HARDEST:g}" if hardest else "0.1 and 1"
            wanted = (
                f"energy_weight {which}: {LIST_ITERATIONS} iterations for at most "
                f"{limit:g} full searches"
            )
            yield below(2, wanted, most, limit, "{:.1f}")


def scale_goals(scaled: Scaled) -> Iterable[Goal]:
    """Goal 3."""
    exact, approximate = (scaled.outcomes[f"TSNMF, {k}"] for k in KINDS)
    largest = max(exact)
    peer = scaled.outcomes["SpectralClustering"]
    done = [n for n in peer if isinstance(peer[n], Measurement)]
    for kind, ours in zip(KINDS, (exact, approximate), strict=True):
        if done:
            wanted = (
                f"{kind}, {largest:,} in less time than SpectralClustering on "
                f"{max(done):,}"
            )
            times = share(seconds(ours[largest]), seconds(peer[max(done)]))
            yield below(3, wanted, times, 1.0, "{:.2f} of it")
        wanted = f"{kind}, {largest:,} in under {GIBIBYTES:g} GiB, data included"
        held = total(ours[largest])
        yield below(3, wanted, share(held, 1024), GIBIBYTES, "{:.2f} GiB")
    wanted = f"approximate: cost grows no faster than n^{EXPONENT:g}"
    power = exponent({n: seconds(outcome) for n, outcome in approximate.items()})
    yield below(3, wanted, power, EXPONENT, "n^{:.2f}")
    wanted = f"approximate: NMI within {POINTS:g} point of exact"
    yield below(3, wanted, apart(exact, approximate), POINTS, "{:.1f} at most")


def default_goals(scaled: Scaled) -> Iterable[Goal]:
    """Goal 3 for the defaults, beside neighbours by distance in the same channels."""
    heat, ours = scaled.outcomes[HEAT], scaled.outcomes[DEFAULT]
    for n in ours:
        wanted = f"{DEFAULT}, {n:,}: at most {HEAT_TIMES:g} times heat on gradients"
        times = share(seconds(ours[n]), seconds(heat[n]))
        yield below(3, wanted, times, HEAT_TIMES, "{:.2f} times")
        lost = difference(score(heat[n]), score(ours[n]))
        wanted = f"{DEFAULT}, {n:,}: NMI at most {POINTS:g} point below heat's"
        yield below(3, wanted, lost, POINTS, "{:+.1f} points below")
    wanted = f"{DEFAULT}: cost grows no faster than n^{EXPONENT:g}"
    power = exponent({n: seconds(outcome) for n, outcome in ours.items()})
    yield below(3, wanted, power, EXPONENT, "n^{:.2f}")
    wanted = f"{DEFAULT}, {max(ours):,}: under {SECONDS:g} s"
    yield below(3, wanted, seconds(ours[max(ours)]), SECONDS, "{:.0f} s")


def growth_goal(scaled: Scaled, method: str) -> Goal:
    """Goal 4: nothing of size n x n, so that memory grows with n."""
    held = {n: beyond(outcome) for n, outcome in scaled.outcomes[method].items()}
    wanted = "exact: memory grows with n, not with its square"
    return below(4, wanted, exponent(held), MEMORY_EXPONENT, "n^{:.2f}")


def copies_goal(held: Held) -> Goal:
    """Goal 4: one copy, and all else less than another; the file's pages beside it."""
    limit = COPIES + held.mapped
    kind = "np.memmap of float32" if held.mapped else held.dtype
    wanted = f"{kind}: holds less than {limit:g} times the samples beyond what is given"
    return below(4, wanted, share(beyond(held.outcome), held.size), limit, "{:.2f}")


def apart(exact: dict[int, Outcome], approximate: dict[int, Outcome]) -> float | None:
    """The largest difference of NMI over all sizes that both finished, if any."""
    pairs = [(score(exact[n]), score(approximate[n])) for n in exact]
    differences = [abs(a - b) for a, b in pairs if a is not None and b is not None]
    return max(differences, default=None)


def exponent(values: dict[int, float | None]) -> float | None:
    """The power of n by which positive values grow from the least to the largest n."""
    low, high = min(values), max(values)
    times = share(values[high], values[low])
    return math.log(times) / math.log(high / low) if times and high > low else None


def seconds(outcome: Outcome) -> float | None:
    """The time of a measurement."""
    return None if isinstance(outcome, Failure) else outcome.seconds


def score(outcome: Outcome) -> float | None:
    """The NMI of a measurement, in percent."""
    return None if isinstance(outcome, Failure) else outcome.nmi


def beyond(outcome: Outcome) -> float | None:
    """The memory of a measurement beyond the data."""
    return None if isinstance(outcome, Failure) else outcome.beyond


def total(outcome: Outcome) -> float | None:
    """The memory of a measurement, data included."""
    return None if isinstance(outcome, Failure) else outcome.total


def difference(one: float | None, other: float | None) -> float | None:
    """Their difference, where both are known."""
    return None if one is None or other is None else one - other


def share(part: float | None, whole: float | None) -> float | None:
    """Their quotient, where both are known."""
    return part / whole if part is not None and whole else None


def below(
    number: int, wanted: str, value: float | None, limit: float, shown: str
) -> Goal:
    """A goal that is met by values up to a limit."""
    met = None if value is None else value <= limit
    return Goal(number, wanted, text(value, shown), met)


def text(value: float | None, shown: str) -> str:
    """A value, or that there is none."""
    return "not measured" if value is None else shown.format(value)
