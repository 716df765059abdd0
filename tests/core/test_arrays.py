import numpy as np

from twofold.core import arrays


def test_like_keeps_values_and_takes_the_dtype():
    taken = arrays.like([[1, 2]], np.zeros(1, dtype=np.float32))
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, [[1, 2]])
