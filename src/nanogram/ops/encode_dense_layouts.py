"""Integer weights laid out for the paths of ``core/encode_dense`` (its header names the arrays)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["GEMM_COLUMNS", "SPARSE_CHUNK", "SPARSE_INPUTS", "gemm_tiles", "sparse_lists", "table_groups"]

Array = npt.NDArray[Any]

# The constants of core/encode_dense/encode_dense.hpp.
GEMM_COLUMNS: Final = 12
SPARSE_INPUTS: Final = 896
SPARSE_CHUNK: Final = 960
TABLE_PASS: Final = 8
LANE_BYTES: Final = 32
#: Weights that one index of a table holds, by base.
TABLE_DIGITS: Final = {2: 6, 3: 4}


def gemm_tiles(weights: Array, depth: int, dtype: npt.DTypeLike) -> tuple[Array, npt.NDArray[np.int32]]:
    """Tiles [block of 12 columns][input / depth][12][depth], zero-padded, and the padded columns' sums."""
    m, p = weights.shape
    blocks, steps = -(-m // GEMM_COLUMNS), -(-p // depth)
    padded = np.zeros((blocks * GEMM_COLUMNS, steps * depth), dtype=dtype)
    padded[:m, :p] = weights
    tiles = padded.reshape(blocks, GEMM_COLUMNS, steps, depth).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(tiles).reshape(-1), padded.sum(axis=1, dtype=np.int32)


def table_groups(weights: Array, base: int) -> npt.NDArray[np.uint8]:
    """Indices [pass][column][8]; digit d of an index, ``base**d``, is weight + 1 (trits) or 1 for + (signs)."""
    m, p = weights.shape
    digits = TABLE_DIGITS[base]
    passes = -(-p // (TABLE_PASS * digits))
    padded = np.zeros((m, passes * TABLE_PASS * digits), dtype=np.uint8)
    padded[:, :p] = weights + 1 if base == 3 else weights > 0
    places = (base ** np.arange(digits)).astype(np.uint8)
    index = (padded.reshape(m, passes, TABLE_PASS, digits) * places).sum(axis=-1, dtype=np.uint8)
    return np.ascontiguousarray(index.transpose(1, 0, 2)).reshape(-1)


def sparse_lists(weights: Array) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Entries, starts and order of weights -1, 0, +1.

    Inputs come in blocks of 896. A column has, in each block, a list of its + inputs and one of its - inputs, each
    padded to whole fours with the block's row of zeros. Within a chunk of 960 the columns are taken in the order of
    their lists' lengths, so that the loops over neighbouring columns turn equally often.
    """
    m, p = weights.shape
    n_blocks = -(-p // SPARSE_INPUTS)
    order = np.empty(m, dtype=np.int32)
    first = weights[:, :SPARSE_INPUTS]
    lengths = (-(-(first > 0).sum(axis=1) // 4), -(-(first < 0).sum(axis=1) // 4))
    for start in range(0, m, SPARSE_CHUNK):
        part = slice(start, start + SPARSE_CHUNK)
        order[part] = start + np.lexsort((lengths[1][part], lengths[0][part]))
    entries, fours = [], [np.zeros(1, dtype=np.int64)]
    for block in range(n_blocks):
        inputs = weights[:, block * SPARSE_INPUTS : (block + 1) * SPARSE_INPUTS]
        # Row 2 i of `chosen` is the + list of the i-th column in order, row 2 i + 1 its - list.
        for start in range(0, m, SPARSE_CHUNK):
            chunk = inputs[order[start : start + SPARSE_CHUNK]]
            chosen = np.stack([chunk > 0, chunk < 0], axis=1).reshape(2 * len(chunk), -1)
            counts = chosen.sum(axis=1)
            units = -(-counts // 4)
            lists = np.full(4 * int(units.sum()), SPARSE_INPUTS * LANE_BYTES, dtype=np.uint16)
            rows, k = np.nonzero(chosen)
            within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            lists[4 * (np.cumsum(units) - units)[rows] + within] = k * LANE_BYTES
            entries.append(lists)
            fours.append(units)
    starts = np.cumsum(np.concatenate(fours), dtype=np.int64)
    return np.concatenate(entries) if entries else np.zeros(0, dtype=np.uint16), starts, order
