"""Eigenvalues as a histogram, against a limiting density or another matrix's eigenvalues; spikes marked."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nanogram.theory import EquivalentKernel, GramSpectrum, gram_spectrum

from ._drawing import ACCENT, GREY, MEASURED, PREDICTED, axes
from ._observed import checked_kernel, features_of, kernel_of_map

__all__ = ["SpectrumDisplay"]

Floats = npt.NDArray[np.float64]

#: Eigenvalues below this share of the largest are the zeros of centring and of low rank.
_ZERO = 1e-9


class SpectrumDisplay:
    """Histogram of eigenvalues against what theory says of them.

    Made by `from_estimator`, `from_predictions` or `from_kernels`.

    Parameters
    ----------
    eigenvalues : array-like of shape (n,)
        Those measured.
    x, density : array-like of shape (k,), optional
        The limiting density at x; its integral is 1 less ``mass_at_zero``.
    compared : array-like, optional
        Eigenvalues of another matrix, drawn as a second histogram (K~ beside K).
    spikes : array-like, optional
        Where theory puts isolated eigenvalues.
    isolated : array-like, optional
        Which of the measured ones are isolated.
    mass_at_zero : float, default=0.0
        Share of eigenvalues that the law has at 0.
    name, compared_name : str
        For the legend.

    Attributes
    ----------
    ax_, figure_ : the axes drawn on, and their figure
    bars_ : container of the histogram
    compared_bars_ : the second histogram, or None
    line_ : the density, or None
    spike_marks_ : where theory puts isolated eigenvalues, or None
    isolated_marks_ : isolated eigenvalues measured, or None

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.inspection import SpectrumDisplay
    >>> from nanogram.theory import gram_spectrum
    >>> Z = np.random.default_rng(0).standard_normal((200, 400)) / 20
    >>> display = SpectrumDisplay.from_predictions(np.linalg.eigvalsh(Z @ Z.T), gram_spectrum(np.ones(200), 400))
    >>> len(display.spikes), len(display.isolated)
    (0, 0)
    >>> round(float(np.trapezoid(display.density, display.x)), 3)
    1.0
    """

    def __init__(
        self,
        eigenvalues: npt.ArrayLike,
        *,
        x: npt.ArrayLike | None = None,
        density: npt.ArrayLike | None = None,
        compared: npt.ArrayLike | None = None,
        spikes: npt.ArrayLike = (),
        isolated: npt.ArrayLike = (),
        mass_at_zero: float = 0.0,
        name: str = "eigenvalues",
        compared_name: str = "equivalent",
    ) -> None:
        self.eigenvalues = _values("eigenvalues", eigenvalues)
        if (x is None) != (density is None):
            raise ValueError("x and density go together: give both or neither")
        self.x = None if x is None else _values("x", x)
        self.density = None if density is None else _values("density", density)
        if self.x is not None and self.density is not None and self.x.shape != self.density.shape:
            raise ValueError(f"x has shape {self.x.shape} and density {self.density.shape}; they must be alike")
        self.compared = None if compared is None else _values("compared", compared)
        self.spikes = _values("spikes", spikes, least=0)
        self.isolated = _values("isolated", isolated, least=0)
        if not 0 <= mass_at_zero <= 1:
            raise ValueError(f"mass_at_zero={mass_at_zero!r} must be 0 to 1")
        self.mass_at_zero = float(mass_at_zero)
        self.name, self.compared_name = name, compared_name

    # ------------------------------------------------------------------ making

    @classmethod
    def from_predictions(
        cls,
        eigenvalues: npt.ArrayLike,
        law: Any,
        *,
        spikes: npt.ArrayLike | None = None,
        edges: tuple[float, float] | None = None,
        points: int = 600,
        name: str = "eigenvalues",
    ) -> Self:
        """From eigenvalues and a law.

        Parameters
        ----------
        eigenvalues : array-like of shape (n,)
        law : GramSpectrum, or function of an array
            The limiting density; a function needs ``edges``.
        spikes : array-like, optional
            Where isolated eigenvalues are expected; by default those of a `GramSpectrum`.
        edges : (float, float), optional
            Of the bulk, for a law that is a function.
        points : int, default=600
            Where the density is computed, for each interval of the support.
        name : str
            For the legend.
        """
        if points < 8:
            raise ValueError(f"points={points!r} must be at least 8")
        values = _values("eigenvalues", eigenvalues)
        if isinstance(law, GramSpectrum):
            found = law.isolated()
            own = found.eigenvalue[found.separated]
            # Intervals of isolated eigenvalues are marked, not drawn as densities.
            bulks = [cell for cell in law.support if not ((own >= cell[0]) & (own <= cell[1])).any()]
            mass, density = law.mass_at_zero, law.density
            marks = own if spikes is None else _values("spikes", spikes, least=0)
        elif callable(law):
            if edges is None or not edges[0] < edges[1]:
                raise ValueError(f"edges={edges!r} must be (left, right) for a law that is a function")
            bulks, mass, density = [np.array(edges, dtype=np.float64)], 0.0, law
            marks = np.empty(0) if spikes is None else _values("spikes", spikes, least=0)
        else:
            raise TypeError(f"law={law!r} must be a GramSpectrum or a function of an array")
        x = np.concatenate([_grid(left, right, points) for left, right in bulks])
        size = float(np.abs(values).max(initial=0.0))
        spread = 0.02 * (max(right for _, right in bulks) - min(left for left, _ in bulks))
        away = np.all([(values < left - spread) | (values > right + spread) for left, right in bulks], axis=0)
        heights = np.asarray(density(x), dtype=np.float64)
        return cls(
            values,
            x=x,
            density=np.where(np.isfinite(heights), heights, 0.0),
            spikes=marks,
            isolated=np.sort(values[away & (np.abs(values) > _ZERO * size)])[::-1],
            mass_at_zero=mass,
            name=name,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, kernel: Any = None, points: int = 600) -> Self:
        """From a fitted feature map: eigenvalues of P Z Z^T P against their limiting law (SPECTRUM section 2).

        Parameters
        ----------
        estimator : fitted feature map
        X : rows
            Those of fit.
        kernel : array of shape (n, n), optional
            What Z Z^T approaches. By default the exact kernel, for maps that have one in closed form: activations
            in floats, and designed step codes.
        points : int, default=600
        """
        gram, m = features_of(estimator, X)
        limit = kernel_of_map(estimator, X) if kernel is None else checked_kernel("kernel", kernel, len(gram))
        values = _decreasing(gram)
        return cls.from_predictions(values, gram_spectrum(limit, m), points=points, name=type(estimator).__name__)

    @classmethod
    def from_kernels(cls, kernel: Any, equivalent: Any, *, name: str = "K", compared_name: str = "equivalent") -> Self:
        """From a kernel matrix and its equivalent, both centred: two histograms (SPECTRUM Fig. 1, TRF Fig. 2).

        Parameters
        ----------
        kernel : array of shape (n, n)
        equivalent : array of shape (n, n) or EquivalentKernel
        name, compared_name : str
        """
        own = checked_kernel("kernel", kernel)
        if isinstance(equivalent, EquivalentKernel) and equivalent.shape == own.shape:
            others = equivalent.eigenvalues()
        else:
            others = _decreasing(checked_kernel("equivalent", equivalent, len(own)))
        values, others = _without_centring(_decreasing(own)), _without_centring(others)
        return cls(
            values,
            compared=others,
            spikes=_separate(others),
            isolated=_separate(values),
            name=name,
            compared_name=compared_name,
        )

    # ------------------------------------------------------------------ drawing

    def plot(self, ax: Any = None, *, bins: int = 50, log: bool | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        bins : int, default=50
        log : bool, optional
            Logarithmic eigenvalues; by default where the largest is more than 30 times the median of the positive.

        Returns
        -------
        self
        """
        if isinstance(bins, bool) or bins != int(bins) or bins < 1:
            raise ValueError(f"bins={bins!r} must be a positive integer")
        ax = axes(ax, self)
        self.ax_, self.figure_ = ax, ax.figure
        everything = np.concatenate([self.eigenvalues, self.spikes, () if self.compared is None else self.compared])
        size = float(np.abs(everything).max(initial=0.0))
        positive = everything[everything > _ZERO * size]
        if log is None:
            log = bool(len(positive)) and bool((everything > -_ZERO * size).all())
            log = log and float(positive.max()) > 30 * float(np.median(positive))
        edges = self._bin_edges(int(bins), log, positive)
        self.bars_ = self._histogram(ax, self.eigenvalues, edges, MEASURED, 0.75, self.name)
        self.compared_bars_ = None
        if self.compared is not None:
            self.compared_bars_ = self._histogram(ax, self.compared, edges, PREDICTED, 0.4, self.compared_name)
        self.line_ = None
        if self.x is not None and self.density is not None:
            (self.line_,) = ax.plot(self.x, self.density, color=PREDICTED, lw=1.6, label="limiting density")
        top = self._top()
        ax.set_ylim(0, top * 1.12)
        self.isolated_marks_ = self.spike_marks_ = None
        if len(self.isolated):
            self.isolated_marks_ = ax.scatter(
                self.isolated, np.full(len(self.isolated), 0.05 * top), marker="o", s=34, facecolors=MEASURED,
                edgecolors="black", linewidths=0.7, zorder=3, label="isolated, measured",
            )  # fmt: skip
        if len(self.spikes):
            self.spike_marks_ = ax.scatter(
                self.spikes, np.full(len(self.spikes), 0.12 * top), marker="v", s=40, color=ACCENT, zorder=3,
                label="isolated, predicted",
            )  # fmt: skip
        if log:
            ax.set_xscale("log")
        if self.mass_at_zero * len(self.eigenvalues) > 1.5:
            # More than the one zero of centring.
            ax.text(
                0.02, 0.96, f"mass at zero: {self.mass_at_zero:.3g}", transform=ax.transAxes, va="top", color=GREY
            )  # fmt: skip
        ax.set_xlabel("eigenvalue")
        ax.set_ylabel("density")
        ax.legend(frameon=False, loc="upper right")
        return self

    def _bin_edges(self, bins: int, log: bool, positive: Floats) -> Floats:
        """Bins over the bulk, as wide as they must be to reach the isolated eigenvalues too."""
        if log:
            return np.geomspace(positive.min() * 0.98, positive.max() * 1.02, bins + 1)
        values = self.eigenvalues if self.compared is None else np.concatenate([self.eigenvalues, self.compared])
        if self.mass_at_zero > 0:
            values = values[np.abs(values) > _ZERO * np.abs(values).max()]
        lowest, highest = float(values.min()), float(values.max())
        if self.x is not None:
            lowest, highest = min(lowest, float(self.x.min())), max(highest, float(self.x.max()))
        bulk = np.setdiff1d(values, np.concatenate([self.isolated, self.spikes]))
        if len(bulk) and len(self.isolated):
            low, high = float(bulk.min()), float(bulk.max())
            if self.x is not None:
                low, high = min(low, float(self.x.min())), max(high, float(self.x.max()))
            # Bins of the bulk alone, gone on with to either side, but no more than 40 times as many.
            width = max((high - low) / bins, (highest - lowest) / (40 * bins), 1e-300)
            left, right = int(np.ceil((low - lowest) / width - 1e-9)), int(np.ceil((highest - low) / width - 1e-9))
            return np.asarray(low + width * np.arange(-left, max(right, 1) + 1))
        margin = 0.0 if highest > lowest else max(abs(highest), 1.0) * 0.5
        return np.linspace(lowest - margin, highest + margin, bins + 1)

    def _histogram(self, ax: Any, values: Floats, edges: Floats, colour: str, alpha: float, name: str) -> Any:
        """Bars whose area is the share of all eigenvalues that they hold, so that densities compare."""
        counts, _ = np.histogram(values, edges)
        widths = np.diff(edges)
        return ax.bar(
            edges[:-1], counts / (len(values) * widths), widths, align="edge", color=colour, alpha=alpha, label=name
        )

    def _top(self) -> float:
        heights = [bar.get_height() for bars in (self.bars_, self.compared_bars_) if bars is not None for bar in bars]
        drawn = float(np.max(heights))
        if self.density is not None and len(self.density):
            # A density that is infinite at 0 must not flatten the rest.
            return max(drawn, min(float(self.density.max()), 2 * drawn))
        return drawn


