import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold import _order


def content_order(flat, transposed=None):
    as_it_is = np.arange(flat.shape[1])
    return _order.content_order(flat, as_it_is if transposed is None else transposed)


ROWS = st.lists(
    st.lists(st.sampled_from([-2.5, -1.0, -0.0, 0.0, 1e-300, 3.0, 255.0]), min_size=3)
    .map(lambda row: row[:3])
    .map(tuple),
    min_size=1,
    max_size=8,
)


@given(ROWS, st.sampled_from([np.float32, np.float64]))
def test_the_order_is_that_of_the_sorted_entries_then_of_the_rows(rows, dtype):
    flat = np.array(rows, dtype=dtype)
    order, group = content_order(flat)
    keys = [(sorted(row), row) for row in flat.tolist()]
    assert [keys[i] for i in order] == sorted(keys)
    # -0.0 and 0.0 are the same number.
    same = [keys[i] == keys[j] for i, j in zip(order[1:], order[:-1], strict=True)]
    np.testing.assert_array_equal(np.diff(group) == 0, same)
    assert group[0] == 0
    assert set(np.diff(group)) <= {0, 1}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_depends_on_nothing_but_the_content(dtype):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 4, size=(5000, 3, 2)).astype(dtype)  # more than a block
    flat = images.reshape(5000, -1)
    order, group = content_order(flat)
    assert group[-1] + 1 == len(np.unique(flat, axis=0))
    shuffle = rng.permutation(5000)
    shuffled, _ = content_order(flat[shuffle])
    np.testing.assert_array_equal(flat[order], flat[shuffle][shuffled])
    np.testing.assert_array_equal(content_order(255 * flat)[0], order)


@pytest.mark.parametrize("values", [2, 100])
def test_transposing_images_does_not_change_the_order(values):
    images = np.random.default_rng(0).integers(0, values, size=(50, 5, 4)) + 0.0
    upright = images.reshape(50, -1)
    turned = images.transpose(0, 2, 1).reshape(50, -1)
    columns = np.arange(20)
    order, group = content_order(upright, columns.reshape(5, 4).T.ravel())
    other, other_group = content_order(turned, columns.reshape(4, 5).T.ravel())
    np.testing.assert_array_equal(order, other)
    np.testing.assert_array_equal(group, other_group)
