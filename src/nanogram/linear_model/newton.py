r"""Truncated Newton: steps by preconditioned conjugate gradients on Hessian products, a search along each.

At theta with gradient g and Hessian H the step p solves ``H p = -g`` until ``|H p + g| <= eta |g|``, with
``eta = min(0.3, sqrt(|g| / |g_0|))`` but no less than what reaches the tolerance, so that far away little is spent and
near the end convergence is superlinear. Far away the quadratic model Q of F says sooner when to stop (Nash and Sofer,
Assessing a search direction within a truncated-Newton method, 1990): ``i (1 - Q_{i-1} / Q_i) <= 1/2`` after i products.
A Hessian product is one pass over the features at precision "fast": its errors bend the direction a little and leave
the solution where it is. That is up to the gradients, which are of precision "float32" or better. See
`nanogram.linear_model._preconditioner` for the preconditioner and `nanogram.linear_model._search` for the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ._design import CodesDesign, Design
from ._objective import Columns, Objective, Point
from ._preconditioner import SampledHessian
from ._search import search

__all__ = ["newton"]

Float64 = npt.NDArray[np.float64]
#: Most Hessian products of a step.
MOST_PRODUCTS = 250
#: Gradients above this part of the reference are far away.
FAR = 1e-3
#: A direction whose curvature is below this part of the steepest one's has none to speak of.
FLAT = 1e-14


def newton(objective: Objective, point: Point, reference: Float64, norms: Float64, tol: float) -> Iterator[Point]:
    """Points of falling F, without end; problems whose gradient is below ``tol reference`` stay where they are.

    Parameters
    ----------
    objective : Objective
    point : Point
        Where to start.
    reference : array
        By problem, the norm that gradients are compared with.
    norms : array of shape (n,)
        Squared norms of rows.
    tol : float
        See above.
    """
    while True:
        sizes = np.sqrt(objective.dot(point.gradient, point.gradient))
        columns: Columns = None
        if not objective.loss.coupled and (sizes <= tol * reference).any():
            columns = np.flatnonzero(sizes > tol * reference)
            if not len(columns):
                columns = None
        part, scale = point.take(columns), reference if columns is None else reference[columns]
        curvature = objective.curvature(part, columns)
        relative = np.sqrt(objective.dot(part.gradient, part.gradient)) / np.where(scale > 0, scale, 1.0)
        with _quiet_blas(objective.design):
            preconditioner = SampledHessian(objective, curvature, norms)
            nearly = 0.3 * tol / np.maximum(relative, tol)  # of no use to solve for more
            eta = np.minimum(0.3, np.maximum(np.sqrt(relative), nearly))
            step = truncated(objective, curvature, preconditioner, part.gradient, eta, relative > FAR)
        del preconditioner, curvature  # not needed in the search, which has arrays of its own
        point = point.put(columns, search(objective, part, step, columns))
        yield point


def _quiet_blas(design: Design) -> AbstractContextManager[Any]:
    """One thread for the preconditioner's small systems where products are our own.

    Threads of OpenBLAS go on spinning after each call and would take the cores from the products.
    """
    ours = isinstance(design, CodesDesign) and design.Z.code.layout is not None
    return threadpool_limits(1, user_api="blas") if ours else nullcontext()


def truncated(
    objective: Objective,
    curvature: Float64,
    preconditioner: SampledHessian,
    gradient: Float64,
    eta: Float64,
    far: npt.NDArray[np.bool_],
) -> Float64:
    """The p of ``H p = -g`` to a residual of eta or, far away, as the model has it, by problem, all in each pass.

    Polak and Ribiere's form: it bears Hessian products with rounding errors.
    """
    x = np.zeros_like(gradient)
    r = -gradient
    target = eta * np.sqrt(objective.dot(r, r))
    z = preconditioner.solve(r)
    d, steepest = z, np.zeros_like(target)
    model, enough = np.zeros_like(target), np.zeros(target.shape, dtype=bool)
    for i in range(1, MOST_PRODUCTS + 1):
        Hd = objective.hessian_product(curvature, d)
        curved, squares = objective.dot(d, Hd), objective.dot(d, d)
        steepest = np.maximum(steepest, curved / np.where(squares > 0, squares, 1.0))
        going = (np.sqrt(objective.dot(r, r)) > target) & ~enough & (curved > FLAT * steepest * squares)
        if not going.any():
            break
        a = np.where(going, objective.dot(r, d) / np.where(going, curved, 1.0), 0.0)
        x += a * d
        before = objective.dot(r, z)
        r = r - a * Hd
        last, model = model, 0.5 * objective.dot(x, gradient - r)  # Q = g.x + x.Hx / 2, and H x = -g - r
        enough |= far & (i * (model - last) >= 0.5 * model)
        if (enough | (np.sqrt(objective.dot(r, r)) <= target)).all():
            break
        old, z = z, preconditioner.solve(r)
        beta = (objective.dot(r, z) - objective.dot(r, old)) / np.where(before != 0, before, 1.0)
        d = z + np.maximum(beta, 0.0) * d
    # Nothing but flat directions: the preconditioned gradient descends, how far is the search's affair.
    still = objective.dot(x, x) == 0.0
    return np.where(still, -preconditioner.solve(gradient), x) if still.any() else x
