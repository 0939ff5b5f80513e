"""`CodeLogisticRegression` against scikit-learn's on the decoded matrix, and what its users expect of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram import FourierFeatures, TernaryFeatures
from nanogram.linear_model import CodeLogisticRegression
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(7)
N = 400
ROWS = RNG.normal(size=(N, 5))
SCORE = ROWS[:, 0] + ROWS[:, 1] ** 2 + 0.5 * RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.0, 2.0, N)
KINDS = ["1 bit", "2 bits", "4 bits", "8 bits", "dense", "float32", "sparse"]


def labels(k: int) -> np.ndarray:
    """k classes of equal size, named so that they sort in another order than they come."""
    names = np.array([f"class {(7 * i) % 10}" for i in range(k)])
    return names[np.digitize(SCORE, np.quantile(SCORE, np.linspace(0, 1, k + 1)[1:-1]))]


def features(kind: str, m: int = 60) -> tuple[Any, np.ndarray]:
    """Features as an estimator gets them, and decoded in double."""
    if kind.endswith(("bit", "bits")):
        Z = FourierFeatures(m, bits=int(kind[0]), random_state=0).fit_transform(ROWS)
        return Z, Z.toarray().astype(np.float64)
    D = FourierFeatures(m, random_state=0, output="array").fit_transform(ROWS).astype(np.float64)
    if kind == "sparse":
        D[np.abs(D) < 0.1] = 0.0
        return sp.csr_array(D), D
    return (D.astype(np.float32), D.astype(np.float32).astype(np.float64)) if kind == "float32" else (D, D)


def relative(got: Any, expected: Any) -> float:
    """Norm of the difference over the norm of what is expected."""
    got, expected = np.ravel(got), np.ravel(expected)
    return float(np.linalg.norm(got - expected) / np.linalg.norm(expected))


def theirs(D, y, weights=None, **options):
    model = LogisticRegression(tol=1e-10, max_iter=1000, solver="newton-cholesky", **options)
    return model.fit(D, y, weights)


def expected_failures(estimator: Any) -> dict[str, str]:
    """Weighting a row is not repeating it where rows are drawn and held out by number; so too in SGDClassifier."""
    if estimator.solver != "sgd":
        return {}
    reason = "weights are not repetitions: rows of a batch, and rows held out, are drawn by number"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [CodeLogisticRegression(solver=solver) for solver in ("newton-cg", "lbfgs", "sgd")],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some checks set max_iter to 1 or 5
        check(estimator)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
def test_coefficients_equal_those_of_scikit_learn(kind, k, solver):
    Z, D = features(kind)
    y = labels(k)
    expected = theirs(D, y, WEIGHTS, C=3.0)
    model = CodeLogisticRegression(C=3.0, solver=solver).fit(Z, y, WEIGHTS)
    assert model.coef_.shape == expected.coef_.shape
    assert model.intercept_.shape == expected.intercept_.shape
    assert relative(model.coef_, expected.coef_) < 1e-3
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-3)
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    np.testing.assert_allclose(model.predict_proba(Z), expected.predict_proba(D), atol=1e-3)
    np.testing.assert_array_equal(model.predict(Z), expected.predict(D))


@pytest.mark.parametrize("options", [
    {"class_weight": "balanced"},
    {"class_weight": {"class 0": 3.0, "class 7": 0.2}},
    {"fit_intercept": False},
    {"C": 1e-3},
    {"C": 1e3},
    {"C": 100.0, "class_weight": "balanced", "fit_intercept": False},
])  # fmt: skip
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("k", [2, 3])
def test_options_mean_what_they_mean_there(options, weights, k):
    Z, D = features("4 bits")
    y = labels(k)
    keep = np.arange(N) % 3 > 0  # uneven classes
    keep |= y == "class 7"
    Z, D, y, weights = Z[keep], D[keep], y[keep], None if weights is None else weights[keep]
    expected = theirs(D, y, weights, **options)
    model = CodeLogisticRegression(**options).fit(Z, y, weights)
    assert relative(model.coef_, expected.coef_) < 1e-3
    np.testing.assert_allclose(
        model.intercept_, expected.intercept_, atol=1e-3 * (1 + np.abs(expected.intercept_).max())
    )


def test_tight_tolerances_are_reached():
    Z, D = features("2 bits")
    for k in (2, 3):
        model = CodeLogisticRegression(tol=1e-10).fit(Z, labels(k))
        assert relative(model.coef_, theirs(D, labels(k)).coef_) < 1e-7


def test_more_features_than_rows():
    Z, D = features("2 bits", 700)
    model = CodeLogisticRegression().fit(Z, labels(2))
    assert relative(model.coef_, theirs(D, labels(2)).coef_) < 1e-3


def test_newton_takes_few_products():
    """The preconditioner: plain conjugate gradients, and L-BFGS, take several times as many."""
    Z, _ = features("4 bits")
    newton = CodeLogisticRegression(C=100.0).fit(Z, labels(2))
    assert newton.n_iter_[0] <= 12
    assert newton.n_products_ <= 70
    lbfgs = CodeLogisticRegression(C=100.0, solver="lbfgs").fit(Z, labels(2))
    assert lbfgs.n_products_ > 2 * newton.n_products_


def test_streamed_codes_give_the_same_model():
    features = TernaryFeatures(64, random_state=0).fit(ROWS)
    codes = StreamedCodes(features, ROWS, block_bytes=1024)
    stored, streamed = (CodeLogisticRegression().fit(Z, labels(3)) for Z in (codes.stored(), codes))
    assert relative(streamed.coef_, stored.coef_) < 1e-4
    np.testing.assert_array_equal(streamed.predict(codes), stored.predict(codes.stored()))


def test_rows_that_come_in_one_order_only():
    """No sample of rows, so no preconditioner: more products, the same model."""

    class OneOrder(StreamedCodes):
        def rows(self, index):
            raise TypeError("one order only")

    features = TernaryFeatures(64, random_state=0).fit(ROWS)
    model = CodeLogisticRegression().fit(OneOrder(features, ROWS, block_bytes=1024), labels(3))
    expected = CodeLogisticRegression().fit(features.transform(ROWS), labels(3))
    assert relative(model.coef_, expected.coef_) < 1e-4
    assert model.n_products_ > expected.n_products_


def test_probabilities():
    Z, _ = features("2 bits")
    for k in (2, 3):
        model = CodeLogisticRegression(C=1e4).fit(Z, labels(k))
        p = model.predict_proba(Z)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(np.log(p), model.predict_log_proba(Z), rtol=1e-9)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(Z))
        assert model.decision_function(Z).shape == ((N,) if k == 2 else (N, 3))
    far = clone(model).fit(Z, labels(2))
    far.coef_ = 1e5 * far.coef_
    assert np.isfinite(far.predict_log_proba(Z)).all()


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
def test_warm_start_goes_on_from_the_last_fit(solver):
    Z, _ = features("4 bits")
    y = labels(3)
    model = CodeLogisticRegression(C=10.0, solver=solver, warm_start=True).fit(Z, y)
    first, coef = model.n_iter_[0], model.coef_
    model.fit(Z, y)
    assert model.n_iter_[0] == 0
    np.testing.assert_array_equal(model.coef_, coef)
    model.set_params(C=11.0).fit(Z, y)
    assert 0 < model.n_iter_[0] < first
    assert relative(model.coef_, CodeLogisticRegression(C=11.0).fit(Z, y).coef_) < 1e-3
    model.fit(Z, labels(2))  # of another shape: from the beginning
    assert model.coef_.shape == (1, 60)


def test_no_penalty_is_maximum_likelihood():
    Z, D = features("4 bits", 10)
    model = CodeLogisticRegression(C=np.inf, tol=1e-7).fit(Z, labels(2))
    expected = theirs(D, labels(2), C=1e9)
    assert relative(model.coef_, expected.coef_) < 1e-3


@pytest.mark.parametrize("k", [2, 3])
def test_batches_come_near(k):
    """Without early stopping to speak of, mini-batches end where Newton's method does."""
    Z, _ = features("4 bits")
    exact = CodeLogisticRegression(C=1.0).fit(Z, labels(k))
    model = CodeLogisticRegression(C=1.0, solver="sgd", random_state=0).fit(Z, labels(k))
    assert (model.predict(Z) == exact.predict(Z)).mean() > 0.85
    assert model.coef_.shape == exact.coef_.shape
    again = CodeLogisticRegression(C=1.0, solver="sgd", random_state=0).fit(Z, labels(k))
    np.testing.assert_array_equal(model.coef_, again.coef_)
    weights = np.where(labels(k) == model.classes_[0], 0.0, 1.0)
    if k == 3:  # a class whose rows weigh nothing
        rest = CodeLogisticRegression(solver="sgd", random_state=0).fit(Z, labels(k), weights)
        assert (rest.predict(Z) == model.classes_[0]).mean() < 0.2
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        CodeLogisticRegression(solver="sgd", max_iter=2).fit(Z, labels(k))
    warm = CodeLogisticRegression(solver="sgd", warm_start=True, random_state=0).fit(Z, labels(k))
    assert warm.fit(Z, labels(k)).n_iter_[0] > 0
    assert warm.classes_.shape == (k,)


