import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import planted
from scipy.sparse import csr_array

from twofold.core.communities import graph_clusters
from twofold.core.modularity import modularity
from twofold.core.null_model import chance_modularity, rewire


def shuffled(W, seed):
    return rewire(W, np.random.RandomState(seed))


# The configuration model


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 60), share=st.floats(0, 1), seed=st.integers(0, 10_000))
def test_every_sample_keeps_its_edges_except_self_loops(n, share, seed):
    W, _ = planted(n, 1, share, 0, seed)
    found = shuffled(W, seed).toarray()
    np.testing.assert_array_equal(found, found.T)
    assert not np.diag(found).any()
    lost = W.sum(axis=1) - found.sum(axis=1)
    assert (lost >= 0).all()
    assert (lost % 2 == 0).all()  # both ends of a self-loop are at the same sample


def test_few_edges_are_lost():
    """For 100 samples with 10 edges each, about 10 of 2000 ends are self-loops."""
    W, _ = planted(100, 1, 0.1, 0)
    kept = np.mean([shuffled(W, seed).sum() for seed in range(20)])
    assert 0.97 * W.sum() < kept < W.sum()


def test_every_weight_is_that_of_one_edge_or_lost():
    """Weights are powers of two, so that a sum identifies its terms."""
    W = np.zeros((8, 8))
    upper = np.triu_indices(8, 1)
    W[upper] = 2.0 ** np.arange(28)
    W += W.T
    for seed in range(20):
        found = shuffled(csr_array(W), seed).toarray()[upper].astype(int)
        assert np.bitwise_or.reduce(found) == found.sum()
        assert found.sum() < 2**28


def test_self_loops_are_dropped():
    W, _ = planted(30, 1, 0.2, 0)
    loops = csr_array(W + np.diag(np.arange(30.0)))
    np.testing.assert_array_equal(
        shuffled(loops, 3).toarray(), shuffled(W, 3).toarray()
    )


def test_edges_join_any_two_samples():
    """About half of the edges of two components then join both."""
    W, groups = planted(100, 2, 0.2, 0)
    found = shuffled(W, 0).toarray()
    across = found[groups[:, None] != groups].sum() / found.sum()
    assert 0.4 < across < 0.6


def test_no_edges_stay_none():
    none = csr_array((4, 4))
    assert shuffled(none, 0).sum() == 0
    assert chance_modularity(none, 2, 0) == 0


# Modularity by chance


@pytest.mark.parametrize("seed", range(3))
def test_only_planted_clusters_stand_out_from_chance(seed):
    """The same number of edges in both graphs, on average."""

    def excess(W):
        found = modularity(W, graph_clusters(W, 3, seed))
        chance = [chance_modularity(W, 3, other) for other in range(4)]
        return found - np.mean(chance)

    anybody, _ = planted(150, 3, 0.06, 0.06, seed)
    clustered, _ = planted(150, 3, 0.15, 0.015, seed)
    assert excess(clustered) > 0.15
    assert abs(excess(anybody)) < 0.2 * excess(clustered)


def test_the_fewer_edges_the_more_is_found_by_chance():
    chances = [
        chance_modularity(planted(150, 1, share, 0)[0], 3, 0)
        for share in (0.05, 0.1, 0.3)
    ]
    assert chances[0] > chances[1] > chances[2] > 0


def test_the_seed_decides():
    W, _ = planted(60, 1, 0.1, 0)
    assert chance_modularity(W, 3, 5) == chance_modularity(W, 3, 5)
    assert len({chance_modularity(W, 3, seed) for seed in range(4)}) > 1
    np.testing.assert_array_equal(shuffled(W, 5).toarray(), shuffled(W, 5).toarray())
    assert (shuffled(W, 5).toarray() != shuffled(W, 6).toarray()).any()
