import numpy as np
import problems
import pytest
import reference
import subspace_reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from twofold.core.graphs import KINDS, default_kind, graph_kind
from twofold.core.graphs import graph as graph_module
from twofold.core.graphs.construction import build_graph


def brute_force(features, q, kind):
    """W of one run by the definition, on a dense matrix of distances."""
    if kind in problems.SUBSPACE:
        return subspace_reference.build_w(features, q, kind)
    if kind == "cosine":
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        # Zeros have an angle of their own.
        features = np.hstack([features, norms == 0])
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
    squared = cdist(features, features, "sqeuclidean")
    listed = np.zeros(squared.shape, dtype=bool)
    for i, row in enumerate(squared):
        others = [j for j in np.argsort(row, kind="stable") if j != i]
        listed[i, others[:q]] = True
    weights = {
        "binary": np.ones_like(squared),
        "heat": np.exp(-squared / squared[listed].mean()),
        "cosine": np.maximum(features @ features.T, 0),
    }[kind]
    return np.where(listed | listed.T, weights, 0)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(3, 40),
    q=st.integers(1, 8),
    d=st.integers(2, 20),  # on a line all cosines are ties
    kind=st.sampled_from(problems.GRAPHS),
    seed=st.integers(0, 10_000),
)
def test_graphs_equal_brute_force(n, q, d, kind, seed):
    features = np.random.default_rng(seed).normal(size=(2, n, d))
    if kind == "cosine" and q >= n - 1:  # all are listed, so that ties do not matter
        features[:, 0] = 0
    graph = build_graph(features, q, kind)
    for run in range(2):
        expected = brute_force(features[run], min(q, n - 1), kind)
        np.testing.assert_allclose(problems.dense(graph, run), expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_products_and_degrees_are_those_of_the_dense_graph(kind):
    features = np.random.default_rng(0).normal(size=(3, 30, 4))
    V = problems.positive((3, 30, 5))
    graph = build_graph(features, 5, kind)
    for run in range(3):
        W = problems.dense(graph, run)
        np.testing.assert_allclose(graph.product(V)[run], W @ V[run])
        np.testing.assert_allclose(graph.degree[run, :, 0], W.sum(axis=1))


@pytest.mark.parametrize("kind", problems.GRAPHS)
def test_duplicates_are_neighbours_but_nobody_is_its_own(kind):
    features = np.repeat(np.random.default_rng(0).normal(size=(1, 3, 4)), 8, axis=1)
    W = problems.dense(build_graph(features, 5, kind))
    assert not np.diag(W).any()
    copies = np.repeat(np.arange(3), 8)
    assert not W[copies[:, None] != copies].any()


@pytest.mark.parametrize("kind", problems.GRAPHS)
def test_a_single_sample_has_no_neighbours(kind):
    graph = build_graph(np.ones((2, 1, 3)), 5, kind)
    np.testing.assert_array_equal(graph.degree, np.zeros((2, 1, 1)))


def test_neighbours_are_capped_at_all_others():
    W = problems.dense(build_graph(problems.positive((1, 4, 3)), 100, "binary"))
    np.testing.assert_array_equal(W, 1 - np.eye(4))


def test_where_all_are_near_shares_count_in_full():
    features = problems.positive((2, 6, 3))
    for q in (5, 100):
        shared, alone = (build_graph(features, q, kind) for kind in problems.SUBSPACE)
        np.testing.assert_array_equal(shared.weights, alone.weights)
        np.testing.assert_array_equal(shared.neighbors, alone.neighbors)


def test_who_is_far_weighs_a_thousandth():
    """Opposite samples share as much in each other as copies, and are not near."""
    half = np.random.default_rng(0).normal(size=(1, 12, 20))
    features = np.concatenate([half, half + 1e-3, -half], axis=1)
    shared, alone = (
        problems.dense(build_graph(features, 2, k)) for k in problems.SUBSPACE
    )
    i = np.arange(12)
    np.testing.assert_allclose(shared[i, i + 12], alone[i, i + 12])
    assert (alone[i, i + 24] > 0.9).all()
    np.testing.assert_allclose(shared[i, i + 24], 1e-3 * alone[i, i + 24])


@pytest.mark.parametrize("kind", ["heat", "subspace_knn"])
def test_edges_are_looked_up_block_by_block(kind, monkeypatch):
    features = np.random.default_rng(0).normal(size=(2, 40, 6))
    whole = build_graph(features, 5, kind)
    monkeypatch.setattr(graph_module, "_BLOCK_ENTRIES", 3 * 5**2)  # three at once
    parts = build_graph(features, 5, kind)
    np.testing.assert_array_equal(parts.weights, whole.weights)


def test_samples_of_zeros_have_finite_weights():
    for kind in problems.GRAPHS:
        graph = build_graph(np.zeros((1, 6, 3)), 2, kind)
        assert np.isfinite(graph.weights).all()


def test_the_oracle_builds_the_same_graph():
    """Brute force here and the literal reference agree on what a graph is."""
    samples = problems.stack((20, 1, 5, 1))
    V = problems.positive((20, 3))
    result = reference.ts_nmf(
        samples,
        V,
        n_directions=(2, 1),
        lambda_1=1.0,
        lambda_2=1.0,
        n_neighbors=4,
        n_iter=1,
    )
    expected = brute_force(samples.reshape(20, -1), 4, "binary")
    np.testing.assert_array_equal(result.W_P, expected)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"graph must be one of .*heat.*, got 'hot'"):
        build_graph(np.ones((1, 4, 3)), 2, "hot")


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_a_kind_is_found_by_its_name_and_describes_itself(name, kind):
    assert graph_kind(name) is kind
    assert kind.name == name
    assert kind.description.endswith(".")


def test_samples_of_few_entries_are_not_taken_for_subspaces():
    assert [default_kind(n).name for n in (31, 32)] == ["heat", "subspace_knn"]
