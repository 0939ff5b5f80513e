"""Ridge regression on every kind of features equals scikit-learn's on the decoded matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge

from nanogram import CodeMatrix, FourierFeatures, TernaryFeatures
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.linear_model import CodeRidge
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(7)
N, M = 240, 37
VALUES = RNG.uniform(-1, 1, (N, M))
ROWS = RNG.standard_normal((N, 5))
Y = np.column_stack([VALUES @ RNG.standard_normal(M), np.sin(3 * VALUES[:, 0])]) + 0.1 * RNG.standard_normal((N, 2))
Y += [3.0, -20.0]
WEIGHTS = RNG.uniform(0, 2, N)
WEIGHTS[::9] = 0
STEP3 = {"levels": [-1.0, 0.0, 1.0], "thresholds": [-0.4, 0.3]}


def codes(code):
    return CodeMatrix.from_values(VALUES, code, random_state=0)


def streamed():
    features = TernaryFeatures(n_components=M, projection="gaussian", random_state=0).fit(ROWS)
    return StreamedCodes(features, ROWS, block_bytes=800)  # four blocks


KINDS = {
    "dense": lambda: VALUES,
    "float32": lambda: VALUES.astype(np.float32),
    "csr_array": lambda: sp.csr_array(VALUES * (VALUES > 0.3)),
    "csr_matrix": lambda: sp.csr_matrix(VALUES * (VALUES > 0.3)),
    "codes-float32": lambda: FourierFeatures(M, random_state=0).fit_transform(ROWS),
    "codes-float16": lambda: CodeMatrix.from_values(VALUES, FloatCode("float16")),
    "bits-1": lambda: codes(UniformCode(bits=1)),
    "bits-2": lambda: codes(UniformCode(bits=2)),
    "bits-4": lambda: codes(UniformCode(bits=4)),
    "bits-8": lambda: codes(UniformCode(bits=8)),
    "ternary": lambda: codes(StepCode(**STEP3)),
    "base-3": lambda: codes(StepCode(**STEP3, storage="base3")),
    "four levels": lambda: codes(StepCode(levels=[-1.0, -0.2, 0.3, 2.0], thresholds=[-0.5, 0.0, 0.5])),
    "streamed": streamed,
}


def decoded(X):
    if isinstance(X, StreamedCodes):
        X = X.stored()
    return X.toarray().astype(np.float64) if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)


@pytest.fixture(params=KINDS, scope="module")
def features(request):
    X = KINDS[request.param]()
    return X, decoded(X)


def agree(ours, theirs, tol):
    scale = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=tol * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=tol, atol=tol * scale)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_direct(features, weights, intercept):
    X, D = features
    theirs = Ridge(0.3, fit_intercept=intercept).fit(D, Y, weights)
    for solver in ("cholesky", "eigen"):
        for dual in (False, True):
            ours = CodeRidge(0.3, fit_intercept=intercept, solver=solver, dual=dual).fit(X, Y, weights)
            agree(ours, theirs, 1e-6)
            assert (ours.solver_, ours.dual_, ours.n_iter_.tolist()) == (solver, dual, [1, 1])
            np.testing.assert_allclose(ours.predict(X), theirs.predict(D), atol=1e-5 * np.abs(Y).max())


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_conjugate_gradients(features, weights):
    X, D = features
    theirs = Ridge(0.3).fit(D, Y, weights)
    ours = CodeRidge(0.3, solver="cg", tol=1e-9).fit(X, Y, weights)
    agree(ours, theirs, 1e-6)
    assert ours.n_iter_.shape == (2,)
    assert (ours.n_iter_ >= 1).all()


def test_single_precision_is_refined(features):
    X, D = features
    streamed_twice = 2 if isinstance(X, StreamedCodes) else 1
    budget = streamed_twice * 4 * M * M
    ours = CodeRidge([0.3, 2.0], max_memory=budget, dual=False).fit(X, Y, WEIGHTS)
    assert ours.solver_ == "cholesky"
    assert ours._spread is None  # there is no factor in double
    agree(ours, Ridge([0.3, 2.0]).fit(D, Y, WEIGHTS), 1e-7)
    assert CodeRidge(0.3, max_memory=budget - 1, dual=False).fit(X, Y).solver_ == "cg"


def test_one_target_and_shapes():
    ours, theirs = CodeRidge(0.5).fit(VALUES, Y[:, 0]), Ridge(0.5).fit(VALUES, Y[:, 0])
    assert ours.coef_.shape == (M,)
    assert isinstance(ours.intercept_, float)
    assert ours.predict(VALUES).shape == (N,)
    assert ours.score(VALUES, Y[:, 0]) == pytest.approx(theirs.score(VALUES, Y[:, 0]), abs=1e-12)
    column = CodeRidge(0.5).fit(VALUES, Y[:, :1])
    assert column.coef_.shape == (1, M)
    assert column.predict(VALUES).shape == (N, 1)


@pytest.mark.parametrize("n", [20, N])
def test_dual_where_rows_are_fewer(n):
    model = CodeRidge(0.1).fit(VALUES[:n], Y[:n])
    assert model.dual_ == (n < M)
    agree(model, Ridge(0.1, solver="svd").fit(VALUES[:n], Y[:n]), 1e-9)


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "cg"])
@pytest.mark.parametrize("dual", [False, True])
def test_alphas_a_target(solver, dual):
    if solver == "cg" and dual:
        pytest.skip("rows are no unknowns of conjugate gradients")
    alphas = [0.01, 5.0]
    agree(CodeRidge(alphas, solver=solver, dual=dual, tol=1e-10).fit(VALUES, Y), Ridge(alphas).fit(VALUES, Y), 1e-8)


def test_weights_are_repetitions():
    Z = codes(UniformCode(bits=4))
    counts = RNG.integers(0, 4, N)
    weighted = CodeRidge(0.2).fit(Z, Y, counts)
    repeated = CodeRidge(0.2).fit(Z[np.repeat(np.arange(N), counts)], np.repeat(Y, counts, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    ones = CodeRidge(0.2).fit(Z, Y, np.ones(N))
    np.testing.assert_allclose(ones.coef_, CodeRidge(0.2).fit(Z, Y).coef_, atol=1e-7)


@pytest.mark.parametrize("dual", [False, True])
def test_std_is_that_of_the_posterior(dual):
    """By the formula, with dense algebra."""
    alpha, y = 0.7, Y[:, 0]
    new = RNG.uniform(-1, 1, (11, M))
    mean, std = CodeRidge(alpha, dual=dual).fit(VALUES, y).predict(new, return_std=True)
    Xc = VALUES - VALUES.mean(0)
    A = Xc.T @ Xc + alpha * np.eye(M)
    w = np.linalg.solve(A, Xc.T @ (y - y.mean()))
    noise = (np.sum((y - y.mean() - Xc @ w) ** 2) + alpha * w @ w) / (N - 1)
    z = new - VALUES.mean(0)
    expected = np.sqrt(noise * (1 + 1 / N + np.einsum("ij,ij->i", z, np.linalg.solve(A, z.T).T)))
    np.testing.assert_allclose(std, expected, rtol=1e-9)
    np.testing.assert_allclose(mean, z @ w + y.mean(), rtol=1e-9)


def test_std_covers_what_it_should():
    """Targets drawn from the model: 95 % intervals hold 95 % of new ones, within 4 binomial standard deviations."""
    rng = np.random.default_rng(11)
    Z = CodeMatrix.from_values(rng.uniform(-1, 1, (4400, 60)), UniformCode(bits=2), random_state=0)
    D = Z.toarray().astype(np.float64)
    y = D @ rng.standard_normal(60) + 0.5 * rng.standard_normal(4400)
    model = CodeRidge(0.25).fit(Z[:400], y[:400])
    mean, std = model.predict(Z[400:], return_std=True)
    inside = np.mean(np.abs(y[400:] - mean) < 1.96 * std)
    # The fit's own noise moves all intervals together: the variance estimate has 400 degrees of freedom.
    assert abs(inside - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 4000) + 4 * 0.117 * np.sqrt(2 / 400) / 2
    assert model.noise_variance_ == pytest.approx(0.25, rel=4 * np.sqrt(2 / 399))


@pytest.mark.parametrize("kind", ["dense", "bits-4"])
def test_std_of_many_targets_and_kept_factors(kind):
    X = KINDS[kind]()
    model = CodeRidge([0.1, 3.0], keep_factor=True).fit(X, Y, WEIGHTS)
    _, std = model.predict(X[:7], return_std=True)
    for j, alpha in enumerate((0.1, 3.0)):
        _, one = CodeRidge(alpha).fit(X, Y[:, j], WEIGHTS).predict(X[:7], return_std=True)
        np.testing.assert_allclose(std[:, j], one, rtol=1e-6)
    with pytest.raises(ValueError, match="keep_factor=True"):
        CodeRidge(keep_factor=False).fit(X, Y).predict(X, return_std=True)
    with pytest.raises(ValueError, match="keep_factor=True needs a factor"):
        CodeRidge(solver="cg", keep_factor=True).fit(X, Y)


def test_warm_start_saves_iterations():
    Z = codes(UniformCode(bits=4))
    model = CodeRidge(0.01, solver="cg", warm_start=True).fit(Z, Y)
    first, coef = model.n_iter_.max(), model.coef_.copy()
    assert first > 2
    model.fit(Z, Y)
    assert model.n_iter_.max() == 0
    np.testing.assert_array_equal(model.coef_, coef)
    model.set_params(alpha=0.011).fit(Z, Y)
    assert 0 < model.n_iter_.max() < clone(model).fit(Z, Y).n_iter_.max()


def test_large_means_cost_no_digits():
    shifted = VALUES + 1e5
    np.testing.assert_allclose(CodeRidge(0.1).fit(shifted, Y).coef_, CodeRidge(0.1).fit(VALUES, Y).coef_, atol=1e-8)
