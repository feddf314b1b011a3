"""Learners: parameters, and what a fit found."""

from __future__ import annotations

from kernalign.kernels import Family, FamilyMember, LearnedKernel
from kernalign.kernels.units import Units
from kernalign.learners import (
    ContinuousAlignment,
    ContinuousEvidence,
    ContinuousRisk,
    DiscreteAlignment,
    KernelSearch,
    Learner,
    LpNormMKL,
    PolynomialMKL,
    Reweighted,
    RidgeMKL,
    Sampled,
    ScreenedAlignment,
    UniformWeights,
)
from kernalign.machines.model import DualModel
from kernalign.persistence.kinds import (
    ANY_NUMBER,
    AT_LEAST_ZERO,
    COUNT,
    FLAG,
    NUMBER,
    POSITIVE,
    SHARE,
    SIZE,
    TEXT,
    Array,
    Either,
    Kind,
    ListOf,
    Maybe,
    Number,
    Object,
    Text,
    optional,
)
from kernalign.persistence.schema import schema
from kernalign.persistence.schemas.kernels import MEMBERS
from kernalign.persistence.values import NAMES, Plain, Seed
from kernalign.solvers.descent import Point
from kernalign.tables.columns import Columns

#: One record per step: a person reads them, nothing predicts with them.
RECORDS = Plain(FamilyMember, LearnedKernel, Family, Learner)
FAMILY = optional(Object(Family))
KERNELS = optional(MEMBERS)
LEARNER = optional(Object(Learner))
NORMALIZE = TEXT
NUMBERS = Array("*", finite=False, nan=True)

#: Of every learner.
FITTED: dict[str, Kind] = {
    "n_features_in_": Maybe(SIZE),
    "feature_names_in_": Maybe(NAMES),
    "columns_": Maybe(Object(Columns)),
    "kernel_": Object(LearnedKernel),
    "alignment_": ANY_NUMBER,
    "history_": RECORDS,
    "objective_": ANY_NUMBER,
    "weights_": NUMBERS,
    "converged_": FLAG,
    "n_iter_": SIZE,
    "gap_": Maybe(ANY_NUMBER),
    "machine_": Maybe(Object(DualModel)),
}
DUAL: dict[str, Kind] = {
    "dual_coef_": Maybe(Array("*", "* *")),
    "intercept_": Maybe(Either(NUMBER, Array("", "*"))),
}

schema(
    ContinuousAlignment,
    {
        "family": FAMILY,
        "tol": NUMBER,
        "max_iter": COUNT,
        "eps": NUMBER,
        "eta_max": Number(0, above=True, finite=False),
        "start": TEXT,
        "selection": TEXT,
        "corrective": FLAG,
        "penalty": Either(Number(0, finite=False), TEXT, RECORDS),
        "early_stopping": FLAG,
        "validation_fraction": SHARE,
        "n_starts": SIZE,
        "random_state": Seed(),
        **FITTED,
        "penalty_": Maybe(ANY_NUMBER),
        "penalty_path_": Maybe(RECORDS),
        "stopping_path_": Maybe(RECORDS),
    },
)
schema(
    Point,
    {"z": ListOf(Array("*")), "s": Array("*"), "log_noise": NUMBER},
)
schema(
    ContinuousEvidence,
    {
        "family": FAMILY,
        "max_kernels": optional(COUNT),
        "criterion": TEXT,
        "prior": AT_LEAST_ZERO,
        "max_rows": COUNT,
        "max_iter": COUNT,
        "random_state": Seed(),
        **FITTED,
        "noise_": Maybe(POSITIVE),
        "point_": Maybe(Object(Point)),
        "growth_": Maybe(RECORDS),
    },
)
schema(
    ContinuousRisk,
    {
        "family": FAMILY,
        "C": POSITIVE,
        "solver": TEXT,
        "start": TEXT,
        "corrective": FLAG,
        "tol": NUMBER,
        "tol_fun": NUMBER,
        "max_iter": COUNT,
        "n_starts": SIZE,
        "random_state": Seed(),
        **FITTED,
        **DUAL,
        "rho_": Maybe(NUMBER),
    },
)
schema(
    DiscreteAlignment,
    {
        "kernels": KERNELS,
        "joint": FLAG,
        "normalize": NORMALIZE,
        **FITTED,
        "scales_": Maybe(NUMBERS),
    },
)
schema(
    KernelSearch,
    {
        "families": optional(ListOf(Object(Family))),
        "prior": AT_LEAST_ZERO,
        "max_kernels": COUNT,
        "effort": Text("full", "quick"),
        "random_state": Seed(),
        **FITTED,
        "noise_": POSITIVE,
        "units_": Object(Units),
        "rows_": Array("*", letter="i", low=0),
    },
)
schema(
    LpNormMKL,
    {
        "kernels": KERNELS,
        "p": Number(1, finite=False),
        "C": POSITIVE,
        "solver": TEXT,
        "normalize": NORMALIZE,
        "tol": NUMBER,
        "weight_tol": NUMBER,
        "max_iter": COUNT,
        "float32": FLAG,
        **FITTED,
        **DUAL,
        "scales_": Maybe(NUMBERS),
        "weight_gap_": Maybe(ANY_NUMBER),
    },
)
BALL: dict[str, Kind] = {
    "kernels": KERNELS,
    "p": Number(1),
    "C": POSITIVE,
    "mu0": Either(NUMBER, Array("*"), RECORDS),
    "radius": POSITIVE,
    "tol": NUMBER,
    "max_iter": COUNT,
    "normalize": NORMALIZE,
    "float32": FLAG,
    **FITTED,
    **DUAL,
    "scales_": Maybe(NUMBERS),
}
schema(PolynomialMKL, {**BALL, "degree": Number(1, 1000, whole=True)})
schema(RidgeMKL, BALL)
schema(
    Reweighted,
    {
        "dictionary": LEARNER,
        "weights": LEARNER,
        **FITTED,
        **DUAL,
        "dictionary_": Maybe(Object(Learner)),
        "scales_": Maybe(NUMBERS),
        "weight_gap_": Maybe(ANY_NUMBER),
    },
)
schema(
    Sampled,
    {
        "learner": LEARNER,
        "tol": Number(0, finite=False),
        "min_rows": COUNT,
        "max_rows": COUNT,
        "confidence": SHARE,
        "exact": FLAG,
        "random_state": Seed(),
        **FITTED,
        "samples_": RECORDS,
        "rows_": Array("*", letter="i", low=0),
        "learner_": Object(Learner),
    },
)
schema(
    ScreenedAlignment,
    {
        "family": FAMILY,
        "false_alarms": NUMBER,
        **FITTED,
        "feature_alignment_": Maybe(Array("*", nan=True)),
        "threshold_": Maybe(ANY_NUMBER),
    },
)
schema(
    UniformWeights,
    {"kernels": KERNELS, "normalize": NORMALIZE, **FITTED, "scales_": Maybe(NUMBERS)},
)
