"""The measurements as Markdown."""

from collections.abc import Iterable, Sequence

from perf_goals import (
    beyond,
    exponent,
    judge,
    score,
    seconds,
    share,
    textbook_seconds,
    total,
)
from perf_methods import DIRECTIONS
from perf_parts import (
    ITERATIONS,
    LIST_ITERATIONS,
    MEMORY_ITERATIONS,
    TURNS,
    Compared,
    Foretold,
    Held,
    Kept,
    Machine,
    Ran,
    Results,
    Scaled,
    Searched,
    Swept,
)
from perf_process import Failure, Outcome, Stored
from perf_roofline import Size, iteration_flops, search_flops

MET = {None: "not measured", True: "yes", False: "no"}


def page(results: Results) -> str:
    """All tables, the goals first."""
    machine = results.machine
    parts = [machine_line(machine), *results.skipped, goals_table(results)]
    parts += [scaled_table(case, machine) for case in results.scaled]
    parts += [searched_table(results.searched)] if results.searched else []
    parts += [ran_table(results.ran)] if results.ran else []
    parts += [foretold_table(results.foretold)] if results.foretold else []
    parts += [compared_table(case, machine) for case in results.compared]
    parts += [swept_table(results.swept)] if results.swept else []
    parts += [kept_table(results.kept)] if results.kept else []
    parts += [held_table(results.held)] if results.held else []
    return "\n\n".join(parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: float | None, form: str = ".3g") -> str:
    """A number, or nothing."""
    return "" if value is None else format(value, form)


def spent(outcome: Outcome) -> str:
    """The seconds of an outcome, or why there are none."""
    return outcome.why if isinstance(outcome, Failure) else f"{outcome.seconds:.2f}"


def machine_line(machine: Machine) -> str:
    """Where it was measured."""
    versions = ", ".join(f"{name} {which}" for name, which in machine.versions.items())
    rates = " and ".join(
        f"{rate / 1e9:.0f} GFLOP/s in {dtype}" for dtype, rate in machine.rates.items()
    )
    return (
        f"`make bench` on {machine.cores} cores, {machine.processor}; {versions}; "
        f"matrix products at {rates}."
    )


def goals_table(results: Results) -> str:
    """One line for each goal."""
    rows = [
        (str(goal.number), goal.wanted, goal.measured, MET[goal.met])
        for goal in judge(results)
    ]
    if not rows:
        return "No goal is judged by these parts alone."
    return table(("goal", "wanted", "measured", "met"), rows)


def compared_table(compared: Compared, machine: Machine) -> str:
    """A data set by all methods, and the least that a fit could take."""
    n, h, w = compared.data.shape
    what = (
        f"**{compared.data.name}**, {n:,} images of {h} x {w}, k = {compared.data.k}, "
        f"whole fits of {ITERATIONS} iterations in float64, the fastest of {TURNS} "
        f"turns; r = {DIRECTIONS} for heat. The textbook versions are what "
        f"{ITERATIONS} of their iterations take. Times are in terms of NMF's."
    )
    header = ("", "seconds", "times NMF", "MiB beyond the data", "NMI")
    unit = seconds(compared.outcomes["NMF"])
    rows = [
        (name, spent(outcome), shown(share(seconds(outcome), unit)), *peak(outcome))
        for name, outcome in compared.outcomes.items()
    ]
    for name, outcome in compared.textbook.items():
        whole = textbook_seconds(compared, name)
        times = shown(whole, ".1f"), shown(share(whole, unit))
        rows.append((f"textbook version of {name}", *times, *peak(outcome)))
    for name, least in rooflines(size_of(compared.data), ITERATIONS, machine).items():
        rows.append(
            (f"{name}, heat", f"{least:.2f}", shown(share(least, unit)), "", "")
        )
    return f"{what}\n\n{table(header, rows)}"


def peak(outcome: Outcome) -> tuple[str, str]:
    """The memory beyond the data, and the NMI."""
    return shown(beyond(outcome), ".0f"), shown(score(outcome), ".1f")


def size_of(data: Stored, n: int | None = None) -> Size:
    """Of the first n images of a data set, or of all."""
    count, h, w = data.shape
    return Size(n or count, h, w, data.k, DIRECTIONS)


def rooflines(size: Size, iterations: int, machine: Machine) -> dict[str, float]:
    """Seconds of the arithmetic at the rate of matrix products, in float64."""
    must, search = iteration_flops(size), search_flops(size)
    flops = {
        "roofline without neighbour search": must,
        "roofline with graphs by brute force": must + search,
    }
    rate = machine.rates["float64"]
    return {name: iterations * count / rate for name, count in flops.items()}


def kept_table(kept: list[Kept]) -> str:
    """How many full searches the lists cost."""
    what = (
        f"**Kept neighbour lists**: rows searched anew in {LIST_ITERATIONS} "
        f"iterations, divided by n. By brute force it is {LIST_ITERATIONS}."
    )
    header = ("data", "images", "energy_weight", "left", "right")
    rows = [
        (case.name, f"{case.n:,}", f"{case.energy_weight:g}", *searches(case))
        for case in kept
    ]
    return f"{what}\n\n{table(header, rows)}"


def searches(case: Kept) -> list[str]:
    """Those of the left and of the right side."""
    if isinstance(case.searches, Failure):
        return [case.searches.why] * 2
    return [f"{side:.2f}" for side in case.searches]


