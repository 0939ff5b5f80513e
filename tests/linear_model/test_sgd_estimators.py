"""`CodeSGDClassifier` and `CodeSGDRegressor`: what users of scikit-learn's namesakes expect, on codes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from nanogram import CodeSGDClassifier, CodeSGDRegressor, FourierFeatures
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(0)
N = 3000
X = RNG.uniform(-1, 1, (N, 3))
FEATURES = FourierFeatures(64, bits=4, random_state=0).fit(X)
Z = FEATURES.transform(X)
A = Z.toarray(dtype=np.float64)
REAL = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * RNG.normal(size=N)
BINARY = np.where(REAL > 0.4, "yes", "no")
CLASSES = np.array(["low", "mid", "high"])[np.digitize(REAL, [-0.2, 0.7])]
TRAIN, TEST = slice(0, 2500), slice(2500, N)


@pytest.mark.parametrize("solver", ["sgd", "halp", "halp-sgd", "low-precision"])
@pytest.mark.parametrize("y", [BINARY, CLASSES], ids=["binary", "three classes"])
def test_classifier_is_nearly_as_good_as_full_logistic_regression(y, solver):
    model = CodeSGDClassifier(solver=solver, model_bits=16, random_state=0).fit(Z[TRAIN], y[TRAIN])
    full = LogisticRegression(C=1e3, max_iter=2000).fit(A[TRAIN], y[TRAIN])
    assert model.score(Z[TEST], y[TEST]) > full.score(A[TEST], y[TEST]) - 0.04
    k = 1 if len(np.unique(y)) == 2 else 3
    assert model.coef_.shape == (k, 64)
    assert model.intercept_.shape == (k,)
    p = model.predict_proba(Z[TEST])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(Z[TEST]), rtol=1e-9)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(Z[TEST]))
    raw = A[TEST] @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(Z[TEST]).reshape(raw.shape), raw, atol=1e-4 * np.abs(raw).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_error"])
def test_other_losses_of_the_classifier(loss):
    model = CodeSGDClassifier(loss, batch_size=32, random_state=0).fit(Z[TRAIN], CLASSES[TRAIN])
    assert model.score(Z[TEST], CLASSES[TEST]) > 0.72
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    "loss", ["squared_error", "huber", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive"]
)
def test_regressor_is_nearly_as_good_as_ridge(loss):
    model = CodeSGDRegressor(loss, epsilon=0.2, batch_size=32, average=True, random_state=0).fit(Z[TRAIN], REAL[TRAIN])
    best = Ridge(alpha=1e-2).fit(A[TRAIN], REAL[TRAIN]).score(A[TEST], REAL[TEST])
    assert model.score(Z[TEST], REAL[TEST]) > best - 0.05
    assert model.coef_.shape == (64,)


def test_quantiles_and_means_of_counts():
    high = CodeSGDRegressor("quantile", quantile=0.9, average=True, random_state=0).fit(Z, REAL)
    assert abs((high.predict(Z) > REAL).mean() - 0.9) < 0.03
    counts = RNG.poisson(np.exp(REAL))
    model = CodeSGDRegressor("poisson", batch_size=32, random_state=0).fit(Z, counts)
    assert (model.predict(Z) > 0).all()
    assert np.corrcoef(np.log(model.predict(Z)), REAL)[0, 1] > 0.75
    assert abs(model.predict(Z).mean() / counts.mean() - 1) < 0.1


def test_several_targets():
    Y = np.column_stack([REAL, 2 - 3 * REAL])
    model = CodeSGDRegressor(random_state=0).fit(Z, Y)
    assert model.coef_.shape == (2, 64)
    assert model.predict(Z).shape == (N, 2)
    assert model.score(Z, Y) > 0.85


def test_heldout_rows_given_decide():
    model = CodeSGDClassifier(random_state=0).fit(Z[TRAIN], BINARY[TRAIN], X_val=Z[TEST], y_val=BINARY[TEST])
    heldout = log_loss(BINARY[TEST], model.predict_proba(Z[TEST]))
    np.testing.assert_allclose(heldout, model.validation_losses_.min(), rtol=1e-5)
    assert len(model.validation_losses_) == len(model.learning_rates_) == model.n_iter_
    ratios = model.learning_rates_[1:] / model.learning_rates_[:-1]
    assert set(ratios) == {0.5, 1.0}
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        CodeSGDClassifier().fit(Z, BINARY, X_val=Z)
    with pytest.raises(ValueError, match="y_val holds 'maybe'"):
        CodeSGDClassifier().fit(Z, BINARY, X_val=Z[:1], y_val=["maybe"])


def test_rows_held_out_are_a_tenth_of_each_class():
    rows, held = CodeSGDClassifier()._split(N, np.repeat([0, 1, 2], [2980, 18, 2]), 0)
    assert len(rows) + len(held) == N
    assert np.bincount(np.repeat([0, 1, 2], [2980, 18, 2])[held], minlength=3).tolist() == [298, 2, 0]
    assert len(CodeSGDClassifier(validation_fraction=None)._split(N, None, 0)[1]) == 0


def test_class_weights_and_sample_weights_move_the_balance():
    rare = np.where(REAL > 1.2, 1, 0)
    assert rare.mean() < 0.2
    plain = CodeSGDClassifier(random_state=0).fit(Z, rare)
    balanced = CodeSGDClassifier(class_weight="balanced", random_state=0).fit(Z, rare)
    weights = np.where(rare, 0.5 / rare.mean(), 0.5 / (1 - rare.mean()))
    weighted = CodeSGDClassifier(random_state=0).fit(Z, rare, sample_weight=weights)
    assert balanced.predict(Z).mean() > 1.2 * plain.predict(Z).mean()
    np.testing.assert_allclose(balanced.coef_, weighted.coef_)
    zero = CodeSGDRegressor(random_state=0).fit(Z, np.where(rare, 1e6, REAL), sample_weight=1.0 - rare)
    assert np.abs(zero.predict(Z)).max() < 5.0  # rows of weight 0 do not count, heldout ones neither


def test_partial_fit_learns_and_goes_on_after_pickling():
    model = CodeSGDClassifier(batch_size=32, random_state=0)
    for start in range(0, 2500, 500):
        if start == 1000:
            model = pickle.loads(pickle.dumps(model))
        model.partial_fit(Z[start : start + 500], CLASSES[start : start + 500], classes=["low", "mid", "high"])
    once = model.score(Z[TEST], CLASSES[TEST])
    for _ in range(5):
        model.partial_fit(Z[TRAIN], CLASSES[TRAIN])
    assert model.score(Z[TEST], CLASSES[TEST]) > max(once, 0.78) - 0.02
    with pytest.raises(ValueError, match="first call"):
        CodeSGDClassifier().partial_fit(Z, CLASSES)
    with pytest.raises(ValueError, match="y holds 'odd'"):
        model.partial_fit(Z[:1], ["odd"])
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(Z[:1], ["low"], classes=["low", "mid"])


def test_partial_fit_is_the_epochs_of_a_constant_rate():
    parameters = {"shuffle": "rows", "fit_intercept": False, "random_state": 3, "eta0": 2.0, "momentum": 0.5}
    whole = CodeSGDRegressor(learning_rate="constant", max_iter=3, **parameters).fit(Z, REAL)
    parts = CodeSGDRegressor(**parameters)
    for _ in range(3):
        parts.partial_fit(Z, REAL)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)


def test_partial_fit_goes_on_from_a_fit():
    model = CodeSGDRegressor(random_state=0).fit(Z, REAL)
    before = model.score(Z, REAL)
    model.partial_fit(Z, REAL)
    assert model.score(Z, REAL) > before - 0.05


def test_warm_start_begins_where_the_last_fit_ended():
    model = CodeSGDRegressor(learning_rate="constant", max_iter=30, warm_start=True, random_state=0).fit(Z, REAL)
    model.set_params(max_iter=1).fit(Z, REAL)
    cold = CodeSGDRegressor(learning_rate="constant", max_iter=1, random_state=0).fit(Z, REAL)
    assert model.score(Z, REAL) > cold.score(Z, REAL)


@pytest.mark.parametrize("kind", ["dense", "csr_matrix", "csr_array", "float32", "streamed"])
def test_other_kinds_of_features(kind):
    other = {
        "dense": A,
        "csr_matrix": sp.csr_matrix(A),
        "csr_array": sp.csr_array(A),
        "float32": A.astype(np.float32),
        "streamed": StreamedCodes(FEATURES, X),
    }[kind]
    parameters = {"shuffle": "rows", "resample": False, "random_state": 0, "n_halvings": 3}
    expected = CodeSGDRegressor(**parameters).fit(Z, REAL)
    found = CodeSGDRegressor(**parameters).fit(other, REAL)
    np.testing.assert_allclose(found.predict(other), expected.predict(Z), atol=5e-3)


def test_resampled_noise_needs_rows():
    streamed = StreamedCodes(FourierFeatures(64, bits=1, random_state=0).fit(X), X)
    fixed = CodeSGDRegressor(random_state=0, resample=False).fit(streamed, REAL)
    drawn = CodeSGDRegressor(random_state=0, resample=True).fit(streamed, REAL)
    assert not np.array_equal(fixed.coef_, drawn.coef_)
    np.testing.assert_array_equal(drawn.coef_, CodeSGDRegressor(random_state=0).fit(streamed, REAL).coef_)
    assert drawn.score(streamed, REAL) > 0.3
    with pytest.raises(ValueError, match="resample=True"):
        CodeSGDRegressor(resample=True).fit(Z, REAL)


def test_second_codes_are_used():
    maps = [FourierFeatures(64, bits=1, random_state=0, salt=salt).fit(X) for salt in (0, 1)]
    first, second = (m.transform(X) for m in maps)
    single = CodeSGDRegressor(random_state=0).fit(first, REAL)
    double = CodeSGDRegressor(random_state=0).fit(first, REAL, X_second=second)
    assert not np.allclose(single.coef_, double.coef_)
    assert double.score(first, REAL) > 0.2
    with pytest.raises(ValueError, match="X_second has shape"):
        CodeSGDRegressor().fit(first, REAL, X_second=second[:5])


def test_interruption_keeps_the_best_model(monkeypatch):
    from nanogram.linear_model._sgd_steps import Plain

    epoch = Plain.epoch

    def interrupted(self, pairs, rate, number):
        if number == 4:
            raise KeyboardInterrupt
        epoch(self, pairs, rate, number)

    monkeypatch.setattr(Plain, "epoch", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 4 epochs"):
        model = CodeSGDRegressor(random_state=0).fit(Z, REAL)
    assert model.n_iter_ == 4
    assert model.score(Z, REAL) > 0.5


def test_epochs_that_run_out_and_rates_that_diverge_warn():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        CodeSGDRegressor(max_iter=2).fit(Z, REAL)
    with pytest.warns(ConvergenceWarning, match="eta0=1e\\+200 is too large"):
        CodeSGDRegressor(eta0=1e200).fit(Z, REAL)


def test_verbose_prints_epochs(capsys):
    model = CodeSGDRegressor(verbose=2, random_state=0).fit(Z, REAL)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("[CodeSGDRegressor] epoch 1/1000  loss ")


def test_in_a_grid_with_codes_between_the_steps():
    pipeline = make_pipeline(FourierFeatures(64, bits=2, random_state=0), CodeSGDClassifier(random_state=0))
    grid = GridSearchCV(pipeline, {"codesgdclassifier__alpha": [1e-6, 1e3]}, cv=3).fit(X, BINARY)
    assert grid.best_params_["codesgdclassifier__alpha"] == 1e-6
    assert cross_val_score(CodeSGDRegressor(batch_size=32, random_state=0), Z, REAL, cv=3).min() > 0.8


# --------------------------------------------------------------------------- bad input


def test_more_classes_than_rows_of_a_batch():
    many = np.floor(X[:, 0] * 20).astype(int)
    model = CodeSGDClassifier(batch_size=7, n_halvings=1, random_state=0).fit(Z, many)
    assert len(model.classes_) == 40
    assert model.score(Z, many) > 3 / 40


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.zeros(N, dtype=int), "one class"),
        (np.where(np.arange(N) == 5, np.nan, 1.0), "NaN"),
        (REAL, "continuous"),
        (np.arange(N - 1) % 2, "inconsistent numbers of samples"),
        (None, "requires y"),
    ],
)
def test_targets_that_are_none(y, match):
    with pytest.raises(ValueError, match=match):
        CodeSGDClassifier().fit(Z, y)


def test_targets_and_weights_that_are_none_for_numbers():
    with pytest.raises(ValueError, match="NaN"):
        CodeSGDRegressor().fit(Z, np.where(np.arange(N) == 5, np.nan, REAL))
    with pytest.raises(ValueError, match="sums to zero"):
        CodeSGDRegressor().fit(Z, REAL, sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match=r"sample_weight\[3\] is -1"):
        CodeSGDRegressor().fit(Z, REAL, sample_weight=np.where(np.arange(N) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="poisson"):
        CodeSGDRegressor("poisson").fit(Z, REAL)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "hinge"),
        ("solver", "adam"),
        ("model_bits", 4),
        ("learning_rate", "optimal"),
        ("shuffle", True),
        ("batch_size", 0),
        ("max_iter", 2.5),
        ("n_halvings", 0),
        ("eta0", 0.0),
        ("eta0", "best"),
        ("alpha", -1.0),
        ("momentum", 1.0),
        ("tol", 1.0),
        ("validation_fraction", 1.0),
        ("resample", "never"),
    ],
)
def test_bad_parameters_are_named(name, value):
    for model, y in ((CodeSGDClassifier(), BINARY), (CodeSGDRegressor(), REAL)):
        with pytest.raises(ValueError, match=f"{name}={value!r}"):
            clone(model).set_params(**{name: value}).fit(Z, y)


def test_momentum_is_for_full_precision():
    with pytest.raises(ValueError, match="solver='sgd'"):
        CodeSGDRegressor(solver="halp", momentum=0.5).fit(Z, REAL)
    assert not hasattr(CodeSGDRegressor(solver="halp"), "partial_fit")


def test_constant_features_and_constant_targets():
    flat = np.ones((200, 5))
    np.testing.assert_allclose(CodeSGDRegressor().fit(flat, REAL[:200]).predict(flat), REAL[:200].mean(), atol=0.05)
    np.testing.assert_allclose(CodeSGDRegressor().fit(Z, np.full(N, 7.0)).predict(Z), 7.0, atol=1e-6)
