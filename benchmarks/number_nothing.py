"""The structure of inputs with nothing to be found, and of real sets."""

from pathlib import Path
from zlib import crc32

import numpy as np
from number_kinds import CONTINUA, NOTHING
from number_sets import USES, known, run, table

from twofold import TSNMF, AutoTSNMF
from twofold.estimators import assess
from twofold.estimators.fitted import LEAST_STRUCTURE

SIZES = ((60, 16, 4), (150, 32, 10), (400, 24, 3), (800, 20, 20))
"""Numbers of samples, sides of images and numbers of clusters."""

_SEARCHED = (150, 32, None)
"""What is searched for its number of clusters as well."""


def structure(
    name: str, n: int, side: int, k: int | None, place: Path
) -> tuple[float, int]:
    """The structure of a kind of nothing or of a known set, and how many clusters."""
    model: TSNMF | AutoTSNMF
    kinds, channels = NOTHING | CONTINUA, "auto"
    if name in kinds:
        X = kinds[name](np.random.RandomState(crc32(f"{name} {n}".encode())), n, side)
    else:
        X, target, channels = known(name, place)
        k = len(np.unique(target))
    if k is None:
        search = AutoTSNMF(channels=channels, random_state=0).fit(X)
        return search.structure_, search.n_clusters_
    model = TSNMF(k, channels=channels, random_state=0).fit(X)
    return assess(model).structure, k


def nothing(place: Path, n_jobs: int) -> str:
    """The tables of nothing, of continua and of real sets."""
    sizes = [*SIZES, _SEARCHED]
    given = [(name, *size, place) for name in NOTHING | CONTINUA for size in sizes]
    given += [(name, 0, 0, None, place) for name in USES]
    found = iter(run(structure, given, n_jobs))
    heads = [*(f"n = {n}, k = {k}" for n, _, k in SIZES)]
    heads += [f"n = {_SEARCHED[0]}, searched", "its k"]
    lines = []
    for title, kinds in (("nothing", NOTHING), ("a continuum", CONTINUA)):
        by_kind = {name: [next(found) for _ in sizes] for name in kinds}
        rows = [
            [name, *(marked(s) for s, _ in each), str(each[-1][1])]
            for name, each in by_kind.items()
        ]
        lines += [table([title, *heads], rows), "", count(by_kind), ""]
    of_sets = {name: next(found)[0] for name in USES}
    rows = [[name, marked(each)] for name, each in of_sets.items()]
    lines.append(table(["real", "the classes' number given"], rows))
    warned = [name for name, each in of_sets.items() if each < LEAST_STRUCTURE]
    lines += ["", f"Real sets that are warned of: {', '.join(warned) or 'none'}."]
    return "\n".join(lines)


def marked(found: float) -> str:
    """A structure, in bold where no warning is given."""
    return f"{found:.2f}" if found < LEAST_STRUCTURE else f"**{found:.2f}**"


def count(by_kind: dict[str, list[tuple[float, int]]]) -> str:
    every = [s for each in by_kind.values() for s, _ in each]
    missed = [
        name
        for name, each in by_kind.items()
        if max(s for s, _ in each) >= LEAST_STRUCTURE
    ]
    called = sum(s < LEAST_STRUCTURE for s in every)
    return (
        f"Called nothing: {called} of {len(every)} inputs, and always "
        f"{len(by_kind) - len(missed)} of {len(by_kind)} kinds; the others: "
        f"{', '.join(missed) or 'none'}. The highest structure: {max(every):.2f}."
    )
