"""DA: align and alignf, held by their certificate and by an independent solver."""

import warnings

import cvxpy
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from kernalign import AlignmentWarning, ScaleWarning
from kernalign.gram.labels import infer_target
from kernalign.kernels import CustomFamily, Dirichlet, Gaussian, GramMatrix, Linear
from kernalign.learners import discrete_alignment
from kernalign.learners.discrete_alignment import DiscreteAlignment, centred_factor
from kernalign.learners.uniform import UniformWeights
from tests import reference

X, Y = reference.section12()
SIGMAS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRAMS = [reference.gaussian(X, X, sigma) for sigma in SIGMAS]


def gaussians(sigmas=SIGMAS):
    return [Gaussian().at(sigma) for sigma in sigmas]


def row_numbers(grams):
    return np.arange(len(grams[0]))[:, None]


def products(grams, y):
    """M, a and |T_c| of the specification, from centred matrices of unit norm."""
    T = reference.centre(np.outer(y, y))
    centred = [reference.centre(K) for K in grams]
    sizes = np.array([reference.norm(K) for K in centred])
    rows = np.stack([K.ravel() / s for K, s in zip(centred, sizes, strict=True)])
    return rows @ rows.T, rows @ T.ravel(), reference.norm(T), sizes


def bounds(grams, y, mu):
    """The two sides of the certificate of section 3.4 at the weights mu."""
    M, a, size, norms = products(grams, y)
    v = mu * norms
    v = v * (a @ v) / (v @ M @ v)
    length = np.sqrt(v @ M @ v)
    t = np.min((M @ v)[a > 0] / a[a > 0])
    return a @ v / length / size, length / t / size


def assert_optimal(learner, grams, y, tol=1e-10):
    lower, upper = bounds(grams, y, learner.weights_)
    assert lower <= upper * (1 + 1e-12)
    assert upper - lower <= tol * upper
    assert learner.alignment_ == pytest.approx(lower, rel=tol)
    record = learner.history_[-1]
    assert learner.gap_ == record["gap"] <= tol
    assert record["kkt"] <= 1e-8
    assert record["objective"] == learner.alignment_ <= record["upper"]
    assert np.linalg.norm(learner.weights_) == pytest.approx(1, rel=1e-12)
    assert (learner.weights_ >= 0).all()


# --- reference values, [T4], [T5], [T6] -----------------------------------------------------------


def test_reference_values():
    learner = DiscreteAlignment(gaussians()).fit(X, Y)
    expected = [0.072595, 0.876049, 0, 0, 0.476727]
    np.testing.assert_allclose(learner.weights_, expected, atol=1e-6)
    assert learner.alignment_ == pytest.approx(0.194517699, abs=1e-9)
    assert_optimal(learner, GRAMS, Y)
    assert len(learner.kernel_.kernels) == 3
    align = DiscreteAlignment(gaussians(), joint=False).fit(X, Y)
    expected = [0.487106, 0.556389, 0.421375, 0.330052, 0.408249]
    np.testing.assert_allclose(align.weights_, expected, atol=1e-6)
    assert align.alignment_ == pytest.approx(0.170963, abs=1e-6)
    assert align.gap_ == 0


def test_weights_are_those_of_the_naive_reference():
    learner = DiscreteAlignment(gaussians()).fit(X, Y)
    naive = reference.optimal_weights_alignf(GRAMS, np.outer(Y, Y))
    np.testing.assert_allclose(learner.weights_, naive, atol=1e-9)


