"""A slow, literal TS-NMF: the oracle that the fast solver is tested against.

Written from the paper alone. It imports nothing from the package and shares no code
with it; when the two disagree, this file is the one to compare with the paper. Names
are the paper's letters and the tags (``# eq_...``, ``# line ...``) are the labels of
its equations and the lines of its Algorithm 1.

Sets of matrices are arrays of shape (count, c, h, w), so ``X[i, s]`` is channel s of
the paper's X_i. The c channels of a sample share P and Q: wherever the paper sums a
data term over i, the sum here runs over i and s, and the vec() of a sample strings its
channels together. With c = 1 this is the paper as it stands. The paper has a = h and
b = w, and one r where ``n_directions`` allows a different one for each side. The graphs
"subspace" and "subspace_knn" are not the paper's; ``subspace_reference`` has them.
"""

from dataclasses import dataclass

import numpy as np
import subspace_reference

Array = np.ndarray


@dataclass(frozen=True)
class Result:
    """State after the last iteration, before the final adjustment.

    Attributes
    ----------
    P, Q : (w, r_right) and (h, r_left) orthonormal projection directions.
    U : (k, c, h, w) centroids.
    V : (n, k) new representation, one row for each sample.
    W_P, W_Q : (n, n) weights of the right and the left graph.
    objective : one dict of terms for each iteration, see `objective_terms`.
    """

    P: Array
    Q: Array
    U: Array
    V: Array
    W_P: Array
    W_Q: Array
    objective: list[dict[str, float]]


# --- Notation: vec, projected sets, parts of a matrix ------------------------------


def vec(M: Array) -> Array:
    """Stack the columns of each channel of M (c, h, w), one channel after another."""
    return np.concatenate([M[s].flatten(order="F") for s in range(M.shape[0])])


def vec_set(M: Array) -> Array:
    """Matrix whose i-th column is the vec of the i-th member of the set M."""
    return np.column_stack([vec(M[i]) for i in range(M.shape[0])])


def project_right(M: Array, P: Array) -> Array:
    """The set {M_i P P'}, written with a superscript (P) in the paper."""
    # eq_obj_2dseminmf_proj_graph
    PPt = P @ P.T
    M_P = np.zeros_like(M)
    for i in range(M.shape[0]):
        for s in range(M.shape[1]):
            M_P[i, s] = M[i, s] @ PPt
    return M_P


def project_left(M: Array, Q: Array) -> Array:
    """The set {Q Q' M_i}, written with a superscript (Q) in the paper."""
    # eq_obj
    QQt = Q @ Q.T
    M_Q = np.zeros_like(M)
    for i in range(M.shape[0]):
        for s in range(M.shape[1]):
            M_Q[i, s] = QQt @ M[i, s]
    return M_Q


def plus(M: Array) -> Array:
    """Positive part of every entry."""
    # unlabelled, after eq_def_AB
    return (np.abs(M) + M) / 2


def minus(M: Array) -> Array:
    """Size of the negative part of every entry."""
    # unlabelled, after eq_def_AB
    return (np.abs(M) - M) / 2


# --- P and Q -----------------------------------------------------------------------


def gram_right(M: Array) -> Array:
    """Sum of M_i' M_i over the set and its channels; of X it is G_P."""
    # eq_obj_2dseminmf_proj (G_P is not centred there)
    G = np.zeros((M.shape[3], M.shape[3]))
    for i in range(M.shape[0]):
        for s in range(M.shape[1]):
            G += M[i, s].T @ M[i, s]
    return G


def gram_left(M: Array) -> Array:
    """Sum of M_i M_i' over the set and its channels; of X it is G_Q."""
    # eq_obj (G_P with X_i' in the place of X_i)
    G = np.zeros((M.shape[2], M.shape[2]))
    for i in range(M.shape[0]):
        for s in range(M.shape[1]):
            G += M[i, s] @ M[i, s].T
    return G


def residuals(X: Array, U: Array, V: Array) -> Array:
    """The set of Lambda_i = X_i - sum_j U_j v_ij, without any projection."""
    # eq_sub_P3
    Lambda = np.zeros_like(X)
    for i in range(X.shape[0]):
        for s in range(X.shape[1]):
            Lambda[i, s] = X[i, s]
            for j in range(U.shape[0]):
                Lambda[i, s] = Lambda[i, s] - U[j, s] * V[i, j]
    return Lambda


def eig_r(M: Array, r: int) -> Array:
    """Unit eigenvectors of the r smallest eigenvalues, as columns, smallest first."""
    # eq_sol_P_pre (without the shift xi I, which moves no eigenvector)
    eigenvalues, eigenvectors = np.linalg.eigh(M)
    order = np.argsort(eigenvalues, kind="stable")
    return eigenvectors[:, order[:r]]


