"""`CodeLinearSVC` against liblinear on the decoded matrix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram import FourierFeatures
from nanogram.linear_model import CodeLinearSVC

RNG = np.random.default_rng(11)
N = 400
ROWS = RNG.normal(size=(N, 5))
SCORE = ROWS[:, 0] + ROWS[:, 1] ** 2 + 0.5 * RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.0, 2.0, N)


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


def labels(k):
    return np.digitize(SCORE, np.quantile(SCORE, np.linspace(0, 1, k + 2)[1:-2]))  # the last one is twice as large


def codes(bits):
    Z = FourierFeatures(60, bits=bits, random_state=0).fit_transform(ROWS)
    return Z, Z.toarray().astype(np.float64)


def agree(model, expected, tol=1e-3):
    assert model.coef_.shape == expected.coef_.shape
    assert np.linalg.norm(model.coef_ - expected.coef_) < tol * np.linalg.norm(expected.coef_)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=tol)


def liblinear(D, y, weights=None, **options):
    return LinearSVC(dual=False, tol=1e-9, max_iter=100_000, **options).fit(D, y, weights)


@parametrize_with_checks([CodeLinearSVC()])
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some checks set max_iter to 1 or 5
        check(estimator)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
def test_equals_liblinear_on_codes(bits, k, solver):
    Z, D = codes(bits)
    model = CodeLinearSVC(C=2.0, solver=solver).fit(Z, labels(k), WEIGHTS)
    expected = liblinear(D, labels(k), WEIGHTS, C=2.0)
    agree(model, expected)
    np.testing.assert_allclose(model.decision_function(Z), expected.decision_function(D), atol=5e-3)
    np.testing.assert_array_equal(model.predict(Z), expected.predict(D))


@pytest.mark.parametrize("options", [
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0, 1: 0.2}},
    {"fit_intercept": False},
    {"intercept_scaling": 10.0},
    {"C": 0.01},
    {"C": 100.0},
])  # fmt: skip
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_options_mean_what_they_mean_there(options, k, kind):
    D = codes(4)[1]
    X = D if kind == "dense" else sp.csr_array(D)
    for weights in (None, WEIGHTS):
        agree(CodeLinearSVC(**options).fit(X, labels(k), weights), liblinear(D, labels(k), weights, **options))


def test_unpenalised_intercept_is_the_limit_of_large_scaling():
    Z, D = codes(4)
    model = CodeLinearSVC(intercept_scaling=None).fit(Z, labels(3))
    agree(model, liblinear(D, labels(3), intercept_scaling=300.0))


def test_problems_that_have_converged_are_left_out():
    """An easy class and a hard one: what the easy one costs is not paid until the hard one is done."""
    Z, _ = codes(8)
    y = labels(3)
    separately = [CodeLinearSVC(C=1e3).fit(Z, np.where(y == c, 1, 0)) for c in range(3)]
    together = CodeLinearSVC(C=1e3).fit(Z, y)
    for c, one in enumerate(separately):
        np.testing.assert_allclose(together.coef_[c], one.coef_[0], rtol=1e-3, atol=1e-3 * np.abs(one.coef_).max())


def test_warm_start_and_search():
    Z, _ = codes(4)
    model = CodeLinearSVC(warm_start=True).fit(Z, labels(3))
    assert model.n_iter_ > 0
    model.fit(Z, labels(3))
    assert model.n_iter_ == 0
    assert cross_val_score(CodeLinearSVC(), Z, labels(3), cv=3).mean() > 0.6


@pytest.mark.parametrize(("options", "message"), [
    ({"C": 0}, "C=0 is not accepted; a number above 0"),
    ({"intercept_scaling": 0.0}, r"intercept_scaling=0\.0 is not accepted; None or a number above 0"),
    ({"solver": "dual"}, "solver='dual' is not accepted"),
    ({"tol": 2.0}, r"tol=2\.0 is not accepted"),
])  # fmt: skip
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        CodeLinearSVC(**options).fit(codes(2)[0], labels(2))


def test_bad_data():
    Z = codes(2)[0]
    with pytest.raises(ValueError, match="one class"):
        CodeLinearSVC().fit(Z, np.zeros(N))
    with pytest.raises(ValueError, match="NaN"):
        CodeLinearSVC().fit(Z, np.full(N, np.nan))
    with pytest.raises(ValueError, match=r"non-zero number|sums to zero"):
        CodeLinearSVC().fit(Z, labels(2), np.zeros(N))
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        CodeLinearSVC(C=1e4, max_iter=1).fit(Z, labels(2))


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
@pytest.mark.parametrize("k", [2, 4])
def test_interruption_keeps_the_last_iteration(solver, k):
    """Ctrl-C while the third iteration is told leaves its model, the one of a callback that stops there."""
    Z, _ = codes(4)
    model = CodeLinearSVC(C=100.0, solver=solver).set_callbacks(Interrupter(3))
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations; the best"):
        model.fit(Z, labels(k))
    stopped = CodeLinearSVC(C=100.0, solver=solver).set_callbacks(Interrupter(3, stop=True)).fit(Z, labels(k))
    assert model.n_iter_ == stopped.n_iter_ == 3
    np.testing.assert_allclose(model.coef_, stopped.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, stopped.intercept_, rtol=1e-12)
    assert model.score(Z, labels(k)) > 0.5
    with pytest.raises(KeyboardInterrupt):
        CodeLinearSVC().set_callbacks(Interrupter(1)).fit(Z, labels(k))


def test_callbacks_see_models_of_each_iteration():
    Z, _ = codes(4)
    monitor = ScoringMonitor(scoring="accuracy")
    model = CodeLinearSVC().set_callbacks(monitor).fit(Z, labels(3))
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(scores) == model.n_iter_
    assert scores[-1] == model.score(Z, labels(3))