def _decreasing(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64)


def _without_centring(values: Floats) -> Floats:
    """Eigenvalues without one zero: that of the vector of ones, which belongs to no spectrum."""
    return np.delete(values, np.argmin(np.abs(values)))


def _grid(left: float, right: float, points: int) -> Floats:
    """Points that crowd at both edges, where a density has square roots."""
    middle, half = (left + right) / 2, (right - left) / 2
    return np.asarray(middle - half * np.cos(np.linspace(0, np.pi, points)))


def _separate(values: Floats) -> Floats:
    """Eigenvalues beyond a gap as wide as a tenth of all that is below (or above) it; at most eight at either end."""
    ordered = np.sort(values)[::-1]
    found: list[Floats] = []
    for side in (ordered, -ordered[::-1]):
        gaps = side[:-1] - side[1:]
        for k in range(min(8, len(gaps)), 0, -1):
            if gaps[k - 1] > 0.1 * (side[k] - side[-1]) and gaps[k - 1] > 0:
                found.append(side[:k] if side is ordered else -side[:k])
                break
    return np.concatenate(found) if found else np.empty(0)


def _values(name: str, values: npt.ArrayLike, least: int = 1) -> Floats:
    if np.iscomplexobj(values):
        raise ValueError(f"{name} is complex; it must be real")
    found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if found.ndim != 1 or len(found) < least or not np.isfinite(found).all():
        raise ValueError(f"{name} has shape {found.shape}, must be a finite vector of at least {least} values")
    return found