def test_learned_kernel_is_normalised_and_has_the_alignment_reported():
    for joint in (True, False):
        learner = DiscreteAlignment(gaussians(), joint=joint).fit(X, Y)
        K = learner.kernel_(X)
        assert np.trace(reference.centre(K)) / len(K) == pytest.approx(1, rel=1e-12)
        aligned = reference.alignment(K, np.outer(Y, Y))
        assert learner.alignment_ == pytest.approx(aligned, rel=1e-12)
        mixed = np.tensordot(learner.weights_, GRAMS, 1)
        np.testing.assert_allclose(K / K[0, 0], mixed / mixed[0, 0], rtol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_it_beats_align_uniform_and_every_kernel(seed):
    rows, y = problem(seed)
    kernels = gaussians((0.1, 0.5, 1.0, 3.0))
    best = DiscreteAlignment(kernels).fit(rows, y).alignment_
    others = [
        DiscreteAlignment(kernels, joint=False).fit(rows, y).alignment_,
        UniformWeights(kernels).fit(rows, y).alignment_,
        *(reference.alignment(kernel(rows), np.outer(y, y)) for kernel in kernels),
    ]
    assert best >= max(others) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_value_is_that_of_a_generic_solver(seed):
    rows, y = problem(seed)
    kernels = gaussians((0.1, 0.4, 0.7, 1.5, 4.0))
    learner = DiscreteAlignment(kernels).fit(rows, y)
    M, a, size, _ = products([kernel(rows) for kernel in kernels], y)
    v = cvxpy.Variable(len(a), nonneg=True)
    factor = np.linalg.cholesky(M + 1e-14 * np.eye(len(a)))
    objective = cvxpy.sum_squares(factor.T @ v) - 2 * (a / a.max()) @ v
    cvxpy.Problem(cvxpy.Minimize(objective)).solve(solver=cvxpy.CLARABEL)
    found = np.maximum(v.value, 0)
    value = a @ found / np.sqrt(found @ M @ found) / size
    assert learner.alignment_ == pytest.approx(value, rel=1e-7)


def problem(seed, n=30):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    y = np.sign(np.sin(3 * rows[:, 0]) + 0.3 * rng.normal(size=n))
    y[:2] = 1, -1
    return rows, y


# --- hard dictionaries ----------------------------------------------------------------------------


def hard_dictionary(seed):
    """20 Gram matrices whose sign-free solution has negative weights or does not exist."""
    rng = np.random.default_rng(seed)
    rows, y = problem(seed)
    n = len(y)
    kind = seed % 5
    if kind == 0:  # widths close to each other, or nearly the same
        spread = 5 if seed % 2 else 1.001
        sigmas = rng.uniform(0.5, 1.5) * np.geomspace(1, spread, 20)
        grams = [reference.gaussian(rows, rows, s) for s in sigmas]
    elif kind == 1:  # exact duplicates
        few = [reference.gaussian(rows, rows, s) for s in rng.uniform(0.1, 3, size=7)]
        grams = [few[k] for k in rng.integers(0, 7, size=20)]
    elif kind == 2:  # smooth widths, from identity-like to almost constant
        grams = [reference.gaussian(rows, rows, s) for s in np.geomspace(1e-3, 1e3, 20)]
    elif kind == 3:  # random kernels of rank two
        factors = rng.normal(size=(20, n, 2))
        grams = [F @ F.T for F in factors]
    else:  # kernels and mixtures of them, of scales far apart
        few = [reference.gaussian(rows, rows, s) for s in (0.2, 0.6, 1.8)]
        grams = [np.tensordot(rng.random(3), few, 1) for _ in range(20)]
        grams = [K * s for K, s in zip(grams, 10.0 ** rng.uniform(-6, 6, 20), strict=True)]
    return grams, y


@pytest.mark.parametrize("seed", range(50))
def test_hard_dictionaries_stay_feasible_finite_and_certified(seed):
    grams, y = hard_dictionary(seed)
    M, a, *_ = products(grams, y)
    free = np.linalg.lstsq(M, a, rcond=None)[0]
    assert np.linalg.cond(M) > 1e12 or free.min() < 0
    learner = DiscreteAlignment(grams).fit(row_numbers(grams), y)
    assert np.isfinite(learner.weights_).all()
    assert_optimal(learner, grams, y)
    K = learner.kernel_(row_numbers(grams))
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K).min() > -1e-9


@pytest.mark.parametrize(("low", "high", "number"), [(1, 5, 20), (1, 5, 50), (0.1, 10, 20)])
def test_smooth_widths_that_a_truncated_factor_cannot_tell_apart(low, high, number):
    rows, classes = make_moons(120, noise=0.2, random_state=1)
    y = 2.0 * classes - 1
    kernels = Gaussian().grid(low, high, number)
    learner = DiscreteAlignment(kernels).fit(rows, y)
    assert_optimal(learner, [kernel(rows) for kernel in kernels], y)


def test_almost_constant_kernels_keep_their_digits():
    # The centred norm is 1e-8 of the uncentred one: its square is lost beside it.
    sigmas = np.geomspace(1e3, 2e4, 6)
    learner = DiscreteAlignment(gaussians(sigmas)).fit(X, Y)
    assert learner.history_[0]["route"] == "factor"
    grams = [expm1_gaussian(sigma) for sigma in sigmas]
    lower, upper = bounds(grams, Y, learner.weights_)
    # Entries of 1 - 1e-8 are themselves good to eight digits only.
    assert upper - lower <= 1e-6 * upper


def expm1_gaussian(sigma):
    """The Gaussian less one: the same once centred, without loss of digits."""
    squares = ((X[:, None] - X) ** 2).sum(-1)
    return np.expm1(-squares / sigma**2)


