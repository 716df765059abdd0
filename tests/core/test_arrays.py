import numpy as np
import pytest
from scipy.linalg import solve_triangular

from twofold.core import arrays


def test_like_keeps_values_and_takes_the_dtype():
    taken = arrays.like([[1, 2]], np.zeros(1, dtype=np.float32))
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, [[1, 2]])


@pytest.mark.parametrize("d", [1, 7, 255, 256, 300, 1029])
def test_triangular_matrices_are_inverted(d):
    rng = np.random.default_rng(d)
    factors = np.tril(rng.normal(size=(2, d, d)) / d) + np.eye(d)
    found = arrays.lower_inverses(factors)
    for inverse, factor in zip(found, factors, strict=True):
        expected = solve_triangular(factor, np.eye(d), lower=True)
        np.testing.assert_allclose(inverse, expected, rtol=0, atol=1e-13)
