"""Step codes: intervals, levels that repeat, storages, bad parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanogram import ops
from nanogram.codes import StepCode

values = st.floats(allow_nan=False, width=32)


@settings(max_examples=200, deadline=None)
@given(
    thresholds=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6, unique=True).map(sorted),
    picks=st.lists(st.integers(0, 3), min_size=7, max_size=7),
    t=st.lists(values, min_size=1, max_size=20),
)
def test_intervals_against_the_definition(thresholds, picks, t):
    picks = picks[: len(thresholds) + 1]
    levels = np.array([-2.0, -0.25, 1.0, 7.5])[picks]
    if len(set(picks)) < 2:
        return
    code = StepCode(levels, thresholds)
    t = [*t, *(float(s) for s in thresholds)]
    decoded = code.decode(code.encode([t]))[0]
    edges = [-np.inf, *thresholds, np.inf]
    for value, found in zip(t, decoded, strict=True):
        interval = next(i for i in range(len(levels)) if value <= edges[i + 1])
        assert found == np.float32(levels[interval])


def test_zero_belongs_below():
    step = StepCode([0, 1], [0.0])
    np.testing.assert_array_equal(step.decode(step.encode([[-1.0, -0.0, 0.0, 5e-324, 1.0]])), [[0, 0, 0, 1, 1]])
    sign = StepCode([-1, 0, 1], [-0.5, 0.5])
    np.testing.assert_array_equal(sign.decode(sign.encode([[-0.5, 0.5]])), [[-1, 0]])


def test_float32_values_are_compared_in_double():
    threshold = 0.1  # below float32(0.1)
    assert StepCode([0, 1], [threshold]).encode(np.array([[np.float32(0.1)]]))[0, 0] == 1


def test_even_code():
    code = StepCode([2.0, -1.0, 2.0], [-0.7, 0.7])
    assert (code.layout, code.n_levels, code.bits) == ("u1", 2, 1.0)
    np.testing.assert_array_equal(code.encode([[-3.0, 0.0, 0.7, 3.0]]), [[1, 0, 0, 1]])
    np.testing.assert_array_equal(code.code_values, [-1.0, 2.0])


@pytest.mark.parametrize(
    ("levels", "storage", "layout", "table"),
    [
        ([0, 5], "auto", "u1", None),
        ([-1, 0, 1], "auto", "u2", None),
        ([-1, 0, 1], "base3", "t5", None),
        ([1, -1, 0], "base3", "t5", None),
        ([-1, 0, 2], "bits", "u2", [-1, 0, 2, 2]),
        ([0, 1, 2, 3], "auto", "u2", None),
        ([0, 1, 2, 4], "auto", "u2", [0, 1, 2, 4]),
        ([4, 0, 4, 2, 1], "auto", "u2", [0, 1, 2, 4]),
        (np.arange(5), "auto", "u4", None),
        (np.arange(16), "auto", "u4", None),
        (np.linspace(-1, 1, 7).astype(np.float32), "auto", "u4", None),
    ],
)
def test_storage_follows_the_levels(levels, storage, layout, table):
    code = StepCode(levels, np.arange(len(levels) - 1), storage)
    assert code.layout == layout
    assert code.bits == ops.get_layout(layout).bits
    if table is None:
        assert code.table is None
    else:
        np.testing.assert_array_equal(code.table, table)
    np.testing.assert_allclose(code.code_values, np.unique(levels), atol=1e-6)


def test_symmetric_levels_have_no_offset():
    for levels in ([-0.3, 0.3], [-0.7, 0.0, 0.7], [-0.9, -0.3, 0.3, 0.9]):
        code = StepCode(levels, np.arange(len(levels) - 1))
        assert code.offset == 0.0
        assert code.zero2 == len(levels) - 1
        np.testing.assert_array_equal(code.decode([[0, len(levels) - 1]]), np.float32([[levels[0], levels[-1]]]))


def test_between_storages():
    code = StepCode([-1, 0, 1], [-0.4, 0.4])
    codes = code.encode(np.random.default_rng(0).standard_normal((37, 83)))
    words = code.pack(codes)
    smaller, base3 = code.convert(words, codes.shape, "base3")
    assert base3 == StepCode([-1, 0, 1], [-0.4, 0.4], "base3")
    np.testing.assert_array_equal(smaller, base3.pack(codes))
    back, bits = base3.convert(smaller, codes.shape, "bits")
    np.testing.assert_array_equal(back, words)
    assert bits.compatible(code)
    assert not bits.compatible(base3)
    same, _ = code.convert(words, codes.shape, "auto")
    np.testing.assert_array_equal(same, words)
    with pytest.raises(ValueError, match="storage='base3' holds 3 levels; there are 2"):
        StepCode([0, 1], [0]).convert(words, codes.shape, "base3")


def test_bias_is_the_error():
    code = StepCode([-1.5, 0.25, 3.0], [-1.0, 1.0])
    x = np.array([[-2.0, 0.0, 2.5]])
    np.testing.assert_array_equal(code.bias(x), [[0.5, 0.25, 0.5]])
    assert (code.variance(x) == 0).all()
    assert code.max_variance == 0


def test_a_request_waits_for_its_design():
    for levels, layout in ((2, "u1"), (3, "u2"), (4, "u2")):
        code = StepCode(levels)
        assert not code.designed
        assert (code.layout, code.n_levels) == (layout, levels)
        for use in (lambda c: c.encode([[0.0]]), lambda c: c.decode([[0]]), lambda c: c.scale, lambda c: c.scaled(2.0)):
            with pytest.raises(ValueError, match="not designed yet"):
                use(code)
    assert StepCode(3, storage="base3").layout == "t5"
    assert StepCode(3).with_storage("base3") == StepCode(3, storage="base3")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"levels": 5}, "levels=5 is not accepted; choose one of 2, 3, 4"),
        ({"levels": 3.0}, r"levels=3\.0"),
        ({"levels": True}, "levels=True"),
        ({"levels": 3, "thresholds": [0, 1]}, "thresholds are given but levels=3 is a number"),
        ({"levels": [0, 1]}, "thresholds is None; 2 levels need 1"),
        ({"levels": [0, 1], "thresholds": [0, 1]}, r"levels has shape \(2,\) and thresholds \(2,\)"),
        ({"levels": [0, 1, 2], "thresholds": [1, 1]}, "thresholds=.*increasing"),
        ({"levels": [0, 1, 2], "thresholds": [1, np.nan]}, "thresholds=.*finite"),
        ({"levels": [0, np.inf], "thresholds": [1]}, "levels=.*finite"),
        ({"levels": [0, 1e39], "thresholds": [1]}, "levels=.*float32"),
        ({"levels": [1, 1], "thresholds": [1]}, "1 distinct values; 2 to 16"),
        ({"levels": np.arange(17), "thresholds": np.arange(16)}, "17 distinct values; 2 to 16"),
        ({"levels": [0, 1, 2, 3, 5], "thresholds": np.arange(4)}, "5 distinct values, unequally spaced; 2, 3 or 4"),
        ({"levels": [1, 1 + 1e-12], "thresholds": [0]}, "the same in float32"),
        ({"levels": [0, 1, 3], "thresholds": [0, 1], "storage": "base3"}, "in storage='base3' must be equally spaced"),
        ({"levels": [0, 1], "thresholds": [0], "storage": "base3"}, "holds 3 levels; there are 2"),
        ({"levels": 4, "storage": "base3"}, "holds 3 levels; there are 4"),
        ({"levels": [0, 1], "thresholds": [0], "storage": "bytes"}, "storage='bytes'"),
        ({"levels": [0, 1], "thresholds": ["a"]}, "thresholds has dtype"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    code = StepCode(**parameters)
    with pytest.raises(ValueError, match=message):
        _ = code.layout, code.scale
