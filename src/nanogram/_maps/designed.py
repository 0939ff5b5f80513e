"""A step code designed for the rows seen at fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram.activations import Activation, CosPhase, Identity
from nanogram.theory import StepDesign, design_step_code

from .scaling import Scaling

__all__ = ["design_for_rows", "target_of"]

#: Rows that the design compares kernels on.
DESIGN_ROWS = 192
#: Designs are sought in this range of tau; beyond it they are those of its end.
TAU_RANGE = (1e-3, 100.0)


def target_of(activation: Activation, levels: int) -> tuple[Any, Any]:
    """Target and kind of the code that a `StepCode` of so many levels stands for, behind that activation."""
    if isinstance(activation, CosPhase):
        return "rbf", "periodic"
    if isinstance(activation, Identity):
        return "rbf", "free" if levels == 4 else "monotone"
    return activation, "auto"


def design_for_rows(
    target: Any,
    levels: int,
    kind: Any,
    scaling: Scaling,
    sample: Callable[[], Any],
    n_features: int,
    *,
    equally_spaced: bool = False,
) -> StepDesign:
    """`design_step_code` at the tau of the rows, the kinds compared on a sample of them.

    ``equally_spaced`` leaves folded codes, whose levels are not, out of what 'auto' chooses from.
    """
    tau = scaling.tau
    if tau == 0:
        warnings.warn("all rows are alike (tau = 0): the code is designed for tau = 1", UserWarning, stacklevel=2)
        tau = 1.0
    elif not TAU_RANGE[0] <= tau <= TAU_RANGE[1]:
        warnings.warn(
            f"tau={tau:.3g} is outside {TAU_RANGE[0]:g} to {TAU_RANGE[1]:g}; the code is designed for the nearer end. "
            "gamma='scale' makes tau = 1",
            UserWarning,
            stacklevel=2,
        )
        tau = float(np.clip(tau, *TAU_RANGE))
    rows = _compared(sample()[:DESIGN_ROWS], scaling) if kind == "auto" and tau == scaling.tau else None
    if rows is not None and len(rows) < 3:
        rows = None
    design = design_step_code(target, tau, levels, kind, X=rows, n_features=n_features)
    if equally_spaced and kind == "auto" and design.kind == "folded":
        others = {one: error.total for one, error in design.compared.items() if one != "folded"}
        other: Any = min(others, key=others.__getitem__) if others else "monotone"
        return design_step_code(target, tau, levels, other)
    return design


def _compared(rows: Any, scaling: Scaling) -> npt.NDArray[np.float64]:
    """Centred and scaled rows, dense; of sparse rows only the columns that have entries, the rest folded into one."""
    if not sp.issparse(rows):
        return np.asarray((np.asarray(rows, dtype=np.float64) - scaling.mean) * scaling.scale)
    used = np.unique(rows.indices)
    rest = np.delete(scaling.mean, used)
    # The other columns are -mean in every row: one column of their norm has the same dot products.
    dense = rows[:, used].toarray().astype(np.float64) - scaling.mean[used]
    constant = np.full((dense.shape[0], 1), -float(np.sqrt(rest @ rest)))
    return np.asarray(np.hstack([dense, constant]) * scaling.scale)
