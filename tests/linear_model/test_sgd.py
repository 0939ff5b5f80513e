"""The solver: steps against their formulas, the protocol of LP D.2 against a literal one, solutions against optima."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from nanogram import FourierFeatures
from nanogram.code_matrix import CodeMatrix
from nanogram.codes import UniformCode
from nanogram.linear_model import losses
from nanogram.linear_model._design import as_design
from nanogram.linear_model._sgd_losses import HalfHuber, SquaredError
from nanogram.linear_model.sgd import Halving, Heldout, Plain, Problem, Settings, Stepper, minimise, pairs
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(0)
N = 4000
X = RNG.uniform(-1, 1, (N, 3))
Z = FourierFeatures(24, bits=4, random_state=0).fit_transform(X)
A = Z.toarray(dtype=np.float64)
SIGNAL = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
REAL = (SIGNAL + 0.3 * RNG.normal(size=N))[:, None]
BINARY = (REAL > 0.4).astype(float)
CLASSES = np.digitize(REAL[:, 0], [-0.3, 0.8])
COUNTS = RNG.poisson(np.exp(SIGNAL))[:, None].astype(float)

CASES = {
    "squared": (SquaredError(), REAL, 1),
    "two targets": (SquaredError(), np.hstack([REAL, -REAL + 1]), 2),
    "logistic": (losses.BinaryLogistic(), BINARY, 1),
    "multinomial": (losses.MultinomialLogistic(), CLASSES, 3),
    "squared hinge": (losses.SquaredHinge(), 2 * BINARY - 1, 1),
    "huber": (HalfHuber(0.3), REAL, 1),
    "pinball": (losses.Pinball(0.8), REAL, 1),
    "insensitive": (losses.EpsilonInsensitive(0.1), REAL, 1),
    "squared insensitive": (losses.SquaredEpsilonInsensitive(0.1), REAL, 1),
    "poisson": (losses.Poisson(), COUNTS, 1),
}
PENALTY = 1e-3


def _objective(loss, y, k, weights, dense=A):
    """F and the parameters at its minimum, by L-BFGS on the decoded matrix."""
    w = np.ones(len(dense)) if weights is None else weights
    w = w / w.sum()

    def evaluate(theta):
        W, b = theta[:-k].reshape(-1, k), theta[-k:]
        value, gradient = loss.value_and_gradient(y, dense @ W + b)
        gradient = gradient * w[:, None]
        F = (w @ (value if value.ndim == 1 else value.sum(axis=1))) + 0.5 * PENALTY * (W**2).sum()
        return F, np.concatenate([(dense.T @ gradient + PENALTY * W).ravel(), gradient.sum(axis=0)])

    start = np.zeros((dense.shape[1] + 1) * k)
    found = scipy_minimize(evaluate, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10000})
    return evaluate, found.x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_reaches_the_minimum(case, weighted):
    loss, y, k = CASES[case]
    weights = RNG.integers(0, 4, size=N).astype(float) if weighted else None
    evaluate, best = _objective(loss, y, k, weights)
    result = minimise(
        as_design(Z), loss, y, k, weights=weights, penalty=PENALTY, settings=Settings(average=True, tol=0.001)
    )
    assert result.converged
    found = evaluate(np.concatenate([result.coef.ravel(), result.intercept]))[0]
    start = evaluate(np.zeros_like(best))[0]
    least = evaluate(best)[0]
    assert found - least < 0.04 * (start - least)


def test_features_with_large_means_are_no_slower():
    def gap(dense):
        evaluate, best = _objective(*CASES["logistic"][:2], 1, None, dense - dense.mean(axis=0))
        r = minimise(as_design(dense), *CASES["logistic"], penalty=PENALTY, settings=Settings(max_iter=15))
        centred = np.concatenate([r.coef.ravel(), r.intercept + dense.mean(axis=0) @ r.coef])
        return evaluate(centred)[0] - evaluate(best)[0]

    assert gap(A + 100.0) < 2 * gap(A) + 1e-3


# --------------------------------------------------------------------------- steps


def _gradient(loss, y, W, b, weights, centre):
    raw = (A - centre) @ W + b
    residual = loss.gradient(y, raw) * (weights / weights.mean())[:, None] / N
    return (A - centre).T @ residual + PENALTY * W, residual.sum(axis=0)


@pytest.mark.parametrize("momentum", [0.0, 0.7])
@pytest.mark.parametrize("case", ["squared", "multinomial", "poisson"])
def test_steps_are_the_textbooks(case, momentum):
    loss, y, k = CASES[case]
    weights = RNG.uniform(0.5, 2.0, size=N)
    problem = Problem(as_design(Z), loss, y, k, weights=weights, penalty=PENALTY)
    problem.spread = 0.3
    settings = Settings(batch_size=N, momentum=momentum, average=True)
    W, b = RNG.normal(size=(24, k)) / 5, RNG.normal(size=k)
    run = Plain(problem, settings, W, b)
    v, v_b, total = 0.0, 0.0, 0.0
    for number in range(3):
        run.epoch(pairs(problem, settings, number), 0.1, number)
        G, g = _gradient(loss, y, W, b, weights, problem.centre)
        v, v_b = momentum * v + G, momentum * v_b + g
        W, b = W - 0.1 * v, b - 0.1 * 0.3 * v_b
        total = total + W
        np.testing.assert_allclose(run.W, W, atol=2e-4 * np.abs(W).max())
        np.testing.assert_allclose(run.b, b, atol=1e-3)
        np.testing.assert_allclose(run.model()[0], total / (number + 1), atol=2e-4 * np.abs(W).max())


def test_averaging_begins_after_the_rows_asked_for():
    problem = Problem(as_design(Z), *CASES["squared"])
    settings = Settings(average=2 * N)
    run = Plain(problem, settings, np.zeros((24, 1)), np.zeros(1))
    run.epoch(pairs(problem, settings, 0), 0.1, 0)
    np.testing.assert_array_equal(run.model()[0], run.W)
    run.epoch(pairs(problem, settings, 1), 0.1, 1)
    run.epoch(pairs(problem, settings, 2), 0.1, 2)
    assert run.averaged == N // 250 + 1
    assert not np.array_equal(run.model()[0], run.W)


# --------------------------------------------------------------------------- the protocol


class _Numbered(Stepper):
    """A stepper whose model is its number."""

    def reset(self, W, b):
        self.W, self.b = W.copy(), b.copy()


def _literal(metrics, n_halvings):
    """LP D.2 read aloud: rates, kept models and the epoch that ends the training."""
    rate, best, kept, count, out = 1.0, None, None, 0, []
    for number, metric in enumerate(metrics):
        better = best is None or metric <= best
        if not (best is None or metric < 0.99 * best):
            rate, count = rate / 2, count + 1
        if better:
            best, kept = metric, number
        out.append((rate, kept))
        if count == n_halvings:
            break
    return out


@pytest.mark.parametrize("seed", range(20))
def test_protocol_is_that_of_the_paper_to_the_letter(seed):
    rng = np.random.default_rng(seed)
    # Gains of more and of less than 1 %, losses, and exact ties.
    metrics = np.cumprod(rng.choice([0.9, 0.985, 0.995, 1.0, 1.004, 1.2], size=60))
    run = _Numbered.__new__(_Numbered)
    halving = Halving(1.0, 0.01, 10)
    found = []
    for number, metric in enumerate(metrics):
        run.W = np.full((1, 1), float(number))
        run.b = np.zeros(1)
        done = halving.after(float(metric), run)
        found.append((halving.rate, int(halving.model[0][0, 0])))
        # What training goes on from is this epoch's model, or the best one where this is worse.
        assert run.W[0, 0] == halving.model[0][0, 0]
        if done:
            break
    assert done
    assert found == _literal(metrics, 10)
    assert halving.halvings == 10


def test_a_run_follows_the_protocol():
    design, y = as_design(Z), BINARY
    rows = np.arange(3000)
    heldout = Heldout(design.rows(np.arange(3000, N)), y[3000:])
    result = minimise(design, losses.BinaryLogistic(), y, 1, rows=rows, heldout=heldout)
    literal = _literal(result.history, 10)
    assert len(literal) == result.n_iter
    rates = [result.rates[0] * rate for rate, _ in literal]
    np.testing.assert_allclose(result.rates[1:], rates[:-1])
    assert result.converged
    # The model returned is the best on the heldout rows.
    raw = A[3000:] @ result.coef + result.intercept
    np.testing.assert_allclose(losses.BinaryLogistic().value(y[3000:], raw).mean(), min(result.history), rtol=1e-5)
    assert result.history[literal[-1][1]] == min(result.history)


def test_a_rate_far_too_large_is_survived():
    result = minimise(as_design(Z), SquaredError(), REAL, 1, settings=Settings(eta0=1e4, n_halvings=20))
    assert np.isfinite(result.coef).all()
    assert min(result.history) < 0.9 * SquaredError().value(REAL, np.full_like(REAL, REAL.mean())).mean()


def test_constant_rate_runs_all_epochs_and_returns_the_last_model():
    settings = Settings(schedule="constant", max_iter=7)
    seen = []
    result = minimise(as_design(Z), SquaredError(), REAL, 1, settings=settings,
                      tick=lambda model, loss, rate: bool(seen.append(model()[0])))  # fmt: skip
    assert result.n_iter == 7
    assert len(set(result.rates)) == 1
    assert result.converged
    np.testing.assert_array_equal(result.coef, seen[-1])


def test_same_seed_same_result():
    first, again, other = (
        minimise(as_design(Z), SquaredError(), REAL, 1, settings=Settings(seed=s, max_iter=3)) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.coef, again.coef)
    assert first.history == again.history
    assert not np.array_equal(first.coef, other.coef)


def test_codes_and_their_values_take_the_same_path():
    settings = Settings(shuffle="rows", max_iter=4)
    codes, dense = (minimise(as_design(M), *CASES["multinomial"], settings=settings) for M in (Z, A))
    np.testing.assert_allclose(codes.coef, dense.coef, atol=5e-4 * np.abs(dense.coef).max())
    np.testing.assert_allclose(codes.history, dense.history, rtol=1e-4)


@pytest.mark.parametrize("after", [0, 3])
def test_interruption_keeps_the_best_model(after):
    design = as_design(Z)
    count = 0

    def tick(model, loss, rate):
        nonlocal count
        count += 1
        if count > after:
            raise KeyboardInterrupt
        return False

    class Interrupted(Plain):
        def epoch(self, pairs, rate, number):
            if number == 0 and not after:
                raise KeyboardInterrupt
            super().epoch(pairs, rate, number)

    if not after:
        with pytest.raises(KeyboardInterrupt):
            minimise(design, SquaredError(), REAL, 1, stepper=Interrupted, tick=tick)
        return
    result = minimise(design, SquaredError(), REAL, 1, tick=tick)
    assert result.interrupted
    assert not result.converged
    assert result.n_iter == after + 1
    whole = minimise(design, SquaredError(), REAL, 1, settings=Settings(max_iter=after + 1))
    np.testing.assert_array_equal(result.coef, whole.coef)


# --------------------------------------------------------------------------- rounding noise


def test_double_sampling_is_unbiased_and_a_single_sample_is_not():
    # LP D.7.3. For rounding errors e of variance s^2, E[(x + e)(x + e).w] = x x.w + s^2 w: one sample is biased.
    rng = np.random.default_rng(1)
    n, m, rounds = 100, 6, 150
    x = rng.uniform(-1, 1, (n, m))
    w = rng.normal(size=(m, 1))
    y = rng.normal(size=(n, 1))
    code = UniformCode(bits=2)
    exact = x.T @ (x @ w - y) / n
    bias = np.mean(code.variance(x), axis=0)[:, None] * w
    settings = Settings(batch_size=n, schedule="constant", max_iter=1, eta0=1.0)

    def gradient(first, second):
        result = minimise(
            as_design(first), SquaredError(), y, 1, fit_intercept=False, settings=settings,
            start=(w, np.zeros(1)), backward=None if second is None else as_design(second),
        )  # fmt: skip
        return w - result.coef

    drawn = [CodeMatrix.from_values(x, code, random_state=s) for s in range(2 * rounds)]
    single = np.array([gradient(drawn[2 * i], None) for i in range(rounds)])
    double = np.array([gradient(drawn[2 * i], drawn[2 * i + 1]) for i in range(rounds)])
    for found, expected in ((single, exact + bias), (double, exact)):
        error = found.std(axis=0, ddof=1) / np.sqrt(rounds)
        assert (np.abs(found.mean(axis=0) - expected) < 4.5 * error + 1e-4).all()
    error = single.std(axis=0, ddof=1) / np.sqrt(rounds)
    large = np.abs(bias) > 8 * error
    assert large.any()  # the bias is there to be seen
    assert (np.abs(single.mean(axis=0) - exact)[large] > 4 * error[large]).all()


def test_second_codes_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="second codes have shape"):
        minimise(as_design(Z), SquaredError(), REAL, 1, backward=as_design(Z[:10]))


def test_second_codes_follow_the_order_of_the_first():
    x = RNG.uniform(-1, 1, (3000, 8))
    first, second = (CodeMatrix.from_values(x, UniformCode(bits=1), random_state=s) for s in (0, 1))
    for other in (second, second.toarray(dtype=np.float64)):
        problem = Problem(as_design(first), SquaredError(), x[:, :1], 1, backward=as_design(other))
        for batch, pair in pairs(problem, Settings(), 0):
            live = batch.ids >= 0
            np.testing.assert_array_equal(batch.ids[live], pair.ids[pair.ids >= 0])
            values = pair.design.matvec(np.eye(8))[pair.ids >= 0]
            np.testing.assert_allclose(values, second.toarray()[batch.ids[live]], atol=1e-6)


def test_rounding_noise_is_drawn_anew_in_each_epoch():
    features = FourierFeatures(16, bits=1, random_state=0).fit(X)
    streamed = StreamedCodes(features, X[:600])
    problem = Problem(streamed, SquaredError(), REAL[:600], 1)

    def values(number, resample):
        settings = Settings(resample=resample)
        out = np.empty((600, 16))
        for batch, _ in pairs(problem, settings, number):
            out[batch.ids] = batch.design.matvec(np.eye(16))
        return out

    plain = values(0, False)
    np.testing.assert_allclose(plain, features.transform(X[:600]).toarray(), atol=1e-6)
    np.testing.assert_array_equal(plain, values(1, False))
    first, second = values(0, True), values(1, True)
    for one, other in ((plain, first), (plain, second), (first, second)):
        assert 0.1 < (np.abs(one - other) > 1e-3).mean() < 0.9
    np.testing.assert_array_equal(first, values(0, True))
    # Unbiased: the mean over epochs goes to the features themselves.
    mean = np.mean([values(number, True) for number in range(200)], axis=0)
    exact = FourierFeatures(16, random_state=0, projection=features.projection).fit(X).transform(X[:600]).toarray()
    level = np.abs(plain).max()
    error = np.sqrt(np.maximum(level**2 - exact**2, 0.0) / 200)
    score = (mean - exact) / np.maximum(error, 1e-3 * level)
    assert abs(score.mean()) < 5 / np.sqrt(score.size)
    assert score.std() < 1.1
