"""Step codes: closed forms against quadrature, the criterion against brute force, the range and its refusals."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from nanogram import theory
from nanogram.activations import make_activation
from nanogram.theory import step_search
from nanogram.theory.kernel_error import centred, expected_kernel_error, kernel_error, without_ridge
from nanogram.theory.step_moments import cell_probabilities, hermite_pair, unscaled_feasibility

TARGETS = ["identity", "relu", "leaky_relu", "abs", "step", "sign", "quadratic", "cos", "sin", "rbf", "erf", "gaussian"]
SUMS = ["cos + relu", "abs + sign", "quadratic + relu"]


def design(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", theory.RareFiringWarning)
        return theory.design_step_code(*args, **kwargs)


def quadrature(thresholds, levels, tau):
    """(d0, d1, d2) of a step function by integrating cell by cell."""
    edges = np.concatenate([[-12], np.asarray(thresholds) / np.sqrt(tau), [12]]).clip(-12, 12)

    def mean(weight, power):
        cells = zip(levels, edges[:-1], edges[1:], strict=True)
        return sum(v**power * quad(lambda z: weight(z) * norm.pdf(z), a, b, epsabs=1e-13)[0] for v, a, b in cells)

    first, second = mean(lambda z: z, 1), mean(lambda z: z * z - 1, 1)
    variance = mean(lambda z: 1.0, 2) - mean(lambda z: 1.0, 1) ** 2
    return variance - first**2, first**2 / tau, second**2 / (4 * tau**2)


def matching_ternaries(r):
    """Thresholds of three-level codes with h2 / h1 = r, by another route: scan u+, find every u- by changes of sign."""

    def height(u):
        return (u - r) * np.exp((r * r - u * u) / 2)

    grid = np.linspace(-9, r - 1e-9, 300)
    for up in r + np.linspace(2e-3, 4, 200):
        gap = height(grid) + height(up)
        for i in np.flatnonzero(gap[:-1] * gap[1:] < 0):
            yield brentq(lambda u, up=up: height(u) + height(up), grid[i], grid[i + 1]), up


def ternary_variance(down, up):
    """Variance of levels (-1, 0, 1) over h1^2."""
    low, high = norm.cdf(down), norm.sf(up)
    return (low + high - (high - low) ** 2) / (norm.pdf(up) + norm.pdf(down)) ** 2


def least_lambda(target, tau):
    """The three-level code whose d0 is nearest to the target's."""
    d0, d1, d2 = make_activation(target).moments(tau)
    family = np.array(list(matching_ternaries(2 * np.sqrt(tau * d2 / d1))))
    total = tau * d1 * np.array([ternary_variance(*u) for u in family])
    u = family[np.argmin(np.abs(d0 + tau * d1 - total))]
    return u * np.sqrt(tau), np.sqrt(tau * d1) / norm.pdf(u).sum() * np.array([-1, 0, 1])