def test_the_factor_is_that_of_the_centred_gram_matrices():
    kernels = [*gaussians(), Linear().resolve(X).at([1.0, 1.0])]
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    R = centred_factor(kernels, X, infer_target(Y, weight))
    rows, y = reference.repeat_rows(X, Y, weight)
    centred = [reference.centre(kernel(rows)) for kernel in kernels]
    columns = np.stack([K.ravel() for K in [*centred, reference.centre(np.outer(y, y))]])
    np.testing.assert_allclose(R.T @ R, columns @ columns.T, rtol=1e-10)


def test_both_routes_agree(monkeypatch):
    one = DiscreteAlignment(gaussians()).fit(X, Y)
    assert one.history_[-1]["route"] == "products"
    monkeypatch.setattr(discrete_alignment, "MIN_CENTRED_SHARE", 1.0)
    monkeypatch.setattr(discrete_alignment, "TILE", 16)
    two = DiscreteAlignment(gaussians()).fit(X, Y)
    assert two.history_[-1]["route"] == "factor"
    np.testing.assert_allclose(one.weights_, two.weights_, atol=1e-12)
    assert one.alignment_ == pytest.approx(two.alignment_, rel=1e-12)


def test_a_solver_that_gives_up_is_replaced_and_warned_about(monkeypatch):
    def give_up(*args, **kwargs):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(discrete_alignment, "best_weights", give_up)
    learner = DiscreteAlignment(gaussians()).fit(X, Y)
    assert [record["route"] for record in learner.history_] == ["products", "factor"]
    assert_optimal(learner, GRAMS, Y)
    monkeypatch.setattr(discrete_alignment, "nnls", give_up)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        learner.fit(X, Y)
    lower, upper = bounds(GRAMS, Y, learner.weights_)
    assert learner.gap_ == pytest.approx(1 - lower / upper, rel=0.5)
    assert lower <= 0.194517699 <= upper


# --- invariances ----------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [True, False])
def test_order_of_the_kernels_does_not_matter(joint):
    order = [3, 1, 4, 0, 2]
    one = DiscreteAlignment(gaussians(), joint=joint).fit(X, Y)
    two = DiscreteAlignment([gaussians()[k] for k in order], joint=joint).fit(X, Y)
    np.testing.assert_allclose(one.weights_[order], two.weights_, atol=1e-10)


@pytest.mark.parametrize("normalize", ["none", "trace", "variance"])
def test_alignf_does_not_see_the_scale_of_the_kernels(normalize):
    factors = np.array([1e-12, 1.0, 1e3, 1e12, 1e-3])
    scaled = [f * K for f, K in zip(factors, GRAMS, strict=True)]
    learner = DiscreteAlignment(scaled, normalize=normalize).fit(row_numbers(GRAMS), Y)
    plain = DiscreteAlignment(gaussians()).fit(X, Y)
    assert learner.alignment_ == pytest.approx(plain.alignment_, rel=1e-10)
    np.testing.assert_allclose(learner.kernel_(row_numbers(GRAMS)), plain.kernel_(X), rtol=1e-7)


def test_align_does_and_says_so():
    scaled = [1e6 * GRAMS[0], *GRAMS[1:]]
    rows = row_numbers(GRAMS)
    with pytest.warns(ScaleWarning, match="normalize='trace'"):
        DiscreteAlignment(scaled, joint=False).fit(rows, Y)
    cured = DiscreteAlignment(scaled, joint=False, normalize="trace").fit(rows, Y)
    plain = DiscreteAlignment(gaussians(), joint=False).fit(X, Y)
    np.testing.assert_allclose(cured.weights_, plain.weights_, rtol=1e-10)


@pytest.mark.parametrize("joint", [True, False])
def test_precomputed_matrices_are_the_kernels_they_hold(joint):
    given = [GRAMS[0], GramMatrix(GRAMS[1]).at(), *GRAMS[2:]]
    learner = DiscreteAlignment(given, joint=joint).fit(row_numbers(GRAMS), Y)
    plain = DiscreteAlignment(gaussians(), joint=joint).fit(X, Y)
    np.testing.assert_allclose(learner.weights_, plain.weights_, atol=1e-10)
    # Some rows of larger matrices are a problem of their own.
    part = np.arange(5, 35)
    learner = DiscreteAlignment(given, joint=joint).fit(part[:, None], Y[part])
    plain = DiscreteAlignment(gaussians(), joint=joint).fit(X[part], Y[part])
    np.testing.assert_allclose(learner.weights_, plain.weights_, atol=1e-10)


