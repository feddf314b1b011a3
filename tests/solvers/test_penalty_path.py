"""The penalty lambda |sigma - mean sigma|^2: its gradient, its two ends, the choice of lambda."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    Laplacian,
    Linear,
    Matern,
    RationalQuadratic,
    centered_alignment,
)
from kernalign.gram import Target
from kernalign.gram.sampling import split_in_proportion
from kernalign.kernels.tied import Ground
from kernalign.learners.base import generator
from kernalign.solvers.greedy import Settings
from kernalign.solvers.penalty_path import LARGEST, PATH, penalised_problem

TIED = [Gaussian, Laplacian, Matern]


def problem_of(family, X, penalty):
    """The problem for one lambda, with a resolved family."""
    return penalised_problem(Ground.of([family], X, np.random.default_rng(0)), penalty, Settings())


def noisy_moons(n=60, noise_features=2, seed=0):
    X, y = make_moons(n, noise=0.2, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal((n, noise_features))
    return np.hstack([X, noise]), y


def deviations(learner):
    """|sigma - mean sigma|^2 of each kernel in use."""
    return [float(((k.sigma - k.sigma.mean()) ** 2).sum()) for k in learner.kernel_.kernels]


def name_of(family):
    return family.__name__


# --- the term ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", TIED, ids=name_of)
def test_the_term_is_the_papers_and_its_gradient_is_right(family):
    X, _ = noisy_moons()
    X = X * [1.0, 10.0, 0.1, 1.0]
    resolved = family(ard=True).resolve(X)
    penalty = 0.7
    problem = problem_of(resolved, X, penalty)
    (term,) = problem.settings.penalties
    z = resolved.to_search(np.array([1.5, 8.0, 0.4, 2.0]))
    value, slope = term(z)
    sigma = resolved.from_search(z)
    assert value == pytest.approx(penalty * ((sigma - sigma.mean()) ** 2).sum(), rel=1e-12)
    for k in range(4):
        h = 1e-6 * z[k] * np.eye(4)[k]
        difference = (term(z + h)[0] - term(z - h)[0]) / (2 * h[k])
        assert slope[k] == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("family", TIED, ids=name_of)
def test_the_term_is_a_number_in_any_units(family):
    X, _ = noisy_moons()
    resolved = family(ard=True).resolve(X * 1e200)
    (term,) = problem_of(resolved, X * 1e200, 100.0).settings.penalties
    value, slope = term(resolved.to_search(np.array([1.5, 8.0, 0.4, 2.0]) * 1e200))
    assert value == LARGEST
    assert np.isfinite(slope).all()
    value, slope = term(np.zeros(4))
    assert value == LARGEST
    assert np.isfinite(slope).all()


def test_equal_bandwidths_cost_nothing():
    X, _ = noisy_moons()
    resolved = Gaussian(ard=True).resolve(X)
    problem = problem_of(resolved, X, 1e9)
    value, slope = problem.settings.penalties[0](resolved.to_search(np.full(4, 1.3)))
    assert value == pytest.approx(0, abs=1e-18)
    np.testing.assert_allclose(slope, 0, atol=1e-3)


def test_under_a_penalty_every_bandwidth_stays_finite():
    X, _ = noisy_moons()
    resolved = Gaussian(ard=True).resolve(X)
    problem = problem_of(resolved, X, 1e-5)
    (space,) = problem.spaces
    assert np.isfinite(resolved.from_search(space.lower)).all()
    free = problem_of(resolved, X, 0.0)
    assert np.isinf(resolved.from_search(free.spaces[0].lower)).all()


def test_families_without_a_common_bandwidth_are_not_penalised():
    X, _ = noisy_moons()
    families = [Gaussian(ard=True).resolve(X), Linear().resolve(X), Gaussian().resolve(X)]
    ground = Ground.of(families, X, np.random.default_rng(0))
    problem = penalised_problem(ground, 1.0, Settings())
    assert [term is not None for term in problem.settings.penalties] == [True, False, False]


# --- its two ends --------------------------------------------------------------------------------


@pytest.mark.parametrize("family", TIED, ids=name_of)
def test_infinity_is_one_common_bandwidth_exactly(family):
    X, y = noisy_moons()
    tied = ContinuousAlignment(family(ard=True), penalty=np.inf).fit(X, y)
    one = ContinuousAlignment(family()).fit(X, y)
    assert tied.kernel_ == one.kernel_
    assert tied.alignment_ == one.alignment_
    assert [r["objective"] for r in tied.history_] == [r["objective"] for r in one.history_]
    assert tied.penalty_ == np.inf


def test_a_large_lambda_all_but_ties_the_bandwidths():
    X, y = noisy_moons()
    large = ContinuousAlignment(Gaussian(ard=True), penalty=1e14).fit(X, y)
    tied = ContinuousAlignment(Gaussian(ard=True), penalty=np.inf).fit(X, y)
    assert max(deviations(large)) < 1e-6
    assert large.alignment_ == pytest.approx(tied.alignment_, abs=0.02)


def test_a_small_lambda_all_but_frees_them():
    X, y = noisy_moons()
    free = ContinuousAlignment(Gaussian(ard=True)).fit(X, y)
    small = ContinuousAlignment(Gaussian(ard=True), penalty=1e-5).fit(X, y)
    assert small.alignment_ == pytest.approx(free.alignment_, abs=0.01)
    assert free.penalty_ == 0
    assert free.penalty_path_ == []


def test_a_larger_lambda_pulls_the_bandwidths_together():
    X, y = noisy_moons()
    first = []
    for penalty in (1e2, 1e5, 1e8, 1e11):
        learner = ContinuousAlignment(Gaussian(ard=True), penalty=penalty, max_iter=1).fit(X, y)
        first.append(deviations(learner)[0])
    assert (np.diff(first) < 0).all()


@pytest.mark.parametrize("penalty", [0.0, 1e3, 1e9])
def test_the_objective_recorded_is_slope_minus_penalty(penalty):
    """<P, K> - lambda |sigma - mean sigma|^2 at the first kernel, with P from its definition."""
    X, y = noisy_moons(30)
    learner = ContinuousAlignment(Gaussian(ard=True), penalty=penalty, max_iter=1).fit(X, y)
    record = learner.history_[0]
    n = len(X)
    centring = np.eye(n) - 1 / n
    t = centring @ (2.0 * y - 1)
    T, K0 = np.outer(t, t), 1e-10 * centring
    norm = np.linalg.norm(K0)
    P = (T - np.vdot(K0, T) * K0 / norm**2) / (norm * np.linalg.norm(T))
    sigma = record["kernel"].sigma
    cost = penalty * ((sigma - sigma.mean()) ** 2).sum() if penalty else 0.0
    assert record["search_value"] == pytest.approx(np.vdot(P, record["kernel"](X)) - cost, rel=1e-6)


# --- the choice of lambda ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chosen():
    X, y = noisy_moons()
    return ContinuousAlignment(Gaussian(ard=True), penalty="path").fit(X, y)


def test_the_path_has_infinity_and_the_papers_twenty_values(chosen):
    values = [record["penalty"] for record in chosen.penalty_path_]
    assert len(values) == 21
    assert values[0] == np.inf
    assert sorted(values[1:]) == sorted(PATH)
    assert sorted(PATH) == pytest.approx([10.0**k for k in range(-5, 15)])
    assert values == sorted(values, reverse=True)
    for record in chosen.penalty_path_:
        assert set(record) == {"penalty", "alignment", "held_out"}
        assert -1 <= record["held_out"] <= 1


def test_the_lambda_in_use_has_the_best_held_out_alignment(chosen):
    best = max(record["held_out"] for record in chosen.penalty_path_)
    by_penalty = {record["penalty"]: record["held_out"] for record in chosen.penalty_path_}
    assert by_penalty[chosen.penalty_] == best
    # On data with noise features the tied end is not it.
    assert best > by_penalty[np.inf] + 0.05


def test_alignment_on_the_rows_learned_from_grows_as_lambda_falls(chosen):
    """Fewer constraints: up to the accuracy of a local search."""
    alignments = [record["alignment"] for record in chosen.penalty_path_]
    assert alignments[-1] > alignments[0] + 0.1
    assert (np.diff(alignments) > -0.05).all()


def test_a_sequence_is_tried_in_descending_order_after_infinity():
    X, y = noisy_moons(40)
    learner = ContinuousAlignment(Gaussian(ard=True), penalty=[0.0, 1e6, np.inf]).fit(X, y)
    assert [r["penalty"] for r in learner.penalty_path_] == [np.inf, 1e6, 0.0]
    assert learner.penalty_ in (np.inf, 1e6, 0.0)


def test_the_first_of_the_path_is_the_tied_kernel_on_the_rows_learned_from():
    """Both numbers of the record, recomputed from the rows that were split off."""
    X, y = noisy_moons(48)
    fraction = 0.25
    learner = ContinuousAlignment(
        Gaussian(ard=True, bounds=(0.1, 10)), penalty=[1e14], validation_fraction=fraction
    ).fit(X, y)
    record = learner.penalty_path_[0]
    target = Target(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(len(y)))
    train, held_out = split_in_proportion(target, fraction, generator(0))
    assert len(held_out) == 12
    assert sorted([*train, *held_out]) == list(range(48))
    assert y[held_out].mean() == pytest.approx(y.mean(), abs=0.1)
    tied = ContinuousAlignment(Gaussian(bounds=(0.1, 10))).fit(X[train], y[train])
    assert record["alignment"] == pytest.approx(tied.alignment_, abs=1e-9)
    labels = 2.0 * y[held_out] - 1
    held = centered_alignment(tied.kernel_(X[held_out]), np.outer(labels, labels))
    assert record["held_out"] == pytest.approx(held, abs=1e-9)


@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.5])
def test_the_held_out_share_is_the_one_asked_for(fraction):
    y = np.repeat([0, 1, 2], [50, 30, 20])
    target = Target(np.eye(3)[y], np.ones(100))
    train, held_out = split_in_proportion(target, fraction, np.random.default_rng(0))
    assert len(held_out) == pytest.approx(100 * fraction, abs=1)
    assert len(train) + len(held_out) == 100
    for label, count in enumerate([50, 30, 20]):
        assert (y[held_out] == label).sum() == pytest.approx(count * fraction, abs=1.01)


def test_where_nothing_can_be_tied_there_is_nothing_to_choose():
    X, y = noisy_moons(40)
    for family in (Gaussian(), Linear(), RationalQuadratic()):
        learner = ContinuousAlignment(family, penalty="path", max_iter=2).fit(X, y)
        plain = ContinuousAlignment(family, max_iter=2).fit(X, y)
        assert learner.penalty_path_ == []
        assert learner.kernel_ == plain.kernel_


def test_a_union_is_tied_member_by_member():
    X, y = noisy_moons(40)
    union = AnyOf(Gaussian(ard=True, columns=[0, 1]), Laplacian(ard=True, columns=[2, 3]))
    tied = AnyOf(Gaussian(columns=[0, 1]), Laplacian(columns=[2, 3]))
    learner = ContinuousAlignment(union, penalty=np.inf).fit(X, y)
    assert learner.kernel_ == ContinuousAlignment(tied).fit(X, y).kernel_
    path = ContinuousAlignment(union, penalty=[1e3, 1.0]).fit(X, y)
    assert [r["penalty"] for r in path.penalty_path_] == [np.inf, 1e3, 1.0]


def test_the_choice_is_the_same_every_time():
    X, y = noisy_moons(40)
    learner = ContinuousAlignment(Gaussian(ard=True), penalty=[0.0, 1e3, 1e7], random_state=3)
    one, two = clone(learner).fit(X, y), clone(learner).fit(X, y)
    assert one.penalty_path_ == two.penalty_path_
    assert one.kernel_ == two.kernel_


# --- folds ---------------------------------------------------------------------------------------


def test_inside_folds_the_chosen_lambda_is_held_fixed(chosen):
    inner = chosen.for_folds()
    assert inner.penalty == chosen.penalty_
    assert not hasattr(inner, "kernel_")
    assert chosen.penalty == "path"
    for name, value in inner.get_params(deep=False).items():
        if name not in ("penalty", "family"):
            assert value == chosen.get_params()[name]


def test_an_unfitted_learner_keeps_its_penalty_for_folds():
    assert ContinuousAlignment(Gaussian(ard=True), penalty="path").for_folds().penalty == "path"


def test_a_classifier_chooses_lambda_once(monkeypatch):
    """Nested folds learn the kernel again, at the lambda that the fit on all rows chose."""
    seen = []
    original = ContinuousAlignment.learn

    def spy(self, X, target, feature_names=None):
        seen.append(self.penalty)
        return original(self, X, target, feature_names)

    monkeypatch.setattr(ContinuousAlignment, "learn", spy)
    X, y = noisy_moons(40)
    learner = ContinuousAlignment(Gaussian(ard=True), penalty=[1e3, 1e7])
    clf = KernelClassifier(learner, cv=3, C=[0.1, 1.0]).fit(X, y)
    assert seen[0] == [1e3, 1e7]
    assert seen[1:] == [clf.learner_.penalty_] * 3
