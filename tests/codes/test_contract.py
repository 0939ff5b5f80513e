"""Every code keeps the contract of `nanogram.testing.check_code`, and breaking it is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.testing import check_code

RANGE = {"low": np.array([-1.0, 0.0, 2.5, -3.0]), "high": np.array([1.0, 0.25, 9.0, 8.0])}
CODES = [
    FloatCode("float32"),
    FloatCode("float16"),
    *(UniformCode(bits, rounding) for bits in (1, 2, 4, 8, 16) for rounding in ("stochastic", "nearest")),
    UniformCode(4, low=-0.01, high=7.3),
    UniformCode(2, **RANGE),
    UniformCode(8, "nearest", **RANGE),
    UniformCode(16, low=-1.5, high=np.linspace(0, 2, 33)),
    StepCode([0, 1], [0.3]),
    StepCode([0.7, -0.2, 0.7], [-1.1, 1.1]),
    StepCode([-1.3, 0, 1.3], [-0.5, 0.6]),
    StepCode([-1.3, 0, 1.3], [-0.5, 0.6], "base3"),
    StepCode([2, 0, 1, 0, 2], [-2, -1, 1, 2], "base3"),
    StepCode([-1, 0.1, 2], [-0.5, 0.5]),
    StepCode([-2, -0.6, 0.6, 2], [-1, 0, 1]),
    StepCode(np.linspace(-1, 1, 4), [-1, 0, 1]),
    StepCode(np.linspace(-3, 4, 16), np.linspace(-3, 3, 15)),
]


@pytest.mark.parametrize("code", CODES, ids=lambda code: type(code).__name__)
def test_codes_keep_the_contract(code):
    check_code(code, 5)


BIAS, VARIANCE, DECODE = UniformCode.bias, UniformCode.variance, UniformCode.decode


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("variance", lambda self, x: 0.9 * VARIANCE(self, x)),
        ("bias", lambda self, x: BIAS(self, x) + 0.02),
        ("decode", lambda self, codes, columns=None: DECODE(self, codes, columns) + np.float32(1e-3)),
        ("layout", "u4"),
        ("offset", 0.1),
        ("max_variance", 0.0),
        ("scaled", lambda self, factor: self),
        ("__hash__", lambda self: id(self)),
    ],
)
def test_a_code_that_lies_is_found_out(name, lie, monkeypatch):
    code = UniformCode(2)
    check_code(code)
    wrong = lie if callable(lie) else property(lambda self: lie)
    monkeypatch.setattr(UniformCode, name, wrong)
    with pytest.raises(AssertionError):
        check_code(code)
