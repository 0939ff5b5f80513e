"""Designing a step code: thresholds and levels that reproduce a kernel (TRF Corollary 1, with an amplitude).

In the paper's scaling (rows centred, tau = mean |x|^2, W of unit variance) the kernel of an activation enters
the spectrum, after centring, through d1 and d2 only; d0 is a ridge. A code that has the target's d1 and d2
therefore does its work. Among all codes that match, the one of least total variance v^2 d0 is taken, because
the noise of m features grows with it.
"""

from __future__ import annotations

import numbers
import warnings
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from nanogram.activations import Moments

from . import step_search
from .kernel_error import KernelError, expected_kernel_error
from .periodic_design import PeriodicMethod, design_periodic_code, is_count
from .step_moments import cell_probabilities
from .step_report import CodeShape, StepDesign, Target, gaussian_weight, hermite, report, resolve_target
from .step_search import UnitCode

__all__ = ["FIRING_BOUND", "Kind", "RareFiringWarning", "design_kernel_error", "design_step_code"]

FloatArray = npt.NDArray[np.float64]
Kind = Literal["auto", "monotone", "free", "even", "folded", "periodic"]

#: A code that leaves its commonest level more rarely than this is warned about ('rbf' with one threshold: tau = 4.2).
FIRING_BOUND = 0.02
#: Below this it is refused: fewer than one row in a hundred million would ever differ.
FIRING_LIMIT = 1e-8
#: Below this h2 / h1 the far side of a folded code lies beyond five standard deviations: it is a monotone one.
FOLD_RATIO = 0.5
#: A Hermite coefficient smaller than this share of the other is lost in the rounding of the cells.
LEAST_SHARE = 1e-10
#: The zero kernel has error one: a code with a larger bias than this has next to nothing of the target, at any m.
HOPELESS_BIAS = 0.8
#: A folded code has twice the thresholds, and levels not equally spaced: 'auto' takes it for a fourth less error.
FOLDED_SHARE = 0.75
#: Beyond it exp(-tau) leaves the range of double.
MOST_TAU = 500.0
#: Rows on which 'auto' compares codes.
COMPARED_ROWS = 192


class RareFiringWarning(UserWarning):
    """The code designed leaves its commonest level so rarely that most columns say nothing about most rows."""


