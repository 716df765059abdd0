"""Images and a transformer that tests of channels share."""

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.base import BaseEstimator, TransformerMixin

K = 3


def pictures(n=45, shape=(14, 12), seed=0):
    """Images of three groups, of a brightness of their own: (n, h, w)."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(K, *shape))
    means = [gaussian_filter(mean, 1.5) * 5 + 3 for mean in means]
    noise = gaussian_filter(rng.normal(size=(n, *shape)), (0, 0.7, 0.7))
    images = np.array(means)[np.arange(n) % K] + 0.5 * noise
    return images * rng.uniform(1, 3, size=(n, 1, 1))


def colours(n=45):
    return np.stack([pictures(n), pictures(n, seed=1), pictures(n, seed=2)], axis=-1)


class Half(TransformerMixin, BaseEstimator):
    """Means of 2 x 2 pixels, (n, h, w) to (n, h / 2, w / 2)."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        n, h, w = X.shape
        return X.reshape(n, h // 2, 2, w // 2, 2).mean(axis=(2, 4))
