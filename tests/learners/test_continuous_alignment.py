"""ContinuousAlignment follows the paper, keeps its invariances, and its options keep their word.

The oracle is tests/reference.py: dense matrices, double loops, no kernalign.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_friedman1, make_moons
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from kernalign import (
    AlignmentWarning,
    AnyOf,
    ContinuousAlignment,
    CustomFamily,
    Dirichlet,
    Fourier,
    Gaussian,
    KernelClassifier,
    Laplacian,
    LearnedKernel,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    centered_alignment,
)
from tests import reference

BOUNDS = (0.1, 10.0)
FAMILIES = [
    Gaussian(),
    Gaussian(ard=True),
    Laplacian(),
    Laplacian(ard=True),
    Matern(),
    RationalQuadratic(),
    Fourier(),
    Linear(),
    Polynomial(),
    AnyOf(Gaussian(columns=[0]), Laplacian(columns=[1])),
    AnyOf(Gaussian(), Linear()),
]
OPTIONS = [
    {},
    {"start": "best"},
    {"selection": "step"},
    {"corrective": True},
    {"start": "best", "selection": "step", "corrective": True},
]


def name_of(value):
    return repr(value)


def two_moons(n=60, noise=0.2, seed=1):
    return make_moons(n, noise=noise, random_state=seed)


def gaussian_of(X):
    """sigma -> Gram matrix, written out (the reference's double loop is too slow for a search)."""
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return lambda sigma: np.exp(-D / sigma**2)


def reference_path(X, y, **settings):
    """The paper's algorithm on dense matrices, over a grid finer than the learner's scan."""
    return reference.continuous_alignment(
        gaussian_of(X), np.geomspace(*BOUNDS, 300), np.where(y > 0, 1.0, -1.0), **settings
    )


def sigmas(learner):
    return np.array([record["kernel"].sigma[0] for record in learner.history_])


def path_of(learner):
    return np.array([record["objective"] for record in learner.history_])


def same_kernel(one, other, X, rtol=1e-6):
    """Equal as functions: terms may be ordered or merged differently."""
    np.testing.assert_allclose(one.kernel_(X), other.kernel_(X), rtol=rtol, atol=rtol)
    assert one.alignment_ == pytest.approx(other.alignment_, abs=rtol)


def problems():
    section = reference.section12()
    X, y = two_moons(40)
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((30, 4))
    return [section, (X, 2 * y - 1), (Z, np.sign(Z[:, 0] * Z[:, 1]))]


# --- the paper -----------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", range(3))
def test_it_is_the_papers_algorithm(problem):
    X, y = problems()[problem]
    atoms, alignments = reference_path(X, y)
    learner = ContinuousAlignment(Gaussian(bounds=BOUNDS)).fit(X, y)
    assert len(learner.history_) == len(atoms)
    np.testing.assert_allclose(sigmas(learner), [sigma for sigma, _ in atoms], rtol=1e-3)
    np.testing.assert_allclose(path_of(learner), alignments[1:], atol=1e-6)
    etas = np.array([eta for _, eta in atoms])
    np.testing.assert_allclose([r["eta"] for r in learner.history_], etas, rtol=2e-3, atol=1e-14)


@pytest.mark.parametrize("problem", range(3))
def test_the_learned_weights_are_the_papers_up_to_a_factor(problem):
    X, y = problems()[problem]
    atoms, _ = reference_path(X, y)
    kernel = ContinuousAlignment(Gaussian(bounds=BOUNDS)).fit(X, y).kernel_
    largest = max(eta for _, eta in atoms)
    kept = [(sigma, eta / largest) for sigma, eta in atoms if eta > 1e-8 * largest]
    assert len(kernel.kernels) == len(kept)
    for term, weight, (sigma, eta) in zip(kernel.kernels, kernel.weights, kept, strict=True):
        assert term.sigma[0] == pytest.approx(sigma, rel=1e-3)
        assert weight / kernel.weights.max() == pytest.approx(eta, rel=2e-3)


@pytest.mark.parametrize(
    "changed",
    [{"eps": 1e-2}, {"theta": 1e-2}, {"T": 3}, {"eta_max": 1e-11}, {"theta": 0.0, "T": 12}],
)
def test_the_papers_inputs_are_the_parameters(changed):
    X, y = reference.section12()
    atoms, alignments = reference_path(X, y, **changed)
    names = {"eps": "eps", "theta": "tol", "T": "max_iter", "eta_max": "eta_max"}
    parameters = {names[name]: value for name, value in changed.items()}
    learner = ContinuousAlignment(Gaussian(bounds=BOUNDS), **parameters).fit(X, y)
    assert len(learner.history_) == len(atoms)
    np.testing.assert_allclose(path_of(learner), alignments[1:], atol=1e-6)
    assert len(atoms) != len(reference_path(X, y)[0]) or "eps" in changed or "eta_max" in changed


@pytest.mark.parametrize("seed", range(3))
def test_dirichlet_finds_the_three_frequencies_of_the_sine_problem(seed):
    X, y = reference.sine_problem(500, seed)
    learner = ContinuousAlignment(Dirichlet()).fit(X, y)
    found = sigmas(learner)
    for frequency in np.sqrt([2, 12, 60]):
        assert np.abs(found - frequency).min() < 0.06
    # They are the ones with the largest weights, not merely among many.
    largest = np.argsort(-learner.kernel_.weights)[:3]
    top = sorted(learner.kernel_.kernels[i].sigma[0] for i in largest)
    np.testing.assert_allclose(top, np.sqrt([2, 12, 60]), atol=0.06)


def test_a_custom_family_learns_what_the_built_in_one_does():
    X, y = reference.section12()

    def formula(A, B, sigma):
        return np.exp(-((A[:, None] - B) ** 2).sum(-1) / sigma**2)

    built_in = ContinuousAlignment(Gaussian(bounds=BOUNDS)).fit(X, y)
    custom = ContinuousAlignment(CustomFamily(formula, BOUNDS)).fit(X, y)
    np.testing.assert_allclose(path_of(custom), path_of(built_in), atol=1e-6)
    np.testing.assert_allclose(sigmas(custom), sigmas(built_in), rtol=2e-3)


# --- what is promised of every family and option -------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_alignment_history_and_normalisation(family, options):
    X, y = two_moons(40)
    learner = ContinuousAlignment(family, **options).fit(X, y)
    K = learner.kernel_(X)
    target = reference.target_binary(2.0 * y - 1)
    assert learner.alignment_ == pytest.approx(centered_alignment(K, target), abs=1e-8)
    assert learner.alignment_ == pytest.approx(reference.alignment(K, target), abs=1e-8)
    assert np.trace(reference.centre(K)) / len(X) == pytest.approx(1.0, abs=1e-8)
    assert (np.diff(path_of(learner)) >= -1e-9).all()
    assert (learner.kernel_.weights > 0).all()
    assert len(learner.kernel_.kernels) <= len(learner.history_)


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_history_records_every_iteration(options):
    X, y = two_moons()
    learner = ContinuousAlignment(tol=1e-4, **options).fit(X, y)
    assert [r["iteration"] for r in learner.history_] == list(range(1, len(learner.history_) + 1))
    for record in learner.history_:
        assert set(record) >= {"iteration", "kernel", "eta", "search_value", "objective"}
        assert record["eta"] >= 0
        assert np.isfinite(record["search_value"])
        assert -1 <= record["objective"] <= 1
        assert record["kernel"](X).shape == (len(X), len(X))
    assert isinstance(learner.kernel_, LearnedKernel)


def test_it_stops_where_an_iteration_gains_no_more_than_tol():
    X, y = two_moons()
    for tol in (1e-2, 1e-3, 1e-4):
        gains = np.diff(path_of(ContinuousAlignment(tol=tol).fit(X, y)))
        assert gains[-1] <= tol
        assert (gains[:-1] > tol).all()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_max_iter_cuts_the_path_short(number):
    X, y = two_moons()
    whole = ContinuousAlignment(tol=0).fit(X, y)
    cut = ContinuousAlignment(tol=0, max_iter=number).fit(X, y)
    assert len(whole.history_) > 3
    assert len(cut.history_) == number
    np.testing.assert_allclose(path_of(cut), path_of(whole)[:number], atol=1e-12)


# --- targets -------------------------------------------------------------------------------------


def test_three_classes_are_aligned_with_the_one_hot_kernel():
    X, y = make_blobs(60, centers=3, cluster_std=2.0, random_state=0)
    learner = ContinuousAlignment().fit(X, y)
    target = reference.target_multiclass(y)
    assert learner.alignment_ == pytest.approx(
        reference.alignment(learner.kernel_(X), target), abs=1e-8
    )
    # No single kernel of a fine grid is better aligned: the target was not, say, y y'.
    gram = gaussian_of(X)
    single = max(reference.alignment(gram(s), target) for s in np.geomspace(0.1, 100, 60))
    assert learner.alignment_ > single - 2e-3


def test_two_classes_as_one_hot_columns_are_the_same_target():
    _, y = two_moons()
    one_hot, product = reference.target_multiclass(y), reference.target_binary(2.0 * y - 1)
    np.testing.assert_allclose(2 * reference.centre(one_hot), reference.centre(product), atol=1e-12)
    X, _ = two_moons()
    by_class = ContinuousAlignment().fit(X, y)
    by_response = ContinuousAlignment().fit(X, np.column_stack([y, 1.0 - y]) + 0.25)
    same_kernel(by_class, by_response, X)


def test_a_response_is_aligned_with_its_product():
    X, y = make_friedman1(60, random_state=0)
    learner = ContinuousAlignment().fit(X, y)
    target = reference.target_regression(y)
    assert learner.alignment_ == pytest.approx(
        reference.alignment(learner.kernel_(X), target), abs=1e-8
    )
    assert learner.alignment_ > 0.25


@pytest.mark.parametrize("labels", [("b", "a"), (True, False), (-1, 1), (2.0, 5.0)])
def test_the_names_of_two_classes_do_not_matter(labels):
    X, y = two_moons()
    named = np.array(labels)[y]
    same_kernel(ContinuousAlignment().fit(X, named), ContinuousAlignment().fit(X, y), X, 1e-10)


# --- invariances ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family", [Gaussian(), Gaussian(ard=True), Matern(), Laplacian()], ids=name_of
)
def test_rows_in_another_order_give_the_same_kernel(family):
    X, y = two_moons(40)
    order = np.random.default_rng(0).permutation(len(X))
    learner = ContinuousAlignment(family).fit(X, y)
    shuffled = ContinuousAlignment(family).fit(X[order], y[order])
    # Several bandwidths are found to the search's accuracy, one to the scan's.
    same_kernel(shuffled, learner, X, 1e-3 if family.ard else 1e-8)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(shift=st.floats(-1e3, 1e3), scale=st.floats(1e-6, 1e6), seed=st.integers(0, 5))
