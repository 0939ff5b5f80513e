"""Fair signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["Rademacher"]


class Rademacher(Projection):
    """Independent entries +1 or -1; stores the seed, costs p additions a feature.

    Examples
    --------
    >>> from nanogram.projections import Rademacher
    >>> Rademacher().draw(n_inputs=5, n_components=2, seed=7).weights_int8()
    array([[ 1, -1, -1,  1, -1],
           [ 1, -1, -1,  1, -1]], dtype=int8)
    """

    name = "rademacher"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        return _DrawnRademacher(self, p, m, seed, cache_bytes)


class _DrawnRademacher(DrawnRows):
    @property
    def int8_scale(self) -> float:
        return 1.0

    def _block_int8(self, rows: Numbers, columns: Numbers) -> npt.NDArray[np.int8]:
        return Stream(self.seed, "projection.rademacher").sign(rows, columns)

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        return self._block_int8(rows, columns).astype(dtype)
