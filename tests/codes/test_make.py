"""Codes from names and from files, floats, and what scikit-learn does with codes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from nanogram.codes import FloatCode, StepCode, UniformCode, code_from_json, make_code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("float32", FloatCode()),
        ("float16", FloatCode("float16")),
        (1, UniformCode(1)),
        (np.int64(8), UniformCode(8)),
        ("uniform16", UniformCode(16)),
        ("binary", StepCode(2)),
        ("ternary", StepCode(3)),
        ("step4", StepCode(4)),
    ],
)
def test_names(name, code):
    made = make_code(name)
    assert made == code
    assert make_code(name) is not made  # parameters can be set on one without touching the next
    assert make_code(made) is made


@pytest.mark.parametrize("name", ["float64", 3, 32, True, None, 4.0, "uniform3", "Ternary"])
def test_unknown_names(name):
    with pytest.raises(ValueError, match="is not known; a code object or one of float32, float16, uniform1"):
        make_code(name)


def test_parameters_in_a_grid():
    base = UniformCode(4, low=np.zeros(3), high=np.ones(3))
    for parameters in ParameterGrid({"bits": [1, 16], "rounding": ["nearest", "stochastic"]}):
        code = clone(base).set_params(**parameters)
        assert (code.bits, code.rounding) == (parameters["bits"], parameters["rounding"])
        assert code.layout == f"u{parameters['bits']}"
        np.testing.assert_array_equal(code.low, base.low)


def test_floats():
    code = FloatCode("float16")
    assert (code.layout, code.bits, code.code_dtype) == (None, 16.0, np.float16)
    encoded = code.encode([[1 / 3, np.nan, 1e9]])
    np.testing.assert_array_equal(encoded, np.array([[1 / 3, np.nan, np.inf]], np.float16))
    assert code.decode(encoded).dtype == np.float32
    np.testing.assert_allclose(code.bias(np.array([1 / 3])), float(np.float16(1 / 3)) - 1 / 3)
    assert not code.compatible(FloatCode())
    assert not code.compatible(UniformCode(16))
    assert not UniformCode(16).compatible(code)
    with pytest.raises(ValueError, match="storage='float64'"):
        _ = FloatCode("float64").bits
    with pytest.raises(ValueError, match="multiply the values themselves"):
        code.scaled(2.0)
    with pytest.raises(ValueError, match="no list of levels"):
        _ = code.levels


# --------------------------------------------------------------------------- JSON

doubles = st.floats(-1e30, 1e30)


@settings(max_examples=100, deadline=None)
@given(low=doubles, width=st.floats(1e-6, 1.0), bits=st.sampled_from([1, 2, 4, 8, 16]))
def test_ranges_return_to_the_bit(low, width, bits):
    high = low + width * max(1.0, abs(low))
    for code in (UniformCode(bits, low=low, high=high), UniformCode(bits, low=np.full(3, low), high=high)):
        assert code_from_json(json.loads(json.dumps(code.to_json()))) == code


def test_numpy_scalars_become_plain_json():
    code = UniformCode(np.int64(4), low=np.float32(-0.1), high=np.float64(0.1))
    assert code_from_json(json.loads(json.dumps(code.to_json()))) == code
    step = StepCode((np.float32(0.1), 3), np.array([2]))
    assert code_from_json(json.loads(json.dumps(step.to_json()))) == step
    assert code_from_json(StepCode(3, storage="base3").to_json()) == StepCode(3, storage="base3")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["0x1.0p+0"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TEMPLATES = [
    FloatCode().to_json(),
    UniformCode(2, low=[0, 0], high=[1, 2]).to_json(),
    StepCode([0, 1, 2], [0, 1]).to_json(),
    StepCode(3).to_json(),
]


@settings(max_examples=300, deadline=None)
@given(template=st.sampled_from(TEMPLATES), data=st.data())
def test_hostile_fields_are_refused_or_harmless(template, data):
    name = data.draw(st.sampled_from(sorted(template)))
    fields = {**template, name: data.draw(anything)}
    try:
        code = code_from_json(fields)
    except ValueError:
        return
    assert code_from_json(code.to_json()) == code


@settings(max_examples=50, deadline=None)
@given(fields=anything)
def test_anything_else_is_refused(fields):
    with pytest.raises(ValueError, match="code"):
        code_from_json(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "periodic"}, "kind.*periodic.*choose one of float, uniform, step"),
        ({"more": 1}, r"unknown \['more'\]"),
        ({"bits": 5}, "bits=5"),
        ({"low": "0x1.0p+5000"}, "low.*finite float"),
        ({"low": "1.0"}, "low.*hexadecimal"),
        ({"low": ["0x0.0p+0"], "high": ["0x1.0p+0", "0x1.0p+1"]}, "low has shape"),
        ({"high": "-0x1.0p+9"}, "low must be below high"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        code_from_json({**UniformCode().to_json(), **change})


def test_a_long_list_of_levels_is_refused_early():
    fields = StepCode([0, 1], [0]).to_json()
    fields["levels"] = ["0x0.0p+0"] * 100_000
    with pytest.raises(ValueError, match=r"levels.*at most 4096"):
        code_from_json(fields)
