"""The Hadamard encoders: every instruction set equals the specification, and that equals the mathematics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from nanogram import datasets, ops
from nanogram.ops import encode_reference as spec
from nanogram.ops.encode import (
    CosineEpilogue,
    GridRows,
    PeriodicEpilogue,
    StepEpilogue,
    encode_hadamard,
    quantise_rows,
)
from nanogram.projections.counter import Stream

NATIVE = [isa for isa in ops.available_isas() if isa != "reference"]
SHAPES = st.tuples(
    st.sampled_from([0, 1, 15, 16, 17, 33, 70]),
    st.sampled_from([1, 2, 3, 9, 16, 31, 54, 64, 123, 260, 784]),
    st.integers(1, 4),
    st.integers(1, 1100),
    st.integers(0, 2**32 - 1),
)
EPILOGUES = [
    *(("step", layout, levels) for layout, levels in [("u1", 2), ("u1", 3), ("u2", 3), ("u2", 4), ("t5", 3)]),
    *(("step", layout, levels) for layout, levels in [("t5", 2), ("u4", 9), ("u8", 6), ("u16", 3), ("u1", 1)]),
    *(("periodic", layout, levels) for layout, levels in [("u1", 2), ("u2", 4), ("t5", 3)]),
    *((rounding, bits, 0) for rounding in ("nearest", "stochastic") for bits in (1, 2, 4, 8, 16)),
]


def block_size(p):
    return 1 << (p - 1).bit_length()


def random_signs(rng, p, rounds, m):
    size = block_size(p)
    return rng.integers(0, 2**32, (-(-m // size), rounds, -(-size // 32)), dtype=np.uint32)


def unpacked(signs, p):
    bits = np.unpackbits(signs.astype("<u4").view(np.uint8), axis=2, bitorder="little")
    return bits[:, :, : block_size(p)].astype(bool)


def random_epilogue(rng, kind, how, levels, m):
    if kind in ("nearest", "stochastic"):
        bias = rng.integers(0, 65536, m)
        return CosineEpilogue(bias, how, kind, Stream(5, "rounding", 9), multiplier=int(rng.choice([1, 1, 2, -3])))
    codes = rng.integers(0, ops.get_layout(how).n_codes, levels)
    if kind == "periodic":
        thresholds = np.sort(rng.integers(-9, 65545, (levels - 1, m)), axis=0)
        return PeriodicEpilogue(rng.integers(0, 65536, m), thresholds, codes, how, int(rng.choice([1, 7])))
    thresholds = np.sort(np.rint(rng.normal(size=(levels - 1, m)) * 4000), axis=0).astype(np.int64)
    thresholds[:, ::7] *= 1000
    return StepEpilogue(thresholds, codes, how)


def random_rows(rng, n, p):
    """Integer rows small and large, so that some are shrunk and some values saturate."""
    scale = rng.choice([10.0, 1000.0, 9000.0, 40000.0], (n, 1))
    return np.rint(rng.normal(size=(n, p)) * scale).clip(-32768, 32767).astype(np.int16)


def same(a, b):
    return a.words.tobytes() == b.words.tobytes() and a[1:] == b[1:]


# --------------------------------------------------------------------------- the same bits everywhere


@settings(max_examples=60)
@given(SHAPES, st.sampled_from(EPILOGUES), st.booleans())
@example((33, 784, 3, 1030, 1), ("step", "u2", 3), False)
@example((33, 784, 2, 1030, 1), ("step", "t5", 3), True)
@example((17, 1, 3, 45, 1), ("stochastic", 4, 0), True)
@example((70, 3, 4, 45, 1), ("stochastic", 8, 0), False)
@example((16, 260, 3, 600, 1), ("periodic", "t5", 3), False)
def test_native_equals_reference(shape, how, grid):
    n, p, rounds, m, seed = shape
    rng = np.random.default_rng(seed)
    epilogue, signs = random_epilogue(rng, *how, m), random_signs(rng, p, rounds, m)
    rows = random_rows(rng, n, p)
    if grid:
        rows = GridRows(rng.normal(size=(n, p)), rng.normal(size=p), 3000.0, 4000)
    with ops.use_isa("reference"):
        expected = encode_hadamard(rows, signs, epilogue)
    for isa in NATIVE:
        with ops.use_isa(isa):
            assert same(encode_hadamard(rows, signs, epilogue), expected)


@pytest.mark.parametrize("isa", ops.available_isas())
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i1", "i2", "u2", "i4", "u4", "i8", "?", ">f4"])
def test_quantise_rows(isa, dtype):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(50, 21)) * 40).astype("i8").astype(dtype)
    if np.dtype(dtype).kind == "f":
        X = (rng.normal(size=(50, 21)) * 40).astype(dtype)
        X[0, :3] = np.inf, -np.inf, np.nan
    mu, inv_grid = rng.normal(size=21), 12.5
    with ops.use_isa(isa):
        x, clipped = quantise_rows(X, mu, inv_grid, 900)
        strided = quantise_rows(X[::2, ::-1], mu[::-1], inv_grid, 900)[0]
    t = (X.astype(np.float64) - mu) * inv_grid
    assert x.dtype == np.int16
    assert clipped == np.count_nonzero(~(np.abs(t) <= 900))
    assert (x == np.rint(np.clip(np.where(np.isnan(t), 900, t), -900, 900))).all()
    assert (strided == x[::2, ::-1]).all()


@pytest.mark.parametrize("isa", ops.available_isas())
def test_halves_round_to_even(isa):
    with ops.use_isa(isa):
        x, _ = quantise_rows(np.array([[0.5, 1.5, 2.5, -0.5, -1.5]]), np.zeros(5), 1.0)
    assert x.tolist() == [[0, 2, 2, 0, -2]]


@pytest.mark.parametrize("kind", ["step", "stochastic"])
def test_threads_order_and_blocks_do_not_matter(kind):
    rng = np.random.default_rng(4)
    n, p, m = 200, 123, 300
    rows, signs = random_rows(rng, n, p), random_signs(rng, p, 3, m)
    epilogue = random_epilogue(rng, kind, 4 if kind == "stochastic" else "u4", 3, m)
    whole = encode_hadamard(rows, signs, epilogue)
    with threadpool_limits(1):
        assert same(encode_hadamard(rows, signs, epilogue), whole)
    words, shrunk = np.full_like(whole.words, 0xFFFFFFFF), 0
    for start, stop in [(176, 200), (0, 16), (16, 128), (128, 176)]:
        part = encode_hadamard(rows[start:stop], signs, epilogue, words=words, row_offset=start)
        assert part.words is words
        shrunk += part.n_shrunk
    assert (words == whole.words).all()
    assert shrunk == whole.n_shrunk
    order = rng.permutation(n)
    codes = ops.unpack(whole.words, epilogue.layout, (n, m))
    permuted = encode_hadamard(rows[order], signs, epilogue)
    assert (ops.unpack(permuted.words, epilogue.layout, (n, m)) == codes[order]).all()


def test_rounding_follows_salt_and_content():
    rng = np.random.default_rng(5)
    rows, signs, bias = random_rows(rng, 40, 20), random_signs(rng, 20, 2, 100), rng.integers(0, 65536, 100)
    rows[7] = rows[3]
    first, again, other = (
        ops.unpack(encode_hadamard(rows, signs, CosineEpilogue(bias, 2, "stochastic", s)).words, "u2", (40, 100))
        for s in (Stream(1, "r", 0), Stream(1, "r", 0), Stream(1, "r", 1))
    )
    assert (first == again).all()
    assert (first[7] == first[3]).all()
    assert 0.05 < (first != other).mean() < 0.95


# --------------------------------------------------------------------------- the mathematics


def float_transform(x, signs, p):
    """Unnormalised ``H D_r ... H D_1 x`` in double."""
    size = block_size(p)
    index = np.arange(size)
    H = 1.0 - 2.0 * (np.bitwise_count(index[:, None] & index) & 1)
    padded = np.zeros((len(x), size))
    padded[:, :p] = x
    blocks = []
    for block in unpacked(signs, p):
        y = padded
        for diagonal in block:
            y = (y * np.where(diagonal, -1.0, 1.0)) @ H
        blocks.append(y)
    return np.hstack(blocks)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
@pytest.mark.parametrize("p", [1, 2, 5, 54, 200, 784])
def test_transform_is_the_transform(p, rounds):
    rng = np.random.default_rng(6)
    X, m = rng.normal(size=(60, p)), 2 * block_size(p)
    signs = random_signs(rng, p, rounds, m)
    x, clipped = spec.quantise_rows(X, np.zeros(p), spec.hadamard_capacity(X, rounds).min(), 32767)
    assert clipped == 0
    assert not spec.guard_shifts(x, block_size(p), rounds).any()
    y = spec.hadamard_int(x, unpacked(signs, p), block_size(p), m)
    exact = float_transform(x, signs, p) * spec.hadamard_gain(block_size(p), rounds)
    # A rounding at each group but the first, errors grow no more than values do; 6 deviations, or saturation.
    stages = spec.stage_groups(block_size(p))
    groups = rounds * len(stages)
    bound = 6 * 2.0 ** (max(stages, default=0) / 2) * np.sqrt(groups / 12) + 2e-5 * groups * 32768
    assert np.abs(y - np.clip(exact, -32768, 32767)).max() <= bound


def share_of_different_codes(X, rounds, seed):
    """Share of ternary codes that differ from thresholds on the exact transform, m = 2000."""
    rng = np.random.default_rng(seed)
    p, m = X.shape[1], 2000
    mu = X.mean(axis=0, dtype=np.float64)
    centred = X - mu
    norms = np.sqrt((centred**2).sum(axis=1))
    inv_grid = spec.hadamard_capacity(centred, rounds).min()
    signs = random_signs(rng, p, rounds, m)
    unit = inv_grid * spec.hadamard_gain(block_size(p), rounds) * block_size(p) ** ((rounds - 1) / 2)
    t = float_transform(centred, signs, p)[:, :m] / block_size(p) ** ((rounds - 1) / 2)
    thresholds = np.array([[-0.5], [0.5]]) * np.sqrt((norms**2).mean())
    exact = (t > thresholds[0]).astype(int) + (t > thresholds[1])
    steps = StepEpilogue(np.floor(thresholds * unit).astype(int).repeat(m, axis=1), np.array([0, 1, 2]), "u2")
    encoded = encode_hadamard(GridRows(X, mu, inv_grid), signs, steps)
    assert encoded[1:] == (0, 0)
    return float((ops.unpack(encoded.words, "u2", (len(X), m)) != exact).mean())


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_few_codes_differ_from_float_thresholds(rounds):
    gaussian = np.random.default_rng(7).normal(size=(400, 784)).astype(np.float32)
    assert share_of_different_codes(gaussian, rounds, 8) <= 1e-3
    assert share_of_different_codes(np.ascontiguousarray(gaussian[:, :54]), rounds, 8) <= 1e-3


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_few_codes_differ_on_digits(rounds):
    X = np.asarray(datasets.load_sample().X[:400], dtype=np.float32)
    assert share_of_different_codes(X, rounds, 9) <= 1e-3


def test_cosine_table():
    phase = np.arange(65536)
    c = spec.cos_u16(phase.astype(np.uint16)).astype(np.float64)
    assert np.abs(c / 65535 - (1 + np.cos(2 * np.pi * phase / 65536)) / 2).max() <= 4e-5


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_stochastic_rounding_is_unbiased(bits):
    """One projection of constant phase: decoded means over many row keys against the 16-bit cosine."""
    n, rng = 4000, np.random.default_rng(10)
    rows = np.zeros((n, 2), dtype=np.int16)
    rows[:, 1] = np.arange(n)  # content differs, multiplier 0 makes the phase that of the bias
    bias = rng.integers(0, 65536, 64)
    epilogue = CosineEpilogue(bias, bits, "stochastic", Stream(11, "rounding"), multiplier=0)
    codes = ops.unpack(encode_hadamard(rows, random_signs(rng, 2, 1, 64), epilogue).words, epilogue.layout, (n, 64))
    value = spec.cos_u16(bias.astype(np.uint16)) * (2.0**bits - 1) / 65536
    share = value - np.floor(value)
    z = (codes.mean(axis=0) - value) / np.sqrt(share * (1 - share) / n + 1e-9)
    assert np.abs(z).max() < 4.5
    assert abs((z**2).mean() - 1) < 6 * np.sqrt(2 / 64)


def test_outliers_keep_their_direction():
    """A row four times too large is shrunk, not wrapped: its sign codes are nearly those of the row that fits."""
    rng = np.random.default_rng(12)
    X, m = rng.normal(size=(20, 100)), 500
    inv_grid = spec.hadamard_capacity(X, 3).min()
    signs = random_signs(rng, 100, 3, m)
    sign_code = StepEpilogue(np.zeros((1, m), dtype=np.int32), np.array([0, 1]), "u1")
    fits = encode_hadamard(GridRows(X, np.zeros(100), inv_grid), signs, sign_code)
    large = encode_hadamard(GridRows(X * 4, np.zeros(100), inv_grid), signs, sign_code)
    assert fits[1:] == (0, 0)
    assert large[1:] == (0, 20)
    a, b = (ops.unpack(e.words, "u1", (20, m)) for e in (fits, large))
    assert (a != b).mean() < 2e-3


def test_saturation_is_the_same_everywhere():
    """Rows at the edge of 16 bits, of one direction: the first block's first column saturates."""
    x = np.full((3, 64), 8191, dtype=np.int16)
    x[1], x[2] = 32767, -32768
    signs = np.zeros((1, 3, 2), dtype=np.uint32)
    steps = StepEpilogue(np.array([[-20000] * 64, [32766] * 64]), np.array([0, 1, 2]), "u2")
    with ops.use_isa("reference"):
        expected = encode_hadamard(x, signs, steps)
    assert expected.n_shrunk == 3
    for isa in NATIVE:
        with ops.use_isa(isa):
            assert same(encode_hadamard(x, signs, steps), expected)


