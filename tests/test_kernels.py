import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from nanogram import kernels
from nanogram._bandwidth import resolve_gamma, row_scale
from nanogram.activations import make_activation
from nanogram.theory import estimate_tau

KERNELS = {
    "rbf": lambda X, Y=None, **k: kernels.rbf(X, Y, gamma=0.3, **k),
    "laplacian": lambda X, Y=None, **k: kernels.laplacian(X, Y, gamma=0.3, **k),
    "arc0": lambda X, Y=None, **k: kernels.arc_cosine(X, Y, order=0, **k),
    "arc1": lambda X, Y=None, **k: kernels.arc_cosine(X, Y, order=1, **k),
    "arc2": lambda X, Y=None, **k: kernels.arc_cosine(X, Y, order=2, **k),
    "erf": lambda X, Y=None, **k: kernels.of_activation("erf", X, Y, gamma=0.1, **k),
    "ternary": lambda X, Y=None, **k: kernels.of_activation("periodic_step", X, Y, **k),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def rows(n=40, p=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p))
    X[3] = 0
    X[5] = X[4]
    X[6] = -X[4]
    return X


def spoilt(X, value):
    X = X.copy()
    X[2, 1] = value
    return X


def test_against_scikit_learn():
    X, Y = rows(), rows(seed=1)
    np.testing.assert_allclose(kernels.rbf(X, Y, gamma=0.3), pairwise.rbf_kernel(X, Y, gamma=0.3), rtol=1e-12)
    np.testing.assert_allclose(
        kernels.laplacian(X, Y, gamma=0.3), pairwise.laplacian_kernel(X, Y, gamma=0.3), rtol=1e-12
    )
    np.testing.assert_allclose(kernels.of_activation("identity", X, Y), X @ Y.T, atol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_by_monte_carlo(order):
    X = rows(8)
    n = 100_000
    t = np.random.default_rng(2).standard_normal((n, X.shape[1])) @ X.T
    f = np.sqrt(2) * np.where(t > 0, t**order, 0.0)
    K = kernels.arc_cosine(X, order=order)
    mean = f.T @ f / n
    error = np.sqrt(np.maximum((f**2).T @ (f**2) / n - mean**2, 0) / n)
    # 36 distinct entries, 5 standard errors.
    assert (np.abs(mean - K) <= 5 * error + 1e-12).all()


def test_arc_cosine_is_twice_the_activation_kernel():
    X = rows()
    for order, name in enumerate(["step", "relu"]):
        np.testing.assert_allclose(
            kernels.arc_cosine(X, order=order), 2 * kernels.of_activation(name, X), rtol=1e-12, atol=1e-15
        )


@every_kernel
def test_symmetric_to_the_bit_with_an_exact_diagonal(kernel):
    X = rows(50)
    K = kernel(X, block_rows=16)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), kernel(X, diagonal=True))
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K, kernel(X, X.copy()), atol=1e-7, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-7 * np.abs(K).max()


def test_diagonals():
    X = rows()
    squares = (X**2).sum(axis=1)
    np.testing.assert_array_equal(kernels.rbf(X, diagonal=True), np.ones(40))
    np.testing.assert_array_equal(kernels.laplacian(X, gamma="median", diagonal=True), np.ones(40))
    np.testing.assert_array_equal(kernels.arc_cosine(X, order=0, diagonal=True), 1.0 * (squares > 0))
    np.testing.assert_allclose(kernels.arc_cosine(X, order=1, diagonal=True), squares, rtol=1e-15)
    np.testing.assert_allclose(kernels.arc_cosine(X, order=2, diagonal=True), 3 * squares**2, rtol=1e-15)


@every_kernel
def test_blocks_make_no_difference(kernel):
    X, Y = rows(45), rows(23, seed=1)
    whole = kernel(X, Y)
    for size in (1, 7, 16, 1000):
        np.testing.assert_allclose(kernel(X, Y, block_rows=size), whole, atol=1e-13)
        np.testing.assert_allclose(kernel(X, block_rows=size), kernel(X), atol=1e-13)


@every_kernel
def test_kinds_of_rows(kernel):
    X, Y = rows(30), rows(20, seed=1)
    X[np.abs(X) < 0.5] = 0
    K, own = kernel(X, Y), kernel(X)
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        for other in (kind(Y), Y):
            np.testing.assert_allclose(kernel(kind(X), other, block_rows=8), K, atol=1e-13)
        np.testing.assert_allclose(kernel(X, kind(Y)), K, atol=1e-13)
        np.testing.assert_allclose(kernel(kind(X)), own, atol=1e-13)
        np.testing.assert_allclose(kernel(kind(X), diagonal=True), np.diag(own), atol=1e-13)
    np.testing.assert_allclose(kernel(lambda: iter([X[:11], X[11:]]), Y, block_rows=8), K, atol=1e-13)
    np.testing.assert_allclose(kernel(lambda: iter([X[:11], X[11:]]), block_rows=8), own, atol=1e-13)
    np.testing.assert_array_equal(kernel(X.tolist(), Y.tolist()), K)


@every_kernel
def test_float32_in_float32_out_at_double_accuracy(kernel):
    X, Y = rows().astype(np.float32), rows(seed=1).astype(np.float32)
    K = kernel(X, Y)
    assert K.dtype == kernel(X).dtype == kernel(X, diagonal=True).dtype == np.float32
    assert kernel(X, Y.astype(np.float64)).dtype == np.float64
    np.testing.assert_array_equal(K, kernel(X.astype(np.float64), Y.astype(np.float64)).astype(np.float32))


