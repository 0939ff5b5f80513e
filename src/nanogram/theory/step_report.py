"""What is asked of a step code, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram.activations import Activation, Moments, PeriodicStep, StepFunction, make_activation
from nanogram.codes import StepCode

from .kernel_error import KernelError
from .step_moments import cell_probabilities, unscaled_feasibility

__all__ = ["CodeShape", "StepDesign", "Target", "gaussian_weight", "hermite", "report", "resolve_target"]

FloatArray = npt.NDArray[np.float64]
Target = str | Activation | Callable[..., Any] | Sequence[float]


class CodeShape(NamedTuple):
    """Thresholds in t (or in sqrt(2) cos), levels and the kind of a code."""

    thresholds: FloatArray
    levels: FloatArray
    kind: str


class StepDesign(NamedTuple):
    """A step code and what is known about it.

    Attributes
    ----------
    thresholds : ndarray of shape (K,)
        Increasing; of ``t = w.x`` or, for a periodic code, of ``sqrt(2) cos(t + phase)``.
    levels : ndarray of shape (K + 1,)
        Value on each interval, amplitude included.
    kind : str
        ``"monotone"``, ``"free"``, ``"even"``, ``"folded"`` or ``"periodic"``.
    activation : str
        What the code is applied to: ``"identity"`` or ``"cos_phase"``.
    tau : float
        Where it was designed.
    target_moments, moments : Moments
        (d0, d1, d2) of the target and of the code.
    excess_d0 : float
        lambda = d0(target) - d0(code): the ridge that the target has and the code lacks.
    residual : float
        ``sqrt(sum_i (sqrt(d_i code) / sqrt(d_i target) - 1)^2)`` over d1 and d2, as ``unscaled_residual``.
    hermite_bound : float
        2 tau^2 d2 of the target: no code that matches has a smaller d0.
    hermite_gap : float
        d0 of the code less that bound.
    firing : ndarray of shape (L,)
        Probability of each distinct level, in increasing order, at t ~ N(0, tau).
    mean : float
        E of the code at t ~ N(0, tau).
    feasible_unscaled : bool
        Would the printed design, levels (-1, 0, 1) without amplitude, have had a solution?
    unscaled_residual : float
        Its least relative residual in (sqrt d1, sqrt d2); 0 where it is feasible.
    compared : dict
        For ``kind="auto"`` with a choice: the expected kernel error of each kind.
    """

    thresholds: FloatArray
    levels: FloatArray
    kind: str
    activation: str
    tau: float
    target_moments: Moments
    moments: Moments
    excess_d0: float
    residual: float
    hermite_bound: float
    hermite_gap: float
    firing: FloatArray
    mean: float
    feasible_unscaled: bool
    unscaled_residual: float
    compared: dict[str, KernelError]

    @property
    def activity(self) -> float:
        """Probability that a code is not the commonest one."""
        return float(1 - self.firing.max()) if self.firing.max() < 0.5 else float(np.sort(self.firing)[:-1].sum())

    @property
    def n_levels(self) -> int:
        """Number of distinct levels."""
        return len(self.firing)

    def as_activation(self) -> StepFunction | PeriodicStep:
        """The function of t, with its exact kernel and moments."""
        kind = PeriodicStep if self.activation == "cos_phase" else StepFunction
        return kind(tuple(self.thresholds.tolist()), tuple(self.levels.tolist()))

    def to_code(self, storage: str = "auto") -> StepCode:
        """The code for storage (:class:`nanogram.codes.StepCode`); it goes behind ``activation``."""
        return StepCode(self.levels, self.thresholds, storage)


def resolve_target(target: Target, tau: float) -> tuple[Activation, Moments]:
    """The target as an activation, and its moments at tau."""
    if isinstance(target, str | Activation) or callable(target):
        activation = make_activation(target)
        return activation, activation.moments(tau)
    try:
        values = np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (3,) or not np.isfinite(values).all() or values[1:].min() < 0 or values[1:].max() == 0:
        raise ValueError(f"target={target!r} must be an activation or (d0, d1, d2) with d1, d2 >= 0, not both 0")
    d0, d1, d2 = (float(x) for x in values)
    least = 2 * tau * tau * d2
    if d0 < least * (1 - 1e-9):
        raise ValueError(
            f"target has d0={d0:.6g}; with d2={d2:.6g} at tau={tau:.6g} none is below 2 tau^2 d2 = {least:.6g}"
        )
    return make_activation("quadratic", a2=np.sqrt(d2), a1=np.sqrt(d1), a0=0.0), Moments(d0, d1, d2)


def gaussian_weight(moments: Moments, tau: float) -> float | None:
    """Weight w when the moments are those of the kernel w exp(-|x - y|^2 / 2), else None."""
    weight = moments.d1 * float(np.exp(tau))
    d0 = weight * (-float(np.expm1(-tau)) - tau * float(np.exp(-tau)))
    same = abs(moments.d1 - 4 * moments.d2) <= 1e-9 * moments.d1 and abs(moments.d0 - d0) <= 1e-9 * weight
    return weight if moments.d1 > 0 and same else None


def hermite(moments: Moments, tau: float) -> tuple[float, float]:
    """(E[z s], E[(z^2 - 1) s]) in size, summed in squares over features side by side."""
    return float(np.sqrt(tau * moments.d1)), float(2 * tau * np.sqrt(moments.d2))


def report(shape: CodeShape, target: Moments, tau: float) -> StepDesign:
    """Everything that is told about a code of that shape."""
    thresholds, levels, kind = shape
    periodic = kind == "periodic"
    activation = (PeriodicStep if periodic else StepFunction)(tuple(thresholds.tolist()), tuple(levels.tolist()))
    own = activation.moments(tau)
    shares = (
        -np.diff(np.concatenate([[np.pi], np.arccos(thresholds / np.sqrt(2)), [0.0]])) / np.pi
        if periodic
        else cell_probabilities(thresholds / np.sqrt(tau))
    )
    distinct, which = np.unique(levels, return_inverse=True)
    firing = np.zeros(len(distinct))
    np.add.at(firing, which, shares)
    feasible, unscaled = unscaled_feasibility(*hermite(target, tau))
    return StepDesign(
        thresholds=thresholds,
        levels=levels,
        kind=kind,
        activation="cos_phase" if periodic else "identity",
        tau=tau,
        target_moments=target,
        moments=own,
        excess_d0=target.d0 - own.d0,
        residual=_residual(own, target, tau),
        hermite_bound=2 * tau * tau * target.d2,
        hermite_gap=own.d0 - 2 * tau * tau * target.d2,
        firing=firing,
        mean=activation.mean(tau),
        feasible_unscaled=feasible,
        unscaled_residual=unscaled,
        compared={},
    )


def _residual(own: Moments, target: Moments, tau: float) -> float:
    """Relative distance in (sqrt d1, sqrt d2); a coefficient whose target is zero is measured against the other."""
    mine, goal = hermite(own, tau), hermite(target, tau)
    size = float(np.hypot(*goal))
    relative = [(a - b) / (b or size) for a, b in zip(mine, goal, strict=True)]
    return float(np.linalg.norm(relative))
