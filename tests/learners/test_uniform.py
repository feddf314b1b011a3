"""DU: equal weights."""

import tracemalloc

import numpy as np
import pytest

from kernalign import AlignmentWarning, ScaleWarning
from kernalign.gram.labels import infer_target
from kernalign.kernels import CustomFamily, Dirichlet, Gaussian, GramMatrix
from kernalign.learners.uniform import UniformWeights
from tests import reference

X, Y = reference.section12()
SIGMAS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRAMS = [reference.gaussian(X, X, sigma) for sigma in SIGMAS]


def gaussians():
    return [Gaussian().at(sigma) for sigma in SIGMAS]


def centred_diagonal(K):
    return np.trace(reference.centre(K)) / len(K)


def test_it_is_the_mean_gram_matrix_normalised():
    learner = UniformWeights(gaussians()).fit(X, Y)
    mean = sum(GRAMS) / 5
    np.testing.assert_allclose(learner.kernel_(X), mean / centred_diagonal(mean), rtol=1e-12)
    np.testing.assert_array_equal(learner.weights_, np.full(5, 0.2))
    # the value of methods.md, section 12
    assert learner.alignment_ == pytest.approx(0.164599, abs=1e-6)
    assert learner.alignment_ == pytest.approx(reference.alignment(mean, np.outer(Y, Y)), rel=1e-12)
    assert learner.history_[0]["objective"] == learner.alignment_
    assert not learner.one_stage


@pytest.mark.parametrize("normalize", ["trace", "variance"])
def test_normalisations(normalize):
    factors = np.array([1.0, 3.0, 0.2, 5.0, 1.0])
    given = [GramMatrix(f * K).at() for f, K in zip(factors, GRAMS, strict=True)]
    rows = np.arange(len(X))[:, None]
    learner = UniformWeights(given, normalize=normalize).fit(rows, Y)
    size = np.trace if normalize == "trace" else lambda K: np.trace(reference.centre(K))
    mean = sum(K / size(K) for K in GRAMS)
    np.testing.assert_allclose(learner.kernel_(rows), mean / centred_diagonal(mean), rtol=1e-10)
    assert learner.alignment_ == pytest.approx(reference.alignment(mean, np.outer(Y, Y)), rel=1e-9)


def test_variance_leaves_a_constant_kernel_as_it_is():
    x = X[:, :1]
    learner = UniformWeights([Dirichlet().at(0.0), Dirichlet().at(2.0)], normalize="variance")
    kernel = learner.fit(x, Y).kernel_
    K = reference.dirichlet(x, x, 2.0)
    mean = 3.0 + K / centred_diagonal(K)
    np.testing.assert_allclose(kernel(x), mean, rtol=1e-10)


@pytest.mark.parametrize("normalize", ["none", "trace", "variance"])
def test_constant_kernels_are_warned_about_and_defined(normalize):
    constant = CustomFamily(lambda A, B, s: np.full((len(A), len(B)), s), bounds=(1, 9))
    learner = UniformWeights([constant.at(2.0), constant.at(3.0)], normalize=normalize)
    with pytest.warns(AlignmentWarning, match="constant"):
        learner.fit(X, Y)
    assert learner.alignment_ == 0
    np.testing.assert_allclose(learner.kernel_(X), np.ones((40, 40)))


def test_weights_of_rows_count_as_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    repeated, labels = reference.repeat_rows(X, Y, weight)
    one = UniformWeights(gaussians(), normalize="variance").fit(X, Y, sample_weight=weight)
    two = UniformWeights(gaussians(), normalize="variance").fit(repeated, labels)
    np.testing.assert_allclose(one.kernel_(X), two.kernel_(X), rtol=1e-10)
    assert one.alignment_ == pytest.approx(two.alignment_, rel=1e-10)


def test_order_does_not_matter():
    one = UniformWeights(gaussians()).fit(X, Y)
    two = UniformWeights(gaussians()[::-1]).fit(X, Y)
    np.testing.assert_allclose(one.kernel_(X), two.kernel_(X), rtol=1e-12)
    assert one.alignment_ == pytest.approx(two.alignment_, rel=1e-12)


def test_kernels_of_wildly_differing_scale():
    rows = np.arange(len(X))[:, None]
    grams = [GRAMS[1], 1e6 * GRAMS[3]]
    with pytest.warns(ScaleWarning, match="normalize='trace'"):
        UniformWeights(grams).fit(rows, Y)
    cured = UniformWeights(grams, normalize="trace").fit(rows, Y)
    plain = UniformWeights([GRAMS[1], GRAMS[3]]).fit(rows, Y)
    np.testing.assert_allclose(cured.kernel_(rows), plain.kernel_(rows), rtol=1e-10)


def test_no_matrix_of_all_pairs_is_stored():
    n = 3000
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(n, 3)), rng.choice([-1.0, 1.0], n)
    target = infer_target(labels, np.ones(n))
    learner = UniformWeights([Gaussian().at(1.0), Gaussian().at(2.0)])
    learner.learn(rows[:100], target.rows(slice(0, 100)))
    tracemalloc.start()
    try:
        learner.learn(rows, target)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n**2 / 3


def test_bad_input():
    with pytest.raises(ValueError, match="'kernels' parameter of UniformWeights"):
        UniformWeights([]).fit(X, Y)
    with pytest.raises(ValueError, match="'normalize' parameter of UniformWeights"):
        UniformWeights(gaussians(), normalize="unit").fit(X, Y)
    rows = np.arange(2)[:, None]
    with pytest.raises(ValueError, match="overflow"):
        UniformWeights([1e200 * np.eye(2)]).fit(rows, [0, 1])
