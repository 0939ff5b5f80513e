"""Z V and Z^T R from packed codes equal the NumPy reference to the bit, at every level, and float products closely."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from nanogram import ops
from nanogram.ops import LAYOUTS, get_layout, reference
from nanogram.ops._isa import _core

COMPILED = [level for level in ops.available_isas() if level != "reference"]
# One below, at and above tiles, words and the strips and blocks of rows that the driver deals out.
SHAPES = [(1, 1), (1, 700), (700, 1), (15, 33), (16, 64), (17, 65), (257, 130), (300, 2100), (530, 90)]
TABLE = np.array([-1.3, 0.2, 0.9, 3.0])


def packed(name, shape, seed=0):
    layout = get_layout(name)
    codes = np.random.default_rng(seed).integers(0, layout.n_codes, shape).astype(layout.code_dtype)
    return codes, reference.pack(codes, layout)


def both_ways(words, layout, shape, k, seed=0, heavy=False, dtype=np.float64, **options):
    """(native, reference) for the product and for the product with the transpose."""
    rng = np.random.default_rng(seed + 1)
    draw = (lambda size: rng.standard_t(1.5, size)) if heavy else rng.standard_normal
    V, R = draw((shape[1], k)).astype(dtype), draw((shape[0], k)).astype(dtype)
    layout = get_layout(layout)
    return [
        (ops.matmul(words, layout, shape, V, **options), reference.matmul(words, layout, shape, V, **options)),
        (ops.rmatmul(words, layout, shape, R, **options), reference.rmatmul(words, layout, shape, R, **options)),
    ]


@pytest.fixture(params=COMPILED)
def level(request):
    with ops.use_isa(request.param):
        yield request.param


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_reference_to_the_bit(level, name, shape):
    layout = get_layout(name)
    _, words = packed(name, shape)
    for k, precision, dtype in [(1, "fast", np.float32), (1, "float32", np.float64), (10, "fast", np.float64)]:
        for heavy in (False, True):
            zero2 = layout.n_codes - 1
            for found, expected in both_ways(
                words, name, shape, k, heavy=heavy, dtype=dtype, zero2=zero2, precision=precision
            ):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_four_free_levels(level, shape, k):
    _, words = packed("u2", shape)
    for precision in ("fast", "float32"):
        for found, expected in both_ways(words, "u2", shape, k, table=TABLE, precision=precision):
            np.testing.assert_array_equal(found, expected)


@given(
    name=st.sampled_from(list(LAYOUTS)),
    shape=st.tuples(st.integers(0, 70), st.integers(0, 170)),
    k=st.integers(0, 24),
    seed=st.integers(0, 2**32 - 1),
    heavy=st.booleans(),
    precision=st.sampled_from(["fast", "float32"]),
    data=st.data(),
)
@settings(max_examples=60)
def test_any_shape(name, shape, k, seed, heavy, precision, data):
    zero2 = data.draw(st.integers(0, 2 * (LAYOUTS[name].n_codes - 1)))
    _, words = packed(name, shape, seed)
    for isa in COMPILED:
        with ops.use_isa(isa):
            for found, expected in both_ways(
                words, name, shape, k, seed=seed, heavy=heavy, zero2=zero2, precision=precision
            ):
                np.testing.assert_array_equal(found, expected, err_msg=isa)


def test_sums_longer_than_one_flush(level):
    """More columns and more rows than a 32-bit sum of the largest bytes may take at a time."""
    rng = np.random.default_rng(3)
    for shape in [(3, 70_000), (70_000, 3)]:
        words = reference.pack(np.full(shape, 255, dtype=np.uint8), get_layout("u8"))
        V, R = np.ones((shape[1], 1)), np.abs(rng.normal(size=(shape[0], 1))) + 1
        np.testing.assert_array_equal(ops.matmul(words, "u8", shape, V), np.full((shape[0], 1), 255.0 * shape[1]))
        expected = reference.rmatmul(words, get_layout("u8"), shape, R)
        np.testing.assert_array_equal(ops.rmatmul(words, "u8", shape, R), expected)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("kind", ["gaussian", "spiky", "one_hot", "tiny", "huge"])
def test_relative_error_keeps_the_promise(name, kind):
    """Root-mean-square error relative to |v| times the size of a row's entries, as documented."""
    shape = (400, 3000)
    codes, words = packed(name, shape)
    rng = np.random.default_rng(5)
    V = {
        "gaussian": rng.normal(size=(3000, 4)),
        "spiky": rng.standard_t(1.1, size=(3000, 4)),
        "one_hot": np.eye(3000)[:, :4] + 1e-4 * rng.normal(size=(3000, 4)),
        "tiny": rng.normal(size=(3000, 4)) * 1e-310,
        "huge": rng.normal(size=(3000, 4)) * 1e300,
    }[kind]
    centred = codes - (LAYOUTS[name].n_codes - 1) / 2
    size = np.sqrt(np.mean(centred**2))
    for precision, bound in reference.TOLERANCES.items():
        found = ops.matmul(words, name, shape, V, zero2=LAYOUTS[name].n_codes - 1, precision=precision)
        unit = np.abs(V).max()
        error = found / unit - centred @ (V / unit)
        # The grid's own error is uniform, so its root mean square is the bound's; 1.15 covers 400 rows of sampling.
        limit = 1.15 * bound if kind != "tiny" else 1.15 * bound + 5e-14
        assert np.sqrt(np.mean(error**2, axis=0)).max() <= limit * size * np.linalg.norm(V / unit, axis=0).max()


