"""Naive dense reference for the mathematics of kernalign: the oracle of the tests.

Written from the specification alone and meant to be read, not to be fast: every Gram matrix is an
n x n array filled by a double loop, every centring is two matrix products with C_n = I - 11'/n.
Nothing here may import kernalign.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar, nnls

Array = NDArray[np.float64]

# A centred Gram matrix this small beside the uncentred one is rounding error: the kernel is
# constant on the data, and its alignment is 0 by convention, never 0/0.
VANISHING = 1e-13


# --- centring and alignment ----------------------------------------------------------------------


def centring_matrix(n: int) -> Array:
    """C_n = I - 11'/n."""
    return np.eye(n) - np.ones((n, n)) / n


def centre(K: ArrayLike) -> Array:
    """K_c = C_n K C_n."""
    K = np.asarray(K, dtype=np.float64)
    C = centring_matrix(len(K))
    return np.asarray(C @ K @ C)


def frobenius(A: ArrayLike, B: ArrayLike) -> float:
    """<A, B> = sum_ij A_ij B_ij."""
    return float(np.sum(np.asarray(A, dtype=np.float64) * np.asarray(B, dtype=np.float64)))


def norm(A: ArrayLike) -> float:
    """|A| = sqrt(<A, A>)."""
    return float(np.sqrt(frobenius(A, A)))


def uncentred_alignment(K: ArrayLike, L: ArrayLike) -> float:
    """<K, L> / (|K| |L|), and 0 if K or L is zero."""
    if norm(K) == 0.0 or norm(L) == 0.0:
        return 0.0
    return frobenius(K, L) / (norm(K) * norm(L))


def alignment(K: ArrayLike, L: ArrayLike) -> float:
    """<K_c, L_c> / (|K_c| |L_c|), and 0 if K_c or L_c vanishes."""
    K_c, L_c = centre(K), centre(L)
    if norm(K_c) <= VANISHING * norm(K) or norm(L_c) <= VANISHING * norm(L):
        return 0.0
    return uncentred_alignment(K_c, L_c)


# --- Gram matrices -------------------------------------------------------------------------------


