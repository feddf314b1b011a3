"""A union of families behaves as one scikit-learn object."""

import numpy as np
import pytest
from sklearn.base import clone

from kernalign.kernels import AnyOf, Dirichlet, Gaussian, Laplacian, Matern


def union():
    return AnyOf(Gaussian(columns=[0, 1]), Matern(nu=2.5, bounds=(0.1, 9)))


def test_get_params():
    any_of = union()
    shallow = any_of.get_params(deep=False)
    assert list(shallow) == ["family_0", "family_1"]
    assert shallow["family_0"] is any_of.families[0]
    deep = any_of.get_params()
    assert deep["family_0__columns"] == [0, 1]
    assert deep["family_1__nu"] == 2.5
    assert deep["family_1__bounds"] == (0.1, 9)


def test_set_params():
    any_of = union()
    other = Laplacian()
    assert any_of.set_params(family_0=other, family_1__nu=0.5) is any_of
    assert any_of.families[0] is other
    assert any_of.families[1].nu == 0.5
    assert repr(any_of) == "AnyOf(Laplacian(), Matern(bounds=(0.1, 9), nu=0.5))"


@pytest.mark.parametrize("name", ["family_2", "family_x", "nu", "families", "family_0x", "family"])
def test_set_params_refuses_unknown_names(name):
    with pytest.raises(ValueError, match=f"Invalid parameter '{name}' for AnyOf of 2"):
        union().set_params(**{name: Gaussian()})


def test_set_params_refuses_unknown_inner_names():
    with pytest.raises(ValueError, match="'bandwidth'"):
        union().set_params(family_0__bandwidth=1)


def test_clone_is_deep():
    any_of = union()
    copy = clone(any_of)
    assert copy is not any_of
    assert repr(copy) == repr(any_of)
    copy.set_params(family_1__nu=0.5)
    assert any_of.families[1].nu == 2.5


def test_repr():
    assert repr(AnyOf(Gaussian(columns=[0]), Dirichlet(columns=["t"]))) == (
        "AnyOf(Gaussian(columns=[0]), Dirichlet(columns=['t']))"
    )


def test_members_of_nested_unions():
    a, b, c = Gaussian(), Laplacian(), Matern()
    assert AnyOf(AnyOf(a, b), c).members() == [a, b, c]
    assert a.members() == [a]


def test_resolve_resolves_every_member():
    X = np.random.default_rng(0).normal(size=(8, 3))
    resolved = AnyOf(Gaussian(columns=["c"]), AnyOf(Laplacian(columns=slice(0, 2)))).resolve(
        X, ["a", "b", "c"]
    )
    assert [m.columns for m in resolved.members()] == [[2], [0, 1]]


def test_needs_families():
    with pytest.raises(ValueError, match="at least one family"):
        AnyOf().members()
    with pytest.raises(ValueError, match=r"needs kernel families. Got 'rbf'"):
        AnyOf(Gaussian(), "rbf").members()
    with pytest.raises(ValueError, match="needs kernel families"):
        AnyOf(Gaussian).members()


def test_has_no_formula_of_its_own():
    X, rng = np.zeros((3, 2)), np.random.default_rng(0)
    one = np.ones(1)
    for call in (
        lambda: union().gram(one, X),
        lambda: union().diag(one, X),
        lambda: union().gradient(one, X, None, X, X),
        lambda: union().search_space(X, rng),
    ):
        with pytest.raises(TypeError, match=r"use its members\(\)"):
            call()