@pytest.mark.parametrize("joint", [True, False])
def test_weights_of_rows_count_as_repetitions(joint):
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    repeated, labels = reference.repeat_rows(X, Y, weight)
    one = DiscreteAlignment(gaussians(), joint=joint).fit(X, Y, sample_weight=weight)
    two = DiscreteAlignment(gaussians(), joint=joint).fit(repeated, labels)
    np.testing.assert_allclose(one.weights_, two.weights_, atol=1e-9)
    assert one.alignment_ == pytest.approx(two.alignment_, rel=1e-10)


def test_several_classes_and_responses():
    classes = np.digitize(X[:, 0], [-0.7, 0.7])
    learner = DiscreteAlignment(gaussians()).fit(X, classes)
    naive = reference.optimal_weights_alignf(GRAMS, reference.target_multiclass(classes))
    np.testing.assert_allclose(learner.weights_, naive, atol=1e-9)
    response = np.sin(X[:, 0]) + X[:, 1]
    learner = DiscreteAlignment(gaussians()).fit(X, response)
    naive = reference.optimal_weights_alignf(GRAMS, reference.target_regression(response))
    np.testing.assert_allclose(learner.weights_, naive, atol=1e-9)


# --- reductions and degenerate input --------------------------------------------------------------


@pytest.mark.parametrize("joint", [True, False])
def test_one_kernel_is_that_kernel(joint):
    learner = DiscreteAlignment([Gaussian().at(1.0)], joint=joint).fit(X, Y)
    np.testing.assert_array_equal(learner.weights_, [1.0])
    assert learner.alignment_ == pytest.approx(0.139423, abs=1e-6)


def test_duplicates_change_nothing():
    twice = gaussians() + gaussians()
    learner = DiscreteAlignment(twice).fit(X, Y)
    assert learner.alignment_ == pytest.approx(0.194517699, abs=1e-9)
    plain = DiscreteAlignment(gaussians()).fit(X, Y)
    np.testing.assert_allclose(learner.kernel_(X), plain.kernel_(X), rtol=1e-9)


@pytest.mark.parametrize("joint", [True, False])
def test_a_constant_kernel_gets_no_weight(joint):
    x = X[:, :1]
    kernels = [Dirichlet().at(s) for s in (0.0, 1.0, 2.0, 5.0)]
    learner = DiscreteAlignment(kernels, joint=joint).fit(x, Y)
    rest = DiscreteAlignment(kernels[1:], joint=joint).fit(x, Y)
    assert learner.weights_[0] == 0
    np.testing.assert_allclose(learner.weights_[1:], rest.weights_, atol=1e-10)


@pytest.mark.parametrize("joint", [True, False])
def test_constant_kernels_are_warned_about_and_defined(joint):
    constant = CustomFamily(lambda A, B, s: np.full((len(A), len(B)), s), bounds=(1, 9))
    learner = DiscreteAlignment([constant.at(2.0), constant.at(3.0)], joint=joint)
    with pytest.warns(AlignmentWarning, match="constant"):
        learner.fit(X, Y)
    assert learner.alignment_ == learner.gap_ == 0
    np.testing.assert_allclose(learner.weights_, np.sqrt([0.5, 0.5]))
    np.testing.assert_allclose(learner.kernel_(X), np.ones((40, 40)))


def test_a_constant_response_is_warned_about_and_defined():
    with pytest.warns(AlignmentWarning, match="aligned"):
        learner = DiscreteAlignment(gaussians()).fit(X, np.full(40, 2.5))
    assert learner.alignment_ == 0
    np.testing.assert_allclose(learner.kernel_.weights, learner.kernel_.weights[0])


def test_two_rows():
    learner = DiscreteAlignment(gaussians()).fit(X[:2], [0, 1])
    assert learner.alignment_ == pytest.approx(1)


def bad(matrix):
    return [GRAMS[0], matrix]


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        (None, "'kernels' parameter of DiscreteAlignment must be a non-empty list"),
        ([], "'kernels' parameter of DiscreteAlignment must be a non-empty list"),
        (bad(np.where(np.eye(40) > 0, np.nan, 1.0)), r"kernels\[1\].* finite"),
        (bad(GRAMS[0] - np.eye(40)), r"kernels\[1\].* positive semidefinite"),
        (bad(np.triu(GRAMS[2])), r"kernels\[1\].* symmetric"),
        (bad(np.zeros((40, 40))), r"kernels\[1\].* zeros"),
        (bad(GRAMS[1][:30, :30]), "row indices from 0 to 29"),
    ],
)
def test_bad_kernels(kernels, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            DiscreteAlignment(kernels).fit(row_numbers(GRAMS), Y)


@pytest.mark.parametrize(("name", "value"), [("joint", "yes"), ("normalize", "unit")])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of DiscreteAlignment"):
        DiscreteAlignment(gaussians(), **{name: value}).fit(X, Y)
