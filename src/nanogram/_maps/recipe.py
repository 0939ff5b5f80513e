"""What a map is made of, resolved against the rows seen at fit: law, activation, code, and the scale of the features.

Scale convention, here and nowhere else: features are ``amplitude / sqrt(k) s(t)``, k the number of projections
(columns over the activation's outputs), so that ``Z Z^T`` approaches ``amplitude^2 E[s s]``, the kernel. The factor
goes into the code (its levels, its range) and never into the values that are encoded; for float codes it is
multiplied in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nanogram.activations import Activation
from nanogram.codes import Code, FloatCode, UniformCode
from nanogram.projections.base import Projection
from nanogram.theory import StepDesign

__all__ = [
    "Recipe",
    "best_range",
    "checked_count",
    "checked_flag",
    "column_ranges",
    "needs_range",
    "outside_range",
    "projections_for",
    "with_range",
]

#: The range of a `UniformCode` that leaves it to the map.
UNSET_RANGE = (-1.0, 1.0)
#: Shares of the largest range that are tried.
RANGE_SHARES = np.geomspace(0.05, 1.0, 40)


@dataclass(frozen=True)
class Recipe:
    """Law, activation, the code in units of the activation, and what multiplies both.

    Attributes
    ----------
    law : Projection
    activation : Activation
    code : Code
        Of s(t), before the scale.
    n_components, n_projections : int
        Columns of the output, and rows of W.
    amplitude : float
        The kernel is ``amplitude^2 E[s s]``.
    design : StepDesign or None
        Where the code comes from, if it was designed.
    """

    law: Projection
    activation: Activation
    code: Code
    n_components: int
    n_projections: int
    amplitude: float = 1.0
    design: StepDesign | None = None

    @property
    def factor(self) -> float:
        """What features are multiplied by."""
        return self.amplitude * float(np.sqrt(self.activation.n_outputs / self.n_components))

    @property
    def stored_code(self) -> Code:
        """The code of the features, scale included."""
        return self.code if isinstance(self.code, FloatCode) else self.code.scaled(self.factor)

    def with_code(self, code: Code) -> Recipe:
        """The same with another code."""
        return replace(self, code=code)


def checked_count(count: Any, name: str = "n_components") -> int:
    """A parameter as an integer of at least 1."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ValueError(f"{name}={count!r} is not accepted; an integer of at least 1 is")
    return int(count)


def checked_flag(value: Any, name: str) -> bool:
    """A parameter that is true or false: other values, such as "no", would pass for true."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is not accepted; True and False are")
    return bool(value)


def projections_for(n_components: Any, activation: Activation) -> int:
    """Rows of W that give so many columns; of the last one, columns beyond their number are left out."""
    return -(-checked_count(n_components) // activation.n_outputs)


def needs_range(code: Code, activation: Activation) -> bool:
    """Whether the range of the code has to be read from values: none is given, and the activation has no bounds."""
    return _unset(code) and not np.isfinite(activation.bounds).all()


def with_range(code: Code, activation: Activation) -> Code:
    """A uniform code over the activation's bounds, unless it has a range of its own; other codes as they are."""
    low, high = activation.bounds
    if not _unset(code) or not np.isfinite([low, high]).all() or not low < high:
        return code
    assert isinstance(code, UniformCode)
    return UniformCode(code.bits, code.rounding, float(low), float(high))


def _unset(code: Code) -> bool:
    return (
        isinstance(code, UniformCode)
        and not (np.ndim(code.low) or np.ndim(code.high))
        and (code.low, code.high) == UNSET_RANGE
    )


def outside_range(code: UniformCode, values: Any) -> int:
    """Values beyond the range."""
    low: Any = code.low
    high: Any = code.high
    return int(np.count_nonzero(values < low) + np.count_nonzero(values > high))


def best_range(code: UniformCode, values: Any, n_components: int) -> UniformCode:
    """The range of values with no bounds: of the least error in the kernel, among shrunken full ranges.

    A narrow range saturates, and biases products of features by 2 E[s excess]; a wide one rounds coarsely, and adds
    (2 E[s^2] v + v^2) / m to their variance, v the mean variance of rounding (or squared error, for nearest
    rounding, whose bias is not a matter of the range). Squared bias plus variance is what is least.
    """
    values = np.asarray(values, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if not high - low > 1e-12 * abs(low) + 1e-30:
        # A constant gets some width, so that a level is where it stands.
        return UniformCode(code.bits, code.rounding, low, low + max(abs(low), 1.0))
    # What has no negative values keeps its zero; the others shrink towards their mean.
    centre = low if low >= 0 else float(values.mean())
    power, top = float(np.mean(values**2)), float(code.n_levels - 1)
    best, ends = np.inf, (low, high)
    for share in RANGE_SHARES[::-1]:
        a, b = centre + (low - centre) * share, centre + (high - centre) * share
        step = (b - a) / top
        inside = np.clip(values, a, b)
        t = (inside - a) / step
        f = t - np.floor(t)
        rounding = float(np.mean(f * (1 - f) if code.rounding == "stochastic" else np.minimum(f, 1 - f) ** 2))
        variance = step * step * rounding
        bias = 2 * float(np.mean(values * (values - inside)))
        error = bias * bias + (2 * power * variance + variance * variance) / n_components
        if error < best:
            best, ends = error, (a, b)
    return UniformCode(code.bits, code.rounding, *ends)


def column_ranges(code: UniformCode, values: Any) -> UniformCode:
    """The full range of each column's values."""
    values = np.asarray(values, dtype=np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    flat = ~(high - low > 1e-12 * np.abs(low) + 1e-30)
    return UniformCode(code.bits, code.rounding, low, np.where(flat, low + np.maximum(np.abs(low), 1.0), high))
