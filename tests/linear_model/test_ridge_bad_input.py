"""What is refused, what is solved with a warning, and what is said."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nanogram import CodeMatrix, FourierFeatures
from nanogram.codes import UniformCode
from nanogram.linear_model import CodeRidge, CodeRidgeClassifier, CodeRidgeCV

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, (90, 12))
Z = CodeMatrix.from_values(X, UniformCode(bits=4), random_state=0)
y = X[:, 0] - X[:, 1]
CLASSES = np.array(["no", "yes"])[(y > 0).astype(int)]


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigen"])
@pytest.mark.parametrize("alpha", [0.0, 1e-300])
def test_singular_systems_have_the_least_norm(solver, dual, alpha):
    twice = CodeMatrix.hstack([Z, Z])
    D = twice.toarray().astype(np.float64)
    with pytest.warns(ConvergenceWarning, match="rank 12 of"):
        model = CodeRidge(alpha, solver=solver, dual=dual).fit(twice, y)
    Dc = D - D.mean(axis=0)
    expected = np.linalg.lstsq(Dc, y - y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(model.coef_, expected, atol=1e-6)
    np.testing.assert_allclose(model.coef_[:12], model.coef_[12:], atol=1e-6)


def test_no_alpha_where_rows_determine_all():
    model = CodeRidge(0.0).fit(Z, y)
    D = np.column_stack([Z.toarray().astype(np.float64), np.ones(90)])
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(D, y)[0][:12], atol=1e-6)
    with pytest.warns(ConvergenceWarning, match="rank"):  # interpolation: rows alone are fewer than features
        wide = CodeRidge(0.0).fit(Z[:8], y[:8])
    np.testing.assert_allclose(wide.predict(Z[:8]), y[:8], atol=1e-6)
    with pytest.raises(ValueError, match="alpha above 0"):
        wide.predict(Z, return_std=True)


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "cg"])
def test_features_without_variance(solver):
    constant = np.column_stack([X, np.full(90, 3.0), np.zeros(90)])
    model = CodeRidge(0.5, solver=solver, tol=1e-10).fit(constant, y)
    np.testing.assert_allclose(model.coef_[12:], 0, atol=1e-10)
    np.testing.assert_allclose(model.coef_[:12], CodeRidge(0.5).fit(X, y).coef_, atol=1e-8)
    flat = CodeRidge(solver=solver).fit(np.ones((90, 3)), y)
    np.testing.assert_allclose(flat.coef_, 0, atol=1e-12)
    assert flat.intercept_ == pytest.approx(y.mean())
    assert CodeRidgeCV(solver="auto" if solver == "eigen" else solver).fit(np.ones((90, 3)), y).intercept_ == (
        pytest.approx(y.mean())
    )


def test_constant_targets():
    for model in (CodeRidge(), CodeRidge(solver="cg"), CodeRidgeCV(), CodeRidgeCV(cv="loo")):
        model.fit(Z, np.full(90, 4.0))
        np.testing.assert_allclose(model.coef_, 0, atol=1e-12)
        assert model.intercept_ == pytest.approx(4.0)


def test_not_converged_says_what_to_do():
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations .* raise max_iter, a larger alpha .* max_memory"):
        CodeRidge(1e-6, solver="cg", max_iter=1).fit(np.vander(X[:, 0], 9), y)


ONE = [CodeRidge(), CodeRidgeCV(), CodeRidgeClassifier()]


@pytest.mark.parametrize("model", ONE, ids=lambda m: type(m).__name__)
class TestEvery:
    def target(self, model):
        return CLASSES if isinstance(model, CodeRidgeClassifier) else y

    def test_weights(self, model):
        t = self.target(model)
        with pytest.raises(ValueError, match=r"sample_weight\[3\] is -1\.0"):
            model.fit(Z, t, np.where(np.arange(90) == 3, -1.0, 1.0))
        with pytest.raises(ValueError, match="sample_weight sums to zero"):
            model.fit(Z, t, np.zeros(90))
        with pytest.raises(ValueError, match="NaN"):
            model.fit(Z, t, np.full(90, np.nan))
        with pytest.raises(ValueError, match="shape"):
            model.fit(Z, t, np.ones(89))

    def test_rows(self, model):
        t = self.target(model)
        with pytest.raises(ValueError, match="inconsistent"):
            model.fit(Z, t[:-1])
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.where(np.arange(12) == 4, np.nan, X), t)
        with pytest.raises(ValueError, match="0 sample"):
            model.fit(Z[:0], t[:0])
        with pytest.raises(ValueError, match="0 feature"):
            model.fit(Z[:, :0], t)
        with pytest.raises(ValueError, match="requires y"):
            model.fit(Z, None)
        with pytest.raises(NotFittedError):
            type(model)().predict(Z)
        model.fit(Z, t)
        with pytest.raises(ValueError, match="12 features"):
            model.predict(Z[:, :5])
        with pytest.raises(ValueError, match="Complex data not supported"):
            model.fit(X * 1j, t)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"solver": "lsqr"}, "solver='lsqr' is unknown; choose one of 'auto', 'cholesky'"),
            ({"dual": "yes"}, "dual='yes' is not accepted"),
            ({"solver": "cg", "dual": True}, "dual=True is not offered"),
            ({"max_memory": "7 apples"}, "max_memory='7 apples' is not an amount of memory"),
            ({"tol": 0}, "tol=0 is not accepted"),
            ({"tol": 1.5}, "tol=1.5 is not accepted"),
            ({"max_iter": 0}, "max_iter=0 is not accepted"),
        ],
    )
    def test_settings(self, model, settings, message):
        with pytest.raises(ValueError, match=message):
            type(model)(**settings).fit(Z, self.target(model))


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, [1.0, -2.0], [1.0, 2.0, 3.0]])
def test_alpha(alpha):
    with pytest.raises(ValueError, match="alpha"):
        CodeRidge(alpha).fit(Z, np.column_stack([y, y]))


@pytest.mark.parametrize("alpha", ["much", True, [[1.0]], None])
def test_alpha_of_other_types(alpha):
    with pytest.raises((TypeError, ValueError), match="alpha"):
        CodeRidge(alpha).fit(Z, y)


@pytest.mark.parametrize("alphas", [0.0, -1.0, [], [1.0, 0.0], [np.nan], "all", [[1.0]]])
def test_alphas(alphas):
    with pytest.raises((TypeError, ValueError), match="alphas"):
        CodeRidgeCV(alphas).fit(Z, y)


def test_targets():
    for bad in (np.where(np.arange(90) == 5, np.nan, y), np.where(np.arange(90) == 5, np.inf, y)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            CodeRidge().fit(Z, bad)
    with pytest.raises(ValueError, match="could not convert string"):
        CodeRidge().fit(Z, CLASSES)


def test_searches():
    with pytest.raises(ValueError, match="scoring='r2' needs predictions"):
        CodeRidgeCV(scoring="r2").fit(Z, y)
    with pytest.raises(ValueError, match="cv='twice' is not accepted"):
        CodeRidgeCV(cv="twice").fit(Z, y)
    with pytest.raises(ValueError, match="store_cv_results=True needs cv='loo'"):
        CodeRidgeCV(store_cv_results=True).fit(Z, y)
    with pytest.raises(ValueError, match="cv='loo' needs eigenvectors"):
        CodeRidgeCV(cv="loo", max_memory=1000).fit(Z, y)
    with pytest.raises(ValueError, match="cv='loo' needs eigenvectors"):
        CodeRidgeCV(cv="loo", solver="cg").fit(Z, y)
    with pytest.raises(ValueError, match="scoring=3 is not accepted"):
        CodeRidgeCV(cv=3, scoring=3).fit(Z, y)
    with pytest.raises(ValueError, match="fold's training part"):
        CodeRidgeCV(cv=[(np.arange(30), np.arange(30, 90))]).fit(Z, y, (np.arange(90) >= 30).astype(float))


def test_classes():
    with pytest.raises(ValueError, match="at least two classes; y holds one class"):
        CodeRidgeClassifier().fit(Z, np.zeros(90))
    with pytest.raises(ValueError, match="Unknown label type"):
        CodeRidgeClassifier().fit(Z, y)
    with pytest.raises(ValueError, match="NaN"):
        CodeRidgeClassifier().fit(Z, np.where(np.arange(90) == 5, np.nan, (y > 0).astype(np.float64)))
    with pytest.raises(ValueError, match="class_weight"):
        CodeRidgeClassifier(class_weight={"no": -1.0}).fit(Z, CLASSES)
    with pytest.raises(ValueError, match="together sum to zero"):
        CodeRidgeClassifier(class_weight={"no": 0.0, "yes": 0.0}).fit(Z, CLASSES)
    with pytest.raises(ValueError, match=r"multiclass-multioutput|Multioutput|several"):
        CodeRidgeClassifier().fit(Z, np.arange(180).reshape(90, 2) % 3)


def test_maps_with_other_columns_are_told():
    features = FourierFeatures(64, bits=4, projection="gaussian", random_state=0).fit(X)
    model = CodeRidge().fit(features.transform(X), y)
    with pytest.raises(ValueError, match="64 features"):
        model.predict(Z)
