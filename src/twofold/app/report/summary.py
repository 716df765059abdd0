"""The report as typed data, from which the page is made."""

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

import twofold
from twofold.app.collection import NETWORK, Collection
from twofold.app.report.clustering import Clustering, select_shown
from twofold.app.report.items import Item, make_items, printable
from twofold.app.report.schema import Count, Number, Part
from twofold.app.report.sections.alternatives import (
    Way,
    build_alternatives,
    select_alternatives,
)
from twofold.app.report.sections.clusters import Cluster, build_clusters
from twofold.app.report.sections.convergence import Convergence, build_convergence
from twofold.app.report.sections.duplicates import build_duplicates, select_duplicates
from twofold.app.report.sections.missing import Missing, build_missing, select_pairs
from twofold.app.report.sections.outliers import build_outliers, select_outliers
from twofold.app.report.sections.projections import Projections, build_projections
from twofold.app.report.sections.scores import Scores, build_scores
from twofold.app.report.sections.search import Search, build_search
from twofold.app.report.sections.tree import Tree, build_tree
from twofold.app.report.sheets import Sheets, shown_sheets
from twofold.app.results import Assignments, Moves, moves_of, typical_orders
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.fitted import LEAST_STRUCTURE
from twofold.estimators.tsnmf import TSNMF

Format = Literal["twofold report"]
Version = Literal[1]
FORMAT: Format = "twofold report"
VERSION: Version = 1

MOST_SHOWN = 5000
"""Maximum number of samples that a report shows."""

LARGEST_REPORT = 256 * 2**20
"""Maximum size of a report file in bytes; the whole file is held in memory."""

_LONGEST_ERROR = 300
"""Maximum length of an error message, which may quote the file."""


class Section(NamedTuple):
    """Text of the link to a section of the page, and function that makes its data."""

    link: str  # ``{entries}`` is "pixels", or "entries" for vectors
    # Makes the data of the section, or returns None if the section does not apply. A
    # section that uses only the data of other sections has no function and is always
    # shown.
    build: Callable[[Clustering], Any] | None


# The sections in page order. To add the section NAME:
# 1. Write sections/NAME.py with a ``Part`` for the data of the section, and a function
#    that makes the data from a ``Clustering``, or returns None. Name samples by their
#    positions (see ``Clustering.shown_positions``).
# 2. Write sections/NAME.html.j2: a <section aria-labelledby="NAME"> whose <h2> has the
#    id NAME, rendered if there are data, ``report.NAME``. macros.html.j2 has galleries
#    and charts; a section with a gallery needs a <p class="no-match" hidden> for Find.
# 3. Here, add a line to ``SECTIONS`` and the field NAME to ``Report``. The type of the
#    field ends in ``| None = None``, so that older files can be read.
# 4. If the section names samples, add their positions to ``named`` in
#    ``Report.__post_init__``, since a file may hold anything; and to ``required`` in
#    ``summarize`` if they must be shown however many samples there are.
SECTIONS = {
    "clusters": Section("Clusters", build_clusters),
    "outliers": Section("Outliers", build_outliers),
    "duplicates": Section("Near-duplicates", build_duplicates),
    "missing": Section("Missing {entries}", build_missing),
    "map": Section("Map", None),
    "tree": Section("Hierarchy", build_tree),
    "search": Section("Settings", build_search),
    "alternatives": Section("Other ways", build_alternatives),
    "convergence": Section("Convergence", build_convergence),
    "projections": Section("Projections", build_projections),
    "scores": Section("Scores", build_scores),
}


