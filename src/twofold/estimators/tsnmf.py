"""TSNMF, the scikit-learn estimator of two-dimensional semi-NMF."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from twofold._sklearn import HasMethods, Interval, StrOptions, _fit_context
from twofold.channels import BANKS
from twofold.core.arrays import Array
from twofold.core.graphs import KINDS
from twofold.core.start import STARTS
from twofold.core.workers import workers_for
from twofold.estimators.alignment import SHIFTS
from twofold.estimators.identical import DUPLICATES
from twofold.estimators.labels import ASSIGNMENTS
from twofold.estimators.mapping import channels_of
from twofold.estimators.outcome import set_fitted
from twofold.estimators.parameters import check_weights, read_pairs, term_weights
from twofold.estimators.prediction import PredictionMixin
from twofold.estimators.problem import Problem, lowest, read_problem
from twofold.estimators.progress import CallbackSupportMixin, FitProgress
from twofold.estimators.reading import is_nan
from twofold.estimators.scaling import SCALES


class TSNMF(CallbackSupportMixin, PredictionMixin, ClusterMixin, BaseEstimator):
    """Two-dimensional semi-nonnegative matrix factorisation for clustering.

    TS-NMF clusters matrices, such as images, without flattening them. It learns
    jointly orthonormal directions P and Q of the columns and rows of the samples,
    signed 2-D centroids U, nonnegative coefficients V, and graphs of the samples
    projected by P and by Q, which are rebuilt in every iteration.
    ``methods.build("ts-nmf", k)`` has the parameters of the paper; the defaults here
    are better on most data.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    n_directions : int, (int, int) or None, default=None
        Number of directions r of each side: one number for both sides, or a pair for
        the left side (rows) and the right side (columns). Each is capped at the size of
        its side. None stands for 4, or 9 with "fine_gradients", and for as many as keep
        32 entries of a sample: 32 directions of a vector.
    channels : {"auto", "pixels", "gradients", "fine_gradients", "network"} or \
            transformer, default="auto"
        What the samples are turned into before they are factorised: nothing, maps of
        their gradients, see ``twofold.channels.OrientedGradients``, or those of a
        trained network, for photos, see ``twofold.channels.NetworkFeatures``
        (``pip install "twofold[photos]"``), which "auto" never takes. Everything else
        stays in pixels: centroids, errors and imputed images. "auto" reads the samples:
        "gradients" for images, "fine_gradients" if light is what changes most in them,
        and "pixels" for matrices that are no images, sides below 8 pixels and vectors.
        Any transformer from (n, h, w[, c]) to (n, h', w'[, maps]) will do; it is fitted
        to the samples, and gets no missing ones.
    align : bool or "shifts", default=False
        Whether images that come shifted, and turned by up to 45 degrees, are moved to
        agree with their mean before all else, or shifted alone; see
        ``twofold.channels.align``. Missing pixels are completed first, and new samples
        are moved likewise. Centroids and errors are those of the moved images, while
        ``impute`` returns images where they were. Where images differ in light rather
        than in position it does harm.
    energy_weight : float or None, default=None
        lambda_1, the weight of the energy of the projected samples against the
        residual of the centroids in the choice of directions. None stands for 1, or
        for 0.1 with "fine_gradients".
    graph_weight : float, default=1.0
        lambda_2, how strongly neighbours are drawn to similar coefficients.
    overlap_weight : float, default=0.0
        lambda_3, how strongly each sample is drawn to a single cluster. With 10 a fit
        that goes on to its end (``tol=1e-4``) keeps the clusters of its start.
    n_neighbors : int or None, default=None
        Number of neighbours of each sample in a graph, capped at n - 1. None stands for
        10 for the two subspace graphs, otherwise for 3, or 5 for vectors.
    graph : {"auto", "subspace_knn", "subspace", "heat", "binary", "cosine"}, \
            default="auto"
        Kind of graph. "subspace" joins samples by their subspace affinity: the weight
        of one sample in the ridge self-expression of the other. "subspace_knn" does the
        same, with a thousandth of the weight unless one sample is among the nearest
        neighbours of the other. The other kinds join nearest neighbours, with weight
        exp(-distance^2 / mean squared edge length) for "heat", 1 for "binary", and the
        cosine similarity for "cosine", which then also defines the neighbours. "auto"
        is "subspace_knn", or "heat" for samples of fewer than 32 entries. The registry
        ``twofold.core.graphs.KINDS`` has all kinds.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Search for nearest neighbours and subspace affinities. "approximate" compares
        each sample with some 1,500 in near cells of a partition alone, and searches
        more cells until it finds 98% of the nearest neighbours of 300 samples, see
        ``neighbor_recall_``; affinities of distant samples, which are chance where
        samples are dense, are left out. "auto" is "approximate" from 5,000 different
        samples on, and "exact" otherwise. Tensors, and samples on a ``device``, are
        always compared with all others.
    assign_labels : {"graph", "coefficients", "k-means"}, default="graph"
        How V is turned into labels. "coefficients": each sample is in the cluster of
        its largest coefficient, or K-means on V where that leaves a cluster empty.
        "graph": it starts there, and samples then move while that raises the modularity
        of the labels in the learned graphs. "k-means": K-means on V, as in the paper.
    init : {"graph", "spectral", "k-means", "random"} or array-like, default="graph"
        The start of V. "graph": indicators of the clusters of the graphs under the
        directions of a single cluster, by K-means in their spectral embedding, or
        merged from finer ones where that raises the modularity. "spectral": the same
        by K-means alone. "k-means": K-means indicators of the samples. "random":
        uniform random numbers, or nonnegative coefficients of shape
        (n, n_clusters). Entries below a thousandth of the largest entry are raised to
        it, since a multiplicative step keeps zeros. The scale of the coefficients
        matters: the graph term grows with its square. The other starts have a scale of
        about 1.
    n_init : int, default=1
        Number of starts, all in one batch; the fit of the lowest objective is kept. An
        array given as ``init`` is one start.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=5e-2
        Tolerance: a fit stops when one iteration changes its objective by at most
        ``tol`` times the energy of the samples.
    eigen_tol : float, default=1e-10
        Tolerance of the eigenvalues of the spectral start.
    sample_shape : tuple of int or None, default=None
        Shape (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X. If None,
        every row is a vector, a matrix of one column.
    scale : {"auto", "sample", "global"}, default="auto"
        Scaling of the samples before the fit: each is divided by its own norm, or all
        are divided by their root mean square norm. Either way the unit of the pixels
        does not matter. "auto" is "global" for vectors, whose lengths carry
        information, and "sample" for all other samples.
    missing_values : float or None, default=None
        Marker of missing entries in X: usually ``np.nan``, or any other number. If
        None, only the entries of a ``mask`` may be missing. Missing entries are
        unknowns of the model: they start from a low-rank completion of the samples,
        and every iteration fills them anew.
    duplicates : {"merge", "keep"}, default="merge"
        Identical samples: "merge" makes one sample of them that is weighted by their
        number in graphs, centroids and labels; "keep" counts each, as the paper does.
        Then they fill each other's neighbour lists. Either way they share a label.
    outliers : bool, default=False
        Whether samples that belong nowhere get the label -1: those in places that are
        sparse for the collection, as others see them and as pixels. ``predict`` gives
        every sample a cluster.
    device : str or None, default=None
        A PyTorch device for the iterations, such as ``"cuda"``. The fitted arrays are
        moved back to where X lies. If None, the fit runs where X lies.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts and of K-means. None draws a fresh seed each time.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each sample; identical samples are in the same cluster.
    components_ : array of shape (n_clusters, h, w[, c]) or (n_clusters, f)
        U, the centroids, of any sign, in the unit of the pixels: the images of which V
        reconstructs the samples, aligned if ``align`` is set, best.
    coefficients_ : array of shape (n, n_clusters)
        V, nonnegative, with columns of length 1.
    left_projection_ : array of shape (h, r)
        Q, orthonormal columns. With other channels than pixels, h and w are the sides
        of the maps.
    right_projection_ : array of shape (w, r)
        P, orthonormal columns.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each iteration. It may rise, since the graphs change.
    objective_terms_ : dict of str to ndarray of shape (n_iter_,)
        ``right_residual``, ``left_residual``, ``energy``, ``smoothness``, ``overlap``,
        unweighted. With missing entries ``energy`` is minus the energy that P, Q lose.
    n_iter_ : int
        Number of iterations.
    neighbor_recall_ : float or None
        Fraction of the nearest neighbours that the approximate search found, measured
        on 300 samples, of the side where it is lower; None if the search was exact.
    reconstruction_error_ : array of shape (n,)
        Frobenius norm of the residual of each sample, over the observed entries. If
        ``align`` is set, of each aligned sample, over all entries.
    state_ : FittedState
        All that predictions need, see ``twofold.estimators.fitted``.
    channels_ : str or transformer
        The channels that were factorised: a name, also of what "auto" has chosen, or
        the fitted transformer.
    sample_shape_ : tuple of int
        (h, w), (h, w, c) or (f,).
    n_features_in_ : int
        Entries of a sample.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, where it has any.

    References
    ----------
    C. Peng, Z. Zhang, C. Chen, Z. Kang, Q. Cheng. Two-dimensional semi-nonnegative
    matrix factorization for clustering. Information Sciences 590, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold import TSNMF
    >>> digits = load_digits(n_class=3)
    >>> model = TSNMF(n_clusters=3, random_state=0).fit(digits.images)
    >>> model.components_.shape
    (3, 8, 8)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_directions": [Interval(Integral, 1, None, closed="left"), tuple, list, None],
        "channels": [
            StrOptions({"auto", *BANKS}),
            HasMethods(["fit", "transform", "get_params"]),
        ],
        "align": ["boolean", StrOptions({SHIFTS})],
        "energy_weight": [Interval(Real, 0, None, closed="left"), None],
        "graph_weight": [Interval(Real, 0, None, closed="left")],
        "overlap_weight": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "graph": [StrOptions({"auto", *KINDS})],
        "neighbors": [StrOptions({"auto", "exact", "approximate"})],
        "assign_labels": [StrOptions(set(ASSIGNMENTS))],
        # A sparse matrix is let through to an error that says so.
        "init": [StrOptions(set(STARTS)), "array-like", "sparse matrix"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "eigen_tol": [Interval(Real, 0, None, closed="left")],
        "sample_shape": [tuple, list, None],
        "scale": [StrOptions(set(SCALES))],
        "missing_values": [Real, None],
        "duplicates": [StrOptions(set(DUPLICATES))],
        "outliers": ["boolean"],
        "device": [str, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_directions: int | tuple[int, int] | None = None,
        channels: Any = "auto",
        align: bool | str = False,
        energy_weight: float | None = None,
        graph_weight: float = 1.0,
        overlap_weight: float = 0.0,
        n_neighbors: int | None = None,
        graph: str = "auto",
        neighbors: str = "auto",
        assign_labels: str = "graph",
        init: str | ArrayLike = "graph",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 5e-2,
        eigen_tol: float = 1e-10,
        sample_shape: tuple[int, ...] | None = None,
        scale: str = "auto",
        missing_values: float | None = None,
        duplicates: str = "merge",
        outliers: bool = False,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_directions = n_directions
        self.channels = channels
        self.align = align
        self.energy_weight = energy_weight
        self.graph_weight = graph_weight
        self.overlap_weight = overlap_weight
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.neighbors = neighbors
        self.assign_labels = assign_labels
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.eigen_tol = eigen_tol
        self.sample_shape = sample_shape
        self.scale = scale
        self.missing_values = missing_values
        self.duplicates = duplicates
        self.outliers = outliers
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> "TSNMF":
        """Learn the centroids, coefficients, directions and labels of X.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
            Samples: matrices, matrices of c channels that share their directions,
            or flat samples (see ``sample_shape``). Any real dtype; float32 stays.
            A PyTorch tensor is fitted where it lies, and the fitted arrays are
            tensors too. The masked entries of a masked array are missing.
        y : ignored
        mask : array-like of bool, of the shape of X or of one channel of it, or None
            True for entries of X that are missing, besides ``missing_values``.

        Returns
        -------
        self : TSNMF
        """
        problem = read_problem(self, X, mask)
        with workers_for(problem.samples):
            with FitProgress(self, X) as progress:
                [solutions] = problem.solve([problem.weights], progress)
            return set_fitted(self, problem, lowest(solutions), problem.weights)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_sweep(
        self, X: Any, weights: Iterable[tuple[float, float]], *, mask: Any = None
    ) -> list["TSNMF"]:
        """Fit many pairs of weights to the same samples, in one batch.

        With missing entries each pair fills a copy of the samples of its own.

        Parameters
        ----------
        X, mask
            As for ``fit``.
        weights : iterable of (energy_weight, graph_weight)

        Returns
        -------
        list of TSNMF
            A fitted clone for each pair, as if it had been fitted alone.
        """
        models = self._sweep_models(read_pairs(weights))
        problem = read_problem(models[0], X, mask)
        return self._fit_models(models, problem, models[0], X)

    def _sweep_models(self, pairs: list[tuple[Any, Any]]) -> list["TSNMF"]:
        """Return an unfitted clone for each pair of weights, validated."""
        models = []
        for energy, graph in pairs:
            model = clone(self).set_params(energy_weight=energy, graph_weight=graph)
            model._validate_params()
            models.append(model)
        return models

    def _fit_models(
        self, models: list["TSNMF"], problem: Problem, reader: "TSNMF", X: Any
    ) -> list["TSNMF"]:
        """Fit models that differ in their weights; ``reader`` has read X before."""
        # Attributes such as n_features_in_, which were set when X was read.
        read = {k: v for k, v in vars(reader).items() if k.endswith("_in_")}
        default = problem.bank.energy_weight
        weights = [term_weights(model, default) for model in models]
        check_weights(weights, problem.samples)
        with workers_for(problem.samples):
            with FitProgress(self, X) as progress:
                batches = problem.solve(weights, progress)
            for model, solutions, own in zip(models, batches, weights, strict=True):
                for name, value in read.items():
                    setattr(model, name, value)
                set_fitted(model, problem, lowest(solutions), own)
        return models

    def fit_transform(self, X: Any, y: Any = None, *, mask: Any = None) -> Array:
        """``fit`` and then ``transform``."""
        return self.fit(X, mask=mask).transform(X, mask=mask)

    @property
    def channels_(self) -> Any:
        """The channels that were factorised."""
        check_is_fitted(self)
        return channels_of(self.state_.mapping)

    @property
    def _n_features_out(self) -> int:
        return self.coefficients_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
