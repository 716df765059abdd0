"""Tables, studies and provenance of the results of a protocol."""

from collections.abc import Iterable
from dataclasses import dataclass

from twofold.paper.comparison import Table, build_tables
from twofold.paper.jobs import Result
from twofold.paper.protocol import Protocol, all_jobs
from twofold.paper.provenance import Provenance, collect_provenance
from twofold.paper.studies import Study, collect_studies


@dataclass(frozen=True)
class Reproduction:
    """Summary of all results of a protocol."""

    protocol: Protocol
    best: str  # score of a grid that is reported, see ``summarize``
    tables: list[Table]  # one for each data set that has results and each measure
    studies: list[Study]  # one for each data set that has results
    provenance: Provenance


def summarize(
    protocol: Protocol, results: Iterable[Result], *, best: str = "combination"
) -> Reproduction:
    """Summarise the results of a protocol.

    Parameters
    ----------
    protocol : Protocol
        Protocol to summarise. Its data sets must be available, because the key of a
        result depends on the pixels.
    results : iterable of Result
        Results of this protocol and possibly of others, which are ignored.
    best : {"combination", "subset"}
        Score of a grid that is reported. "combination": the highest mean over the
        subsets among all grid points. "subset": the mean over the subsets of the best
        score of each, which is at least as high. Every measure has its own best grid
        point. The paper reports "the average performance with all combinations of
        parameters tested", which we read as "combination".

    Returns
    -------
    Reproduction
    """
    keys = {key for job in all_jobs(protocol) for key in job.keys}
    results = list(results)
    selected = [result for result in results if result.key in keys]
    if not selected:
        kinds = sorted({(r.data, r.seed, r.max_iter or 0) for r in results})
        held = "; ".join(f"{d}, seed {s}, max_iter {m or None}" for d, s, m in kinds)
        raise ValueError(
            "there are no results of this protocol with this data and code; "
            f"those given are of: {held or 'nothing'}"
        )
    return Reproduction(
        protocol,
        best,
        build_tables(protocol, selected, best),
        collect_studies(protocol, selected),
        collect_provenance(selected),
    )
