"""The limiting spectrum of the Gram matrix of m random features, for any kernel (SPECTRUM section 2).

`_gram_curve` has the mathematics: every quantity here is a closed form on that curve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _gram_curve as curve
from ._gram_panels import Panels, integrate, make_panels
from ._population import population_eigenvalues, positive_integer
from .equivalent import EquivalentKernel

__all__ = ["GramSpectrum", "IsolatedEigenvalues", "gram_spectrum"]

Floats = npt.NDArray[np.float64]
Limit = Literal["above", "below"] | None


class IsolatedEigenvalues(NamedTuple):
    """Eigenvalues of Phi that show as isolated ones of G, decreasing.

    Attributes
    ----------
    population : ndarray
        lambda, the eigenvalue of Phi.
    separated : ndarray of bool
        Whether it shows: f(lambda) < m without the spikes themselves.
    eigenvalue : ndarray
        Where: lambda + (1/m) sum_k lambda_k lambda/(lambda - lambda_k); NaN where it does not show.
    alignment : ndarray
        Squared cosine of the eigenvectors of G and Phi, lambda z'(lambda)/z(lambda); 0 where it does not show.
    """

    population: Floats
    separated: npt.NDArray[np.bool_]
    eigenvalue: Floats
    alignment: Floats


class GramSpectrum:
    """Limiting spectrum of G = Sigma Sigma^T / m, n x n, for features with E[G] = Phi; made by `gram_spectrum`.

    Attributes
    ----------
    n_samples, n_features : int
        n and m.
    eigenvalues : ndarray of shape (n,)
        Those of Phi, increasing.
    support : ndarray of shape (k, 2)
        Intervals of the real axis with density, from left to right.
    counts : ndarray of shape (k,)
        Eigenvalues of G in each of them, exactly (also those of Phi, but for the lowest where m < n).
    mass_at_zero : float
        1 - min(m, rank Phi)/n.
    """

    def __init__(self, eigenvalues: Floats, n_features: int) -> None:
        self.n_samples, self.n_features = len(eigenvalues), n_features
        self.eigenvalues = eigenvalues
        positive = eigenvalues[eigenvalues > 0]
        if not len(positive):
            raise ValueError("Phi is 0: the Gram matrix has no spectrum but 0")
        self._atoms = curve.Atoms(*_distinct(positive), float(n_features))
        self._cells = curve.cells(self._atoms)
        ends = np.array([[cell.left, cell.right] for cell in self._cells])
        self.support: Floats = curve.z_of_u(ends, self._atoms).real
        self.support[0, 0] = max(self.support[0, 0], 0.0)
        rank = len(positive)
        self.mass_at_zero = 1 - min(n_features, rank) / self.n_samples
        sums = np.concatenate([[0.0], np.cumsum(self._atoms.weights)])
        held = [sums[cell.last] - sums[cell.first] for cell in self._cells]
        held[0] -= max(rank - n_features, 0)
        self.counts = np.rint(held).astype(np.intp)
        self._panels: Panels | None = None

    def __repr__(self) -> str:
        return (
            f"GramSpectrum(n_samples={self.n_samples}, n_features={self.n_features}, "
            f"intervals={len(self.support)}, edges=({self.edges[0]:.6g}, {self.edges[1]:.6g}))"
        )

    @property
    def edges(self) -> tuple[float, float]:
        """Left and right end of the density, isolated eigenvalues included."""
        return float(self.support[0, 0]), float(self.support[-1, 1])

    @property
    def bulk(self) -> tuple[float, float]:
        """The interval that holds most eigenvalues."""
        left, right = self.support[int(np.argmax(self.counts))]
        return float(left), float(right)

    # ------------------------------------------------------------------ on the real axis

    def density(self, x: npt.ArrayLike) -> Floats:
        """Density at real x, 0 outside the support; mass at zero is not in it (infinite at 0 for rank Phi = m)."""
        points = _real("x", x)
        u = self._on_axis(points.ravel())
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.n_features / (np.pi * self.n_samples) * u.imag / np.abs(u) ** 2
        values[(u.imag == 0) & (u.real != 0)] = 0.0
        if len(self._atoms.values) and self._cells[0].left == 0.0:
            values[points.ravel() == 0] = np.inf
        return np.asarray(np.nan_to_num(values, nan=0.0, posinf=np.inf).reshape(points.shape))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Share of eigenvalues up to x, in closed form.

        ``1 - ((m - r) arg u + sum_k arg(u - lambda_k) - m x Im u/|u|^2)/(n pi)``, r the rank of Phi: the integral
        of the Stieltjes transform over u.
        """
        points = _real("x", x)
        flat = points.ravel()
        u = self._on_axis(flat)
        above = self._mass_above(flat, u) / self.n_samples
        values = np.where(flat < 0, 0.0, np.where(flat == 0, self.mass_at_zero, 1 - above))
        return np.asarray(values.reshape(points.shape))

    def _mass_above(self, x: Floats, u: npt.NDArray[np.complex128]) -> Floats:
        values, weights, m = self._atoms
        angles = np.empty(len(u))
        for start in range(0, len(u), 256):
            part = u[start : start + 256]
            angles[start : start + 256] = np.angle(part[:, None] - values) @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            last = np.where(u.imag > 0, m * x * u.imag / np.abs(u) ** 2, 0.0)
        return np.asarray(((m - weights.sum()) * np.angle(u) + angles - last) / np.pi)

    def integrate(self, function: Callable[[Floats], Floats]) -> float:
        """Integral of a function over the law: the density by quadrature, plus mass_at_zero f(0).

        ``integrate(np.ones_like)`` is 1 to rounding; that the density does integrate to what `cdf` says is how
        the panels of the quadrature are found.
        """
        if self._panels is None:
            self._panels = make_panels(self._cells, self._atoms, self._mass_above)
        inside = integrate(self._panels, function) / self.n_samples
        at_zero = self.mass_at_zero * float(function(np.zeros(1))[0]) if self.mass_at_zero > 0 else 0.0
        return inside + at_zero

    def moments(self, order: int = 4) -> Floats:
        """First moments of the law, in closed form: (1/n) tr Phi, (1/n)(tr Phi^2 + (tr Phi)^2/m), ...

        The companion law (that of Sigma^T Sigma / m) has free cumulants ``kappa_j = tr Phi^j / m``; moments follow
        by ``M_j = sum_s kappa_s sum_{i_1 + ... + i_s = j - s} M_{i_1} ... M_{i_s}`` and are m/n of its own.
        """
        order = positive_integer("order", order)
        values, weights, m = self._atoms
        cumulants = [float(weights @ values**j) / m for j in range(1, order + 1)]
        companion = np.array([1.0])
        for j in range(1, order + 1):
            power, total = np.array([1.0]), 0.0
            for s in range(1, j + 1):
                power = np.convolve(power, companion)[:j]
                total += cumulants[s - 1] * (power[j - s] if j - s < len(power) else 0.0)
            companion = np.append(companion, total)
        return companion[1:] * m / self.n_samples

    # ------------------------------------------------------------------ in the plane

    def stieltjes(self, z: npt.ArrayLike, *, limit: Limit = None) -> Any:
        """Stieltjes transform (1/n) tr (Phi/(1 + delta(z)) - z I)^-1, with the number n of samples.

        On the support it has no value, but limits from the two half-planes: real z there are refused unless ``limit``
        is "above" (the imaginary part is pi times the density) or "below". So is 0 where there is mass at zero.
        """
        points, u = self._of_plane(z, limit)
        n, m = self.n_samples, self.n_features
        rank = self._atoms.weights.sum()
        # 1 + delta = u/z. Summed over eigenvalues: the closed form -(1 - m/n)/z - (m/n)/u loses digits where m >> n.
        with np.errstate(divide="ignore", invalid="ignore"):
            values = -(curve.resolvent_sum(u, self._atoms.weights, self._atoms) * u + (n - rank)) / (n * points)
        zero = points == 0
        if zero.any():
            if self.mass_at_zero > 0 or self._cells[0].left == 0.0:
                raise ValueError(f"z = 0: the law has mass {self.mass_at_zero:.6g} there and no finite transform")
            values[zero] = np.sum(self._atoms.weights / self._atoms.values) / n / (1 - n / m)
        return values.reshape(np.shape(z))[()]

    def delta(self, z: npt.ArrayLike, *, limit: Limit = None) -> Any:
        """delta(z) = (1/m) tr Phi (Phi/(1 + delta) - z I)^-1; on the real axis as `stieltjes`."""
        points, u = self._of_plane(z, limit)
        if (points == 0).any() and self.mass_at_zero > 0:
            raise ValueError("z = 0: delta has a pole there, as the law has mass at zero")
        # u/z - 1, without its cancellation.
        part = curve.resolvent_sum(u, self._atoms.weights * self._atoms.values, self._atoms) / self.n_features
        values = -part / (1 + part)
        share = self._atoms.weights.sum() / self.n_features
        values[points == 0] = share / (1 - share) if share < 1 else np.inf
        return values.reshape(np.shape(z))[()]

    def _of_plane(
        self, z: npt.ArrayLike, limit: Limit
    ) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
        if limit not in (None, "above", "below"):
            raise ValueError(f"limit={limit!r} must be None, 'above' or 'below'")
        points = np.asarray(z, dtype=np.complex128).ravel()
        if not np.isfinite(points).all():
            raise ValueError("z contains NaN or infinity")
        u = np.empty_like(points)
        real = points.imag == 0
        if real.any():
            on = self._on_axis(points[real].real)
            if limit is None and (on.imag > 0).any():
                x = points[real].real[on.imag > 0][0]
                left, right = next(pair for pair in self.support if x <= pair[1])
                raise ValueError(
                    f"z={x:.6g} is on the support [{left:.6g}, {right:.6g}], where the transform has two limits: "
                    "pass limit='above' or 'below', or complex z; density(x) is the density there"
                )
            u[real] = on.conj() if limit == "below" else on
        if not real.all():
            up = points.real[~real] + 1j * np.abs(points.imag[~real])
            found = curve.invert(up, self._atoms)
            u[~real] = np.where(points.imag[~real] < 0, found.conj(), found)
        return points, u

    def _on_axis(self, x: Floats) -> npt.NDArray[np.complex128]:
        """u(x) for real x, the limit from above: real outside the support, on the curve inside."""
        u = np.zeros(len(x), dtype=np.complex128)
        gaps = np.searchsorted(self.support[:, 1], x, side="left")
        inside = np.zeros(len(x), dtype=bool)
        known = gaps < len(self.support)
        inside[known] = x[known] > self.support[gaps[known], 0]
        rest = np.flatnonzero(~inside)
        if len(rest):
            u[rest] = self._in_gap(x[rest], gaps[rest])
        for cell in np.unique(gaps[inside]):
            chosen = np.flatnonzero(inside & (gaps == cell))
            u[chosen] = self._in_cell(x[chosen], self._cells[cell])
        return u

    def _in_gap(self, x: Floats, gaps: npt.NDArray[np.intp]) -> Floats:
        """Between two cells, where z rises along the real u."""
        spread = np.sqrt(np.sum(self._atoms.weights * self._atoms.values**2))
        reach = 2 * (np.abs(x) + self.edges[1] + spread)
        lefts = np.array([cell.left for cell in self._cells])
        rights = np.array([cell.right for cell in self._cells])
        low = np.where(gaps > 0, rights[np.maximum(gaps - 1, 0)], -reach)
        high = np.where(gaps < len(lefts), lefts[np.minimum(gaps, len(lefts) - 1)], reach)
        return curve.bisect_rising(x, low, high, lambda u: curve.z_of_u(u, self._atoms).real)

    def _in_cell(self, x: Floats, cell: curve.Cell) -> npt.NDArray[np.complex128]:
        """Newton from a table of the curve; nested bisection where it fails."""
        theta = (np.arange(1, 129) - 0.5) * np.pi / 128
        a = (cell.left + cell.right) / 2 - (cell.right - cell.left) / 2 * np.cos(theta)
        table = a + 1j * curve.height(a, self._atoms)
        heights = curve.z_of_u(table, self._atoms).real
        start = np.interp(x, heights, a)
        rise = np.maximum(np.interp(x, heights, table.imag), 1e-9 * abs(cell.right))
        u, good = curve.newton(x.astype(np.complex128), (start + 1j * rise).astype(np.complex128), self._atoms)
        good &= (u.imag > 0) & (u.real > cell.left) & (u.real < cell.right)
        if not good.all():
            ends = np.full(np.count_nonzero(~good), cell.left), np.full(np.count_nonzero(~good), cell.right)

            def along(a: Floats) -> Floats:
                return curve.z_of_u(a + 1j * curve.height(a, self._atoms), self._atoms).real

            real = curve.bisect_rising(x[~good], *ends, along)
            u[~good] = real + 1j * curve.height(real, self._atoms)
        return u

    # ------------------------------------------------------------------ isolated eigenvalues

    def isolated(self, spikes: npt.ArrayLike | None = None) -> IsolatedEigenvalues:
        """Isolated eigenvalues of G and how well their eigenvectors are aligned with those of Phi.

        Parameters
        ----------
        spikes : array-like, optional
            Eigenvalues that Phi has beside those given to `gram_spectrum`, as `spiked_eigenvalues` predicts them.
            By default the eigenvalues of Phi in intervals of the support with at most sqrt(n) of them, the
            widest one excepted, taken one interval at a time against all others.

        Returns
        -------
        IsolatedEigenvalues
            Below the phase transition (`transition`) nothing shows.
        """
        values, weights, m = self._atoms
        if spikes is not None:
            given = np.sort(np.atleast_1d(_real("spikes", spikes)))[::-1]
            if (given <= 0).any():
                raise ValueError(f"spikes={given.tolist()} must be positive")
            return _isolated([(float(x), *_place(float(x), self._atoms)) for x in given])
        main, most = int(np.argmax(self.counts)), max(1.0, np.sqrt(self.n_samples))
        found: list[tuple[float, float, float]] = []
        for k, cell in enumerate(self._cells):
            if k == main or self.counts[k] > most:
                continue
            others = np.r_[0 : cell.first, cell.last : len(values)]
            rest = curve.Atoms(values[others], weights[others], m)
            for x, copies in zip(values[cell.first : cell.last], weights[cell.first : cell.last], strict=True):
                found += [(float(x), *_place(float(x), rest))] * round(copies)
        return _isolated(sorted(found, reverse=True))

    @property
    def transition(self) -> float:
        """Least eigenvalue of Phi above the bulk that shows in G: where f falls below m (z' = 0)."""
        return float(self._cells[int(np.argmax(self.counts))].right)