@pytest.mark.parametrize("kind", ["monotone", "free", "folded"])
@pytest.mark.parametrize("levels", [2, 3, 4])
def test_moments_match_and_agree_with_quadrature(kind, levels):
    for target, tau in (("rbf", 0.7), ("rbf", 2.0), ("relu", 3.0)):
        code = design(target, tau, levels, kind=kind)
        numeric = quadrature(code.thresholds, code.levels, tau)
        np.testing.assert_allclose(code.moments, numeric, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(numeric[1:], make_activation(target).moments(tau)[1:], rtol=1e-9)
        assert code.residual < 1e-12
        assert code.n_levels == levels
        assert code.firing.sum() == pytest.approx(1)
        assert code.excess_d0 == pytest.approx(make_activation(target).moments(tau).d0 - numeric[0], abs=1e-10)


def test_ternary_row_of_the_table():
    tau, low, high = 1.7, -0.4, 1.1
    d0, d1, d2 = make_activation("step_function", thresholds=(low, high), levels=(-1, 0, 1)).moments(tau)
    e_low, e_high = np.exp(-(low**2) / (2 * tau)), np.exp(-(high**2) / (2 * tau))
    p_low, p_high = norm.cdf(low / np.sqrt(tau)), norm.sf(high / np.sqrt(tau))
    assert d1 == pytest.approx((e_low + e_high) ** 2 / (2 * np.pi * tau), rel=1e-12)
    assert d2 == pytest.approx((high * e_high + low * e_low) ** 2 / (8 * np.pi * tau**3), rel=1e-12)
    assert d0 == pytest.approx(p_low + p_high - (p_high - p_low) ** 2 - tau * d1, rel=1e-12)


@pytest.mark.parametrize("tau", [0.01, 0.5, 1.0, 4.0])
def test_two_levels_are_closed_form(tau):
    assert design("rbf", tau, 2, kind="monotone").thresholds == pytest.approx([tau])
    d0, d1, d2 = make_activation("relu").moments(tau)
    assert design((d0, d1, d2), tau, 2).thresholds == pytest.approx([2 * tau * np.sqrt(d2 / d1)])
    assert design("sign", tau, 2).levels == pytest.approx([-1, 1])


@pytest.mark.parametrize("tau", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_no_matching_ternary_code_has_less_variance(tau):
    code = design("rbf", tau, kind="monotone")
    d1 = code.moments.d1
    brute = min(ternary_variance(*u) for u in matching_ternaries(np.sqrt(tau))) * tau * d1 - tau * d1
    assert code.moments.d0 <= brute + 1e-6 * brute
    assert code.moments.d0 >= brute * (1 - 1e-3)
    np.testing.assert_allclose(code.levels, code.levels[2] * np.array([-1, 0, 1]))


@pytest.mark.parametrize(
    ("h1", "h2"), [(1.0, 0.0), (1.0, 0.3), (1.0, 0.8), (1.0, 1.4), (1.0, 2.0), (0.3, 1.0), (0.0, 1.0)]
)
def test_no_random_four_level_code_has_less_variance(h1, h2):
    best = step_search.free(h1, h2).variance
    rng = np.random.default_rng(1)
    trials = np.sort(rng.uniform(-3.5, 3.5, (40_000, 3)), axis=1)
    trials = np.concatenate([trials, step_search.free(h1, h2).thresholds + rng.normal(0, 0.03, (2000, 3))])
    p = cell_probabilities(trials)
    edges = np.concatenate([np.full((len(trials), 1), -40.0), trials, np.full((len(trials), 1), 40.0)], axis=1)
    density = norm.pdf(edges)
    # Levels by the bordered system: minimise v' diag(p) v with mean 0, h1 and h2 fixed.
    rows = np.stack([p, -np.diff(density), -np.diff(edges * density)], axis=1)
    gram = np.einsum("nai,nbi->nab", rows / np.maximum(p, 1e-12)[:, None], rows)
    sound = np.linalg.cond(gram) < 1e8
    goal = np.array([0.0, h1, h2])
    solved = np.linalg.solve(gram[sound], np.broadcast_to(goal[:, None], (sound.sum(), 3, 1)))[..., 0]
    assert (solved @ goal).min() >= best * (1 - 1e-6)


@pytest.mark.parametrize(("h1", "h2"), [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.0, 2.0)])
def test_no_random_band_code_has_less_variance(h1, h2):
    best = step_search.folded(h1, h2, 2).variance
    direction = np.array([h1, h2]) / np.hypot(h1, h2)
    low, high = np.random.default_rng(2).uniform(-4, 4, (2, 400_000))
    low, high = np.minimum(low, high), np.maximum(low, high)
    first, second = norm.pdf(high) - norm.pdf(low), high * norm.pdf(high) - low * norm.pdf(low)
    along, across = first * direction[0] + second * direction[1], second * direction[0] - first * direction[1]
    near = np.abs(across) < 1e-3 * np.abs(along)
    inside = norm.cdf(high) - norm.cdf(low)
    brute = (inside * (1 - inside) / along**2)[near].min() * (h1**2 + h2**2)
    assert best <= brute * (1 + 1e-2)
    assert best >= brute * (1 - 5e-2)


@pytest.mark.parametrize("target", TARGETS + SUMS)
def test_whole_range_answers_and_more_levels_are_never_worse(target):
    refusals = []
    for tau in (0.01, 0.3, 1.0, 4.0, 100.0):
        codes = {levels: design(target, tau, levels) for levels in (2, 3, 4)}
        for code in codes.values():
            assert code.activity > theory.step_design.FIRING_BOUND
            if code.kind != "periodic":
                assert code.residual < 1e-9
                assert code.hermite_gap >= -1e-9 * code.moments.d0
        for kind in ("monotone", "free", "even", "folded"):
            spent = []
            for levels in (2, 3, 4):
                try:
                    spent.append(design(target, tau, levels, kind=kind).moments.d0)
                except ValueError as error:
                    refusals.append(str(error))
                    break
            assert np.all(np.diff(spent) <= 1e-9 * np.array(spent[1:])), (target, tau, kind, spent)
    assert all("use kind=" in refusal for refusal in refusals)


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.8, 1.3, 2.0, 3.5, 5.0])
def test_shapes_contain_each_other(ratio):
    h1, h2 = 1 / np.hypot(1, ratio), ratio / np.hypot(1, ratio)
    bound = h1**2 + h2**2 / 2
    ternary, four = step_search.ternary(h1, h2).variance, step_search.monotone(h1, h2, 4).variance
    assert bound < step_search.free(h1, h2).variance <= four * (1 + 1e-9)
    assert four <= ternary * (1 + 1e-9)
    assert ternary <= step_search.threshold(h1, h2).variance * (1 + 1e-9)
    if ratio >= 0.5:
        for levels in (2, 3, 4):
            assert bound < step_search.folded(h1, h2, levels).variance
            assert (
                step_search.folded(h1, h2, levels).variance <= step_search.monotone(h1, h2, levels).variance * 1.000001
            )


