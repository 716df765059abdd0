"""What can be told of a fit without labels: structure, and confidence in clusters."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import to_numpy
from twofold.core.modularity import indicator
from twofold.core.structure import Structure, kept_share, measure_structure
from twofold.estimators.fitted import LEAST_STRUCTURE, Assessment, FittedState
from twofold.estimators.progress import warn

if TYPE_CHECKING:
    from twofold.estimators.tsnmf import TSNMF

_TRAINED = (0.910, 1.994, -0.246, 2.116)
_PLACED = (0.618, 1.641, -0.279, 1.942)
"""Weights of the place of a sample, of the logarithms of the agreement and of n / k,
and the constant, in the log odds of its confidence: of training samples, whose place
among halves is known, and of new ones. ``make number`` fits them.
"""

_LEAST_SHARE, _LEAST_KEPT, _LEAST_AGREEMENT = 0.02, 0.06, 0.02
"""What is added to shares, so that their logarithms are finite, or the least value."""

_MOST = 4000
"""Number of samples that halves see at most."""


class NothingFoundWarning(UserWarning):
    """The samples do not look as if they had any clusters."""


def assess(model: "TSNMF", seed: int = 0) -> Assessment:
    """Assess a fit to training samples; it takes about as long as the fit.

    Parameters
    ----------
    model : TSNMF
        A fitted model, not one that was read from a file.
    seed : int, default=0
        Draws the halves.

    Returns
    -------
    Assessment
    """
    check_is_fitted(model)
    if hasattr(model, "best_estimator_"):
        raise TypeError(
            "model must be a TSNMF, got a search; it has structure_ and confidence_"
        )
    state: FittedState = model.state_
    if state.graphs is None or state.row_of is None:
        raise ValueError(
            "model must have been fitted here, got one from a file, which has no "
            "graph; fit it again"
        )
    structure = structure_of(state, model.n_clusters, seed)
    kept = kept_share(state.labels, structure.half_labels)
    place = (_place(_edge_shares(state)) + _log_odds(kept)) / 2
    if np.isnan(structure.agreement):
        place = _place(_edge_shares(state))
    confidence = _probability(_TRAINED, place, structure.agreement, state.labels)
    confidence = confidence[state.row_of]
    confidence[to_numpy(model.labels_) < 0] = 0  # outliers are of no cluster
    found = Assessment(structure.strength, structure.agreement, confidence)
    model.state_ = replace(state, assessment=found)
    return found


def confidence_of(model: "TSNMF") -> np.ndarray:
    """Return the confidence of training samples; it is assessed if it is not known."""
    found = model.state_.assessment
    if found is None or found.confidence is None:
        found = assess(model)
    assert found.confidence is not None
    return found.confidence


def assessed(state: FittedState, k: int) -> FittedState:
    """Return a state that was assessed, for new samples; one of an older file is."""
    if state.assessment is not None:
        return state
    found = structure_of(state, k, 0)
    return replace(state, assessment=Assessment(found.strength, found.agreement, None))


def structure_of(state: FittedState, k: int, seed: int) -> Structure:
    """Measure how much speaks for the clusters of a fit."""
    predictor = state.predictor
    sides = [to_numpy(side.features) for side in predictor.sides]
    graph = predictor.graph, predictor.n_neighbors
    return measure_structure(sides, state.labels, k, *graph, seed)


def confidence_of_new(
    state: FittedState, votes: np.ndarray, clusters: np.ndarray
) -> np.ndarray:
    """Return the confidence (m,) of new samples in their clusters.

    Parameters
    ----------
    state : FittedState
        Of a fit that was assessed.
    votes : array of shape (m, k)
        Weights of the edges to training samples of each cluster.
    clusters : int array of shape (m,)
    """
    assert state.assessment is not None
    place = _place(shares_of_two(votes, clusters))
    return _probability(_PLACED, place, state.assessment.agreement, state.labels)


def _edge_shares(state: FittedState) -> np.ndarray:
    """Return the ``shares_of_two`` of the training samples in the graphs of the fit."""
    assert state.graphs is not None
    members = indicator(state.labels).toarray()
    left, right = (graph.adjacency @ members for graph in state.graphs)
    return shares_of_two(left + right, state.labels)


def shares_of_two(votes: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the shares (m, 2) of a sample's own cluster, and of the next one.

    ``votes`` (m, k) are weights of its edges to all clusters.
    """
    total = votes.sum(axis=1, keepdims=True)
    shares = votes / np.where(total > 0, total, 1)
    rows = np.arange(len(shares))
    own = shares[rows, clusters]
    shares[rows, clusters] = 0
    return np.stack([own, shares.max(axis=1)], axis=1)


def _place(shares: np.ndarray) -> np.ndarray:
    """Return how much more of the edges of samples go to their own cluster, (m,)."""
    own, next_one = shares.T + _LEAST_SHARE
    return np.log(own / next_one)


def _log_odds(kept: np.ndarray) -> np.ndarray:
    return np.log((kept + _LEAST_KEPT) / (1 + _LEAST_KEPT - kept))


def _probability(
    weights: tuple[float, ...], place: np.ndarray, agreement: float, labels: np.ndarray
) -> np.ndarray:
    """Return the probabilities of a logistic regression, (m,); 1 of a single cluster.

    ``labels`` are those of the training samples.
    """
    size = len(labels) / (1 + labels.max())
    if size == len(labels):
        return np.ones(len(place))
    if np.isnan(agreement):  # nothing is known but the edges
        return expit(place)
    by_place, by_agreement, by_size, constant = weights
    known = by_agreement * np.log(max(agreement, _LEAST_AGREEMENT))
    known += by_size * np.log(min(size, _MOST)) + constant
    return expit(by_place * place + known)


def warn_of_nothing(structure: float) -> None:
    """Warn if samples do not look as if they had clusters."""
    if structure < LEAST_STRUCTURE:
        warn(
            f"the samples do not look as if they had any clusters: structure "
            f"{structure:.2f}, where noise has about 0 and clusters have "
            f"{LEAST_STRUCTURE} and more; do not trust the labels",
            NothingFoundWarning,
        )
