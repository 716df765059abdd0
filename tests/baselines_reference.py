"""Slow, literal versions of five classic methods, to test the fast ones against.

Written from the stated problems alone. It imports nothing from the package and shares
no code with it. Samples are rows: X is (n, d), V is (n, k), U is (k, d) and X ~ V U.
Nothing is floored and no division is guarded, unless a docstring says so: starts that
have to be nonnegative are meant to be strictly positive.
"""

import numpy as np

Array = np.ndarray


# --- Shared notation ---------------------------------------------------------------


def plus(M: Array) -> Array:
    """Positive part of every entry, (|M| + M) / 2."""
    return (np.abs(M) + M) / 2


def minus(M: Array) -> Array:
    """Size of the negative part of every entry, (|M| - M) / 2."""
    return (np.abs(M) - M) / 2


def binary_graph(X: Array, q: int) -> Array:
    """W (n, n): w_ij = 1 if i or j is among the q nearest of the other, else 0.

    Of two equally near samples the lower index comes first; w_ii = 0.
    """
    n = X.shape[0]
    neighbors = []
    for i in range(n):
        d2 = [np.sum((X[i] - X[j]) ** 2) for j in range(n)]
        others = sorted((d2[j], j) for j in range(n) if j != i)
        neighbors.append([j for _, j in others[:q]])
    W = np.zeros((n, n))
    for i in range(n):
        for j in neighbors[i]:
            W[i, j] = 1.0
            W[j, i] = 1.0
    return W


def degree(W: Array) -> Array:
    """D with d_ii = sum_j w_ij on its diagonal."""
    D = np.zeros_like(W)
    for i in range(W.shape[0]):
        D[i, i] = np.sum(W[i, :])
    return D


def smoothness(V: Array, W: Array) -> float:
    """Tr(V' L V) with L = D - W, as 1/2 sum_ij w_ij |v_i - v_j|^2."""
    total = 0.0
    for i in range(W.shape[0]):
        for j in range(W.shape[0]):
            total += W[i, j] * np.sum((V[i] - V[j]) ** 2) / 2
    return float(total)


# --- 2DPCA -------------------------------------------------------------------------


def pca2d(X: Array, r: int) -> tuple[Array, Array, Array]:
    """2DPCA of the images X (n, h, w): the directions of the largest scatter.

    M = 1/n sum_i X_i and G_t = 1/n sum_i (X_i - M)' (X_i - M). The scatter
    Tr(P' G_t P) over P'P = I is largest at the eigenvectors of G_t that belong to its
    r largest eigenvalues. Returns M (h, w), P (w, r) and all w eigenvalues, the
    largest first; the sign of a column of P is arbitrary.
    """
    n, h, w = X.shape
    M = np.zeros((h, w))
    for i in range(n):
        M += X[i] / n
    G_t = np.zeros((w, w))
    for i in range(n):
        G_t += (X[i] - M).T @ (X[i] - M) / n
    eigenvalues, eigenvectors = np.linalg.eigh(G_t)
    falling = np.argsort(-eigenvalues, kind="stable")
    return M, eigenvectors[:, falling[:r]], eigenvalues[falling]


# --- Robust PCA --------------------------------------------------------------------


def soft_threshold(M: Array, t: float) -> Array:
    """argmin_E t |E|_1 + 1/2 |E - M|^2: e_ij = sign(m_ij) max(|m_ij| - t, 0)."""
    E = np.zeros_like(M)
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            E[i, j] = np.sign(M[i, j]) * max(abs(M[i, j]) - t, 0.0)
    return E


def singular_value_threshold(M: Array, t: float) -> Array:
    """argmin_A t |A|_* + 1/2 |A - M|^2: the SVD of M with max(s - t, 0) for s."""
    left, s, right = np.linalg.svd(M, full_matrices=False)
    A = np.zeros_like(M)
    for i in range(len(s)):
        A += max(s[i] - t, 0.0) * np.outer(left[:, i], right[i])
    return A


def robust_pca(
    D: Array, weight: float, tol: float, max_iter: int
) -> tuple[Array, Array, int]:
    """min |A|_* + weight |E|_1 subject to D = A + E, by the inexact ALM.

    The Lagrangian |A|_* + weight |E|_1 + <Y, D - A - E> + mu/2 |D - A - E|^2 has the
    minimisers E = soft(D - A + Y/mu, weight/mu) and A = svt(D - E + Y/mu, 1/mu). D
    must not be 0. Returns A, E and the number of iterations made.
    """
    norm_2 = np.linalg.norm(D, 2)
    Y = D / max(norm_2, np.max(np.abs(D)) / weight)
    mu_0 = 1.25 / norm_2
    mu = mu_0
    A = np.zeros_like(D)
    E = np.zeros_like(D)
    for n_iter in range(1, max_iter + 1):
        E = soft_threshold(D - A + Y / mu, weight / mu)
        A = singular_value_threshold(D - E + Y / mu, 1 / mu)
        Y = Y + mu * (D - A - E)
        mu = min(1.5 * mu, 1e7 * mu_0)
        if np.linalg.norm(D - A - E) / np.linalg.norm(D) < tol:
            return A, E, n_iter
    return A, E, max_iter


