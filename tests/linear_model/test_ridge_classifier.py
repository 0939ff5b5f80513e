"""`CodeRidgeClassifier` equals scikit-learn's classifiers on decoded features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_score

from nanogram import CodeMatrix
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.linear_model import CodeRidgeClassifier

RNG = np.random.default_rng(23)
N, M = 210, 30
VALUES = RNG.uniform(-1, 1, (N, M))
SCORES = VALUES @ RNG.standard_normal((M, 3)) + 0.8 * RNG.standard_normal((N, 3))
THREE = np.array(["pear", "apple", "plum"])[np.argmax(SCORES, axis=1)]
TWO = np.where(SCORES[:, 0] > 0.7, 7, -2)
MANY = (SCORES > 0).astype(int)
WEIGHTS = RNG.uniform(0, 2, N)
KINDS = {
    "dense": VALUES,
    "csr_array": sp.csr_array(VALUES * (VALUES > 0.3)),
    "csr_matrix": sp.csr_matrix(VALUES * (VALUES > 0.3)),
    "float16": CodeMatrix.from_values(VALUES, FloatCode("float16")),
    "base-3": CodeMatrix.from_values(VALUES, StepCode([-1, 0, 1], [-0.4, 0.3], "base3")),
} | {f"bits-{b}": CodeMatrix.from_values(VALUES, UniformCode(bits=b), random_state=0) for b in (1, 2, 4, 8)}


def decoded(X):
    return X.toarray().astype(np.float64) if hasattr(X, "toarray") else X


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("target", [TWO, THREE, MANY], ids=["two", "three", "many"])
@pytest.mark.parametrize("kind", KINDS)
def test_agrees(kind, target, class_weight):
    X = KINDS[kind]
    for weights in (None, WEIGHTS):
        theirs = RidgeClassifier(0.5, class_weight=class_weight).fit(decoded(X), target, weights)
        ours = CodeRidgeClassifier(0.5, class_weight=class_weight).fit(X, target, weights)
        scale = np.abs(theirs.coef_).max()
        # scikit-learn documents (1, m) for two classes, and has (m,).
        assert ours.coef_.shape == np.atleast_2d(theirs.coef_).shape
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), atol=1e-6 * scale)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        decisions = theirs.decision_function(decoded(X))
        np.testing.assert_allclose(ours.decision_function(X), decisions, atol=3e-4)
        clear = (np.abs(decisions) > 1e-3) if decisions.ndim == 1 or target is MANY else np.ones(N, dtype=bool)
        if clear.ndim == 2:
            clear = clear.all(axis=1)
        np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(decoded(X))[clear])


def test_types_of_classes():
    for y in (TWO, TWO > 0, TWO.astype(np.float64), list(THREE), THREE.astype(object)):
        model = CodeRidgeClassifier(1.0).fit(VALUES, y)
        assert set(np.asarray(model.predict(VALUES)).tolist()) <= set(np.asarray(y).tolist())
    assert CodeRidgeClassifier(1.0).fit(VALUES, MANY).predict(VALUES).shape == (N, 3)
    assert CodeRidgeClassifier(1.0).fit(VALUES, sp.csr_matrix(MANY)).score(VALUES, MANY) > 0.3


def test_class_weight_by_label():
    ours = CodeRidgeClassifier(0.5, class_weight={"pear": 3.0, "plum": 0.5}).fit(VALUES, THREE)
    factor = np.select([THREE == "pear", THREE == "plum"], [3.0, 0.5], 1.0)
    np.testing.assert_allclose(ours.coef_, CodeRidgeClassifier(0.5).fit(VALUES, THREE, factor).coef_, atol=1e-12)


def test_alpha_by_leave_one_out_is_scikit_learns():
    alphas = np.logspace(-2, 3, 11)
    ours = CodeRidgeClassifier(alphas=alphas, cv="loo").fit(VALUES, THREE)
    theirs = RidgeClassifierCV(alphas).fit(VALUES, THREE)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    scored = CodeRidgeClassifier(alphas=alphas, cv="loo", scoring="accuracy").fit(VALUES, THREE)
    their_scored = RidgeClassifierCV(alphas, scoring="accuracy").fit(VALUES, THREE)
    np.testing.assert_allclose(scored.best_score_, their_scored.best_score_)


@pytest.mark.parametrize("target", [TWO, THREE, MANY], ids=["two", "three", "many"])
@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro"])
def test_folds_by_scorers(target, scoring):
    alphas = [0.1, 10.0, 1000.0]
    model = CodeRidgeClassifier(alphas=alphas, cv=3, scoring=scoring).fit(VALUES, target)
    splits = 3 if target is MANY else StratifiedKFold(3)
    for alpha, score in zip(alphas, model.scores_, strict=True):
        with np.errstate(all="ignore"):
            expected = cross_val_score(RidgeClassifier(alpha), VALUES, target, cv=splits, scoring=scoring).mean()
        assert score == pytest.approx(expected, abs=1e-12)


def test_folds_by_rank():
    model = CodeRidgeClassifier(alphas=[0.1, 10.0], cv=3, scoring="roc_auc").fit(VALUES, TWO)
    assert 0.8 < model.best_score_ < 1


def test_generalised_cross_validation_picks_near_the_best():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 40))
    y = (X @ rng.standard_normal(40) + 4 * rng.standard_normal(1500)) > 0
    model = CodeRidgeClassifier().fit(X[:300], y[:300])
    found = model.score(X[300:], y[300:])
    best = max(RidgeClassifier(a).fit(X[:300], y[:300]).score(X[300:], y[300:]) for a in np.logspace(-2, 4, 13))
    assert found > best - 3 * np.sqrt(0.25 / 1200)
    assert model.alpha_ in model.alphas_
    assert isinstance(model.alpha_, float)


def test_alphas_a_class():
    model = CodeRidgeClassifier([0.1, 1.0, 10.0]).fit(VALUES, THREE)
    np.testing.assert_array_equal(model.alpha_, [0.1, 1.0, 10.0])
    np.testing.assert_allclose(model.coef_[1], CodeRidgeClassifier(1.0).fit(VALUES, THREE).coef_[1], atol=1e-10)


def test_classes_that_weights_leave_out_are_not_predicted():
    model = CodeRidgeClassifier(1.0).fit(VALUES, TWO, (TWO == 7).astype(float))
    np.testing.assert_array_equal(model.predict(VALUES), np.full(N, 7))
