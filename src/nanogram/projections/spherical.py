"""Spherical structured features (SSF): points of the sphere from some rows of a Fourier matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from ._blocks import dense_rows
from .base import Array, Drawn, Numbers, Projection
from .counter import Stream

__all__ = ["Spherical"]


class Spherical(Projection):
    """Rows of norm ``sqrt(p)`` spread over the sphere by a lattice, applied by one FFT.

    The construction of Lyu (Spherical structured feature maps, 2017). For a prime N, at least m / 2 and more than
    h = ceil(p / 2), and a set of h frequencies k_i, rows 2 j and 2 j + 1 of W are

        sqrt(2) (cos a_ij, sin a_ij),   sqrt(2) (-sin a_ij, cos a_ij),   a_ij = 2 pi k_i j / N + theta_i,  i < h,

    which are orthogonal. The frequencies are powers of one number, the first h elements of the smallest multiplicative
    subgroup modulo N that has so many; they are Lyu's closed form where h divides N - 1. The phases theta_i and the
    order of the inputs are random, so that entries have mean 0, variance 1 and no correlation in a row. For odd p the
    last number of a row is left out and the row scaled to norm ``sqrt(p)``; at p = 1 rows are signs.

    All norms are equal: kernels are those of directions uniform on the sphere, close to the Gaussian ones for large p.
    Unlike with other laws, row j depends on ``n_components``. Stores ``16 h`` bytes of frequencies and phases and the
    order of the inputs, costs about 2.5 log2(m / 2) multiply-adds a feature where m / 2 exceeds p / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Spherical
    >>> W = Spherical().draw(n_inputs=4, n_components=6, seed=7).materialize()
    >>> bool(np.allclose(np.linalg.norm(W, axis=1), 2))
    True
    """

    name = "spherical"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        half = (p + 1) // 2
        prime = _next_prime(max((m + 1) // 2, half + 1, 3))
        stream = Stream(seed, "projection.spherical")
        return _DrawnSpherical(
            self,
            p,
            m,
            seed,
            cache_bytes,
            prime,
            _subgroup(prime, half),
            2 * np.pi * stream.uniform(1, half)[0],
            stream.permutation(p, row=1),
        )


def _prime_factors(n: int) -> list[int]:
    found, d = [], 2
    while d * d <= n:
        if n % d == 0:
            found.append(d)
            while n % d == 0:
                n //= d
        d += 1
    return [*found, n] if n > 1 else found


def _next_prime(n: int) -> int:
    while _prime_factors(n) != [n]:
        n += 1
    return n


def _subgroup(prime: int, size: int) -> npt.NDArray[np.int64]:
    """The first ``size`` powers of an element of the least order, modulo the prime, that is not smaller."""
    order = next(d for d in range(size, prime) if (prime - 1) % d == 0)
    factors = _prime_factors(prime - 1)
    root = next(g for g in range(1, prime) if all(pow(g, (prime - 1) // f, prime) != 1 for f in factors))
    element = pow(root, (prime - 1) // order, prime)
    powers = [1]
    while len(powers) < size:
        powers.append(powers[-1] * element % prime)
    return np.array(powers, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _DrawnSpherical(Drawn):
    prime: int
    frequencies: npt.NDArray[np.int64]
    phases: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]

    @property
    def kind(self) -> str:
        return "fast"

    def cost(self, n: int = 1) -> float:
        return float(n) * (2.5 * self.prime * float(np.log2(self.prime)) + 2 * self.n_inputs)

    def _angles(self, pairs: npt.NDArray[np.int64], which: slice) -> npt.NDArray[np.float64]:
        """Angles a_ij of pairs j (rows) and some i (columns); whole turns are taken out in integers."""
        turns = pairs[:, None] * self.frequencies[which] % self.prime
        return np.asarray(turns * (2 * np.pi / self.prime) + self.phases[which])

    def _scales(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Factors that bring rows of cosines and sines to norm sqrt(p)."""
        p = self.n_inputs
        if p % 2 == 0:
            return np.full(len(rows), np.sqrt(2.0))
        last = self._angles(rows // 2, slice(-1, None))[:, 0]
        dropped = np.where(rows % 2 == 0, np.sin(last), np.cos(last))
        return np.asarray(np.sqrt(p / ((p + 1) / 2 - dropped * dropped)))

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        numbers, inputs = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        place = np.argsort(self.order)[inputs]
        # Row 2 j + 1 is row 2 j a quarter turn on, and sines are cosines a quarter turn back.
        angles = self._angles(numbers // 2, slice(None))[:, place // 2]
        quarters = (numbers % 2)[:, None] - place % 2
        cosines = np.cos(angles + np.pi / 2 * quarters)
        if self.n_inputs == 1:
            return np.copysign(1.0, cosines).astype(dtype)
        return np.asarray(self._scales(numbers)[:, None] * cosines, dtype=dtype)

    def _project(self, X: Any, features: range, out: Array) -> None:
        p, complex_type = self.n_inputs, np.result_type(out.dtype, np.complex64)
        if p == 1:
            # A lone cosine, which may be all but 0, would lose its digits in the transform.
            weights = self.materialize(np.asarray(features), dtype=out.dtype)
            for rows, x in dense_rows(X, out.dtype, 1):
                np.multiply(x, weights.T, out=out[rows])
            return
        turn = np.exp(1j * self.phases).astype(complex_type)
        scales = (self._scales(np.arange(features.start, features.stop)) * self.prime).astype(out.dtype)
        for rows, x in dense_rows(X, out.dtype, 6 * self.prime):
            pairs = np.zeros((len(x), len(turn)), dtype=complex_type)
            pairs.real = x[:, self.order[::2]]
            pairs.imag[:, : p // 2] = -x[:, self.order[1::2]]
            spectrum = np.zeros((len(x), self.prime), dtype=complex_type)
            spectrum[:, self.frequencies] = pairs * turn
            y = fft.ifft(spectrum, axis=1, overwrite_x=True)
            first = features.start // 2
            y = y[:, first : -(-features.stop // 2)]
            flat = np.empty((len(x), 2 * y.shape[1]), dtype=out.dtype)
            flat[:, ::2], flat[:, 1::2] = y.real, -y.imag
            start = features.start - 2 * first
            out[rows] = flat[:, start : start + len(features)] * scales
