"""Products whose arguments were checked before: the same bits as the ops, and plain right-hand sides only."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from nanogram import CodeMatrix, ops
from nanogram.codes import StepCode, UniformCode
from nanogram.ops import LAYOUTS, get_layout, reference
from nanogram.ops._isa import _core, active_isa

COMPILED = [level for level in ops.available_isas() if level != "reference"]
pytestmark = pytest.mark.skipif(not COMPILED, reason="there is no compiled core")
TABLE = np.array([-1.3, 0.2, 0.9, 3.0])
CODES = [
    UniformCode(1),
    UniformCode(4, low=-2.0, high=3.0),
    UniformCode(16),
    StepCode([-1.0, 0.0, 1.0], [-0.5, 0.5]),
    StepCode([-1.4, -0.3, 0.5, 1.7], [-0.7, 0.0, 0.9]),
]


@pytest.fixture(params=COMPILED)
def level(request):
    with ops.use_isa(request.param):
        yield active_isa()


def packed(name, shape, seed=0):
    layout = get_layout(name)
    codes = np.random.default_rng(seed).integers(0, layout.n_codes, shape).astype(layout.code_dtype)
    return reference.pack(codes, layout)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("name", [*LAYOUTS, "table"])
@pytest.mark.parametrize("shape", [(1, 1), (300, 1100), (37, 2053)])
def test_same_bits_as_the_reference(level, name, shape, transpose):
    table = TABLE if name == "table" else None
    layout = get_layout("u2" if name == "table" else name)
    words, zero2 = packed(layout, shape), 0 if name == "table" else layout.n_codes - 1
    factor = 1.0 if name == "table" else 0.3
    multiply = ops.multiplier(words, layout, shape, zero2=zero2, table=table, factor=factor)
    rng = np.random.default_rng(1)
    # 40 columns of 2,053 are more than threads prepare while others wake up; a heavy tail takes four digits.
    for size, dtype, precision in [
        ((), np.float32, "fast"),
        ((3,), np.float64, "float32"),
        ((40,), np.float32, "fast"),
    ]:
        for heavy in (False, True):
            values = rng.standard_normal((shape[0] if transpose else shape[1], *size)).astype(dtype)
            if heavy:
                values[0] = 1e6
            op = reference.rmatmul if transpose else reference.matmul
            V = values if values.ndim == 2 else values[:, None]
            expected = op(words, layout, shape, V, zero2=zero2, table=table, precision=precision) * factor
            found = multiply(values, transpose, precision, level)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected.astype(dtype).reshape(found.shape))


def test_leaves_all_that_is_not_plain(level):
    multiply = ops.multiplier(packed("u2", (40, 50)), "u2", (40, 50), zero2=3)
    good = np.ones((50, 4))
    assert multiply(good, False, "fast", level) is not None
    odd = [np.ones(49), np.ones(()), np.ones((50, 2, 2)), good[:, ::2], good[:, 0], good.astype(int)]
    odd += [good.astype(np.float16), good.astype(">f8"), good.astype(object), np.full(50, np.nan)]
    odd += [np.where(np.arange(50) == 7, np.inf, 1.0), np.frombuffer(bytes(401), np.uint8)[1:].view(np.float64)[:50]]
    for values in odd:
        assert multiply(values, False, "fast", level) is None, values
    assert multiply(np.ones(50), True, "fast", level) is None
    assert multiply(np.ones((50, 0)), False, "fast", level).shape == (40, 0)


def test_holds_its_words(level):
    words = packed("u1", (40, 50))
    expected = ops.matmul(words, "u1", (40, 50), np.ones((50, 1)))[:, 0]
    multiply = ops.multiplier(words, "u1", (40, 50))
    del words
    gc.collect()
    np.testing.assert_array_equal(multiply(np.ones(50), False, "fast", level), expected)


@pytest.mark.parametrize("code", CODES, ids=repr)
def test_code_matrices_multiply_alike_with_and_without(level, code):
    rng = np.random.default_rng(2)
    Z = CodeMatrix.from_values(rng.uniform(-1, 1, (90, 130)), code, random_state=0)
    V, R = rng.standard_normal((2, 130, 3)), rng.standard_normal((90, 3)).astype(np.float32)
    V[1, 5, 1] = np.nan
    for part in (Z, Z[3:70], Z[[5, 1, 80]], Z[:, 2:99]):
        n, m = part.shape
        for v in (V[0, :m], V[0, :m, 0], np.asfortranarray(V[0, :m]), V[1, :m], np.arange(m)):
            quick = part @ v
            with ops.use_isa("reference"):
                np.testing.assert_array_equal(quick, part @ v)
        for r in (R[:n], R[:n, 0].copy(), R[:n].astype(np.float64)):
            quick = part.T @ r
            with ops.use_isa("reference"):
                np.testing.assert_array_equal(quick, part.T @ r)


def test_the_core_refuses_what_would_read_outside():
    words = packed("u2", (40, 50))
    for layout, rows, columns, table in [(9, 40, 50, None), (1, 60, 50, None), (1, 40, 80, None), (0, 40, 128, TABLE)]:
        with pytest.raises(ValueError, match=r"layout|words|table"):
            _core.Multiplier(words, layout, rows, columns, 3, table, 1.0)
    with pytest.raises(ValueError, match="digits"):
        _core.Multiplier(words, 1, 40, 50, 3, None, 1.0).multiply(np.ones(50), np.ones(40), False, 5e-5, 1, 0)
    with pytest.raises(ValueError, match="instruction set"):
        _core.Multiplier(words, 1, 40, 50, 3, None, 1.0).multiply(np.ones(50), np.ones(40), False, 5e-5, 2, 77)
    frozen = np.ones(40)
    frozen.flags.writeable = False
    assert not _core.Multiplier(words, 1, 40, 50, 3, None, 1.0).multiply(np.ones(50), frozen, False, 5e-5, 2, 0)
    assert (frozen == 1).all()
