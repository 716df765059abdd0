"""What SemiNMF, GNMF and RMNMF share: scaled samples, starts and fitted factors."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.core.factorize import FactorizationResult, Steps, factorize
from twofold.core.graphs.graph import GRAPHS, Graph, neighbor_graph
from twofold.core.prediction import FittedModel, FittedSide, reconstruction_errors
from twofold.core.start import SIMPLE_STARTS, simple_start
from twofold.decomposition.base import Decomposition
from twofold.estimators._sklearn import Interval, StrOptions
from twofold.estimators.problem import (
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
from twofold.estimators.samples import (
    divisors,
    new_divisors,
    sample_norms,
    scaled,
    typical_norm,
)

FACTOR_SCALES = ("sample", "global")


class Factorization(CallbackSupportMixin, Decomposition):
    """X = V U with V >= 0: the parameters, the start and the fitted attributes.

    A subclass fits scaled samples (n, f) and places new ones, ``_place``.
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
        # A sparse matrix is let through to an error that says so.
        "init": [StrOptions(set(SIMPLE_STARTS)), "array-like", "sparse matrix"],
        "scale": [StrOptions(set(FACTOR_SCALES))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "sample_shape": [tuple, list, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _scaled(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Training samples (n, f) as they are fitted, and what they were divided by."""
        check_counts(self, ("n_components", "max_iter"))
        check_enough("n_components", self.n_components, len(flat))
        norms = sample_norms(flat)
        self._typical = typical_norm(norms)
        divisor = divisors(norms, self.scale, self._typical)
        return scaled(flat, divisor), divisor

    def _start(self, samples: np.ndarray) -> np.ndarray:
        """V^0 (n, k), positive."""
        shape = len(samples), self.n_components
        if isinstance(self.init, str):
            [seed] = draw_seeds(self.random_state, 1)
            start = simple_start(samples, self.n_components, self.init, seed)
        else:
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
        """Alternating steps from V^0 and U^0, with progress and a warning."""
        with FitProgress(self, X) as progress:
            found = factorize(
                samples,
                start,
                steps,
                tol=self.tol,
                max_iter=self.max_iter,
                progress=progress,
                **options,
            )
        if not found.converged:
            reason = f"the objective fell by less than tol={self.tol} of the energy"
            warn_unfinished(self, len(found.history), reason, stacklevel=5)
        return found

    def _keep(
        self,
        samples: np.ndarray,
        divisor: np.ndarray,
        factors: tuple[np.ndarray, np.ndarray],
        history: np.ndarray,
        missing: np.ndarray | None = None,
    ) -> None:
        """Set the fitted attributes from V and U of the scaled samples."""
        coefficients, centroids = factors
        self._centroids = centroids
        self.coefficients_ = coefficients
        images = centroids.reshape(-1, *self.sample_shape_)
        self.components_ = centroids.dtype.type(self._typical) * images
        errors = reconstruction_errors(samples, coefficients, centroids, missing)
        self.reconstruction_error_ = errors * divisor
        self.objective_history_ = history
        self.n_iter_ = len(history)

    def transform(self, X: Any) -> np.ndarray:
        """Coefficients of samples against the fitted components.

        See the class for what they solve. ``fit_transform`` is ``fit`` and then
        ``transform``; the coefficients of the fit itself are ``coefficients_``.

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
        return self._place(self._new_scaled(self._read_flat(X, reset=False)))

    def _new_scaled(self, flat: np.ndarray) -> np.ndarray:
        """New samples (m, f), scaled as in the fit."""
        dtype = self._centroids.dtype
        divisor = new_divisors(flat, self.scale, self._typical, dtype)
        return scaled(flat, divisor).astype(dtype, copy=False)

    def _place(self, samples: np.ndarray) -> np.ndarray:
        """Coefficients (m, k) of new samples (m, f), scaled as in the fit."""
        raise NotImplementedError

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The samples that coefficients stand for.

        Parameters
        ----------
        X : array-like of shape (m, n_components)
            Coefficients, as from ``transform``.

        Returns
        -------
        samples : ndarray of shape (m, h, w[, c]) or (m, f)
            With ``scale="sample"`` they have the typical norm of the training
            samples, since their own is not part of the coefficients.
        """
        return super().inverse_transform(X)


class GraphFactorization(Factorization):
    """A factorisation with a graph of nearest neighbours of the samples."""

    graph_weight: float
    n_neighbors: int
    graph: str

    _parameter_constraints: dict[str, list[Any]] = {
        **Factorization._parameter_constraints,
        "graph_weight": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions(set(GRAPHS))],
    }

    def _build_graph(self, samples: np.ndarray) -> Graph:
        """The graph of scaled training samples (n, f)."""
        check_counts(self, ("n_neighbors",))
        check_weight("graph_weight", self.graph_weight, samples)
        return neighbor_graph(samples[None], self.n_neighbors, self.graph)

    def _keep_fitted(
        self,
        samples: np.ndarray,
        factors: tuple[np.ndarray, np.ndarray],
        graph: Graph,
    ) -> None:
        """What ``_place`` compares new samples with."""
        coefficients, centroids = factors
        self._fitted = FittedModel(
            (FittedSide(samples, centroids, graph.bandwidth[0]),),
            coefficients,
            self.graph_weight,
            self.graph,
            self.n_neighbors,
        )
