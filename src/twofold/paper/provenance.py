"""Provenance of results: machines, dates, running times and failures."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from twofold.paper.data import find_data
from twofold.paper.jobs import Result
from twofold.paper.objects import find_method


@dataclass(frozen=True)
class Provenance:
    """Origin of a collection of results."""

    fits: dict[tuple[str, str], int]  # number of fits by data set and method
    # Hours of one core, or of its share of a GPU, by data set and method.
    hours: dict[tuple[str, str], float]
    machines: list[str]  # description of each machine, with its number of fits
    days: str  # dates of the first and the last fit
    # Number of failed fits by data set, method and reason.
    failures: dict[tuple[str, str, str], int]


def collect_provenance(results: Iterable[Result]) -> Provenance:
    """Collect the provenance of results."""
    fits: Counter[tuple[str, str]] = Counter()
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    origins: Counter[str] = Counter()
    failures: Counter[tuple[str, str, str]] = Counter()
    times = []
    for result in results:
        kind = result.data, result.method
        fits[kind] += 1
        seconds[kind] += result.seconds
        origins[result.origin] += 1
        times.append(result.finished)
        if result.error:
            failures[*kind, " ".join(result.error.split())] += 1
    hours = {kind: value / 3600 for kind, value in seconds.items()}
    machines = [_machine(text, count) for text, count in origins.most_common()]
    ends = (min(times), max(times)) if times else ()
    days = [datetime.fromtimestamp(t, UTC).date().isoformat() for t in ends]
    when = " to ".join(dict.fromkeys(days))  # one date if both are the same
    return Provenance(dict(fits), hours, machines, when, dict(failures))


def failure_lines(provenance: Provenance) -> list[str]:
    """Describe the failed fits, one line for each data set, method and reason."""
    return [
        f"{find_data(data).title}, {find_method(method).title}: {count} fits, {reason}"
        for (data, method, reason), count in provenance.failures.items()
    ]


def _machine(origin: str, fits: int) -> str:
    """Describe a machine from the JSON in ``Result.origin``."""
    details = json.loads(origin)
    if not details:  # the store lost the row of this origin
        return f"{fits:,} fits on a machine whose record was lost"
    device = details["device"]
    where = f"{details['cores']} cores ({details['system']}, {details['machine']})"
    if device != "cpu":
        where = f"{device}, {where}"
    versions = ", ".join(f"{name} {v}" for name, v in details["versions"].items())
    return f"{fits:,} fits on {where}: Python {details['python']}, {versions}"
