import numpy as np
import problems
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.estimators import order as order_module
from twofold.estimators import scaling


def content_order(flat, transposed=None):
    as_it_is = np.arange(flat.shape[1])
    return order_module.content_order(
        lambda indices: flat[indices],
        np.arange(len(flat)),
        as_it_is if transposed is None else transposed,
    )


NUMBERS = st.sampled_from([-(2**31), -3, -1, 0, 1, 255, 256, 2**31 - 1])
ROWS = st.integers(1, 12).flatmap(
    lambda f: st.lists(st.tuples(*[NUMBERS] * f), min_size=1, max_size=8)
)


def check_order(flat):
    """Against Python's own sorting of lists."""
    order, group = content_order(flat)
    keys = [(sorted(row), row) for row in flat.tolist()]
    assert order.tolist() == sorted(range(len(flat)), key=lambda i: keys[i])
    same = [keys[i] == keys[j] for i, j in zip(order[1:], order[:-1], strict=True)]
    np.testing.assert_array_equal(np.diff(group) == 0, same)
    assert group[0] == 0
    assert set(np.diff(group)) <= {0, 1}


@settings(deadline=None)
@given(ROWS)
def test_the_order_is_that_of_the_sorted_entries_then_of_the_rows(rows):
    check_order(np.array(rows, dtype=np.int32))


@pytest.mark.parametrize("values", [2, 4, 40])
def test_ties_are_broken_across_blocks_and_parts_of_rows(values, monkeypatch):
    monkeypatch.setattr(scaling, "_BLOCK_ENTRIES", 200)
    rng = np.random.default_rng(values)
    distinct = rng.integers(0, values, size=(40, 20))
    shuffled = rng.permuted(np.tile(distinct[:4], (60, 1)), axis=1)
    copies = np.tile(distinct[:1], (150, 1))
    late = np.tile(np.arange(20) + values, (100, 1))  # differ in their last numbers
    late[:, -1] += rng.integers(0, 9, size=100)
    flat = np.concatenate([distinct, shuffled, copies, late]).astype(np.int32)
    check_order(flat[rng.permutation(len(flat))])


def test_identical_samples_keep_the_order_they_are_first_given():
    flat = np.array([[1, 2], [0, 5], [1, 2], [1, 2]], dtype=np.int32)
    first = np.array([3, 1, 0, 2])
    order, group = order_module.content_order(lambda i: flat[i], first, np.arange(2))
    np.testing.assert_array_equal(order, [1, 3, 0, 2])
    np.testing.assert_array_equal(group, [0, 1, 1, 1])


def test_it_depends_on_nothing_but_the_content():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 4, size=(5000, 3, 2), dtype=np.int32)
    flat = images.reshape(5000, -1)
    order, group = content_order(flat)
    assert group[-1] + 1 == len(np.unique(flat, axis=0))
    shuffle = rng.permutation(5000)
    shuffled, _ = content_order(flat[shuffle])
    np.testing.assert_array_equal(flat[order], flat[shuffle][shuffled])
    np.testing.assert_array_equal(content_order(255 * flat)[0], order)


@pytest.mark.parametrize("values", [2, 100])
def test_transposing_images_does_not_change_the_order(values):
    images = np.random.default_rng(0).integers(0, values, size=(50, 5, 4))
    upright = images.reshape(50, -1)
    turned = images.transpose(0, 2, 1).reshape(50, -1)
    columns = np.arange(20)
    order, group = content_order(upright, columns.reshape(5, 4).T.ravel())
    other, other_group = content_order(turned, columns.reshape(4, 5).T.ravel())
    np.testing.assert_array_equal(order, other)
    np.testing.assert_array_equal(group, other_group)


def test_the_order_survives_a_change_of_unit_that_changes_hashes():
    """Rounding errors of float32 change the rounded entries of some samples."""
    images = problems.positive((200, 12, 10)).astype(np.float32)
    orders, hashes = [], []
    for unit in (np.float32(1), np.float32(1 / 255)):
        stack = (unit * images)[:, None]
        norms = scaling.sample_norms(stack)
        orders.append(order_module.sample_order(stack, norms, None, "global")[0])
        rows = order_module._rounded_rows(stack, norms, None, "global")
        hashes.append([hash(row.tobytes()) for row in rows(np.arange(200))])
    np.testing.assert_array_equal(*orders)
    assert np.not_equal(*hashes).any()
