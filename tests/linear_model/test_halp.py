"""LM-HALP: integers of 8 and 16 bits that converge as full precision does, where plain low precision stalls."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from nanogram import FourierFeatures, TernaryFeatures
from nanogram.linear_model._design import as_design
from nanogram.linear_model._sgd_losses import SquaredError
from nanogram.linear_model.halp import HALP, LowPrecision
from nanogram.linear_model.losses import BinaryLogistic, MultinomialLogistic
from nanogram.linear_model.sgd import Plain, Problem, Settings, minimise, pairs

RNG = np.random.default_rng(0)
N, M = 3000, 48
X = RNG.uniform(-1, 1, (N, 3))
Y = (np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * RNG.normal(size=N))[:, None]
Z = FourierFeatures(M, bits=8, random_state=0).fit_transform(X)
A = Z.toarray(dtype=np.float64)
PENALTY = 1e-2


def _exact():
    """The ridge solution."""
    C = A - A.mean(axis=0)
    return np.linalg.solve(C.T @ C / N + PENALTY * np.eye(M), C.T @ (Y - Y.mean()) / N)


EXACT = _exact()


def _errors(stepper, epochs=40, loss=None, y=Y, design=None, exact=EXACT, k=1):
    """Relative distance from the solution after each epoch at a constant rate."""
    errors = []

    def tick(model, loss, rate):
        errors.append(np.linalg.norm(model()[0] - exact) / np.linalg.norm(exact))
        return False

    settings = Settings(schedule="constant", max_iter=epochs)
    minimise(design or as_design(Z), loss or SquaredError(), y, k, penalty=PENALTY, settings=settings,
             stepper=stepper, tick=tick)  # fmt: skip
    return np.array(errors)


class _SVRG(Plain):
    """Full-precision SVRG, written plainly on the decoded matrix."""

    def epoch(self, pairs, rate, number):
        p = self.problem
        C = A - (0.0 if p.centre is None else p.centre)
        anchor, anchor_b = self.W.copy(), self.b.copy()
        r = C @ anchor + anchor_b - Y
        g, g_b = C.T @ r / N + PENALTY * anchor, r.mean(axis=0)
        for batch, _ in pairs:
            rows = C[batch.ids[batch.ids >= 0]]
            change = (rows @ (self.W - anchor) + self.b - anchor_b) / len(rows)
            self.W -= rate * (rows.T @ change + PENALTY * (self.W - anchor) + g)
            self.b -= rate * p.spread * (change.sum(axis=0) + g_b)


@pytest.mark.parametrize("bits", [8, 16])
def test_converges_where_low_precision_and_sgd_stall(bits):
    halp = _errors(partial(HALP, bits=bits))
    svrg = _errors(_SVRG)
    assert svrg[-1] < 1e-6
    assert halp[-1] < 1e-6
    # About as fast as full precision: at most twice the epochs to an error of 1e-4.
    assert np.argmax(halp < 1e-4) <= 2 * np.argmax(svrg < 1e-4) + 2
    for stalling in (partial(LowPrecision, bits=8), partial(HALP, bits=bits, variance_reduced=False), Plain):
        errors = _errors(stalling)
        assert errors[-10:].min() > 1e-2  # the noise floor of a constant rate


def test_sgd_steps_in_low_precision_are_as_good_as_in_full():
    full = _errors(Plain)[-15:].mean()
    for bits in (8, 16):
        low = _errors(partial(HALP, bits=bits, variance_reduced=False))[-15:].mean()
        assert low < 1.5 * full
    # One grid for the whole run is worse than one that follows the steps.
    assert _errors(partial(LowPrecision, bits=8))[-15:].mean() > 1.5 * full


@pytest.mark.parametrize("kind", ["ternary", "dense"])
def test_other_codes_losses_and_columns(kind):
    codes = TernaryFeatures(M, random_state=0).fit_transform(X)
    design = as_design(codes if kind == "ternary" else codes.toarray(dtype=np.float64))
    y = np.digitize(Y[:, 0], [-0.2, 0.8])
    settings = Settings(schedule="constant", max_iter=40)

    def gradient(result):
        raw = design.matvec(result.coef) + result.intercept
        R = MultinomialLogistic().gradient(y, raw) / N
        return np.abs(design.rmatvec(R) + PENALTY * result.coef).max(), np.abs(R.sum(axis=0)).max()

    run = partial(minimise, design, MultinomialLogistic(), y, 3, penalty=PENALTY, settings=settings)
    start = np.abs(design.rmatvec(MultinomialLogistic().gradient(y, np.zeros((N, 3))) / N)).max()
    slope, slope_b = gradient(run(stepper=HALP))
    assert slope < 1e-4 * start
    assert slope_b < 1e-5
    assert gradient(run(stepper=Plain))[0] > 1e-3 * start


def test_weights_and_rows_left_out():
    weights = RNG.integers(0, 3, size=N).astype(float)
    rows = np.arange(0, N, 2)
    settings = Settings(schedule="constant", max_iter=40)
    result = minimise(as_design(Z), SquaredError(), Y, 1, weights=weights, rows=rows, penalty=PENALTY,
                      settings=settings, stepper=HALP)  # fmt: skip
    w = weights[rows] / weights[rows].sum()
    C = A[rows] - w @ A[rows]
    exact = np.linalg.solve(C.T @ (C * w[:, None]) + PENALTY * np.eye(M), C.T @ (w[:, None] * Y[rows]))
    np.testing.assert_allclose(result.coef, exact, atol=1e-4 * np.abs(exact).max())
    np.testing.assert_allclose(result.intercept, w @ (Y[rows] - A[rows] @ exact), atol=1e-4)


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.int8), (16, np.int16)])
def test_the_model_of_the_inner_steps_is_integers(bits, dtype):
    problem = Problem(as_design(Z), SquaredError(), Y, 1, penalty=PENALTY)
    run = HALP(problem, Settings(), np.zeros((M, 1)), np.zeros(1), bits=bits)
    seen = []
    move = run.move

    def watched(*arguments):
        move(*arguments)
        seen.append(run.Q.copy())

    run.move = watched
    run.epoch(pairs(problem, Settings(), 0), 1.0, 0)
    assert len(seen) == 12
    assert all(Q.dtype == dtype for Q in seen)
    assert all(np.abs(Q.astype(int)).max() <= 2 ** (bits - 1) - 1 for Q in seen)
    assert np.abs(seen[-1]).max() > 2 ** (bits - 1) // 16  # and the range is used
    # Recentred: the centre holds the sum, and the integers are back at 0.
    np.testing.assert_allclose(run.W, seen[-1] * run.delta, rtol=1e-12)
    assert not run.Q.any()


def test_rounding_of_a_step_is_unbiased():
    rounds = 400
    settings = [Settings(seed=s) for s in range(rounds)]
    problem = Problem(as_design(Z), SquaredError(), Y, 1)
    batch = next(pairs(problem, settings[0], 0))[0]
    R = np.zeros((len(batch.ids), 1))
    R[batch.ids >= 0] = RNG.normal(size=(batch.n_rows, 1)) / 1000
    found = []
    for one in settings:
        run = HALP(problem, one, np.zeros((M, 1)), np.zeros(1))
        run.delta = np.array([0.002])
        run.Q[:] = np.arange(M)[:, None] - 20
        run.move(batch, R, 0.5, None)
        found.append(run.Q[:, 0].astype(float))
    live = batch.ids[batch.ids >= 0]
    expected = (np.arange(M) - 20) - 0.5 / 0.002 * ((A[live] - problem.centre).T @ R[batch.ids >= 0])[:, 0]
    found = np.array(found)
    error = np.sqrt(np.maximum(found.var(axis=0, ddof=1), 0.01) / rounds)
    assert (np.abs(found.mean(axis=0) - expected) < 4.5 * error).all()
    assert np.abs(expected - np.rint(expected)).max() > 0.3  # nearest rounding would be seen


def test_same_seed_same_model():
    first, again = (
        minimise(as_design(Z), BinaryLogistic(), (Y > 0).astype(float), 1, settings=Settings(max_iter=5), stepper=HALP)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.coef, again.coef)


def test_ranges_given_by_mu_are_kept():
    wide = _errors(partial(HALP, mu=0.05))
    assert wide[-1] < 1e-5
    narrow = _errors(partial(HALP, mu=1e6), epochs=10)
    assert narrow[-1] > 0.5  # a range of next to nothing: next to no steps


def test_other_widths_are_refused():
    with pytest.raises(ValueError, match="bits=4"):
        _errors(partial(HALP, bits=4), epochs=1)
