"""The compiled packing equals the NumPy reference to the bit, on every instruction set the machine has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanogram import ops
from nanogram.ops import LAYOUTS, get_layout, reference, words_shape
from nanogram.ops._isa import _core

pytestmark = pytest.mark.skipif(_core is None, reason="the compiled core is not built")

ISAS = [level for level in ops.available_isas() if level != "reference"]
INDEX = {"generic": 0, "avx2": 1, "avx512": 2}
NAMES = list(LAYOUTS)
# One below, at and above the 16 rows of a tile, the words of each layout and the 64-word stretches of the kernels.
SHAPES = [
    (0, 0), (0, 7), (5, 0), (1, 1), (15, 33), (16, 20), (17, 65), (3, 129), (33, 641), (18, 2049), (40, 2600),
]  # fmt: skip


def random_codes(layout, shape, seed=0):
    layout = get_layout(layout)
    return np.random.default_rng(seed).integers(0, layout.n_codes, shape).astype(layout.code_dtype)


def any_words(layout, shape, seed=0):
    """Words of random bits: padding that is not zero and bytes that are not five trits included."""
    size = words_shape(get_layout(layout), *shape)
    return np.random.default_rng(seed).integers(0, 2**32, size, dtype=np.uint32)


def equal(found, expected):
    __tracebackhide__ = True
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.fixture(params=ISAS)
def isa(request):
    return INDEX[request.param]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_pack_and_unpack(name, shape, isa):
    layout = get_layout(name)
    codes = random_codes(name, shape)
    words = _core.pack(codes, layout.index, isa)
    equal(words, reference.pack(codes, layout))
    equal(_core.unpack(words, layout.index, *shape, isa), codes)
    if layout.n_codes <= 256:
        equal(_core.pack(codes.astype(np.uint16), layout.index, isa), words)
    noise = any_words(name, shape)
    equal(_core.unpack(noise, layout.index, *shape, isa), reference.unpack(noise, layout, shape))


def test_narrow_codes_in_the_wide_layout(isa):
    codes = random_codes("u8", (19, 301))
    equal(_core.pack(codes, 4, isa), reference.pack(codes, get_layout("u16")))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums(name, shape, isa):
    layout = get_layout(name)
    for words in (reference.pack(random_codes(name, shape), layout), any_words(name, shape)):
        equal(_core.column_sums(words, layout.index, *shape, isa), reference.column_sums(words, layout, shape))
        equal(_core.row_sums(words, layout.index, *shape, isa), reference.row_sums(words, layout, shape))


def test_sums_of_the_largest_codes_do_not_overflow(isa):
    layout = get_layout("u16")
    codes = np.full((2, 40_000), 65535, dtype=np.uint16)
    words = _core.pack(codes, layout.index, isa)
    equal(_core.row_sums(words, 4, 2, 40_000, isa), np.full(2, 65535 * 40_000))
    tall = np.full((32769 * 16, 1), 65535, dtype=np.uint16)
    words = _core.pack(tall, layout.index, isa)
    equal(_core.column_sums(words, 4, len(tall), 1, isa), np.array([65535 * len(tall)]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1, 1), (17, 65), (35, 700)])
def test_rows_and_columns(name, shape, isa):
    layout = get_layout(name)
    rng = np.random.default_rng(1)
    for words in (reference.pack(random_codes(name, shape), layout), any_words(name, shape)):
        for count in (0, 1, 16, 41):
            rows = rng.integers(0, shape[0], count)
            found = _core.unpack_rows(words, layout.index, *shape, rows, isa)
            equal(found, reference.unpack_rows(words, layout, shape, rows))
            columns = rng.integers(0, shape[1], 3 * count)
            found = _core.take_columns(words, layout.index, *shape, columns, isa)
            equal(found, reference.take_columns(words, layout, shape, columns))


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_convert(source, target, isa):
    layout, to_layout = get_layout(source), get_layout(target)
    for shape in [(0, 3), (4, 0), (1, 1), (16, 160), (21, 331)]:
        most = min(layout.n_codes, to_layout.n_codes) - 1
        codes = np.minimum(random_codes(source, shape, 2), layout.code_dtype.type(most))
        words = reference.pack(codes, layout)
        found = _core.convert(words, layout.index, to_layout.index, *shape, isa)
        equal(found, reference.pack(codes, to_layout))


def test_convert_leaves_padding_behind(isa):
    shape = (5, 37)
    words = any_words("u2", shape)
    codes = reference.unpack(words, get_layout("u2"), shape)
    equal(_core.convert(words, 1, 2, *shape, isa), reference.pack(codes, get_layout("u4")))


@pytest.mark.parametrize("shape", SHAPES)
def test_split_planes(shape, isa):
    for words in (reference.pack(random_codes("u2", shape), get_layout("u2")), any_words("u2", shape)):
        for found, expected in zip(
            _core.split_planes(words, *shape, isa), reference.split_planes(words, shape), strict=True
        ):
            equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decode(name, dtype, isa):
    layout, shape = get_layout(name), (21, 333)
    rng = np.random.default_rng(3)
    words = any_words(name, shape)
    codes = reference.unpack(words, layout, shape)
    levels = rng.standard_normal(layout.n_codes).astype(np.float32)
    scale, offset = rng.standard_normal((2, shape[1]))
    for rows in (None, rng.integers(0, shape[0], 50)):
        picked = codes if rows is None else codes[rows]
        out = np.empty(picked.shape, dtype)
        _core.decode(words, layout.index, *shape, rows, levels, None, None, 0, out, isa)
        equal(out, levels[picked].astype(dtype))
        _core.decode(words, layout.index, *shape, rows, None, scale, offset, layout.n_codes - 1, out, isa)
        linear = scale * (picked.astype(np.float64) - (layout.n_codes - 1) / 2) + offset
        equal(out, linear.astype(np.float32).astype(dtype))


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    n=st.integers(0, 50),
    m=st.integers(0, 700),
    seed=st.integers(0, 2**32 - 1),
    level=st.sampled_from(ISAS),
)
def test_any_shape(name, n, m, seed, level):
    layout, isa = get_layout(name), INDEX[level]
    codes = random_codes(name, (n, m), seed)
    words = _core.pack(codes, layout.index, isa)
    equal(words, reference.pack(codes, layout))
    equal(_core.unpack(words, layout.index, n, m, isa), codes)
    equal(_core.column_sums(words, layout.index, n, m, isa), codes.sum(axis=0, dtype=np.int64))
    equal(_core.row_sums(words, layout.index, n, m, isa), codes.sum(axis=1, dtype=np.int64))


def test_thread_count_changes_nothing(isa):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    shape = (3000, 700)
    codes = random_codes("u4", shape)
    results = []
    for threads in (1, 3):
        with threadpoolctl.threadpool_limits(threads):
            words = _core.pack(codes, 2, isa)
            results.append((words, _core.column_sums(words, 2, *shape, isa), _core.unpack(words, 2, *shape, isa)))
    for one, three in zip(*results, strict=True):
        equal(one, three)
    equal(results[0][2], codes)


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(("name", "code"), [("u1", 2), ("u2", 4), ("u4", 16), ("t5", 3), ("u8", 256)])
def test_codes_that_do_not_fit_are_named(name, code, isa):
    layout = get_layout(name)
    codes = np.zeros((20, 100), dtype=np.uint16)
    codes[19, 99] = code
    message = f"codes go up to {code}; .*0 to {layout.n_codes - 1}"
    with pytest.raises(ValueError, match=message):
        _core.pack(codes, layout.index, isa)
    with pytest.raises(ValueError, match=message):
        _core.convert(_core.pack(codes, 4, isa), 4, layout.index, *codes.shape, isa)
    if code < 256:
        with pytest.raises(ValueError, match=message):
            _core.pack(codes.astype(np.uint8), layout.index, isa)


def test_wrong_arguments_are_refused(isa):
    words = _core.pack(np.zeros((20, 100), dtype=np.uint8), 1, isa)
    huge = 2**62
    for shape in [(20, 200), (40, 100), (-1, 100), (20, -4), (huge, huge), (20, huge), (-(2**63), 2**63 - 1)]:
        with pytest.raises(ValueError, match=r"words has shape|negative"):
            _core.unpack(words, 1, *shape, isa)
    with pytest.raises(ValueError, match="layout 6"):
        _core.unpack(words, 6, 20, 100, isa)
    with pytest.raises(ValueError, match="instruction set 7"):
        _core.unpack(words, 1, 20, 100, 7)
    for bad in ([20], [-1], [0, 2**40]):
        with pytest.raises(IndexError, match="rows holds"):
            _core.unpack_rows(words, 1, 20, 100, np.array(bad), isa)
    with pytest.raises(IndexError, match="columns holds 100 at place 1"):
        _core.take_columns(words, 1, 20, 100, np.array([0, 100]), isa)
    with pytest.raises(TypeError):
        _core.unpack(words.astype(np.int64), 1, 20, 100, isa)
    out = np.empty((20, 100), dtype=np.float32)
    ones = np.ones(100)
    with pytest.raises(ValueError, match="levels has 3"):
        _core.decode(words, 1, 20, 100, None, np.zeros(3, np.float32), None, None, 0, out, isa)
    with pytest.raises(ValueError, match="scale has 99"):
        _core.decode(words, 1, 20, 100, None, None, ones[:99], ones, 0, out, isa)
    with pytest.raises(ValueError, match="either levels"):
        _core.decode(words, 1, 20, 100, None, None, None, None, 0, out, isa)
    with pytest.raises(ValueError, match="out has shape"):
        _core.decode(words, 1, 20, 100, None, None, ones, ones, 0, out[:19], isa)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        _core.decode(words, 1, 20, 100, None, None, ones, ones, 0, out, isa)


@pytest.mark.parametrize("isa", ops.available_isas())
def test_every_half_widens_exactly(isa):
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    expected = halves.astype(np.float32)
    with ops.use_isa(isa):
        found = ops.widen(halves)
        odd = ops.widen(halves[5:1234].reshape(-1, 1), np.empty((1229, 1), dtype=np.float32))
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~finite)
    np.testing.assert_array_equal(found[finite].view(np.uint32), expected[finite].view(np.uint32))
    np.testing.assert_array_equal(odd[:, 0], expected[5:1234])


def test_widen_names_bad_arguments():
    with pytest.raises(ValueError, match="halves has dtype float32"):
        ops.widen(np.ones(3, dtype=np.float32))
    with pytest.raises(ValueError, match=r"out has shape \(2,\)"):
        ops.widen(np.ones(3, dtype=np.float16), np.empty(2, dtype=np.float32))