class Report(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that the page shows. ``report.json`` is this class as JSON.

    Samples are named by their position in ``items``.
    """

    format: Format
    version: Version
    twofold: str  # version of twofold that made the report
    title: str  # name of the collection
    images: Count  # number of samples, shown or not
    shape: list[Count]  # shape of an image
    features: list[Count] | None = None  # shape of the features that were clustered
    network: str | None = None  # whose features these are; None for the user's own
    parameters: dict[str, str | int | float | bool | None]  # plain values only
    skipped: list[tuple[str, str]]  # files that were not read, with the reason
    items: list[Item]  # samples that are shown
    sheets: Sheets  # thumbnails of these samples
    # How much speaks for clusters, see ``Assessment``; None in older files, and of one
    structure: Number | None = None
    outlier_images: Count | None = None  # of no cluster; None if not looked for
    aligned: Moves | None = None  # how images were aligned before they were compared
    duplicate_groups: Count  # number of groups, shown or not
    duplicate_images: Count  # number of samples in them
    # The data of the ``SECTIONS``, or None if a section does not apply.
    clusters: list[Cluster]
    outliers: list[Count]
    duplicates: list[list[Count]]
    missing: Missing | None = None
    tree: Tree | None = None
    search: Search | None = None
    alternatives: list[Way] | None = None
    convergence: Convergence
    projections: Projections
    scores: Scores | None

    def __post_init__(self) -> None:
        named = self.outliers + [i for group in self.duplicates for i in group]
        if self.missing is not None:
            named = named + [pair.item for pair in self.missing.pairs]
        if self.tree and len(self.tree.children) + 1 != len(self.clusters):
            raise ValueError("its hierarchy is not of its clusters")
        for way in self.alternatives or []:
            named = named + [i for strip in way.clusters for i in strip.items]
        if any(i >= len(self.items) for i in named):
            raise ValueError("it names images that it does not have")
        inside = sorted((i, c.number) for c in self.clusters for i in c.items)
        if inside != [(i, item.cluster) for i, item in enumerate(self.items)]:
            raise ValueError("its clusters are not those of its images")
        if len(self.sheets.places) != len(self.items):
            raise ValueError("its thumbnails are not those of its images")

    @property
    def found(self) -> bool:
        """Whether there are clusters, as far as is known."""
        return self.structure is None or self.structure >= LEAST_STRUCTURE

    @property
    def least_structure(self) -> float:
        """The structure from which on there are clusters."""
        return LEAST_STRUCTURE

    @property
    def compared_by(self) -> str:
        """The option by which features are compared; empty if images are."""
        if self.network is not None:
            return f"--network {shlex.quote(self.network)}"
        return "" if self.features is None else "--features FILE"


class _Header(msgspec.Struct):
    """Fields by which a report is recognised; other fields are ignored."""

    format: Any = None
    version: Any = None


def read_report(text: bytes) -> Report:
    """Read a report from JSON of an untrusted source.

    Any flaw raises a ValueError with a message of one line.
    """
    if len(text) > LARGEST_REPORT:
        raise ValueError(f"must be of at most {LARGEST_REPORT:,} bytes, got more")
    try:
        # The header first: a file of another version may differ in any field.
        header = msgspec.json.decode(text, type=_Header)
        if header.format != FORMAT:
            raise ValueError(f"it is no {FORMAT}")
        if header.version != VERSION:
            raise ValueError(
                f"it is of version {header.version!r}, and this twofold reads "
                f"version {VERSION}"
            )
        return msgspec.json.decode(text, type=Report)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:_LONGEST_ERROR]
        raise ValueError(reason) from error


def summarize(
    collection: Collection,
    model: TSNMF,
    assignments: Assignments,
    typical: np.ndarray,
    duplicates: list[list[int]],
    folder: Path,
    search: AutoTSNMF | None = None,
) -> Report:
    """Return the report of a clustering; arguments as in ``Clustering``.

    ``folder`` is the folder of the page, from which links to the image files start.
    """
    orders = typical_orders(assignments.clusters, typical)
    required = select_duplicates(duplicates, MOST_SHOWN // 4)
    required |= {
        *select_outliers(typical, assignments.outlier),
        *select_pairs(collection),
    }
    required |= select_alternatives(collection, search, assignments.clusters)
    shown = select_shown(orders, required, MOST_SHOWN)
    clustering = Clustering(
        collection, model, assignments, typical, orders, duplicates, shown, search
    )
    return Report(
        format=FORMAT,
        version=VERSION,
        twofold=twofold.__version__,
        title=printable(collection.title),
        images=len(assignments.clusters),
        shape=list(collection.images.shape[1:]),
        features=_features_shape(collection),
        network=collection.network and printable(collection.network.network),
        parameters=_parameters(model, collection),
        skipped=[(printable(name), printable(why)) for name, why in collection.skipped],
        items=make_items(clustering, folder),
        sheets=shown_sheets(clustering),
        structure=_structure(model),
        outlier_images=int(assignments.outlier.sum()) if model.outliers else None,
        aligned=moves_of(model),
        duplicate_groups=len(duplicates),
        duplicate_images=sum(map(len, duplicates)),
        **{name: s.build(clustering) for name, s in SECTIONS.items() if s.build},
    )


def _structure(model: TSNMF) -> float | None:
    """Return how much speaks for several clusters."""
    found = model.state_.assessment
    if found is None or model.n_clusters == 1 or math.isnan(found.structure):
        return None
    return round(found.structure, 4)


def _features_shape(collection: Collection) -> list[int] | None:
    """Return the shape of the features of a sample, or None if there are none."""
    features = collection.features
    return None if features is None else list(features.shape[1:])


def _parameters(model: TSNMF, collection: Collection) -> dict[str, Any]:
    """Return the parameters that are plain values."""
    plain = bool | int | float | str | None
    of_network = {} if collection.network is None else {"channels": NETWORK}
    named = (model.get_params() | of_network).items()
    return {name: _plain(value) for name, value in named if isinstance(value, plain)}


def _plain(value: Any) -> Any:
    """Convert NumPy's subclasses of float and str, and NaN and infinity to text."""
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return str(value) if isinstance(value, float | str) else value
