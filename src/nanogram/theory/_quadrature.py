"""Gaussian integrals of any function, split where it breaks.

Everything rests on panels: intervals of t on each of which the function is, to rounding, a
polynomial that the Gauss-Legendre rule integrates. `panels` starts from a regular grid and the
declared breaks and halves each panel on which the rule disagrees with itself on the two halves.
Panels that never agree close in on a kink or jump: that is how undeclared breaks are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "REACH",
    "GaussianMoments",
    "Panels",
    "gaussian_moments",
    "gaussian_rule",
    "hermite_coefficients",
    "pair_expectation",
    "panels",
]

Floats = npt.NDArray[np.float64]
Function = Callable[[Any], Any]

#: Standard deviations on either side that integrals cover; 1e-44 of the mass lies beyond.
REACH = 14.0
_GRID = 56
_NODES, _WEIGHTS = (np.asarray(a, dtype=np.float64) for a in np.polynomial.legendre.leggauss(16))
_DEEPEST = 44
_AGREEMENT = 1e-13
_MOST_BAD = 2048
#: Panels narrower than this share of the reach close in on a break.
_NARROW = 2.0**-20


class Panels(NamedTuple):
    """Edges of the panels, and the breaks (declared and found) among them."""

    edges: Floats
    breaks: Floats


class GaussianMoments(NamedTuple):
    """Moments of s(sqrt(tau) z) by quadrature; ``error`` is relative to E[s^2] (to d1, d2's natural scales)."""

    mean: float
    second_moment: float
    d0: float
    d1: float
    d2: float
    error: float


def panels(function: Function, reach: float, breaks: Sequence[float] = ()) -> Panels:
    """Panels of [-reach, reach] on each of which ``function`` is smooth."""
    declared = np.unique([b for b in breaks if -reach < b < reach])
    start = np.unique(np.concatenate([np.linspace(-reach, reach, _GRID + 1), declared]))
    left, right = start[:-1], start[1:]
    edges = [start]
    for _ in range(_DEEPEST):
        middle = (left + right) / 2
        halves = np.concatenate([left, middle]), np.concatenate([middle, right])
        whole = _panel_values(function, left, right)
        parts = _panel_values(function, *halves)
        size = len(left)
        wrong = np.abs(whole[0] - parts[0, :size] - parts[0, size:])
        # Against the panel's own size: where rows are short only the middle of the range counts.
        bad = ~(wrong <= _AGREEMENT * (parts[1, :size] + parts[1, size:]))
        # Functions that are rough everywhere, or rounded too coarsely, would be halved for ever.
        if not bad.any() or np.count_nonzero(bad) > _MOST_BAD:
            break
        edges.append(middle[bad])
        left, right = np.concatenate([left[bad], middle[bad]]), np.concatenate([middle[bad], right[bad]])
    every = np.unique(np.concatenate(edges))
    return Panels(every, np.unique(np.concatenate([declared, _narrowest(every, _NARROW * reach)])))


def _narrowest(edges: Floats, width: float) -> Floats:
    """The middle of the narrowest panel in each run of neighbours narrower than ``width``."""
    widths = np.diff(edges)
    narrow = np.flatnonzero(widths < width)
    runs = np.split(narrow, np.flatnonzero(np.diff(narrow) > 1) + 1) if len(narrow) else []
    least = np.array([run[np.argmin(widths[run])] for run in runs], dtype=np.intp)
    return np.asarray((edges[least] + edges[least + 1]) / 2)


def _panel_values(function: Function, left: Floats, right: Floats) -> Floats:
    """Integral of the function and of its modulus over each panel."""
    half = (right - left) / 2
    values = np.asarray(function((left + half)[:, None] + half[:, None] * _NODES), dtype=np.float64)
    return np.stack([values @ _WEIGHTS, np.abs(values) @ _WEIGHTS]) * half


def gaussian_rule(edges: Floats, finer: bool = False) -> tuple[Floats, Floats]:
    """Nodes z and weights (the normal density included) of the panels between ``edges``, along the last axis."""
    if finer:
        middle = (edges[..., :-1] + edges[..., 1:]) / 2
        edges = np.sort(np.concatenate([edges, middle], axis=-1), axis=-1)
    half = np.diff(edges, axis=-1) / 2
    centre = (edges[..., :-1] + edges[..., 1:]) / 2
    z = (centre[..., None] + half[..., None] * _NODES).reshape(*edges.shape[:-1], -1)
    w = (half[..., None] * _WEIGHTS).reshape(*edges.shape[:-1], -1)
    return z, w * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


def gaussian_moments(function: Function, tau: float, breaks: Sequence[float] = ()) -> GaussianMoments:
    """Mean, second moment and (d0, d1, d2) of s(sqrt(tau) z), z ~ N(0, 1).

    E[s'] = E[z s]/sqrt(tau) and E[s''] = E[(z^2 - 1) s]/tau, so nothing is differentiated, and
    d0 = E[(s - mean - z E[z s])^2] is a sum of squares: no cancellation.

    Raises
    ------
    ValueError
        Where s(sqrt(tau) z)^2 has no finite Gaussian mean, or s is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.theory._quadrature import gaussian_moments
    >>> m = gaussian_moments(np.abs, tau=2.0)
    >>> round(m.d0 - (1 - 2 / np.pi) * 2, 10), round(m.d1, 10), round(m.d2 - 1 / (4 * np.pi), 10)
    (0.0, 0.0, 0.0)
    """
    root = float(np.sqrt(tau))
    edges = _in_deviations(panels(function, REACH * root, breaks).edges[None, :], np.array([root]))[0]
    once, twice = (_five(function, root, edges, finer) for finer in (False, True))
    scale = float(twice[1])
    if not np.isfinite(twice).all():
        raise ValueError(f"the function is not finite, or its square has no Gaussian mean, at tau={tau}")
    tail = np.asarray(function(np.array([-REACH, REACH]) * root), dtype=np.float64)
    if (tail**2 * np.exp(-(REACH**2) / 2)).max() > 1e-8 * scale:
        raise ValueError(
            f"the function grows too fast: its square has weight beyond {REACH:g} standard deviations at tau={tau}"
        )
    mean, second, first, bend, rest = twice.tolist()
    # Rounding aside, the rule on halved panels is exact where the one on whole panels is near it.
    sizes = np.array([np.sqrt(scale), scale, np.sqrt(scale), np.sqrt(scale), scale])
    error = float((np.abs(twice - once) / np.where(sizes > 0, sizes, 1.0)).max()) + 1e-15
    return GaussianMoments(mean, second, rest, first**2 / tau, bend**2 / (4 * tau**2), error)


def _five(function: Function, root: float, edges: Floats, finer: bool) -> Floats:
    """E[s], E[s^2], E[z s], E[(z^2 - 1) s] and E[(s - E s - z E[z s])^2]."""
    z, w = gaussian_rule(edges, finer)
    s = np.asarray(function(root * z), dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = w @ s
        centred = s - mean
        first = w @ (z * centred)
        bend = w @ ((z * z - 1) * centred)
        return np.array([mean, w @ (s * s), first, bend, w @ (centred - first * z) ** 2])


def _in_deviations(edges: Floats, scales: Floats) -> Floats:
    """Edges in t as edges in z = t / scale for each scale, joined with a regular grid and sorted: (scales, edges)."""
    safe = np.where(scales > 0, scales, 1.0)[:, None]
    grid = np.broadcast_to(np.linspace(-REACH, REACH, _GRID + 1), (len(scales), _GRID + 1))
    return np.sort(np.concatenate([np.clip(edges / safe, -REACH, REACH), grid], axis=1), axis=1)


def hermite_coefficients(
    function: Function, scales: npt.ArrayLike, degree: int, breaks: Sequence[float] = ()
) -> tuple[Floats, Floats]:
    """c_k = E[s(scale z) h_k(z)], k = 0 to ``degree``, and E[s(scale z)^2] for each scale.

    h_k are the normalised Hermite polynomials, so that E[s(u) s(v)] = sum_k c_k(|x|) c_k(|y|) cs^k.
    They are run as Hermite functions h_k sqrt(density), which stay of order 1 at any degree.
    """
    scales = np.asarray(scales, dtype=np.float64)
    edges = panels(function, REACH * max(float(scales.max(initial=0.0)), 1e-30), breaks).edges
    coefficients, second = np.empty((len(scales), degree + 1)), np.empty(len(scales))
    rows = max(1, 2**20 // ((len(edges) + _GRID) * len(_NODES)))
    for start in range(0, len(scales), rows):
        here = slice(start, start + rows)
        z, w = gaussian_rule(_in_deviations(edges, scales[here]))
        values = np.asarray(function(scales[here, None] * z), dtype=np.float64)
        second[here] = (w * values**2).sum(axis=1)
        root = np.sqrt(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
        values *= np.divide(w, root, out=np.zeros_like(w), where=root > 0)
        before, now = np.zeros_like(z), root
        for k in range(degree + 1):
            coefficients[here, k] = (values * now).sum(axis=1)
            before, now = now, (z * now - np.sqrt(k) * before) / np.sqrt(k + 1)
    return coefficients, second


def pair_expectation(
    function: Function, x: npt.ArrayLike, y: npt.ArrayLike, correlation: npt.ArrayLike, breaks: Sequence[float] = ()
) -> Floats:
    """E[s(x z) s(y z')] for normal pairs (z, z') of the given correlations, elementwise, by nested quadrature.

    The inner integral is split at the breaks, the outer one at the breaks and around the places
    where the inner mean crosses one. About 1e-10 of the scale for functions that are smooth between
    breaks at the scale of one standard deviation, for any correlation, +-1 included.
    """
    x, y, rho = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (x, y, correlation)))
    result = np.empty(x.shape)
    flat = (x.ravel(), y.ravel(), rho.ravel())
    out = result.reshape(-1)
    places = np.asarray(breaks, dtype=np.float64)
    step = max(1, 2**21 // ((16 * (12 + 8 * len(places))) * (16 * (12 + len(places)))))
    for start in range(0, out.size, step):
        a, b, r = (part[start : start + step] for part in flat)
        out[start : start + step] = _pairs(function, a, b, r, places)
    return result


def _pairs(function: Function, x: Floats, y: Floats, rho: Floats, breaks: Floats) -> Floats:
    reach = 9.0
    grid = np.linspace(-reach, reach, 13)
    spread = np.sqrt((1 - rho) * (1 + rho))
    tiny = 1e-12
    safe_x, safe_y = np.where(x > 0, x, 1.0), np.where(y > 0, y, 1.0)
    safe_rho, safe_spread = np.where(np.abs(rho) > tiny, rho, 1.0), np.maximum(spread, tiny)
    crossing = breaks / (safe_y * safe_rho)[:, None]
    width = (safe_spread / np.abs(safe_rho))[:, None]
    around = [crossing + shift * width for shift in (-8.0, -4.0, -1.5, 0.0, 1.5, 4.0, 8.0)]
    regular = np.broadcast_to(grid, (len(x), len(grid)))
    outer = np.concatenate([regular, breaks / safe_x[:, None], *around], axis=1)
    z, w = gaussian_rule(np.sort(np.clip(outer, -reach, reach), axis=1))
    # Inner variable: z' = rho z + spread e.
    inner = (breaks / safe_y[:, None, None] - (rho[:, None] * z)[..., None]) / safe_spread[:, None, None]
    regular = np.broadcast_to(grid, (*z.shape, len(grid)))
    edges = np.sort(np.concatenate([regular, np.clip(inner, -reach, reach)], axis=2), axis=2)
    e, v = gaussian_rule(edges)
    second = y[:, None, None] * (rho[:, None, None] * z[..., None] + spread[:, None, None] * e)
    conditional = (v * np.asarray(function(second), dtype=np.float64)).sum(axis=2)
    first = np.asarray(function(x[:, None] * z), dtype=np.float64)
    return np.asarray((w * first * conditional).sum(axis=1))