def test_shift_and_scale_of_x_move_only_sigma(shift, scale, seed):
    X, y = two_moons(30, noise=0.3, seed=seed)
    learner = ContinuousAlignment().fit(X, y)
    moved = ContinuousAlignment().fit((X + shift) * scale, y)
    assert moved.alignment_ == pytest.approx(learner.alignment_, abs=1e-7)
    np.testing.assert_allclose(sigmas(moved), scale * sigmas(learner), rtol=1e-4)
    np.testing.assert_allclose(moved.kernel_((X + shift) * scale), learner.kernel_(X), atol=1e-5)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(
    offset=st.floats(-1e4, 1e4),
    scale=st.floats(1e-5, 1e5).flatmap(lambda s: st.sampled_from([s, -s])),
)
def test_an_affine_change_of_the_response_changes_nothing(offset, scale):
    X, y = make_friedman1(30, random_state=0)
    same_kernel(
        ContinuousAlignment().fit(X, scale * (y + offset)), ContinuousAlignment().fit(X, y), X, 1e-5
    )


@pytest.mark.parametrize("options", [{}, {"start": "best"}, {"corrective": True}], ids=name_of)
@pytest.mark.parametrize("family", FAMILIES[:-1], ids=name_of)
def test_integer_weights_are_repeated_rows(family, options):
    X, y = two_moons(30)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = ContinuousAlignment(family, **options).fit(X, y, sample_weight=weight)
    repeated = ContinuousAlignment(family, **options).fit(*reference.repeat_rows(X, y, weight))
    several = getattr(family, "ard", False) or isinstance(family, RationalQuadratic)
    same_kernel(weighted, repeated, X, 1e-3 if several else 1e-6)
    # The weights are seen at all.
    plain = ContinuousAlignment(family, **options).fit(X, y)
    assert np.abs(weighted.kernel_(X) - plain.kernel_(X)).max() > 1e-3


