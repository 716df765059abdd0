"""How many clusters AutoTSNMF finds, how surely, and its pictures."""

import numpy as np
import problems
import pytest

from twofold import AutoTSNMF
from twofold.estimators.search.cluster_numbers import read_cluster_numbers
from twofold.metrics import clustering_accuracy


def planted(sizes, seed=0):
    """Well-separated groups of images of 8 x 8, so many of each."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(len(sizes)), sizes)
    means = rng.normal(size=(len(sizes), 8, 8))
    return means[target] + 0.2 * rng.normal(size=(len(target), 8, 8)), target


FEW = {"max_fits": 3, "random_state": 0}
"""A search of few looks for each number."""


@pytest.mark.parametrize("numbers", [None, range(2, 10), [9, 4, 5, 6, 2]])
def test_the_planted_number_is_found(numbers):
    images, target = planted([14, 20, 17, 25, 16])
    auto = AutoTSNMF(numbers, **FEW).fit(images)
    curve = auto.cluster_numbers_
    assert auto.n_clusters_ == curve.chosen == 5
    assert clustering_accuracy(target, auto.labels_) == 1
    assert curve.likely in ((4, 5), (4, 6), (5, 6))
    assert not curve.unsure
    assert curve.numbers == sorted(set(curve.numbers))
    assert max(curve.scores) == curve.scores[curve.numbers.index(5)]


def test_no_more_clusters_are_sought_than_samples_differ():
    few = np.repeat(problems.images(4), 10, axis=0)
    auto = AutoTSNMF(range(2, 11), **FEW).fit(few)
    assert max(auto.cluster_numbers_.numbers) <= 4
    same = AutoTSNMF(random_state=0).fit(np.ones((30, 8, 8)))
    assert (same.n_clusters_, same.cluster_numbers_) == (1, None)
    assert set(same.labels_) == {0}


def test_the_largest_number_tried_may_be_too_small():
    images, _ = planted([12] * 8)
    assert AutoTSNMF(range(2, 5), **FEW).fit(images).cluster_numbers_.at_end
    curve = AutoTSNMF(range(6, 11), **FEW).fit(images).cluster_numbers_
    assert (curve.chosen, curve.at_end) == (8, False)


def test_noise_has_no_number_to_be_sure_of():
    noise = np.random.default_rng(0).normal(size=(48, 8, 8))
    auto = AutoTSNMF(None, **FEW).fit(noise)
    low, high = auto.cluster_numbers_.likely
    assert auto.cluster_numbers_.unsure
    assert high - low >= 3


@pytest.mark.parametrize("n", [2, 3, 5, 30, 1000])
def test_numbers_to_try_where_none_is_given(n):
    numbers = read_cluster_numbers(None, 3 * n, n)
    assert numbers[0] == 2
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == max(2, min(60, n // 4))


def test_the_plot_tells_channels_apart():
    """The same graph of several channels is in several rows."""
    pytest.importorskip("matplotlib").use("agg")
    images = np.cumsum(np.cumsum(problems.images(36, 10, 9), axis=1), axis=2)
    auto = AutoTSNMF(3, channels=["pixels", "gradients"], random_state=0).fit(images)
    [grid] = auto.plot()
    stages = auto.search_results_["stage"]
    written = [t.get_text() for t in grid.texts if t.get_text() != "not tried"]
    assert len(written) == stages.count("preview")
    rows = [label.get_text() for label in grid.get_yticklabels()]
    assert {"pixels, heat, 4", "gradients, heat, 4"} <= set(rows)


def test_the_plot_has_a_cell_for_each_look_and_a_curve():
    pytest.importorskip("matplotlib").use("agg")
    images, _ = planted([14, 20, 17])
    auto = AutoTSNMF(range(2, 6), **FEW).fit(images)
    grid, curve = auto.plot()
    written = [float(t.get_text()) for t in grid.texts if t.get_text() != "not tried"]
    table = auto.search_results_
    scores = [
        s
        for s, stage, k in zip(
            table["score"], table["stage"], table["n_clusters"], strict=True
        )
        if stage == "preview" and k == 3
    ]
    np.testing.assert_allclose(sorted(written), sorted(scores), atol=5e-4)
    np.testing.assert_array_equal(curve.lines[0].get_xdata(), [2, 3, 4, 5])
    with pytest.raises(ValueError, match="axes must be 2, got 1"):
        auto.plot(grid)
