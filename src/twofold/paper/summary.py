"""All that results say of a protocol, to be written in whatever form."""

from collections.abc import Iterable
from dataclasses import dataclass

from twofold.paper.comparison import Table, build_tables
from twofold.paper.jobs import Result
from twofold.paper.protocol import Protocol, all_jobs
from twofold.paper.provenance import Provenance, collect_provenance
from twofold.paper.studies import Study, collect_studies


@dataclass(frozen=True)
class Reproduction:
    """What a protocol has shown so far.

    Attributes
    ----------
    protocol : Protocol
    best : {"combination", "subset"}
        What the tables report of a grid.
    tables : list of Table
        One for each data set that has results and each measure.
    studies : list of Study
        One for each data set that has results.
    provenance : Provenance
        Where the results come from.
    """

    protocol: Protocol
    best: str
    tables: list[Table]
    studies: list[Study]
    provenance: Provenance


def summarize(
    protocol: Protocol, results: Iterable[Result], *, best: str = "combination"
) -> Reproduction:
    """Summarise the results of a protocol, whatever else is among them.

    Parameters
    ----------
    protocol : Protocol
        Its data sets must be at hand: they are part of what tells a result of theirs
        from those of other pixels, methods or versions under the same name.
    results : iterable of Result
    best : {"combination", "subset"}
        Which figure of a grid is reported. The paper reports "the average performance
        with all combinations of parameters tested"; read as the mean over the subsets
        for each combination, of which the best is reported. "subset" takes the best
        combination of every subset instead, which cannot be lower. Either way each
        measure has its own.
    """
    wanted = {key for job in all_jobs(protocol) for key in job.keys}
    results = list(results)
    own = [result for result in results if result.key in wanted]
    if not own:
        kinds = sorted({(r.data, r.seed, r.max_iter or 0) for r in results})
        held = "; ".join(f"{d}, seed {s}, max_iter {m or None}" for d, s, m in kinds)
        raise ValueError(
            "there are no results of this protocol with this data and code; "
            f"those given are of: {held or 'nothing'}"
        )
    found = build_tables(protocol, own, best)
    return Reproduction(
        protocol, best, found, collect_studies(protocol, own), collect_provenance(own)
    )