@pytest.mark.parametrize("kind", ["monotone", "free", "folded"])
def test_answers_repeat_and_are_stationary(kind):
    for levels in (2, 3, 4):
        first = design("rbf", 1.0, levels, kind=kind)
        theory.step_design._unit_code.cache_clear()
        again = design("cos + sin", 1.0, levels, kind=kind)
        nearby = design("rbf", 1.0 + 1e-13, levels, kind=kind)
        for other in (again, nearby):
            np.testing.assert_allclose(other.thresholds, first.thresholds, rtol=0, atol=1e-10)
            np.testing.assert_allclose(other.levels, first.levels, rtol=0, atol=1e-10)


def test_scaling_the_rows_scales_the_code():
    for kind, levels in (("monotone", 3), ("free", 4), ("folded", 3)):
        one, four = (design("relu", tau, levels, kind=kind) for tau in (1.0, 4.0))
        np.testing.assert_allclose(four.thresholds, 2 * one.thresholds, atol=1e-9)
        np.testing.assert_allclose(four.levels, 2 * one.levels, atol=1e-9)


def test_targets_with_one_moment():
    mean_only = design("sign", 2.0)
    assert mean_only.kind == "monotone"
    assert mean_only.thresholds == pytest.approx([-0.6120 * np.sqrt(2), 0.6120 * np.sqrt(2)], abs=1e-4)
    for levels in (2, 3, 4):
        even = design("cos", 2.0, levels)
        assert even.kind == "even"
        assert len(even.thresholds) == 2 * (levels - 1)
        np.testing.assert_allclose(even.thresholds, -even.thresholds[::-1])
        np.testing.assert_array_equal(even.levels, even.levels[::-1])
        assert even.moments.d1 < 1e-25
        assert even.to_code().n_levels == levels
    assert design("cos", 2.0, 2).thresholds[1] == pytest.approx(1.4821 * np.sqrt(2), abs=1e-3)


def test_means_are_zero_where_levels_are_free():
    assert design("rbf", 1.0, 4).mean == pytest.approx(0, abs=1e-12)
    assert design("abs", 1.0, 3).mean == pytest.approx(0, abs=1e-12)
    assert np.sum(design("rbf", 1.0, 2).levels) == 0


def test_codes_and_activations_agree():
    for code in (design("rbf", 1.0, 4), design("abs", 1.0, 2), design("rbf", 9.0, 3)):
        stored = code.to_code()
        t = np.random.default_rng(0).normal(0, np.sqrt(code.tau), 500)
        before = make_activation("cos_phase")(t) if code.activation == "cos_phase" else t
        np.testing.assert_allclose(stored.decode(stored.encode(before[None]))[0], code.as_activation()(t), rtol=1e-6)


@pytest.mark.parametrize(("target", "tau", "feasible"), [
    ("rbf", 0.6, True), ("rbf", 0.65, False), ("rbf", 1.0, False), ("rbf", 4.0, False),
    ("relu", 1.0, True), ("relu", 1.3, True), ("relu", 2.0, False), ("relu", 4.0, False), ("cos", 1.0, False),
])  # fmt: skip
def test_feasibility_of_the_printed_design(target, tau, feasible):
    code = design(target, tau)
    assert code.feasible_unscaled is feasible
    assert (code.unscaled_residual == 0) is feasible
    d0, d1, d2 = make_activation(target).moments(tau)
    u = np.linspace(-4, 4, 401)
    low, high = np.meshgrid(u, u)
    h1, h2 = np.sqrt(tau * d1), 2 * tau * np.sqrt(d2)
    got = norm.pdf(low) + norm.pdf(high) - h1, low * norm.pdf(low) + high * norm.pdf(high) - h2
    size = np.hypot(h1, h2)
    brute = np.hypot(got[0] / (h1 or size), got[1] / (h2 or size)).min()
    assert code.unscaled_residual <= brute
    assert code.unscaled_residual == pytest.approx(brute, abs=0.03)


