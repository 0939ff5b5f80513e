"""Encoders of integer rows by integer weights: every path, level and thread count gives the reference's bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from nanogram import ops
from nanogram.ops.encode import CosineEpilogue, PeriodicEpilogue, StepEpilogue
from nanogram.ops.encode_dense import IntegerWeights, encode_dense
from nanogram.projections import Stream

ISAS = [level for level in ops.available_isas() if level != "reference"]


def make_rows(rng, n, p, bits):
    most = (1 << (bits - 1)) - 1
    rows = rng.integers(-most, most + 1, (n, p)).astype(np.int16)
    # The largest sums there are must not overflow either.
    rows[: n // 3] = np.where(rows[: n // 3] > 0, most, -most)
    return rows


def make_weights(rng, m, p, kind):
    if kind == "int8":
        return rng.integers(-128, 128, (m, p)).astype(np.int8)
    if kind == "int16":
        return rng.integers(-1023, 1024, (m, p)).astype(np.int16)
    zero = {"signs": 0.0, "trits": 1 / 3, "few": 0.9, "none": 1.0}[kind]
    w = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (m, p), p=[(1 - zero) / 2, zero, (1 - zero) / 2])
    if m > 2 and zero > 0:
        w[m // 2] = 0  # an empty column
        w[-1] = 1
    return w


def make_epilogue(rng, kind, m, spread):
    """An epilogue and the options of its encoding."""
    name, *options = kind.split("-")
    options = {"pair": "pair" in options}, "random" in options, [int(o) for o in options if o.isdigit()]
    bias, multiplier = rng.integers(0, 2**32, m, dtype=np.uint32), int(rng.integers(-(2**31), 2**31))
    if name == "step":
        steps = options[2][0]
        thresholds = np.sort(rng.normal(0, spread + 1, (steps, m)), axis=0).astype(np.int32)
        even = np.minimum(np.arange(steps + 1), np.arange(steps + 1)[::-1])
        codes = even if steps == 2 else np.arange(steps + 1)
        return StepEpilogue(thresholds, codes, "u1" if steps <= 2 else "u2" if steps == 3 else "u4"), options[0]
    if name == "trits":
        thresholds = np.sort(rng.normal(0, spread + 1, (2, m)), axis=0).astype(np.int32)
        return StepEpilogue(thresholds, np.arange(3), "t5"), options[0]
    if name == "periodic":
        thresholds = np.sort(rng.integers(0, 65536, (3, m)), axis=0)
        return PeriodicEpilogue(bias, thresholds, np.array([2, 0, 3, 1]), "u2", multiplier), options[0]
    random = ("stochastic", Stream(5, "rounding")) if options[1] else ("nearest", None)
    return CosineEpilogue(bias, options[2][0], *random, multiplier), options[0]


CODES = ["step-1", "step-2", "step-3", "step-5", "trits", "periodic", "periodic-pair", "cosine-1", "cosine-1-pair",
         "cosine-2-random", "cosine-4", "cosine-8-random-pair", "cosine-16-random"]  # fmt: skip
WEIGHTS = [
    ("few", "sparse", 12), ("none", "sparse", 12), ("trits", "sparse", 15), ("few", "sparse", 8),
    ("signs", "table", 12), ("trits", "table", 12), ("trits", "table", 8), ("signs", "table", 13), ("int8", "gemm8", 8),
    ("signs", "gemm8", 5), ("int8", "gemm16", 12), ("int16", "gemm16", 14), ("int16", "auto", 10),
    ("trits", "auto", 15), ("int8", "auto", 8), ("few", "auto", 13),
]  # fmt: skip


def expected_words(rows, weights, epilogue, options):
    with ops.use_isa("reference"):
        return encode_dense(rows, weights, epilogue, **options)


def check(level, rows, weights, epilogue, options):
    __tracebackhide__ = True
    expected = expected_words(rows, weights, epilogue, options)
    with ops.use_isa(level):
        np.testing.assert_array_equal(encode_dense(rows, weights, epilogue, **options), expected)
    return expected


@pytest.mark.parametrize("level", ISAS)
@pytest.mark.parametrize("kind", WEIGHTS, ids=lambda kind: "-".join(map(str, kind)))
@settings(max_examples=6)
@given(st.data())
def test_equals_the_reference(level, kind, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.sampled_from([0, 1, 2, 15, 16, 17, 33, 70]))
    m = data.draw(st.sampled_from([1, 2, 11, 12, 13, 31, 64, 245, 500]))
    p = data.draw(st.sampled_from([1, 2, 3, 5, 31, 33, 54, 100]))
    epilogue, options = make_epilogue(rng, data.draw(st.sampled_from(CODES)), m, 500.0 * p**0.5)
    weights = IntegerWeights(make_weights(rng, m, p, kind[0]), kind[2], kind[1])
    check(level, make_rows(rng, n, p, kind[2]), weights, epilogue, options)


@pytest.mark.parametrize("level", ISAS)
@pytest.mark.parametrize("code", CODES)
def test_every_code(level, code):
    rng = np.random.default_rng(1)
    epilogue, options = make_epilogue(rng, code, 75, 20000.0)
    weights = IntegerWeights(make_weights(rng, 75, 40, "int8"), 12)
    words = check(level, make_rows(rng, 35, 40, 12), weights, epilogue, options)
    # The codes vary, so that equality says something.
    assert len(np.unique(words)) > 10


@pytest.mark.parametrize("level", ISAS)
@pytest.mark.parametrize(
    ("kind", "path", "bits"),
    [
        ("few", "sparse", 12),
        ("trits", "table", 12),
        ("signs", "table", 9),
        ("int8", "gemm8", 8),
        ("int8", "gemm16", 12),
    ],
)
def test_wide_rows_and_many_columns(level, kind, path, bits):
    # Several blocks of inputs, chunks of columns and groups of rows; the last of each cut short.
    rng = np.random.default_rng(2)
    for n, m, p in [(20, 1000, 1900), (300, 260, 70), (3, 4100, 50)]:
        epilogue, options = make_epilogue(rng, "trits" if n == 20 else "step-1", m, 500.0 * p**0.5)
        weights = IntegerWeights(make_weights(rng, m, p, kind), bits, path)
        check(level, make_rows(rng, n, p, bits), weights, epilogue, options)


def test_accumulators_at_the_ends_of_their_range():
    # The largest magnitudes a row and a weight vector may have, all of one sign.
    for bits, kind, path in [
        (15, "few", "sparse"), (13, "few", "sparse"), (12, "few", "sparse"), (13, "trits", "table"),
        (13, "signs", "table"), (8, "int8", "gemm8"), (15, "int16", "gemm16"),
    ]:  # fmt: skip
        most, p = (1 << (bits - 1)) - 1, 120
        largest = {"int8": -128, "int16": -1024}.get(kind, -1)
        w = np.full((3, p), largest, dtype=np.int16 if kind == "int16" else np.int8)
        w[1] = -largest - (kind == "int8")
        rows = np.stack([np.full(p, most), np.full(p, -most)]).astype(np.int16)
        acc = rows.astype(np.int64) @ w.astype(np.int64).T
        for shift, expected in [(-1, 1), (0, 0)]:
            for i in range(2):
                step = StepEpilogue((acc[i][None] + shift).astype(np.int32), np.array([0, 1]), "u1")
                for level in ISAS:
                    with ops.use_isa(level):
                        words = encode_dense(rows[i : i + 1], IntegerWeights(w, bits, path), step)
                    assert (ops.unpack(words, "u1", (1, 3)) == expected).all(), (bits, kind, path, level)


@pytest.mark.parametrize("level", ops.available_isas())
@pytest.mark.parametrize("code", ["trits", "cosine-2-random", "cosine-8-random-pair"])
@pytest.mark.parametrize("path", ["sparse", "table", "gemm16"])
def test_split_and_order_of_rows(level, code, path):
    rng = np.random.default_rng(3)
    n, m, p = 61, 37, 30
    epilogue, options = make_epilogue(rng, code, m, 3000.0)
    rows, weights = make_rows(rng, n, p, 12), IntegerWeights(make_weights(rng, m, p, "trits"), 12, path)
    shape = (n, 2 * m if code.endswith("pair") else m)
    with ops.use_isa(level):
        whole = encode_dense(rows, weights, epilogue, **options)
        # Pieces of any length, written where they belong and in any order.
        parts = np.zeros_like(whole)
        for start, stop in [(40, 61), (0, 7), (7, 9), (9, 40)]:
            assert encode_dense(rows[start:stop], weights, epilogue, **options, words=parts, first_row=start) is parts
        np.testing.assert_array_equal(parts, whole)
        order = rng.permutation(n)
        found = ops.unpack(encode_dense(rows[order], weights, epilogue, **options), epilogue.layout, shape)
    np.testing.assert_array_equal(found, ops.unpack(whole, epilogue.layout, shape)[order])


@pytest.mark.parametrize("level", ops.available_isas())
@pytest.mark.parametrize(("kind", "path", "bits"), [("few", "sparse", 12), ("trits", "table", 12), ("int8", "gemm8", 8),
                                                    ("int16", "gemm16", 12)])  # fmt: skip
def test_compressed_rows(level, kind, path, bits):
    rng = np.random.default_rng(4)
    n, m, p = 50, 40, 1000
    rows = make_rows(rng, n, p, bits) * (rng.random((n, p)) < 0.05).astype(np.int16)
    rows[7] = 0
    epilogue, options = make_epilogue(rng, "cosine-2-random", m, 0.0)
    weights = IntegerWeights(make_weights(rng, m, p, kind), bits, path)
    expected = expected_words(rows, weights, epilogue, options)
    for compressed in (sp.csr_array(rows), sp.csr_matrix(rows)):
        with ops.use_isa(level):
            np.testing.assert_array_equal(encode_dense(compressed, weights, epilogue, **options), expected)
    # Numbers stored twice for a place count as their sum.
    twice = sp.csr_array((np.array([3, 4], dtype=np.int16), np.array([5, 5]), np.array([0, 2])), shape=(1, p))
    with ops.use_isa(level):
        np.testing.assert_array_equal(
            encode_dense(twice, weights, epilogue, **options),
            encode_dense(twice.toarray(), weights, epilogue, **options),
        )


@pytest.mark.parametrize("level", ISAS)
def test_threads(level):
    rng = np.random.default_rng(5)
    m, p = 700, 60
    for n in (1, 200):
        for kind, path in [("few", "sparse"), ("trits", "table"), ("int8", "gemm8"), ("int8", "gemm16")]:
            rows, weights = make_rows(rng, n, p, 8), IntegerWeights(make_weights(rng, m, p, kind), 8, path)
            epilogue, options = make_epilogue(rng, "cosine-4", m, 0.0)
            expected = expected_words(rows, weights, epilogue, options)
            for threads in (1, 2, 3):
                with threadpool_limits(threads, "openmp"), ops.use_isa(level):
                    np.testing.assert_array_equal(encode_dense(rows, weights, epilogue, **options), expected)


def test_weights_pickle():
    rng = np.random.default_rng(6)
    weights = IntegerWeights(make_weights(rng, 20, 30, "few"))
    rows = make_rows(rng, 5, 30, 12)
    epilogue, options = make_epilogue(rng, "step-2", 20, 3000.0)
    words = encode_dense(rows, weights, epilogue, **options)
    np.testing.assert_array_equal(encode_dense(rows, pickle.loads(pickle.dumps(weights)), epilogue, **options), words)


def test_refusals():
    ones = np.ones((2, 3), dtype=np.int8)
    weights, rows = IntegerWeights(ones), np.ones((4, 3), dtype=np.int16)
    step = StepEpilogue(np.zeros((1, 2), dtype=np.int32), np.array([0, 1]), "u1")
    for options, message in [
        ({"bits": 16}, "bits=16"), ({"path": "fast"}, "path='fast'"), ({"path": "gemm8"}, "path='gemm8'"),
        ({"weights": ones * 2, "path": "sparse"}, "path='sparse'"), ({"bits": 14, "path": "table"}, "path='table'"),
        ({"weights": ones.astype(float)}, "dtype float64"), ({"weights": ones[:, :0]}, "shape \\(2, 0\\)"),
        ({"weights": np.full((1, 10), 32767, dtype=np.int16), "bits": 15}, "overflow 32 bits"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            IntegerWeights(**{"weights": ones, **options})
    for bad, message in [
        ((rows[:, :2], weights, step), "shape \\(4, 2\\)"),
        ((rows.astype(int), weights, step), "dtype int64"),
        ((rows * 2048, weights, step), "at most 2047"),
        ((rows, weights, CosineEpilogue(np.zeros(2), 1)), "bias has dtype float64"),
        ((rows, weights, CosineEpilogue(np.zeros(3, int), 1)), "n_columns=3"),
        ((rows, weights, CosineEpilogue(np.zeros(2, int), 1, "up")), "rounding='up'"),
        ((rows, weights, CosineEpilogue(np.zeros(2, int), 1, "stochastic")), "stream=None"),
        ((rows, weights, StepEpilogue(np.zeros((1, 2)), np.array([0, 1]), "u1")), "thresholds has dtype float64"),
        ((rows, weights, StepEpilogue(np.zeros((1, 2), int), np.array([0, 1, 2]), "u2")), "one more than thresholds"),
        ((rows, weights, StepEpilogue(np.zeros((1, 2), int), np.array([0, 2]), "u1")), "must lie in 0..1"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            encode_dense(*bad)
    with pytest.raises(ValueError, match="pair=True"):
        encode_dense(rows, weights, step, pair=True)
    with pytest.raises(ValueError, match="first_row=1"):
        encode_dense(rows, weights, step, words=np.zeros((1, 2, 16), np.uint32), first_row=1)
    with pytest.raises(TypeError, match="list"):
        encode_dense([[1, 2, 3]], weights, step)
