"""The contents of a model file: typed facts, a table of arrays, and their checks."""

import json
import math
import reprlib
import sys
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

import twofold
from twofold.channels.align import compared_shape
from twofold.core import terms
from twofold.core.graphs import graph_kind
from twofold.estimators.model_alignment import AlignmentFacts, check_maps
from twofold.estimators.model_channels import MappingFacts, Transformer
from twofold.estimators.parameters import check_weights

FORMAT, VERSION = "twofold model", 1

MAX_RECORD = 64 * 2**20
"""Maximum number of bytes of a record in the header of a file."""

_MAX = sys.float_info.max

_ROUNDING = 1e-3
"""Largest inner product of two orthonormal columns in single precision."""


class NewerVersionError(ValueError):
    """Raised for an intact file that this version of twofold cannot read."""


class AssessmentFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was told of a fit without labels, see ``Assessment``."""

    structure: Annotated[float, Meta(ge=-2.5, le=1.5)]
    agreement: Annotated[float, Meta(ge=-1, le=1)]


class Fit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts of a fit, named as in ``FittedState`` and ``Predictor``."""

    scale: Literal["sample", "global"]
    typical_norm: Annotated[float, Meta(gt=0, le=_MAX)]
    assign_labels: Literal["graph", "coefficients", "k-means"]
    graph: str
    n_neighbors: Annotated[int, Meta(ge=1)]
    weights: dict[str, Annotated[float, Meta(ge=0, le=_MAX)]]
    terms: tuple[str, ...]  # keys of objective_terms_
    feature_names: tuple[str, ...] | None
    column_major: tuple[str, ...]  # names of arrays
    mapping: MappingFacts | None = None  # None for pixels, and in files of old
    alignment: AlignmentFacts | None = None  # None if images stay where they are
    neighbor_recall: Annotated[float, Meta(ge=0, le=1)] | None = None
    assessment: AssessmentFacts | None = None  # None if it was not assessed

    def __post_init__(self) -> None:
        """Check the names of the graph and of the weights."""
        graph_kind(self.graph)
        known = {term.parameter for term in terms.TERMS}
        if not self.weights.keys() <= known:
            raise ValueError(
                f"weights must be of {', '.join(sorted(known))}, got "
                f"{reprlib.repr(sorted(self.weights))}"
            )


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of a model file besides its arrays."""

    format: Literal["twofold model"]
    version: Literal[1]
    twofold: str  # version of twofold that wrote the file
    parameters: dict[str, str | bool | int | float | tuple[int, ...] | None]
    fit: Fit
    channels: Transformer | None = None  # the parameter, if it is no name
    about: dict[str, Any]
    sha256: str  # digest of the arrays and of the other fields


def read_record(found: Any) -> Record:
    """Validate a decoded record."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"must be a {FORMAT}, got a file of another kind")
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise NewerVersionError(
            f"was written by a newer twofold, {reprlib.repr(found.get('twofold'))}, "
            f"and this is twofold {twofold.__version__}; upgrade twofold"
        )
    return msgspec.convert(found, Record)


def to_json(value: Any) -> str:
    """Encode a value; the result must fit into the header of a file.

    The standard library does it, since file names in ``about`` may contain lone
    surrogates, which msgspec refuses.
    """
    text = json.dumps(value, allow_nan=False, default=_number, separators=(",", ":"))
    n_bytes = len(json.dumps(text))  # the header is JSON, and the text a string in it
    if n_bytes > MAX_RECORD:
        raise ValueError(f"takes {n_bytes:,} bytes of {MAX_RECORD:,} as JSON")
    return text


def _number(value: Any) -> Any:
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON can hold")


class Spec(NamedTuple):
    """Axes, range and dtype of an array."""

    axes: str  # names of the axes, separated by spaces; a size may be a product
    lowest: float = -_MAX
    highest: float = _MAX
    dtype: str = ""  # empty for the precision of the fit
    orthonormal: bool = False  # whether the columns are


