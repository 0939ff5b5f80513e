"""CodeMatrix under scikit-learn 1.9: what splits, samples and stacks works, what would densify refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils import _safe_indexing, check_array, resample, shuffle

from nanogram.code_matrix import CodeMatrix
from nanogram.codes import StepCode, UniformCode

X = np.random.default_rng(0).uniform(-1, 1, size=(100, 6))
Y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(100)
TWO_BITS = UniformCode(2, "nearest")
TRITS = StepCode([-1, 0, 1], [-0.4, 0.4], "base3")


class Encode(TransformerMixin, BaseEstimator):
    """The least transformer with codes as output."""

    def __init__(self, code=TWO_BITS):
        self.code = code

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return CodeMatrix.from_values(X, self.code, random_state=0)


class Sparse(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return sparse.csr_array(X)


class RidgeOnCodes(RegressorMixin, BaseEstimator):
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, Z, y):
        assert isinstance(Z, CodeMatrix)
        self.coef_ = np.linalg.solve(Z.gram() + self.alpha * np.eye(Z.shape[1]), Z.T @ y)
        return self

    def predict(self, Z):
        return Z @ self.coef_


@pytest.fixture
def Z():
    return CodeMatrix.from_values(X, TWO_BITS)


def test_splitting_and_sampling(Z):
    D = Z.toarray()
    for keywords in ({}, {"stratify": Y > 0}, {"shuffle": False}):
        for ours, numpys in zip(
            train_test_split(Z, random_state=0, **keywords),
            train_test_split(D, random_state=0, **keywords),
            strict=True,
        ):
            assert isinstance(ours, CodeMatrix)
            np.testing.assert_array_equal(ours.toarray(), numpys)
    for function in (shuffle, resample):
        np.testing.assert_array_equal(function(Z, random_state=0).toarray(), function(D, random_state=0))


@pytest.mark.parametrize("key", [[1, 2], (1, 2), np.array([5, 1]), [True] * 3 + [False] * 3, slice(2, 5)])
def test_safe_indexing(Z, key):
    Z, D = Z[:6], Z[:6].toarray()
    np.testing.assert_array_equal(_safe_indexing(Z, key).toarray(), _safe_indexing(D, key))
    np.testing.assert_array_equal(_safe_indexing(Z, key, axis=1).toarray(), _safe_indexing(D, key, axis=1))


def test_model_selection(Z):
    scores = cross_val_score(RidgeOnCodes(), Z, Y, cv=KFold(3))
    assert scores.min() > 0.5
    np.testing.assert_array_equal(cross_val_score(make_pipeline(Encode(), RidgeOnCodes()), X, Y, cv=KFold(3)), scores)
    search = GridSearchCV(RidgeOnCodes(), {"alpha": [0.1, 1e5]}, cv=3).fit(Z, Y)
    assert search.best_params_ == {"alpha": 0.1}


def test_feature_union_and_column_transformer(Z):
    D = Z.toarray()
    both = make_union(Encode(), Encode()).fit_transform(X)
    assert isinstance(both, CodeMatrix)
    np.testing.assert_array_equal(both.toarray(), np.hstack([D, D]))
    columns = make_column_transformer((Encode(), [0, 1, 2]), (Encode(), [4, 3])).fit_transform(X)
    np.testing.assert_array_equal(columns.toarray(), D[:, [0, 1, 2, 4, 3]])
    mixed = make_union(Encode(), Encode(UniformCode(2, "nearest", low=0, high=3))).fit_transform(X)
    assert mixed.bits == 2
    np.testing.assert_array_equal(mixed.toarray()[:, 6:], np.clip(np.round(X), 0, 3))


def test_union_of_ternary_codes_of_different_levels():
    parts = [StepCode([-1, 0, 1], [-0.4, 0.4]), StepCode([-0.3, 0, 0.3], [-0.1, 0.2]), TWO_BITS]
    Z = make_union(*(Encode(code) for code in parts)).fit_transform(X)
    D = np.hstack([CodeMatrix.from_values(X, code).toarray() for code in parts])
    assert Z.bits == 2
    np.testing.assert_allclose(Z.toarray(), D, atol=1e-7)
    np.testing.assert_allclose(Z.gram(), D.T.astype(float) @ D, atol=1e-5)
    np.testing.assert_allclose(Z.kernel(), D.astype(float) @ D.T, atol=1e-5)
    R = np.random.default_rng(0).standard_normal((len(D), 3))
    np.testing.assert_allclose(Z.T @ R, D.T @ R, atol=5e-5 * np.linalg.norm(R) * 5)
    np.testing.assert_array_equal(make_union(Encode(TRITS), Encode(TRITS)).fit_transform(X).toarray()[:, :6], D[:, :6])


@pytest.mark.parametrize(
    ("transformer", "error", "message"),
    [
        (make_union(Encode(), Encode(StepCode([-1, 0, 3], [-0.4, 0.4]))), ValueError, "do not fit in one matrix"),
        (
            make_union(Encode(TRITS), Encode(StepCode([-2, 0, 2], [-0.4, 0.4], "base3"))),
            ValueError,
            "equally spaced levels in the same number of bits",
        ),
        (make_union(Encode(), "passthrough"), TypeError, r"hstack of codes and ndarray.*\.toarray\(\)"),
        (make_column_transformer((Encode(), [0]), remainder="passthrough"), TypeError, "hstack of codes and ndarray"),
        (make_union(Encode(), Sparse()), TypeError, r"call \.toarray\(\)"),
        (make_column_transformer((Encode(), [0]), (Sparse(), [1]), sparse_threshold=1), TypeError, r"\.toarray\(\)"),
    ],
)
def test_mixtures_are_refused_with_a_reason(transformer, error, message):
    with pytest.raises(error, match=message):
        transformer.fit_transform(X)


@pytest.mark.parametrize("densify", [check_array, lambda Z: Ridge().fit(Z, Y), lambda Z: Ridge().fit(X, Y).predict(Z)])
def test_estimators_for_arrays_refuse(Z, densify):
    with pytest.raises(TypeError, match=r"call \.toarray\(\)"):
        densify(Z)
