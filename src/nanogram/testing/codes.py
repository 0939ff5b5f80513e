"""The contract of `Code`, as a test that any new code can be put to."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from nanogram import ops
from nanogram.codes import Code, code_from_json

__all__ = ["check_code"]

Array = npt.NDArray[Any]
#: Simulated means may be this many standard errors off: a right code fails with probability 3e-8 a value.
STANDARD_ERRORS = 6.0
DRAWS = 100_000
ROWS = (0, 1, 15, 16, 17, 50)
COLUMNS = (0, 1, 3, 31, 33, 70)


def check_code(code: Code, rng: np.random.Generator | int | None = None) -> None:
    """Check that a code keeps the contract that CodeMatrix and files build on.

    Round trips of values, codes and words at odd shapes; the decoder against the stated scale, offset,
    zero point or table; saturation and order; stated bias and variance against a simulation, within error bars
    computed from it; copies by pickle, ``clone`` and JSON; refusal of bad input.

    Parameters
    ----------
    code : Code
        A code that can encode (a step code with levels and thresholds).
    rng : Generator or seed, optional
        Source of the values; default: seed 0.

    Raises
    ------
    AssertionError
        Where the code breaks the contract.

    Examples
    --------
    >>> from nanogram.codes import UniformCode
    >>> from nanogram.testing import check_code
    >>> check_code(UniformCode(bits=2, low=0.0, high=3.0))
    """
    rng = np.random.default_rng(0 if rng is None else rng)
    _check_copies(code)
    if code.layout is None:
        _check_floats(code, rng)
        return
    _check_decoder(code)
    _check_round_trips(code, rng)
    _check_order(code, rng)
    _check_error(code, rng)
    _check_columns(code, rng)
    _check_refusals(code)


# --------------------------------------------------------------------------- helpers


def _width(code: Code, wanted: int) -> int:
    return wanted if code.n_columns is None else code.n_columns


def _by_code(code: Code) -> Array:
    """Decoded values in double, (n_levels, columns)."""
    values = code.code_values
    return values if values.ndim == 2 else values[:, None]


def _values(code: Code, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Values in and around the range of the code."""
    levels = _by_code(code)
    low, high = levels.min(axis=0), levels.max(axis=0)
    return rng.uniform(low - 0.3 * (high - low), high + 0.3 * (high - low), shape)


def _refuses(what: str, call: Callable[..., Any], *args: Any) -> str:
    """The message with which the call is refused."""
    try:
        call(*args)
    except (ValueError, TypeError) as error:
        message = str(error)
    else:
        raise AssertionError(f"{what} is accepted")
    assert message, f"{what} is refused without a word"
    return message


def _same(found: Array, expected: Array, what: str) -> None:
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, not {expected.dtype}"
    np.testing.assert_array_equal(found, expected, err_msg=what)


# --------------------------------------------------------------------------- copies


def _check_copies(code: Code) -> None:
    text = json.dumps(code.to_json(), allow_nan=False)
    copies = {
        "pickle": pickle.loads(pickle.dumps(code)),
        "clone": clone(code),
        "JSON": code_from_json(json.loads(text)),
        "set_params": type(code)().set_params(**code.get_params(deep=False)),
    }
    for name, copy in copies.items():
        assert copy == code, f"the copy by {name} is {copy!r}, not {code!r}"
        assert hash(copy) == hash(code), f"the copy by {name} has another hash"
        assert copy.compatible(code), f"the copy by {name} is not compatible"
        assert code.compatible(copy), f"the copy by {name} is not compatible"
    assert json.dumps(copies["JSON"].to_json()) == text, "JSON changes on its way through"
    assert repr(code).startswith(type(code).__name__)
    assert code != object()
    hostile: tuple[Any, ...] = (None, {}, [[]], "nan", "inf", "0x1p99999", 10**400, float("nan"), True, -1, "\0")
    for name in code.to_json():
        fields = code.to_json()
        fields.pop(name)
        _refuses(f"JSON without {name!r}", code_from_json, fields)
        for wrong in hostile:
            if wrong != code.to_json()[name]:
                fields = {**code.to_json(), name: wrong}
                _refuses(f"JSON with {name!r}: {str(wrong)[:20]}", code_from_json, fields)
    _refuses("JSON with an unknown field", code_from_json, {**code.to_json(), "more": 1})
    _refuses("JSON that is a list", code_from_json, [])


# --------------------------------------------------------------------------- floats