def design_step_code(
    target: Target,
    tau: float,
    levels: int = 3,
    kind: Kind = "auto",
    *,
    X: Any = None,
    n_features: int = 8192,
    dimension: int | None = None,
    method: PeriodicMethod = "lloyd",
) -> StepDesign:
    """Design a step code that has the kernel of a target, up to centring and a ridge.

    Parameters
    ----------
    target : str, Activation, callable or (d0, d1, d2)
        Any named activation, names joined by '+', ``"rbf"`` (the pair [cos, sin]), an activation, a function,
        or moments as they are.
    tau : float
        Mean squared norm of the centred rows, 0.01 to 100.
    levels : {2, 3, 4}, default=3
        Number of distinct levels; a periodic code may have up to 16.
    kind : {"auto", "monotone", "free", "even", "folded", "periodic"}, default="auto"
        Shape of the code; see Notes.
    X : array-like of shape (n_samples, n_features), optional
        Rows as they will be projected. ``"auto"`` then compares kinds by their kernel error on a subsample.
    n_features : int, default=8192
        Number of features for that comparison.
    dimension : int, optional
        Instead of X: compare kinds on Gaussian rows of this (effective) dimension and mean squared norm tau.
        (tr C)^2 / tr C^2 is 28 for MNIST and for CovType with standardised columns.
    method : {"lloyd", "harmonics", "uniform"}, default="lloyd"
        For periodic codes: see :func:`design_periodic_code`.

    Returns
    -------
    StepDesign
        Named tuple; ``thresholds``, ``levels``, ``excess_d0`` and the rest.

    Warns
    -----
    RareFiringWarning
        A monotone code fires for less than 2 % of rows ('rbf' with two levels: tau above 4.2).

    Notes
    -----
    ``"monotone"``
        Two levels -v, v: one threshold at 2 tau sqrt(d2/d1), in closed form. Three levels v(-1, 0, 1): the
        one-parameter family of thresholds with the target's d2/d1 is searched from end to end. Four levels: any
        three thresholds and increasing levels, of zero mean; never worse than three.
    ``"free"``
        As monotone, with levels in any order; differs for four levels only, and is never worse.
    ``"even"``
        For targets with d1 = 0: a step code of |t|; two levels are -v, v.
    ``"folded"``
        A step code of |t - c|. The stationarity condition says that the best of all codes with L levels has
        this shape (see :mod:`nanogram.theory.step_search`): in range at every tau, with 2 (L - 1) thresholds.
    ``"periodic"``
        For Gaussian kernels: a step code of sqrt(2) cos(t + phase). It has the kernel's first harmonic rather than
        (d1, d2), and so it does not depend on tau.
    ``"auto"``
        Even where d1 = 0; else monotone for two and three levels, free for four, as long as one threshold at
        2 tau sqrt(d2/d1) fires for 2 % of rows ('rbf': tau up to 4.2). Beyond that a Gaussian target gets a
        periodic code, any other a folded one. With X (or ``dimension``) a Gaussian target gets, at every tau, the
        one of the three (increasing in its range, folded from tau = 0.25 on, periodic) whose centred kernel has the
        smallest expected error at ``n_features``, up to a multiple of P (:func:`design_kernel_error`); a folded one,
        with its twice as many thresholds, for a fourth less error. Codes with a bias above 0.8 have next to nothing
        of the kernel, however little their noise: they come last.

    Kernels agree after centring, so the mean of the code is free. Two levels are put symmetrically (-v, v),
    three monotone ones at v(-1, 0, 1), which storage likes; all others have mean zero under N(0, tau), which
    keeps the uncentred kernel free of a constant. ``mean`` is reported.

    Where sqrt(d1) and sqrt(2 tau d2) are more than ten orders of magnitude apart (sin + abs at tau = 100), the
    smaller one counts as 0, in ``target_moments`` too.

    Examples
    --------
    >>> from nanogram import theory
    >>> design = theory.design_step_code("rbf", tau=1.0)
    >>> design.thresholds.round(3), design.levels.round(3)
    (array([0.775, 1.63 ]), array([-1.512,  0.   ,  1.512]))
    >>> design.feasible_unscaled, round(design.unscaled_residual, 2)
    (False, 0.24)
    >>> theory.design_step_code("rbf", tau=2.0, levels=2).thresholds
    array([2.])
    >>> theory.design_step_code("abs", tau=1.0, levels=2).kind
    'even'
    >>> theory.design_step_code("rbf", tau=14.0, levels=2).kind
    'periodic'
    """
    tau = _checked_tau(tau)
    _check_choices(levels, kind)
    goal, moments = resolve_target(target, tau)
    moments = _without_traces(moments, tau)
    weight = gaussian_weight(moments, tau)
    comparing = kind == "auto" and weight is not None and not (X is None and dimension is None)
    kinds = _candidates(moments, tau, levels, weight, comparing) if kind == "auto" else [kind]
    designs = [report(_shape(moments, tau, levels, one, weight, method), moments, tau) for one in kinds]
    best = designs[0]
    if len(designs) > 1:
        rows = _nominal_rows(tau, dimension) if X is None else _some_rows(X)
        errors = {design.kind: design_kernel_error(design, goal, rows, n_features) for design in designs}
        best = min(designs, key=lambda design: _rank(design.kind, errors[design.kind]))._replace(compared=errors)
    if best.activity < FIRING_BOUND:
        warnings.warn(
            f"the {best.kind} code of {best.n_levels} levels at tau={tau:.6g} leaves its commonest level for only "
            f"{best.activity:.1e} of rows (bound {FIRING_BOUND}); use kind={_others(weight)}, or 'auto'",
            RareFiringWarning,
            stacklevel=2,
        )
    return best


