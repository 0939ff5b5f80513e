import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone

from nanogram.activations import (
    ACTIVATIONS,
    Activation,
    Cos,
    CosSin,
    LeakyReLU,
    PeriodicStep,
    Quadratic,
    ReLU,
    Sign,
    StepFunction,
    Sum,
    make_activation,
)
from nanogram.activations._steps import orthant
from nanogram.theory._quadrature import pair_expectation

ALL = [
    *(make_activation(name) for name in ACTIVATIONS if name != "rbf"),
    LeakyReLU(a_plus=0.7, a_minus=0.4),
    Quadratic(a2=-0.5, a1=1.5, a0=0.3),
    StepFunction((-0.4, 0.9), (-1, 0, 1)),
    StepFunction((-1.0, 1.0), (1, 0, 1)),
    StepFunction((-0.8, 0.0, 1.3), (-2.0, -0.3, 0.4, 1.7)),
    PeriodicStep((-0.5, 0.5), (-1.1, 0.0, 1.1)),
    PeriodicStep((-0.7, 0.1, 0.9), (-1.0, 2.0, 0.5, 1.0)),
    make_activation("cos + relu"),
]
PLAIN = [a for a in ALL if not a.uses_phase]
PHASES = 32


def outputs(activation):
    """One scalar function for each output of a projection."""
    return [
        lambda t, k=k: activation(np.reshape(t, (-1, 1)))[:, k].reshape(np.shape(t))
        for k in range(activation.n_outputs)
    ]


def pairs(seed=0, n=24):
    rng = np.random.default_rng(seed)
    x, y = np.exp(rng.uniform(-1.5, 1.2, (2, n)))
    return x, y, rng.uniform(-1, 1, n)


@pytest.mark.parametrize("activation", PLAIN, ids=repr)
def test_kernel_agrees_with_quadrature(activation):
    x, y, cs = pairs()
    cs[:4] = [1.0, -1.0, 0.0, 0.999]
    expected = sum(pair_expectation(s, x, y, cs, activation.breaks) for s in outputs(activation))
    found = activation.kernel_from_dots(x**2, x * y * cs, y**2)
    scale = np.sqrt(activation.second_moment(x**2) * activation.second_moment(y**2))
    # Jumps and cs = 1 meet in a square root: rounding of cs by 1e-16 is worth 1e-8 there.
    smooth = np.abs(cs) < 1
    np.testing.assert_allclose(found[smooth] / scale[smooth], expected[smooth] / scale[smooth], atol=1e-10, rtol=0)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-7, rtol=0)