@pytest.mark.filterwarnings("ignore::kernalign.AlignmentWarning")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(data=st.data())
def test_integer_weights_are_repeated_rows_whatever_they_are(data):
    X, y = two_moons(16, seed=3)
    weight = np.array(data.draw(st.lists(st.integers(0, 5), min_size=16, max_size=16)))
    weight[[0, np.argmax(y != y[0])]] += 1
    weighted = ContinuousAlignment(Gaussian(bounds=BOUNDS)).fit(X, y, sample_weight=weight)
    A, b = reference.repeat_rows(X, y, weight)
    repeated = ContinuousAlignment(Gaussian(bounds=BOUNDS)).fit(A, b)
    assert weighted.alignment_ == pytest.approx(repeated.alignment_, abs=1e-7)
    np.testing.assert_allclose(path_of(weighted), path_of(repeated), atol=1e-7)


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(ard=True), Linear()], ids=name_of)
def test_rows_of_weight_zero_are_as_if_removed(family):
    X, y = two_moons(40)
    weight = np.random.default_rng(2).integers(0, 2, len(X)).astype(float)
    X[weight == 0] *= 1e3
    zero = ContinuousAlignment(family).fit(X, y, sample_weight=weight)
    removed = ContinuousAlignment(family).fit(X[weight > 0], y[weight > 0])
    assert zero.kernel_ == removed.kernel_
    assert zero.alignment_ == removed.alignment_


