"""Quasi-random rows: scrambled Sobol points through the inverse of the normal distribution function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from ._threefry import normal_of
from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["QMC"]

Words = npt.NDArray[np.uint32]
BITS: Final = 32


class QMC(Projection):
    """Rows that fill the Gaussian law evenly: point j of a scrambled Sobol sequence, each input through Phi^-1.

    SciPy's Sobol sequence (Joe and Kuo's direction numbers) in 32 bits, scrambled by Matousek's random linear map and
    a random digital shift, both drawn from the seed: each entry is N(0, 1) to 32 bits, so kernel estimates are
    unbiased, and they vary less than with independent rows where few inputs matter. Powers of two of features are
    balanced best. Stores ``4 p log2(m)`` bytes of direction numbers, costs p multiply-adds a feature.

    Inputs are limited to the 21,201 dimensions of the sequence.

    Examples
    --------
    >>> from nanogram.projections import QMC
    >>> W = QMC().draw(n_inputs=3, n_components=8, seed=7).materialize()
    >>> (W > 0).sum(axis=0)
    array([4, 4, 4])
    """

    name = "qmc"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        if p > qmc.Sobol.MAXDIM:
            raise ValueError(f"n_inputs={p} is more than the {qmc.Sobol.MAXDIM} dimensions of the Sobol sequence")
        if m > 1 << BITS:
            raise ValueError(f"n_components={m} is more than the 2**{BITS} points of the Sobol sequence")
        stream = Stream(seed, "projection.qmc")
        directions = _scrambled(_directions(p, (m - 1).bit_length()), stream)
        return _DrawnQMC(self, p, m, seed, cache_bytes, directions, stream.bits([BITS], p)[0])


def _directions(p: int, count: int) -> Words:
    """The first direction numbers, (count, p), read off the points 2**k: in Gray code, bits k and k - 1."""
    sobol = qmc.Sobol(p, scramble=False, bits=BITS)
    sobol.random(1)
    found = np.zeros((count, p), dtype=np.uint32)
    for k in range(count):
        sobol.fast_forward((1 << k) - sobol.num_generated)
        found[k] = (sobol.random(1)[0] * 2.0**BITS).astype(np.uint32)
        if k:
            found[k] ^= found[k - 1]
    return found


def _scrambled(directions: Words, stream: Stream) -> Words:
    """Random lower triangular maps of the bits, highest first, one an input, applied to the direction numbers."""
    random = stream.bits(BITS, directions.shape[1])
    out = np.zeros_like(directions)
    for i in range(BITS):
        own = np.uint32(1 << (BITS - 1 - i))
        higher = np.uint32((1 << BITS) - (1 << (BITS - i)))
        parity = np.bitwise_count(directions & (random[i] & higher | own)) & np.uint8(1)
        out |= parity.astype(np.uint32) * own
    return out


@dataclass(frozen=True, eq=False)
class _DrawnQMC(DrawnRows):
    directions: Words
    shift: Words
    _effort = 16

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        number, inputs = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        gray = number ^ (number >> 1)
        words = np.repeat(self.shift[None, inputs], len(number), axis=0)
        for k, direction in enumerate(self.directions):
            words[(gray >> k & 1) == 1] ^= direction[inputs]
        return normal_of(words).astype(dtype)
