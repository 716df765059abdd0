"""AutoTSNMF: TSNMF that chooses its parameters from the samples, without labels."""

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
    clone,
)
from sklearn.utils.validation import check_is_fitted

from twofold._sklearn import HasMethods, Interval, StrOptions, _fit_context
from twofold.channels import BANKS, Bank
from twofold.estimators.assessment import assess, warn_of_nothing
from twofold.estimators.given import GivenSamples
from twofold.estimators.parameters import check_counts, draw_seeds
from twofold.estimators.problem import read_given
from twofold.estimators.progress import SearchProgress
from twofold.estimators.search.alternatives import alternatives
from twofold.estimators.search.cache import cache_defect
from twofold.estimators.search.candidates import CandidateProber, Preview
from twofold.estimators.search.chosen import ChosenModel
from twofold.estimators.search.cluster_numbers import (
    choose_number,
    read_cluster_numbers,
)
from twofold.estimators.search.consensus import hierarchy
from twofold.estimators.search.grid import (
    Fit,
    FitPlan,
    check_unsearched,
    fit_again,
    fit_best,
    grid,
    read_banks,
    read_weights,
    results,
)
from twofold.estimators.search.information import information_in
from twofold.estimators.search.offers import offer_labels
from twofold.estimators.search.plots import plot_search
from twofold.estimators.search.views import Candidate
from twofold.estimators.tsnmf import TSNMF


