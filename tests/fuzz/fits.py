"""Random data of extreme scales, every learner, family and solver: one sentence, or numbers."""

import functools
import itertools
import signal
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from kernalign import (
    Additive,
    AnyOf,
    ContinuousAlignment,
    ContinuousEvidence,
    ContinuousRisk,
    Dirichlet,
    DiscreteAlignment,
    Fourier,
    Gaussian,
    GaussianMetric,
    KernelClassifier,
    KernelRegressor,
    KernelSearch,
    Laplacian,
    Linear,
    LpNormMKL,
    Matern,
    Polynomial,
    PolynomialMKL,
    RationalQuadratic,
    Reweighted,
    RidgeMKL,
    Sampled,
    ScreenedAlignment,
    UniformWeights,
)

#: Seconds of the processor that a fit of at most 120 rows may take.
SLOWEST = 60.0
FAMILIES = [
    Gaussian(),
    Gaussian(ard=True),
    Gaussian(bounds=(0.01, 100.0)),
    Laplacian(),
    Laplacian(ard=True),
    Matern(2.5),
    Matern(0.5, ard=True),
    RationalQuadratic(),
    RationalQuadratic(ard=True),
    Polynomial(3),
    Linear(),
    Fourier(),
]
#: Further families of small fits. Seeds of stored cases draw from the list above.
MORE_FAMILIES = [
    Matern(1.5, bounds=(0.01, 100.0)),
    Additive(),
    Dirichlet(),
    GaussianMetric(rank=2),
    AnyOf(Gaussian(), Linear()),
    Gaussian(columns=[0]),
]
SCALES = [1.0, 1.0, 1e-3, 1e6, 1e-100, 1e100, 1e-200, 1e200, 1e-310, 1e300]
SOLVERS = ["auto", "auto", "auto", "exact", "nystroem", "fourier", "cg"]


def learners(rng, family):
    """Every learner, of this family if it has one."""
    C = float(10.0 ** rng.integers(-5, 6))
    kernels = [*Gaussian().grid(0.3, 30, 4), Polynomial(2).at(1.0)]
    return [
        None,
        KernelSearch(effort="quick"),
        ContinuousAlignment(family, max_iter=int(rng.integers(1, 6))),
        ContinuousAlignment(family, corrective=True, start="best", max_iter=3),
        ContinuousAlignment(family, penalty=[1.0, 100.0], max_iter=3),
        ContinuousEvidence(family, max_iter=10),
        ContinuousRisk(family, C=C, max_iter=3),
        ContinuousRisk(family, C=C, corrective=True, max_iter=3),
        ScreenedAlignment(),
        DiscreteAlignment(kernels),
        LpNormMKL(kernels, p=float(rng.choice([1.0, 1.5, 2.0, 4.0])), C=C),
        RidgeMKL(kernels, C=C),
        PolynomialMKL(kernels, C=C),
        UniformWeights(kernels),
    ]


def small_learners(rng, family):
    """Every learner, of this family if it has one, with few iterations."""
    C = float(10.0 ** rng.integers(-5, 6))
    few = {"max_iter": int(rng.integers(1, 3)), "n_starts": int(rng.integers(1, 3))}
    kernels = [*Gaussian().grid(0.3, 30, 2), Polynomial(2).at(1.0)]
    aligned = ContinuousAlignment(family, **few)
    return [
        None,
        KernelSearch(effort="quick", max_kernels=2),
        KernelSearch([family], effort="quick", max_kernels=1),
        aligned,
        ContinuousAlignment(family, corrective=True, start="best", **few),
        ContinuousAlignment(family, penalty=[1.0, 100.0], **few),
        ContinuousAlignment(family, early_stopping=True, **few),
        ContinuousEvidence(family, max_iter=3, max_kernels=1),
        ContinuousRisk(family, C=C, **few),
        ContinuousRisk(family, C=C, corrective=True, **few),
        ScreenedAlignment(family),
        DiscreteAlignment(kernels, joint=bool(rng.integers(2))),
        LpNormMKL(kernels, p=float(rng.choice([1.0, 1.5, 2.0, 4.0])), C=C),
        RidgeMKL(kernels, C=C),
        PolynomialMKL(kernels, C=C),
        UniformWeights(kernels),
        Reweighted(aligned, LpNormMKL(C=C)),
        Sampled(aligned, min_rows=5, max_rows=10),
    ]


