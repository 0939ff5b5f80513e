"""Isolated eigenvalues of the spiked form against eigenvalues of K~ and of kernels."""

import numpy as np
import pytest

from nanogram import theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters

CASES = [("means", 5.0, 0.0), ("both", 4.0, 4.0), ("covariances", 0.0, 15.0), ("crossed", 5.0, 15.0)]


def measured(activation, means, covariances, n, p, draws, proportions=None):
    """Leading eigenvalues of K~, and the share of their eigenvectors in the span of the classes; mean and error."""
    values, shares, statistics = [], [], None
    for seed in range(draws):
        X, y, *_ = make_gaussian_mixture(
            n, p, means=means, covariances=covariances, proportions=proportions, random_state=seed
        )
        statistics = theory.gmm_statistics(X, y, means=means, covariances=covariances)
        w, v = np.linalg.eigh(theory.equivalent_kernel(X, y, activation, statistics=statistics))
        J = np.eye(len(means))[y]
        shares.append(np.sum((v[:, :-6:-1].T @ (J / np.sqrt(J.sum(axis=0)))) ** 2, axis=1))
        values.append(w[:-6:-1])
    values, shares = np.array(values), np.array(shares)
    return statistics, values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(draws), shares.mean(axis=0)


@pytest.mark.parametrize("activation", ["sign", "relu", "abs"])
@pytest.mark.parametrize(("kind", "mean", "spread"), CASES)
def test_places_and_alignments(kind, mean, spread, activation):
    """At n = p = 256, 12 draws: within four standard errors and 4 % (sizes are finite)."""
    means, covariances = mixture_parameters(256, kind, mean=mean, spread=spread)
    statistics, values, errors, shares = measured(activation, means, covariances, 256, 256, 12)
    spikes = theory.spiked_eigenvalues(statistics, activation)
    k = len(spikes.eigenvalues)
    clear = spikes.eigenvalues > 1.25 * spikes.edge
    np.testing.assert_array_less(
        np.abs(spikes.eigenvalues - values[:k])[clear], (4 * errors[:k] + 0.04 * values[:k])[clear]
    )
    np.testing.assert_allclose(spikes.alignment[clear], shares[:k][clear], atol=0.06)
    assert values[k] < 1.04 * spikes.edge
    assert (spikes.strengths > 1).sum() == k


def test_full_diagonal_and_scalar_covariances_agree():
    p = 40
    means, _ = mixture_parameters(p, "means", mean=6.0)
    X, y, *_ = make_gaussian_mixture(60, p, means=means, random_state=0)
    found = []
    for form in (lambda c: c, lambda c: np.full(p, c), lambda c: c * np.eye(p)):
        s = theory.gmm_statistics(X, y, means=means, covariances=[form(1.0), form(1.5)])
        found.append(theory.spiked_eigenvalues(s, "relu"))
    for other in found[1:]:
        np.testing.assert_allclose(other.eigenvalues, found[0].eigenvalues, rtol=1e-6)
        np.testing.assert_allclose(other.edge, found[0].edge, rtol=1e-5)


def test_covariances_with_a_spectrum_of_their_own():
    """Full, different covariances and unequal classes."""
    p = 160
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    covariances = [np.diag(np.linspace(0.3, 1.7, p)), (turn * np.linspace(0.2, 2.2, p)) @ turn.T]
    means = np.zeros((2, p))
    means[0, 5] = 6.0
    statistics, values, errors, shares = measured("relu", means, covariances, 240, p, 12, proportions=[0.3, 0.7])
    spikes = theory.spiked_eigenvalues(statistics, "relu")
    assert len(spikes.eigenvalues) == 1
    assert abs(spikes.eigenvalues[0] - values[0]) < 4 * errors[0] + 0.04 * values[0]
    assert spikes.alignment[0] == pytest.approx(shares[0], abs=0.06)
    assert values[1] < 1.04 * spikes.edge


def test_transition_in_the_distance_of_means():
    """Equal identity covariances, two even classes: |mu_1 - mu_2|^2 / 4 > sqrt(p/n) shows (Baik et al. 2005)."""
    n, p = 400, 100
    X, y = np.zeros((n, p)), np.arange(n) % 2

    def strength(distance):
        means = np.zeros((2, p))
        means[0, 0], means[1, 0] = distance / 2, -distance / 2
        s = theory.gmm_statistics(X, y, means=means, covariances=[1.0, 1.0])
        found = theory.spiked_eigenvalues(s, "sign")
        return len(found.eigenvalues), found

    threshold = 2 * (p / n) ** 0.25
    assert strength(0.99 * threshold)[0] == 0
    shown, found = strength(1.01 * threshold)
    assert shown == 1
    assert found.alignment[0] < 0.1
    d0, d1, _ = theory.moments("sign", 1.0)
    assert found.edge == pytest.approx(d0 + d1 * (1 + np.sqrt(n / p)) ** 2, rel=1e-6)
    # Beyond: theta = |mu|^2/4 puts it at (theta n/p + 1)(theta + 1)/theta.
    shown, found = strength(4.0)
    assert found.eigenvalues[0] == pytest.approx(d0 + d1 * (4 * n / p + 1) * (4 + 1) / 4, rel=1e-8)


def test_bad_input():
    X, y = np.random.default_rng(0).standard_normal((20, 6)), np.arange(20) % 2
    with pytest.raises(ValueError, match="keep_covariances=True"):
        theory.spiked_eigenvalues(theory.gmm_statistics(X, y), "relu")
    with pytest.raises(TypeError, match="statistics is a ndarray"):
        theory.spiked_eigenvalues(X, "relu")
    with pytest.raises(ValueError, match="d1 = d2 = 0"):
        theory.spiked_eigenvalues(theory.gmm_statistics(X, y, keep_covariances=True), (1.0, 0.0, 0.0))