ARRAYS = {
    "components_": Spec("k sample"),
    "coefficients_": Spec("n k", 0),
    "labels_": Spec("n", -1, dtype="int64"),  # -1: outliers
    "reconstruction_error_": Spec("n", 0),
    "left_projection_": Spec("map_height left", orthonormal=True),
    "right_projection_": Spec("map_width right", orthonormal=True),
    "objective_history_": Spec("iterations", dtype="float64"),
    "objective_terms": Spec("terms iterations", dtype="float64"),
    "fitted_coefficients": Spec("rows k", 0),
    "fitted_labels": Spec("rows", 0, dtype="int64"),
    "lengths": Spec("1 k", 5e-324),  # positive
    "centers": Spec("found k", 0),
    "left.directions": Spec("1 map_height left", orthonormal=True),
    "left.features": Spec("rows maps*map_width*left"),
    "left.centroid_features": Spec("k maps*map_width*left"),
    "left.bandwidth": Spec("1 1", 0),
    "right.directions": Spec("1 map_width right", orthonormal=True),
    "right.features": Spec("rows maps*map_height*right"),
    "right.centroid_features": Spec("k maps*map_height*right"),
    "right.bandwidth": Spec("1 1", 0),
    "completion.mean": Spec("channels height width"),
    "completion.left": Spec("height down", orthonormal=True),
    "completion.right": Spec("width across", orthonormal=True),
    "completion.gain": Spec("channels down across", 0, 1),
    "alignment.maps": Spec("3 compared_height compared_width", -1, 1, "float32"),
    "alignment.mean": Spec("channels height width"),
    "alignment.darkest": Spec("channels"),
    "init": Spec("n k", 0, dtype="float64"),
}
"""All arrays; the completion, the alignment and ``init`` are optional.

Identical samples share one of the ``rows``, of which there are at most n. What is
factorised has ``maps``, each of ``map_height`` x ``map_width``; without a mapping they
are the channels of a sample.

Names that end in an underscore are attributes of the estimator.
"""

Layouts = dict[str, tuple[str, tuple[int, ...]]]
"""Dtypes and shapes of arrays by name."""


def check_layouts(found: Layouts, fit: Fit) -> None:
    """Raise a ValueError unless the arrays are complete and their layouts agree."""
    _check_names(set(found), fit)
    precision, sizes = _precision_and_sizes(found, fit)
    for name in sorted(found.keys() - {"components_"}, key=list(ARRAYS).index):
        axes, shape = ARRAYS[name].axes.split(), found[name][1]
        for axis, size in zip(axes, shape, strict=False):
            sizes.setdefault(axis, size)  # the first array with an axis sets its size
        factors = [axis.split("*") for axis in axes]
        expected = tuple(math.prod(sizes.get(f, 0) for f in each) for each in factors)
        dtype = ARRAYS[name].dtype or precision
        if found[name] != (dtype, expected):
            raise ValueError(
                f"{name} must be {dtype} of shape {expected}, got {found[name][0]} of "
                f"shape {reprlib.repr(shape)}"
            )
    if fit.alignment is not None:
        fit.alignment.check(found["components_"][1][1:])
    if fit.mapping is not None:
        # Last, since it maps a sample of the size that the file claims.
        fit.mapping.make(found["components_"][1][1:], fit.scale)


def _precision_and_sizes(found: Layouts, fit: Fit) -> tuple[str, dict[str, int]]:
    """Return the precision of the fit, and the sizes of axes that components_ has."""
    precision, (k, *sample) = found["components_"]
    if precision not in ("float32", "float64") or not 1 <= len(sample) <= 3:
        raise ValueError(
            "components_ must be float32 or float64 of 2 to 4 axes, got "
            f"{precision} of {1 + len(sample)}"
        )
    names, n_features = fit.feature_names, math.prod(sample)
    if names is not None and len(names) != n_features:
        raise ValueError(f"feature_names must be {n_features}, got {len(names)}")
    height, width, channels = (*sample, 1, 1)[:3]
    sizes = {"1": 1, "k": k, "height": height, "width": width, "channels": channels}
    factorised = channels, height, width
    if fit.mapping is not None:
        factorised = fit.mapping.map_shape
    sizes |= dict(zip(("maps", "map_height", "map_width"), factorised, strict=True))
    compared = compared_shape(height, width)
    sizes |= {"3": 3, "compared_height": compared[0], "compared_width": compared[1]}
    return precision, sizes | {"terms": len(fit.terms)}


