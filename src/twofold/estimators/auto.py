"""AutoTSNMF: TSNMF with its parameters chosen from the samples, without labels."""

import time
from collections.abc import Sequence
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
    clone,
)
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import Array
from twofold.estimators.problem import Problem, draw_seeds, read_problem
from twofold.estimators.progress import SearchProgress
from twofold.estimators.search.cache import LookFiles
from twofold.estimators.search.candidates import Look, Observer, Setting
from twofold.estimators.search.cluster_numbers import (
    look_for_number,
    read_cluster_numbers,
)
from twofold.estimators.search.grid import (
    Fit,
    Plan,
    check_all_weights,
    check_unsearched,
    fit_best,
    grid,
    results,
)
from twofold.estimators.search.plots import plot_search
from twofold.estimators.tsnmf import TSNMF


class AutoTSNMF(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """TSNMF with its parameters, and if need be its number of clusters, chosen.

    Each setting gets a first look: its graphs before any iteration, and their clusters.
    These are scored by how much they stand out in the graphs of each kind, beyond what
    chance shows there, in the mean over the kinds: what is really there can be seen in
    nearness as well as in shares of samples in each other. The best setting is fitted,
    with all graph weights and starts in batches, and the fit of the best score is kept.
    No labels are used.

    Parameters
    ----------
    n_clusters : int, range, sequence of int or None, default=None
        How many clusters, or numbers of which the best is taken. None tries from 2 to
        60, or to a quarter of the samples.
    n_directions : sequence of int or None, default=None
        Numbers of directions to try, each capped at the longer side. None stands for
        what TSNMF would keep, which is 4 of most images, and for one more than twice
        as many.
    energy_weights : sequence of float, default=(1.0, 0.1, 3.0)
        lambda_1 to try.
    graphs : sequence of str, default=("subspace_knn", "subspace", "heat")
        Kinds of graphs to try. Samples of fewer than 32 entries are only joined to
        their nearest neighbours.
    graph_weights : sequence of float, default=(1.0,)
        lambda_2 to try in fits of the best setting.
    n_starts : int, default=1
        Starts to try in these fits.
    max_fits : int, default=10
        How much is done, in fits: a look counts for half of one, as it takes about half
        of the time. At least one setting is looked at and fitted. What a choice of the
        number of clusters takes comes on top.
    max_time : float or None, default=None
        Seconds after which nothing new is begun, but for one look and one fit.
    estimator : TSNMF or None, default=None
        Has the parameters that are not searched: ``tol``, ``scale``,
        ``missing_values``, ``device`` and so on. A ``n_neighbors`` of it is used for
        all graphs; its number of clusters, directions, graph and weights are not used,
        and those that were set are refused. None stands for ``TSNMF()``.
    missing_values : float or None, default=None
        As for TSNMF; None leaves it to the ``estimator``.
    cache : str, Path or None, default=None
        A folder in which looks are kept. A search that was stopped goes on from there
        when it is started again on the same samples with the same random state.
    random_state : int, RandomState instance or None, default=None
        Seeds all of it. None draws a fresh seed each time.
    verbose : int, default=0
        Whether to print each look and fit.

    Attributes
    ----------
    best_estimator_ : TSNMF
        The fitted model that was chosen.
    best_score_ : float
        Its score: 0 is chance, and 1 is never reached.
    labels_ : array of shape (n,)
        Its labels.
    n_clusters_ : int
        Its number of clusters.
    cluster_numbers_ : Curve or None
        Where several numbers were tried: ``numbers`` and their ``scores``, which are
        the modularities of the best labels for each; the ``chosen`` one, the smallest
        whose score is within a hundredth of the best; the ``confidence`` in it, which
        is the part of 50 resamples that choose the same; and the ``likely`` range, from
        what nine in ten of them choose to where their scores are best. Of many clusters
        it tends to find fewer.
    search_results_ : dict of str to list
        A table with a row for each look and fit, of equally long columns, such as
        ``pandas.DataFrame`` takes.
    out_of_time_ : bool
        Whether ``max_time`` has kept it from something.
    n_features_in_ : int
        Entries of a sample.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold import AutoTSNMF
    >>> digits = load_digits(n_class=3)
    >>> auto = AutoTSNMF(n_clusters=3, random_state=0).fit(digits.images)
    >>> auto.best_estimator_.components_.shape
    (3, 8, 8)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [Integral, "array-like", range, None],
        "n_directions": ["array-like", None],
        "energy_weights": ["array-like"],
        "graphs": [tuple, list],
        "graph_weights": ["array-like"],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "max_fits": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "estimator": [TSNMF, None],
        "missing_values": [Real, None],
        "cache": [str, Path, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        n_directions: Sequence[int] | None = None,
        energy_weights: Sequence[float] = (1.0, 0.1, 3.0),
        graphs: Sequence[str] = ("subspace_knn", "subspace", "heat"),
        graph_weights: Sequence[float] = (1.0,),
        n_starts: int = 1,
        max_fits: int = 10,
        max_time: float | None = None,
        estimator: TSNMF | None = None,
        missing_values: float | None = None,
        cache: str | Path | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_directions = n_directions
        self.energy_weights = energy_weights
        self.graphs = graphs
        self.graph_weights = graph_weights
        self.n_starts = n_starts
        self.max_fits = max_fits
        self.max_time = max_time
        self.estimator = estimator
        self.missing_values = missing_values
        self.cache = cache
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> "AutoTSNMF":
        """Choose the parameters from X, and fit the model to it.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
            As for ``TSNMF.fit``.
        y : ignored
        mask : array-like of bool, or None
            As for ``TSNMF.fit``.

        Returns
        -------
        self : AutoTSNMF
        """
        seeds = draw_seeds(self.random_state, self.n_starts)
        base = self.base_estimator().set_params(random_state=seeds[0])
        base._validate_params()
        check_unsearched(base)
        problem = read_problem(clone(base).set_params(n_clusters=1), X, mask)
        check_all_weights(base, problem, self.energy_weights, self.graph_weights)
        settings = grid(
            base, problem, self.graphs, self.n_directions, self.energy_weights
        )
        fits = min(self.n_starts * len(self.graph_weights), self.max_fits)
        settings = settings[: max(1, 2 * (self.max_fits - fits))]
        tell = SearchProgress(self.verbose, len(settings), fits)
        observer = self._observer(problem, tell)
        looks = self._look(observer, settings)
        if looks:
            plan = Plan(seeds, list(self.graph_weights), fits, tell)
            found = fit_best(base, looks, observer, plan, {"X": X, "mask": mask})
        else:  # no graph holds together
            model = clone(base).set_params(n_clusters=self.n_clusters_)
            found = [Fit(model.fit(X, mask=mask), {}, 0.0)]
        self._keep(observer, found)
        return self

    def base_estimator(self) -> TSNMF:
        """An unfitted TSNMF with the parameters that are not searched."""
        base = clone(self.estimator or TSNMF())
        if self.missing_values is not None:
            base.set_params(missing_values=self.missing_values)
        return base

    @property
    def _n_features_out(self) -> int:
        return self.best_estimator_._n_features_out

    def _observer(self, problem: Problem, tell: SearchProgress) -> Observer:
        patience = inf if self.max_time is None else self.max_time
        files = None if self.cache is None else LookFiles(self.cache, problem)
        return Observer(problem, files, time.monotonic() + patience, tell)

    def _look(self, observer: Observer, settings: list[Setting]) -> list[Look]:
        """The looks at all settings with the number of clusters that is chosen."""
        n, distinct = observer.problem.samples.shape[0], observer.n_distinct
        numbers = read_cluster_numbers(self.n_clusters, n)
        if len(numbers) > 1:  # no more than there can be
            numbers = [k for k in numbers if k <= distinct] or [distinct]
        self.cluster_numbers_, self.n_clusters_ = None, numbers[0]
        if len(numbers) > 1:
            refine = self.n_clusters is None
            curve = look_for_number(observer, settings, numbers, refine=refine)
            self.cluster_numbers_ = curve
            self.n_clusters_ = curve.chosen if curve else numbers[0]
        return observer.look_at_all(settings, self.n_clusters_)

    def _keep(self, observer: Observer, found: list[Fit]) -> None:
        """What was found, of the fits the first of the best score."""
        best = max(found, key=lambda fit: round(fit.score, 9))
        self.best_estimator_ = best.model
        self.best_score_ = best.score
        self.labels_ = best.model.labels_
        self.n_features_in_ = best.model.n_features_in_
        if hasattr(best.model, "feature_names_in_"):
            self.feature_names_in_ = best.model.feature_names_in_
        self.search_results_ = results(observer.seen, found)
        self.out_of_time_ = observer.late

    def predict(self, X: Any, *, mask: Any = None) -> Array:
        """``predict`` of the model that was chosen."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, mask=mask)

    def transform(self, X: Any, *, mask: Any = None) -> Array:
        """``transform`` of the model that was chosen."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X, mask=mask)

    def fit_transform(self, X: Any, y: Any = None, *, mask: Any = None) -> Array:
        """``fit`` and then ``transform``."""
        return self.fit(X, mask=mask).transform(X, mask=mask)

    def impute(self, X: Any, *, mask: Any = None) -> Array:
        """``impute`` of the model that was chosen."""
        check_is_fitted(self)
        return self.best_estimator_.impute(X, mask=mask)

    def inverse_transform(self, X: Any) -> Array:
        """``inverse_transform`` of the model that was chosen."""
        check_is_fitted(self)
        return self.best_estimator_.inverse_transform(X)

    def plot(self, axes: Any = None) -> Any:
        """Draw the scores over the grid, and over the numbers of clusters.

        Parameters
        ----------
        axes : sequence of matplotlib axes or None, default=None
            One, or two where several numbers of clusters were tried. None makes them.

        Returns
        -------
        list of matplotlib axes
        """
        check_is_fitted(self)
        return plot_search(self.search_results_, self.cluster_numbers_, axes)

    def __sklearn_tags__(self) -> Any:
        return self.base_estimator().__sklearn_tags__()