def gram(X: ArrayLike, Z: ArrayLike, kappa: Callable[[Array, Array], float]) -> Array:
    """K_ij = kappa(X_i, Z_j), rows of X against rows of Z."""
    X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        raise ValueError(f"need two 2-D arrays with equal columns, got {X.shape} and {Z.shape}")
    K = np.empty((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            K[i, j] = kappa(X[i], Z[j])
    return K


def gaussian(X: ArrayLike, Z: ArrayLike, sigma: ArrayLike) -> Array:
    """K_ij = exp(-sum_k (x_ik - z_jk)^2 / sigma_k^2); sigma_k = inf ignores feature k."""
    s = np.asarray(sigma, dtype=np.float64)
    return gram(X, Z, lambda x, z: np.exp(-np.sum((x - z) ** 2 / s**2)))


def laplacian(X: ArrayLike, Z: ArrayLike, sigma: ArrayLike) -> Array:
    """K_ij = exp(-sum_k |x_ik - z_jk| / sigma_k)."""
    s = np.asarray(sigma, dtype=np.float64)
    return gram(X, Z, lambda x, z: np.exp(-np.sum(np.abs(x - z) / s)))


def scaled_distance(x: Array, z: Array, sigma: ArrayLike) -> float:
    """r = sqrt(sum_k ((x_k - z_k) / sigma_k)^2)."""
    return float(np.sqrt(np.sum(((x - z) / np.asarray(sigma, dtype=np.float64)) ** 2)))


def matern(X: ArrayLike, Z: ArrayLike, sigma: ArrayLike, nu: float) -> Array:
    """s = sqrt(2 nu) r; exp(-s) times 1 (nu=1/2), 1 + s (nu=3/2), 1 + s + s^2/3 (nu=5/2)."""
    if nu not in (0.5, 1.5, 2.5):
        raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {nu}")

    def kappa(x: Array, z: Array) -> float:
        s = np.sqrt(2.0 * nu) * scaled_distance(x, z, sigma)
        factor = {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s**2 / 3.0}[nu]
        return float(factor * np.exp(-s))

    return gram(X, Z, kappa)


def rational_quadratic(X: ArrayLike, Z: ArrayLike, sigma: ArrayLike, alpha: float) -> Array:
    """K_ij = (1 + r_ij^2 / alpha)^(-alpha)."""
    return gram(X, Z, lambda x, z: (1.0 + scaled_distance(x, z, sigma) ** 2 / alpha) ** -alpha)


def dirichlet(x: ArrayLike, z: ArrayLike, sigma: float) -> Array:
    """K_ij = 1 + 2 cos(sigma |x_i - z_j|), x and z one column each: shape (n,) or (n, 1)."""
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    z = z[:, None] if z.ndim == 1 else z
    if x.shape[1] != 1 or z.shape[1] != 1:
        raise ValueError("the Dirichlet kernel is not positive semidefinite beyond one column")
    return gram(x, z, lambda u, v: 1.0 + 2.0 * np.cos(sigma * abs(u[0] - v[0])))


def fourier(X: ArrayLike, Z: ArrayLike, omega: ArrayLike) -> Array:
    """K_ij = 1 + 2 cos(omega' (x_i - z_j)), omega one frequency per column."""
    w = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    return gram(X, Z, lambda x, z: 1.0 + 2.0 * np.cos(np.dot(w, x - z)))


def additive(X: ArrayLike, Z: ArrayLike, weights: ArrayLike) -> Array:
    """sum_k w_k (1 + v) e^-v, v = sqrt(3) |x_k - z_k|."""

    def kernel(x: Array, z: Array) -> float:
        total = 0.0
        for a, b, w in zip(x, z, np.asarray(weights), strict=True):
            v = 3**0.5 * abs(a - b)
            total += w * (1 + v) * np.exp(-v)
        return total

    return gram(X, Z, kernel)


def linear(X: ArrayLike, Z: ArrayLike, weights: ArrayLike) -> Array:
    """K_ij = sum_k weights_k^2 x_ik z_jk."""
    w = np.asarray(weights, dtype=np.float64)
    return gram(X, Z, lambda x, z: np.sum(w**2 * x * z))


def polynomial(X: ArrayLike, Z: ArrayLike, offset: float, degree: int, scale: float = 1.0) -> Array:
    """K_ij = ((x_i'z_j / scale^2 + offset) / (1 + offset))^degree."""
    return gram(X, Z, lambda x, z: ((np.dot(x, z) / scale**2 + offset) / (1.0 + offset)) ** degree)


# --- target kernels ------------------------------------------------------------------------------


def target_binary(y: ArrayLike) -> Array:
    """T = y y' with y in {-1, +1}."""
    y = np.asarray(y, dtype=np.float64)
    if not np.all(np.abs(y) == 1.0):
        raise ValueError("binary labels must be -1 or +1")
    return np.outer(y, y)


def target_multiclass(y: ArrayLike) -> Array:
    """T = Y Y' with Y the one-hot coding of y, so T_ij = 1 if y_i = y_j and 0 otherwise."""
    y = np.asarray(y)
    one_hot = np.zeros((len(y), len(np.unique(y))))
    for k, label in enumerate(np.unique(y)):
        for i in range(len(y)):
            if y[i] == label:
                one_hot[i, k] = 1.0
    return one_hot @ one_hot.T


def target_regression(y: ArrayLike) -> Array:
    """T = y y' with real y; not centred here: centre(T) = (y - mean y)(y - mean y)'."""
    y = np.asarray(y, dtype=np.float64)
    return np.outer(y, y)


# --- continuous alignment ------------------------------------------------------------------------


def P_matrix(K: ArrayLike, T: ArrayLike) -> Array:  # noqa: N802 - the paper's letter
    """P = (T - <K, T> K / |K|^2) / (|K| |T|), the gradient of F at K, for centred K and T."""
    K, T = np.asarray(K, dtype=np.float64), np.asarray(T, dtype=np.float64)
    return (T - frobenius(K, T) * K / norm(K) ** 2) / (norm(K) * norm(T))


def eta_star(K: ArrayLike, K_new: ArrayLike, T: ArrayLike, eta_max: float = 1.0) -> float:
    """argmax of F(K + eta K') over {0, clip((ad - bc)/(bd - ae)), eta_max}; inputs are centred."""
    K, K_new, T = centre(K), centre(K_new), centre(T)
    a = frobenius(K, T)
    b = frobenius(K_new, T)
    c = frobenius(K, K)
    d = frobenius(K, K_new)
    e = frobenius(K_new, K_new)
    stationary = 0.0 if b * d == a * e else max(0.0, (a * d - b * c) / (b * d - a * e))
    # max keeps the first of equals, so a tie goes to the smaller step
    candidates = [0.0, min(stationary, eta_max), eta_max]
    return float(max(candidates, key=lambda eta: alignment(K + eta * K_new, T)))


def grid_argmax(
    objective: Callable[[float], float], grid: ArrayLike, values: Sequence[float] | None = None
) -> float:
    """argmax of objective: the best point of an increasing grid, refined between its neighbours."""
    grid = np.asarray(grid, dtype=np.float64)
    if values is None:
        values = [objective(float(sigma)) for sigma in grid]
    best = int(np.argmax(values))
    left, right = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    if left == right:
        return float(grid[best])
    found = minimize_scalar(
        lambda sigma: -objective(float(sigma)),
        bounds=(left, right),
        method="bounded",
        options={"xatol": 1e-10, "maxiter": 500},
    )
    return float(found.x) if -found.fun > values[best] else float(grid[best])


def continuous_alignment(
    gram_of_sigma: Callable[[float], Array],
    grid: ArrayLike,
    y: ArrayLike,
    eps: float = 1e-10,
    T: int = 50,
    theta: float = 1e-3,
    eta_max: float = 1.0,
) -> tuple[list[tuple[float, float]], list[float]]:
    """K^t = K^{t-1} + eta_t C_n G(sigma_t) C_n from K^0 = eps C_n; [(sigma_t, eta_t)], [F(K^t)].

    y is in {-1, +1}. The step on which the loop stops is kept, as in the paper, even with eta = 0;
    the weights are the raw ones (not normalised) and leave out the eps C_n of the start.
    """
    target = centre(target_binary(y))
    grid = np.asarray(grid, dtype=np.float64)
    grid_grams = [gram_of_sigma(float(sigma)) for sigma in grid]

    K = eps * centring_matrix(len(target))
    atoms: list[tuple[float, float]] = []
    alignments = [alignment(K, target)]
    for _ in range(T):
        P = P_matrix(K, target)

        def objective(sigma: float, P: Array = P) -> float:
            return frobenius(P, gram_of_sigma(sigma))

        sigma = grid_argmax(objective, grid, [frobenius(P, G) for G in grid_grams])
        K_new = centre(gram_of_sigma(sigma))
        eta = eta_star(K, K_new, target, eta_max)
        K = K + eta * K_new
        atoms.append((sigma, eta))
        alignments.append(alignment(K, target))
        if alignments[-1] <= alignments[-2] + theta:
            break
    return atoms, alignments


# --- a finite set of kernels ---------------------------------------------------------------------


def optimal_weights_alignf(grams: Sequence[ArrayLike], T: ArrayLike) -> Array:
    """mu = v/|v|, v = argmin_{v >= 0} |sum_m v_m vec(K_m)_c - vec(T_c)|^2; 0 for vanishing K_m."""
    columns = np.stack([centre(K).ravel() for K in grams], axis=1)
    target = centre(T).ravel()
    # unit columns: nnls has an absolute tolerance, so the answer must not depend on their scale
    scales = np.array([norm(column) for column in columns.T])
    uncentred = np.array([norm(K) for K in grams])
    alive = scales > VANISHING * uncentred
    v = np.zeros(len(grams))
    if alive.any() and norm(target) > 0.0:
        u, _ = nnls(columns[:, alive] / scales[alive], target / norm(target))
        v[alive] = u / scales[alive]
    return v / norm(v) if norm(v) > 0.0 else v


# --- data ----------------------------------------------------------------------------------------


def repeat_rows(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Row i of (X, y) written weights_i times: what integer sample weights must be equal to."""
    X, y, weights = np.asarray(X), np.asarray(y), np.asarray(weights)
    if np.any(weights < 0) or np.any(weights != np.floor(weights)):
        raise ValueError("weights must be non-negative integers")
    rows = []
    for i in range(len(X)):
        for _ in range(int(weights[i])):
            rows.append(i)
    return X[np.array(rows, dtype=int)], y[np.array(rows, dtype=int)]


def section12() -> tuple[Array, Array]:
    """x_i = 4 frac((0.7548776662, 0.5698402910) i) - 2, i = 1..40; y of methods.md section 12."""
    i = np.arange(1, 41)
    x1 = 4.0 * np.mod(0.7548776662 * i, 1.0) - 2.0
    x2 = 4.0 * np.mod(0.5698402910 * i, 1.0) - 2.0
    y = np.sign(np.sin(2.5 * x1) + 0.8 * x2 * np.cos(1.5 * x2) + 0.6 * np.sin(6.0 * x1 * x2))
    return np.column_stack([x1, x2]), y


def sine_problem(n: int, seed: int) -> tuple[Array, Array]:
    """x uniform on [-10, 10], shape (n, 1); y = sign(sin sqrt2 x + sin sqrt12 x + sin sqrt60 x)."""
    x = np.random.default_rng(seed).uniform(-10.0, 10.0, size=n)
    y = np.sign(np.sin(np.sqrt(2) * x) + np.sin(np.sqrt(12) * x) + np.sin(np.sqrt(60) * x))
    return x[:, None], y
