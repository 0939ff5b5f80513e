"""Rows drawn from models have the moments asked for."""

import numpy as np
import pytest

from nanogram import datasets


def test_mixtures_have_the_moments_asked_for():
    p, n = 20, 20_000
    random = np.random.default_rng(0)
    root = random.normal(size=(p, p)) / np.sqrt(p)
    covariances = [2.0, np.linspace(0.5, 1.5, p), root @ root.T]
    means = random.normal(size=(3, p))
    for noise in ("gaussian", "student_t", "rademacher"):
        mixture = datasets.make_gaussian_mixture(
            n, p, means=means, covariances=covariances, proportions=[0.5, 0.25, 0.25], noise=noise, random_state=1
        )
        assert np.bincount(mixture.y).tolist() == [10_000, 5_000, 5_000]
        for a, full in enumerate((2 * np.eye(p), np.diag(covariances[1]), covariances[2])):
            X = mixture.X[mixture.y == a] * np.sqrt(p)
            sizes = np.sqrt(np.diag(full) / len(X))
            assert (np.abs(X.mean(axis=0) - means[a]) < 5.5 * sizes).all()
            # Entry (i, j) of a sample covariance deviates by sqrt((kappa - 1) C_ii C_jj / n) at most, kappa <= 5.
            bars = np.sqrt(4 * np.outer(np.diag(full), np.diag(full)) / len(X))
            assert (np.abs(np.cov(X.T) - full) < 6.5 * bars).all()


def test_mixtures_of_the_papers():
    means, covariances = datasets.mixture_parameters(512, "crossed")
    assert means.shape == (4, 512)
    assert means[2, 1] == 5
    assert covariances.tolist() == pytest.approx([1, 1 + 15 / np.sqrt(512)] * 2)
    for kind in ("means", "covariances", "both"):
        assert datasets.mixture_parameters(8, kind)[0].shape == (2, 8)
    again = [datasets.make_gaussian_mixture(10, 3, random_state=7).X for _ in range(2)]
    np.testing.assert_array_equal(*again)
    sizes = np.bincount(datasets.make_gaussian_mixture(10, 3, proportions=[1 / 3] * 3).y)
    assert sizes.sum() == 10
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize(("noise", "kurtosis"), [("gaussian", 3), ("student_t", 5), ("rademacher", 1)])
def test_signal_plus_noise(noise, kurtosis):
    drawn = datasets.make_signal_plus_noise(600, 1000, rho=4.0, noise=noise, balance=0.25, random_state=2)
    assert drawn.kurtosis == kurtosis
    assert (drawn.v == -1).sum() == 150
    assert np.linalg.norm(drawn.mu) == pytest.approx(2)
    z = drawn.X - drawn.v[:, None] * drawn.mu
    # The variance of 600,000 entries has a standard error of sqrt((kurtosis - 1) / 600,000).
    assert abs(z.var() - 1) <= 5 * np.sqrt((kurtosis - 1) / z.size) + 1e-5
    projections = drawn.X @ drawn.mu / 2 * drawn.v
    assert abs(projections.mean() - 2) < 5 / np.sqrt(600)
    given = datasets.make_signal_plus_noise(10, 3, rho=9.0, mu=[0, 2, 0])
    np.testing.assert_allclose(given.mu, [0, 3, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.make_gaussian_mixture(0, 3), "n=0 and p=3"),
        (lambda: datasets.make_gaussian_mixture(5, 3, means=np.ones((2, 4))), r"means has shape \(2, 4\)"),
        (lambda: datasets.make_gaussian_mixture(5, 3, means=np.ones((2, 3)), covariances=[1.0]), r"\[1, 2\] classes"),
        (lambda: datasets.make_gaussian_mixture(5, 3, covariances=[-1.0]), r"covariances\[0\] has a negative variance"),
        (lambda: datasets.make_gaussian_mixture(5, 3, covariances=[np.ones(4)]), r"covariances\[0\] has shape"),
        (lambda: datasets.make_gaussian_mixture(5, 2, covariances=[[[1, 2], [0, 1]]]), "not symmetric"),
        (lambda: datasets.make_gaussian_mixture(5, 2, covariances=[[[1, 2], [2, 1]]]), "negative eigenvalue"),
        (lambda: datasets.make_gaussian_mixture(5, 2, proportions=[0.5, 0.6]), "add up to 1"),
        (lambda: datasets.make_gaussian_mixture(5, 2, noise="cauchy"), "noise='cauchy'"),
        (lambda: datasets.make_gaussian_mixture(5, 2, noise="student_t", df=2), "df=2"),
        (lambda: datasets.make_signal_plus_noise(5, 2, rho=-1), "rho=-1"),
        (lambda: datasets.make_signal_plus_noise(5, 2, rho=1, balance=2), "balance=2"),
        (lambda: datasets.make_signal_plus_noise(5, 2, rho=1, mu=[0, 0]), "mu must be"),
        (lambda: datasets.mixture_parameters(8, "none"), "kind='none'"),
        (lambda: datasets.mixture_parameters(1), "p=1"),
    ],
)
def test_models_refuse_what_makes_no_sense(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_kurtosis_that_is_infinite():
    assert datasets.noise_kurtosis("student_t", df=3) == np.inf