def test_without_convergence_a_warning_gives_advice():
    Z, _ = features("4 bits")
    with pytest.warns(ConvergenceWarning, match="raise max_iter, a larger tol"):
        model = CodeLogisticRegression(C=1e4, max_iter=2).fit(Z, labels(3))
    assert model.n_iter_[0] == 2
    with pytest.warns(ConvergenceWarning, match="newton-cg' needs fewer"):
        CodeLogisticRegression(max_iter=2, solver="lbfgs").fit(Z, labels(3))
    with pytest.warns(ConvergenceWarning, match="below what rounding allows"):
        CodeLogisticRegression(tol=1e-17).fit(Z, labels(2))


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


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
def test_interruption_keeps_the_best_model(solver):
    Z, _ = features("4 bits")
    model = CodeLogisticRegression(C=100.0, solver=solver).set_callbacks(Interrupter(4))
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations; the best"):
        model.fit(Z, labels(2))
    with pytest.warns(ConvergenceWarning, match="after 4 iterations"):
        expected = CodeLogisticRegression(C=100.0, solver=solver, max_iter=4).fit(Z, labels(2))
    assert relative(model.coef_, expected.coef_) < 1e-12
    with pytest.raises(KeyboardInterrupt):
        CodeLogisticRegression().set_callbacks(Interrupter(1)).fit(Z, labels(2))


