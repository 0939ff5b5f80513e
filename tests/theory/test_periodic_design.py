"""Periodic codes: harmonics, kernels against Monte Carlo, optimality for the arcsine law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from nanogram import theory
from nanogram.activations import make_activation
from nanogram.theory.periodic_design import PERIODIC_METHODS

CASES = [(levels, method) for levels in (2, 3, 4, 8, 16) for method in PERIODIC_METHODS]


def fourier(code, k):
    """c_k of the code's cosine series by the midpoint rule."""
    theta = (np.arange(200_000) + 0.5) * np.pi / 200_000
    values = code.levels[np.searchsorted(code.thresholds, np.sqrt(2) * np.cos(theta))]
    return 2 * np.mean(values * np.cos(k * theta))


def test_sign_of_cosine_has_odd_harmonics():
    k = np.arange(1, 12)
    weights = theory.design_periodic_code(2).harmonic_weights(11) * 8 / np.pi**2
    np.testing.assert_allclose(weights, np.where(k % 2, 8 / (np.pi * k) ** 2, 0), atol=1e-15)


@pytest.mark.parametrize(("levels", "method"), CASES)
def test_first_harmonic_is_the_target_and_the_rest_is_the_excess(levels, method):
    code = theory.design_periodic_code(levels, method, weight=0.7)
    assert code.harmonic_weights(1)[0] == pytest.approx(0.7, rel=1e-12)
    assert code.firing.sum() == pytest.approx(1)
    assert code.firing @ code.levels**2 == pytest.approx(0.7 * (1 + code.excess), rel=1e-10)
    np.testing.assert_allclose(code.levels, -code.levels[::-1])
    for k in (1, 3, 5):
        assert fourier(code, k) ** 2 / 2 == pytest.approx(code.harmonic_weights(k)[-1], abs=2e-4)


@pytest.mark.parametrize("levels", [2, 3, 4, 8])
def test_equal_arcs_leave_only_harmonics_next_to_multiples_of_two_levels(levels):
    k = np.arange(1, 40)
    weights = theory.design_periodic_code(levels, "harmonics").harmonic_weights(39)
    kept = (k % (2 * levels) == 1) | (k % (2 * levels) == 2 * levels - 1)
    np.testing.assert_allclose(weights, np.where(kept, 1 / k.astype(float) ** 2, 0), atol=1e-13)


@pytest.mark.parametrize("levels", [2, 3, 4, 8])
def test_lloyd_has_the_least_excess(levels):
    best = theory.design_periodic_code(levels, "lloyd").excess
    assert best <= min(theory.design_periodic_code(levels, method).excess for method in PERIODIC_METHODS) + 1e-12

    def excess(gaps):
        share = np.abs(gaps) / np.abs(gaps).sum()
        ends = np.concatenate([[0], np.cumsum(share)]) * np.pi
        power = np.sum(np.diff(np.sin(ends)) ** 2 / np.diff(ends)) / np.pi
        return 0.5 / power - 1

    rng = np.random.default_rng(0)
    found = min(minimize(excess, rng.uniform(0.5, 1.5, levels), method="Nelder-Mead").fun for _ in range(5))
    assert best <= found + 1e-9


@pytest.mark.parametrize(
    ("levels", "method"), [(2, "lloyd"), (3, "lloyd"), (3, "harmonics"), (4, "lloyd"), (8, "uniform")]
)
def test_kernel_agrees_with_monte_carlo(levels, method):
    code = theory.design_periodic_code(levels, method)
    function = code.as_activation()
    rng = np.random.default_rng(levels)
    X = rng.standard_normal((6, 4)) * 0.5
    t = X @ rng.standard_normal((4, 200_000)) + rng.uniform(0, 2 * np.pi, 200_000)
    Z = function(t)
    products = Z[:, None, :] * Z[None, :, :]
    distance = np.linalg.norm(X[:, None] - X[None], axis=-1)
    error = products.std(axis=-1) / np.sqrt(200_000)
    assert np.all(np.abs(products.mean(axis=-1) - code.kernel(distance)) < 4.5 * error + 1e-12)


def test_kernel_error_is_the_other_harmonics():
    code = theory.design_periodic_code(3)
    far = np.array([0.8, 1.5, 3.0])
    k = np.arange(2, 60)
    rest = np.exp(-0.5 * np.outer(far**2, k**2)) @ code.harmonic_weights(59)[1:]
    np.testing.assert_allclose(code.kernel_error(far), rest, atol=1e-12)
    assert code.kernel_error(0.0) == pytest.approx(code.excess, rel=1e-6)
    np.testing.assert_allclose(code.kernel(far) - code.kernel_error(far), np.exp(-0.5 * far**2), atol=1e-12)


def test_design_reports_moments_and_firing():
    design = theory.design_step_code("rbf", 3.0, 3, kind="periodic")
    code = theory.design_periodic_code(3)
    np.testing.assert_allclose(design.firing, code.firing)
    assert design.activation == "cos_phase"
    assert design.moments == make_activation("periodic_step", thresholds=code.thresholds, levels=code.levels).moments(
        3.0
    )
    # Higher harmonics fade with exp(-k^2 tau): beyond tau of a few the code has the target's moments.
    assert theory.design_step_code("rbf", 8.0, 2, kind="periodic").residual < 1e-12
    half = theory.design_step_code(
        (0.5 * np.array(make_activation("rbf").moments(2.0))).tolist(), 2.0, 2, kind="periodic"
    )
    assert np.max(half.levels) == pytest.approx(np.pi / 4)


@pytest.mark.parametrize(("args", "message"), [
    ((1,), "n_levels=1 is not accepted; an integer from 2 to 256"),
    ((2.5,), "n_levels=2.5"),
    ((3, "best"), "method='best' is unknown; choose one of lloyd, harmonics, uniform"),
    ((32, "lloyd"), "n_levels=32 is more than 16"),
    ((3, "lloyd", 0.0), "weight=0.0 must be positive"),
])  # fmt: skip
def test_bad_input_is_named(args, message):
    with pytest.raises(ValueError, match=message):
        theory.design_periodic_code(*args)
