"""Cluster, confidence and reconstruction error of each sample of a fitted TSNMF."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from twofold.app.collection import NETWORK, Collection
from twofold.core.arrays import positive_or_one, to_numpy
from twofold.core.isometry import shortened
from twofold.core.prediction import reconstruction_errors
from twofold.estimators.assessment import assessed, confidence_of, confidence_of_new
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.fitted import FittedState
from twofold.estimators.prediction import prediction_blocks
from twofold.estimators.reading import from_stack, read_numbers, to_stack
from twofold.estimators.scaling import divisors, row_blocks, sample_norms, standardized
from twofold.estimators.tsnmf import TSNMF

Moves = Literal["shifts", "all"]
"""How images were aligned: by shifts alone, or by shifts and turns."""


@dataclass(frozen=True)
class Assignments:
    """Assignments of samples to clusters."""

    coefficients: np.ndarray  # (n, k)
    clusters: np.ndarray  # (n,), from ``predict``, or those of the fit
    # (n,), how probable it is that a sample is of the majority class of its cluster
    confidence: np.ndarray
    # ||X_i - its reconstruction|| / ||X_i|| over the observed entries, (n,); of aligned
    # images, over all entries.
    reconstruction_error: np.ndarray
    outlier: np.ndarray  # (n,), whether a sample belongs nowhere


def tried_by(search: AutoTSNMF, collection: Collection) -> dict[str, list[Any]]:
    """Return the table of a search; features of a network are channels of that name."""
    columns = dict(search.search_results_)
    if collection.network is not None:
        columns["channels"] = [NETWORK] * len(columns["channels"])
    return columns


def channels_of(model: TSNMF) -> str:
    """Return the name of the channels in which a model was fitted.

    It is the name in ``BANKS``, or else the class of the transformer.
    """
    channels = model.channels_
    return channels if isinstance(channels, str) else type(channels).__name__


def moves_of(model: TSNMF) -> Moves | None:
    """Return how a model aligns images; None if it does not."""
    alignment = model.state_.alignment
    if alignment is None:
        return None
    return "all" if alignment.max_turn else "shifts"


def filled_in(model: TSNMF, X: Any) -> tuple[Any, np.ndarray | None]:
    """Fill in missing entries, like ``impute``; also return their mask.

    If nothing is missing, the samples are X itself and the mask is None.
    """
    return _in_given_shape(model, X, *model._read_completed(X, None))


def _in_given_shape(
    model: TSNMF, X: Any, stack: Any, missing: Any
) -> tuple[Any, np.ndarray | None]:
    """Bring completed samples (n, c, h, w) and their mask to the shape of X."""
    if missing is None:
        return X, None
    shape = model.sample_shape_
    return to_numpy(from_stack(stack, shape)), to_numpy(from_stack(missing, shape))


def aligned(model: TSNMF, X: Any) -> Any:
    """Return completed samples as the model compares them, in the shape of X.

    They are X itself if the model does not align images.
    """
    if model.state_.alignment is None:
        return X
    samples = to_numpy(read_numbers(X, "X"))
    stack = to_stack(samples.reshape(len(samples), -1), model.sample_shape_)
    images = from_stack(model.state_.aligned(stack), model.sample_shape_)
    return to_numpy(images).reshape(samples.shape)


def projected(model: TSNMF, X: Any) -> np.ndarray:
    """Return completed samples as the learned directions see them, one row each.

    A row has what both sides keep of the sample. Both have the same mean square. Rows
    of few samples are turned to fewer entries, with the same distances.
    """
    samples = to_numpy(read_numbers(X, "X"))
    flat = samples.reshape(len(samples), -1)
    rows, widths = np.empty((0, 0)), [0]
    # By blocks, since maps and scaled copies of all samples would be larger than both.
    for some in row_blocks(*flat.shape):
        stack = to_stack(flat[some], model.sample_shape_)
        sides = [to_numpy(side) for side in model.state_.projected(stack)]
        if not some.start:
            widths = np.cumsum([0, *(side.shape[1] for side in sides)]).tolist()
            rows = np.empty((len(flat), widths[-1]), sides[0].dtype)
        rows[some] = np.concatenate(sides, axis=1)
    for begin, end in pairwise(widths):
        side = rows[:, begin:end]
        side /= _root_mean_square(side)
    return to_numpy(shortened(rows[None]))[0]


def _root_mean_square(rows: np.ndarray) -> float:
    """Return the root mean square of the norms of rows, or 1 if it is 0."""
    squares = np.einsum("ij,ij->i", rows, rows)  # without a copy of the rows
    return float(np.sqrt(np.mean(squares))) or 1.0


def assign_trained(
    model: TSNMF, X: Any, missing: np.ndarray | None = None
) -> Assignments:
    """Return the assignments of the training samples X of ``model``.

    If ``missing`` is given, X and ``missing`` must come from ``filled_in``.
    """
    if missing is None:
        X, missing = filled_in(model, X)
    coefficients, labels = to_numpy(model.coefficients_), to_numpy(model.labels_)
    outlier = labels < 0
    if model.state_.graphs is None:  # of a model from a file, as for new samples
        placed = assign_new(model, X)
        clusters = np.where(outlier, placed.clusters, labels)
        return replace(placed, clusters=clusters, outlier=outlier)
    if outlier.any():
        labels = model.state_.placed_labels
    if model.state_.alignment is not None:
        X, missing = aligned(model, X), None
    errors = _relative_errors(model, X, missing, coefficients)
    return Assignments(coefficients, labels, confidence_of(model), errors, outlier)


def assign_new(model: TSNMF, X: Any) -> Assignments:
    """Return the assignments of new samples, by ``transform`` and ``predict``.

    Numbers are converted, mapped and compared by blocks, as ``predict`` does.
    """
    return joined(found for _, found in assign_blocks(model, X))


def assign_blocks(model: TSNMF, X: Any) -> Iterator[tuple[slice, Assignments]]:
    """Yield blocks of new samples with their assignments, as from ``assign_new``."""
    blocks, state = prediction_blocks(X), assessed(model.state_, model.n_clusters)
    if len(blocks) > 1:
        state = state.for_blocks()
    for block in blocks:
        yield block, _assign_block(model, state, X[block])


def joined(parts: Iterable[Assignments]) -> Assignments:
    """Return the assignments of samples whose blocks have the ``parts``."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Assignments(*map(np.concatenate, columns))