def test_a_class_of_weight_zero_is_as_if_removed():
    X, y = make_blobs(45, centers=3, cluster_std=3.0, random_state=1)
    weight = (y != 1).astype(float)
    zero = ContinuousAlignment().fit(X, y, sample_weight=weight)
    same_kernel(zero, ContinuousAlignment().fit(X[y != 1], y[y != 1]), X)


@pytest.mark.parametrize("total", [1e-6, 0.5, 1.0, 20.0])
def test_weights_may_sum_to_anything(total):
    X, y = two_moons(40)
    weight = np.full(len(X), total / len(X))
    learner = ContinuousAlignment().fit(X, y, sample_weight=weight)
    plain = ContinuousAlignment().fit(X, y)
    assert learner.alignment_ == pytest.approx(plain.alignment_, abs=0.01)
    assert np.isfinite(learner.kernel_(X)).all()


# --- the same answer every time ------------------------------------------------------------------


@pytest.mark.parametrize(
    "family", [Gaussian(), Gaussian(ard=True), Fourier(), RationalQuadratic()], ids=name_of
)
def test_the_same_seed_gives_the_same_kernel(family):
    X, y = two_moons(40)
    one = ContinuousAlignment(family, random_state=7, max_iter=4).fit(X, y)
    two = ContinuousAlignment(family, random_state=7, max_iter=4).fit(X, y)
    state = ContinuousAlignment(family, random_state=np.random.RandomState(7), max_iter=4).fit(X, y)
    assert one.kernel_ == two.kernel_ == state.kernel_
    assert one.alignment_ == two.alignment_


