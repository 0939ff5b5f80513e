"""`CodePCA` against scikit-learn's PCA on the decoded matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram import FourierFeatures, TernaryFeatures
from nanogram.decomposition import CodePCA
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)) * [2.0, 1.0, 0.5, 0.25]


@parametrize_with_checks([CodePCA(), CodePCA(2, svd_solver="randomized", whiten=True)])
def test_estimator(estimator, check):
    check(estimator)


def _codes(n, m, kind):
    maps = {"ternary": TernaryFeatures(m, random_state=0), "fourier": FourierFeatures(m, bits=4, random_state=0)}
    return maps[kind].fit_transform(X[:n])


@pytest.mark.parametrize("kind", ["ternary", "fourier"])
@pytest.mark.parametrize(("n", "m"), [(400, 96), (100, 300)])
@pytest.mark.parametrize("solver", ["gram", "randomized"])
def test_agrees_with_pca_of_decoded_codes(kind, n, m, solver):
    Z = _codes(n, m, kind)
    A = Z.toarray(dtype=np.float64)
    k = 5
    ours = CodePCA(k, svd_solver=solver, random_state=0, tol=1e-9).fit(Z)
    theirs = PCA(k, svd_solver="full").fit(A)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=1e-6)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "noise_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=2e-5, err_msg=name)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=2e-4)  # signs too
    np.testing.assert_allclose(ours.components_ @ ours.components_.T, np.eye(k), atol=1e-6)
    scale = np.abs(theirs.transform(A)).max()
    np.testing.assert_allclose(ours.transform(Z), theirs.transform(A), atol=3e-4 * scale)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(Z)), theirs.inverse_transform(theirs.transform(A)),
                               atol=3e-4 * scale)  # fmt: skip


def test_large_means_do_not_spoil_small_variances():
    A = X + 1e4
    np.testing.assert_allclose(
        CodePCA().fit(A).explained_variance_, PCA(svd_solver="full").fit(A).explained_variance_, rtol=1e-8
    )


def test_whitened_scores_have_unit_covariance_and_go_back():
    Z = _codes(400, 96, "ternary")
    pca = CodePCA(10, whiten=True).fit(Z)
    scores = pca.transform(Z)
    np.testing.assert_allclose(np.cov(scores.T), np.eye(10), atol=1e-4)
    plain = CodePCA(10).fit(Z)
    np.testing.assert_allclose(pca.inverse_transform(scores), plain.inverse_transform(plain.transform(Z)), atol=1e-5)


def test_share_of_variance_picks_the_fewest_components():
    Z = _codes(400, 96, "ternary")
    ratios = CodePCA().fit(Z).explained_variance_ratio_
    for share in (0.3, 0.9):
        pca = CodePCA(share).fit(Z)
        assert ratios[: pca.n_components_].sum() > share >= ratios[: pca.n_components_ - 1].sum()
    np.testing.assert_allclose(ratios.sum(), 1.0, rtol=1e-9)


def test_components_without_variance_are_still_orthonormal():
    few = np.repeat(_codes(400, 96, "ternary").toarray()[:3], 10, axis=0)
    pca = CodePCA(8).fit(few)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(8), atol=1e-6)
    assert (pca.singular_values_[2:] < 1e-4 * pca.singular_values_[0]).all()


def test_sparse_dense_and_streamed_agree_with_codes():
    features = TernaryFeatures(64, random_state=0).fit(X)
    Z = features.transform(X)
    A = Z.toarray(dtype=np.float64)
    expected = CodePCA(4).fit(Z)
    for other in (A, sp.csr_array(A), StreamedCodes(features, X)):
        for solver in ("gram", "randomized"):
            found = CodePCA(4, svd_solver=solver, random_state=0, tol=1e-9).fit(other)
            np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-5)
            np.testing.assert_allclose(found.transform(other), expected.transform(Z), atol=2e-3)


def test_auto_takes_products_for_few_components_of_many_features():
    Z = TernaryFeatures(2100, random_state=0).fit_transform(RNG.normal(size=(2200, 3)))
    pca = CodePCA(3, random_state=0).fit(Z)
    assert pca.svd_solver_ == "randomized"
    assert 1 <= pca.n_iter_ <= 30
    exact = CodePCA(3, svd_solver="gram").fit(Z)
    assert exact.svd_solver_ == "gram"
    np.testing.assert_allclose(pca.explained_variance_, exact.explained_variance_, rtol=1e-3)


def test_in_a_pipeline_between_codes_and_a_model():
    y = (X[:, 0] ** 2 + X[:, 1] > 1).astype(int)
    pipeline = make_pipeline(TernaryFeatures(256, random_state=0), CodePCA(random_state=0), LogisticRegression())
    grid = GridSearchCV(pipeline, {"codepca__n_components": [2, 40]}, cv=3).fit(X, y)
    assert grid.best_params_["codepca__n_components"] == 40
    assert grid.best_score_ > 0.85


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 97}, "n_components=97"),
        ({"n_components": 1.5}, "n_components=1.5"),
        ({"n_components": True}, "n_components=True"),
        ({"svd_solver": "full"}, "svd_solver='full'"),
        ({"n_components": 0.5, "svd_solver": "randomized"}, "share of the variance"),
        ({"n_oversamples": 0}, "n_oversamples=0"),
        ({"iterated_power": -1}, "iterated_power=-1"),
        ({"tol": 0.0}, "tol=0.0"),
    ],
)
def test_bad_parameters_are_named(parameters, match):
    with pytest.raises(ValueError, match=match):
        CodePCA(**parameters).fit(_codes(400, 96, "ternary"))


def test_one_row_and_scores_of_another_width_are_refused():
    with pytest.raises(ValueError, match="n_samples=1"):
        CodePCA().fit(X[:1])
    with pytest.raises(ValueError, match="n_components_=2"):
        CodePCA(2).fit(X).inverse_transform(X)