def design_kernel_error(design: StepDesign, target: Target, X: Any, n_features: int = 8192) -> KernelError:
    """Expected relative Frobenius error of the design's centred kernel on rows X, up to a multiple of P.

    The bias is exact (orthant probabilities or a Fourier series); the noise at ``n_features`` Gaussian
    features uses 1,024 columns of a fixed seed. Memory grows with the square of the number of rows.

    Parameters
    ----------
    design : StepDesign
        What :func:`design_step_code` returned.
    target : str, Activation, callable or (d0, d1, d2)
        As there; moments stand for the quadratic activation that has them, plus a ridge.
    X : array-like of shape (n_samples, n_columns)
        Rows as they are projected, a few hundred.
    n_features : int, default=8192
        Number of features.

    Returns
    -------
    KernelError
        Named tuple (total, bias, noise).

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import theory
    >>> X = np.random.default_rng(0).standard_normal((60, 40)) / np.sqrt(40)
    >>> sign = theory.design_step_code("sign", tau=1.0, levels=2)
    >>> theory.design_kernel_error(sign, "sign", X).bias < 1e-12
    True
    """
    rows = np.asarray(X, dtype=np.float64)
    goal, _ = resolve_target(target, design.tau)
    function = design.as_activation()
    squares, dots = np.einsum("ij,ij->i", rows, rows), rows @ rows.T

    def draw(rng: np.random.Generator, count: int) -> FloatArray:
        t = rows @ rng.standard_normal((rows.shape[1], count))
        if function.uses_phase:
            t += rng.uniform(0, 2 * np.pi, count)
        return np.asarray(function(t))

    exact, coded = (one.kernel_from_dots(squares, dots, squares) for one in (goal, function))
    return expected_kernel_error(exact, coded, draw, n_features)


# --------------------------------------------------------------------------- what is asked for


def _checked_tau(tau: float) -> float:
    if isinstance(tau, bool) or not isinstance(tau, numbers.Real) or not 0 < tau <= MOST_TAU:
        raise ValueError(
            f"tau={tau!r} must be a number above 0 and up to {MOST_TAU:g}: the mean squared norm of the centred rows "
            "(a smaller gamma makes it smaller; gamma='scale' makes it 1)"
        )
    return float(tau)


def _without_traces(moments: Moments, tau: float) -> Moments:
    """A d1 or d2 too small to be reproduced beside the other counts as 0."""
    h1, h2 = hermite(moments, tau)
    if h1 < LEAST_SHARE * h2:
        return moments._replace(d1=0.0)
    return moments._replace(d2=0.0) if h2 < LEAST_SHARE * h1 else moments


def _check_choices(levels: int, kind: str) -> None:
    if kind not in get_args(Kind):
        raise ValueError(f"kind={kind!r} is unknown; choose one of {', '.join(get_args(Kind))}")
    most = 16 if kind == "periodic" else 4
    if not is_count(levels) or not 2 <= levels <= most:
        raise ValueError(f"levels={levels!r} is not accepted; 2, 3 and 4 are, and up to 16 with kind='periodic'")


def _candidates(moments: Moments, tau: float, levels: int, weight: float | None, comparing: bool) -> list[Kind]:
    """The kinds that 'auto' has to choose from."""
    if moments.d1 == 0:
        return ["even"]
    plain: Kind = "free" if levels == 4 else "monotone"
    h1, h2 = hermite(moments, tau)
    in_range = bool(cell_probabilities(np.array([h2 / h1]))[1] >= FIRING_BOUND)
    if comparing:
        increasing: list[Kind] = [plain] if in_range or levels == 4 else []
        folded: list[Kind] = ["folded"] if h2 >= FOLD_RATIO * h1 else []
        return [*increasing, *folded, "periodic"]
    return [plain] if in_range else ["periodic" if weight is not None else "folded"]


def _rank(kind: str, error: KernelError) -> tuple[bool, float]:
    """By total error; codes that are all bias last, and among themselves by bias."""
    hopeless = error.bias > HOPELESS_BIAS
    size = error.bias if hopeless else error.total
    return hopeless, size / FOLDED_SHARE if kind == "folded" else size