@pytest.mark.parametrize(
    "family",
    [Gaussian(), Laplacian(), Matern(), Gaussian(ard=True), Fourier(), AnyOf(Gaussian(), Linear())],
    ids=name_of,
)
def test_the_number_of_threads_changes_nothing(family):
    # More rows than a block has, so that the blocks are shared among the threads.
    X, y = two_moons(600 if not getattr(family, "ard", True) else 300, noise=0.3)
    kernels = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            kernels.append(ContinuousAlignment(family, max_iter=3).fit(X, y).kernel_)
    assert kernels[0] == kernels[1]


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", range(3))
def test_start_best_begins_with_the_best_single_kernel(problem):
    X, y = problems()[problem]
    first = ContinuousAlignment(Gaussian(bounds=BOUNDS), start="best").fit(X, y).history_[0]
    gram, target = gaussian_of(X), reference.target_binary(np.where(y > 0, 1.0, -1.0))
    values = [reference.alignment(gram(s), target) for s in np.geomspace(*BOUNDS, 400)]
    assert first["objective"] >= max(values) - 1e-6
    assert first["objective"] == pytest.approx(
        reference.alignment(gram(first["kernel"].sigma[0]), target), abs=1e-8
    )
    assert first["objective"] == pytest.approx(first["search_value"], abs=1e-5)


@pytest.mark.parametrize("problem", range(3))
def test_selection_by_step_reaches_the_alignment_it_promises(problem):
    X, y = problems()[problem]
    family = Gaussian(bounds=BOUNDS)
    step = ContinuousAlignment(family, selection="step", tol=1e-4).fit(X, y)
    # The objective of this search is the alignment after the step.
    np.testing.assert_allclose(path_of(step), [r["search_value"] for r in step.history_], atol=1e-5)
    paper = path_of(ContinuousAlignment(family, tol=1e-4).fit(X, y))
    shared = min(len(paper), len(step.history_))
    assert (path_of(step)[:shared] >= paper[:shared] - 1e-7).all()
    assert path_of(step)[0] > paper[0]


@pytest.mark.parametrize("problem", range(3))
def test_selection_by_step_takes_the_best_first_kernel_there_is(problem):
    X, y = problems()[problem]
    first = ContinuousAlignment(Gaussian(bounds=BOUNDS), selection="step").fit(X, y).history_[0]
    gram, target = gaussian_of(X), reference.target_binary(np.where(y > 0, 1.0, -1.0))
    identity = 1e-10 * reference.centring_matrix(len(X))
    best = 0.0
    for sigma in np.geomspace(*BOUNDS, 200):
        K = reference.centre(gram(sigma))
        eta = reference.eta_star(identity, K, target)
        best = max(best, reference.alignment(identity + eta * K, target))
    assert first["objective"] >= best - 1e-6


def test_start_best_with_selection_by_step_reaches_the_alignment_it_promises():
    """The promise of the search must not be cut off by the largest step."""
    X, y = reference.section12()
    learner = ContinuousAlignment(
        Gaussian(bounds=BOUNDS), start="best", selection="step", tol=1e-4
    ).fit(X, y)
    objective = [r["search_value"] for r in learner.history_]
    np.testing.assert_allclose(path_of(learner), objective, atol=1e-5)


@pytest.mark.parametrize("number", [1, 2, 3, 5])
@pytest.mark.parametrize("problem", range(3))
def test_reweighting_is_optimal_over_its_kernels(problem, number):
    X, y = problems()[problem]
    target = reference.target_binary(np.where(y > 0, 1.0, -1.0))
    family = Gaussian(bounds=BOUNDS)
    learner = ContinuousAlignment(family, corrective=True, tol=0, max_iter=number).fit(X, y)
    grams = [np.eye(len(X)), *(kernel(X) for kernel in learner.kernel_.kernels)]
    best = reference.optimal_weights_alignf(grams, target)
    K = sum(weight * gram for weight, gram in zip(best, grams, strict=True))
    assert path_of(learner)[-1] == pytest.approx(reference.alignment(K, target), abs=1e-7)
    # The certificate of the non-negative problem: no kernel in it could gain from more weight.
    P = reference.P_matrix(reference.centre(K), reference.centre(target))
    assert max(reference.frobenius(P, reference.centre(gram)) for gram in grams) < 1e-6
    np.testing.assert_allclose(
        learner.kernel_.weights / learner.kernel_.weights.sum(),
        best[1:] / best[1:].sum(),
        rtol=1e-3,
    )


