"""`check_ops`: an implementation of the compute routines must return the bits of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram.ops import LAYOUTS, Layout, reference

__all__ = ["check_ops"]

Array = npt.NDArray[Any]

# Around the 16 rows of a tile and the codes of a word; empty, one row, one column.
_SHAPES = ((0, 3), (3, 0), (1, 1), (1, 45), (45, 1), (15, 19), (16, 64), (17, 65), (70, 203))


def _same(found: Any, expected: Any, what: str) -> None:
    if isinstance(expected, tuple):
        for part, (one, other) in enumerate(zip(found, expected, strict=True)):
            _same(one, other, f"{what}, part {part}")
        return
    if found.dtype != expected.dtype or found.shape != expected.shape:
        raise AssertionError(
            f"{what}: {found.dtype} of shape {found.shape}, the reference gives {expected.dtype} of {expected.shape}"
        )
    if not np.array_equal(found, expected):
        where = tuple(int(i[0]) for i in np.nonzero(found != expected))
        raise AssertionError(f"{what}: {found[where]!r} at {where}, the reference gives {expected[where]!r}")


def _check_storage(layout: Layout, codes: Array, rng: np.random.Generator, label: str) -> None:
    shape = codes.shape
    words = reference.pack(codes, layout)
    _same(ops.pack(codes, layout), words, f"pack {label}")
    _same(ops.unpack(words, layout, shape), codes, f"unpack {label}")
    _same(ops.row_sums(words, layout, shape), reference.row_sums(words, layout, shape), f"row_sums {label}")
    _same(ops.column_sums(words, layout, shape), reference.column_sums(words, layout, shape), f"column_sums {label}")
    rows = rng.integers(0, shape[0], 21 if shape[0] else 0)
    columns = rng.integers(0, shape[1], 23 if shape[1] else 0)
    _same(ops.unpack_rows(words, layout, shape, rows), codes[rows], f"unpack_rows {label}")
    _same(ops.take_rows(words, layout, shape, rows), reference.pack(codes[rows], layout), f"take_rows {label}")
    taken = ops.take_columns(words, layout, shape, columns)
    _same(taken, reference.pack(codes[:, columns], layout), f"take_columns {label}")
    levels = rng.normal(size=layout.n_codes).astype(np.float32)
    _same(ops.decode(words, layout, shape, levels=levels), levels[codes], f"decode {label}")
    scale, offset = rng.normal(size=(2, shape[1]))
    by_column = {"scale": scale, "offset": offset, "zero2": 1}
    found = ops.decode(words, layout, shape, rows, **by_column)
    _same(found, reference.decode(words, layout, shape, rows, **by_column), f"decode by column {label}")
    for other in LAYOUTS.values():
        if other.n_codes >= layout.n_codes:
            _same(ops.convert(words, layout, other, shape), reference.pack(codes, other), f"to {other.name}, {label}")
    if layout.name == "u2":
        _same(ops.split_planes(words, shape), reference.split_planes(words, shape), f"split_planes {label}")


def _check_products(layout: Layout, codes: Array, rng: np.random.Generator, label: str) -> None:
    n, m = shape = codes.shape
    words = reference.pack(codes, layout)
    tables: list[Array | None] = [None, rng.normal(size=4)] if layout.name == "u2" else [None]
    for k in (1, 3, 11):
        for name, length in (("matmul", m), ("rmatmul", n)):
            for precision in ("fast", "float32"):
                for table in tables:
                    dtype = np.float32 if rng.random() < 0.5 else np.float64
                    values = rng.standard_t(2, size=(length, k)).astype(dtype)
                    options = {"zero2": int(layout.n_codes - 1), "table": table, "precision": precision}
                    found = getattr(ops, name)(words, layout, shape, values, **options)
                    expected = getattr(reference, name)(words, layout, shape, values, **options)
                    _same(found, expected, f"{name} {label}, {k} columns, {precision}")
    other_rows, other_columns = codes[rng.permutation(n)[: n // 2]], codes[:, rng.permutation(m)[: m // 2]]
    for name, other in (("gram", other_columns), ("kernel", other_rows)):
        for dtype in (np.float32, np.float64):
            for zero2 in (0, layout.n_codes - 1):
                for second in (None, other):
                    arguments: tuple[Any, ...] = ()
                    if second is not None:
                        arguments = (reference.pack(second, layout), second.shape)
                    found = getattr(ops, name)(words, layout, shape, *arguments, zero2=zero2, dtype=dtype)
                    expected = getattr(reference, name)(words, layout, shape, *arguments, zero2=zero2, dtype=dtype)
                    _same(found, expected, f"{name} {label}, zero2={zero2}, {np.dtype(dtype)}")


def check_ops(backend: str | None = None, rng: int | np.random.Generator | None = None) -> None:
    """Compare every compute routine with its NumPy specification, to the bit.

    Run it on a new machine, a new instruction set or a new backend before trusting results there.

    Parameters
    ----------
    backend : str, optional
        Name of an implementation in `nanogram.ops.available_isas`; default: each of them in turn.
    rng : int or numpy.random.Generator, optional
        Where the test matrices come from (default: seed 0).

    Raises
    ------
    AssertionError
        Naming the routine, the storage layout, the place and both values, at the first difference.

    Examples
    --------
    >>> from nanogram.testing import check_ops
    >>> check_ops("reference")
    """
    generator = np.random.default_rng(0 if rng is None else rng)
    for level in ops.available_isas() if backend is None else (backend,):
        with ops.use_isa(level):
            for layout in LAYOUTS.values():
                for shape in _SHAPES:
                    codes = generator.integers(0, layout.n_codes, shape).astype(layout.code_dtype)
                    label = f"{layout.name} {shape[0]} x {shape[1]} on {level}"
                    _check_storage(layout, codes, generator, label)
                    _check_products(layout, codes, generator, label)
