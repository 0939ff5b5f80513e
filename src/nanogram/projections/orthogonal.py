"""Orthogonal rows with the norms of Gaussian ones (orthogonal random features, ORF)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["Orthogonal"]


class Orthogonal(Projection):
    """Blocks of p orthogonal rows, uniform on the sphere, times independent chi norms: every row is Gaussian.

    A block is ``diag(r) Q``: Q holds the rows of a Gaussian block orthonormalised in order (QR with a positive
    diagonal), r the norms of the rows of another one. Kernel estimates vary less than with independent rows. Stores
    the seed, costs p multiply-adds a feature; a block that is not kept is factorised anew each time (about p**2 a
    feature). Blocks are the same to rounding on every machine, not to the bit: LAPACK does not promise that.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Orthogonal
    >>> W = Orthogonal().draw(n_inputs=3, n_components=5, seed=7).materialize(dtype=np.float64)
    >>> gram = W[:3] @ W[:3].T
    >>> bool(np.allclose(gram, np.diag(np.diag(gram))))
    True
    """

    name = "orthogonal"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        return _DrawnOrthogonal(self, p, m, seed, cache_bytes)


class _DrawnOrthogonal(DrawnRows):
    @property
    def _grain(self) -> int:
        return self.n_inputs

    def _whole_block(self, block: int) -> Array:
        p = self.n_inputs
        rows = range(block * p, min(block * p + p, self.n_components))
        stream = Stream(self.seed, "projection.orthogonal")
        q, r = linalg.qr(stream.normal(rows, p, dtype=np.float64).T, mode="economic", overwrite_a=True)
        norms = np.linalg.norm(stream.normal(rows, p, draw=1, dtype=np.float64), axis=1)
        return np.asarray((q * (np.copysign(1.0, np.diag(r)) * norms)).T)

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        numbers, inputs = np.asarray(rows), np.asarray(columns)
        out = np.empty((len(numbers), len(inputs)), dtype=dtype)
        block, row = np.divmod(numbers, self.n_inputs)
        for b in np.unique(block):
            which = np.flatnonzero(block == b)
            out[which] = self._whole_block(int(b))[np.ix_(row[which], inputs)]
        return out