def test_exact_for_signs():
    codes, words = packed("u2", (333, 517))
    signs = np.where(np.arange(517) % 3 == 0, -2.5, 2.5)[:, None]
    np.testing.assert_allclose(ops.matmul(words, "u2", codes.shape, signs), codes @ signs, rtol=1e-14)


def test_same_bits_with_any_number_of_threads(level):
    shape = (1500, 1100)
    _, words = packed("u2", shape)
    V, R = np.random.default_rng(0).normal(size=(1100, 3)), np.random.default_rng(1).normal(size=(1500, 3))
    results = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="openmp"):
            results.append((ops.matmul(words, "u2", shape, V), ops.rmatmul(words, "u2", shape, R)))
    for forward, backward in results[1:]:
        np.testing.assert_array_equal(forward, results[0][0])
        np.testing.assert_array_equal(backward, results[0][1])


def test_arrays_of_every_kind(level):
    """Read-only words, transposed, strided, integer, boolean and half-precision right-hand sides."""
    shape = (40, 50)
    codes, words = packed("u4", shape)
    words.flags.writeable = False
    wide = np.random.default_rng(0).normal(size=(6, 100)).astype(np.float32)
    for V in [
        wide[:, ::2].T,
        wide[:, ::-2].T,
        np.arange(50)[:, None],
        (np.arange(50) % 2 == 0)[:, None],
        np.ones((50, 2), dtype=np.float16),
        np.ones((50, 1), dtype=">f8"),
    ]:
        expected = reference.matmul(words, get_layout("u4"), shape, V)
        np.testing.assert_array_equal(ops.matmul(words, "u4", shape, V), expected)
        np.testing.assert_allclose(expected, codes @ V.astype(np.float64), rtol=1e-3, atol=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.ones((7, 1))}, r"expected \(8, k\)"),
        ({"values": np.full((8, 1), np.nan)}, "values must be finite"),
        ({"values": np.ones(8)}, r"expected \(8, k\)"),
        ({"values": np.ones((8, 1), dtype=complex)}, "real numbers"),
        ({"precision": "double"}, "precision='double'"),
        ({"zero2": -1}, "zero2=-1"),
        ({"zero2": 7}, "zero2=7"),
        ({"table": [1.0, 2.0]}, "table needs 4 levels"),
        ({"shape": (5, 200)}, "words has shape"),
        ({"layout": "u3"}, "layout='u3'"),
    ],
)
def test_bad_arguments_are_named(change, message):
    _, words = packed("u2", (5, 8))
    arguments = {"words": words, "layout": "u2", "shape": (5, 8), "values": np.ones((8, 1))} | change
    with pytest.raises(ValueError, match=message):
        ops.matmul(**arguments)


@pytest.mark.skipif(_core is None, reason="the compiled core is not built")
def test_the_core_refuses_what_would_read_outside():
    _, words = packed("u2", (5, 8))
    good = [words, 1, 5, 8, np.ones((8, 1)), 0, None, 5e-5, 2, 4, np.empty((5, 1)), 0]
    assert _core.matmul(*good)
    for odd in (np.nan, np.inf, -np.inf):
        assert not _core.matmul(*good[:4], np.full((8, 1), odd), *good[5:])
    for place, value in [
        (1, 6),
        (1, -1),
        (2, 500),
        (2, -5),
        (3, 800),
        (4, np.ones((9, 1))),
        (6, np.ones(3)),
        (8, 1),
        (9, 9),
        (10, np.empty((4, 1))),
        (11, 7),
    ]:
        with pytest.raises(ValueError, match=r".+"):
            _core.matmul(*[value if i == place else good[i] for i in range(len(good))])


@pytest.mark.parametrize("name", ["u1", "u2"])
def test_more_rows_than_one_panel_of_tables(level, name):
    """Look-up tables of Z^T R are made for 65,536 rows at a time."""
    shape = (70_003, 37)
    codes, words = packed(name, shape)
    R = np.random.default_rng(2).integers(-1000, 1001, (shape[0], 2)).astype(np.float64)
    R[0] = 127 * 256  # the largest magnitude, so that the grid is the integers
    found = ops.rmatmul(words, name, shape, R, zero2=1)
    np.testing.assert_array_equal(found, (2 * codes.astype(np.int64).T - 1) @ R / 2)


@pytest.mark.parametrize("name", ["u1", "u2"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_largest_sums_of_look_ups(level, name, sign):
    """Every code and every right-hand side at its largest: the planes of the tables are full."""
    shape = (70, 2100)
    words = reference.pack(np.full(shape, LAYOUTS[name].n_codes - 1, dtype=np.uint8), get_layout(name))
    for precision in ("fast", "float32"):
        for V, product in ((np.full((2100, 2), sign), ops.matmul), (np.full((70, 2), sign), ops.rmatmul)):
            found = product(words, name, shape, V, precision=precision)
            np.testing.assert_allclose(found, sign * (LAYOUTS[name].n_codes - 1) * len(V), rtol=1e-15)