def _check_floats(code: Code, rng: np.random.Generator) -> None:
    assert code.bits == 8 * code.code_dtype.itemsize
    assert (code.scale, code.offset, code.table) == (1.0, 0.0, None)
    for n in ROWS:
        for m in COLUMNS:
            values = rng.standard_normal((n, m))
            codes = code.encode(values)
            _same(codes, values.astype(code.code_dtype), "encode")
            _same(code.decode(codes), codes.astype(np.float32), "decode")
            _same(code.unpack(code.pack(codes), (n, m)), codes, "unpack")
            np.testing.assert_array_equal(codes.astype(np.float64) - values, code.bias(values))
            assert (code.variance(values) == 0).all()
    assert code.select_columns([0]) is code
    assert code.scaled(1.0) == code
    _refuses("a vector to pack", code.pack, np.zeros(3, code.code_dtype))
    _refuses("text", code.encode, np.array(["a"]))


# --------------------------------------------------------------------------- decoder


def _check_decoder(code: Code) -> None:
    layout = ops.get_layout(code.layout)  # type: ignore[arg-type]
    assert code.bits == layout.bits, f"bits={code.bits}, layout {layout.name!r} stores {layout.bits}"
    assert 2 <= code.n_levels <= layout.n_codes
    assert code.dtype == np.float32
    assert code.code_dtype == layout.code_dtype
    values = _by_code(code)
    assert values.shape == (code.n_levels, code.n_columns or 1)
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) > 0).all(), "stored codes must increase with the values"
    q = np.arange(code.n_levels)
    if code.table is not None:
        assert layout.name == "u2"
        assert code.table.shape == (4,)
        assert code.table.dtype == np.float64
        np.testing.assert_array_equal(code.table[np.minimum(q, 3)], values[:, 0])
        np.testing.assert_array_equal(code.table[code.n_levels :], values[-1, 0])
        expected = code.table[q][:, None].astype(np.float32)
    else:
        assert 0 <= code.zero2 <= 2 * (layout.n_codes - 1)
        expected = (code.scale * (q[:, None] - code.zero2 / 2) + code.offset).astype(np.float32)
        if (values == -values[::-1]).all():
            assert np.all(np.asarray(code.offset) == 0), "a symmetric code must have offset 0"
    codes = np.repeat(q[:, None], _width(code, 1), axis=1).astype(code.code_dtype)
    _same(code.decode(codes), np.broadcast_to(expected, codes.shape), "decode")
    twice = code.scaled(2.0)
    assert twice.layout == code.layout
    _same(twice.decode(codes), 2 * code.decode(codes), "decode of the scaled code")
    assert not twice.compatible(code)
    for factor in (0.0, -1.0, np.inf, np.nan, "2"):
        _refuses(f"the factor {factor!r}", code.scaled, factor)


# --------------------------------------------------------------------------- round trips


def _check_round_trips(code: Code, rng: np.random.Generator) -> None:
    for n in ROWS:
        for m in sorted({_width(code, m) for m in COLUMNS}):
            values = _values(code, (n, m), rng)
            codes = code.encode(values, random_state=0)
            assert codes.shape == (n, m)
            assert codes.dtype == code.code_dtype
            _same(code.encode(values, random_state=0), codes, "encode with the same seed")
            if codes.size:
                assert int(codes.max()) < code.n_levels
            words = code.pack(codes)
            assert words.dtype == np.uint32
            assert words.nbytes >= n * m * code.bits / 8
            _same(code.unpack(words, (n, m)), codes, "unpack")
            decoded = code.decode(codes)
            assert decoded.dtype == np.float32
            assert decoded.shape == (n, m)
            assert np.isin(decoded, code.code_values.astype(np.float32)).all()


def _check_order(code: Code, rng: np.random.Generator) -> None:
    """Ends saturate; where the code is monotone larger values have larger codes under the same noise."""
    m = _width(code, 5)
    ends = np.array([-np.inf, -1e300, 1e300, np.inf])
    codes = code.encode(np.repeat(ends[:, None], m, axis=1), random_state=0)
    np.testing.assert_array_equal(codes[0], codes[1], err_msg="values far below must saturate")
    np.testing.assert_array_equal(codes[2], codes[3], err_msg="values far above must saturate")
    values = np.sort(_values(code, (200, m), rng), axis=0)
    steps = np.diff(code.encode(values, words=np.full(values.shape, 2**31, np.uint32)).astype(int), axis=0)
    if (codes[0] == 0).all() and (codes[3] == code.n_levels - 1).all() and not _repeats(code):
        assert (steps >= 0).all(), "larger values must not have smaller codes"


