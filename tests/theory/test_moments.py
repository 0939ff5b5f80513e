import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import integrate

from nanogram import theory
from nanogram.activations import Activation, LeakyReLU, PeriodicStep, Quadratic, StepFunction, make_activation
from nanogram.theory._quadrature import gaussian_moments, panels

TAUS = [0.01, 0.1, 1.0, 4.0, 30.0, 100.0]
PLAIN = [
    *(
        make_activation(n)
        for n in ("identity", "relu", "leaky_relu", "abs", "step", "sign", "quadratic", "cos", "sin", "erf", "gaussian")
    ),
    LeakyReLU(a_plus=0.7, a_minus=0.4),
    Quadratic(a2=-0.5, a1=1.5, a0=0.3),
    StepFunction((-0.4, 0.9), (-1, 0, 1)),
    StepFunction((-1.0, 1.0), (1, 0, 1)),
    StepFunction((-0.8, 0.0, 1.3), (-2.0, -0.3, 0.4, 1.7)),
]
PHASED = [make_activation("cos_phase"), PeriodicStep(), PeriodicStep((-0.7, 0.1, 0.9), (-1.0, 2.0, 0.5, 1.0))]


def assert_moments(found, expected, tau, second, tolerance):
    """Each moment against the size it could have: E[s^2], E[s^2]/tau and E[s^2]/tau^2."""
    sizes = np.array([second, second / tau, second / tau**2])
    np.testing.assert_allclose(np.array(found) / sizes, np.array(expected) / sizes, atol=tolerance, rtol=0)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("activation", PLAIN, ids=repr)
@pytest.mark.parametrize("declared", [True, False])
def test_closed_forms_agree_with_quadrature(activation, tau, declared):
    m = gaussian_moments(activation, tau, activation.breaks if declared else ())
    assert m.error < 1e-11
    assert_moments(theory.moments(activation, tau), (m.d0, m.d1, m.d2), tau, m.second_moment, 1e-10)
    assert activation.mean(tau) == pytest.approx(m.mean, abs=1e-11 * np.sqrt(m.second_moment))
    assert float(activation.second_moment(tau)) == pytest.approx(m.second_moment, rel=1e-11)
    assert activation.variance(tau) == pytest.approx(m.second_moment - m.mean**2, abs=1e-11 * m.second_moment)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("activation", PHASED, ids=repr)
def test_random_phases_average_over_the_phase(activation, tau):
    # Smooth in the phase after the Gaussian average; at small tau still sharp, on the scale sqrt(tau).
    phases = (np.arange(240) + 0.5) * 2 * np.pi / 240
    turns = np.array([])
    if isinstance(activation, PeriodicStep):
        angles = np.arccos(np.array(activation.thresholds) / np.sqrt(2))
        turns = (np.concatenate([angles, -angles])[:, None] + 2 * np.pi * np.arange(-25, 26)).ravel()
    parts = [gaussian_moments(lambda t, p=p: activation(t + p), tau, turns - p) for p in phases[:: 1 if tau < 1 else 8]]
    expected = [np.mean([getattr(m, d) for m in parts]) for d in ("d0", "d1", "d2")]
    second = np.mean([m.second_moment for m in parts])
    if isinstance(activation, PeriodicStep) and tau == 0.01:
        assert_moments(activation.moments(tau), expected, tau, second, 1e-5)
    else:
        assert_moments(activation.moments(tau), expected, tau, second, 1e-10)


@pytest.mark.parametrize("activation", [*PLAIN, *PHASED, make_activation("rbf")], ids=repr)
def test_closed_forms_agree_with_monte_carlo(activation):
    tau, n = 0.8, 200_000
    rng = np.random.default_rng(11)
    z = rng.standard_normal((n, 1))
    shift = rng.uniform(0, 2 * np.pi, (n, 1)) if activation.uses_phase else 0.0
    s = activation(np.sqrt(tau) * z + shift)
    second = (s**2).sum(axis=1)
    assert abs(second.mean() - activation.second_moment(tau)) <= 5 * second.std() / np.sqrt(n) + 1e-12
    if activation.uses_phase:
        return
    mean, slope, bend = s, z * s / np.sqrt(tau), (z * z - 1) * s / tau
    d = theory.moments(activation, tau)
    for estimate, truth in [(slope, d.d1), (bend, 4 * d.d2)]:
        centre, error = estimate.mean(axis=0), estimate.std(axis=0) / np.sqrt(n)
        # The squares of n-sample means: error of c^2 is 2|c| e + e^2.
        bound = (10 * np.abs(centre) * error + 25 * error**2).sum()
        assert abs((centre**2).sum() - truth) <= bound
    variance = ((mean - mean.mean(axis=0)) ** 2).sum(axis=1)
    assert abs(variance.mean() - activation.variance(tau)) <= 5 * variance.std() / np.sqrt(n) + 1e-4


