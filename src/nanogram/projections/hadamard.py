"""Hadamard matrices and random signs, alternating: fast, and free of products."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import checked_integer
from .base import Array, Drawn, DrawnBlocks, Numbers, Projection
from .counter import Stream

__all__ = ["Hadamard", "fast_hadamard"]


class Hadamard(Projection):
    """Hadamard matrices and random signs in turn, one to three rounds of them.

    Blocks ``H D_r ... H D_1 / P**((r - 1) / 2)`` of P features, P the power of two from p on, the last truncated.
    H is the Hadamard matrix of +1 and -1 in Sylvester's order, the D are diagonals of fair signs, rows are padded with
    zeros to P inputs. Three rounds are the SORF of the literature; with one round entries are +1 and -1, and the
    features of a block differ from a fixed set by the signs of the inputs alone. Stores the seed (a table of signs
    would take r bits a feature), costs r log2(P) additions a feature.

    Parameters
    ----------
    rounds : int, default=3
        1, 2 or 3.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Hadamard
    >>> drawn = Hadamard(rounds=2).draw(n_inputs=3, n_components=6, seed=7)
    >>> drawn.block_size, drawn.n_blocks
    (4, 2)
    >>> X = np.arange(6.0).reshape(2, 3)
    >>> bool((drawn.project(X) == X @ drawn.materialize().T).all())
    True
    """

    name = "hadamard"

    def __init__(self, rounds: int = 3) -> None:
        self.rounds = rounds

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        checked_integer("rounds", self.rounds, 1, 4)
        return _DrawnHadamard(self, p, m, seed, cache_bytes)


class _DrawnHadamard(DrawnBlocks):
    law: Hadamard

    @property
    def block_size(self) -> int:
        return 1 << (self.n_inputs - 1).bit_length()

    @property
    def scale(self) -> float:
        """What the integer matrix ``H D_r ... H D_1`` is multiplied by."""
        return math.pow(self.block_size, -(self.law.rounds - 1) / 2)

    @property
    def int8_scale(self) -> float | None:
        return 1.0 if self.law.rounds == 1 else None

    def cost(self, n: int = 1) -> float:
        size = self.block_size
        return float(n) * self.n_blocks * self.law.rounds * size * (size.bit_length() - 1)

    def signs(self, block: int) -> npt.NDArray[np.int8]:
        """Diagonals of a block, (rounds, block_size); the first is applied first."""
        stream = Stream(self.seed, "projection.hadamard")
        return np.concatenate([stream.sign([block], self.block_size, draw=d) for d in range(self.law.rounds)])

    def hadamard_signs(self) -> npt.NDArray[np.uint32]:
        """The diagonals of all blocks, packed.

        Returns
        -------
        ndarray of uint32, shape (n_blocks, rounds, ceil(block_size / 32))
            Bit ``k % 32`` (lowest first) of word ``k // 32`` is set where entry k of the diagonal is -1; round 0 is
            D_1, which is applied first.
        """
        stream, size = Stream(self.seed, "projection.hadamard"), self.block_size
        packed = np.zeros((self.n_blocks, self.law.rounds, -(-size // 32) * 4), dtype=np.uint8)
        for d in range(self.law.rounds):
            bits = np.packbits(stream.sign(self.n_blocks, size, draw=d) < 0, axis=1, bitorder="little")
            packed[:, d, : bits.shape[1]] = bits
        return packed.view("<u4").astype(np.uint32, copy=False)

    def _transform(self, x: Array, block: int) -> Array:
        y = np.zeros((len(x), self.block_size), dtype=x.dtype)
        y[:, : self.n_inputs] = x
        for diagonal in self.signs(block):
            y *= diagonal
            y = fast_hadamard(y)
        y *= x.dtype.type(self.scale)
        return y

    def _rows(self, rows: Numbers) -> npt.NDArray[np.float64]:
        """Rows of ``H D_r ... H D_1``: exact integers below 2**53."""
        numbers, size = np.asarray(rows), self.block_size
        block, row = np.divmod(numbers, size)
        parity = np.bitwise_count(row[:, None] & np.arange(size)) & 1
        out: npt.NDArray[np.float64] = 1.0 - 2.0 * parity
        for b in np.unique(block):
            which = block == b
            signs = self.signs(int(b))
            v = out[which] * signs[-1]
            for diagonal in signs[-2::-1]:
                v = fast_hadamard(v) * diagonal
            out[which] = v
        return out

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        return (self._rows(rows)[:, np.asarray(columns)] * self.scale).astype(dtype)

    def _block_int8(self, rows: Numbers, columns: Numbers) -> npt.NDArray[np.int8]:
        return self._rows(rows)[:, np.asarray(columns)].astype(np.int8)


@cache
def _matrix(size: int) -> npt.NDArray[np.float32]:
    """Sylvester's Hadamard matrix."""
    index = np.arange(size)
    matrix: npt.NDArray[np.float32] = np.float32(1) - 2 * (np.bitwise_count(index[:, None] & index) & 1)
    matrix = matrix.astype(np.float32)
    matrix.setflags(write=False)
    return matrix


def fast_hadamard(x: Array) -> Array:
    """``x @ H`` for rows of a power of two of numbers, H unnormalised.

    H is the Kronecker product of Hadamard matrices of at most 32 rows, each applied as small dense products, row by
    row: more operations than butterflies, but NumPy runs them many times faster. They are too small for BLAS to
    share out among threads, which would cost more than it gains.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections.hadamard import fast_hadamard
    >>> fast_hadamard(np.array([[1.0, 0.0, 2.0, 0.0]]))
    array([[ 3.,  3., -1., -1.]])
    """
    n, size = x.shape
    y, done = np.ascontiguousarray(x), 1
    while done < size:
        factor = min(32, size // done)
        matrix = _matrix(factor).astype(x.dtype, copy=False)
        y = y.reshape(n, size // (factor * done), factor, done)
        y = np.matmul(y[..., 0], matrix) if done == 1 else np.matmul(matrix, y)
        done *= factor
    return y.reshape(n, size)
