"""The pass over pairs keeps to scikit-learn's working_memory, and says what it needs."""

import re
import tracemalloc

import numpy as np
import pytest
from sklearn import config_context

from kernalign import ContinuousAlignment, Gaussian
from kernalign.gram import Target
from kernalign.gram.dictionary import DictionaryPass
from kernalign.gram.semigroup import SemigroupPass
from kernalign.gram.tiles import pass_over_pairs
from kernalign.rows import pairs

MB = 2**20


def problem(n, d=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sign(X[:, 0] * X[:, 1])
    return X, Target(y[:, None], np.ones(n))


def passes():
    family = Gaussian()
    return [
        SemigroupPass(family, 2.0 ** np.arange(-6, 6), 10),
        DictionaryPass([family.at(s) for s in (0.5, 1.0, 2.0)]),
        SemigroupPass(family, 2.0 ** np.arange(-6, 6), 10, saved=np.inf),
    ]


each_pass = pytest.mark.parametrize("which", [0, 1, 2], ids=["semigroup", "dictionary", "compiled"])


@each_pass
@pytest.mark.parametrize("budget", [4, 8, 40])
def test_pass_stays_within_its_budget(which, budget):
    X, target = problem(3000)
    this = passes()[which]
    pass_over_pairs(this, X[:300], target.rows(slice(0, 300)))
    with config_context(working_memory=budget):
        tracemalloc.start()
        try:
            pass_over_pairs(this, X, target)
            peak = tracemalloc.get_traced_memory()[1] / MB
        finally:
            tracemalloc.stop()
    assert peak <= budget


@each_pass
def test_result_does_not_depend_on_the_budget(which):
    X, target = problem(700)
    results = []
    for budget in (2, 1024):
        with config_context(working_memory=budget):
            rows, _ = pairs.block_sizes(passes()[which], X.shape, 2)
            assert (rows < 700) == (budget == 2), "otherwise the test proves nothing"
            results.append(pass_over_pairs(passes()[which], X, target))
    small, large = results
    for name in ("total", "cross", "with_target"):
        np.testing.assert_allclose(
            getattr(small.summary, name), getattr(large.summary, name), rtol=1e-10
        )


def test_too_small_a_budget_says_the_least_that_works():
    X, target = problem(1500)
    y = target.values[:, 0].astype(int)
    learner = ContinuousAlignment(max_iter=2)
    with (
        config_context(working_memory=1),
        pytest.raises(ValueError, match="working_memory=1 MiB is too small") as error,
    ):
        learner.fit(X, y)
    least = float(re.search(r"Set at least ([\d.]+) MiB", str(error.value))[1])
    with config_context(working_memory=least):
        learner.fit(X, y)
    with config_context(working_memory=least - 2), pytest.raises(ValueError, match="too small"):
        learner.fit(X, y)
