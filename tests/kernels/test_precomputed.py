"""A user's own Gram matrix as a kernel on row numbers."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kernalign import DiscreteAlignment, Gaussian, KernelClassifier, LpNormMKL
from kernalign.kernels import GramMatrix, precomputed

A = np.random.default_rng(0).normal(size=(9, 4))
K = A @ A.T


def rows(*numbers):
    return np.array(numbers, dtype=float)[:, None]


def test_indexing_by_row_numbers():
    kernel = GramMatrix(K).resolve(rows(0, 8)).at()
    left, right = [3, 0, 3, 8], [1, 3]
    np.testing.assert_array_equal(kernel(rows(*left), rows(*right)), K[np.ix_(left, right)])
    np.testing.assert_array_equal(kernel(rows(*left)), K[np.ix_(left, left)])
    np.testing.assert_array_equal(kernel.diag(rows(*left)), K[left, left])


def test_lists_of_integers_will_do():
    kernel = GramMatrix([[2, 1], [1, 2]]).resolve(rows(0, 1)).at()
    np.testing.assert_array_equal(kernel(rows(1, 0)), [[2.0, 1.0], [1.0, 2.0]])


def test_single_kernel_has_no_parameters():
    family = GramMatrix(K).resolve(rows(0))
    X = rows(0, 1, 2)
    assert family.gradient(np.zeros(0), X, None, np.ones((3, 3)), K[:3, :3]).shape == (0,)
    assert family.describe(np.zeros(0)) == {}
    with pytest.raises(TypeError, match="no parameters to search"):
        family.search_space(X, np.random.default_rng(0))


@pytest.mark.parametrize("numbers", [(0, 9), (-1, 2), (0.5, 1)])
@pytest.mark.parametrize("how", ["resolve", "left", "right", "diag"])
def test_row_numbers_out_of_range(numbers, how):
    message = "must be one column of row indices from 0 to 8"
    calls = {
        "resolve": lambda X: GramMatrix(K).resolve(X),
        "left": lambda X: GramMatrix(K).at()(X, rows(0)),
        "right": lambda X: GramMatrix(K).at()(rows(0), X),
        "diag": lambda X: GramMatrix(K).at().diag(X),
    }
    with pytest.raises(ValueError, match=message):
        calls[how](rows(*numbers))


@pytest.mark.parametrize("bad", [1e300, np.nan, np.inf])
def test_row_numbers_beyond_any_integer(bad):
    """The one clear sentence, and no warning of a failed cast beside it."""
    with pytest.raises(ValueError, match="must be one column of row indices from 0 to 8"):
        GramMatrix(K).resolve(rows(0, bad))


def test_data_instead_of_row_numbers():
    with pytest.raises(ValueError, match="Got 2 columns"):
        GramMatrix(K).resolve(np.zeros((5, 2)))


@pytest.mark.parametrize("shape", [(3,), (3, 4), (0, 0), (2, 2, 2), ()])
def test_wrong_shape(shape):
    with pytest.raises(ValueError, match=r"The Gram matrix must be a square matrix. Got shape"):
        GramMatrix(np.ones(shape)).resolve(rows(0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(bad):
    broken = K.copy()
    broken[2, 3] = broken[3, 2] = bad
    with pytest.raises(ValueError, match=r"finite numbers. Got NaN or infinity"):
        GramMatrix(broken).resolve(rows(0))


def test_all_zeros():
    with pytest.raises(ValueError, match="all zeros"):
        GramMatrix(np.zeros((4, 4))).resolve(rows(0))


def test_asymmetric_says_by_how_much():
    broken = np.eye(4)
    broken[0, 1] = 0.125
    with pytest.raises(ValueError, match=r"symmetric. The largest \|K - K'\| is 0.125"):
        GramMatrix(broken).resolve(rows(0))
    # The name is the user's.
    with pytest.raises(ValueError, match="Kernel 3 must be symmetric"):
        GramMatrix(broken, name="Kernel 3").resolve(rows(0))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_rounding_is_no_asymmetry(scale):
    rounded = K * scale
    rounded[0, 1] *= 1 + 1e-14
    resolved = GramMatrix(rounded).resolve(rows(0, 1))
    np.testing.assert_allclose(resolved.at()(rows(0, 1)), scale * K[:2, :2], rtol=1e-12)


def test_indefinite_says_by_how_much_and_what_to_do():
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -1, its largest 3; .*clip=True"):
        GramMatrix([[1.0, 2.0], [2.0, 1.0]]).resolve(rows(0))


def test_clip_sets_negative_eigenvalues_to_zero():
    kernel = GramMatrix([[1.0, 2.0], [2.0, 1.0]], clip=True).resolve(rows(0, 1)).at()
    # Eigenvalues 3 and -1 on (1, 1) / sqrt 2 and (1, -1) / sqrt 2.
    np.testing.assert_allclose(kernel(rows(0, 1)), [[1.5, 1.5], [1.5, 1.5]], rtol=1e-14)


def test_clip_leaves_a_definite_matrix_alone():
    kernel = GramMatrix(K, clip=True).resolve(rows(0)).at()
    np.testing.assert_array_equal(kernel(rows(*range(9))), K)


def test_rounding_is_no_indefiniteness():
    """A Gram matrix of rank 4 on nine rows has eigenvalues of -1e-15."""
    assert np.linalg.eigvalsh(K)[0] < 1e-10
    GramMatrix(K).resolve(rows(0))


@pytest.mark.parametrize("learner", [DiscreteAlignment, LpNormMKL], ids=["two", "one stage"])
def test_a_matrix_is_decomposed_once_however_many_folds_there_are(learner, monkeypatch):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 2))
    grams = [Gaussian().at(sigma)(X) for sigma in (0.41, 1.07, 2.9)]
    decomposed = []
    real = np.linalg.eigh

    def counted(matrix):
        decomposed.append(matrix.shape)
        return real(matrix)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    monkeypatch.setattr(precomputed, "_VALID", set(), raising=False)
    model = KernelClassifier(learner(grams), SVC(kernel="precomputed"), C=[0.1, 1.0])
    model.fit(np.arange(30.0)[:, None], X[:, 0] > 0)
    assert decomposed.count((30, 30)) == 3


def test_a_matrix_that_was_changed_is_checked_again():
    matrix = K.copy()
    GramMatrix(matrix).resolve(rows(0))
    matrix[0, 0] = -5.0
    with pytest.raises(ValueError, match="positive semidefinite"):
        GramMatrix(matrix).resolve(rows(0))
