"""Any function as an activation: kernel and moments by quadrature."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ._base import Activation, Array, Floats, cosine

__all__ = ["UserActivation"]


class UserActivation(Activation):
    """A vectorised function with quadrature in place of closed forms; made by `Activation.of`.

    The kernel is the Hermite series sum_k c_k(|x|) c_k(|y|) cs^k to degree `DEGREE`, whose remainder is
    at most sqrt(R_x R_y) |cs|^(DEGREE + 1) with R = E[s^2] - sum c_k^2. Entries for which that exceeds
    `TOLERANCE` sqrt(K(x, x) K(y, y)), such as near duplicates under a function with jumps, are integrated
    in two dimensions instead. The diagonal is E[s^2].

    Functions that pickle (module level, not lambdas) make activations that pickle.
    """

    name = "user"
    DEGREE = 192
    TOLERANCE = 1e-9

    def __init__(
        self,
        function: Callable[[Array], Array],
        kinks: Sequence[float] = (),
        jumps: Sequence[float] = (),
        name: str | None = None,
    ) -> None:
        self.function = function
        self.kinks = kinks
        self.jumps = jumps
        self._given_name = name
        if name is not None:
            self.name = name

    @property
    def breaks(self) -> tuple[float, ...]:
        """Those declared."""
        return tuple(sorted({float(b) for b in (*self.kinks, *self.jumps)}))

    def _apply(self, t: Array, out: Array) -> None:
        values = self._evaluate(t)
        if not np.isfinite(values).all():
            raise ValueError(
                f"function {self._label} returned NaN or infinity; it must be finite on all real numbers, "
                "negative ones included"
            )
        out[...] = values

    def _evaluate(self, t: Array) -> Array:
        values = np.asarray(self.function(t))
        if values.shape != np.shape(t):
            raise ValueError(
                f"function {self._label} returned shape {values.shape} for an argument of shape {np.shape(t)}; "
                "it must work elementwise on arrays"
            )
        return values

    @property
    def _label(self) -> str:
        return repr(self._given_name or getattr(self.function, "__name__", self.function))

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        # theory/__init__ imports the activations, so its quadrature is fetched at the call.
        from nanogram.theory._quadrature import REACH, hermite_coefficients, pair_expectation, panels

        cs, _ = cosine(xx, xy, yy)
        norms, places = np.unique(np.sqrt(np.concatenate([np.ravel(xx), np.ravel(yy)])), return_inverse=True)
        coefficients, second = hermite_coefficients(self._evaluate, norms, self.DEGREE, self.breaks)
        ix, iy = places[: np.size(xx)].reshape(np.shape(xx)), places[np.size(xx) :].reshape(np.shape(yy))
        total = self._series(coefficients, ix, iy, cs)
        rest = np.sqrt(np.maximum(second - (coefficients**2).sum(axis=1), 0.0) + 1e-15 * second)
        bound = rest[ix] * rest[iy] * np.abs(cs) ** (self.DEGREE + 1)
        poor = bound > self.TOLERANCE * np.sqrt(second[ix] * second[iy])
        if poor.any():
            breaks = panels(self._evaluate, REACH * float(norms.max()), self.breaks).breaks
            nx, ny = (np.broadcast_to(np.sqrt(a), cs.shape)[poor] for a in (xx, yy))
            total[poor] = pair_expectation(self._evaluate, nx, ny, cs[poor], tuple(breaks))
        return total

    def _series(self, c: Floats, ix: npt.NDArray[np.intp], iy: npt.NDArray[np.intp], cs: Floats) -> Floats:
        """sum_k c_k(x) c_k(y) cs^k by Horner's rule."""
        total = np.zeros(cs.shape)
        for k in range(self.DEGREE, -1, -1):
            total *= cs
            total += c[ix, k] * c[iy, k]
        return total

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        # See _kernel.
        from nanogram.theory._quadrature import hermite_coefficients

        roots, places = np.unique(np.sqrt(np.asarray(tau, dtype=np.float64)), return_inverse=True)
        return hermite_coefficients(self._evaluate, roots, 0, self.breaks)[1][places].reshape(np.shape(tau))

    def _quadrature(self, tau: float) -> tuple[float, float, float, float]:
        # See _kernel.
        from nanogram.theory._quadrature import gaussian_moments

        try:
            found = gaussian_moments(self._evaluate, tau, self.breaks)
        except ValueError as error:
            raise ValueError(f"moments of {self._label}: {error}") from error
        if found.error > 1e-8:
            warnings.warn(
                f"moments of {self._label} at tau={tau} are good to {found.error:.1e} only: "
                "declare its kinks and jumps",
                RuntimeWarning,
                stacklevel=4,
            )
        return found.mean, found.d0, found.d1, found.d2

    def _moments(self, tau: float) -> tuple[float, float, float]:
        return self._quadrature(tau)[1:]

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (self._quadrature(tau)[0],)