def test_papers_table_row_by_row():
    tau = 1.7
    e = np.exp(-tau)
    low, high = -0.4, 0.9
    eh, el = np.exp(-(high**2) / (2 * tau)), np.exp(-(low**2) / (2 * tau))
    rows = {
        "identity": (0, 1, 0),
        "relu": ((1 / 4 - 1 / (2 * np.pi)) * tau, 1 / 4, 1 / (8 * np.pi * tau)),
        "abs": ((1 - 2 / np.pi) * tau, 0, 1 / (2 * np.pi * tau)),
        "step": (1 / 4 - 1 / (2 * np.pi), 1 / (2 * np.pi * tau), 0),
        "sign": (1 - 2 / np.pi, 2 / (np.pi * tau), 0),
        "quadratic": (2 * tau**2, 0, 1),
        "cos": (1 / 2 + e**2 / 2 - e, 0, e / 4),
        "sin": (1 / 2 - e**2 / 2 - tau * e, e, 0),
        "cos_sin": (1 - e - tau * e, e, e / 4),
        "cos_phase": (1 - e - tau * e, e, e / 4),
        "gaussian": (1 / np.sqrt(2 * tau + 1) - 1 / (tau + 1), 0, 1 / (4 * (tau + 1) ** 3)),
    }
    for name, row in rows.items():
        assert theory.moments(name, tau) == pytest.approx(row, abs=1e-14), name
    ternary = theory.moments(StepFunction((low, high), (-1, 0, 1)), tau)
    assert ternary.d1 == pytest.approx((eh + el) ** 2 / (2 * np.pi * tau), rel=1e-14)
    assert ternary.d2 == pytest.approx((high * eh + low * el) ** 2 / (8 * np.pi * tau**3), rel=1e-12)


@pytest.mark.parametrize("tau", [0.01, 1.0, 100.0])
def test_callables_by_quadrature(tau):
    d0, d1, d2 = theory.moments(np.tanh, tau)
    density = lambda z: np.exp(-z * z / 2) / np.sqrt(2 * np.pi)  # noqa: E731
    slope = integrate.quad(lambda z: density(z) / np.cosh(np.sqrt(tau) * z) ** 2, -12, 12, points=[0], epsabs=1e-13)[0]
    square = integrate.quad(lambda z: density(z) * np.tanh(np.sqrt(tau) * z) ** 2, -12, 12, points=[0], epsabs=1e-13)[0]
    assert d1 == pytest.approx(slope**2, rel=1e-9)
    assert d0 == pytest.approx(square - tau * slope**2, abs=1e-10 * square)
    assert d2 == pytest.approx(0, abs=1e-20)


def test_undeclared_breaks_are_found_where_they_are():
    def odd(t):
        return np.where(t < -1.234567, 2.0, np.maximum(t - 0.7654321, 0) + np.sin(t))

    found = panels(odd, 12.0).breaks
    assert [b for b in found if abs(b + 1.234567) < 1e-9]
    assert [b for b in found if abs(b - 0.7654321) < 1e-5]
    assert len(found) <= 6
    undeclared, declared = gaussian_moments(odd, 1.0), gaussian_moments(odd, 1.0, [-1.234567, 0.7654321])
    np.testing.assert_allclose(undeclared[:5], declared[:5], atol=1e-12)


def test_functions_without_gaussian_moments_are_refused():
    with pytest.raises(ValueError, match=r"moments of 'cosh4'.*tau=1"):
        Activation.of(lambda t: np.exp(t * t / 3), name="cosh4").moments(1.0)
    with pytest.raises(ValueError, match="not finite"), np.errstate(invalid="ignore", divide="ignore"):
        theory.moments(lambda t: np.where(np.abs(t) < 1, np.nan, t), 1.0)


def test_rough_functions_warn_rather_than_mislead():
    with pytest.warns(RuntimeWarning, match="declare its kinks and jumps"):
        theory.moments(lambda t: np.sin(3000 * t) * (np.abs(t) < 1), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theory.moments(lambda t: np.floor(t), 1.0)


def test_estimate_tau():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((501, 13)) * rng.uniform(0.1, 3, 13) + 1e4
    expected = X.var(axis=0).sum()
    assert theory.estimate_tau(X) == pytest.approx(expected, rel=1e-10)
    S = sp.random(400, 60, density=0.1, random_state=1, format="csr")
    for kind in (sp.csr_matrix, sp.csr_array, sp.coo_array, sp.csc_matrix):
        assert theory.estimate_tau(kind(S)) == pytest.approx(S.toarray().var(axis=0).sum(), rel=1e-12)
    twice = sp.csr_array((np.ones(2), np.zeros(2, dtype=int), [0, 2, 2]), shape=(2, 3))
    assert theory.estimate_tau(twice) == pytest.approx(1.0)
    assert theory.estimate_tau(np.ones((5, 2))) == 0
    assert theory.estimate_tau(lambda: iter([X[:200], X[200:]])) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="column 1"):
        theory.estimate_tau([[0.0, np.nan]])
