"""Cholesky factors and what is solved with them, while other Python threads go on.

SciPy's own wrappers of LAPACK hold Python's global lock during the call, so that threads wait for
each other. The same routines are called here through ctypes, which releases it. Matrices are of
double precision and in Fortran's order; of symmetric ones the part below the diagonal counts.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from kernalign._typing import Array

LOWER = ctypes.c_char(b"L")
PLAIN = ctypes.c_char(b"N")
TRANSPOSED = ctypes.c_char(b"T")
#: First addition to the diagonal of a matrix that is not positive definite, relative to its mean.
JITTER = 1e-8


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
    n, info = _int(len(A)), _int(0)
    _routine("dpotrf", 5)(LOWER, n, _data(A), n, info)
    return int(info.value)


def product(L: Array) -> Array:
    """L'L in the place of L, below the diagonal."""
    n, info = _int(len(L)), _int(0)
    _routine("dlauum", 5)(LOWER, n, _data(L), n, info)
    return L


def invert(L: Array) -> Array:
    """The inverse of LL' in the place of L."""
    n, info = _int(len(L)), _int(0)
    _routine("dpotri", 5)(LOWER, n, _data(L), n, info)
    return L


def inverse_diagonal(L: Array) -> Array:
    """The diagonal of (LL')^-1, which costs half of the inverse. L is overwritten."""
    n, info = _int(len(L)), _int(0)
    _routine("dtrtri", 6)(LOWER, PLAIN, n, _data(L), n, info)
    half = np.tril(L)
    found: Array = np.einsum("ij,ij->j", half, half)
    return found


def solve(L: Array, B: Array) -> Array:
    """(LL')^-1 B."""
    X = np.array(B, dtype=float, order="F")
    n, columns, info = _int(len(L)), _int(X.size // max(len(X), 1)), _int(0)
    _routine("dpotrs", 8)(LOWER, n, columns, _data(L), n, _data(X), n, info)
    return X


def solve_half(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """L^-1 B, or L'^-1 B."""
    X = np.array(B, dtype=float, order="F")
    n, columns, info = _int(len(L)), _int(X.size // max(len(X), 1)), _int(0)
    which = TRANSPOSED if transposed else PLAIN
    _routine("dtrtrs", 10)(LOWER, which, PLAIN, n, columns, _data(L), n, _data(X), n, info)
    return X


def add_outer(C: Array, alpha: float, a: Array) -> Array:
    """C + alpha aa' in the place of C, below the diagonal."""
    A = np.asarray(a, dtype=float, order="F")
    n, k, factor, one = _int(len(A)), _int(A.shape[1]), ctypes.c_double(alpha), ctypes.c_double(1)
    _routine("dsyrk", 10)(LOWER, PLAIN, n, k, factor, _data(A), n, one, _data(C), n)
    return C


def _int(number: int) -> ctypes.c_int:
    return ctypes.c_int(number)


def _data(A: Array) -> Any:
    if not (A.flags.f_contiguous and A.dtype == np.float64):
        raise AssertionError("LAPACK is given matrices of doubles in Fortran's order")
    return A.ctypes.data_as(ctypes.c_void_p)


@cache
def _routine(name: str, arguments: int) -> Any:
    """A routine of LAPACK or BLAS by the address that SciPy publishes for compiled code."""
    module = cython_lapack if name in cython_lapack.__pyx_capi__ else cython_blas
    capsule = module.__pyx_capi__[name]
    describe = ctypes.pythonapi.PyCapsule_GetName
    describe.restype, describe.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(
        address(capsule, describe(capsule))
    )

    def call(*given: Any) -> None:
        function(*(v if isinstance(v, ctypes.c_void_p) else ctypes.byref(v) for v in given))

    return call