def rows(rng, most=60):
    n, d = int(rng.integers(2, most)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    kind = rng.integers(8)
    if kind == 0:
        X = rng.standard_cauchy(size=(n, d))
    elif kind == 1:
        X = X.round()
    elif kind == 2:
        X[:, 0] = X[0, 0]
    elif kind == 3:
        X = X[rng.integers(0, max(1, n // 3), n)]
    X = X * SCALES[rng.integers(len(SCALES))]
    if rng.integers(3) == 0:
        with np.errstate(over="ignore"):
            X = X * 10.0 ** rng.integers(-9, 10, size=d)
    if rng.integers(4) == 0:
        X[rng.integers(n), rng.integers(d)] = float(rng.choice([1e155, 1e200, -1e300, 1e-300]))
    return X if np.isfinite(X).all() else np.nan_to_num(X, posinf=1e300, neginf=-1e300)


@functools.cache
def combinations():
    """Every learner with every family that it takes, every solver and estimator, for small fits."""
    by_family = [
        [repr(one) for one in small_learners(np.random.default_rng(0), family)]
        for family in [*FAMILIES, *MORE_FAMILIES]
    ]
    pairs = [
        (place, family)
        for family, options in enumerate(by_family)
        for place, option in enumerate(options)
        if family == 0 or option != by_family[0][place]
    ]
    return list(itertools.product(pairs, sorted(set(SOLVERS)), [KernelClassifier, KernelRegressor]))


def problem(seed):
    """An estimator, rows and responses."""
    rng = np.random.default_rng(seed)
    X = rows(rng)
    family = FAMILIES[rng.integers(len(FAMILIES))]
    options = learners(rng, family)
    learner, solver = options[rng.integers(len(options))], str(rng.choice(SOLVERS))
    given = {"learner": learner, "solver": solver, **_selection(rng)}
    estimator = KernelClassifier if rng.integers(2) else KernelRegressor
    return estimator(**given), X, response(rng, estimator, len(X))


def small_problem(seed):
    """The same with fewer rows and iterations; seeds that follow each other count combinations."""
    rng = np.random.default_rng(seed)
    (place, family), solver, estimator = combinations()[seed % len(combinations())]
    X = rows(rng, most=16)
    learner = small_learners(rng, [*FAMILIES, *MORE_FAMILIES][family])[place]
    given = {"learner": learner, "solver": solver, **_selection(rng)}
    return estimator(**given), X, response(rng, estimator, len(X))


def _selection(rng):
    return {"cv": int(rng.integers(2, 4)), "C": ["cv", 1.0, [0.1, 10.0]][rng.integers(3)]}


def response(rng, estimator, n):
    if estimator is KernelClassifier:
        classes = int(rng.integers(2, 5))
        y = rng.integers(0, classes, n)
        y[: min(2, n)] = [0, 1][: min(2, n)]
        return y
    return rng.normal(size=n) * SCALES[rng.integers(len(SCALES))]


def attack(seed):
    """What is wrong with how a fit of this seed ends, or None."""
    return met(*problem(seed))


def small_attack(seed):
    """The same for a small fit, of which there are several in the same time."""
    return met(*small_problem(seed))


def met(model, X, y):
    """What is wrong with how a fit ends, or None."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _in_time(lambda: _ended(model, X, y))
    spent = time.process_time() - began
    if found is None and spent > SLOWEST:
        found = f"took {spent:.0f} s"
    leaked = [str(w.message) for w in caught if w.category is RuntimeWarning]
    if found is None and leaked:
        found = f"numpy's warning: {leaked[0]}"
    return None if found is None else f"{found} [{model!r}, X {X.shape}]".replace("\n", " ")


def coverage(seeds):
    """How often small fits of some seeds reach each combination, in a sentence."""
    reached = Counter(seed % len(combinations()) for seed in seeds)
    return (
        f"{len(reached)} of {len(combinations())} combinations of learner, family, solver and "
        f"estimator were reached, each at most {max(reached.values(), default=0)} times"
    )


class _TooLongError(BaseException):
    """Not an Exception: nobody shall catch it on the way."""


def _in_time(call):
    """What the call returns, or that it took too long."""

    def stop(number, frame):
        raise _TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SLOWEST)
    try:
        return call()
    except _TooLongError:
        return f"took more than {SLOWEST:.0f} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _ended(model, X, y):
    try:
        model.fit(X, y)
    except ValueError as problem:
        # A sentence of the library's, or of scikit-learn's checks of X and y.
        raised_in = Path(traceback.extract_tb(problem.__traceback__)[-1].filename)
        known = type(problem) is ValueError and {"kernalign", "sklearn"} & set(raised_in.parts)
        return None if known else f"fit: {type(problem).__name__}: {problem}"
    except Exception as problem:
        return f"fit: {type(problem).__name__}: {problem}"
    for method in ("decision_function", "predict_proba", "predict"):
        if hasattr(model, method):
            try:
                out = np.asarray(getattr(model, method)(X))
            except Exception as problem:
                return f"{method}: {type(problem).__name__}: {problem}"
            if out.dtype.kind == "f" and not np.isfinite(out).all():
                return f"{method}: not finite"
    return None
