"""Loops over pairs of rows, compiled by numba.

Only `kernalign._compiled` imports this module: numba is an optional package, and its import takes
time. The first import on a machine compiles the functions, which takes some seconds. numba stores
them beside this file, or in the user's cache if that is not possible.

Each public function has a counterpart in numpy with the same result up to rounding. Threads do not
wait for each other here, because no function needs Python's global lock. Loops are short and run
over contiguous numbers, so that the compiler can use vector instructions. It could not do so if an
array were both read and written under two names.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numba import config, njit

from kernalign._typing import Array

if getattr(config, "DISABLE_JIT", False):
    raise ImportError("Loops that are not compiled are slower than numpy.")

#: Rows that are computed together. Numbers that belong to columns are then loaded once for all.
ROWS = 4

PRECISIONS = "float32", "float64"

_options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
#: A product and a sum may be rounded together.
_in_order = njit(fastmath={"contract"}, **_options)
#: Sums may also be taken in any order, as vector instructions do.
_in_any_order = njit(fastmath={"contract", "nsz", "reassoc"}, **_options)

# -- exp(-u) ----------------------------------------------------------------------------------
# exp(x) = 2^k exp(r) with an integer k and |r| <= log(2) / 2. Adding and subtracting ROUNDER rounds
# x / log(2) to k, which is then in the low bits of the sum. Sums in any order would remove this.
# log(2) is a sum of two numbers. The first one ends with zero bits, so that its product with k is
# exact. The error of the Taylor series is below a rounding error.

ROUNDER = 1.5 * 2.0**52
PER_OCTAVE = 1 / np.log(2)
LOG_2, LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SERIES = tuple(1 / factorial(power) for power in range(13, -1, -1))

SINGLE_ROUNDER = np.float32(1.5 * 2.0**23)
SINGLE_PER_OCTAVE = np.float32(1 / np.log(2))
SINGLE_LOG_2, SINGLE_LOG_2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
SINGLE_SERIES = tuple(np.float32(1 / factorial(power)) for power in range(7, -1, -1))


@_in_order
def _decay(u: Array, largest: float) -> None:
    """u = exp(-u) - exp(-largest) of u >= 0, zero from `largest` on, in double precision."""
    least = np.exp(-largest)
    for j in range(u.size):
        # This keeps NaN.
        x = -(largest if u[j] > largest else u[j])
        shifted = x * PER_OCTAVE + ROUNDER
        octaves = shifted - ROUNDER
        rest = (x - octaves * LOG_2) - octaves * LOG_2_REST
        value = SERIES[0]
        for coefficient in SERIES[1:]:
            value = value * rest + coefficient
        bits = (np.float64(shifted).view(np.int64) + 1023) << 52
        u[j] = value * np.int64(bits).view(np.float64) - least


@_in_order
def _single_decay(u: Array, largest: float) -> None:
    """The same in single precision."""
    most = np.float32(largest)
    least = np.exp(-most)
    for j in range(u.size):
        x = -(most if u[j] > most else u[j])
        shifted = x * SINGLE_PER_OCTAVE + SINGLE_ROUNDER
        octaves = shifted - SINGLE_ROUNDER
        rest = (x - octaves * SINGLE_LOG_2) - octaves * SINGLE_LOG_2_REST
        value = SINGLE_SERIES[0]
        for coefficient in SINGLE_SERIES[1:]:
            value = value * rest + coefficient
        bits = np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23))
        u[j] = value * np.int32(bits).view(np.float32) - least


@njit("void(float64[::1], float64)", **_options)
def decay(u: Array, largest: float) -> None:
    """u = exp(-u) of u >= 0, zero from `largest` on."""
    _decay(u, largest)


@njit("void(float32[::1], float64)", **_options)
def single_decay(u: Array, largest: float) -> None:
    """u = exp(-u) of u >= 0, zero from `largest` on."""
    _single_decay(u, largest)


#: By precision.
DECAY = {np.dtype(np.float64): decay, np.dtype(np.float32): single_decay}

# -- the pass over pairs of a semigroup -------------------------------------------------------


@_in_order
def _clear(out: Array) -> None:
    """out = 0."""
    for j in range(out.size):
        out[j] = 0.0


@_in_order
def _multiply(u: Array, factor: float, out: Array) -> None:
    """out = factor u."""
    for j in range(out.size):
        out[j] = factor * u[j]


@_in_any_order
def _square_and_add(k: Array, w: Array, out: Array) -> None:
    """k *= k, then out += w'k, for ROWS rows."""
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    for j in range(out.size):
        k0, k1, k2, k3 = k[0, j], k[1, j], k[2, j], k[3, j]
        k0, k1, k2, k3 = k0 * k0, k1 * k1, k2 * k2, k3 * k3
        k[0, j], k[1, j], k[2, j], k[3, j] = k0, k1, k2, k3
        out[j] += w0 * k0 + w1 * k1 + w2 * k2 + w3 * k3