# --------------------------------------------------------------------------- hostile arguments

GOOD = {
    "rows": np.zeros((20, 5), dtype=np.int16),
    "signs": np.zeros((2, 1, 1), dtype=np.uint32),
    "epilogue": StepEpilogue(np.zeros((2, 16), dtype=np.int32), np.array([0, 1, 2]), "u2"),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": np.zeros((20, 5))}, "int16"),
        ({"rows": np.zeros(20, dtype=np.int16)}, "int16"),
        ({"rows": np.zeros((20, 0), dtype=np.int16)}, "no columns"),
        ({"rows": GridRows(np.zeros((20, 5)), np.zeros(4), 1.0)}, "mu has shape"),
        ({"rows": GridRows(np.zeros((20, 5)), np.zeros(5), np.nan)}, "inv_grid"),
        ({"rows": GridRows(np.zeros((20, 5)), np.zeros(5), 1.0, 40000)}, "limit"),
        ({"rows": GridRows(np.zeros((20, 5), complex), np.zeros(5), 1.0)}, "real numbers"),
        ({"signs": np.zeros((3, 1, 1), dtype=np.uint32)}, "signs"),
        ({"signs": np.zeros((2, 5, 1), dtype=np.uint32)}, "5 rounds"),
        ({"signs": np.zeros((2, 1, 1), dtype=np.int64)}, "signs"),
        ({"words": np.zeros((1, 1, 16), dtype=np.uint32)}, "row_offset=0"),
        ({"words": np.zeros((2, 2, 16), dtype=np.uint32)}, "words"),
        ({"words": np.zeros((2, 1, 16), dtype=np.int32)}, "words"),
        ({"row_offset": 8}, "multiple of 16"),
        ({"row_offset": -16}, "multiple of 16"),
        ({"epilogue": StepEpilogue(np.zeros((2, 16), dtype=np.int32), np.array([0, 1, 4]), "u2")}, "codes"),
        ({"epilogue": StepEpilogue(np.zeros((2, 16), dtype=np.int32), np.array([0, 1]), "u2")}, "thresholds"),
        ({"epilogue": StepEpilogue(np.ones((2, 16)), np.array([0, 1, 2]), "u2")}, "thresholds"),
        ({"epilogue": StepEpilogue(np.array([[1] * 16, [0] * 16]), np.array([0, 1, 2]), "u2")}, "ascend"),
        ({"epilogue": CosineEpilogue(np.zeros(16, dtype=int), 3)}, "layout"),
        ({"epilogue": CosineEpilogue(np.zeros(16), 2)}, "bias"),
        ({"epilogue": CosineEpilogue(np.zeros(16, dtype=int), 2, "up")}, "rounding"),
        ({"epilogue": CosineEpilogue(np.zeros(16, dtype=int), 2, "stochastic")}, "stream"),
        ({"epilogue": CosineEpilogue(np.zeros(16, dtype=int), 2, multiplier=40000)}, "multiplier"),
    ],
)
def test_hostile_arguments(changes, message):
    arguments = {**GOOD, **changes}
    with pytest.raises(ValueError, match=message):
        encode_hadamard(**arguments)