def scaled_table(scaled: Scaled, machine: Machine) -> str:
    """Growing parts of a data set."""
    header = (
        "images",
        "",
        "seconds",
        "SpectralClustering takes, times",
        "MiB beyond the data",
        "NMI",
        "MiB in all",
        "iterations",
        "times the roofline",
        "with brute force",
    )
    rows = [
        scaled_row(scaled, name, n, machine)
        for n in sorted(scaled.outcomes["SpectralClustering"])
        for name in scaled.outcomes
    ]
    return f"{growth(scaled)}\n\n{table(header, rows)}"


def scaled_row(scaled: Scaled, name: str, n: int, machine: Machine) -> tuple[str, ...]:
    """One method on the first n images."""
    outcome, peer = (scaled.outcomes[m][n] for m in (name, "SpectralClustering"))
    done = None if isinstance(outcome, Failure) else outcome.iterations
    least = rooflines(size_of(scaled.data, n), done, machine).values() if done else ()
    return (
        f"{n:,}",
        name,
        spent(outcome),
        shown(share(seconds(peer), seconds(outcome))),
        *peak(outcome),
        shown(total(outcome), ".0f"),
        shown(done, "d"),
        *([shown(share(seconds(outcome), bound)) for bound in least] or ["", ""]),
    )


def growth(scaled: Scaled) -> str:
    """What was scaled up, and the powers of n by which the time grew."""
    powers = {
        name: exponent({n: seconds(outcome) for n, outcome in by_size.items()})
        for name, by_size in scaled.outcomes.items()
    }
    grown = "; ".join(
        f"{name} as n^{power:.2f}"
        for name, power in powers.items()
        if power is not None
    )
    return (
        f"**{scaled.data.name}**, k = {scaled.data.k}, r = {DIRECTIONS}: whole fits in "
        "float64, up to the tolerance. From the least to the largest size time grows: "
        f"{grown or 'not measured'}."
    )


def held_table(held: list[Held]) -> str:
    """What a fit holds beside its samples."""
    what = (
        f"**Memory** of a fit of {MEMORY_ITERATIONS} iterations to MNIST digits. Pages "
        "of a mapped file count once they are read."
    )
    header = ("samples", "MiB", "MiB beyond them", "in copies of them", "seconds")
    rows = [
        (
            f"{case.dtype}, in a file (np.memmap)" if case.mapped else case.dtype,
            f"{case.size:.0f}",
            shown(beyond(case.outcome), ".0f"),
            shown(share(beyond(case.outcome), case.size)),
            spent(case.outcome),
        )
        for case in held
    ]
    return f"{what}\n\n{table(header, rows)}"


def swept_table(swept: list[Swept]) -> str:
    """Sweeps and restarts beside single fits."""
    what = "**Sweep** of 49 pairs of weights, and 49 starts (``n_init``)."
    header = (
        "data",
        "runs",
        "49 fits, seconds",
        "one call, seconds",
        "ratio",
        "49 fits, MiB",
        "one call, MiB",
    )
    rows = [
        (
            case.data.name,
            name,
            spent(few),
            spent(many),
            shown(share(seconds(many), seconds(few))),
            shown(beyond(few), ".0f"),
            shown(beyond(many), ".0f"),
        )
        for case in swept
        for many, few, name in case.cases()
    ]
    return f"{what}\n\n{table(header, rows)}"


def searched_table(searched: list[Searched]) -> str:
    """Searches beside single fits."""
    what = "**Search**: `AutoTSNMF`, told the number of clusters, and `TSNMF`."
    header = (
        *("data", "samples", "fit, seconds", "search, seconds", "in fits"),
        *("NMI of the fit", "NMI of the search", "fit, MiB", "search, MiB"),
    )
    rows = [
        (
            case.data.name,
            f"{case.n:,}",
            spent(case.fit),
            spent(case.search),
            shown(share(seconds(case.search), seconds(case.fit))),
            shown(score(case.fit), ".1f"),
            shown(score(case.search), ".1f"),
            shown(beyond(case.fit), ".0f"),
            shown(beyond(case.search), ".0f"),
        )
        for case in searched
    ]
    return f"{what}\n\n{table(header, rows)}"


def ran_table(ran: list[Ran]) -> str:
    """Commands from files to tables."""
    what = (
        "**Commands**, in processes of their own, on made image files, by gradients; "
        "features come from a file. Seconds by stage. Of `predict`, which reports no "
        "more, the rest is all after the reading."
    )
    names = list(dict.fromkeys(stage for case in ran for stage in case.stages))
    header = ("images", "command", "count", *names, "images a second", "MiB in all")
    rows = [
        (
            case.what,
            case.command,
            f"{case.count:,}",
            *(shown(case.stages.get(name), ".2f") for name in names),
            shown(case.rate, ".0f"),
            shown(case.mebibytes, ".0f"),
        )
        for case in ran
    ]
    return f"{what}\n\n{table(header, rows)}"


def foretold_table(foretold: list[Foretold]) -> str:
    """Very many predictions."""
    what = (
        "**Predictions** of digits, as bytes in a mapped file, by a fit to 2,000 of "
        "them; the memory is what is allocated."
    )
    header = ("samples", "seconds", "samples a second", "MiB allocated")
    rows = [
        (
            f"{case.n:,}",
            spent(case.outcome),
            shown(share(float(case.n), seconds(case.outcome)), ".0f"),
            shown(beyond(case.outcome), ".0f"),
        )
        for case in foretold
    ]
    return f"{what}\n\n{table(header, rows)}"
