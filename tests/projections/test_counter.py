"""The generator: published answers, one set of bits from every implementation, and what its arguments may be."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from nanogram import ops
from nanogram.projections._threefry import multiply_high, normal_of, normal_table, stream_key
from nanogram.projections.counter import Stream, row_keys, seed_from, threefry4x32

ISAS = ops.available_isas()
LAWS = {
    "bits": {},
    "uniform": {},
    "normal": {},
    "normal64": {"dtype": np.float64},
    "cauchy": {},
    "cauchy64": {"dtype": np.float64},
    "student_t": {"df": 2},
    "sign": {},
    "ternary": {"sparsity": 0.3},
    "integers": {"high": 1000},
}


def draw_law(stream, law, rows, columns, **more):
    return getattr(stream, law.removesuffix("64"))(rows, columns, **LAWS[law], **more)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def words(text):
    return [int(word, 16) for word in text.split()]


# --------------------------------------------------------------------------- published answers

# Random123, tests/kat_vectors, lines "threefry4x32 20": counter, key, result.
KNOWN = [
    ("0 0 0 0", "0 0 0 0", "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
    (" ".join(["ffffffff"] * 4), " ".join(["ffffffff"] * 4), "2a881696 57012287 f6c7446e a16a6732"),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0 082efa98 ec4e6c89",
        "59cd1dbb b8879579 86b5d00c ac8b6d84",
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter, key, answer):
    assert threefry4x32(words(counter), words(key)).tolist() == words(answer)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers_through_streams(isa, counter, key, answer):
    """The documented layout: the counter is (column // 4, draw, row, row >> 32), the word is column % 4."""
    block, draw, row, row_high = words(counter)
    stream = Stream(0, "any")
    object.__setattr__(stream, "key", tuple(words(key)))
    with ops.use_isa(isa):
        for columns in (range(4 * block, 4 * block + 4), [4 * block + j for j in (3, 1, 0, 2)]):
            got = stream.bits([row + (row_high << 32)], columns, draw=draw)[0]
            assert got[np.argsort(columns)].tolist() == words(answer)


def test_broadcasting():
    counter = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    key = np.arange(12, dtype=np.uint32).reshape(3, 4)
    got = threefry4x32(counter, key)
    for i in range(2):
        for j in range(3):
            assert (got[i, j] == threefry4x32(counter[i, j], key[j])).all()


FIXED = {
    "empty": ["919a3e35", "48d88b39", "1ed68529", "50ef7c97"],
    "long": ["bcbf977d", "6f2e2c02", "08c035c4", "b7048f08"],
    "bits": [1220606548, 880905360, 1283444266],
    "normal": ["-0x1.26df93c9848aep-3", "-0x1.1560dc938a2f3p+1", "0x1.30fb765d40c87p-1"],
    "row": [13878656750351384766],
}


def test_numbers_are_fixed():
    """Keys and draws must never change between versions: models are saved as seeds."""
    assert [f"{word:08x}" for word in stream_key(0, "", 0)] == FIXED["empty"]
    assert [f"{word:08x}" for word in stream_key(2**64 - 1, "weights, in UTF-8: Ω", 3)] == FIXED["long"]
    stream = Stream(12345, "frozen")
    assert stream.bits([2**63], range(5, 8), draw=2)[0].tolist() == FIXED["bits"]
    assert [x.hex() for x in stream.normal(1, 3, dtype=np.float64)[0].tolist()] == FIXED["normal"]
    assert row_keys(np.arange(-3, 4)[None]).tolist() == FIXED["row"]


# --------------------------------------------------------------------------- one set of bits

counts = st.integers(0, 90)
seeds = st.integers(0, 2**64 - 1)
row_choices = st.one_of(
    counts,
    st.builds(lambda a, n: range(a, a + n), st.integers(0, 2**63), counts),
    st.lists(st.integers(0, 2**64 - 1), max_size=40).map(lambda keys: np.array(keys, dtype=np.uint64)),
)
column_choices = st.one_of(
    st.integers(0, 700),
    st.builds(lambda a, n: range(a, a + n), st.integers(0, 2**34 - 2000), st.integers(0, 1500)),
    st.lists(st.integers(0, 2**34 - 1), max_size=40),
)


@pytest.mark.parametrize("law", LAWS)
@given(seed=seeds, rows=row_choices, columns=column_choices, draw=st.integers(0, 2**32 - 4))
@example(seed=1, rows=1, columns=1, draw=0)
@example(seed=1, rows=0, columns=5, draw=0)
@example(seed=1, rows=5, columns=0, draw=0)
@example(seed=1, rows=3, columns=range(2**34 - 5, 2**34), draw=0)
@example(seed=1, rows=range(2**64 - 2, 2**64), columns=range(253, 511), draw=0)
def test_every_implementation_gives_the_same_bits(law, seed, rows, columns, draw):
    stream = Stream(seed, "same", salt=seed // 3)
    with ops.use_isa("reference"):
        expected = draw_law(stream, law, rows, columns, draw=draw)
    for isa in ISAS[1:]:
        with ops.use_isa(isa):
            assert same(draw_law(stream, law, rows, columns, draw=draw), expected)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("width", [3, 30, 1100])
def test_blocks_are_slices_of_the_whole(isa, law, width):
    stream = Stream(5, "blocks")
    pick = np.random.default_rng(0)
    with ops.use_isa(isa):
        whole = draw_law(stream, law, 40, width)
        for _ in range(5):
            a, b = np.sort(pick.integers(0, 41, 2))
            c, d = np.sort(pick.integers(0, width + 1, 2))
            rows, columns = pick.integers(0, 40, 6), pick.integers(0, width, 9)
            assert same(draw_law(stream, law, range(a, b), range(c, d)), whole[a:b, c:d])
            assert same(draw_law(stream, law, rows, range(c, d)), whole[rows, c:d])
            assert same(draw_law(stream, law, rows, columns), whole[np.ix_(rows, columns)])


@pytest.mark.parametrize("isa", ISAS)
def test_index_arrays_of_any_kind(isa):
    stream = Stream(5, "kinds")
    with ops.use_isa(isa):
        whole = stream.bits(60, 60)
        for dtype in (np.uint8, np.int16, np.int64, np.uint64, ">i4"):
            some = np.arange(60, dtype=dtype)[::-7]
            assert same(stream.bits(some, some), whole[::-7, ::-7])
        assert same(stream.bits(range(0, 60, 4), range(50, 10, -9)), whole[::4, 50:10:-9])
        assert same(stream.bits([4, 5, 6], np.arange(8, 30)), whole[4:7, 8:30])
        assert same(stream.bits(np.int8(3), []), whole[:3, :0])


def test_threads_do_not_matter():
    stream = Stream(5, "threads")
    for rows, columns in ((3, 200_000), (200_000, 3)):
        with threadpool_limits(1):
            expected = stream.normal(rows, columns)
        assert same(stream.normal(rows, columns), expected)


def test_reference_in_several_blocks():
    stream = Stream(5, "blocks")
    with ops.use_isa("reference"):
        whole = stream.sign(1100, 300)
        assert same(stream.sign(range(900, 1100), 300), whole[900:])


# --------------------------------------------------------------------------- laws


def test_laws_from_words():
    stream = Stream(9, "laws")
    word = stream.bits(50, 30)
    assert (stream.uniform(50, 30) == (word + 0.5) / 2**32).all()
    assert (stream.sign(50, 30) == np.where(word >> 31, -1, 1)).all()
    x = stream.normal(50, 30, dtype=np.float64)
    y = stream.normal(50, 30, draw=1, dtype=np.float64)
    z = stream.normal(50, 30, draw=2, dtype=np.float64)
    assert np.abs(x - ndtri(stream.uniform(50, 30))).max() < 2e-9
    assert same(stream.normal(50, 30), x.astype(np.float32))
    assert same(stream.cauchy(50, 30, dtype=np.float64), x / y)
    assert same(stream.student_t(50, 30, df=1, dtype=np.float64), x / np.sqrt(y * y))
    assert same(stream.student_t(50, 30, df=2), (x / np.sqrt((y * y + z * z) / 2)).astype(np.float32))


def test_ternary_from_words():
    stream = Stream(9, "laws")
    assert same(stream.ternary(50, 30, sparsity=0.0), stream.sign(50, 30))
    assert not stream.ternary(50, 30, sparsity=1.0).any()
    dense, sparse = (stream.ternary(50, 30, sparsity=s) for s in (0.2, 0.9))
    assert (dense[sparse != 0] == sparse[sparse != 0]).all()


def test_integers_against_long_arithmetic():
    stream = Stream(9, "laws")
    low, high = (stream.bits(1, 40, draw=d)[0].tolist() for d in (3, 4))
    for factor in (1, 2, 3, 2**32 - 1, 2**32, 2**40 + 12345, 2**63):
        expected = [((b << 32 | a) * factor) >> 64 for a, b in zip(low, high, strict=True)]
        assert stream.integers(1, 40, high=factor, draw=3)[0].tolist() == expected
    edge = np.array([0, 1, 2**32 - 1, 2**32, 2**64 - 1], dtype=np.uint64)
    assert multiply_high(edge, 2**63).tolist() == [int(w) >> 1 for w in edge]


def test_permutation_and_choice():
    stream = Stream(9, "orders")
    for n in (0, 1, 2, 1000):
        low, high = (stream.bits([4], n, draw=d)[0].tolist() for d in (0, 1))
        keys = [b << 32 | a for a, b in zip(low, high, strict=True)]
        order = stream.permutation(n, row=4)
        assert order.tolist() == sorted(range(n), key=keys.__getitem__)
        for size in {0, n // 3, n}:
            assert same(stream.choice(n, size, row=4), order[:size])


def test_equal_keys_keep_their_order(monkeypatch):
    keys = np.array([[5, 2, 5, 2, 9, 2, 5]], dtype=np.uint64)
    monkeypatch.setattr(Stream, "_bits64", lambda *_: keys)
    stream = Stream(9, "ties")
    order = [1, 3, 5, 0, 2, 6, 4]
    assert stream.permutation(7).tolist() == order
    for size in range(8):
        assert stream.choice(7, size).tolist() == order[:size]


# --------------------------------------------------------------------------- the normal table


def ends_borders_and_a_sample():
    borders = np.concatenate([(1 + np.arange(32) / 32) * 2.0**k for k in range(32)])
    near = (borders[:, None] / 2 + np.arange(-3, 4)).clip(0, 2**31 - 1).astype(np.uint32).ravel()
    ends = np.arange(2**16, dtype=np.uint32)
    tails = np.concatenate([ends, 2**31 - 1 - ends, near, Stream(1, "test").bits(1, 10**6)[0] >> np.uint32(1)])
    return np.concatenate([tails, ~tails])


def test_normal_is_within_its_bound():
    word = ends_borders_and_a_sample()
    # ndtri at the tail: above one half it would lose digits in 1 - p.
    tail = np.minimum(word, ~word)
    exact = ndtri((tail + 0.5) / 2**32) * np.where(word >> 31, -1, 1)
    error = np.abs(normal_of(word) - exact)
    assert error.max() < 2e-9
    assert (error / np.abs(exact)).max() < 1.5e-8
    assert same(normal_of(~word), -normal_of(word))
    assert np.abs(normal_of(word)).max() == pytest.approx(-ndtri(2.0**-33), abs=2e-9)


def test_normal_grows_with_the_word():
    starts = np.arange(0, 2**32 - 2**12, 2**22, dtype=np.uint32)
    for offset in (0, 2**22 - 2**11):
        runs = normal_of((starts[:, None] + np.uint32(offset)) + np.arange(2**10, dtype=np.uint32))
        assert (np.diff(runs, axis=1) > 0).all()


def test_normal_table_is_what_its_script_makes():
    made = runpy.run_path(str(Path(__file__).parents[2] / "core" / "random" / "make_normal_table.py"))["table"]()
    np.testing.assert_allclose(normal_table(), made, rtol=1e-9, atol=1e-9)
    assert not normal_table().flags.writeable


# --------------------------------------------------------------------------- seeds and arguments


def test_seed_from():
    assert seed_from(0) == 0
    assert seed_from(np.int32(7)) == 7
    assert seed_from(2**64 - 1) == 2**64 - 1
    state = np.random.RandomState(3)
    seed, again = seed_from(state), seed_from(state)
    assert seed == seed_from(np.random.RandomState(3)) != again
    assert 0 <= seed_from(None) < 2**64
    for bad in (-1, 2**64, True):
        with pytest.raises(ValueError, match="random_state"):
            seed_from(bad)
    with pytest.raises(ValueError, match=r"random_state=.seven. must be an integer"):
        seed_from("seven")


def test_streams_are_values():
    stream = Stream(np.uint64(2**64 - 1), "weights", salt=np.int8(3))
    assert stream == pickle.loads(pickle.dumps(stream)) == Stream(2**64 - 1, "weights", 3)
    assert pickle.loads(pickle.dumps(stream)).key == stream.key
    assert hash(stream) == hash(Stream(2**64 - 1, "weights", 3))
    assert repr(stream) == "Stream(seed=18446744073709551615, purpose='weights', salt=3)"
    purposes = ("", "a", "a\0", "b" * 40)
    assert len({Stream(seed, purpose, salt).key for seed in range(3) for purpose in purposes for salt in (0, 1)}) == 24


@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, "x", None, True])
def test_streams_refuse(bad):
    for name, arguments in (("seed", (bad, "p")), ("salt", (0, "p", bad))):
        with pytest.raises((TypeError, ValueError), match=f"{name}="):
            Stream(*arguments)
    with pytest.raises(TypeError, match="purpose=3"):
        Stream(0, 3)


@pytest.mark.parametrize("isa", ISAS)
def test_draws_refuse(isa):
    stream = Stream(0, "refuse")
    with ops.use_isa(isa):
        for rows in (-1, [-1], range(-1, 3), range(2**64, 2**64 + 1)):
            with pytest.raises(ValueError, match="rows"):
                stream.bits(rows, 1)
        for columns in (-1, [2**34], range(2**34 - 1, 2**34 + 1), [[1]], [1.0], [True]):
            with pytest.raises(ValueError, match="columns"):
                stream.bits(1, columns)
        with pytest.raises(TypeError, match=r"rows=1\.5"):
            stream.bits(1.5, 1)
        for draw in (-1, 2**32):
            with pytest.raises(ValueError, match="draw"):
                stream.bits(1, 1, draw=draw)
        for law in ("cauchy", "integers", "student_t"):
            with pytest.raises(ValueError, match="draw"):
                draw_law(stream, law, 1, 1, draw=2**32 - 1)
        for sparsity in (-0.1, 1.1, np.nan):
            with pytest.raises(ValueError, match="sparsity"):
                stream.ternary(1, 1, sparsity=sparsity)
        for dtype in (np.float16, int, ">f4"):
            with pytest.raises(ValueError, match="dtype"):
                stream.normal(1, 1, dtype=dtype)
        for bad in (0, -1, 2**63 + 1):
            with pytest.raises(ValueError, match="high"):
                stream.integers(1, 1, high=bad)
        with pytest.raises(ValueError, match="df=0"):
            stream.student_t(1, 1, df=0)
        with pytest.raises(ValueError, match="size=4"):
            stream.choice(3, 4)


@pytest.mark.skipif(len(ISAS) == 1, reason="needs the compiled core")
def test_the_core_checks_what_it_is_given():
    from nanogram import _core

    rows, key, out = np.zeros(2, np.uint64), (0, 0, 0, 0), np.empty((2, 3), np.float32)
    table = normal_table()
    cases = [
        (2, rows[:1], 0, None, table, "rows"),
        (2, rows, 0, rows, table, "columns"),
        (2, rows, 2**34 - 2, None, table, r"2\^34"),
        (2, rows, 0, None, table[:5], "table"),
        (2, rows, 0, None, None, "table"),
        (0, rows, 0, None, table, "law"),
    ]
    for law, some, first, columns, cubics, match in cases:
        with pytest.raises(ValueError, match=match):
            _core.counter_fill(law, key, 0, some, first, columns, cubics, 0, out, 0)
    with pytest.raises(ValueError, match="instruction set"):
        _core.counter_fill(2, key, 0, rows, 0, None, table, 0, out, 9)
