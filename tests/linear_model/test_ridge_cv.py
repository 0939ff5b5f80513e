"""The choice of alpha equals scikit-learn's where it has one, and brute force where it has none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_predict

from nanogram import CodeMatrix, TernaryFeatures
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.linear_model import CodeRidgeCV
from nanogram.linear_model._design import as_design
from nanogram.linear_model._lanczos import quadrature
from nanogram.linear_model._least_squares import Primal
from nanogram.linear_model._ridge_path import gcv, leave_one_out
from nanogram.linear_model._ridge_solve import Choice, as_problem
from nanogram.linear_model._tridiagonal import Tridiagonal
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(17)
N, M = 150, 23
VALUES = RNG.uniform(-1, 1, (N, M))
Y = np.column_stack([VALUES @ RNG.standard_normal(M), np.sin(3 * VALUES[:, 0]) + 5]) + 0.4 * RNG.standard_normal((N, 2))
WEIGHTS = RNG.uniform(0.1, 2, N)
ALPHAS = np.logspace(-3, 3, 13)
ROWS = RNG.standard_normal((N, 5))
MAP = TernaryFeatures(n_components=M, projection="gaussian", random_state=0).fit(ROWS)

KINDS = {
    "dense": VALUES,
    "csr_array": sp.csr_array(VALUES * (VALUES > 0.3)),
    "csr_matrix": sp.csr_matrix(VALUES * (VALUES > 0.3)),
    "float16": CodeMatrix.from_values(VALUES, FloatCode("float16")),
    "base-3": CodeMatrix.from_values(VALUES, StepCode([-1, 0, 1], [-0.4, 0.3], "base3")),
    "streamed": StreamedCodes(MAP, ROWS, block_bytes=1),
} | {f"bits-{b}": CodeMatrix.from_values(VALUES, UniformCode(bits=b), random_state=0) for b in (1, 2, 4, 8)}


def decoded(X):
    X = X.stored() if isinstance(X, StreamedCodes) else X
    return X.toarray().astype(np.float64) if hasattr(X, "toarray") else X


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_leave_one_out_is_scikit_learns(kind, dual, weights):
    X = KINDS[kind]
    for y in (Y, Y[:, 0]):
        theirs = RidgeCV(ALPHAS, store_cv_results=True).fit(decoded(X), y, weights)
        ours = CodeRidgeCV(ALPHAS, cv="loo", dual=dual, store_cv_results=True).fit(X, y, weights)
        assert ours.alpha_ == theirs.alpha_
        assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-6)
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6 * np.abs(theirs.coef_).max())
        assert ours.scores_.shape == (13,)
        assert ours.scores_.max() == ours.best_score_


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [12, N])
def test_leave_one_out_is_brute_force(n, intercept):
    D, y, w = VALUES[:n], Y[:n], WEIGHTS[:n]
    for alpha in (0.05, 2.0):
        expected = np.empty((n, 2))
        for i in range(n):
            kept = np.arange(n) != i
            model = Ridge(alpha, fit_intercept=intercept, solver="svd").fit(D[kept], y[kept], w[kept])
            expected[i] = y[i] - model.predict(D[[i]])[0]
        for dual in (False, True):
            problem = as_problem(as_design(D), y, w, intercept, dual)
            found = leave_one_out(problem, np.array([alpha])).residuals[0]
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_leave_one_out_with_scorer_and_rows_that_do_not_count():
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    ours = CodeRidgeCV(ALPHAS, cv="loo", scoring=scorer).fit(VALUES, Y[:, 0])
    theirs = RidgeCV(ALPHAS, scoring=scorer).fit(VALUES, Y[:, 0])
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    some = np.where(np.arange(N) % 3, WEIGHTS, 0.0)
    kept = some > 0
    all_rows = CodeRidgeCV(ALPHAS, cv="loo").fit(VALUES, Y, some)
    fewer = CodeRidgeCV(ALPHAS, cv="loo").fit(VALUES[kept], Y[kept], some[kept])
    np.testing.assert_allclose(all_rows.scores_ * N, fewer.scores_ * kept.sum(), rtol=1e-9)


@pytest.mark.parametrize("cv", [None, "loo", 3])
def test_alpha_per_target(cv):
    scoring = "neg_mean_squared_error" if cv == 3 else None
    ours = CodeRidgeCV(ALPHAS, cv=cv, alpha_per_target=True, scoring=scoring).fit(VALUES, Y)
    assert ours.alpha_.shape == ours.best_score_.shape == (2,)
    assert ours.scores_.shape == (13, 2)
    for j in range(2):
        one = CodeRidgeCV(ALPHAS, cv=cv, scoring=scoring, alpha_per_target=j == 0).fit(VALUES, Y[:, j])
        assert isinstance(one.alpha_, float)
        assert one.alpha_ == ours.alpha_[j]
        np.testing.assert_allclose(one.scores_, ours.scores_[:, j], rtol=1e-9)
        np.testing.assert_allclose(one.coef_, ours.coef_[j], atol=1e-9)
    if cv == "loo":
        np.testing.assert_array_equal(ours.alpha_, RidgeCV(ALPHAS, alpha_per_target=True).fit(VALUES, Y).alpha_)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize(("dual", "dtype"), [(False, np.float64), (True, np.float64), (False, np.float32)])
def test_gcv_by_its_formula(dual, dtype, weights):
    s = np.ones(N) if weights is None else weights
    problem = as_problem(as_design(VALUES), Y, weights, True, dual)
    found, degrees = gcv(problem, ALPHAS, Choice("cholesky", dual, dtype), max_iter=1, seed=0, tick=lambda _: False)
    D = np.column_stack([VALUES, np.ones(N)]) * np.sqrt(s)[:, None]
    for i, alpha in enumerate(ALPHAS):
        H = D @ np.linalg.solve(D.T @ D + np.diag([alpha] * M + [0.0]), D.T)
        e = (np.eye(N) - H) @ (np.sqrt(s)[:, None] * Y)
        expected = -(e**2).mean(axis=0) / (1 - np.trace(H) / N) ** 2
        tol = 1e-8 if dtype == np.float64 else 1e-4
        np.testing.assert_allclose(found[i], expected, rtol=tol)
        assert degrees[i] == pytest.approx(np.trace(H), rel=tol)


def test_lanczos_finds_residuals_and_degrees_within_their_error():
    """Degrees from 8 columns of signs: a standard deviation of at most sqrt(2 tr(H^2) / 8), off the diagonal."""
    Z = KINDS["bits-4"]
    problem = as_problem(as_design(Z), Y, WEIGHTS, True, False)
    assert isinstance(problem, Primal)
    exact, degrees = gcv(problem, ALPHAS, Choice("cholesky", False), max_iter=1, seed=0, tick=lambda _: False)
    residuals = -exact * N * (1 - degrees / N)[:, None] ** 2
    all_degrees = []
    for seed in range(20):
        found = quadrature(problem, problem.right_hand_side(), ALPHAS, max_iter=500, seed=seed, tick=lambda _: False)
        np.testing.assert_allclose(found.residuals, residuals, rtol=5e-3)
        all_degrees.append(found.degrees + 1)
    sigma = np.sqrt(2 * degrees / 8 / 20)
    assert (np.abs(np.mean(all_degrees, axis=0) - degrees) < 4 * sigma + 2e-3 * degrees).all()
    assert found.n_iter <= M


def test_gcv_by_iterations_chooses_alike():
    X = RNG.uniform(-1, 1, (1200, 3))
    Z = TernaryFeatures(n_components=300, random_state=0).fit_transform(X)
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.3 * RNG.standard_normal(1200)
    direct, iterated = CodeRidgeCV().fit(Z, y), CodeRidgeCV(max_memory="100kB").fit(Z, y)
    assert (direct.solver_, iterated.solver_) == ("cholesky", "cg")
    steps = np.log10(direct.alphas_)
    assert abs(np.log10(direct.alpha_ / iterated.alpha_)) <= 1.01 * (steps[1] - steps[0])
    # Degrees to a standard deviation of sqrt(D / 4) change scores by 2 sqrt(D / 4) / (n - D).
    wanted = direct.alphas_ > direct.alpha_ / 4
    np.testing.assert_allclose(iterated.scores_[wanted], direct.scores_[wanted], rtol=0.06)
    assert np.corrcoef(direct.predict(Z), iterated.predict(Z))[0, 1] > 0.99


@pytest.mark.parametrize("solver", ["auto", "cg"])
def test_folds_are_those_of_a_grid_search(solver):
    cv = KFold(4, shuffle=True, random_state=0)
    Z = KINDS["bits-4"]
    theirs = GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=cv).fit(decoded(Z), Y)
    ours = CodeRidgeCV(ALPHAS, cv=cv, solver=solver, tol=1e-9).fit(Z, Y)
    np.testing.assert_allclose(ours.scores_, theirs.cv_results_["mean_test_score"], atol=1e-6)
    assert ours.alpha_ == theirs.best_params_["alpha"]
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)


def test_folds_of_one_row_are_leave_one_out():
    scoring = "neg_mean_squared_error"
    folds = CodeRidgeCV([0.1, 1.0], cv=LeaveOneOut(), scoring=scoring).fit(VALUES[:40], Y[:40])
    exact = CodeRidgeCV([0.1, 1.0], cv="loo", scoring=scoring).fit(VALUES[:40], Y[:40])
    np.testing.assert_allclose(folds.scores_, exact.scores_, rtol=1e-8)
    left = cross_val_predict(Ridge(0.1), VALUES[:40], Y[:40], cv=LeaveOneOut())
    assert exact.scores_[0] == pytest.approx(-np.mean((left - Y[:40]) ** 2), rel=1e-8)


def test_grid_follows_the_scale():
    small, large = CodeRidgeCV().fit(VALUES, Y), CodeRidgeCV().fit(100 * VALUES, Y)
    np.testing.assert_allclose(large.alphas_, 1e4 * small.alphas_, rtol=1e-6)
    assert large.alpha_ == pytest.approx(1e4 * small.alpha_, rel=1e-6)
    np.testing.assert_allclose(large.predict(100 * VALUES), small.predict(VALUES), atol=1e-6)
    unit = np.mean(np.sum((VALUES - VALUES.mean(0)) ** 2, axis=1))
    np.testing.assert_allclose(small.alphas_[[0, -1]], [1e-5 * unit, 1e2 * unit], rtol=1e-9)
    # The rule finds about the alpha of least error on new rows.
    new = RNG.uniform(-1, 1, (2000, M))
    truth = VALUES @ np.linalg.lstsq(VALUES, Y[:, 0])[0]
    assert np.mean((small.predict(VALUES)[:, 0] - truth) ** 2) < 0.4**2
    assert small.predict(new).shape == (2000, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 3, 40, 130])
def test_tridiagonal_form(k, dtype):
    R = np.random.default_rng(k).standard_normal((k + 5, k))
    A = R.T @ R
    B = np.random.default_rng(1).standard_normal((k, 3))
    form = Tridiagonal(A.astype(dtype))
    tol = 1e-9 if dtype == np.float64 else 2e-3
    for alpha in (0.1, 5.0):
        np.testing.assert_allclose(form.solve(alpha, B), np.linalg.solve(A + alpha * np.eye(k), B), atol=tol)
        expected = np.trace(np.linalg.inv(A + alpha * np.eye(k)))
        assert form.trace_inverse(alpha) == pytest.approx(expected, rel=tol)
    np.testing.assert_allclose(form.back(form.rotated(B)), B, atol=tol)
    singular = Tridiagonal(np.ones((k, k), dtype))
    assert np.isfinite(singular.solve(1e-300, B)).all()


def test_std_after_a_search():
    model = CodeRidgeCV(ALPHAS).fit(VALUES, Y[:, 0])
    mean, std = model.predict(VALUES[:5], return_std=True)
    assert (std > 0).all()
    assert mean.shape == std.shape == (5,)
