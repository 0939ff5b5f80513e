"""Activations in the plane of d1 and d2: which of means and covariances each of them sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nanogram.activations import Activation, LeakyReLU, Moments, make_activation
from nanogram.theory import ActivationProfile

from ._drawing import ACCENT, CLASSES, GREY, PREDICTED, axes

__all__ = ["MomentsDisplay"]

Floats = npt.NDArray[np.float64]

#: SPECTRUM's table 2, without the families that have parameters.
TABLE = ("identity", "step", "sign", "sin", "erf", "relu", "abs", "cos", "gaussian")


class MomentsDisplay:
    """Activations as points (d1, d2), or as shares of their variance.

    The share linear in the projection is ``tau d1 / V`` and the share of second Hermite order ``2 tau^2 d2 / V``, V
    the variance ``d0 + tau d1``: they do not change when an activation is multiplied by a number, and add up to at
    most 1. Points on the horizontal axis see means alone, those on the vertical one covariances alone (SPECTRUM 3).

    Parameters
    ----------
    moments : mapping of str to (d0, d1, d2)
        By name.
    tau : float
        Where the moments were taken.
    ratio : float, optional
        d1/d2 to draw as a line: what the data ask for.
    chosen : str, optional
        The name to mark.

    Attributes
    ----------
    ax_, figure_ : the axes drawn on, and their figure
    points_ : the dots, in the order of ``moments``
    line_ : the line of constant d1/d2, or None
    family_line_ : the leaky ReLUs from identity to modulus (for shares), or None
    texts_ : list of the names drawn

    Examples
    --------
    >>> from nanogram.inspection import MomentsDisplay
    >>> display = MomentsDisplay.from_activations(["relu", "sign", "abs"], tau=1.0)
    >>> display.coordinates("shares").round(3).tolist()
    [[0.733, 0.233], [0.637, 0.0], [0.0, 0.876]]
    """

    def __init__(
        self,
        moments: Mapping[str, Moments | Sequence[float]],
        tau: float,
        *,
        ratio: float | None = None,
        chosen: str | None = None,
    ) -> None:
        if not moments:
            raise ValueError("moments is empty")
        if not (np.isfinite(tau) and tau > 0):
            raise ValueError(f"tau={tau!r} must be positive and finite")
        self.moments: dict[str, Moments] = {}
        for name, given in moments.items():
            values = np.asarray(given, dtype=np.float64)
            if values.shape != (3,) or not np.isfinite(values).all() or values.min() < -1e-12:
                raise ValueError(f"moments[{name!r}]={given!r} must be (d0, d1, d2), none of them negative")
            self.moments[name] = Moments(*(max(float(d), 0.0) for d in values))
        if ratio is not None and not ratio >= 0:
            raise ValueError(f"ratio={ratio!r} must be 0 or more, or infinite")
        if chosen is not None and chosen not in self.moments:
            raise ValueError(f"chosen={chosen!r} is not among {', '.join(self.moments)}")
        self.tau, self.ratio, self.chosen = float(tau), ratio, chosen

    @classmethod
    def from_activations(
        cls, activations: Sequence[str | Activation] = TABLE, tau: float = 1.0, *, ratio: float | None = None
    ) -> Self:
        """From activations, by name or as objects.

        Parameters
        ----------
        activations : sequence, default=SPECTRUM's table
        tau : float, default=1.0
        ratio : float, optional
        """
        named = {a if isinstance(a, str) else repr(a): make_activation(a) for a in activations}
        return cls({name: a.moments(tau) for name, a in named.items()}, tau, ratio=ratio)

    @classmethod
    def from_profile(cls, profile: ActivationProfile) -> Self:
        """From what `theory.activation_profile` recommends: its table, its choice, and the d1/d2 that it asks for."""
        moments = {name: make_activation(name).moments(profile.tau) for name in profile.scores}
        moments["step code"] = profile.step_code.moments
        return cls(moments, profile.tau, ratio=profile.ratio, chosen=profile.activation)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None) -> Self:
        """From a fitted feature map with a designed step code: the target and the code that stands in for it.

        Parameters
        ----------
        estimator : fitted `FeatureMap` or `TernaryFeatures`
        X : ignored
            For the interface of other displays.
        """
        del X
        design = getattr(estimator, "design_", None)
        if design is None:
            raise ValueError(
                f"estimator={estimator!r} has no designed step code (design_); fit one that designs its code"
            )
        name = str(getattr(estimator, "target", getattr(estimator, "activation", "target")))
        name = name if name != "identity" else "rbf"
        return cls({name: design.target_moments, "step code": design.moments}, design.tau, chosen="step code")

    def coordinates(self, scale: str = "moments") -> Floats:
        """(d1, d2) of each activation, or the two shares of its variance."""
        if scale not in ("moments", "shares"):
            raise ValueError(f"scale={scale!r} must be 'moments' or 'shares'")
        table = np.array([[m.d0, m.d1, m.d2] for m in self.moments.values()])
        if scale == "moments":
            return table[:, 1:]
        variance = table[:, 0] + self.tau * table[:, 1]
        first, second = self.tau * table[:, 1], 2 * self.tau**2 * table[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.column_stack([first, second]) / variance[:, None]
        return np.nan_to_num(shares)

    def plot(self, ax: Any = None, *, scale: str = "moments") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        scale : {"moments", "shares"}, default="moments"
            d1 and d2 themselves, or the shares of the variance that they carry.

        Returns
        -------
        self
        """
        points = self.coordinates(scale)
        ax = axes(ax, self, (5.6, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        reach = np.maximum(points.max(axis=0), 1e-12) * 1.18
        if scale == "shares":
            reach = np.array([1.12, 1.12])
            ax.plot([0, 1], [1, 0], color=GREY, lw=0.8, ls=":", zorder=0)
            ax.text(0.5, 0.52, "all of the variance", color=GREY, fontsize=7, rotation=-37, ha="left", va="bottom")
        self.family_line_ = None
        if scale == "shares":
            leaky = MomentsDisplay.from_activations([LeakyReLU(1.0, a) for a in np.linspace(-1, 1, 41)], self.tau)
            family = leaky.coordinates("shares")
            (self.family_line_,) = ax.plot(*family.T, color=CLASSES[0], lw=1.0, alpha=0.6, label="leaky ReLU, -1 to 1")
        self.line_ = None
        if self.ratio is not None:
            # d2 = d1 / ratio; in shares the slope is 2 tau / ratio.
            slope = np.inf if self.ratio == 0 else (2 * self.tau if scale == "shares" else 1.0) / self.ratio
            end = np.array([reach[0], slope * reach[0]]) if slope * reach[0] <= reach[1] else None
            if end is None:
                end = np.array([0.0 if np.isinf(slope) else reach[1] / slope, reach[1]])
            label = f"d1/d2 = {self.ratio:.3g}, asked for"
            (self.line_,) = ax.plot([0, end[0]], [0, end[1]], color=ACCENT, lw=1.2, ls="--", label=label)
        colours = [PREDICTED if name == self.chosen else CLASSES[0] for name in self.moments]
        self.points_ = ax.scatter(points[:, 0], points[:, 1], s=28, c=colours, zorder=3, clip_on=False)
        self.texts_ = []
        for (label, place), name in zip(_labels(points, list(self.moments), reach), self.moments, strict=True):
            del name
            self.texts_.append(
                ax.annotate(label, place, xytext=(5, 4), textcoords="offset points", fontsize=8) if label else None
            )
        ax.set_xlim(-0.02 * reach[0], reach[0])
        ax.set_ylim(-0.02 * reach[1], reach[1])
        kind = "tau d1 / variance (means)", "2 tau² d2 / variance (covariances)"
        names = ("d1 (means)", "d2 (covariances)") if scale == "moments" else kind
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1])
        ax.set_title(f"tau = {self.tau:.3g}", fontsize=10)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(frameon=False, loc="upper right", fontsize=8)
        return self


def _labels(points: Floats, names: list[str], reach: Floats) -> list[tuple[str, tuple[float, float]]]:
    """One text a group of points too near to each other for texts of their own; empty for the others of a group."""
    placed: list[tuple[str, tuple[float, float]]] = []
    groups: list[list[int]] = []
    for k, point in enumerate(points):
        near = [g for g in groups if (np.abs(points[g[0]] - point) < 0.045 * reach).all()]
        if near:
            near[0].append(k)
        else:
            groups.append([k])
    first = {group[0]: group for group in groups}
    for k, point in enumerate(points):
        text = ", ".join(names[i] for i in first[k]) if k in first else ""
        placed.append((text, (float(point[0]), float(point[1]))))
    return placed