def test_near_duplicates_in_float32_keep_their_angle():
    X = np.array([[1.0, 0.0]], dtype=np.float32)
    Y = np.array([[1.0, 1e-4]], dtype=np.float32)
    # cs is 1 - 5e-9, which float32 cannot tell from 1.
    assert 1 - kernels.arc_cosine(X.astype(float), Y, order=0)[0, 0] == pytest.approx(1e-4 / np.pi, rel=1e-4)


def test_memory_is_the_output_and_a_block():
    X = np.random.default_rng(0).standard_normal((2000, 50)).astype(np.float32)
    tracemalloc.start()
    K = kernels.rbf(X, gamma=0.01, block_rows=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < K.nbytes + 1_000_000


def test_rows_of_zeros_have_the_kernel_of_their_features():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(kernels.arc_cosine(X, order=0), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(kernels.arc_cosine(X, order=1)[0], [0, 0])
    for name in ("step", "sign", "relu", "erf", "gaussian", "cos", "step_function"):
        a = make_activation(name)
        zero = a(0.0)
        np.testing.assert_allclose(kernels.of_activation(name, X)[0], [zero**2, zero * a.mean(5.0)], atol=1e-15)


def test_gamma_scales_rows_as_feature_maps_do():
    X = rows()
    np.testing.assert_allclose(
        kernels.of_activation("relu", X, gamma=0.3), kernels.of_activation("relu", X * np.sqrt(0.6)), rtol=1e-12
    )
    np.testing.assert_allclose(kernels.of_activation("rbf", X, gamma=0.3), kernels.rbf(X, gamma=0.3), rtol=1e-13)
    scaled = X * row_scale(resolve_gamma("scale", X))
    assert estimate_tau(scaled) == pytest.approx(1.0)
    distances = cdist(X, X)[np.triu_indices(40, 1)]
    assert resolve_gamma("median", X) == pytest.approx(1 / (2 * np.median(distances) ** 2))
    ones = cdist(X, X, "cityblock")[np.triu_indices(40, 1)]
    assert resolve_gamma("median", X, "laplacian") == pytest.approx(1 / np.median(ones))
    centred = X - X.mean(axis=0)
    assert resolve_gamma("scale", X, "laplacian") == pytest.approx(1 / np.abs(centred).sum(axis=1).mean())
    assert row_scale(0.3, "laplacian") == 0.3


def test_gamma_of_sparse_rows_is_that_of_dense_ones():
    S = sp.random(300, 50, density=0.2, random_state=0, format="csr")
    for gamma in ("scale", "median"):
        for target in ("rbf", "laplacian"):
            assert resolve_gamma(gamma, S, target) == pytest.approx(resolve_gamma(gamma, S.toarray(), target))


def test_median_is_repeatable_and_survives_duplicates():
    X = np.random.default_rng(0).standard_normal((3000, 4))
    assert resolve_gamma("median", X, random_state=3) == resolve_gamma("median", X, random_state=3)
    assert resolve_gamma("median", X, random_state=3) != resolve_gamma("median", X, random_state=4)
    state = np.random.RandomState
    assert resolve_gamma("median", X, random_state=state(3)) == resolve_gamma("median", X, random_state=state(3))
    mostly = np.zeros((50, 2))
    mostly[:3] = [[3, 4], [3, 4], [3, 4]]
    assert resolve_gamma("median", mostly) == pytest.approx(1 / 50)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_rows_all_alike_have_gamma_one(gamma):
    for target in ("rbf", "laplacian"):
        assert resolve_gamma(gamma, np.ones((4, 2)), target) == 1.0
        assert resolve_gamma(gamma, np.ones((1, 2)), target) == 1.0


def test_cross_kernel_takes_gamma_from_the_reference_rows():
    X, Y = rows(10), 3 * rows(30, seed=1)
    np.testing.assert_allclose(kernels.rbf(X, Y), kernels.rbf(X, Y, gamma=resolve_gamma("scale", Y)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: kernels.rbf(X, X[:, :3]), "X has 6 columns and Y has 3"),
        (lambda X: kernels.rbf(spoilt(X, np.nan), gamma=1), "NaN: column 1"),
        (lambda X: kernels.rbf(X, spoilt(X, np.inf), gamma=1), "infinity.*column 1"),
        (lambda X: kernels.rbf(X[0]), "Expected 2D array"),
        (lambda X: kernels.rbf(X, X[0]), "Y: Expected 2D array"),
        (lambda X: kernels.rbf(X[:0], gamma=1), "no rows"),
        (lambda X: kernels.rbf(X, gamma=0), "gamma=0 must be a positive"),
        (lambda X: kernels.rbf(X, gamma=-1.5), "gamma=-1.5 must be a positive"),
        (lambda X: kernels.rbf(X, gamma=np.nan), "gamma=nan must be a positive"),
        (lambda X: kernels.rbf(X, gamma="auto"), "gamma='auto' is not known"),
        (lambda X: kernels.laplacian(X, gamma=True), "gamma=True must be"),
        (lambda X: kernels.arc_cosine(X, order=3), "order=3 must be 0, 1 or 2"),
        (lambda X: kernels.rbf(X, block_rows=0), "block_rows=0 must be a positive integer"),
        (lambda X: kernels.rbf(X, X, diagonal=True), "Y must be None"),
        (lambda X: kernels.of_activation("swish", X), "activation='swish' is not known"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(rows())