def _check_names(found: set[str], fit: Fit) -> None:
    completion, alignment = (
        {name for name in ARRAYS if name.startswith(prefix)}
        for prefix in ("completion.", "alignment.")
    )
    # A completion is complete or absent; the facts tell whether there is an alignment.
    optional = {"init"} if completion & found else {"init", *completion}
    known = ARRAYS.keys() if fit.alignment else ARRAYS.keys() - alignment
    odd = sorted((found - known) | (known - found - optional))
    if odd:
        raise ValueError(
            "must hold each of its arrays and nothing else, got "
            f"{reprlib.repr(odd)} missing or in surplus"
        )


def check_values(arrays: dict[str, np.ndarray], fit: Fit) -> None:
    """Raise a ValueError for numbers that no fit leaves behind."""
    for name, array in arrays.items():
        _check_range(name, array)
        if ARRAYS[name].orthonormal:
            _check_orthonormal(name, array)
    if fit.alignment is not None:
        check_maps(arrays["alignment.maps"])
    _check_norm(fit.typical_norm, arrays["components_"])
    if fit.mapping is not None:
        _check_map_norm(fit.mapping.typical_norm, arrays["components_"])
    check_weights([fit.weights], arrays["components_"])
    n_found = len(arrays["centers"])
    if arrays["labels_"].max() < 0:
        raise ValueError("labels_ must name a cluster, got outliers alone")
    names = {
        "labels_": np.union1d(arrays["labels_"], np.arange(-1, n_found))[1:],
        "fitted_labels": np.unique(arrays["fitted_labels"]),
    }
    for name, found in names.items():
        if not np.array_equal(found, np.arange(n_found)):
            raise ValueError(f"{name} must name {n_found} clusters, from 0 on")


def _check_range(name: str, array: np.ndarray) -> None:
    """Raise a ValueError unless all numbers are in the range of an array."""
    _, lowest, highest, dtype, _ = ARRAYS[name]
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not dtype:  # predictions add up squares of what is in the precision of the fit
        highest = min(highest, _root(array))
        lowest = max(lowest, -highest)
    # Python's floats, since 5e-324 would be 0 in single precision.
    least, most = float(array.min()), float(array.max())
    if not lowest <= least <= most <= highest:  # or NaN
        raise ValueError(
            f"{name} must hold finite numbers from {lowest:.3g} to {highest:.3g}, got "
            f"{least} to {most}"
        )


def _check_norm(typical: float, components: np.ndarray) -> None:
    """Raise a ValueError unless a norm is of the unit of the components."""
    largest = float(np.finfo(components.dtype).max)
    peak = float(np.abs(components).max())
    # As for new samples, the fourth power of what is scaled must not overflow.
    if not peak / largest**0.25 <= typical <= largest**0.5:
        raise ValueError(
            "typical_norm must be the norm of typical samples, got "
            f"{typical} beside components_ up to {peak:.1e}"
        )


def _check_map_norm(typical: float, components: np.ndarray) -> None:
    """Raise a ValueError unless maps can have a norm in the precision of the fit."""
    largest = float(np.finfo(components.dtype).max) ** 0.5
    if not 1 / largest <= typical <= largest:
        raise ValueError(
            f"typical_norm of the mapping must be from {1 / largest:.0e} to "
            f"{largest:.0e}, got {typical}"
        )


def _root(array: np.ndarray) -> float:
    """Return the largest entry of an array whose squares have a finite sum."""
    return math.sqrt(float(np.finfo(array.dtype).max) / array.size)


def _check_orthonormal(name: str, array: np.ndarray) -> None:
    """Raise a ValueError unless the columns of ([1,] d, r) are orthonormal."""
    columns = array.reshape(-1, array.shape[-1]).astype(np.float64)
    error = np.abs(columns.T @ columns - np.eye(columns.shape[1])).max()
    if error > _ROUNDING:
        raise ValueError(
            f"{name} must have orthonormal columns, got products off by {error:.1e}"
        )