def update_p_q(
    X: Array, U: Array, V: Array, n_directions: tuple[int, int], lambda_1: float
) -> tuple[Array, Array]:
    """Both sets of projection directions, from the same U and V."""
    r_left, r_right = n_directions
    Lambda = residuals(X, U, V)
    # eq_sol_P_pre
    P = eig_r(gram_right(Lambda) - lambda_1 * gram_right(X), r_right)
    # eq_sol_Q_pre
    Q = eig_r(gram_left(Lambda) - lambda_1 * gram_left(X), r_left)
    return P, Q


# --- Graphs ------------------------------------------------------------------------


def squared_distances(vec_X: Array) -> Array:
    """Squared Euclidean distance between every two columns."""
    n = vec_X.shape[1]
    d2 = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            d2[i, j] = np.sum((vec_X[:, i] - vec_X[:, j]) ** 2)
    return d2


def nearest(d2: Array, n_neighbors: int) -> list[list[int]]:
    """Nearest others of every sample; of two equally near, the lower index first."""
    n = d2.shape[0]
    neighbors = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        others.sort(key=lambda j: (d2[i, j], j))
        neighbors.append(others[:n_neighbors])
    return neighbors


def unit_columns(vec_X: Array) -> Array:
    """Columns scaled to length 1; a column of zeros stays as it is."""
    scaled = vec_X.copy()
    for i in range(vec_X.shape[1]):
        length = np.sqrt(np.sum(vec_X[:, i] ** 2))
        if length > 0:
            scaled[:, i] = vec_X[:, i] / length
    return scaled


def pair_weights(
    vec_X: Array, d2: Array, neighbors: list[list[int]], graph: str
) -> Array:
    """Weight that each pair of samples has if the graph joins it, (n, n)."""
    n = d2.shape[0]
    if graph == "binary":
        return np.ones((n, n))
    if graph == "heat":
        s = np.mean([d2[i, j] for i in range(n) for j in neighbors[i]])
        return np.exp(-d2 / s)
    if graph == "cosine":
        return np.maximum(0.0, vec_X.T @ vec_X)
    raise ValueError(f"unknown graph {graph!r}")


def build_w(vec_X: Array, n_neighbors: int, graph: str) -> Array:
    """W of one side: i and j are joined if either is a neighbour of the other."""
    # line 5, eq_manifold
    if graph in ("subspace", "subspace_knn"):
        return subspace_reference.build_w(vec_X.T, n_neighbors, graph)
    if graph == "cosine":
        vec_X = unit_columns(vec_X)
    d2 = squared_distances(vec_X)
    neighbors = nearest(d2, n_neighbors)
    weights = pair_weights(vec_X, d2, neighbors, graph)
    n = d2.shape[0]
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if j in neighbors[i] or i in neighbors[j]:
                W[i, j] = weights[i, j]
    return W


def degree(W: Array) -> Array:
    """D, the row sums of W on a diagonal."""
    # eq_manifold
    D = np.zeros_like(W)
    for i in range(W.shape[0]):
        D[i, i] = np.sum(W[i, :])
    return D


def laplacian(W: Array) -> Array:
    """L = D - W."""
    # eq_manifold
    return degree(W) - W


# --- V -----------------------------------------------------------------------------


def define_a_b(
    X: Array, U: Array, P: Array, Q: Array
) -> tuple[Array, Array, Array, Array]:
    """A_1, A_2 (k, k) and B_1, B_2 (n, k), in this order."""
    vec_X_P = vec_set(project_right(X, P))
    vec_U_P = vec_set(project_right(U, P))
    vec_X_Q = vec_set(project_left(X, Q))
    vec_U_Q = vec_set(project_left(U, Q))
    # eq_def_AB
    A_1 = vec_U_P.T @ vec_U_P
    A_2 = vec_U_Q.T @ vec_U_Q
    B_1 = vec_X_P.T @ vec_U_P
    B_2 = vec_X_Q.T @ vec_U_Q
    return A_1, A_2, B_1, B_2


def objective_of_v(
    V: Array,
    A_1: Array,
    A_2: Array,
    B_1: Array,
    B_2: Array,
    lambda_2: float,
    W_P: Array,
    W_Q: Array,
) -> float:
    """F(V): eq_obj as a function of V alone, constants left out."""
    D_P = degree(W_P)
    D_Q = degree(W_Q)
    # eq_dec_proof_obj (one trace a term: the terms are k x k and n x n)
    F = -2 * np.trace(V.T @ plus(B_1)) + 2 * np.trace(V.T @ minus(B_1))
    F += np.trace(V @ plus(A_1) @ V.T) - np.trace(V @ minus(A_1) @ V.T)
    F += -2 * np.trace(V.T @ plus(B_2)) + 2 * np.trace(V.T @ minus(B_2))
    F += np.trace(V @ plus(A_2) @ V.T) - np.trace(V @ minus(A_2) @ V.T)
    F += lambda_2 * np.trace(V.T @ D_P @ V) - lambda_2 * np.trace(V.T @ W_P @ V)
    F += lambda_2 * np.trace(V.T @ D_Q @ V) - lambda_2 * np.trace(V.T @ W_Q @ V)
    return float(F)


