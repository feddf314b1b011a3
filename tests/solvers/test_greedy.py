"""The greedy loop takes any criterion that offers a growth."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from kernalign import ContinuousEvidence
from kernalign.criteria.evidence import Evidence, LeaveOneOut, Slope
from kernalign.criteria.growth import GROWTH, AlignmentGrowth, Growth, check_needs
from kernalign.criteria.risk import RegularisedRisk
from kernalign.gram import Target, pair_sums
from kernalign.kernels import AnyOf, Gaussian, Laplacian, Linear, Matern
from kernalign.solvers.greedy import Settings, best_of_families, grow
from kernalign.solvers.hull import RiskGrowth, descend
from kernalign.solvers.hull_search import HullSearch, RiskSettings
from kernalign.solvers.ridge_growth import FIRST_NOISE, TRIED_WEIGHT, Dictionary, RidgeGrowth

FAMILIES = [Gaussian(), Gaussian(ard=True), Matern(ard=True), Linear()]
both = pytest.mark.parametrize("criterion", [Evidence, LeaveOneOut])


def rows(n=60, seed=0, noise=0.1):
    """A linear trend in one feature and a wave in another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 2 * X[:, 1] + np.sin(3 * X[:, 0]) + noise * rng.normal(size=n)


def growth(criterion, families, X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    families = [family.resolve(X) for family in families]
    spaces = [f.search_space(f.select(X), np.random.default_rng(0)) for f in families]
    data = [f.select(X) for f in families]
    target = Target(y[:, None], weight)
    return RidgeGrowth(criterion(target), Dictionary(families, spaces, data), 30), spaces


def naive(path, K, noise):
    return path.criterion.evaluate(K, noise).value


@both
def test_the_slope_is_the_derivative_along_the_next_kernel(criterion):
    """d/dw of the criterion at K + w K', at w = 0, by central differences."""
    path, spaces = growth(criterion, FAMILIES, *rows(), weight=np.arange(60) % 3 + 1.0)
    path.add(0, spaces[0].scan[len(spaces[0].scan) // 2])
    objective = path.objective("slope")
    for f, space in enumerate(spaces):
        z = space.scan[len(space.scan) // 2]
        (value,), _ = path.probe(objective, f).products(z)
        family = path.dictionary.families[f]
        K_new = family.gram(family.from_search(z), path.dictionary.data[f])
        h = 1e-4
        up, down = (naive(path, path.K + w * K_new, path.noise) for w in (h, -h))
        assert value == pytest.approx(-(up - down) / (2 * h), rel=1e-4)


@both
@pytest.mark.parametrize("by", ["slope", "step"])
@pytest.mark.parametrize("size", [0, 1])
def test_gradients_of_the_search(criterion, by, size):
    path, spaces = growth(criterion, FAMILIES, *rows(30))
    for _ in range(size):
        path.add(0, spaces[0].scan[len(spaces[0].scan) // 2])
    objective = path.objective(by)
    rng = np.random.default_rng(1)
    for f, space in enumerate(spaces):
        probe = path.probe(objective, f)
        z = space.scan[len(space.scan) // 2] * (1 + 0.1 * rng.random(space.p))
        probe.products(z)
        slope = probe.gradient(z, *objective.derivative(*probe.products(z)))
        for k in range(space.p):
            h = np.zeros(space.p)
            h[k] = 1e-5
            up, down = (float(objective.value(*probe.products(z + s * h))) for s in (1, -1))
            assert slope[k] == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-6)


@both
def test_the_first_kernel_is_the_best_by_itself(criterion):
    X, y = rows()
    path, spaces = growth(criterion, [Gaussian(), Laplacian()], X, y)
    family, found = best_of_families(path.objective("step"), path, spaces, Settings())
    on_grid = []
    for f, space in enumerate(spaces):
        member = path.dictionary.families[f]
        for z in np.linspace(space.lower, space.upper, 400):
            K = member.gram(member.from_search(z), X)
            on_grid.append((naive(path, K, FIRST_NOISE), f))
    least, best = min(on_grid)
    assert family == best
    assert -found.value == pytest.approx(least, abs=1e-4)
    assert -found.value <= least + 1e-9


@both
def test_every_kernel_lowers_the_criterion_and_the_last_does_not_pay(criterion):
    X, y = rows()
    path, spaces = growth(criterion, [Gaussian(), Linear(), Laplacian()], X, y)
    records = []
    grow(path, spaces, Settings(T=6, theta=3 / 60, callback=records.append))
    values = [record["objective"] for record in records]
    gains = -np.diff(values)
    assert (gains[:-1] > 3 / 60).all()
    assert len(values) == 6 or gains[-1] <= 3 / 60
    assert -path.value() == pytest.approx(values[-1])
    assert len(records[-1]["weights"]) == len(path.atoms) == len(values)
    # What the records say is the criterion of the sum that they describe.
    K = sum(w * path.kernel(t)(X) for t, w in enumerate(records[-1]["weights"]))
    np.testing.assert_allclose(K, path.K, rtol=1e-10, atol=1e-12)
    assert naive(path, K, records[-1]["noise"]) == pytest.approx(values[-1])


def test_a_tried_kernel_enters_with_a_small_weight():
    path, spaces = growth(Evidence, [Gaussian(), Linear()], *rows())
    path.add(0, spaces[0].scan[3])
    z = spaces[1].scan[0]
    family = path.dictionary.families[1]
    K_new = family.gram(family.from_search(z), path.dictionary.data[1])
    (value,), _ = path.probe(path.objective("step"), 1).products(z)
    assert -value == pytest.approx(naive(path, path.K + TRIED_WEIGHT * K_new, path.noise))


def test_evidence_finds_both_parts_of_a_sum_and_no_third():
    X, y = rows(150)
    families = AnyOf(Linear(), Gaussian(ard=True), Laplacian(ard=True))
    one, many = (ContinuousEvidence(families, max_kernels=k).fit(X, y) for k in (1, 4))
    assert len(one.kernel_.kernels) == 1
    names = sorted(type(kernel.family).__name__ for kernel in many.kernel_.kernels)
    assert len(names) == 2
    assert "Linear" in names
    assert many.objective_ < one.objective_ - 3 / 150
    every = ContinuousEvidence(families).fit(X, y)
    assert many.objective_ == pytest.approx(every.objective_, abs=0.05)
    assert [r["iteration"] for r in many.growth_] == list(range(1, len(many.growth_) + 1))
    assert every.growth_ == []


def test_noise_gets_one_kernel():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    learner = ContinuousEvidence(AnyOf(Linear(), Gaussian()), max_kernels=3).fit(X, y)
    assert len(learner.kernel_.kernels) == 1


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many"])
def test_max_kernels_is_a_count(wrong):
    X, y = rows(20)
    with pytest.raises(ValueError, match="'max_kernels' parameter of ContinuousEvidence"):
        ContinuousEvidence(max_kernels=wrong).fit(X, y)


def test_a_criterion_that_cannot_grow_is_refused_by_name():
    part = SimpleNamespace(atoms=[], value=None, probe=None)
    with pytest.raises(TypeError, match=r"SimpleNamespace has no 'empty', 'objective', 'add'"):
        grow(part, [], Settings())
    for needed in GROWTH:
        assert needed in Growth.__annotations__ or hasattr(Growth, needed)


def test_alignment_and_evidence_offer_all_that_the_loop_needs():
    X, y = rows(20)
    family = Gaussian().resolve(X)
    space = family.search_space(X, np.random.default_rng(0))
    sums = pair_sums([family], [space], X, Target(y[:, None], np.ones(20)))
    check_needs("test", AlignmentGrowth(sums, 1e-10, 1.0, corrective=False, best=False), GROWTH)
    check_needs("test", growth(Evidence, [Gaussian()], X, y)[0], GROWTH)


class Doubled(Evidence):
    """A criterion of the user's own: twice the evidence, so that the same kernels are best."""

    def evaluate(self, K, noise):
        slope = super().evaluate(K, noise)
        return Slope(2 * slope.value, 2 * slope.G, 2 * slope.noise)


class Mute:
    """Lacks what the descent needs."""

    def __init__(self, target):
        self.total = target.total


@pytest.mark.parametrize("max_kernels", [None, 2])
def test_a_criterion_of_ones_own(max_kernels):
    X, y = rows(50)
    family = AnyOf(Gaussian(), Linear())
    own = ContinuousEvidence(family, criterion=Doubled, max_kernels=max_kernels, max_iter=300)
    given = clone(own).set_params(criterion="evidence").fit(X, y)
    own = clone(own).fit(X, y)
    assert own.objective_ == pytest.approx(2 * given.objective_, rel=1e-3)


def test_a_criterion_without_a_value_is_refused_by_name():
    X, y = rows(20)
    with pytest.raises(TypeError, match="Mute has no 'evaluate'"):
        ContinuousEvidence(criterion=Mute).fit(X, y)
    with pytest.raises(ValueError, match="'criterion' parameter of ContinuousEvidence"):
        ContinuousEvidence(criterion="luck").fit(X, y)


def test_the_loop_by_risk_ends_where_the_certified_descent_does():
    X, y = rows(40)
    Y, weight = (y - y.mean())[:, None], np.ones(40)
    families = [Gaussian().resolve(X), Laplacian().resolve(X)]
    spaces = [f.search_space(X, np.random.default_rng(0)) for f in families]
    settings = RiskSettings(corrective=True, tol=1e-6, tol_fun=0.0)
    search = HullSearch(families, spaces, X, settings, np.random.default_rng(0))
    certified = RegularisedRisk(Y, 0.1, weight)
    found = descend(search, certified)
    assert found.gap <= 1e-6
    records = []
    path = RiskGrowth(search, RegularisedRisk(Y, 0.1, weight))
    grow(path, spaces, Settings(T=50, theta=1e-9 * certified.value, callback=records.append))
    assert (np.diff([record["objective"] for record in records]) <= 1e-12).all()
    assert -path.value() == pytest.approx(certified.value, rel=1e-5)
    assert sum(records[-1]["weights"]) == pytest.approx(1)
    K = sum(atom.weight * search.kernel(atom)(X) for atom in path.mixture)
    naive = np.vdot(Y, np.linalg.solve(K + 0.1 * np.eye(40), Y))
    assert -path.value() == pytest.approx(naive, rel=1e-8)


def test_a_first_kernel_of_which_nothing_is_left_ends_the_loop():
    """Bounds far beyond the rows: every kernel is one number, and centred it is zero."""
    X, y = rows(30)
    X = X * 1e-100
    family = Gaussian(bounds=(1e6, 1e7)).resolve(X)
    spaces = [family.search_space(X, np.random.default_rng(0))]
    sums = pair_sums([family], spaces, X, Target(y[:, None], np.ones(30)))
    path = AlignmentGrowth(sums, 1e-10, 1.0, corrective=True, best=True)
    assert len(grow(path, spaces, Settings(T=5))) == 1
    assert path.empty
