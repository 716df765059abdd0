"""t-SNE by FFTs, beside sums over all pairs and scikit-learn's."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.manifold import TSNE
from sklearn.neighbors import kneighbors_graph

from twofold.app.report.plane import Grid, attraction, embed


def squares(points):
    return ((points[:, None] - points[None]) ** 2).sum(axis=2)


def neighbors_of(rows, count):
    joined = kneighbors_graph(rows, count)
    joined = csr_array(joined + joined.T)
    return csr_array(joined / joined.sum())


def kernel(points):
    found = 1 / (1 + squares(points))
    np.fill_diagonal(found, 0)
    return found


def divergence(affinities, points):
    """sum_ij p_ij log(p_ij / q_ij)."""
    found = kernel(points)
    p = affinities.tocoo()
    return float((p.data * np.log(p.data * found.sum() / found[p.row, p.col])).sum())


@pytest.mark.parametrize(("n", "span"), [(2, 1), (50, 1e-3), (300, 4), (900, 25)])
def test_the_repulsion_is_the_sum_over_all_pairs(n, span):
    points = np.random.default_rng(0).uniform(-span, span, size=(n, 2))
    points[: n // 2] *= 0.3
    inverse = kernel(points)
    differences = points[:, None] - points[None]
    exact = np.einsum("ij,ijk->ik", inverse**2, differences) / inverse.sum()
    found = Grid(n).repulsion(points)
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    assert error < (0.03 if span <= 4 else 0.3)


def test_the_attraction_is_the_sum_over_all_edges():
    points = np.random.default_rng(0).normal(size=(40, 2))
    joined = neighbors_of(points, 4)
    pull = (joined.toarray() * kernel(points))[..., None]
    exact = (pull * (points[:, None] - points[None])).sum(axis=1)
    np.testing.assert_allclose(attraction(joined, points), exact, atol=1e-15)


def test_it_is_as_good_as_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 10))[np.arange(300) % 6] + rng.normal(size=(300, 10))
    affinities, start = neighbors_of(rows, 15), 1e-2 * rows[:, :2]
    other = TSNE(init=start.astype(np.float32), perplexity=15).fit_transform(rows)
    own = divergence(affinities, embed(affinities, start))
    assert own < divergence(affinities, other) + 0.02
    assert own < divergence(affinities, 10 * rows[:, :2]) - 0.5
