"""Graphs of the projected samples: one file for each kind, and the registry ``KINDS``.

To add a kind, write a file with a subclass of ``kind.GraphKind``, or of
``kind.NearestNeighborKind`` if it joins nearest neighbours: that needs ``affinities``,
and a ``build`` of its own if not every listed pair is joined. List an instance in
``KINDS``. The estimators, AutoTSNMF, the command line and the tests of all kinds take
it from there.
"""

from twofold.core.graphs.binary import Binary
from twofold.core.graphs.cosine import Cosine
from twofold.core.graphs.heat import Heat
from twofold.core.graphs.kind import GraphKind
from twofold.core.graphs.subspace import Subspace
from twofold.core.graphs.subspace_knn import SubspaceKNN

__all__ = ["KINDS", "GraphKind", "default_kind", "graph_kind"]

KINDS: dict[str, GraphKind] = {
    kind.name: kind for kind in (SubspaceKNN(), Heat(), Binary(), Cosine(), Subspace())
}
"""All kinds of graphs by name."""


def graph_kind(name: str) -> GraphKind:
    """Return the kind of a name."""
    if name not in KINDS:
        raise ValueError(f"graph must be one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]


def default_kind(n_features: int) -> GraphKind:
    """Return the kind that ``graph="auto"`` stands for, by the entries of a sample."""
    preferred = KINDS["subspace_knn"]
    return preferred if n_features >= preferred.min_features else KINDS["heat"]
