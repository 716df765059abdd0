"""What a fit leaves behind: line 9 of Algorithm 1, and the fitted attributes."""

from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import Array, like, to_numpy
from twofold.core.prediction import Predictor, reconstruction_errors, training_sides
from twofold.core.state import Solution, State
from twofold.core.updates import adjust, canonical_signs, update_centroids
from twofold.estimators.fitted import FittedState
from twofold.estimators.labels import assign_labels, warn_of_few
from twofold.estimators.outliers import mark_outliers
from twofold.estimators.problem import Problem, Weights
from twofold.estimators.progress import warn_unfinished
from twofold.estimators.reading import from_stack


def set_fitted(
    model: Any, problem: Problem, solution: Solution, weights: Weights
) -> Any:
    """Set the fitted attributes of a TSNMF from a solution with the given weights."""
    model.objective_terms_ = dict(solution.history)
    model.objective_history_ = model.objective_terms_.pop("total")
    model.n_iter_ = len(model.objective_history_)
    model.neighbor_recall_ = neighbor_recall(solution.state)
    if not solution.converged:
        bound = f"tol={model.tol} of the samples' energy"
        reason = f"an iteration changed the objective by at most {bound}"
        warn_unfinished(model, model.n_iter_, reason)
    given, state = problem.given, solution.state
    # The columns of V get length 1 over all samples, each copy being one.
    rows = given.copies.expanded(state.coefficients[0, ...])
    unit, centroids, lengths = adjust(rows[None, ...], state.centroids)
    coefficients = given.copies.rows_of(unit[0, ...])
    labels = _labels(model, problem, coefficients, state)
    # Each solution fills missing entries in a copy of the samples of its own.
    samples = problem.samples if solution.samples is None else solution.samples
    images, pixel_centroids = samples, centroids[0, ...]
    if problem.mapping is not None:
        images = given.scaled
        pixel_centroids = least_squares_images(images, coefficients, given.roots)
    parts = images, coefficients, pixel_centroids, given.missing
    errors = given.copies.expanded(reconstruction_errors(*parts)) * given.divisor
    model.sample_shape_ = given.shape
    model.components_ = given.typical_norm * from_stack(pixel_centroids, given.shape)
    # The signs of the directions are arbitrary.
    model.left_projection_ = canonical_signs(state.left.projection[0, ...])
    model.right_projection_ = canonical_signs(state.right.projection[0, ...])
    model.coefficients_ = given.as_given(coefficients)
    model.reconstruction_error_ = given.as_given(errors)
    xp = array_namespace(coefficients)
    model.labels_ = given.as_given(xp.asarray(labels, device=device(coefficients)))
    predictor = Predictor(
        training_sides(samples, state),
        state.coefficients[0, ...],
        {name: float(weight) for name, weight in weights.items()},
        problem.options.graph,
        problem.options.n_neighbors,
    )
    fitted = _fitted_state(model, problem, predictor, state, lengths, labels)
    model.state_ = replace(
        fitted,
        graphs=(state.left.graph, state.right.graph),
        row_of=given.as_given(np.arange(len(labels))),
    )
    if model.outliers:
        mark_outliers(model, given)
    return model


def neighbor_recall(state: State) -> float | None:
    """Return the lower recall of both graphs, or None if their search was exact."""
    graphs = state.left.graph, state.right.graph
    recalls = [
        float(graph.recall[0, 0, 0]) for graph in graphs if graph.recall is not None
    ]
    return min(recalls, default=None)


def least_squares_images(images: Array, rows: Array, roots: Array | None) -> Array:
    """Return the images (k, c, h, w) of which the rows of V (n, k) are coefficients.

    They minimise sum_i m_i ||X_i - sum_j v_ij U_j||^2, Eq. (update_u) for the pixels.
    ``roots`` (n, 1) are the square roots of the weights m_i; None if all are 1.
    """
    if roots is not None:
        images, rows = images * roots[..., None, None], rows * like(roots, rows)
    return update_centroids(images, rows[None, ...])[0, ...]


def _labels(model: Any, problem: Problem, rows: Array, state: State) -> np.ndarray:
    """Assign labels to the rows of V (n, k); warn if they form too few clusters."""
    given, k = problem.given, model.n_clusters
    adjacency = state.adjacency if model.assign_labels == "graph" else None
    rest = given.group, k, problem.labels_seed, given.copies.weights
    k_means = model.assign_labels == "k-means"
    labels = assign_labels(to_numpy(rows), adjacency, *rest, k_means=k_means)
    distinct, n = 1 + int(given.group[-1]), len(given.order)
    warn_of_few(1 + int(labels.max()), k, distinct, n)
    return labels


def _fitted_state(
    model: Any,
    problem: Problem,
    predictor: Predictor,
    state: State,
    lengths: Array,
    labels: np.ndarray,
) -> FittedState:
    """Return the state for predictions; labels (rows,) as in the problem."""
    given = problem.given
    return FittedState(
        components=model.components_,
        projections=(state.left.projection, state.right.projection),
        predictor=predictor,
        lengths=lengths[0, ...],
        labels=labels,
        sample_weight=given.copies.weights,
        assign_labels=model.assign_labels,
        scale=given.scale,
        typical_norm=given.typical_norm,
        sample_shape=given.shape,
        completion=given.completion,
        alignment=given.alignment,
        mapping=problem.mapping,
    )
