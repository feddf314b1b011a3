"""Kernels: units, families, their members, and the sum that was learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernalign.kernels import (
    Additive,
    AnyOf,
    CustomFamily,
    Dirichlet,
    Family,
    FamilyMember,
    Fourier,
    Gaussian,
    GaussianMetric,
    GramMatrix,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from kernalign.kernels._radial import Radial
from kernalign.kernels.matern import SMOOTHNESS
from kernalign.kernels.power_of_sum import PowerOfSum, PowerOfSumKernel
from kernalign.kernels.units import Units
from kernalign.persistence.kinds import (
    FLAG,
    INTEGER,
    NUMBER,
    POSITIVE,
    TEXT,
    Array,
    Either,
    FieldError,
    ListOf,
    Maybe,
    Number,
    Object,
    optional,
)
from kernalign.persistence.schema import schema, schema_of
from kernalign.persistence.values import Function, Mask, Slice

#: Columns by position or name, as given by the user; positions only once a family is fitted.
COLUMNS = optional(
    Either(ListOf(Either(INTEGER, TEXT)), Slice(), Mask(), Array("c", letter="i", low=0))
)
BOUNDS = optional(ListOf(NUMBER, as_tuple=True, least=2, most=2))
#: Degrees of polynomials and powers.
DEGREE = Number(1, 1000, whole=True)
SPREAD = Maybe(Array("own", low=np.nextafter(0, 1)))
UNITS = Maybe(Object(Units))
MEMBERS = ListOf(Object(FamilyMember))
#: Kernels in kernels in kernels, at most.
DEEPEST = 8
#: Terms of a kernel, those of its parts included.
MOST_TERMS = 10_000


def _check_units(units: Units) -> None:
    if units.codes is not None and ((units.codes == 1) | (units.codes == 2)).any():
        raise FieldError("Units.codes must be 0, or 3 or more")
    if units.pairs is not None and len(units.pairs) != len(units.centre):
        raise FieldError("Units.pairs must be of as many columns")


POSITIVE_NUMBERS = Array("d", low=np.nextafter(0, 1))
schema(
    Units,
    {
        "squashed": FLAG,
        "centre": Array("d"),
        "spread": POSITIVE_NUMBERS,
        "mean": Array("d"),
        "deviation": POSITIVE_NUMBERS,
        "low": Array("d"),
        "high": Array("d"),
        "codes": optional(Array("d", letter="i", low=0, high=2**31)),
        "pairs": optional(Mask()),
    },
    check=_check_units,
)

RADIAL = {"ard": FLAG, "columns": COLUMNS, "bounds": BOUNDS, "_scale": SPREAD, "_units": UNITS}
PLAIN = {"columns": COLUMNS, "_scale": SPREAD, "_units": UNITS}

schema(Gaussian, RADIAL)
schema(Laplacian, RADIAL)
schema(RationalQuadratic, RADIAL)


def _check_smoothness(family: Matern) -> None:
    if family.nu not in SMOOTHNESS:
        raise FieldError(f"Matern.nu must be one of {SMOOTHNESS}")


schema(Matern, {**RADIAL, "nu": Number(0, 3)}, check=_check_smoothness)
schema(Linear, PLAIN)
schema(Additive, PLAIN)
schema(Fourier, {**PLAIN, "bounds": BOUNDS, "_origin": Maybe(Array("own"))})
schema(Dirichlet, {**PLAIN, "bounds": BOUNDS, "_origin": Maybe(Array("own"))})
schema(GaussianMetric, {**PLAIN, "rank": Number(1, 10_000, whole=True)})
schema(
    Polynomial,
    {
        "degree": DEGREE,
        "columns": COLUMNS,
        "bounds": BOUNDS,
        "_scale": Maybe(POSITIVE),
        "_units": UNITS,
    },
)
schema(
    CustomFamily,
    {
        "function": Function(),
        "bounds": Either(
            ListOf(NUMBER, as_tuple=True, least=2, most=2),
            ListOf(ListOf(NUMBER, as_tuple=True, least=2, most=2)),
        ),
        "log": FLAG,
        "gradient_function": optional(Function()),
        "columns": COLUMNS,
        "_units": UNITS,
    },
)
schema(AnyOf, {"families": ListOf(Object(Family), as_tuple=True, least=1)})
schema(PowerOfSum, {"kernels": MEMBERS, "degree": DEGREE, "_units": UNITS})
schema(GramMatrix, {"matrix": Array("n n"), "clip": FLAG, "name": TEXT, "_units": UNITS})

PARAMETERS = Array("p", finite=False)
schema(FamilyMember, {"family": Object(Family), "sigma": PARAMETERS})
schema(PowerOfSumKernel, {"family": Object(PowerOfSum), "sigma": PARAMETERS})


def _check_sum(kernel: LearnedKernel) -> None:
    if len(kernel.kernels) != len(kernel.weights):
        raise FieldError("LearnedKernel.weights must be as many as its kernels")


schema(LearnedKernel, {"kernels": MEMBERS, "weights": Array("t", low=0.0)}, check=_check_sum)


def terms(kernel: LearnedKernel) -> int:
    """The number of kernels of a sum, those of its parts included."""
    left = [MOST_TERMS]
    for member in kernel.kernels:
        _count(member, 0, left)
    return MOST_TERMS - left[0]


def _count(member: FamilyMember, depth: int, left: list[int]) -> None:
    left[0] -= 1
    if depth > DEEPEST or left[0] < 0:
        raise FieldError(f"a kernel must be a sum of at most {MOST_TERMS} kernels")
    if isinstance(member.family, PowerOfSum):
        for part in member.family.kernels:
            _count(part, depth + 1, left)


def check_kernel(kernel: LearnedKernel, d: int) -> None:
    """Refuse a kernel that is not one of rows with d columns."""
    for member in kernel.kernels:
        _check_member(member, d)


def _check_member(member: FamilyMember, d: int) -> None:
    family, sigma = member.family, member.sigma
    name = type(family).__name__
    own = _own_columns(family, d, name)
    units = family.units
    if units is not None and len(units.centre) != d:
        raise FieldError(f"the units of {name} must be those of {d} columns")
    for constant in ("_scale", "_origin"):
        value = getattr(family, constant, None)
        if isinstance(value, np.ndarray) and value.ndim and len(value) != own:
            raise FieldError(f"{name}.{constant} must be of {own} columns")
    wanted = _parameters(family, own)
    if wanted is not None and len(sigma) != wanted:
        raise FieldError(f"a kernel of {name} must have {wanted} parameters. Got {len(sigma)}")
    _check_range(family, sigma, name)
    if isinstance(family, GramMatrix) and d != 1:
        raise FieldError("a Gram matrix must be one of a single column of row numbers")
    if isinstance(family, PowerOfSum):
        for part in family.kernels:
            _check_member(part, d)


def _check_range(family: Family, sigma: Any, name: str) -> None:
    """Bandwidths are positive and may be infinite; other parameters are finite."""
    if isinstance(family, Radial | Polynomial) and not (sigma > 0).all():
        raise FieldError(f"the parameters of {name} must be positive")
    if isinstance(family, Linear | Additive | PowerOfSum) and not (sigma >= 0).all():
        raise FieldError(f"the parameters of {name} must not be negative")
    bandwidths = len(sigma) - len(family.untied_names) if isinstance(family, Radial) else 0
    if schema_of(type(family)) and not np.isfinite(sigma[bandwidths:]).all():
        raise FieldError(f"the parameters of {name} must be finite")


def _own_columns(family: Family, d: int, name: str) -> int:
    """The number of columns that a fitted family sees."""
    columns: Any = family.columns
    if columns is None:
        return d
    if isinstance(columns, slice):
        own = len(range(d)[columns])
    elif isinstance(columns, np.ndarray) and columns.dtype.kind == "b":
        own = int(columns.sum()) if len(columns) == d else 0
    else:
        positions = list(columns)
        known = all(isinstance(c, int | np.integer) and -d <= c < d for c in positions)
        own = len(positions) if known else 0
    if not own:
        raise FieldError(f"{name}.columns must be positions below {d}")
    return own


def _parameters(family: Family, own: int) -> int | None:
    """The number of parameters of a member; None for families of the user's."""
    if schema_of(type(family)) is None:
        return None
    if isinstance(family, Radial):
        return (own if family.ard else 1) + len(family.untied_names)
    if isinstance(family, GaussianMetric):
        return own * family.rank
    if isinstance(family, PowerOfSum):
        return len(family.kernels)
    if isinstance(family, Polynomial):
        return 1
    if isinstance(family, GramMatrix):
        return 0
    return own if isinstance(family, Linear | Additive | Fourier) else None