# --- Semi-NMF ----------------------------------------------------------------------


def semi_nmf(X: Array, V: Array, n_iter: int) -> tuple[Array, Array, list[float]]:
    """min |X - V U|^2 over V >= 0 and U of any sign.

    With B = X U' and A = U U', v_ij <- v_ij sqrt((B+ + V A-)_ij / (B- + V A+)_ij);
    U solves V'V U = V'X, before the first iteration too. The objectives are those
    after each iteration.
    """
    U = np.linalg.solve(V.T @ V, V.T @ X)
    objectives = []
    for _ in range(n_iter):
        B = X @ U.T
        A = U @ U.T
        upper = plus(B) + V @ minus(A)
        lower = minus(B) + V @ plus(A)
        V_new = np.zeros_like(V)
        for i in range(V.shape[0]):
            for j in range(V.shape[1]):
                V_new[i, j] = V[i, j] * np.sqrt(upper[i, j] / lower[i, j])
        V = V_new
        U = np.linalg.solve(V.T @ V, V.T @ X)
        objectives.append(float(np.sum((X - V @ U) ** 2)))
    return V, U, objectives


# --- GNMF --------------------------------------------------------------------------


def gnmf(
    X: Array, V: Array, U: Array, W: Array, weight: float, n_iter: int
) -> tuple[Array, Array, list[float]]:
    """min |X - V U|^2 + weight Tr(V' L V) over V >= 0 and U >= 0, with X >= 0.

    v_ij <- v_ij (X U' + weight W V)_ij / (V U U' + weight D V)_ij, then with this V
    u_jl <- u_jl (V'X)_jl / (V'V U)_jl. All entries of a matrix move at once, from its
    old values. The objectives are those after each iteration.
    """
    n, k = V.shape
    d = X.shape[1]
    D = degree(W)
    objectives = []
    for _ in range(n_iter):
        V_new = np.zeros_like(V)
        for i in range(n):
            for j in range(k):
                upper = X[i] @ U[j] + weight * (W[i] @ V[:, j])
                lower = (V[i] @ U) @ U[j] + weight * D[i, i] * V[i, j]
                V_new[i, j] = V[i, j] * upper / lower
        V = V_new
        U_new = np.zeros_like(U)
        for j in range(k):
            for m in range(d):
                upper = V[:, j] @ X[:, m]
                lower = V[:, j] @ (V @ U[:, m])
                U_new[j, m] = U[j, m] * upper / lower
        U = U_new
        error = float(np.sum((X - V @ U) ** 2))
        objectives.append(error + weight * smoothness(V, W))
    return V, U, objectives


# --- RMNMF -------------------------------------------------------------------------


def polar(M: Array) -> Array:
    """argmax <V, M>, and argmin |V - M|, over V'V = I: R S' of the SVD M = R s S'."""
    R, _, S_t = np.linalg.svd(M, full_matrices=False)
    return R @ S_t


def shrink_rows(M: Array, t: float) -> Array:
    """argmin_E t |E|_{2,1} + 1/2 |E - M|^2: e_i = max(1 - t / |m_i|, 0) m_i."""
    E = np.zeros_like(M)
    for i in range(M.shape[0]):
        norm = np.sqrt(np.sum(M[i] ** 2))
        if norm > t:
            E[i] = (1 - t / norm) * M[i]
    return E


def rmnmf(
    X: Array,
    V: Array,
    W: Array,
    weight: float,
    n_iter: int,
    rho: float = 1e-5,
    growth: float = 1.1,
) -> tuple[Array, Array, Array, Array]:
    """min |X - V U|_{2,1} + weight Tr(V' L V) over V'V = I and V >= 0, by ALM.

    The blocks of |E|_{2,1} + weight Tr(V' L H) + <Y, X - V U - E> + <Z, V - H>
    + rho/2 |X - V U - E|^2 + rho/2 |V - H|^2, with V'V = I and H >= 0, have these
    minimisers: E = shrink_rows(X - V U + Y/rho, 1/rho); U = V' (X - E + Y/rho);
    H = max(V + (Z - weight L V)/rho, 0); and, as |V U| = |U| and |V|^2 = k, V = polar
    of rho (X - E) U' + Y U' + rho H - Z - weight L H. Returns V, H, U and E.
    """
    L = degree(W) - W
    V = polar(V)
    U = V.T @ X
    H = V
    E = X - V @ U
    Y = np.zeros_like(X)
    Z = np.zeros_like(V)
    for _ in range(n_iter):
        E = shrink_rows(X - V @ U + Y / rho, 1 / rho)
        U = V.T @ (X - E + Y / rho)
        H = np.maximum(V + (Z - weight * L @ V) / rho, 0.0)
        V = polar((rho * (X - E) + Y) @ U.T + rho * H - Z - weight * L @ H)
        Y = Y + rho * (X - V @ U - E)
        Z = Z + rho * (V - H)
        rho = rho * growth
    return V, H, U, E
