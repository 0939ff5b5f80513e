"""Circulant blocks with random signs, applied by FFT (LP section 4.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import fft

from .base import Array, Drawn, DrawnBlocks, Numbers, Projection
from .counter import Stream

__all__ = ["Circulant"]


class Circulant(Projection):
    """Square blocks ``circ(g) diag(s)``, one under the other, the last one truncated.

    ``W[b p + i, j] = g_b[(i - j) mod p] s_b[j]`` with g standard normal and s fair signs: each row is Gaussian, rows
    of a block are uncorrelated but share their p numbers. Stores the seed (a table of g would take 32 bits a feature),
    costs about 5 log2(p) multiply-adds a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Circulant
    >>> drawn = Circulant().draw(n_inputs=3, n_components=4, seed=7)
    >>> X = np.arange(6.0).reshape(2, 3)
    >>> bool(np.allclose(drawn.project(X), X @ drawn.materialize(dtype=np.float64).T))
    True
    """

    name = "circulant"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        return _DrawnCirculant(self, p, m, seed, cache_bytes)


class _DrawnCirculant(DrawnBlocks):
    @property
    def block_size(self) -> int:
        return self.n_inputs

    def cost(self, n: int = 1) -> float:
        p = self.n_inputs
        # Two real FFTs of 2.5 p log2 p operations, the signs and the product of the spectra.
        return float(n) * self.n_blocks * p * (2.5 * math.log2(max(p, 2)) + 3)

    def _parts(self, block: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        stream, p = Stream(self.seed, "projection.circulant"), self.n_inputs
        return stream.normal([block], p, dtype=dtype)[0], stream.sign([block], p, draw=1)[0]

    def _transform(self, x: Array, block: int) -> Array:
        g, signs = self._parts(block, x.dtype)
        spectrum = fft.rfft(x * signs, axis=1) * fft.rfft(g)
        result: Array = fft.irfft(spectrum, n=self.n_inputs, axis=1)
        return result

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        numbers, inputs = np.asarray(rows), np.asarray(columns)
        out = np.empty((len(numbers), len(inputs)), dtype=dtype)
        block, shift = np.divmod(numbers, self.n_inputs)
        for b in np.unique(block):
            which = block == b
            g, signs = self._parts(int(b), dtype)
            out[which] = g[(shift[which, None] - inputs) % self.n_inputs] * signs[inputs]
        return out
