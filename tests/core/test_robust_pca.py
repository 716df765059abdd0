"""Robust PCA against a literal one, a known answer and optimality."""

import baselines_reference as literal
import numpy as np
import pytest
from problems import relative
from scipy.optimize import minimize

from twofold.core import robust_pca
from twofold.core.robust_pca import (
    leading_eigenvectors,
    singular_value_threshold,
    soft_threshold,
    split,
    split_rows,
)


def corrupted(n, d, rank, part=0.05, seed=0):
    """Return a low-rank matrix and a sparse matrix of large entries."""
    rng = np.random.default_rng(seed)
    low_rank = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    hit = rng.uniform(size=(n, d)) < part
    return low_rank, np.where(hit, rng.uniform(-50, 50, size=(n, d)), 0.0)


@pytest.mark.parametrize(("n", "d"), [(200, 150), (120, 300), (180, 180)])
@pytest.mark.parametrize("partial", [0.0, 0.5])
def test_a_known_low_rank_and_sparse_matrix_is_recovered(n, d, partial, monkeypatch):
    monkeypatch.setattr(robust_pca, "_PARTIAL", partial)  # by eigh, and by Lanczos
    low_rank, sparse = corrupted(n, d, rank=5)
    weight = 1 / np.sqrt(max(n, d))
    found = split(low_rank + sparse, weight, tol=1e-7, max_iter=1000)
    assert found.converged
    assert len(found.values) == 5
    rebuilt = (found.left * found.values) @ found.right
    assert relative(rebuilt, low_rank) < 1e-5
    assert relative(found.sparse, sparse) < 1e-5
    assert set(zip(*np.nonzero(found.sparse), strict=True)) >= set(
        zip(*np.nonzero(sparse), strict=True)
    )


@pytest.mark.parametrize("seed", range(3))
def test_it_takes_the_steps_of_the_literal_one(seed):
    X = np.random.default_rng(seed).normal(size=(25, 14))
    A, E, n_iter = literal.robust_pca(X, 0.2, 1e-7, 200)
    found = split(X, 0.2, tol=1e-7, max_iter=200)
    assert len(found.history) == n_iter
    np.testing.assert_allclose((found.left * found.values) @ found.right, A, atol=1e-7)
    np.testing.assert_allclose(found.sparse, E, atol=1e-7)
    nuclear = np.linalg.svd(A, compute_uv=False).sum()
    assert np.isclose(found.history[-1], nuclear + 0.2 * np.abs(E).sum())


@pytest.mark.parametrize("shape", [(60, 50), (50, 60)])
@pytest.mark.parametrize("expected", [1, 3, 40])
def test_thresholding_keeps_all_values_above_whatever_rank_is_expected(shape, expected):
    matrix = np.random.default_rng(0).normal(size=shape)
    left, values, right = singular_value_threshold(matrix, 5.0, expected)
    known = literal.singular_value_threshold(matrix, 5.0)
    np.testing.assert_allclose((left * values) @ right, known, atol=1e-10)
    np.testing.assert_allclose(left.T @ left, np.eye(len(values)), atol=1e-10)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_array_equal(
        soft_threshold(matrix, 0.5), literal.soft_threshold(matrix, 0.5)
    )


def test_lanczos_finds_the_same_eigenvectors():
    points = np.random.default_rng(0).normal(size=(300, 200))
    gram = points.T @ points
    some, vectors = leading_eigenvectors(gram, 7)
    every, _ = leading_eigenvectors(gram, 150)
    assert len(some) == 7
    assert len(every) == 200
    np.testing.assert_allclose(some, every[:7])
    np.testing.assert_allclose(gram @ vectors, vectors * some, atol=1e-6)


def test_zeros_and_one_sample_are_split():
    found = split(np.zeros((4, 3)), 0.5, tol=1e-7, max_iter=10)
    assert found.converged
    assert found.right.shape == (0, 3)
    found = split(np.array([[3.0, 4.0, 0.0]]), 2.0, tol=1e-7, max_iter=100)
    assert found.converged
    np.testing.assert_allclose((found.left * found.values) @ found.right, [[3, 4, 0]])


def test_new_rows_are_split_at_the_optimum():
    """The minimum of c'S^-1c / 2 + lambda |x - c B|, by quadratic programming."""
    rng = np.random.default_rng(0)
    B = np.linalg.qr(rng.normal(size=(9, 3)))[0].T
    s, weight = np.array([5.0, 2.0, 0.5]), 0.3
    x = rng.normal(size=(4, 3)) @ B
    x[:, 2] += rng.normal(scale=3, size=4)
    codes = split_rows(x, s, B, weight)

    def cost(c, row):
        return np.sum(c**2 / s) / 2 + weight * np.abs(row - c @ B).sum()

    for row, code in zip(x, codes, strict=True):
        # In c and the bounds t >= |x - c B|, the problem is smooth.
        bounds = [
            {"type": "ineq", "fun": lambda z, r=row: z[3:] - (r - z[:3] @ B)},
            {"type": "ineq", "fun": lambda z, r=row: z[3:] + (r - z[:3] @ B)},
        ]
        best = minimize(
            lambda z: np.sum(z[:3] ** 2 / s) / 2 + weight * z[3:].sum(),
            np.concatenate([np.zeros(3), np.abs(row)]),
            constraints=bounds,
            options={"ftol": 1e-12, "maxiter": 500},
        )
        np.testing.assert_allclose(code, best.x[:3], atol=1e-4)
        assert cost(code, row) <= best.fun + 1e-6


def test_new_rows_of_zeros_and_alone_are_split_alike():
    low_rank, sparse = corrupted(60, 40, rank=3)
    found = split(low_rank + sparse, 0.13, tol=1e-7, max_iter=1000)
    rows = np.vstack([np.zeros(40), (low_rank + sparse)[:5]])
    codes = split_rows(rows, found.values, found.right, 0.13)
    np.testing.assert_array_equal(codes[0], 0)
    alone = split_rows(rows[4:5], found.values, found.right, 0.13)
    np.testing.assert_allclose(alone[0], codes[4], rtol=1e-9)


def test_training_rows_are_at_their_optimum_already():
    low_rank, sparse = corrupted(100, 80, rank=4)
    weight = 1 / np.sqrt(100)
    found = split(low_rank + sparse, weight, tol=1e-9, max_iter=1000)
    codes = split_rows(low_rank + sparse, found.values, found.right, weight)
    np.testing.assert_allclose(codes, found.left * found.values, atol=1e-3)
