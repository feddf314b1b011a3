"""Random tables of 2001 to 6000 rows, where samples and landmarks take the place of all rows."""

import warnings

import numpy as np

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    ContinuousEvidence,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Laplacian,
    Linear,
)

#: Learners that failed on ordinary tables once, beside the default.
LEARNERS = [
    None,
    None,
    None,
    ContinuousAlignment(),
    ContinuousEvidence(Gaussian(ard=True)),
    ContinuousEvidence(AnyOf(Linear(), Gaussian(ard=True), Laplacian(ard=True))),
]


def column(rng, n, others):
    """One column of a kind that tables have."""
    kind = rng.integers(9)
    if kind == 0:
        return rng.standard_cauchy(n)
    if kind == 1:
        return np.exp(2 * rng.normal(size=n))
    if kind == 2:
        return rng.integers(0, 5, n).astype(float)
    if kind == 3:
        # Mostly zero, as counts of words are.
        return np.where(rng.random(n) < 0.9, 0.0, rng.exponential(size=n))
    if kind == 4 and others:
        return others[rng.integers(len(others))] + 1e-6 * rng.normal(size=n)
    if kind == 5:
        return np.full(n, 3.0)
    return rng.normal(size=n) * 10.0 ** rng.integers(-4, 5)


def table(rng):
    """X and a response that depends on three of its columns."""
    n, d = int(rng.integers(2001, 6001)), int(rng.integers(2, 41))
    columns = []
    for _ in range(d):
        columns.append(column(rng, n, columns))
    X = np.stack(columns, axis=1)
    if rng.integers(4) == 0:
        X = X[rng.integers(0, n // 2, n)]
    ranks = X.argsort(axis=0).argsort(axis=0) / n
    few = rng.integers(0, d, 3)
    signal = np.sin(6 * ranks[:, few[0]]) + ranks[:, few[1]] * ranks[:, few[2]]
    return X, (signal - signal.mean()) / (signal.std() or 1.0)


def problem(rng):
    X, signal = table(rng)
    learner = LEARNERS[rng.integers(len(LEARNERS))]
    noisy = signal + 10.0 ** rng.uniform(-3, 0.5) * rng.normal(size=len(signal))
    if rng.integers(2):
        edges = np.quantile(noisy, np.linspace(0, 1, int(rng.integers(2, 6)) + 1)[1:-1])
        return KernelClassifier(learner), X, np.digitize(noisy, edges)
    return KernelRegressor(learner), X, noisy * 10.0 ** rng.integers(-6, 7)


def attack(seed):
    """What is wrong with how a fit of this seed ends, or None."""
    model, X, y = problem(np.random.default_rng(seed))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outputs = np.asarray(model.fit(X, y).predict(X))
            found = wrong(model, outputs, y)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    leaked = [str(w.message) for w in caught if w.category is RuntimeWarning]
    if found is None and leaked:
        found = f"numpy's warning: {leaked[0]}"
    return None if found is None else f"{found} [{model!r}, X {X.shape}]".replace("\n", " ")


def wrong(model, outputs, y):
    """What is wrong with predictions of the rows that were fitted."""
    if isinstance(model, KernelClassifier):
        constant = 1 - np.bincount(y).max() / len(y)
        error = np.mean(outputs != y)
    else:
        if not np.isfinite(outputs).all():
            return "not finite"
        constant, error = np.var(y), np.mean((outputs - y) ** 2)
    # A little above is a matter of noise.
    return None if error <= 1.02 * constant else f"error {error:.3g}, of a constant {constant:.3g}"
