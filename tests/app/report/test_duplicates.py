"""Near-duplicates against every correlation, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.app.report.duplicates import near_duplicates


def brute_force(images):
    """Connected groups of the graph of all correlations from 0.99 on."""
    rows = images.reshape(len(images), -1)
    alike = np.corrcoef(rows) >= 0.99
    left, groups = set(range(len(rows))), []
    while left:
        group, new = set(), {left.pop()}
        while new:
            group |= new
            new = {j for i in new for j in np.flatnonzero(alike[i])} - group
        left -= group
        groups.append(sorted(group))
    return sorted(g for g in groups if len(g) > 1)


def with_copies(seed, n, shape, copies, noise):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n, *shape))
    originals = rng.integers(0, n // 2, size=copies)
    gain = rng.uniform(0.3, 3, size=(copies, *[1] * len(shape)))
    shift = rng.normal(size=gain.shape)
    images[n - copies :] = gain * images[originals] + shift
    images[n - copies :] += noise * gain * rng.normal(size=(copies, *shape))
    return images


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 999),
    n=st.integers(20, 90),
    shape=st.sampled_from([(8, 7), (30,), (5, 6, 3), (3, 4)]),
    noise=st.sampled_from([0, 0.03, 0.1, 0.14]),
)
def test_groups_are_those_of_all_correlations(seed, n, shape, noise):
    images = with_copies(seed, n, shape, 4, noise)
    rows = images.reshape(n, -1)
    off = np.abs(np.corrcoef(rows) - 0.99).min()
    if off < 1e-5:  # too near to the limit for 32 bits
        return
    found = near_duplicates(images)
    assert sorted(found) == brute_force(images)


def test_the_largest_group_is_first_and_all_of_it_is_there():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(60, 9, 9))
    images[[5, 50]] = images[3]
    images[40:49] = 2 * images[30] + 1  # ten alike, more than are compared with each
    assert near_duplicates(images) == [[30, *range(40, 49)], [3, 5, 50]]


def test_unrelated_images_have_none():
    assert near_duplicates(np.random.default_rng(0).normal(size=(200, 8, 8))) == []


def test_an_inverted_copy_is_no_duplicate():
    images = np.random.default_rng(0).normal(size=(30, 8, 8))
    images[7] = -images[20]
    assert near_duplicates(images) == []


def test_blank_images_are_like_those_of_their_shade():
    images = np.random.default_rng(0).normal(size=(30, 8, 8))
    images[4], images[9], images[12] = 0.0, 3.0, 3.0
    assert near_duplicates(images) == [[9, 12]]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_images(n):
    images = np.repeat(np.random.default_rng(0).normal(size=(1, 4, 4)), n, axis=0)
    assert near_duplicates(images) == ([list(range(n))] if n > 1 else [])


def test_whole_numbers_are_taken_too():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 200, size=(20, 6, 6), dtype=np.uint8)
    images[11] = images[2] + 50
    assert near_duplicates(images) == [[2, 11]]
