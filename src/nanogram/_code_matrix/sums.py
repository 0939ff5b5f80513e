"""Sums of decoded values, in double."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nanogram import ops

from .blocks import decoded_rows, row_ranges
from .gram import expand

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Float64 = npt.NDArray[np.float64]


def column_sums(Z: CodeMatrix) -> Float64:
    """Sum of each column: exact integer sums of the codes, then the decoder."""
    result = np.zeros(Z.shape[1])
    if Z.code.layout is None:
        for start, stop in row_ranges(*Z.shape):
            result += Z.storage[start:stop].sum(axis=0, dtype=np.float64)
        return result
    alpha, planes = expand(Z)
    for plane in planes:
        result += plane.column_sums(Z.shape)
    return result + Z.shape[0] * alpha


def row_sums(Z: CodeMatrix) -> Float64:
    """Sum of each row; from the integers unless the decoder differs by column."""
    result = np.zeros(Z.shape[0])
    if Z.code.layout is None or np.ndim(Z.code.scale) or np.ndim(Z.code.offset):
        for start, stop in row_ranges(*Z.shape):
            result[start:stop] = decoded_rows(Z, start, stop).sum(axis=1, dtype=np.float64)
        return result
    alpha, planes = expand(Z)
    for plane in planes:
        result += plane.row_sums(Z.shape)
    return result + Z.shape[1] * alpha


def squared_row_norms(Z: CodeMatrix) -> Float64:
    """Sum of the squares of each row.

    The squares of few levels are levels too, of the same codes: with one bit their sum is linear in that of the codes,
    with two it is a product of the table of squares and ones. Five trits a byte are made two bits each, block by block.
    More levels are decoded.
    """
    layout, n_columns = Z.code.layout, Z.code.n_columns
    if layout is not None and ops.get_layout(layout).n_codes <= 4 and (n_columns is None or layout == "u1"):
        squares = np.square(Z.code.code_values.astype(np.float32), dtype=np.float64)  # of values as they are decoded
        if np.isfinite(squares).all():
            return _one_bit(Z, squares) if layout == "u1" else _two_bits(Z, squares)
    result = np.empty(Z.shape[0])
    single = layout is not None and _squares_in_single(Z.code.code_values)
    for start, stop in row_ranges(*Z.shape):
        block = decoded_rows(Z, start, stop)
        result[start:stop] = _sum_of_squares(block if single else block.astype(np.float64))
    return result


def _one_bit(Z: CodeMatrix, squares: Float64) -> Float64:
    zeros, steps = squares[0], squares[-1] - squares[0]
    if steps.ndim == 0:
        counts = ops.row_sums(Z.storage, "u1", Z.shape)
        return np.asarray(Z.shape[1] * zeros + steps * counts, dtype=np.float64)
    product = ops.matmul(Z.storage, "u1", Z.shape, steps[:, None], zero2=1, precision="float32")
    return np.asarray(np.maximum(product[:, 0] + (zeros + 0.5 * steps).sum(), 0.0))  # no rounding below 0


def _two_bits(Z: CodeMatrix, squares: Float64) -> Float64:
    table = np.resize(squares, 4)  # codes beyond the levels do not occur
    ones, result = np.ones((Z.shape[1], 1)), np.empty(Z.shape[0])
    layout = str(Z.code.layout)
    step = Z.shape[0] if layout == "u2" else None
    for start, stop in [(0, step)] if step is not None else row_ranges(*Z.shape):
        words = Z.storage[start // ops.ROWS_PER_TILE : -(-stop // ops.ROWS_PER_TILE)]
        shape = stop - start, Z.shape[1]
        if layout != "u2":
            words = ops.convert(words, layout, "u2", shape)
        result[start:stop] = ops.matmul(words, "u2", shape, ones, table=table, precision="float32")[:, 0]
    return result


def _squares_in_single(values: Float64) -> bool:
    """Whether squares neither overflow nor vanish in single precision."""
    largest = np.abs(values).max(initial=0.0)
    return bool(1e-12 < largest < 1e12)


def _sum_of_squares(block: npt.NDArray[Any]) -> Float64:
    """Of each row, in the precision of the block over 512 columns at a time, in double from there."""
    result = np.zeros(len(block))
    for start in range(0, block.shape[1], 512):
        part = block[:, start : start + 512]
        result += np.einsum("ij,ij->i", part, part)
    return result
