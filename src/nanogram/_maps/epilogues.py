"""What becomes of an integer projection: thresholds, cosines and phases in units of the accumulators.

An accumulator ``a`` stands for ``t = unit a + bias``. A threshold on t is one on a: ``t > s`` where ``a > floor((s -
bias) / unit)``. A cosine takes its phase as a fixed-point share of a turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nanogram.activations import Activation, Cos, CosPhase, CosSin, Identity, Sin
from nanogram.codes import Code, StepCode, UniformCode
from nanogram.ops.encode import CosineEpilogue, Epilogue, PeriodicEpilogue, StepEpilogue

from .recipe import Recipe

__all__ = ["Parts", "form_of", "integer_form"]

Form = Literal["step", "cosine", "periodic"]
#: More thresholds than this are not counted one by one.
MOST_THRESHOLDS = 15
#: The greatest value of the fixed-point cosine.
COSINE_TOP = 65535


def integer_form(recipe: Recipe) -> Form | None:
    """How the recipe is computed in integers; None where it is not."""
    return form_of(recipe.activation, recipe.code)


def form_of(activation: Activation, code: Code) -> Form | None:
    """How codes of this activation are computed in integers; None where they are not."""
    if isinstance(code, StepCode):
        if len(np.atleast_1d(np.asarray(code.thresholds))) > MOST_THRESHOLDS:
            return None
        if isinstance(activation, Identity):
            return "step"
        return "periodic" if isinstance(activation, CosPhase) else None
    if isinstance(code, UniformCode) and isinstance(activation, Cos | Sin | CosSin | CosPhase):
        return "cosine" if (code.low, code.high) == tuple(map(float, activation.bounds)) else None
    return None


@dataclass(frozen=True)
class Parts:
    """The epilogues of a recipe: one, or one for cosines and one for sines.

    Attributes
    ----------
    recipe : Recipe
    unit : float
        What one of the accumulator stands for in t.
    bias : ndarray of float64, shape (k,)
        Added to t: phases, and what the means of rows that are not centred add.
    turn : int
        A turn of the phase in integers: 2**16 or 2**32.
    """

    recipe: Recipe
    unit: float
    bias: npt.NDArray[np.float64]
    turn: int

    @property
    def multiplier(self) -> float:
        """What an accumulator is multiplied by to be a phase; the grid is chosen to make it whole."""
        return self.unit * self.turn / (2 * np.pi)

    def epilogue(self, part: int, noise: Any) -> Epilogue:
        """The epilogue of the first columns, or of those of the sines (``part`` 1 of a pair)."""
        code, columns = self.recipe.code, slice(0, self.columns(part))
        if integer_form(self.recipe) == "step":
            assert isinstance(code, StepCode)
            thresholds = np.asarray(code.thresholds, dtype=np.float64)[:, None]
            limits = np.floor((thresholds - self.bias[None, columns]) / self.unit)
            return StepEpilogue(_int32(limits), _interval_codes(code), _layout(code))
        phase = np.rint(self.bias[columns] / (2 * np.pi) * self.turn).astype(np.int64)
        if part == 1 or isinstance(self.recipe.activation, Sin):
            phase = phase - self.turn // 4
        multiplier = round(self.multiplier)
        if isinstance(code, StepCode):
            share = np.asarray(code.thresholds, dtype=np.float64) / np.sqrt(2)
            limits = np.floor(COSINE_TOP * (1 + share) / 2)[:, None]
            spread = np.repeat(limits, len(phase), axis=1)
            return PeriodicEpilogue(phase, _int32(spread), _interval_codes(code), _layout(code), multiplier)
        assert isinstance(code, UniformCode)
        return CosineEpilogue(phase, code.bits, code.rounding, noise, multiplier)

    @property
    def n_parts(self) -> int:
        """1, or 2 for pairs that have a sine."""
        return 1 + int(self.recipe.n_components > self.recipe.n_projections)

    def columns(self, part: int) -> int:
        """Columns of a part."""
        k = self.recipe.n_projections
        return k if part == 0 else self.recipe.n_components - k


def _int32(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    return np.clip(values, -(2.0**31), 2.0**31 - 1).astype(np.int32)


def _interval_codes(code: StepCode) -> npt.NDArray[np.int64]:
    levels = np.asarray(code.levels, dtype=np.float64)
    return np.searchsorted(np.unique(levels), levels).astype(np.int64)


def _layout(code: Code) -> str:
    layout = code.layout
    assert layout is not None, "step codes are packed"
    return layout
