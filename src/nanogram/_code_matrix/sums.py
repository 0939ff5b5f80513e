"""Sums of decoded values, in double."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

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
    """Sum of the squares of each row."""
    result = np.empty(Z.shape[0])
    for start, stop in row_ranges(*Z.shape):
        block = decoded_rows(Z, start, stop).astype(np.float64)
        result[start:stop] = np.einsum("ij,ij->i", block, block)
    return result
