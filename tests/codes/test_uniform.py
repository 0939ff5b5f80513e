"""Uniform codes: the rounding rule, its statistics, ranges by column, bad parameters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanogram.codes import UniformCode

BITS = (1, 2, 4, 8, 16)
finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@settings(max_examples=200, deadline=None)
@given(
    bits=st.sampled_from(BITS),
    low=finite,
    width=st.floats(1e-3, 1e6),
    place=st.floats(-0.2, 1.2),
    word=st.integers(0, 2**32 - 1),
)
def test_the_rule_in_exact_arithmetic(bits, low, width, place, word):
    """t is an IEEE quotient; from there on the rule is exact."""
    high = low + width
    code = UniformCode(bits, low=low, high=high)
    v = low + place * width
    q = int(code.encode([[v]], words=np.array([[word]], np.uint32))[0, 0])
    top = 2**bits - 1
    t = min(max(Fraction((v - low) / ((high - low) / top)), 0), top)
    floor = t.numerator // t.denominator
    assert q == floor + (Fraction(word) < (t - floor) * 2**32)
    nearest = int(UniformCode(bits, "nearest", low, high).encode([[v]])[0, 0])
    assert nearest == floor + (t - floor > Fraction(1, 2))


@pytest.mark.parametrize("bits", BITS)
def test_levels_return_to_their_codes(bits):
    code = UniformCode(bits, "nearest", low=-0.7, high=0.9)
    q = np.arange(2**bits).astype(code.code_dtype)[None]
    np.testing.assert_array_equal(code.encode(code.decode(q)), q)
    assert code.levels.shape == (2**bits,)
    np.testing.assert_allclose(code.levels[[0, -1]], [-0.7, 0.9], rtol=1e-15)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("rounding", ["stochastic", "nearest"])
def test_symmetric_ranges_have_no_offset(bits, rounding):
    code = UniformCode(bits, rounding, low=-0.3, high=0.3)
    assert code.offset == 0.0
    assert code.zero2 == 2**bits - 1
    np.testing.assert_array_equal(code.levels, -code.levels[::-1])


@pytest.mark.parametrize("bits", BITS)
def test_stated_variance_is_lps(bits):
    m = 10
    half = np.sqrt(2 / m)
    code = UniformCode(bits, low=-half, high=half)
    assert code.delta_b_squared == 2 / (2**bits - 1) ** 2
    np.testing.assert_allclose(code.max_variance, code.delta_b_squared / m, rtol=1e-12)
    x = np.linspace(-half, half, 1001)
    assert code.variance(x).max() <= code.max_variance
    assert (code.bias(x) == 0).all()
    np.testing.assert_allclose(code.bias([-2 * half, 2 * half]), [half, -half])
    assert (code.variance([-2 * half, 2 * half]) == 0).all()


def test_one_bit_gives_lps_diagonal():
    """LP section 4: with the range +-sqrt(2/m) the one-bit kernel of a row with itself is 2."""
    m = 64
    code = UniformCode(1, low=-np.sqrt(2 / m), high=np.sqrt(2 / m))
    z = code.decode(code.encode(np.random.default_rng(0).uniform(-0.1, 0.1, (3, m)), random_state=1))
    np.testing.assert_allclose((z.astype(float) ** 2).sum(axis=1), 2.0, rtol=1e-6)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_bias_and_variance_by_simulation(bits):
    """200,000 draws a value; bars of five standard errors from the stated law of two neighbouring levels."""
    code = UniformCode(bits, low=-1.0, high=2.0)
    x = np.linspace(-0.95, 1.93, 9)
    draws = 200_000
    z = code.code_values[code.encode(np.broadcast_to(x, (draws, 9)), random_state=3)]
    v, gap = code.variance(x), code.scale
    assert (np.abs(z.mean(axis=0) - x) <= 5 * np.sqrt(v / draws)).all()
    bar = 5 * np.sqrt(v * (gap**2 - 4 * v) / draws) + gap**2 / draws
    assert (np.abs(((z - x) ** 2).mean(axis=0) - v) <= bar).all()


def test_nearest_rounding_is_biased_and_says_so():
    code = UniformCode(2, "nearest", low=0.0, high=3.0)
    x = np.array([0.4, 0.5, 0.6, 2.75, 3.5, -1.0])
    np.testing.assert_allclose(code.bias(x), [-0.4, -0.5, 0.4, 0.25, -0.5, 1.0], atol=1e-15)
    assert (code.variance(x) == 0).all()
    assert code.max_variance == 0


def test_sources_of_words():
    code = UniformCode(4)
    x = np.random.default_rng(0).uniform(-1, 1, (70, 31))
    words = np.random.default_rng(5).integers(0, 2**32, x.shape, dtype=np.uint32)
    np.testing.assert_array_equal(code.encode(x, words=words), code.encode(x, random_state=5))
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(code.encode(x, words=words), code.encode(x, random_state=generator))
    assert (code.encode(x, random_state=generator) != code.encode(x, words=words)).any()
    state = np.random.RandomState(5)
    first = code.encode(x, random_state=state)
    assert (code.encode(x, random_state=state) != first).any()
    assert np.unique(code.encode(x).astype(int) - first).tolist() == [-1, 0, 1]


def test_blocks_do_not_show(monkeypatch):
    code = UniformCode(4, low=np.linspace(-1, 0, 50), high=np.linspace(1, 2, 50))
    x = np.random.default_rng(0).uniform(-1, 2, (333, 50))
    whole = code.encode(x, random_state=1)
    decoded = code.decode(whole)
    monkeypatch.setattr("nanogram.codes._arrays.BLOCK", 700)
    np.testing.assert_array_equal(code.encode(x, random_state=1), whole)
    np.testing.assert_array_equal(code.decode(whole), decoded)


def test_shapes_other_than_matrices():
    code = UniformCode(2, "nearest")
    assert code.encode(0.9).shape == ()
    assert code.encode(np.zeros((2, 3, 4))).shape == (2, 3, 4)
    assert code.decode(np.zeros((2, 3, 4), np.uint8)).shape == (2, 3, 4)
    strided = np.linspace(-1, 1, 60).reshape(6, 10)[::2, ::3]
    np.testing.assert_array_equal(code.encode(strided), code.encode(strided.copy()))
    np.testing.assert_array_equal(code.encode(np.array([[-1, 0, 1]])), [[0, 1, 3]])


def test_a_range_by_column():
    low, high = np.array([0.0, -5.0, 2.0]), np.array([1.0, 5.0, 3.0])
    code = UniformCode(8, "nearest", low, high)
    assert code.levels.shape == (256, 3)
    x = np.random.default_rng(0).uniform(low, high, (40, 3))
    codes = code.encode(x)
    for j in range(3):
        alone = UniformCode(8, "nearest", low[j], high[j])
        np.testing.assert_array_equal(codes[:, j], alone.encode(x[:, j]))
        np.testing.assert_array_equal(code.decode(codes)[:, j], alone.decode(codes[:, j]))
    part = code.select_columns([2, 0])
    assert part == UniformCode(8, "nearest", low[[2, 0]], high[[2, 0]])
    np.testing.assert_array_equal(code.decode(codes[:, [2, 0]], columns=[2, 0]), part.decode(codes[:, [2, 0]]))
    mixed = UniformCode(8, "nearest", 0.0, high)
    assert mixed.n_columns == 3
    assert mixed.select_columns(slice(0, 2)).n_columns == 2
    assert code.bias(0.5).shape == (3,)
    assert code.max_variance.shape == (3,)


def test_codes_are_compatible_when_they_decode_alike():
    code = UniformCode(4)
    assert code.compatible(UniformCode(4, "nearest"))
    assert not code.compatible(UniformCode(8))
    assert not code.compatible(UniformCode(4, high=2.0))
    assert not code.compatible(UniformCode(4, low=np.full(3, -1.0), high=np.full(3, 1.0)))
    assert code != UniformCode(4, "nearest")
    assert code == UniformCode(4, low=-1, high=np.float64(1))
    assert len({code, UniformCode(4), UniformCode(2)}) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bits": 3}, r"bits=3 is not accepted; choose one of 1, 2, 4, 8, 16"),
        ({"bits": True}, "bits=True"),
        ({"bits": 4.0}, r"bits=4\.0"),
        ({"rounding": "up"}, "rounding='up'"),
        ({"low": 1.0}, r"low=1\.0 and high=1\.0: low must be below high"),
        ({"low": [0, 1, 2], "high": [1, 1, 3]}, "in column 1"),
        ({"low": np.nan}, "low=nan"),
        ({"high": np.inf}, "high=inf"),
        ({"high": 1e39}, r"high=1e\+39"),
        ({"low": 0.0, "high": 1e-310}, "low must be below high"),
        ({"low": [[0.0]]}, r"low has shape \(1, 1\)"),
        ({"low": [0.0, 0.0], "high": [1.0, 1.0, 1.0]}, r"low has shape \(2,\) and high \(3,\)"),
        ({"low": "a"}, "low has dtype"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    code = UniformCode(**parameters)
    with pytest.raises(ValueError, match=message):
        code.encode(np.zeros((2, 3)))


def test_bad_words_are_named():
    code = UniformCode()
    with pytest.raises(ValueError, match=r"words is int64 of shape \(2, 3\); uint32 of shape \(2, 3\)"):
        code.encode(np.zeros((2, 3)), words=np.zeros((2, 3), np.int64))
    with pytest.raises(ValueError, match=r"words is uint32 of shape \(3,\)"):
        code.encode(np.zeros((2, 3)), words=np.zeros(3, np.uint32))
    with pytest.raises(ValueError, match="values has NaN in column 2"):
        code.encode([[0, 1, np.nan]])
    with pytest.raises(ValueError, match=r"values has shape \(3, 4\); the code is made for 2 columns"):
        UniformCode(low=[0, 0], high=[1, 1]).encode(np.zeros((3, 4)))
