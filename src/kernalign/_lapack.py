"""Cholesky factors and what is solved with them, while other Python threads go on.

SciPy's own wrappers of LAPACK hold Python's global lock during the call, so that threads wait for
each other. The same routines are called here through ctypes, which releases it. Matrices are of
double precision and in Fortran's order; of symmetric ones the part below the diagonal counts.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from kernalign._typing import Array

LOWER = LEFT = ctypes.byref(ctypes.c_char(b"L"))
RIGHT = ctypes.byref(ctypes.c_char(b"R"))
PLAIN = ctypes.byref(ctypes.c_char(b"N"))
TRANSPOSED = ctypes.byref(ctypes.c_char(b"T"))
ONE, MINUS_ONE = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(-1))
#: First addition to the diagonal of a matrix that is not positive definite, relative to its mean.
JITTER = 1e-8
#: Rows of the triangles that LAPACK's own routine inverts, and columns that are squared at a time.
LEAF, COLUMNS = 64, 128
#: Bytes of a number.
DOUBLE = 8


def symmetric(A: Array) -> Array:
    """A symmetric matrix in Fortran's order, in the same memory."""
    return A if A.flags.f_contiguous else A.T


def cholesky(A: Array) -> Array:
    """The factor of a full symmetric matrix A in its place, with the smallest sufficient addition
    to the diagonal. What is above the diagonal is not part of it."""
    A = symmetric(A)
    n = len(A)
    diagonal = A.ravel(order="K")[:: n + 1]
    kept, added = diagonal.copy(), JITTER * float(np.abs(diagonal).mean())
    while factorise(A):
        # The routine leaves what is above the diagonal as it was.
        for j in range(n - 1):
            A[j + 1 :, j] = A[j, j + 1 :]
        kept += added
        diagonal[:] = kept
        added *= 10
    return A


def factorise(A: Array) -> int:
    """The Cholesky factor of A in its place; returns 0, or the order of the minor at which it
    failed."""
    n, info = _int(len(A)), ctypes.c_int(0)
    _routine("dpotrf", 5)(LOWER, n, _data(A), n, ctypes.byref(info))
    return info.value


def product(L: Array) -> Array:
    """L'L in the place of L, below the diagonal."""
    n = _int(len(L))
    _routine("dlauum", 5)(LOWER, n, _data(L), n, _unread())
    return L


def invert(L: Array) -> Array:
    """The inverse of LL' in the place of L."""
    return product(invert_triangle(L))


def invert_triangle(L: Array) -> Array:
    """L^-1 in the place of L, below the diagonal."""
    _invert_block(_data(L), len(L), len(L))
    return L


def _invert_block(L: int, n: int, stride: int) -> None:
    """Invert a triangle of n columns at an address.

    By halves, because most of the work is then products of matrices: LAPACK's own routine takes
    three times as long for a few hundred rows, and nearly twice as long for thousands.
    """
    apart = _int(stride)
    if n <= LEAF:
        _routine("dtrtri", 6)(LOWER, PLAIN, _int(n), L, apart, _unread())
        return
    # A multiple of eight numbers, so that the parts begin alike in memory.
    first = -(-n // 16) * 8
    below = L + DOUBLE * first
    second = below + DOUBLE * first * stride
    _invert_block(L, first, stride)
    _invert_block(second, n - first, stride)
    size = LOWER, PLAIN, PLAIN, _int(n - first), _int(first)
    multiply = _routine("dtrmm", 11)
    multiply(LEFT, *size, MINUS_ONE, second, apart, below, apart)
    multiply(RIGHT, *size, ONE, L, apart, below, apart)


def inverse_diagonal(L: Array) -> Array:
    """The diagonal of (LL')^-1, which costs half of the inverse. L is overwritten."""
    invert_triangle(L)
    found = np.empty(len(L))
    for start in range(0, len(L), COLUMNS):
        some = slice(start, start + COLUMNS)
        # What is above the diagonal is not part of the factor.
        top, rest = np.tril(L[some, some]), L[start + COLUMNS :, some]
        found[some] = np.einsum("ij,ij->j", top, top) + np.einsum("ij,ij->j", rest, rest)
    return found


def solve(L: Array, B: Array) -> Array:
    """(LL')^-1 B."""
    X = np.array(B, dtype=float, order="F")
    n, columns = _int(len(L)), _int(X.size // max(len(X), 1))
    _routine("dpotrs", 8)(LOWER, n, columns, _data(L), n, _data(X), n, _unread())
    return X


def solve_half(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """L^-1 B, or L'^-1 B."""
    X = np.array(B, dtype=float, order="F")
    n, columns = _int(len(L)), _int(X.size // max(len(X), 1))
    which = TRANSPOSED if transposed else PLAIN
    _routine("dtrtrs", 10)(LOWER, which, PLAIN, n, columns, _data(L), n, _data(X), n, _unread())
    return X


def add_outer(C: Array, alpha: float, a: Array) -> Array:
    """C + alpha aa' in the place of C, below the diagonal."""
    A = np.asarray(a, dtype=float, order="F")
    n, k, factor = _int(len(A)), _int(A.shape[1]), ctypes.byref(ctypes.c_double(alpha))
    _routine("dsyrk", 10)(LOWER, PLAIN, n, k, factor, _data(A), n, ONE, _data(C), n)
    return C


def unpack(packed: Array, A: Array) -> None:
    """Write packed entries, column by column, below the diagonal of A."""
    # Without its first row and last column, this part of A is a triangle with its diagonal.
    n, stride = _int(len(A) - 1), _int(len(A))
    _routine("dtpttr", 6)(LOWER, n, _data(packed), _data(A) + DOUBLE, stride, _unread())


def pack(A: Array) -> Array:
    """The entries below the diagonal of A, column by column."""
    packed = np.empty(len(A) * (len(A) - 1) // 2)
    n, stride = _int(len(A) - 1), _int(len(A))
    _routine("dtrttp", 6)(LOWER, n, _data(A) + DOUBLE, stride, _data(packed), _unread())
    return packed


@lru_cache(maxsize=1024)
def _int(number: int) -> Any:
    # Routines only read their sizes, so that threads may share them.
    return ctypes.byref(ctypes.c_int(number))


def _unread() -> Any:
    """Where a routine that cannot fail here says whether it did."""
    return ctypes.byref(ctypes.c_int(0))


def _data(A: Array) -> int:
    """The address of a matrix."""
    if not (A.flags.f_contiguous and A.dtype == np.float64):
        raise AssertionError("LAPACK is given matrices of doubles in Fortran's order")
    address: int = A.__array_interface__["data"][0]
    return address


@cache
def _routine(name: str, arguments: int) -> Any:
    """A routine of LAPACK or BLAS by the address that SciPy publishes for compiled code."""
    module = cython_lapack if name in cython_lapack.__pyx_capi__ else cython_blas
    capsule = module.__pyx_capi__[name]
    describe = ctypes.pythonapi.PyCapsule_GetName
    describe.restype, describe.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return kind(address(capsule, describe(capsule)))