def test_a_callback_stops_the_fit():
    Z, _ = features("4 bits")
    model = CodeLogisticRegression(C=100.0).set_callbacks(Interrupter(2, stop=True)).fit(Z, labels(2))
    assert model.n_iter_[0] == 2


def test_progress_is_printed(capsys):
    Z, _ = features("4 bits")
    model = CodeLogisticRegression(verbose=2).fit(Z, labels(2))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_[0]
    assert all(word in lines[-1] for word in ("objective", "gradient", f"products {model.n_products_}"))
    values = [float(line.split("objective ")[1].split()[0]) for line in lines]
    assert values == sorted(values, reverse=True)


def test_in_pipelines_and_searches():
    y = labels(3)
    pipeline = make_pipeline(FourierFeatures(128, bits=2, random_state=0), CodeLogisticRegression(C=3.0))
    assert cross_val_score(pipeline, ROWS, y, cv=3).mean() > 0.6
    search = GridSearchCV(pipeline, {"codelogisticregression__C": [1e-6, 3.0], "fourierfeatures__bits": [1, 4]}, cv=3)
    search.fit(ROWS, y)
    assert search.best_params_["codelogisticregression__C"] == 3.0
    Z = FourierFeatures(128, bits=2, random_state=0).fit_transform(ROWS)
    assert cross_val_score(CodeLogisticRegression(C=3.0), Z, y, cv=3).mean() > 0.6


def test_features_without_variance():
    Z, D = features("dense")
    flat = np.hstack([D, np.zeros((N, 1)), np.full((N, 1), 3.0)])
    model = CodeLogisticRegression().fit(flat, labels(2))
    assert model.coef_[0, -2] == 0.0
    assert abs(model.coef_[0, -1]) < 1e-6  # the intercept, which is free, stands for it
    assert relative(model.coef_[:, :-2], CodeLogisticRegression().fit(Z, labels(2)).coef_) < 1e-3
    nothing = CodeLogisticRegression().fit(np.zeros((N, 3)), labels(2), WEIGHTS)
    share = WEIGHTS[labels(2) == nothing.classes_[1]].sum() / WEIGHTS.sum()
    np.testing.assert_allclose(nothing.predict_proba(np.zeros((1, 3)))[0, 1], share, rtol=1e-6)