@pytest.mark.parametrize("problem", range(3))
def test_reweighting_is_never_below_the_paper_on_the_same_kernels(problem):
    X, y = problems()[problem]
    family = Gaussian(bounds=BOUNDS)
    paper = ContinuousAlignment(family, tol=0, max_iter=12).fit(X, y)
    again = ContinuousAlignment(family, tol=0, max_iter=12, corrective=True).fit(X, y)
    # The first two kernels are the same, later ones answer different residuals.
    np.testing.assert_allclose(sigmas(again)[:2], sigmas(paper)[:2], rtol=1e-4)
    assert (path_of(again)[:2] >= path_of(paper)[:2] - 1e-9).all()
    assert path_of(again)[-1] > path_of(paper)[-1]


# --- families ------------------------------------------------------------------------------------


def views(n=80, seed=0):
    """Two views of two columns: the second tells the class, the first is noise."""
    rng = np.random.default_rng(seed)
    signal, y = make_moons(n, noise=0.1, random_state=seed)
    return np.hstack([rng.standard_normal((n, 2)), signal]), y


@pytest.mark.parametrize("members", [(Gaussian, Gaussian), (Laplacian, Matern), (Linear, Gaussian)])
def test_any_of_picks_the_view_that_carries_the_signal(members):
    X, y = views()
    noise, signal = members
    learner = ContinuousAlignment(AnyOf(noise(columns=[0, 1]), signal(columns=[2, 3]))).fit(X, y)
    first = learner.history_[0]["kernel"]
    assert type(first.family) is signal
    assert list(first.family.columns) == [2, 3]
    share = sum(
        weight
        for weight, kernel in zip(learner.kernel_.weights, learner.kernel_.kernels, strict=True)
        if list(kernel.family.columns) == [2, 3]
    )
    assert share / learner.kernel_.weights.sum() > 0.8


def test_any_of_is_no_worse_than_its_best_member():
    X, y = views()
    members = [Gaussian(columns=[0, 1]), Gaussian(columns=[2, 3])]
    alone = [ContinuousAlignment(family, max_iter=1).fit(X, y) for family in members]
    union = ContinuousAlignment(AnyOf(*members), max_iter=1).fit(X, y)
    assert union.history_[0]["search_value"] >= max(
        a.history_[0]["search_value"] for a in alone
    ) * (1 - 1e-6)


def test_views_can_be_named():
    pandas = pytest.importorskip("pandas")
    X, y = views()
    frame = pandas.DataFrame(X, columns=["n0", "n1", "s0", "s1"])
    family = AnyOf(Gaussian(columns=["n0", "n1"]), Gaussian(columns=["s0", "s1"]))
    learner = ContinuousAlignment(family).fit(frame, y)
    positions = AnyOf(Gaussian(columns=[0, 1]), Gaussian(columns=[2, 3]))
    assert learner.kernel_ == ContinuousAlignment(positions).fit(X, y).kernel_
    assert list(learner.feature_names_in_) == list(frame.columns)


def test_one_bandwidth_per_feature_drops_noise_features():
    X, y = two_moons(100, noise=0.1, seed=0)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((100, 6))])
    learner = ContinuousAlignment(Gaussian(ard=True)).fit(X, y)
    first = learner.history_[0]["kernel"].sigma
    assert np.isfinite(first[:2]).all()
    assert np.isinf(first[2:]).all()
    # Exactly irrelevant: the kernel does not see the feature at all.
    Z = X.copy()
    Z[:, 2:] = 1e3
    kernel = learner.history_[0]["kernel"]
    np.testing.assert_array_equal(kernel(X), kernel(Z))
    assert learner.alignment_ > ContinuousAlignment().fit(X, y).alignment_ + 0.1


# --- as an estimator -----------------------------------------------------------------------------


def test_parameters_can_be_read_set_and_cloned():
    learner = ContinuousAlignment(Gaussian(ard=True), tol=1e-2, penalty=[0.0, 1.0])
    assert learner.get_params()["tol"] == 1e-2
    assert learner.get_params()["family__ard"] is True
    learner.set_params(tol=1e-4, family__ard=False)
    assert learner.tol == 1e-4
    assert learner.family.ard is False
    copy = clone(learner)
    assert copy is not learner
    assert copy.family is not learner.family
    assert repr(copy) == repr(learner)
    with pytest.raises(ValueError, match="Invalid parameter 'theta'"):
        learner.set_params(theta=1)


