"""The compiled products of codes with codes equal the NumPy reference to the bit, on every instruction set."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from nanogram import ops
from nanogram.ops import LAYOUTS, get_layout, reference, words_shape
from nanogram.ops._isa import _core

pytestmark = pytest.mark.skipif(not hasattr(_core, "gram"), reason="the compiled core is not built")

INDEX = {"generic": 0, "avx2": 1, "avx512": 2}
ISAS = [level for level in ops.available_isas() if level != "reference"]
# "u2" below holds all four codes; "ternary" is the same layout with codes 0 to 2, which takes another path.
KINDS = [*LAYOUTS, "ternary"]
ZEROS = [0, 1, 2, 3, 15, 255, 65535]
# Around a tile of rows, the words of the layouts, a group of 4, a block of 128 vectors.
SHAPES = [(0, 3), (3, 0), (1, 1), (15, 17), (16, 16), (17, 15), (33, 65), (65, 131), (129, 30), (300, 150)]


def layout_of(kind):
    return get_layout("u2" if kind == "ternary" else kind)


def random_words(kind, shape, seed=0):
    layout = layout_of(kind)
    codes = np.random.default_rng(seed).integers(0, 3 if kind == "ternary" else layout.n_codes, shape)
    return reference.pack(codes, layout)


def run(op, isa, kind, words, shape, other=None, other_shape=None, zero2=0, dtype=np.float64):
    along = 1 if op == "gram" else 0
    size = (shape[along], (shape if other is None else other_shape)[along])
    out = np.full(size, np.nan, dtype)
    layout = layout_of(kind).index
    if op == "gram":
        _core.gram(words, *shape, other, size[1], layout, zero2, out, INDEX[isa])
    else:
        _core.kernel(words, shape[0], other, size[1], shape[1], layout, zero2, out, INDEX[isa])
    return out


def check(op, isa, kind, words, shape, other=None, other_shape=None, zero2=0):
    """Both output types; a float32 one may be refused where the bound says so, and nowhere else."""
    layout = layout_of(kind)
    expected = getattr(reference, op)(words, layout, shape, other, other_shape, zero2=zero2)
    np.testing.assert_array_equal(run(op, isa, kind, words, shape, other, other_shape, zero2), expected)
    length = shape[0 if op == "gram" else 1]
    if length * (layout.n_codes - 1) ** 2 >= 2**31:
        with pytest.raises(ValueError, match="use float64"):
            run(op, isa, kind, words, shape, other, other_shape, zero2, np.float32)
    else:
        single = getattr(reference, op)(words, layout, shape, other, other_shape, zero2=zero2, dtype=np.float32)
        found = run(op, isa, kind, words, shape, other, other_shape, zero2, np.float32)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, single)


@pytest.fixture(params=ISAS)
def isa(request):
    return request.param


@pytest.mark.parametrize("op", ["gram", "kernel"])
@pytest.mark.parametrize("kind", KINDS)
def test_shapes(op, kind, isa):
    for seed, (n, m) in enumerate(SHAPES):
        zero2 = ZEROS[seed % len(ZEROS)]
        words = random_words(kind, (n, m), seed)
        check(op, isa, kind, words, (n, m), zero2=zero2)
        other_shape = (n, 37) if op == "gram" else (37, m)
        check(op, isa, kind, words, (n, m), random_words(kind, other_shape, seed + 100), other_shape, zero2)


@pytest.mark.parametrize("op", ["gram", "kernel"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zero2", ZEROS)
def test_zero_points(op, kind, zero2, isa):
    words = random_words(kind, (70, 45))
    check(op, isa, kind, words, (70, 45), zero2=zero2)
    other_shape = (70, 9) if op == "gram" else (9, 45)
    check(op, isa, kind, words, (70, 45), random_words(kind, other_shape, 1), other_shape, zero2)


@pytest.mark.parametrize("op", ["gram", "kernel"])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_several_chunks(op, kind, isa):
    # A chunk is 20,480 one-bit codes, 10,240 ternary ones and 1,280 to 2,560 of the others.
    length = 21_000 if kind in ("u1", "ternary", "t5") else 5_300
    shape = (length, 7) if op == "gram" else (7, length)
    words = random_words(kind, shape)
    check(op, isa, kind, words, shape, zero2=1)
    other_shape = (length, 3) if op == "gram" else (3, length)
    check(op, isa, kind, words, shape, random_words(kind, other_shape, 1), other_shape, zero2=2)


@pytest.mark.parametrize("kind", KINDS)
def test_largest_codes_do_not_overflow(kind, isa):
    layout = layout_of(kind)
    top = 2 if kind == "ternary" else layout.n_codes - 1
    shape = (9_000, 5)
    words = reference.pack(np.full(shape, top), layout)
    check("gram", isa, kind, words, shape)
    check("gram", isa, kind, words, shape, zero2=2 * top)


@settings(max_examples=60)
@given(st.data())
def test_any_shape(data):
    isa = data.draw(st.sampled_from(ISAS))
    kind = data.draw(st.sampled_from(KINDS))
    op = data.draw(st.sampled_from(["gram", "kernel"]))
    n, m, k = (data.draw(st.integers(0, 200)) for _ in range(3))
    zero2 = data.draw(st.sampled_from(ZEROS))
    seed = data.draw(st.integers(0, 2**16))
    words = random_words(kind, (n, m), seed)
    check(op, isa, kind, words, (n, m), zero2=zero2)
    other_shape = (n, k) if op == "gram" else (k, m)
    check(op, isa, kind, words, (n, m), random_words(kind, other_shape, seed + 1), other_shape, zero2)


@pytest.mark.parametrize("op", ["gram", "kernel"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_words_of_random_bits(op, name, isa):
    """Padding that is not zero and bytes that are not five trits, as a damaged file may hold them."""
    for shape in [(18, 21), (70, 35), (97, 1300)]:
        size = words_shape(get_layout(name), *shape)
        words = np.random.default_rng(0).integers(0, 2**32, size, dtype=np.uint32)
        check(op, isa, name, words, shape, zero2=1)


@pytest.mark.parametrize("op", ["gram", "kernel"])
def test_more_vectors_than_a_panel_holds(op, isa):
    # Panels of 2560 bytes a vector hold 8960 vectors: one operand comes in two of them.
    length, many, few = 2_560, 9_100, 2
    shape, other_shape = ((length, few), (length, many)) if op == "gram" else ((few, length), (many, length))
    rng = np.random.default_rng(0)
    layout = get_layout("u4")
    words, other = (
        rng.integers(0, 2**32, words_shape(layout, *size), dtype=np.uint32) for size in (shape, other_shape)
    )
    found = run(op, isa, "u4", words, shape, other, other_shape, 15)
    # Quarter units below 2^24: single precision holds every partial sum exactly.
    left, right = (reference.unpack(w, layout, s) - np.float32(7.5) for w, s in ((words, shape), (other, other_shape)))
    np.testing.assert_array_equal(found, left.T @ right if op == "gram" else left @ right.T)
    np.testing.assert_array_equal(run(op, isa, "u4", other, other_shape, words, shape, 15), found.T)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["gram", "kernel"])
def test_symmetric_product_of_several_panels(op):
    length, many = 2_560, 18_200
    shape = (length, many) if op == "gram" else (many, length)
    words = np.random.default_rng(0).integers(0, 2**32, words_shape(get_layout("u4"), *shape), dtype=np.uint32)
    found = run(op, ISAS[-1], "u4", words, shape, zero2=15, dtype=np.float32)
    codes = reference.unpack(words, get_layout("u4"), shape) - np.float32(7.5)
    codes = codes.T if op == "gram" else codes
    # Quarter units below 2^24: single precision holds every partial sum exactly.
    for rows in (slice(0, 40), slice(8_940, 8_980), slice(18_160, 18_200)):
        np.testing.assert_array_equal(found[rows], codes[rows] @ codes.T)
        np.testing.assert_array_equal(found[:, rows], found[rows].T)


@pytest.mark.parametrize("op", ["gram", "kernel"])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing(op, kind, isa):
    shape = (700, 400)
    words = random_words(kind, shape)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(run(op, isa, kind, words, shape, zero2=1))
    np.testing.assert_array_equal(found[0], found[1])


def test_calls_from_several_python_threads(isa):
    words = random_words("ternary", (600, 300))
    expected = reference.gram(words, get_layout("u2"), (600, 300), zero2=2)
    found = [None] * 4

    def work(i):
        found[i] = run("gram", isa, "ternary", words, (600, 300), zero2=2)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_a_signal_stops_a_long_call():
    class StopError(Exception):
        pass

    def handler(*_):
        raise StopError

    words = random_words("u16", (4_000, 6_000))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        # Far longer than a fifth of a second without vector instructions.
        with pytest.raises(StopError):
            run("gram", "generic", "u16", words, (4_000, 6_000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_read_only_input(isa):
    words = random_words("u4", (40, 30))
    words.flags.writeable = False
    check("gram", isa, "u4", words, (40, 30), words, (40, 30), zero2=15)


def test_wrong_arguments_are_refused():
    words, out = random_words("u1", (40, 70)), np.zeros((70, 70))

    def refused(match, *, words=words, n=40, m=70, other=None, other_m=70, layout=0, zero2=1, out=out, isa=0):
        with pytest.raises(ValueError, match=match):
            _core.gram(words, n, m, other, other_m, layout, zero2, out, isa)

    refused(r"words has shape \(3, 3, 16\)", n=50)
    refused("words has shape", m=97)
    refused("words has shape", layout=1)
    refused("words has shape", n=2**62)
    refused("words has shape", words=words[:, :, :15].copy())
    refused("no shape", n=-1)
    refused("other has shape", other=words, other_m=100, out=np.empty((70, 100)))
    refused("without other", other_m=71, out=np.empty((70, 71)))
    refused(r"out has shape \(70, 71\)", out=np.empty((70, 71)))
    refused("layout is 6", layout=6)
    refused("zero2 is -1", zero2=-1)
    refused("zero2 is 131071", zero2=131_071)
    refused("instruction set 7", isa=7)
    read_only = out.copy()
    read_only.flags.writeable = False
    for wrong in (read_only, out.astype(np.int64), np.empty((70, 140))[:, ::2]):
        with pytest.raises(TypeError):
            _core.gram(words, 40, 70, None, 70, 0, 1, wrong, 0)
    with pytest.raises(TypeError):
        _core.gram(words.astype(np.int64), 40, 70, None, 70, 0, 1, out, 0)
    with pytest.raises(ValueError, match=r"out has shape"):
        _core.kernel(words, 40, None, 40, 70, 0, 1, out, 0)


def test_single_precision_is_refused_exactly_at_the_bound(isa):
    n = (2**31 - 1) // 255**2
    words = np.full(words_shape(get_layout("u8"), n + 1, 1), 255, dtype=np.uint32)
    found = run("gram", isa, "u8", words[: words_shape(get_layout("u8"), n, 1)[0]], (n, 1), dtype=np.float32)
    assert found[0, 0] == np.float32(n * 255.0**2)
    with pytest.raises(ValueError, match="float32 out; use float64"):
        run("gram", isa, "u8", words, (n + 1, 1), dtype=np.float32)
    assert run("gram", isa, "u8", words, (n + 1, 1))[0, 0] == (n + 1) * 255.0**2