def update_v(
    V: Array,
    A_1: Array,
    A_2: Array,
    B_1: Array,
    B_2: Array,
    lambda_2: float,
    W_P: Array,
    W_Q: Array,
) -> Array:
    """One multiplicative step on V; no floor and no guard against 0 / 0."""
    D_P = degree(W_P)
    D_Q = degree(W_Q)
    # eq_update_v
    upper = plus(B_1) + plus(B_2) + V @ (minus(A_1) + minus(A_2))
    upper = upper + lambda_2 * (W_P + W_Q) @ V
    lower = minus(B_1) + minus(B_2) + V @ (plus(A_1) + plus(A_2))
    lower = lower + lambda_2 * (D_P + D_Q) @ V
    V_new = np.zeros_like(V)
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            V_new[i, j] = V[i, j] * np.sqrt(upper[i, j] / lower[i, j])
    return V_new


# --- U -----------------------------------------------------------------------------


def update_u(X: Array, V: Array) -> Array:
    """Centroids that fit X best for this V, with the pseudo-inverse of V'V."""
    # eq_update_u
    coefficients = V @ np.linalg.pinv(V.T @ V)
    n, k = V.shape
    U = np.zeros((k, *X.shape[1:]))
    for i in range(k):
        for j in range(n):
            for s in range(X.shape[1]):
                U[i, s] = U[i, s] + X[j, s] * coefficients[j, i]
    return U


def adjust(U: Array, V: Array) -> tuple[Array, Array]:
    """Scale the columns of V to length 1 and the centroids by what was divided out."""
    # line 9, eq_adjust (with the norm, not its square: length 1 is meant)
    U_new = np.zeros_like(U)
    V_new = np.zeros_like(V)
    for j in range(V.shape[1]):
        norm = np.sqrt(np.sum(V[:, j] ** 2))
        V_new[:, j] = V[:, j] / norm
        U_new[j] = U[j] * norm
    return U_new, V_new


# --- Objective and Algorithm 1 -----------------------------------------------------


def squared_error(vec_X: Array, vec_U: Array, V: Array) -> float:
    """Squared Frobenius norm of vec_X - vec_U V'."""
    return float(np.sum((vec_X - vec_U @ V.T) ** 2))


def objective_terms(
    X: Array, state: tuple[Array, ...], lambda_1: float, lambda_2: float
) -> dict[str, float]:
    """Terms of eq_obj without their factors and signs, and the total with them."""
    P, Q, U, V, W_P, W_Q = state
    # eq_obj
    right = squared_error(vec_set(project_right(X, P)), vec_set(project_right(U, P)), V)
    left = squared_error(vec_set(project_left(X, Q)), vec_set(project_left(U, Q)), V)
    energy = np.trace(P.T @ gram_right(X) @ P) + np.trace(Q.T @ gram_left(X) @ Q)
    smoothness = np.trace(V.T @ (laplacian(W_P) + laplacian(W_Q)) @ V)
    return {
        "right_residual": right,
        "left_residual": left,
        "energy": float(energy),
        "smoothness": float(smoothness),
        "total": float(right + left - lambda_1 * energy + lambda_2 * smoothness),
    }


def ts_nmf(
    X: Array,
    V: Array,
    *,
    n_directions: tuple[int, int],
    lambda_1: float,
    lambda_2: float,
    n_neighbors: int,
    n_iter: int,
    graph: str = "binary",
) -> Result:
    """Algorithm 1 from a given start, always for `n_iter` iterations.

    Parameters
    ----------
    X : (n, c, h, w) samples.
    V : (n, k) strictly positive start; the first U comes from it.
    n_directions : (r_left, r_right), the columns of Q and of P.
    lambda_1, lambda_2 : factors of the energy and of the smoothness.
    n_neighbors : neighbours of a sample in each graph, less than n.
    n_iter : iterations, at least 1.
    graph : "binary", "heat", "cosine", "subspace" or "subspace_knn".
    """
    U = update_u(X, V)  # line 2
    objective = []
    for _ in range(n_iter):  # lines 3, 7 and 8
        P, Q = update_p_q(X, U, V, n_directions, lambda_1)  # line 4
        W_P = build_w(vec_set(project_right(X, P)), n_neighbors, graph)  # line 5
        W_Q = build_w(vec_set(project_left(X, Q)), n_neighbors, graph)  # line 5
        A_1, A_2, B_1, B_2 = define_a_b(X, U, P, Q)
        V = update_v(V, A_1, A_2, B_1, B_2, lambda_2, W_P, W_Q)  # line 6
        U = update_u(X, V)  # line 6
        state = (P, Q, U, V, W_P, W_Q)
        objective.append(objective_terms(X, state, lambda_1, lambda_2))
    return Result(*state, objective)
