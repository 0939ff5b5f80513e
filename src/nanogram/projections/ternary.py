"""Sparse signs: -1, 0 and +1 up to a scale."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["SparsityWarning", "Ternary"]

#: Nonzeros a row, on average, below which projections are far from Gaussian.
ENOUGH: Final = 16
#: Nonzeros a row, on average, below which filling a row would take hundreds of draws.
LEAST: Final = 0.01


class SparsityWarning(UserWarning):
    """Projections have too few nonzeros to behave like Gaussian ones."""


class Ternary(Projection):
    """Independent entries, 0 with probability ``sparsity``, else +c or -c with equal probability.

    A row of W without a nonzero is drawn again, by the next ``draw`` number of the generator, until it has one. Given
    that, entries are still uncorrelated, and ``c = sqrt((1 - sparsity**p) / (1 - sparsity))`` makes their variance 1;
    it is ``(1 - sparsity)**-0.5`` to working precision save for rows of a few inputs. Stores the seed and 16 bytes for
    each row drawn again; costs ``p (1 - sparsity)`` additions a feature.

    Parameters
    ----------
    sparsity : float, default=0.9
        From 0, below 1. Fewer than 16 nonzeros a row on average, ``p (1 - sparsity)``, give a `SparsityWarning`;
        fewer than 0.01 are refused.

    Examples
    --------
    >>> from nanogram.projections import Ternary
    >>> drawn = Ternary(sparsity=0.5).draw(n_inputs=100, n_components=3, seed=7)
    >>> drawn.weights_int8(rows=[0])[0, :10]
    array([ 0, -1,  0,  0,  0,  1,  0,  0,  0,  0], dtype=int8)
    >>> round(drawn.int8_scale, 6)
    1.414214
    """

    name = "ternary"

    def __init__(self, sparsity: float = 0.9) -> None:
        self.sparsity = sparsity

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        sparsity = self.sparsity
        if isinstance(sparsity, bool) or not isinstance(sparsity, int | float | np.integer | np.floating):
            raise TypeError(f"sparsity={sparsity!r} must be a number from 0, below 1")
        if not 0.0 <= sparsity < 1.0:
            raise ValueError(f"sparsity={sparsity!r} must be from 0, below 1")
        nonzeros = p * (1.0 - float(sparsity))
        if nonzeros < LEAST * (1 - 1e-9):
            raise ValueError(
                f"sparsity={sparsity!r} leaves {nonzeros:.2g} of {p} inputs a projection on average, nearly all "
                f"projections empty; at most {1 - LEAST / p:.6g} is accepted for {p} inputs"
            )
        if sparsity > 0 and nonzeros < ENOUGH * (1 - 1e-9):
            advice = f"sparsity at most {1 - ENOUGH / p:.3g}" if p > ENOUGH else "sparsity=0"
            warnings.warn(
                f"sparsity={sparsity!r} leaves {nonzeros:.3g} of {p} inputs a projection on average; fewer than "
                f"{ENOUGH} are far from Gaussian: choose {advice} or the projection 'hadamard'",
                SparsityWarning,
                stacklevel=3,
            )
        redrawn, draws = _redraws(Stream(seed, "projection.ternary"), m, p, float(sparsity))
        return _DrawnTernary(self, p, m, seed, cache_bytes, redrawn, draws)


def _redraws(stream: Stream, m: int, p: int, sparsity: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows that draw 0 leaves empty, and the first draw that does not."""
    draws = np.zeros(m if sparsity else 0, dtype=np.int64)
    for start in range(0, len(draws), 1 << 16):
        empty = np.arange(start, min(start + (1 << 16), m))
        draw = 0
        while len(empty):
            draws[empty] = draw
            # Few rows are empty beyond the first columns: the search seldom reads more of them.
            for column in range(0, p, 64):
                some = stream.ternary(empty, range(column, min(column + 64, p)), sparsity=sparsity, draw=draw)
                empty = empty[~some.any(axis=1)]
                if not len(empty):
                    break
            draw += 1
    rows = np.flatnonzero(draws)
    return rows, draws[rows]


@dataclass(frozen=True, eq=False)
class _DrawnTernary(DrawnRows):
    law: Ternary
    redrawn: npt.NDArray[np.int64]
    draws: npt.NDArray[np.int64]

    @property
    def int8_scale(self) -> float:
        sparsity = float(self.law.sparsity)
        return float(np.sqrt((1.0 - sparsity**self.n_inputs) / (1.0 - sparsity)))

    def cost(self, n: int = 1) -> float:
        return super().cost(n) * (1.0 - float(self.law.sparsity))

    def _block_int8(self, rows: Numbers, columns: Numbers) -> npt.NDArray[np.int8]:
        stream, sparsity = Stream(self.seed, "projection.ternary"), float(self.law.sparsity)
        weights = stream.ternary(rows, columns, sparsity=sparsity)
        if len(self.redrawn) and len(rows):
            numbers = np.asarray(rows)
            place = np.minimum(np.searchsorted(self.redrawn, numbers), len(self.redrawn) - 1)
            draw = np.where(self.redrawn[place] == numbers, self.draws[place], 0)
            for d in np.unique(draw[draw > 0]):
                again = np.flatnonzero(draw == d)
                weights[again] = stream.ternary(numbers[again], columns, sparsity=sparsity, draw=int(d))
        return weights

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        weights: Array = self._block_int8(rows, columns).astype(dtype)
        weights *= dtype.type(self.int8_scale)
        return weights