def _place(x: float, rest: curve.Atoms) -> tuple[float, float]:
    """(eigenvalue, alignment) of a spike at x against the other eigenvalues; NaN and 0 where it does not show."""
    at = np.array([x])
    slope = 1 - float(curve.slope_sum(at, np.zeros(1), rest)[0])
    if not slope > 0:
        return float("nan"), 0.0
    z = float(curve.z_of_u(at, rest).real[0])
    return z, x * slope / z


def _isolated(found: list[tuple[float, float, float]]) -> IsolatedEigenvalues:
    table = np.array(found).reshape(-1, 3)
    return IsolatedEigenvalues(table[:, 0], ~np.isnan(table[:, 1]), table[:, 1], table[:, 2])


def gram_spectrum(Phi: Any, n_features: int) -> GramSpectrum:
    """Limiting spectrum of the Gram matrix of m random features whose kernel is Phi (SPECTRUM section 2).

    With delta(z) the solution of

        delta(z) = (1/m) tr Phi (Phi/(1 + delta(z)) - z I)^-1

    the law of the n eigenvalues of G_c has the Stieltjes transform ``(1/n) tr (Phi/(1 + delta(z)) - z I)^-1``; n is
    the number of samples, not that of features as printed.

    Parameters
    ----------
    Phi : array of shape (n, n), operator, or array of shape (n,)
        The (centred) kernel matrix, an operator that has its products (an `EquivalentKernel` for instance), or the
        eigenvalues themselves. Symmetric, without negative eigenvalues beyond rounding.
    n_features : int
        m, independent features. Pairs of one projection ('rbf' as [cos, sin]) are not; 'cos_phase' is.

    Returns
    -------
    GramSpectrum
        With `density`, `cdf`, `stieltjes`, `delta`, `support`, `edges`, `mass_at_zero`, `moments`, `integrate`,
        `isolated`. Making it takes one decomposition of Phi; everything else is O(n) a point.

    Examples
    --------
    Phi = I is the law of Marchenko and Pastur.

    >>> import numpy as np
    >>> from nanogram import theory
    >>> law = theory.gram_spectrum(np.ones(100), 400)
    >>> [round(edge, 9) for edge in law.edges]
    [0.25, 2.25]
    >>> law.density(1.0).round(6).item(), round(law.integrate(np.ones_like), 9)
    (0.616404, 1.0)
    """
    m = positive_integer("n_features", n_features)
    if isinstance(Phi, GramSpectrum):
        raise TypeError("Phi is a GramSpectrum; pass the kernel matrix or its eigenvalues")
    values = np.sort(Phi.eigenvalues()) if isinstance(Phi, EquivalentKernel) else population_eigenvalues(Phi)
    return GramSpectrum(_without_rounding(values), m)


def _without_rounding(values: Floats) -> Floats:
    """Eigenvalues that are 0 up to rounding set to 0; negative ones refused."""
    size = max(float(np.abs(values).max(initial=0.0)), 0.0)
    tolerance = max(len(values), 100) * np.finfo(np.float64).eps * size * 4
    if len(values) and values[0] < -max(tolerance, 1e-9 * size):
        raise ValueError(f"Phi has a negative eigenvalue, {values[0]:.6g}; a kernel matrix has none")
    return np.where(values <= tolerance, 0.0, values)


def _distinct(values: Floats) -> tuple[Floats, Floats]:
    """Increasing values as distinct ones and their multiplicities; within rounding is the same."""
    new = np.concatenate([[True], np.diff(values) > 1e-12 * values[-1]])
    starts = np.flatnonzero(new)
    weights = np.diff(np.append(starts, len(values))).astype(np.float64)
    return np.add.reduceat(values, starts) / weights, weights


def _real(name: str, x: npt.ArrayLike) -> Floats:
    if np.iscomplexobj(x):
        raise ValueError(f"{name} is complex; use stieltjes for points off the real axis")
    points = np.asarray(x, dtype=np.float64)
    if not np.isfinite(points).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return points