def test_classes_whose_rows_weigh_nothing():
    Z, D = features("4 bits")
    y = labels(3)
    weights = WEIGHTS * (y != "class 4")
    model = CodeLogisticRegression(C=1.0).fit(Z, y, weights)
    p = model.predict_proba(Z)
    assert p[:, model.classes_ == "class 4"].max() < 0.05
    rest = y != "class 4"
    pair = CodeLogisticRegression().fit(Z[rest], y[rest], weights[rest])
    assert (model.predict(Z) == pair.predict(Z)).mean() > 0.97


@pytest.mark.parametrize(("options", "y", "weights", "message"), [
    ({"C": 0.0}, None, None, r"C=0\.0 is not accepted; a number above 0"),
    ({"C": -1}, None, None, r"C=-1 is not accepted"),
    ({"C": float("nan")}, None, None, r"C=nan"),
    ({"solver": "newton"}, None, None, r"solver='newton' is not accepted; 'newton-cg', 'lbfgs'"),
    ({"tol": 0}, None, None, r"tol=0 is not accepted"),
    ({"max_iter": 0}, None, None, r"max_iter=0 is not accepted"),
    ({"class_weight": {"class 0": -1.0, "class 7": 1.0}}, None, None, r"class_weight=.* is not accepted"),
    ({"class_weight": {"class 0": 0.0, "class 7": 0.0}}, None, None, "together sum to zero"),
    ({}, np.zeros(N), None, "one class"),
    ({}, np.full(N, np.nan), None, "NaN"),
    ({}, np.linspace(0, 1, N), None, "continuous"),
    ({}, np.eye(N)[:, :2].astype(int), None, "one column of labels"),
    ({}, np.arange(N - 1) % 2, None, "inconsistent"),
    ({}, None, np.zeros(N), "non-zero number|sums to zero"),
    ({}, None, -np.ones(N), r"sample_weight\[0\] is -1"),
])  # fmt: skip
def test_bad_input(options, y, weights, message):
    Z, _ = features("2 bits")
    with pytest.raises(ValueError, match=message):
        CodeLogisticRegression(**options).fit(Z, labels(2) if y is None else y, weights)


@pytest.mark.parametrize("options", [{"C": "1"}, {"C": True}, {"tol": "small"}, {"max_iter": 2.5}])
def test_wrong_types(options):
    Z, _ = features("2 bits")
    with pytest.raises(TypeError, match=f"{next(iter(options))}=.* is not accepted"):
        CodeLogisticRegression(**options).fit(Z, labels(2))


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
@pytest.mark.parametrize("k", [2, 3])
def test_large_features_converge_as_far_as_in_scikit_learn_by_default(solver, k):
    X = np.random.default_rng(3).normal(size=(4000, 5))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.5, 1.5]) if k == 3 else (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    Z = TernaryFeatures(300, random_state=0).fit_transform(X)
    D, s = Z.toarray().astype(np.float64), np.random.default_rng(4).uniform(0.0, 5.0, 4000)
    model = CodeLogisticRegression(C=10.0, solver=solver).fit(Z, y, s)
    p, truth = model.predict_proba(Z), np.eye(k)[y]
    if k == 2:
        p, truth = p[:, 1:], truth[:, 1:]
    residuals = s[:, None] * (p - truth)
    gradient = (D.T @ residuals + model.coef_.T / 10.0) / s.sum()
    assert np.abs(gradient).max() <= 1.01e-4
    assert np.abs(residuals.sum(axis=0)).max() / s.sum() <= 1.01e-4
    origin = D.T @ (s[:, None] * (np.average(truth, axis=0, weights=s) - truth))
    assert np.linalg.norm(gradient) * s.sum() <= 2e-3 * np.linalg.norm(origin)
    tight = CodeLogisticRegression(C=10.0, solver=solver, tol=1e-5).fit(Z, y, s)
    assert model.n_products_ < tight.n_products_
    assert relative(tight.coef_, theirs(D, y, s, C=10.0).coef_) < 1e-3
