"""K~ of Theorem 1: its form, its distance from kernels, universality, rates, isolated eigenvalues, bad input."""

import numpy as np
import pytest

from nanogram import kernels, theory
from nanogram.activations import make_activation
from nanogram.datasets import make_gaussian_mixture, mixture_parameters

LAWS = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "student_t": lambda rng, shape: rng.standard_t(7, shape) * np.sqrt(5 / 7),
    "rademacher": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "ternary": lambda rng, shape: rng.choice([-1.0, 0.0, 1.0], shape, p=[0.25, 0.5, 0.25]) * np.sqrt(2),
}


def mixture(n, p, kind="both", mean=4.0, spread=4.0, seed=0):
    means, covariances = mixture_parameters(p, kind, mean=mean, spread=spread)
    X, y, *_ = make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=seed)
    return X, y, theory.gmm_statistics(X, y, means=means, covariances=covariances)


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def averaged(activation, X, law, m, seed=0, block=4096):
    """Z Z^T / m with entries of W from the law."""
    K = np.zeros((len(X), len(X)))
    rng = np.random.default_rng(seed)
    for start in range(0, m, block):
        features = make_activation(activation)(X @ LAWS[law](rng, (X.shape[1], min(block, m - start))))
        K += features @ features.T
    return K / m


@pytest.mark.parametrize("activation", ["relu", "sign", "abs", "rbf", (0.1, 0.3, 0.7)])
def test_it_is_the_formula_of_theorem_1(activation):
    """Written out with Z, J, V and A, as printed in TRF."""
    X, y, s = mixture(30, 24)
    n, p = X.shape
    d0, d1, d2 = activation if isinstance(activation, tuple) else theory.moments(activation, s.tau)
    J = np.eye(2)[y]
    Z = X - J @ s.M.T / np.sqrt(p)
    phi = np.sum(Z**2, axis=1) - np.array([1.0, 1 + 4 / np.sqrt(p)])[y]
    V = np.column_stack([J / np.sqrt(p), phi])
    A = np.block([[np.outer(s.t, s.t) + 2 * s.T, s.t[:, None]], [s.t[None, :], np.ones((1, 1))]])
    rows = Z + J @ s.M.T / np.sqrt(p)
    expected = centred(d1 * rows @ rows.T + d2 * V @ A @ V.T + d0 * np.eye(n))
    np.testing.assert_allclose(
        theory.equivalent_kernel(X, y, activation, statistics=s), expected, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("activation", ["relu", "abs", "identity", (0.2, 0.5, 0.0), (0.3, 0.0, 1.0), (0.0, 1.0, 2.0)])
@pytest.mark.parametrize("shape", [(40, 10), (20, 60)])
def test_operator_is_the_array(activation, shape):
    X, y, s = mixture(*shape)
    dense = theory.equivalent_kernel(X, y, activation, statistics=s)
    operator = theory.equivalent_kernel(X, y, activation, statistics=s, operator=True)
    V = np.random.default_rng(0).standard_normal((shape[0], 3))
    np.testing.assert_allclose(operator @ V, dense @ V, atol=1e-12)
    np.testing.assert_allclose(operator @ V[:, 0], dense @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(operator.T @ V, dense @ V, atol=1e-12)
    np.testing.assert_allclose(operator.toarray(), dense, atol=1e-14)
    np.testing.assert_allclose(operator.eigenvalues(), np.linalg.eigvalsh(dense)[::-1], atol=1e-10)


def test_shifted_rows_and_moved_tau():
    """A shift of all rows changes nothing; another tau moves the moments, and psi by a constant that P takes out."""
    X, y, _ = mixture(40, 30)
    K = theory.equivalent_kernel(X, y, "relu")
    np.testing.assert_allclose(theory.equivalent_kernel(X + 7.0, y, "relu"), K, atol=1e-9)
    moved = theory.equivalent_kernel(X, y, "relu", tau=2.0)
    np.testing.assert_allclose(moved, theory.equivalent_kernel(X, y, theory.moments("relu", 2.0)), atol=1e-12)


# What SPECTRUM Figure 1 and TRF Figure 2 show at p = 512, with n = 256 and 512: curves of eigenvalues that coincide to
# a few hundredths of the largest. The bounds are the relative norms measured here, rounded up by a quarter.
@pytest.mark.parametrize(
    ("activation", "bound"), [("relu", 0.027), ("sign", 0.08), ("rbf", 0.046), ("erf", 0.06), ("abs", 0.2)]
)
def test_distance_at_the_size_of_the_figures(activation, bound):
    X, y, s = mixture(256, 512)
    K = kernels.of_activation(activation, X)
    for statistics in (s, None):
        equivalent = theory.equivalent_kernel(X, y, activation, statistics=statistics)
        assert theory.equivalent_error(K, equivalent) < bound


@pytest.mark.parametrize("activation", ["relu", "abs", "rbf"])
def test_distance_falls_with_p(activation):
    """Sizes 64 to 1024 at n = p/2, two draws each: the fitted rate is p^-1/2 or faster, within its error."""
    sizes, errors = [], []
    for p in (64, 128, 256, 512, 1024):
        for seed in (0, 1):
            X, y, s = mixture(p // 2, p, seed=seed)
            K = kernels.of_activation(activation, X)
            sizes.append(p)
            errors.append(theory.equivalent_error(K, theory.equivalent_kernel(X, y, activation, statistics=s)))
    rate = theory.fitted_rate(sizes, errors)
    assert rate.exponent - 3 * rate.error > 0.4
    assert rate.error < 0.1


@pytest.mark.parametrize("activation", ["relu", "sign"])
@pytest.mark.parametrize("law", LAWS)
def test_law_of_the_projection_does_not_matter(law, activation):
    """Averages of 32,768 features at p = 256, n = 128, for each law of W: near K~, and as near as for normal W."""
    X, y, s = mixture(128, 256)
    equivalent = theory.equivalent_kernel(X, y, activation, statistics=s)
    error = theory.equivalent_error(averaged(activation, X, law, 32_768), equivalent)
    normal = theory.equivalent_error(kernels.of_activation(activation, X), equivalent)
    # The average of m features is about 2 sqrt(n/m) off in the bulk by chance: .06 at d0 + d1 tau over the norm.
    assert error < 1.5 * normal + 0.03
    # A K~ with the moments of another activation is not near: the test would see a wrong one.
    other = theory.equivalent_kernel(X, y, "abs", statistics=s)
    assert theory.equivalent_error(averaged(activation, X, law, 4096), other) > 0.4


def test_error_and_rate():
    K = np.diag([3.0, 1.0, 1.0])
    same = theory.equivalent_error(K, K)
    assert same == 0
    assert theory.equivalent_error(K, np.zeros((3, 3)), relative=False) == pytest.approx(
        np.abs(np.linalg.eigvalsh(centred(K))).max()
    )
    rng = np.random.default_rng(0)
    A = rng.standard_normal((700, 700))
    A = A + A.T
    assert theory.equivalent_error(A, np.zeros_like(A), relative=False) == pytest.approx(
        np.abs(np.linalg.eigvalsh(centred(A))).max(), rel=1e-8
    )
    p = np.array([64.0, 128, 256, 512])
    noise = np.array([0.1, -0.1, -0.1, 0.1])
    rate = theory.fitted_rate(p, 3 * p**-0.7 * np.exp(noise))
    assert rate.exponent == pytest.approx(0.7)
    assert rate.constant == pytest.approx(3)
    assert rate.error > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: theory.equivalent_kernel(X + 1j, y, "relu"), "X is complex"),
        (lambda X, y: theory.equivalent_kernel(X * np.nan, y, "relu"), "NaN"),
        (lambda X, y: theory.equivalent_kernel(X, y[:3], "relu"), r"labels has shape \(3,\)"),
        (lambda X, y: theory.equivalent_kernel(X, np.r_[y[:-1], 5], "relu"), "class 5 has 1 row"),
        (lambda X, y: theory.equivalent_kernel(X, y, (1.0, 2.0)), "must be an activation or"),
        (lambda X, y: theory.equivalent_kernel(X, y, (1.0, -2.0, 0.0)), "none of them negative"),
        (lambda X, y: theory.equivalent_kernel(X[:8], y[:8], "relu", statistics=theory.gmm_statistics(X, y)), "rows"),
        (lambda X, y: theory.equivalent_error(np.ones((3, 3)), np.eye(3)), "0 after centring"),
        (lambda X, y: theory.equivalent_error(np.eye(3), np.eye(4)), "must be alike"),
        (lambda X, y: theory.equivalent_error(np.eye(3) * 1j, np.eye(3)), "kernel is complex"),
        (lambda X, y: theory.fitted_rate([1, 1], [2, 3]), "two or more different p"),
        (lambda X, y: theory.fitted_rate([1, 2], [0, 3]), "positive"),
    ],
)
def test_bad_input(call, message):
    X, y, _ = mixture(20, 10)
    with pytest.raises(ValueError, match=message):
        call(X, y)


def test_one_class_is_a_mixture_too():
    """Labels of a single class, or None: T and t have one entry, which P takes out."""
    X, _, _ = mixture(50, 40, spread=0.0, mean=0.0)
    K = theory.equivalent_kernel(X, None, "relu")
    np.testing.assert_allclose(theory.equivalent_kernel(X, np.zeros(50), "relu"), K)
    assert theory.equivalent_error(kernels.of_activation("relu", X), K) < 0.2