def test_residuals_of_the_printed_design_span_the_known_interval():
    cases = (("rbf", 1.0), ("rbf", 2.0), ("rbf", 4.0), ("relu", 2.0), ("relu", 4.0))
    residuals = [design(target, tau).unscaled_residual for target, tau in cases]
    assert round(min(residuals), 2) == 0.24
    assert round(max(residuals), 2) == 0.59
    assert unscaled_feasibility(0.1, 0.0) == (True, 0.0)


def test_least_variance_beats_least_lambda():
    tau, p, n = 4.0, 100, 150
    X = np.random.default_rng(0).standard_normal((n, p)) * np.sqrt(tau / p)
    X -= X.mean(axis=0)
    ours = design("rbf", tau, kind="monotone")
    thresholds, levels = least_lambda("rbf", tau)
    trap = ours._replace(thresholds=thresholds, levels=levels)
    assert abs(ours.excess_d0 - 0.514) < 1e-2
    assert abs(trap.as_activation().moments(tau).d0 - ours.target_moments.d0) < 2e-2
    errors = [theory.design_kernel_error(code, "rbf", X, 8000).total for code in (ours, trap)]
    assert errors[1] > 2 * errors[0]


def test_expected_error_agrees_with_simulation():
    tau, n, m = 1.0, 60, 500
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 50)) * np.sqrt(tau / 50)
    for code in (design("rbf", tau, 3), design("rbf", tau, 2, kind="periodic")):
        squares = (X * X).sum(axis=1)
        goal = make_activation("rbf").kernel_from_dots(squares, X @ X.T, squares)
        function, seen = code.as_activation(), []
        for _ in range(200):
            t = X @ rng.standard_normal((50, m))
            if function.uses_phase:
                t += rng.uniform(0, 2 * np.pi, m)
            Z = function(t)
            seen.append(kernel_error(Z @ Z.T / m, goal) ** 2)
        expected = theory.design_kernel_error(code, "rbf", X, m).total ** 2
        # The expectation itself holds a mean over 1,024 columns: allow two per cent for it.
        assert abs(np.mean(seen) - expected) < 4 * np.std(seen) / np.sqrt(200) + 0.02 * expected


def test_errors_ignore_a_ridge():
    rng = np.random.default_rng(0)
    A, B = (x @ x.T for x in rng.standard_normal((2, 20, 5)))
    assert kernel_error(A + 3 * np.eye(20), B) == pytest.approx(kernel_error(A, B))
    assert np.abs(centred(A).sum(axis=0)).max() < 1e-10
    assert abs(np.trace(without_ridge(A))) < 1e-10
    exact = expected_kernel_error(A, A, lambda rng, count: np.ones((20, count)), 10)
    assert exact.bias == 0


def test_auto_by_tau_and_by_rows():
    assert [design("rbf", tau, 2).kind for tau in (0.01, 1.0, 4.0, 4.5, 100.0)] == ["monotone"] * 3 + ["periodic"] * 2
    assert design("rbf", 1.0, 4).kind == "free"
    assert design("rbf", 10.0, 4).kind == "periodic"
    assert design("quadratic + relu", 10.0, 2).kind == "folded"
    low = design("rbf", 2.0, 3, dimension=8)
    assert low.kind == "periodic"
    assert low.compared["periodic"].total < low.compared["monotone"].total
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 300)) * np.sqrt(0.1 / 300)
    held = design("rbf", 0.1, 3, X=X)
    assert held.kind == "monotone"
    assert set(held.compared) == {"monotone", "periodic"}


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize(
    ("tau", "dimension", "m"), [(0.5, 500, 1000), (1.0, 500, 8192), (4.0, 500, 8192), (4.0, 28, 500)]
)
def test_auto_takes_the_least_expected_error(levels, tau, dimension, m):
    best = design("rbf", tau, levels, dimension=dimension, n_features=m)
    plain = "free" if levels == 4 else "monotone"
    assert set(best.compared) == {plain, "folded", "periodic"}
    errors = {kind: error.total / (0.75 if kind == "folded" else 1) for kind, error in best.compared.items()}
    usable = [kind for kind in errors if best.compared[kind].bias < 0.8]
    assert best.kind == min(usable, key=lambda kind: errors[kind])
    # With gamma='scale', tau = 1, codes stay plain or periodic; folded ones are for larger tau and few features.
    assert (best.kind == "folded") == (tau == 4.0 and levels < 4)