def _assign_block(model: TSNMF, state: FittedState, X: Any) -> Assignments:
    """Return the assignments of some samples by the state of a model."""
    stack, missing = model._read_completed(X, None)
    images = _in_given_shape(model, X, stack, missing)
    if state.alignment is not None:
        stack = state.aligned(stack)
        images = to_numpy(from_stack(stack, model.sample_shape_)), None
    prediction = state.predict_aligned(stack, missing)
    clusters = to_numpy(state.labels_of(prediction))
    coefficients = to_numpy(prediction.coefficients)
    votes = to_numpy(state.votes_of(prediction))
    return Assignments(
        coefficients,
        clusters,
        confidence_of_new(state, votes, clusters),
        _relative_errors(model, *images, coefficients),
        np.zeros(len(clusters), dtype=bool),
    )


def typicality(images: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the correlation of each image with the mean image of its cluster.

    Images are standardised before the mean is taken, so that bright and dark images
    have the same weight. The correlations (n,) are clipped to the range from 0 to 1.
    They are 1 if all images of a cluster are blank, and 0 if the images cancel out.
    """
    rows = standardized(images)
    correlation = np.empty(len(rows))
    for cluster in np.unique(clusters):
        members = clusters == cluster
        mean = standardized(rows[members].mean(axis=0)[None])[0]
        products = np.clip(rows[members] @ mean, 0, 1)
        correlation[members] = products if rows[members].any() else 1.0
    return correlation


def typical_orders(clusters: np.ndarray, typical: np.ndarray) -> list[np.ndarray]:
    """Return the samples of each cluster, the most typical sample first."""
    order = np.argsort(-typical, kind="stable")
    return [order[clusters[order] == cluster] for cluster in np.unique(clusters)]


def nearest_rows(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the index of the ``others`` with the smallest angle to each row."""
    return np.argmax(unit_rows(rows) @ unit_rows(others).T, axis=1)


def _relative_errors(
    model: TSNMF, X: Any, missing: np.ndarray | None, coefficients: np.ndarray
) -> np.ndarray:
    """Return ||X_i - sum_j v_ij U_j|| / ||X_i|| over the entries that are not missing.

    The samples are scaled as in the fit, by their norms.
    """
    # The samples keep their precision, which may be higher than that of the model.
    samples = to_numpy(read_numbers(X, "X")).reshape(len(coefficients), -1)
    norms = sample_norms(samples)
    typical = model.state_.typical_norm
    divisor = divisors(norms, model.state_.scale, typical)
    centroids = to_numpy(model.components_) / typical
    errors = np.empty_like(norms)
    with np.errstate(over="ignore"):  # of numbers in a forged model file
        for some in row_blocks(*samples.shape):
            errors[some] = reconstruction_errors(
                samples[some] / divisor[some, None],
                coefficients[some],
                centroids,
                None if missing is None else missing[some],
            )
    if not np.isfinite(errors).all():
        raise ValueError(
            "the model must reconstruct X in finite numbers, but its own do not fit "
            "together; fit it again"
        )
    if missing is not None:
        norms = sample_norms(np.where(missing.reshape(samples.shape), 0, samples))
    return errors * divisor / positive_or_one(norms)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Divide each row by its norm; rows of norm 0 remain 0."""
    return rows / positive_or_one(np.linalg.norm(rows, axis=1, keepdims=True))
