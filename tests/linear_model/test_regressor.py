"""`CodeRegressor` against scikit-learn's namesakes, and against optimality conditions and general optimisers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import optimize
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, PoissonRegressor, QuantileRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram import FourierFeatures
from nanogram.linear_model import CodeRegressor
from nanogram.linear_model._robust import huber_scale

RNG = np.random.default_rng(13)
N = 300
ROWS = RNG.normal(size=(N, 5))
Y = np.sin(ROWS[:, 0]) + 0.3 * RNG.standard_t(2, size=N) + 2.0
COUNTS = RNG.poisson(np.exp(np.sin(ROWS[:, 0]))).astype(float)
WEIGHTS = RNG.uniform(0.0, 2.0, N)
LOSSES = ["huber", "quantile", "poisson", "epsilon_insensitive", "squared_epsilon_insensitive"]


class Interrupter:
    """Presses Ctrl-C in an iteration, or asks to stop there."""

    def __init__(self, at, stop=False):
        self.left, self.stop = at, stop

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == "iteration":
            self.left -= 1
            if self.left == 0 and not self.stop:
                raise KeyboardInterrupt

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        return self.stop and self.left <= 0


def codes(bits=4, m=40):
    Z = FourierFeatures(m, bits=bits, random_state=0).fit_transform(ROWS)
    return Z, Z.toarray().astype(np.float64)


def objective(loss, D, y, s, coef, b, *, alpha, epsilon=0.1, quantile=0.5):
    """As the class documents them."""
    r = y - D @ coef - b
    if loss == "quantile":
        values = np.maximum(quantile * r, (quantile - 1) * r)
    elif loss == "epsilon_insensitive":
        values = np.maximum(np.abs(r) - epsilon, 0)
    elif loss == "squared_epsilon_insensitive":
        values = np.maximum(np.abs(r) - epsilon, 0) ** 2
    else:
        values = np.exp(D @ coef + b) - y * (D @ coef + b)
    return s @ values / s.sum() + alpha / 2 * coef @ coef


def huber_objective(D, y, s, coef, b, sigma, alpha, epsilon=1.35):
    z = np.abs(y - D @ coef - b) / sigma
    H = np.where(z < epsilon, z**2, 2 * epsilon * z - epsilon**2)
    return s @ (sigma + sigma * H) + alpha * coef @ coef


def agree(model, coef, intercept, tol=1e-3):
    assert np.linalg.norm(model.coef_ - coef) < tol * np.linalg.norm(coef)
    np.testing.assert_allclose(model.intercept_, intercept, atol=tol)


@parametrize_with_checks([CodeRegressor(loss) for loss in LOSSES])
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some checks set max_iter to 1 or 5
        check(estimator)


@pytest.mark.parametrize("bits", [1, 8])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_huber_equals_scikit_learn(bits, alpha, weights):
    Z, D = codes(bits)
    s = np.ones(N) if weights is None else weights
    expected = HuberRegressor(alpha=alpha, tol=1e-8, max_iter=10_000).fit(D, Y, weights)
    model = CodeRegressor(alpha=alpha, tol=1e-7).fit(Z, Y, weights)
    agree(model, expected.coef_, expected.intercept_, 3e-3)
    np.testing.assert_allclose(model.scale_, expected.scale_, rtol=1e-3)
    ours = huber_objective(D, Y, s, model.coef_, model.intercept_, model.scale_, alpha)
    theirs = huber_objective(D, Y, s, expected.coef_, expected.intercept_, expected.scale_, alpha)
    assert ours <= theirs * (1 + 1e-7)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("epsilon", [1.01, 1.35, 5.0])
def test_huber_scale_is_where_the_objective_is_least(weights, epsilon):
    r = RNG.standard_t(2, size=200)
    weights = None if weights is None else weights[:200]
    s = np.ones(200) if weights is None else weights

    def value(sigma):
        return huber_objective(np.zeros((200, 1)), r, s, np.zeros(1), 0.0, sigma, 0.0, epsilon)

    found = huber_scale(r, weights, epsilon)
    assert all(value(found) <= value(found * factor) for factor in (0.999, 1.001, 0.9, 1.1))
    assert huber_scale(np.zeros(5), None, 1.35) == 0.0
    assert huber_scale(np.array([0.0] * 9 + [1.0]), None, 1.35) == 0.0


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
@pytest.mark.parametrize("bits", [1, 4])
def test_poisson_equals_scikit_learn(bits, solver):
    Z, D = codes(bits)
    for weights in (None, WEIGHTS):
        expected = PoissonRegressor(alpha=0.01, tol=1e-10, solver="newton-cholesky").fit(D, COUNTS, weights)
        model = CodeRegressor("poisson", alpha=0.01, solver=solver).fit(Z, COUNTS, weights)
        agree(model, expected.coef_, expected.intercept_)
        np.testing.assert_allclose(model.predict(Z), expected.predict(D), rtol=5e-3)


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
def test_squared_insensitive_equals_liblinear(solver):
    Z, D = codes()
    options = {"loss": "squared_epsilon_insensitive", "epsilon": 0.2, "dual": False, "tol": 1e-10}
    expected = LinearSVR(C=3.0, max_iter=100_000, intercept_scaling=1e3, **options).fit(D, Y, WEIGHTS)
    alpha = 1 / (3.0 * WEIGHTS.sum())
    model = CodeRegressor("squared_epsilon_insensitive", alpha=alpha, epsilon=0.2, solver=solver).fit(Z, Y, WEIGHTS)
    agree(model, expected.coef_, expected.intercept_)


def test_unpenalised_quantiles_equal_the_linear_programme():
    D = codes(m=8)[1]
    for quantile in (0.1, 0.5, 0.8):
        expected = QuantileRegressor(quantile=quantile, alpha=0.0).fit(D, Y, WEIGHTS)
        model = CodeRegressor("quantile", quantile=quantile, alpha=1e-12, tol=1e-8).fit(D, Y, WEIGHTS)
        agree(model, expected.coef_, expected.intercept_, 1e-3)


@pytest.mark.parametrize("loss", ["quantile", "epsilon_insensitive"])
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_piecewise_linear_losses_equal_the_quadratic_programme(loss, alpha):
    """The dual programme by a general optimiser: its value is a lower bound, and ours is just above it."""
    D, s, y = codes(m=6)[1][:40], WEIGHTS[:40], Y[:40]
    epsilon, quantile = 0.2, 0.7
    model = CodeRegressor(loss, alpha=alpha, epsilon=epsilon, quantile=quantile, tol=1e-9).fit(D, y, s)
    ours = objective(loss, D, y, s, model.coef_, model.intercept_, alpha=alpha, epsilon=epsilon, quantile=quantile)
    total = s.sum()
    h = 0.0 if loss == "quantile" else epsilon
    # t = up - down, both of at least 0; the intercept wants sum_i s_i t_i = 0.
    top = (quantile, 1 - quantile) if loss == "quantile" else (1.0, 1.0)

    def negative_dual(x):
        t, back = x[:40] - x[40:], D.T @ (s * (x[:40] - x[40:]))
        value = (s @ (t * y) - h * s @ (x[:40] + x[40:])) / total - back @ back / (2 * alpha * total**2)
        slope = s * (y - D @ back / (alpha * total)) / total
        return -value, np.concatenate([-slope + h * s / total, slope + h * s / total])

    found = optimize.minimize(
        negative_dual, np.zeros(80), jac=True, method="SLSQP", options={"ftol": 1e-14, "maxiter": 2000},
        bounds=[(0, top[0])] * 40 + [(0, top[1])] * 40,
        constraints={"type": "eq", "fun": lambda x: s @ (x[:40] - x[40:]), "jac": lambda x: np.concatenate([s, -s])},
    )  # fmt: skip
    assert ours >= -found.fun * (1 - 1e-6)
    assert ours <= -found.fun * (1 + 1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_kinds_of_features_and_weights_as_repeats(loss):
    Z, D = codes()
    y = COUNTS if loss == "poisson" else Y
    options = {"loss": loss, "alpha": 0.05}
    stored = CodeRegressor(**options).fit(Z, y)
    for X in (D, D.astype(np.float32), sp.csr_array(D)):
        np.testing.assert_allclose(CodeRegressor(**options).fit(X, y).predict(X), stored.predict(Z), atol=2e-2)
    repeats = np.arange(N) % 3
    weighted = CodeRegressor(**options, tol=1e-7).fit(D, y, repeats)
    repeated = CodeRegressor(**options, tol=1e-7).fit(np.repeat(D, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weighted.predict(D), repeated.predict(D), atol=2e-3)
    assert cross_val_score(stored, Z, y, cv=3).shape == (3,)


def test_share_of_rows_below_a_quantile():
    Z, _ = codes()
    for quantile in (0.1, 0.5, 0.9):
        model = CodeRegressor("quantile", quantile=quantile, alpha=1e-3).fit(Z, Y)
        assert abs((model.predict(Z) >= Y).mean() - quantile) < 0.02


def test_warm_start():
    Z, _ = codes()
    for loss in ("huber", "poisson"):
        model = CodeRegressor(loss, alpha=0.1, warm_start=True).fit(Z, COUNTS)
        first, coef = model.n_iter_, model.coef_
        assert model.fit(Z, COUNTS).n_iter_ < first
        np.testing.assert_allclose(model.coef_, coef, atol=1e-3 * np.abs(coef).max())


@pytest.mark.parametrize(("options", "message"), [
    ({"loss": "squares"}, "loss='squares' is not accepted; 'huber', 'quantile'"),
    ({"alpha": -1.0}, r"alpha=-1\.0 is not accepted; a number of at least 0"),
    ({"epsilon": 1.0}, r"epsilon=1\.0 is not accepted; with loss='huber'"),
    ({"loss": "epsilon_insensitive", "epsilon": -0.1}, r"epsilon=-0\.1 is not accepted"),
    ({"loss": "quantile", "quantile": 1.0}, r"quantile=1\.0 is not accepted; a number between 0 and 1"),
    ({"max_iter": 0}, "max_iter=0 is not accepted"),
])  # fmt: skip
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        CodeRegressor(**options).fit(codes()[0], Y)


def test_bad_data():
    Z = codes()[0]
    with pytest.raises(ValueError, match=r"y\[3\] is -1\.0; with loss='poisson' targets of at least 0"):
        CodeRegressor("poisson").fit(Z, np.where(np.arange(N) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="NaN"):
        CodeRegressor().fit(Z, np.full(N, np.nan))
    with pytest.raises(ValueError, match=r"non-zero number|sums to zero"):
        CodeRegressor().fit(Z, Y, np.zeros(N))
    for loss in LOSSES:
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            CodeRegressor(loss, alpha=1e-6, max_iter=1).fit(Z, np.abs(Y))


def test_no_tol_goes_as_far_as_is_free_and_does_not_complain_of_rounding():
    _, Z = codes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss in LOSSES:
            y = COUNTS if loss == "poisson" else Y
            model = CodeRegressor(loss, alpha=1e-3).fit(Z, y)
            tight = CodeRegressor(loss, alpha=1e-3, tol=1e-9).fit(Z, y)
            np.testing.assert_allclose(model.coef_, tight.coef_, rtol=1e-4, atol=1e-5 * np.abs(tight.coef_).max())


def test_score_is_that_of_scikit_learn():
    Z, D = codes()
    expected = PoissonRegressor(alpha=0.01, tol=1e-10, max_iter=1000).fit(D, COUNTS)
    model = CodeRegressor("poisson", alpha=0.01).fit(Z, COUNTS)
    for s in (None, WEIGHTS):
        assert model.score(Z, COUNTS, s) == pytest.approx(expected.score(D, COUNTS, s), abs=1e-4)
    model.intercept_ = -1e4  # e^f is 0
    assert np.isfinite(model.score(Z, COUNTS))
    model = CodeRegressor().fit(Z, Y)
    assert model.score(Z, Y, WEIGHTS) == pytest.approx(r2_score(Y, model.predict(Z), sample_weight=WEIGHTS))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
def test_interruption_keeps_the_last_iteration(loss, solver):
    """Ctrl-C while the third iteration is told leaves its model, the one of a callback that stops there."""
    Z, _ = codes()
    y = COUNTS if loss == "poisson" else Y
    model = CodeRegressor(loss, alpha=1e-3, solver=solver).set_callbacks(Interrupter(3))
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations; the best"):
        model.fit(Z, y)
    assert model.n_iter_ == 2
    stopped = CodeRegressor(loss, alpha=1e-3, solver=solver).set_callbacks(Interrupter(3, stop=True)).fit(Z, y)
    assert stopped.n_iter_ == 3
    np.testing.assert_allclose(model.coef_, stopped.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, stopped.intercept_, rtol=1e-12)
    again = model.set_callbacks().set_params(warm_start=True, solver="newton-cg").fit(Z, y)
    whole = CodeRegressor(loss, alpha=1e-3).fit(Z, y)
    assert np.abs(again.predict(Z) - whole.predict(Z)).max() < 1e-2 * np.ptp(whole.predict(Z))
    with pytest.raises(KeyboardInterrupt):
        CodeRegressor(loss, solver=solver).set_callbacks(Interrupter(1)).fit(Z, y)


def test_callbacks_see_models_of_each_iteration():
    Z, _ = codes()
    monitor = ScoringMonitor(scoring="neg_mean_absolute_error")
    model = CodeRegressor("epsilon_insensitive", alpha=1e-3).set_callbacks(monitor).fit(Z, Y)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(rows) == model.n_iter_
    last = rows[-1]["neg_mean_absolute_error"]
    assert last == pytest.approx(-np.abs(model.predict(Z) - Y).mean(), rel=1e-9)
    assert last > rows[0]["neg_mean_absolute_error"]
