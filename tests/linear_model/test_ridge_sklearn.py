"""scikit-learn's own checks, and codes between the steps of its pipelines and searches."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram import FourierFeatures, StreamedFeatures
from nanogram.linear_model import CodeRidge, CodeRidgeClassifier, CodeRidgeCV

MODELS = [
    CodeRidge(),
    CodeRidge(solver="cg", tol=1e-9),
    CodeRidge(solver="eigen", dual=True),
    CodeRidgeCV(),
    CodeRidgeCV([0.1, 1.0, 10.0], cv="loo"),
    CodeRidgeCV([0.1, 10.0], cv=2),
    CodeRidgeClassifier(),
    CodeRidgeClassifier(1.0, solver="cg", tol=1e-9),
    CodeRidgeClassifier(alphas=[0.1, 10.0], cv="loo"),
]
# Warnings about the checks' own data: fewer rows than folds take, iterations on badly scaled rows.
QUIET = pytest.mark.filterwarnings("ignore")


@QUIET
@parametrize_with_checks(MODELS)
def test_checks(estimator, check):
    check(estimator)


RNG = np.random.default_rng(5)
X = RNG.standard_normal((200, 3))
y = np.sin(X[:, 0]) + X[:, 1] ** 2
LABELS = np.where((X**2).sum(axis=1) > 2.4, "outside", "inside")
MAP = FourierFeatures(64, bits=4, projection="gaussian", random_state=0)


def test_pipeline_of_codes():
    model = make_pipeline(StandardScaler(), MAP, CodeRidge(0.1)).fit(X, y)
    assert model.score(X, y) > 0.9
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7
    assert cross_val_score(make_pipeline(MAP, CodeRidgeClassifier()), X, LABELS, cv=3).mean() > 0.75


def test_codes_through_searches():
    Z = MAP.fit_transform(X)
    alphas = [0.01, 1.0, 100.0]
    on_codes = GridSearchCV(CodeRidge(), {"alpha": alphas}, cv=3).fit(Z, y)
    on_values = GridSearchCV(CodeRidge(), {"alpha": alphas}, cv=3).fit(Z.toarray(), y)
    np.testing.assert_allclose(
        on_codes.cv_results_["mean_test_score"], on_values.cv_results_["mean_test_score"], atol=1e-6
    )
    assert cross_val_score(CodeRidgeCV(), Z, y, cv=3).mean() > 0.7
    assert cross_val_score(CodeRidgeClassifier(), Z, LABELS, cv=3).mean() > 0.75
    searched = GridSearchCV(
        make_pipeline(FourierFeatures(32, bits=4, random_state=0), CodeRidge()),
        {"fourierfeatures__bits": [2, 8], "coderidge__alpha": [0.1, 1.0]},
        cv=2,
    ).fit(X, y)
    assert searched.best_score_ > 0.5


@pytest.mark.parametrize("storage", ["stored", "streamed", "auto"])
def test_streamed_features_in_pipelines(storage):
    plain = make_pipeline(MAP, CodeRidge(0.1)).fit(X, y)
    model = make_pipeline(StreamedFeatures(MAP, storage), CodeRidge(0.1)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-5)
    assert cross_val_score(model, X, y, cv=3).mean() == pytest.approx(
        cross_val_score(plain, X, y, cv=3).mean(), abs=1e-4
    )
    copied = clone(model).set_params(streamedfeatures__feature_map__n_components=32).fit(X, y)
    assert copied[-1].n_features_in_ == 32
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_streamed_features():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    features = StreamedFeatures(MAP, "streamed").fit(frame)
    assert features.n_features_in_ == 3
    assert features.feature_names_in_.tolist() == ["a", "b", "c"]
    assert features.get_feature_names_out()[:2].tolist() == ["fourierfeatures0", "fourierfeatures1"]
    assert features.transform(frame).streamed
    assert not hasattr(StreamedFeatures(MAP, max_memory="1GB").fit_transform(X), "streamed")
    assert StreamedFeatures(MAP, max_memory="1kB").fit_transform(X).streamed
    with pytest.raises(ValueError, match="storage='disk' is not known"):
        StreamedFeatures(MAP, "disk").fit(X)
    with pytest.raises(TypeError, match="feature_map is StandardScaler"):
        StreamedFeatures(StandardScaler()).fit(X)
    with pytest.raises(ValueError, match="output='array'"):
        StreamedFeatures(clone(MAP).set_params(output="array")).fit(X)
    with pytest.raises(ValueError, match="set_output"):
        StreamedFeatures(MAP).set_output(transform="pandas").fit(X)
    with pytest.raises(ValueError, match="2 columns"):
        features.transform(X[:, :2])


def test_names_of_features_are_checked():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = CodeRidge().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "b", "a"]])