class AutoTSNMF(
    ChosenModel,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """TSNMF that chooses its parameters, and if need be its number of clusters.

    No labels are used. Each candidate gets a preview: its graphs before any iteration,
    and the clusters of these graphs. The score of clusters is their excess modularity,
    the modularity beyond that of a rewired graph, in the two best graphs of each kind:
    real clusters show in nearness as well as in subspace affinities. Candidates that
    are nearly as good as the best offer each other their labels, and the best of these
    after moves in the mean of the scored graphs, the consensus, are the first start.
    The best candidate is fitted with all graph weights and starts, and the fit of the
    best score is kept.

    Parameters
    ----------
    n_clusters : int, range, sequence of int or None, default=None
        How many clusters, or numbers of which the best is taken. None tries from 2 to
        60, or to a quarter of the samples.
    n_directions : sequence of int or None, default=None
        Numbers of directions to try, each capped at the longer side. None stands for
        what TSNMF would keep, which is 4 of most images, and for one more than twice
        as many.
    channels : str, transformer, or sequence of them, default="auto"
        Channels to try: names and transformers as for TSNMF. "auto" stands for pixels
        and both kinds of gradients, or for pixels alone if the samples are no images;
        "network" is tried if it is named.
    energy_weights : sequence of float or None, default=None
        lambda_1 to try. None stands for what suits the channels: 0.1 for
        "fine_gradients", and 1 for the others; for 1, 0.1 and 3 if there is one kind of
        channels alone.
    graphs : sequence of str, default=("subspace_knn", "subspace", "heat")
        Kinds of graphs to try, see ``TSNMF``. The subspace graphs are left out for
        samples of fewer than 32 entries.
    graph_weights : sequence of float, default=(1.0,)
        lambda_2 to try in fits of the best candidate. Fits that keep the labels of
        their start tie, and the first of them is taken.
    n_starts : int, default=1
        Number of starts of these fits.
    max_fits : int, default=10
        Budget of the search in fits: a preview counts for half a fit, as it takes about
        half of the time. At least one candidate is previewed and fitted. The choice of
        the number of clusters is not counted.
    max_time : float or None, default=None
        Seconds after which nothing new is started, except for one preview, the choice
        of a number of clusters in its graph, and one fit.
    estimator : TSNMF or None, default=None
        Model with the parameters that are not searched: ``tol``, ``scale``,
        ``missing_values``, ``device`` and so on. Its ``n_neighbors`` is used for all
        graphs. It must leave its directions, graph and weights at their defaults, and
        its number of clusters is not used. If it leaves ``init``, ``assign_labels``,
        ``tol`` and ``max_iter`` at their defaults as well, the first fit starts from
        the consensus and keeps it. ``TSNMF(align=True)`` aligns images once,
        before all candidates. None stands for ``TSNMF()``.
    missing_values, outliers : default=None
        As for TSNMF; None leaves them to the ``estimator``.
    cache : str, Path or None, default=None
        A folder in which previews are kept. A search that was stopped goes on from
        there if it is started again on the same samples with the same random state.
    random_state : int, RandomState instance or None, default=None
        Seeds all of it. None draws a fresh seed each time.
    verbose : int, default=0
        Whether to print a line for each preview and fit.

    Attributes
    ----------
    best_estimator_ : TSNMF
        The fitted model that was chosen. If it has started from the consensus, its
        ``init`` is an array with a row for each sample of X and its ``assign_labels``
        is "coefficients", so that a clone fits X, and no other samples, again.
    best_score_ : float
        Its score, the excess modularity by which candidates are compared: 0 for chance,
        always below 1; NaN if no graph could be compared. It does not tell whether
        there are clusters, since graphs of noise have some, too.
    structure_ : float
        How much speaks for clusters: about 0 in noise, 0.4 and more where there are
        some, 1 and more where they are clear. Below 0.4 there is a
        ``NothingFoundWarning``. NaN if there are too few samples to tell.
    confidence_ : array of shape (n,)
        How probable it is that a sample is of the majority class of its cluster.
    labels_ : array of shape (n,)
        Its labels.
    n_clusters_ : int
        Its number of clusters.
    cluster_numbers_ : Curve or None
        If several numbers were tried: the ``numbers`` and their ``scores``, what the
        best labels tell about the edges of the graphs for their entropy, as a part of
        the best; the ``chosen`` number, that of the best score; and the ``likely``
        range of those that score within 3% of it or are next to it.
    children_ : array of shape (n_clusters_ - 1, 2)
        Which two clusters are merged next, up to a single one: a hierarchy of the
        clusters, named as in ``sklearn.cluster.AgglomerativeClustering``, with the
        clusters as leaves. ``cut`` names the samples of any number of them.
    distances_ : array of shape (n_clusters_ - 1,)
        What the graphs no longer tell about their edges after each merge, in nats,
        ascending.
    search_results_ : dict of str to list
        A table with a row for each preview and fit, as columns of one length, which
        ``pandas.DataFrame`` takes.
    alternatives_ : list of Alternative
        At most three other ways to cluster the samples, the best score first: previews
        with at least half of the best score whose labels agree little, an adjusted Rand
        index below 0.5, with ``labels_`` and with each other. Each has its
        ``parameters``, ``score``, ``agreement`` with ``labels_`` and ``labels`` (n,),
        -1 for those not previewed.
    out_of_time_ : bool
        Whether ``max_time`` cut the search short.
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
        "channels": [
            StrOptions({"auto", *BANKS}),
            HasMethods(["fit", "transform", "get_params"]),
            tuple,
            list,
        ],
        "energy_weights": ["array-like", None],
        "graphs": [tuple, list],
        "graph_weights": ["array-like"],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "max_fits": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "estimator": [TSNMF, None],
        "missing_values": [Real, None],
        "outliers": ["boolean", None],
        "cache": [str, Path, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        n_directions: Sequence[int] | None = None,
        channels: Any = "auto",
        energy_weights: Sequence[float] | None = None,
        graphs: Sequence[str] = ("subspace_knn", "subspace", "heat"),
        graph_weights: Sequence[float] = (1.0,),
        n_starts: int = 1,
        max_fits: int = 10,
        max_time: float | None = None,
        estimator: TSNMF | None = None,
        missing_values: float | None = None,
        outliers: bool | None = None,
        cache: str | Path | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_directions = n_directions
        self.channels = channels
        self.energy_weights = energy_weights
        self.graphs = graphs
        self.graph_weights = graph_weights
        self.n_starts = n_starts
        self.max_fits = max_fits
        self.max_time = max_time
        self.estimator = estimator
        self.missing_values = missing_values
        self.outliers = outliers
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
        check_counts(self, ("n_starts", "max_fits"))
        defect = None if self.cache is None else cache_defect(self.cache)
        if defect:
            raise ValueError(f"cache {defect}")
        seeds = draw_seeds(self.random_state, self.n_starts)
        base = self.base_estimator()
        base.set_params(n_clusters=1, random_state=seeds[0])._validate_params()
        check_unsearched(base)
        given = read_given(base, X, mask)
        graph_weights = read_weights(self.graph_weights, "graph_weights", given.stack)
        energy_weights = None
        if self.energy_weights is not None:
            named = self.energy_weights, "energy_weights"
            energy_weights = read_weights(*named, given.stack)
        banks = read_banks(self.channels, given)
        progress = SearchProgress(self.verbose)
        prober = self._prober(base, given, banks, progress)
        candidates = grid(base, prober, self.graphs, self.n_directions, energy_weights)
        n_fits = min(self.n_starts * len(graph_weights), self.max_fits)
        # A preview counts for half a fit.
        candidates = candidates[: max(1, 2 * (self.max_fits - n_fits))]
        progress.totals = {"candidate": len(candidates), "fit": n_fits}
        previews = self._preview_all(prober, candidates)
        if previews:
            plan = FitPlan(seeds, graph_weights, n_fits, progress)
            fits = fit_best(base, previews, prober, plan, X)
        else:  # no graph is connected well enough
            channels = next(iter(banks))
            model = clone(base).set_params(
                n_clusters=self.n_clusters_, channels=prober.channels_of(channels)
            )
            weights = [(model.energy_weight, model.graph_weight)]
            problem = prober.problem_of(channels)
            [fitted] = fit_again(model, weights, problem, base, X)
            fits = [Fit(fitted, channels, {}, 0.0)]
        self._set_fitted(prober, fits)
        return self

    def base_estimator(self) -> TSNMF:
        """Return an unfitted TSNMF with the parameters that are not searched."""
        base = clone(self.estimator or TSNMF())
        given = {"missing_values": self.missing_values, "outliers": self.outliers}
        return base.set_params(**{k: v for k, v in given.items() if v is not None})

    @property
    def _n_features_out(self) -> int:
        return self.best_estimator_._n_features_out

    def _prober(
        self,
        base: TSNMF,
        given: GivenSamples,
        banks: dict[str, Bank],
        progress: SearchProgress,
    ) -> CandidateProber:
        seconds = inf if self.max_time is None else self.max_time
        deadline = time.monotonic() + seconds
        return CandidateProber(base, given, banks, deadline, progress, self.cache)

    def _preview_all(
        self, prober: CandidateProber, candidates: list[Candidate]
    ) -> list[Preview]:
        """Choose the number of clusters, and preview all candidates with it."""
        given = prober.given
        distinct = int(given.group[-1]) + 1
        numbers = read_cluster_numbers(self.n_clusters, len(given.order), distinct)
        if len(numbers) > 1:
            # Identical samples share a cluster, so that more clusters would be empty.
            numbers = [k for k in numbers if k <= distinct] or [distinct]
        self.cluster_numbers_, self.n_clusters_ = None, numbers[0]
        if len(numbers) > 1:
            refine = self.n_clusters is None
            curve = choose_number(prober, candidates, numbers, refine=refine)
            if curve is not None:
                self.cluster_numbers_, self.n_clusters_ = curve, curve.chosen
        previews = offer_labels(prober.preview_all(candidates, self.n_clusters_))
        prober.replace(previews)
        prober.forget()
        return previews

    def _set_fitted(self, prober: CandidateProber, fits: list[Fit]) -> None:
        """Set the fitted attributes from the first fit of the best score."""
        # Rounded, so that fits with the same labels tie.
        best = max(fits, key=lambda fit: round(fit.score, 9))
        self.best_estimator_, self.best_score_ = best.model, best.score
        self.labels_ = best.model.labels_
        self.n_features_in_ = best.model.n_features_in_
        if hasattr(best.model, "feature_names_in_"):
            self.feature_names_in_ = best.model.feature_names_in_
        self.search_results_ = results(prober.previews, fits)
        compared = [each for each in prober.previews if each.k == self.n_clusters_]
        self._compared, self._rows = compared, prober.rows
        labels = best.model.state_.placed_labels
        self.alternatives_ = alternatives(compared, prober, labels)
        self.children_, self.distances_ = hierarchy(
            compared, labels[prober.rows], 1 + int(labels.max())
        )
        found = assess(best.model)
        self.structure_, self.confidence_ = found.structure, found.confidence
        if self.n_clusters_ > 1:
            warn_of_nothing(found.structure)
        self.out_of_time_ = prober.out_of_time

    def edge_information(
        self, labels: Any, *, others: Sequence["AutoTSNMF"] = ()
    ) -> float:
        """How much the neighbours of a sample tell about its label.

        It is the mutual information of the labels at both ends of an edge, a fraction
        of its largest value, in the graphs of the search. Labels of one search can thus
        be compared with those of another, which has seen the same samples in another
        form. A few large clusters beside many tiny ones may have a high modularity, but
        tell little.

        Parameters
        ----------
        labels : array-like of shape (n,)
            A cluster of each sample, in the order of X.
        others : sequence of AutoTSNMF, default=()
            Fitted searches of the same samples in other forms, such as features of a
            network, whose graphs count as if they were candidates of this search.

        Returns
        -------
        float
            From 0 for labels that are independent of the graphs to 1 for clusters of
            one size without an edge between them. It is the mean over the kinds of
            graphs, of each the two that tell most. Searches that had nothing to compare
            are passed over; NaN if none had.
        """
        return information_in(self, others, labels)

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