def _repeats(code: Code) -> bool:
    """True of step codes whose levels do not increase."""
    levels = np.asarray(getattr(code, "levels", [0.0, 1.0]))
    return levels.ndim == 1 and bool((np.diff(levels) <= 0).any())


# --------------------------------------------------------------------------- bias and variance


def _check_error(code: Code, rng: np.random.Generator) -> None:
    m = _width(code, 40)
    x = _values(code, (1, m), rng)
    values = np.broadcast_to(_by_code(code), (code.n_levels, m))
    draws = max(1000, DRAWS // max(m, 1))
    codes = code.encode(np.repeat(x, draws, axis=0), random_state=rng)
    sample = np.take_along_axis(values, codes.astype(np.intp), axis=0)
    bias, variance = code.bias(x), code.variance(x)
    assert bias.shape == variance.shape == x.shape
    assert (variance >= 0).all()
    assert (variance <= np.asarray(code.max_variance) * (1 + 1e-12)).all(), "variance above max_variance"

    # Bernstein's inequality for the two neighbouring levels of x, `gap` apart: a mean of draws in a range g with
    # variance v is off by more than k sqrt(v / n) + k^2 g / (3 n) with probability below 2 exp(-k^2 / 2). It holds for
    # rare levels too, where a normal law would not do.
    upper = np.clip((values < x).sum(axis=0), 1, code.n_levels - 1)[None]
    gap = np.take_along_axis(values, upper, axis=0) - np.take_along_axis(values, upper - 1, axis=0)
    rounding = 1e-9 * (np.abs(values).max(initial=0) + np.abs(x).max(initial=0))

    def bar(v: Array, g: Array) -> Array:
        slack: Array = STANDARD_ERRORS * np.sqrt(v / draws) + STANDARD_ERRORS**2 * g / (3 * draws)
        return np.where(variance > 0, slack, 0)

    found = sample.mean(axis=0, keepdims=True) - x
    allowed = bar(variance, gap) + rounding
    assert (np.abs(found - bias) <= allowed).all(), f"stated bias {bias}, simulated {found} +- {allowed}"

    # Squared deviations of the two-point law lie in (0, gap^2) and have variance v (gap^2 - 4 v).
    squares = ((sample - x - bias) ** 2).mean(axis=0, keepdims=True)
    allowed = bar(variance * np.maximum(gap**2 - 4 * variance, 0), gap**2) + rounding * (gap + rounding)
    assert (np.abs(squares - variance) <= allowed).all(), (
        f"stated variance {variance}, simulated {squares} +- {allowed}"
    )


# --------------------------------------------------------------------------- columns and refusals


def _check_columns(code: Code, rng: np.random.Generator) -> None:
    if code.n_columns is None:
        assert code.select_columns([0, 2]) is code
        return
    m = code.n_columns
    for index in (slice(0, m, 2), np.arange(m)[::-1], np.arange(m) % 2 == 0, np.array([], dtype=np.intp)):
        part = code.select_columns(index)
        columns = np.arange(m)[index]
        assert part.n_columns == len(columns)
        codes = rng.integers(0, code.n_levels, (4, len(columns))).astype(code.code_dtype)
        whole = np.zeros((4, m), dtype=code.code_dtype)
        whole[:, columns] = codes
        expected = code.decode(whole)[:, columns]
        _same(part.decode(codes), expected, "decode of selected columns")
        _same(code.decode(codes, columns=index), expected, "decode with columns")
    _refuses("too many columns", code.encode, np.zeros((2, m + 1)))
    _refuses("too many columns", code.decode, np.zeros((2, m + 1), code.code_dtype))


def _check_refusals(code: Code) -> None:
    m = _width(code, 4)
    values = np.zeros((3, m))
    values[2, m - 1] = np.nan
    message = _refuses("NaN", code.encode, values)
    assert "NaN" in message, message
    assert f"column {m - 1}" in message, message
    _refuses("text", code.encode, np.full((1, m), "a"))
    _refuses("complex values", code.encode, np.zeros((1, m), dtype=complex))
    too_large = np.full((2, m), code.n_levels, dtype=np.int64)
    for name, method in (("decode", code.decode), ("pack", code.pack)):
        _refuses(f"a code too large for {name}", method, too_large)
        _refuses(f"a negative code to {name}", method, -too_large)
        _refuses(f"floats to {name}", method, np.zeros((2, m)))
    _refuses("a vector to pack", code.pack, np.zeros(m, code.code_dtype))
    words = code.pack(np.zeros((3, m), dtype=code.code_dtype))
    _refuses("a shape that the words do not have", code.unpack, words, (17, m))
    _refuses("words of another type", code.unpack, words.astype(np.int64), (3, m))