def test_auto_passes_over_codes_that_have_nothing_of_the_kernel():
    # At tau = 14 the folded code has its (d1, d2), and no more of the kernel than zero has: a bias of one.
    best = design("rbf", 14.0, 3, dimension=28, n_features=8192)
    assert best.compared["folded"].bias > 0.99
    assert best.compared["folded"].total < best.compared["periodic"].total
    assert best.kind == "periodic"


def test_rare_codes_warn_and_then_refuse():
    with pytest.warns(theory.RareFiringWarning, match="'periodic' or 'folded'"):
        theory.design_step_code("rbf", 14.0, 2, kind="monotone")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theory.design_step_code("rbf", 4.0, 2, kind="monotone")
        theory.design_step_code("rbf", 100.0, 2)
    with pytest.raises(ValueError, match=r"tau=100; use kind='periodic' or 'folded', or levels=4"):
        theory.design_step_code("rbf", 100.0, 3, kind="monotone")


@pytest.mark.parametrize(("args", "kwargs", "message"), [
    (("rbf", 1.0, 5), {}, "levels=5 is not accepted; 2, 3 and 4"),
    (("rbf", 1.0, True), {}, "levels=True"),
    (("rbf", 1.0), {"kind": "best"}, "kind='best' is unknown; choose one of auto, monotone"),
    (("abs", 1.0), {"kind": "monotone"}, "use kind='even'"),
    (("rbf", 1.0), {"kind": "even"}, "needs a target with d1 = 0; use kind='folded'"),
    (("sign", 1.0), {"kind": "even"}, "use kind='monotone'"),
    (("sign", 1.0), {"kind": "folded"}, "use kind='monotone'"),
    (("relu", 1.0), {"kind": "periodic"}, "use kind='monotone' or kind='folded'"),
    (("cos", 1.0), {"kind": "periodic"}, "use kind='even'"),
    (((1.0, 0.0, 0.0), 1.0), {}, "not both 0"),
    (((1.0, -1.0, 0.0), 1.0), {}, "d1, d2 >= 0"),
    (((0.0, 1.0, 1.0), 1.0), {}, "none is below 2 tau"),
    (("rbf", 1.0), {"dimension": 0}, "dimension=0 must be at least 1"),
    (("rbf", 1.0), {"X": np.ones((2, 3))}, "X has 2 rows"),
    (("rbf", 1.0), {"X": np.full((5, 3), np.nan)}, "finite numbers"),
])  # fmt: skip
def test_bad_input_is_named(args, kwargs, message):
    with pytest.raises(ValueError, match="^.*" + re.escape(message)):
        theory.design_step_code(*args, **kwargs)


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("target", ["sin + abs", "cos + identity", "sin + gaussian", "rbf + relu", "step + erf"])
@pytest.mark.parametrize("tau", [0.01, 0.3, 4.0, 20.0, 30.0, 100.0])
def test_sums_have_codes_at_every_tau(target, levels, tau):
    found = design(target, tau, levels)
    assert found.kind != "periodic"
    assert found.residual < 1e-6
    assert found.hermite_gap >= -1e-9 * found.moments.d0


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("ratio", [1e-9, 1e-6, 1e-4, 2.9e-3, 3.1e-3, 1e-2])
def test_nearly_even_targets_lose_next_to_nothing(levels, ratio):
    """Folded codes go over into even ones: the variance grows by a factor 1 + 2 (h1/h2)^2 + O(fourth powers)."""
    even, code = (step_search.folded(h1, 1.0, levels) for h1 in (0.0, ratio))
    h1, h2 = hermite_pair(code.thresholds, code.levels)
    assert h1 == pytest.approx(ratio, rel=1e-6)
    assert h2 == pytest.approx(1.0, rel=1e-12)
    assert code.variance / even.variance == pytest.approx(1 + 2 * ratio**2, rel=1e-8)


@pytest.mark.parametrize("tau", [0, -1.0, np.nan, np.inf, 1e6, "1", None, True])
def test_tau_out_of_range_is_refused_by_name(tau):
    with pytest.raises(ValueError, match=r"tau=.* must be a number above 0 and up to 500"):
        design("rbf", tau)
