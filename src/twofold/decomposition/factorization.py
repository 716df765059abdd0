"""Base classes of SemiNMF, GNMF and RMNMF: scaling, starts and fitted attributes."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold._sklearn import Interval, StrOptions
from twofold.core.factorize import FactorizationResult, Steps, factorize
from twofold.core.graphs import KINDS
from twofold.core.graphs.construction import build_graph
from twofold.core.graphs.graph import Graph
from twofold.core.prediction import Predictor, TrainingSide, reconstruction_errors
from twofold.core.start import SIMPLE_STARTS, simple_start
from twofold.decomposition.base import Decomposition
from twofold.estimators.parameters import (
    check_counts,
    check_enough,
    check_weight,
    draw_seeds,
    given_start,
)
from twofold.estimators.progress import (
    CallbackSupportMixin,
    FitProgress,
    warn_unfinished,
)
from twofold.estimators.scaling import (
    divisors,
    new_divisors,
    sample_norms,
    scaled,
    typical_norm,
)

FACTOR_SCALES = ("sample", "global")


class Factorization(CallbackSupportMixin, Decomposition):
    """Base class of factorisations X = V U with V >= 0.

    A subclass implements ``fit`` and ``_predict_coefficients``, both on flat and scaled
    samples (n, f).
    """

    n_components: int
    scale: str
    init: Any
    max_iter: int
    tol: float
    random_state: Any
    coefficients_: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        # A sparse matrix passes here; ``given_start`` rejects it with a clear error.
        "init": [StrOptions(set(SIMPLE_STARTS)), "array-like", "sparse matrix"],
        "scale": [StrOptions(set(FACTOR_SCALES))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "sample_shape": [tuple, list, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _scale_training(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scaled training samples (n, f) and the divisor of each sample (n,)."""
        check_counts(self, ("n_components", "max_iter"))
        check_enough("n_components", self.n_components, len(flat))
        norms = sample_norms(flat)
        self._typical_norm = typical_norm(norms)
        divisor = divisors(norms, self.scale, self._typical_norm)
        return scaled(flat, divisor), divisor

    def _initial_coefficients(self, samples: np.ndarray) -> np.ndarray:
        """Return the start V^0 of shape (n, k), positive."""
        if isinstance(self.init, str):
            [seed] = draw_seeds(self.random_state, 1)
            start = simple_start(samples, self.n_components, self.init, seed)
        else:
            shape = len(samples), self.n_components
            start = given_start(self.init, shape, samples, "n_components")
        return start.astype(samples.dtype)

    def _factorize(
        self,
        X: Any,
        samples: np.ndarray,
        start: tuple[np.ndarray, np.ndarray],
        steps: Steps,
        **options: Any,
    ) -> FactorizationResult:
        """Run ``factorize`` from V^0 and U^0; warn if it does not converge."""
        with FitProgress(self, X) as progress:
            options |= {"tol": self.tol, "max_iter": self.max_iter}
            result = factorize(samples, start, steps, callback=progress, **options)
        if not result.converged:
            reason = f"the objective fell by less than tol={self.tol} of the energy"
            warn_unfinished(self, len(result.history), reason)
        return result

    def _set_fitted_attributes(
        self,
        samples: np.ndarray,
        divisor: np.ndarray,
        factors: tuple[np.ndarray, np.ndarray],
        history: np.ndarray,
        missing: np.ndarray | None = None,
    ) -> None:
        """Set the fitted attributes from V (n, k) and U (k, f) of scaled samples."""
        coefficients, centroids = factors
        self.coefficients_, self._centroids = coefficients, centroids
        images = centroids.reshape(-1, *self.sample_shape_)
        self.components_ = centroids.dtype.type(self._typical_norm) * images
        errors = reconstruction_errors(samples, coefficients, centroids, missing)
        self.reconstruction_error_ = errors * divisor
        self.objective_history_, self.n_iter_ = history, len(history)

    def transform(self, X: Any) -> np.ndarray:
        """Return the coefficients of samples for the fitted components.

        The class describes the problem that they solve. ``fit_transform`` is ``fit``
        followed by ``transform``; the coefficients of the fit itself are
        ``coefficients_``.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        coefficients : ndarray of shape (m, n_components)
            On the scale of ``coefficients_``.
        """
        check_is_fitted(self)
        samples = self._scale_new(self._read_flat(X, reset=False))
        return self._predict_coefficients(samples)

    def _scale_new(self, flat: np.ndarray) -> np.ndarray:
        """Scale new samples (m, f) as the training samples were scaled."""
        dtype = self._centroids.dtype
        divisor = new_divisors(flat, self.scale, self._typical_norm, dtype)
        return scaled(flat, divisor).astype(dtype, copy=False)

    def _predict_coefficients(self, samples: np.ndarray) -> np.ndarray:
        """Return the coefficients (m, k) of new, scaled samples (m, f)."""
        raise NotImplementedError


class GraphFactorization(Factorization):
    """Base class of factorisations with a neighbour graph of the samples."""

    graph_weight: float
    n_neighbors: int
    graph: str

    _parameter_constraints: dict[str, list[Any]] = {
        **Factorization._parameter_constraints,
        "graph_weight": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions(set(KINDS))],
    }

    def _build_graph(self, samples: np.ndarray) -> Graph:
        """Return the graph of scaled training samples (n, f)."""
        check_counts(self, ("n_neighbors",))
        check_weight("graph_weight", self.graph_weight, samples)
        return build_graph(samples[None], self.n_neighbors, self.graph)

    def _set_fitted_model(
        self, samples: np.ndarray, factors: tuple[np.ndarray, np.ndarray], graph: Graph
    ) -> None:
        """Store what ``_predict_coefficients`` needs for new samples."""
        coefficients, centroids = factors
        side = TrainingSide(samples, centroids, graph.bandwidth[0])
        weights = {"graph_weight": self.graph_weight}
        self._fitted = Predictor(
            (side,), coefficients, weights, self.graph, self.n_neighbors
        )
