"""Keys of rows: from the content alone, whatever holds it."""

from __future__ import annotations

import numpy as np
import pytest

from nanogram import ops
from nanogram.projections import row_keys

ISAS = ops.available_isas()


def same(a, b):
    return a.dtype == b.dtype == np.uint64 and np.array_equal(a, b)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("width", [0, 1, 4, 5, 63, 64, 65, 300])
def test_row_keys_see_the_content_alone(isa, width):
    X = np.random.default_rng(width).integers(0, 128, (70, width))
    with ops.use_isa("reference"):
        expected = row_keys(X)
    with ops.use_isa(isa):
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">i8"):
            assert same(row_keys(X.astype(dtype)), expected)
        wide = np.zeros((140, 2 * width), dtype=np.int16)
        wide[::2, ::2] = X
        assert same(row_keys(wide[::2, ::2]), expected)
        assert same(row_keys(np.asfortranarray(X.astype(np.int8))), expected)
        assert same(row_keys(X.astype(np.int8)[::-1]), expected[::-1])
        assert same(row_keys(X[10:11]), expected[10:11])
        assert same(row_keys(X > 60), row_keys((X > 60).astype(np.int32)))


@pytest.mark.parametrize("isa", ISAS)
def test_row_keys_of_negative_and_extreme_numbers(isa):
    X = np.array([[-1, -128, 127], [2**31 - 1, -(2**31), 0]])
    with ops.use_isa("reference"):
        expected = row_keys(X)
    with ops.use_isa(isa):
        assert same(row_keys(X), expected)
        assert same(row_keys(X[:1].astype(np.int8)), expected[:1])


def test_row_keys_in_several_blocks():
    X = np.random.default_rng(0).integers(-100, 100, (3000, 200), dtype=np.int8)
    assert same(row_keys(np.asfortranarray(X)), row_keys(X))
    with ops.use_isa("reference"):
        assert same(row_keys(X[2900:]), row_keys(X)[2900:])


def test_row_keys_tell_lengths_and_places_apart():
    rows = [[0] * n for n in range(20)] + [[1] + [0] * n for n in range(20)] + [[0] * n + [1] for n in range(1, 20)]
    assert len({int(row_keys(np.array([row], dtype=np.int32))[0]) for row in rows}) == len(rows)


def test_row_keys_refuse():
    for bad in (np.zeros((2, 2)), np.zeros(3, dtype=int), np.zeros((1, 1, 1), dtype=int), [["a"]]):
        with pytest.raises(ValueError, match="2-D array of integers"):
            row_keys(bad)
    for number in (2**31, -(2**31) - 1):
        with pytest.raises(ValueError, match=r"-2\*\*31 to 2\*\*31 - 1"):
            row_keys([[number]])


@pytest.mark.skipif(len(ISAS) == 1, reason="needs the compiled core")
def test_the_core_checks_what_it_is_given():
    from nanogram import _core

    with pytest.raises(ValueError, match="keys"):
        _core.row_keys(np.zeros((3, 2), np.int8), np.zeros(2, np.uint64), 0)