@pytest.mark.parametrize("activation", [a for a in ALL if not a.breaks and not isinstance(a, PeriodicStep)], ids=repr)
def test_smooth_kernel_agrees_with_gauss_hermite(activation):
    x, y, cs = pairs(1, 6)
    x, y = np.minimum(x, 1.3), np.minimum(y, 1.3)
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / np.sqrt(2 * np.pi)
    phases = np.arange(PHASES) * 2 * np.pi / PHASES if activation.uses_phase else [0.0]
    for xi, yi, ci in zip(x, y, cs, strict=True):
        u = (xi * z)[:, None]
        v = yi * (ci * z[:, None] + np.sqrt(1 - ci**2) * z)
        expected = np.mean(
            [sum((w[:, None] * w * s(u + p) * s(v + p)).sum() for s in outputs(activation)) for p in phases]
        )
        assert activation.kernel_from_dots(xi**2, xi * yi * ci, yi**2) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_kernel_agrees_with_monte_carlo(activation):
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((5, 7)) * np.array([0.1, 0.3, 0.5, 0.5, 0.8])[:, None]
    n = 60_000
    t = rng.standard_normal((n, 7)) @ rows.T
    if activation.uses_phase:
        t += rng.uniform(0, 2 * np.pi, (n, 1))
    features = activation(t).reshape(n, activation.n_outputs, len(rows))
    products = np.einsum("nki,nkj->nij", features, features)
    error = products.std(axis=0) / np.sqrt(n)
    K = activation.kernel_from_dots((rows**2).sum(1), rows @ rows.T, (rows**2).sum(1))
    # 15 distinct entries for each activation: 5 standard errors are passed once in 10^5 activations.
    assert (np.abs(products.mean(axis=0) - K) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_diagonal_is_the_second_moment_down_to_zero_rows(activation):
    tau = np.array([0.0, 1e-6, 0.3, 1.0, 40.0])
    diagonal = activation.second_moment(tau)
    np.testing.assert_allclose(activation.kernel_from_dots(tau, tau, tau), diagonal, rtol=1e-14)
    t = 0.7
    at_zero = activation.kernel_from_dots(0.0, 0.0, t)
    if not activation.uses_phase:
        zero = activation(np.zeros((1, 1)))[0]
        assert diagonal[0] == pytest.approx((zero**2).sum())
        assert at_zero == pytest.approx(zero @ activation.means(t), abs=1e-14)


@pytest.mark.parametrize("activation", ALL, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_call_keeps_type_fills_out_and_works_in_place(activation, dtype):
    t = np.linspace(-3, 3, 12, dtype=dtype).reshape(3, 4)
    values = activation(t)
    assert values.dtype == dtype
    assert values.shape == (3, 4 * activation.n_outputs)
    out = np.empty_like(values)
    assert activation(t, out=out) is out
    np.testing.assert_array_equal(out, values)
    lower, upper = activation.bounds
    assert lower - 1e-6 <= values.min()
    assert values.max() <= upper + 1e-6
    if activation.n_outputs == 1:
        again = t.copy()
        activation(again, out=again)
        np.testing.assert_array_equal(again, values)
        assert activation(dtype(0.5)) == activation(np.array([0.5], dtype=dtype))[0]
    with pytest.raises(ValueError, match="out has shape"):
        activation(t, out=np.empty((3, 4 * activation.n_outputs + 1)))


def test_integers_and_halves_become_floats():
    assert ReLU()(np.arange(-2, 3)).dtype == np.float64
    assert ReLU()(np.arange(3, dtype=np.float16)).dtype == np.float32


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_parameters_in_the_manner_of_scikit_learn(activation):
    copy = clone(activation)
    assert copy == activation
    assert hash(copy) == hash(activation)
    assert repr(copy) == repr(activation)
    assert pickle.loads(pickle.dumps(activation)) == activation
    assert type(activation)(**activation.get_params()) == activation


def test_set_params_and_inequality():
    leaky = LeakyReLU()
    assert leaky.set_params(a_minus=0.5) is leaky
    assert leaky == LeakyReLU(a_minus=0.5) != LeakyReLU()
    assert leaky != "leaky_relu"
    with pytest.raises(ValueError, match="no parameter 'slope'; it has"):
        leaky.set_params(slope=1)


def test_lists_and_arrays_as_thresholds():
    a, b = StepFunction([-1, 1], [0, 1, 2]), StepFunction(np.array([-1, 1]), np.array([0, 1, 2]))
    assert a == b
    assert hash(a) == hash(b)


def test_known_identities():
    xx, xy, yy = np.array([1.0, 2.0]), np.array([0.3, -1.0]), np.array([0.5, 3.0])

    def k(activation):
        return make_activation(activation).kernel_from_dots(xx, xy, yy)

    np.testing.assert_allclose(k(LeakyReLU(1, 1)), k("abs"), rtol=1e-14)
    np.testing.assert_allclose(k(LeakyReLU(1, 0)), k("relu"), rtol=1e-14)
    np.testing.assert_allclose(k(LeakyReLU(1, -1)), k("identity"), rtol=1e-14)
    np.testing.assert_allclose(k(Quadratic(0, 1, 0)), k("identity"), rtol=1e-14)
    np.testing.assert_allclose(k(StepFunction((0, 0), (-1, 0, 1))), k("sign"), rtol=1e-13)
    np.testing.assert_allclose(k("cos + sin"), k("rbf"), rtol=1e-14)
    np.testing.assert_allclose(k("rbf"), np.exp(-(xx + yy - 2 * xy) / 2), rtol=1e-14)
    assert StepFunction((0, 0), (-1, 0, 1)).moments(2.0) == pytest.approx(Sign().moments(2.0), abs=1e-15)
    assert make_activation("cos+sin").moments(0.01) == pytest.approx(CosSin().moments(0.01), rel=1e-12)


def test_periodic_step_near_and_far_sums_meet():
    a = PeriodicStep((-0.7, 0.1, 0.9), (-1.0, 2.0, 0.5, 1.0))
    d = np.array([0.35, 0.45, 0.49999])
    c = a.harmonics(200)
    k = np.arange(1, 201)
    far = c[0] ** 2 + 0.5 * (c[1:] ** 2 * np.exp(-0.5 * k**2 * d[:, None] ** 2)).sum(axis=1)
    np.testing.assert_allclose(a.kernel_from_dots(d**2, 0.0, 0.0), far, rtol=1e-13)
    assert a.kernel_from_dots(1.0, 1.0, 1.0) == pytest.approx(a.power, rel=1e-15)


def test_sums_flatten_and_refuse_mixed_phases():
    three = Cos() + ReLU() + CosSin()
    assert [type(a).__name__ for a in three.flat] == ["Cos", "ReLU", "CosSin"]
    assert three.n_outputs == 4
    assert three([[0.0, 1.0]]).shape == (1, 8)
    assert make_activation("cos_phase + periodic_step").uses_phase
    with pytest.raises(ValueError, match="mix activations with and without a random phase"):
        make_activation("cos + cos_phase")([1.0])
    with pytest.raises(ValueError, match="terms is empty"):
        Sum(()).moments(1.0)
    with pytest.raises(TypeError, match="2 outputs, each with its mean"):
        CosSin().mean(1.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        ReLU() + 1


@given(
    h=st.floats(-6, 6) | st.sampled_from([0.0, -0.0, np.inf, -np.inf]),
    k=st.floats(-6, 6) | st.sampled_from([0.0, -0.0, np.inf, -np.inf]),
    rho=st.floats(-0.99, 0.99) | st.sampled_from([-1.0, 0.0, 1.0]),
)
@example(h=0.0, k=5e-324, rho=0.5)
@example(h=-5e-324, k=5e-324, rho=-0.5)
@settings(max_examples=150, deadline=None)
def test_orthant_probability(h, k, rho):
    found = float(orthant(h, k, rho))
    if abs(rho) == 1:
        # V = U or V = -U.
        expected = stats.norm.sf(max(h, k)) if rho > 0 else max(stats.norm.cdf(-k) - stats.norm.cdf(h), 0.0)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(60)
        angle = np.arcsin(rho) / 2
        theta = angle * (nodes + 1)
        if np.isinf(h) or np.isinf(k):
            part = 0.0
        else:
            # Plackett: the derivative in the correlation is the bivariate density.
            part = (
                angle * weights * np.exp(-(h * h + k * k - 2 * h * k * np.sin(theta)) / (2 * np.cos(theta) ** 2))
            ).sum()
        expected = stats.norm.sf(h) * stats.norm.sf(k) + part / (2 * np.pi)
    assert found == pytest.approx(expected, abs=2e-11)


def tanh(t):
    return np.tanh(t)


@pytest.mark.parametrize(
    ("function", "kinks", "jumps", "twin"),
    [
        (np.sin, (), (), "sin"),
        (lambda t: np.maximum(t, 0), (0.0,), (), "relu"),
        (np.abs, (), (), "abs"),
        (np.sign, (), (0.0,), "sign"),
        (lambda t: 1.0 * (t > 0.9) - (t < -0.4), (), (), StepFunction((-0.4, 0.9), (-1, 0, 1))),
        (lambda t: np.exp(-t * t / 2), (), (), "gaussian"),
    ],
)
def test_user_functions_match_their_closed_twins(function, kinks, jumps, twin):
    user, twin = Activation.of(function, kinks, jumps), make_activation(twin)
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((8, 4)) * 0.6
    rows[1] = rows[0] * (1 + 1e-3) + 1e-3
    rows[2] = -rows[0]
    rows[3] = 0
    squares, dots = (rows**2).sum(1), rows @ rows.T
    scale = np.sqrt(np.outer(twin.second_moment(squares), twin.second_moment(squares)))
    difference = np.abs(user.kernel_from_dots(squares, dots, squares) - twin.kernel_from_dots(squares, dots, squares))
    off = ~np.eye(8, dtype=bool)
    assert (difference <= 3e-8 * scale + 1e-14)[off].all()
    np.testing.assert_allclose(user.second_moment(squares), twin.second_moment(squares), atol=1e-12)
    assert user.mean(0.7) == pytest.approx(twin.mean(0.7), abs=1e-12)
    np.testing.assert_array_equal(user(rows), twin(rows))


def test_user_function_names_and_pickles():
    a = Activation.of(tanh, name="tanh")
    assert a.name == "tanh"
    assert clone(a) == a == pickle.loads(pickle.dumps(a))
    assert make_activation(tanh) == Activation.of(tanh)
    with pytest.raises(ValueError, match=r"function 'sum' returned shape \(\)"):
        Activation.of(np.sum)(np.ones(3))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: make_activation("tanh"), ValueError, "activation='tanh' is not known; names are identity, relu"),
        (lambda: make_activation("relu + tanh"), ValueError, "activation='tanh' is not known"),
        (lambda: make_activation(3), TypeError, "activation=3 must be a name"),
        (lambda: make_activation(ReLU), TypeError, "must be a name"),
        (lambda: make_activation("cos + sin", a=1), ValueError, "go with one activation"),
        (lambda: ReLU().moments(0.0), ValueError, "tau=0.0 is not a mean squared row norm"),
        (lambda: ReLU().mean(np.nan), ValueError, "tau=nan"),
        (lambda: StepFunction((0, 1), (1, 2))([0.0]), ValueError, "do not fit"),
        (lambda: StepFunction((1, 0), (1, 2, 3))([0.0]), ValueError, "must be finite and not decrease"),
        (lambda: StepFunction((0,), (1, np.inf))([0.0]), ValueError, "levels=.* must be finite"),
        (lambda: PeriodicStep((2.0,), (1, 2))([0.0]), ValueError, "the range of cos_phase"),
    ],
)
def test_errors_name_the_value(make, error, message):
    with pytest.raises(error, match=message):
        make()