def _others(weight: float | None) -> str:
    """What works where a monotone code does not."""
    return "'folded'" if weight is None else "'periodic' or 'folded'"


# --------------------------------------------------------------------------- design


def _shape(
    moments: Moments, tau: float, levels: int, kind: Kind, weight: float | None, method: PeriodicMethod
) -> CodeShape:
    h1, h2 = hermite(moments, tau)
    if kind == "periodic":
        if weight is None:
            raise ValueError(
                "kind='periodic' is for Gaussian kernels ('rbf', 'cos_sin', 'cos_phase'); "
                + ("use kind='even'" if h1 == 0 else "use kind='monotone' or kind='folded'")
            )
        code = design_periodic_code(levels, method, weight)
        return CodeShape(code.thresholds, code.levels, kind)
    # Depends on the target's (h1, h2) through their ratio alone; the size is put back as an exact factor.
    size = float(np.hypot(h1, h2))
    if size < 1e-150:
        raise ValueError(f"target has d1={moments.d1:.3g} and d2={moments.d2:.3g} at tau={tau:.6g}: nothing to match")
    unit = _unit_code(h1 / size, h2 / size, int(levels), kind, tau, _others(weight))
    return CodeShape(unit.thresholds * np.sqrt(tau), unit.levels * size, kind)


@lru_cache(maxsize=256)
def _unit_code(h1: float, h2: float, levels: int, kind: Kind, tau: float, others: str) -> UnitCode:
    if kind == "even":
        if h1 > 0:
            raise ValueError(
                "kind='even' needs a target with d1 = 0; use " + ("kind='folded'" if h2 > 0 else "kind='monotone'")
            )
        return step_search.folded(0.0, h2, levels)
    if kind == "folded":
        if h2 < FOLD_RATIO * h1:
            raise ValueError(f"kind='folded' needs sqrt(d2/d1) above {FOLD_RATIO} / (2 sqrt(tau)); use kind='monotone'")
        return step_search.folded(h1, h2, levels)
    if kind == "free" and levels == 4:
        found = step_search.free(h1, h2, levels)
        if found is None:
            raise ValueError(f"no four-level code was found at tau={tau:.6g}; use kind={others}")
        return found
    if h1 == 0:
        raise ValueError("an increasing code cannot have d1 = 0, as the target has; use kind='even' (or 'auto')")
    rarest = cell_probabilities(np.array([h2 / h1]))[1]
    if rarest < FIRING_LIMIT:
        raise ValueError(
            f"kind={kind!r} with {levels} levels would fire for {rarest:.1e} of rows at tau={tau:.6g}; "
            f"use kind={others}, or levels=4 with kind='free'"
        )
    return step_search.monotone(h1, h2, levels)


# --------------------------------------------------------------------------- rows to compare on


def _nominal_rows(tau: float, dimension: int | None) -> FloatArray:
    """Gaussian rows of that dimension and mean squared norm tau, the same ones every time."""
    if dimension is None or dimension < 1:
        raise ValueError(f"dimension={dimension!r} must be at least 1")
    rows = np.random.default_rng(20240607).standard_normal((COMPARED_ROWS, int(dimension)))
    rows -= rows.mean(axis=0)
    return np.asarray(rows * np.sqrt(tau / np.mean(np.einsum("ij,ij->i", rows, rows))))


def _some_rows(X: Any) -> FloatArray:
    """Evenly spread rows, dense."""
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    if count < 3:
        raise ValueError(f"X has {count} rows; at least 3 are needed to compare kernels")
    index = np.unique(np.linspace(0, count - 1, min(count, COMPARED_ROWS)).astype(np.intp))
    rows = X[index] if hasattr(X, "shape") else np.asarray(X)[index]
    dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    if dense.ndim != 2 or not np.isfinite(dense).all():
        raise ValueError(f"X must be a table of finite numbers; got shape {dense.shape}")
    return dense
