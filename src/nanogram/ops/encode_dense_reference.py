"""What ``core/encode_dense`` computes, in NumPy: the specification, bit for bit.

Integer rows ``x`` (int16, magnitudes up to ``2**(bits - 1) - 1``) and integer weights ``w`` give exact accumulators
``acc[i, j] = sum_k x[i, k] w[j, k]``, which must fit int32 whatever the row. A code is made of each:

- step codes count the thresholds below the accumulator, ``codes[sum_i (acc > thresholds[i, j])]``;
- cosine codes round ``cos_u16`` of the upper 16 bits of ``acc * multiplier + bias[j]`` modulo ``2**32``;
- periodic codes count the thresholds below that cosine.

A pair gives two columns for each weight vector, 2 j from the phase itself and 2 j + 1 from the phase less a quarter
turn: cosine and sine. Random rounding draws by the key of the row and the number of the output column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .encode_reference import cos_u16, cosine_codes

__all__ = ["accumulators", "cosines", "interval_codes", "rounded_cosines"]

Array = npt.NDArray[Any]
# Entries of the wide product made at a time.
_BLOCK = 1 << 20


def accumulators(x: Any, weights: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
    """``x @ weights.T``, exact; ``x`` dense or compressed rows of integers.

    Examples
    --------
    >>> import numpy as np
    >>> accumulators(np.array([[1, 2], [3, 4]], dtype=np.int16), np.array([[1, -1], [0, 1], [1, 1]], dtype=np.int8))
    array([[-1,  2,  3],
           [-1,  4,  7]], dtype=int32)
    """
    out = np.empty((x.shape[0], len(weights)), dtype=np.int32)
    # float64 sums of integers below 2**53 are exact, and BLAS makes them.
    columns = weights.astype(np.float64).T
    step = max(1, _BLOCK // max(1, x.shape[1]))
    for start in range(0, len(out), step):
        # Compressed rows give a plain array too.
        out[start : start + step] = x[start : start + step].astype(np.float64) @ columns
    return out


def interval_codes(values: Array, thresholds: Array, codes: Array) -> Array:
    """``codes[sum_i (values > thresholds[i])]``; thresholds (steps, m) or (steps, 1)."""
    interval = np.zeros(values.shape, dtype=np.int64)
    for row in thresholds:
        interval += values > row
    return np.asarray(codes[interval])


def cosines(
    acc: npt.NDArray[np.int32], multiplier: int, bias: npt.NDArray[np.uint32], pair: bool
) -> npt.NDArray[np.uint16]:
    """``cos_u16`` of the upper 16 bits of the phases, cosine and sine columns interleaved for a pair."""
    phase = acc.view(np.uint32) * np.uint32(multiplier & 0xFFFFFFFF) + bias
    if pair:
        phase = np.stack([phase, phase - np.uint32(1 << 30)], axis=-1).reshape(len(acc), 2 * len(bias))
    return cos_u16((phase >> np.uint32(16)).astype(np.uint16))


def rounded_cosines(c: npt.NDArray[np.uint16], bits: int, words: Array | int) -> Array:
    """``cosine_codes`` of ``bits`` bits, rounded with the words (32768: to nearest)."""
    return np.asarray(cosine_codes(c, bits, words))
