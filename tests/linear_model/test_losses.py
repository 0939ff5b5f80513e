"""Losses against their formulas in high precision or brute force, and their derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from nanogram.linear_model import losses

RNG = np.random.default_rng(0)
N, K = 200, 3
RAW = RNG.normal(scale=2.0, size=(N, K))
REAL = RNG.normal(size=(N, K))

CASES = {
    "binary": (losses.BinaryLogistic(), RNG.integers(2, size=(N, K)).astype(float)),
    "multinomial": (losses.MultinomialLogistic(), RNG.integers(K, size=N)),
    "squared hinge": (losses.SquaredHinge(), RNG.choice([-1.0, 1.0], size=(N, K))),
    "poisson": (losses.Poisson(), RNG.poisson(2.0, size=(N, K)).astype(float)),
    "huber": (losses.Huber(1.35, np.array([0.5, 1.0, 3.0])), REAL),
    "pinball": (losses.Pinball(0.8, mu=0.7), REAL),
    "insensitive": (losses.EpsilonInsensitive(0.3, mu=0.7), REAL),
    "squared insensitive": (losses.SquaredEpsilonInsensitive(0.3), REAL),
}


@pytest.fixture(params=CASES, name="case")
def _case(request):
    return CASES[request.param]


def test_gradient_is_the_difference_of_values(case):
    loss, y = case
    step = 1e-6
    for j in range(K):
        shift = np.zeros(K)
        shift[j] = step
        slope = (loss.value(y, RAW + shift) - loss.value(y, RAW - shift)) / (2 * step)
        slope = slope if slope.ndim == 1 else slope[:, j]
        np.testing.assert_allclose(loss.gradient(y, RAW)[:, j], slope, atol=1e-7)


def test_hessian_product_is_the_difference_of_gradients(case):
    loss, y = case
    V, step = RNG.normal(size=(N, K)), 1e-7
    difference = (loss.gradient(y, RAW + step * V) - loss.gradient(y, RAW - step * V)) / (2 * step)
    product = loss.hessian_product(loss.curvature(y, RAW), V)
    # Where a second derivative jumps within the step, difference and derivative are of different pieces.
    close = np.isclose(product, difference, atol=1e-5, rtol=1e-5)
    assert close.mean() > 0.995
    assert close.all() or not isinstance(loss, losses.BinaryLogistic | losses.MultinomialLogistic | losses.Poisson)


def test_curvature_is_never_negative_and_values_are_finite(case):
    loss, y = case
    for scale in (1e-8, 1.0, 40.0):
        raw = scale * RAW
        value, gradient = loss.value_and_gradient(y, raw)
        assert (loss.curvature(y, raw) >= 0).all()
        assert np.isfinite(value).all()
        assert np.isfinite(gradient).all()


def test_value_gradient_and_both_agree(case):
    loss, y = case
    value, gradient = loss.value_and_gradient(y, RAW)
    np.testing.assert_array_equal(value, loss.value(y, RAW))
    np.testing.assert_array_equal(gradient, loss.gradient(y, RAW))


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("multinomial", "huber")])
def test_one_column_is_a_column_of_many(name):
    loss, y = CASES[name]
    np.testing.assert_array_equal(loss.value(y[:, 1], RAW[:, 1]), loss.value(y, RAW)[:, 1])


@pytest.mark.parametrize("raw", [0.0, 1e-20, 1.0, 36.0, 800.0, 1e6, -1e-20, -36.0, -800.0, -1e6])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_binary_logistic_far_out(raw, y):
    value, gradient = losses.BinaryLogistic().value_and_gradient(np.array([y]), np.array([raw]))
    # log(1 + e^f) - y f = logaddexp(0, -f) for y = 1 and logaddexp(0, f) for y = 0, without cancellation.
    expected = np.logaddexp(0.0, raw if y == 0.0 else -raw)
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    np.testing.assert_allclose(gradient, np.exp(-np.logaddexp(0.0, -raw)) - y, rtol=1e-13, atol=1e-16)
    assert losses.BinaryLogistic().curvature(np.array([y]), np.array([raw]))[0] <= 0.25


def test_multinomial_against_scipy():
    y = CASES["multinomial"][1]
    for raw in (RAW, 1e3 * RAW, RAW - 1e5):
        value, gradient = losses.MultinomialLogistic().value_and_gradient(y, raw)
        np.testing.assert_allclose(value, logsumexp(raw, axis=1) - raw[np.arange(N), y], atol=1e-9)
        np.testing.assert_allclose(gradient, softmax(raw, axis=1) - np.eye(K)[y], atol=1e-11)


def test_two_classes_of_the_multinomial_are_the_binary_loss():
    raw = RAW[:, 0]
    y = CASES["multinomial"][1] % 2
    both = losses.MultinomialLogistic().value(y, np.column_stack([np.zeros(N), raw]))
    np.testing.assert_allclose(both, losses.BinaryLogistic().value(y.astype(float), raw), rtol=1e-12)


def test_huber_is_the_loss_of_scikit_learn():
    from sklearn.linear_model._huber import _huber_loss_and_gradient

    y, raw, sigma = REAL[:, 0], RAW[:, 0], 0.7
    theirs = _huber_loss_and_gradient(np.array([1.0, sigma]), raw[:, None], y, 1.35, 0.0, np.ones(N))
    value, gradient = losses.Huber(1.35, sigma).value_and_gradient(y, raw)
    np.testing.assert_allclose(value.sum(), theirs[0])
    np.testing.assert_allclose(raw @ gradient, theirs[1][0])


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_pinball_and_how_far_its_smoothing_is_off(quantile):
    r = REAL - RAW
    exact = np.maximum(quantile * r, (quantile - 1) * r)
    np.testing.assert_allclose(losses.Pinball(quantile).value(REAL, RAW), exact)
    for mu in (1.0, 0.01):
        below = exact - losses.Pinball(quantile, mu).value(REAL, RAW)
        assert below.min() > -1e-14
        assert below.max() <= mu * max(quantile, 1 - quantile) ** 2 / 2 + 1e-12
        assert below.max() > 0.9 * mu * max(quantile, 1 - quantile) ** 2 / 2


def test_epsilon_insensitive_and_how_far_its_smoothing_is_off():
    exact = np.maximum(np.abs(REAL - RAW) - 0.3, 0)
    np.testing.assert_allclose(losses.EpsilonInsensitive(0.3).value(REAL, RAW), exact)
    np.testing.assert_allclose(losses.SquaredEpsilonInsensitive(0.3).value(REAL, RAW), exact**2)
    for mu in (1.0, 0.01):
        below = exact - losses.EpsilonInsensitive(0.3, mu).value(REAL, RAW)
        assert below.min() > -1e-14
        assert mu / 2 * 0.9 < below.max() <= mu / 2 + 1e-12