def test_fit_leaves_parameters_and_data_alone():
    X, y = two_moons(30)
    family = Gaussian(ard=True, columns=[1, 0])
    learner = ContinuousAlignment(family)
    before, X_before = repr(learner.get_params()), X.copy()
    learner.fit(X, y)
    assert repr(learner.get_params()) == before
    assert learner.family is family
    np.testing.assert_array_equal(X, X_before)


def test_a_second_fit_forgets_the_first():
    X, y = two_moons(30)
    other, other_y = make_blobs(30, centers=3, n_features=4, random_state=0)
    learner = ContinuousAlignment().fit(other, other_y)
    assert learner.fit(X, y).kernel_ == ContinuousAlignment().fit(X, y).kernel_
    assert learner.n_features_in_ == 2


def test_grid_search_tunes_the_learner_inside_a_classifier():
    X, y = two_moons(40)
    families = [Linear(), Gaussian()]
    search = GridSearchCV(
        KernelClassifier(ContinuousAlignment(), C=1.0),
        {"learner__tol": [1e-1, 1e-3], "learner__family": families},
        cv=2,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert isinstance(search.best_params_["learner__family"], Gaussian)
    assert search.best_estimator_.learner_.tol == search.best_params_["learner__tol"]
    assert search.score(X, y) > 0.8


def test_nothing_to_align_gives_the_best_single_kernel_and_a_warning():
    """Two copies of each row with opposite labels: no kernel can tell them apart."""
    X, y = two_moons(20)
    X, y = np.vstack([X, X]), np.r_[y, 1 - y]
    with pytest.warns(AlignmentWarning, match="No kernel of the family raises the alignment"):
        learner = ContinuousAlignment().fit(X, y)
    assert len(learner.kernel_.kernels) == 1
    assert learner.alignment_ == pytest.approx(0, abs=1e-9)
    assert np.trace(reference.centre(learner.kernel_(X))) / len(X) == pytest.approx(1, abs=1e-8)


def moons_in_noise(n, seed):
    X, y = make_moons(n, noise=0.2, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=(n, 10))
    return np.hstack([X, noise]), y


def test_early_stopping_takes_the_length_that_aligns_best_with_held_out_rows():
    X, y = moons_in_noise(120, 0)
    learner = ContinuousAlignment(Gaussian(ard=True), early_stopping=True).fit(X, y)
    held = [record["held_out"] for record in learner.stopping_path_]
    assert len(learner.history_) <= int(np.argmax(held)) + 1
    # In training every iteration is a gain, also those that held-out rows do not confirm.
    trained = [record["alignment"] for record in learner.stopping_path_]
    assert (np.diff(trained) > -1e-12).all()


def test_noise_aligns_in_training_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 30)), rng.integers(2, size=80)
    learner = ContinuousAlignment(Gaussian(ard=True), early_stopping=True).fit(X, y)
    last = learner.stopping_path_[-1]
    assert last["alignment"] > 0.15
    assert abs(last["held_out"]) < 0.1


def test_folds_keep_the_length_that_was_chosen():
    X, y = moons_in_noise(120, 0)
    learner = ContinuousAlignment(Gaussian(ard=True), early_stopping=True).fit(X, y)
    copy = learner.for_folds()
    assert copy.max_iter == len(learner.history_)
    assert not copy.early_stopping


def test_history_weights_are_those_of_the_path():
    X, y = moons_in_noise(100, 1)
    for corrective in (False, True):
        learner = ContinuousAlignment(corrective=corrective).fit(X, y)
        T = np.outer(2 * y - 1, 2 * y - 1)
        for t, record in enumerate(learner.history_):
            assert len(record["weights"]) == t + 1
        last = learner.history_[-1]
        K = sum(w * r["kernel"](X) for w, r in zip(last["weights"], learner.history_, strict=True))
        assert centered_alignment(K, T) == pytest.approx(learner.alignment_, abs=1e-9)
