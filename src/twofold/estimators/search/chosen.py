"""What a search does by the model that it has chosen."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import Array, to_numpy
from twofold.core.planted import merged_labels
from twofold.estimators.reading import is_count


class ChosenModel:
    """The predictions of ``best_estimator_``, and its clusters merged to fewer."""

    best_estimator_: Any
    labels_: Array
    children_: np.ndarray

    def cut(self, n_clusters: int) -> np.ndarray:
        """Labels of fewer clusters: the clusters, merged as ``children_`` says.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of clusters that were found.

        Returns
        -------
        array of shape (n,)
            0, 1, ..., in the order of the first cluster of each; -1 stays.
        """
        check_is_fitted(self)
        labels, most = to_numpy(self.labels_), len(self.children_) + 1
        if not is_count(n_clusters) or n_clusters > most:
            raise ValueError(
                f"n_clusters must be an integer from 1 to {most}, the number of "
                f"clusters that were found, got {n_clusters!r}"
            )
        return merged_labels(labels, self.children_, n_clusters)

    def predict(self, X: Any, *, mask: Any = None) -> Array:
        """Cluster of each sample, by the chosen model."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, mask=mask)

    def transform(self, X: Any, *, mask: Any = None) -> Array:
        """Coefficients of samples, by the chosen model."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X, mask=mask)

    def fit_transform(self, X: Any, y: Any = None, *, mask: Any = None) -> Array:
        """``fit`` and then ``transform``."""
        fitted: Any = self
        return fitted.fit(X, mask=mask).transform(X, mask=mask)

    def impute(self, X: Any, *, mask: Any = None) -> Array:
        """Samples with their missing entries filled, by the chosen model."""
        check_is_fitted(self)
        return self.best_estimator_.impute(X, mask=mask)

    def inverse_transform(self, X: Any) -> Array:
        """Images reconstructed from coefficients, by the chosen model."""
        check_is_fitted(self)
        return self.best_estimator_.inverse_transform(X)