@_in_any_order
def _two_products(k: Array, f: Array, g: Array, out: Array, first: int) -> None:
    """k (f, g) of ROWS rows, in the columns `first` and `first + 1` of `out`."""
    f0 = f1 = f2 = f3 = g0 = g1 = g2 = g3 = 0.0
    for j in range(f.size):
        k0, k1, k2, k3 = k[0, j], k[1, j], k[2, j], k[3, j]
        f0 += k0 * f[j]
        f1 += k1 * f[j]
        f2 += k2 * f[j]
        f3 += k3 * f[j]
        g0 += k0 * g[j]
        g1 += k1 * g[j]
        g2 += k2 * g[j]
        g3 += k3 * g[j]
    second = first + 1
    out[0, first], out[1, first], out[2, first], out[3, first] = f0, f1, f2, f3
    out[0, second], out[1, second], out[2, second], out[3, second] = g0, g1, g2, g3


@njit(
    "void(float64[:,::1], float64[::1], int64, int64, float64,"
    " float64[::1], float64[:,::1], float64[:,:,::1], float64[:,::1])",
    **_options,
)
def semigroup_tile(
    D: Array,
    gamma: Array,
    per_octave: int,
    octaves_per_exp: int,
    largest: float,
    w: Array,
    factor: Array,
    products: Array,
    mirrored: Array,
) -> None:
    """K_g factor' of the rows of a tile and K_g' w of its columns, K_g = exp(-g D), for all g.

    gamma : (m,) a geometric grid, in which each value is twice the one `per_octave` places before.
    w : (p,) weights of the rows; factor : (c, q), at least two rows.
    products : (m, p, c) and mirrored : (m, q) are overwritten.

    The kernel values of a few rows stay in the first-level cache for all g.
    """
    p, q = D.shape
    c = len(factor)
    k, sums, weights = np.zeros((ROWS, q)), np.empty((ROWS, c)), np.empty(ROWS)
    # Loops instead of slices, which take seconds to compile.
    for node in range(gamma.size):
        _clear(mirrored[node])
    for i in range(0, p, ROWS):
        rows = min(ROWS, p - i)
        for a in range(ROWS):
            weights[a] = w[i + a] if a < rows else 0.0
        for chain in range(per_octave):
            for octave, node in enumerate(range(chain, gamma.size, per_octave)):
                if octave % octaves_per_exp == 0:
                    # One octave before this node, because the values are squared next.
                    for a in range(rows):
                        _multiply(D[i + a], gamma[node] / 2, k[a])
                        _decay(k[a], largest / 2)
                    for a in range(rows, ROWS):
                        _clear(k[a])
                _square_and_add(k, weights, mirrored[node])
                for column in range(0, c, 2):
                    first = min(column, c - 2)
                    _two_products(k, factor[first], factor[first + 1], sums, first)
                for a in range(rows):
                    for column in range(c):
                        products[node, i + a, column] = sums[a, column]


# -- kernel values ----------------------------------------------------------------------------


@_in_order
def _add_distance(a: float, b: Array, out: Array) -> None:
    """out += |a - b|."""
    for j in range(out.size):
        out[j] += abs(a - b[j])


@_in_order
def _add_four_distances(a: Array, b: Array, first: int, out: Array) -> None:
    """out += sum_k |a_k - b_k| of four features: `out` is loaded and stored once."""
    a0, a1, a2, a3 = a[first], a[first + 1], a[first + 2], a[first + 3]
    b0, b1, b2, b3 = b[first], b[first + 1], b[first + 2], b[first + 3]
    for j in range(out.size):
        out[j] += abs(a0 - b0[j]) + abs(a1 - b1[j]) + abs(a2 - b2[j]) + abs(a3 - b3[j])


@njit([f"void({t}[:,::1], {t}[:,::1], {t}[:,::1])" for t in PRECISIONS], **_options)
def cityblock(A: Array, B: Array, out: Array) -> None:
    """out[i, j] = sum_k |a_ik - b_kj|. The second factor has its features in rows."""
    n, d = A.shape
    for i in range(n):
        _clear(out[i])
        for k in range(0, d - d % 4, 4):
            _add_four_distances(A[i], B, k, out[i])
        for k in range(d - d % 4, d):
            _add_distance(A[i, k], B[k], out[i])


@njit([f"void({t}[::1], float64, float64, {t}[::1])" for t in PRECISIONS], **_options)
def root(u: Array, factor: float, largest: float, out: Array) -> None:
    """out = sqrt(factor u), where factor u is limited to `largest`."""
    times, most = out.dtype.type(factor), out.dtype.type(largest)
    for j in range(out.size):
        v = times * u[j]
        out[j] = np.sqrt(most if v > most else v)


@njit([f"void({t}[::1], float64, float64, {t}[::1])" for t in PRECISIONS], **_options)
def multiply_by_polynomial(u: Array, b: float, c: float, out: Array) -> None:
    """out *= 1 + b u + c u^2."""
    one, first, second = out.dtype.type(1), out.dtype.type(b), out.dtype.type(c)
    for j in range(out.size):
        out[j] *= one + u[j] * (first + second * u[j])
