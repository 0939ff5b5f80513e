r"""Truncated Newton: steps by preconditioned conjugate gradients on Hessian products, a search along each.

At theta with gradient g and Hessian H the step p solves ``H p = -g`` until ``|H p + g| <= eta |g|``, with
``eta = min(0.3, sqrt(|g| / |g_0|))``, so that far away little is spent and near the end convergence is superlinear. A
Hessian product is one pass over the features at precision "fast": its errors bend the direction a little and leave the
solution where it is. That is up to the gradients, which are of precision "float32" or better. See
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
            step = truncated(objective, curvature, preconditioner, part.gradient, np.minimum(0.3, np.sqrt(relative)))
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
    objective: Objective, curvature: Float64, preconditioner: SampledHessian, gradient: Float64, eta: Float64
) -> Float64:
    """The p of ``H p = -g`` to a residual of eta, by problem, all problems in each pass.

    Polak and Ribiere's form: it bears Hessian products with rounding errors.
    """
    x = np.zeros_like(gradient)
    r = -gradient
    target = eta * np.sqrt(objective.dot(r, r))
    z = preconditioner.solve(r)
    d, steepest = z, np.zeros_like(target)
    for _ in range(MOST_PRODUCTS):
        Hd = objective.hessian_product(curvature, d)
        curved, squares = objective.dot(d, Hd), objective.dot(d, d)
        steepest = np.maximum(steepest, curved / np.where(squares > 0, squares, 1.0))
        going = (np.sqrt(objective.dot(r, r)) > target) & (curved > FLAT * steepest * squares)
        if not going.any():
            break
        a = np.where(going, objective.dot(r, d) / np.where(going, curved, 1.0), 0.0)
        x += a * d
        before = objective.dot(r, z)
        r = r - a * Hd
        if (np.sqrt(objective.dot(r, r)) <= target).all():
            break
        old, z = z, preconditioner.solve(r)
        beta = (objective.dot(r, z) - objective.dot(r, old)) / np.where(before != 0, before, 1.0)
        d = z + np.maximum(beta, 0.0) * d
    # Nothing but flat directions: the preconditioned gradient descends, how far is the search's affair.
    still = objective.dot(x, x) == 0.0
    return np.where(still, -preconditioner.solve(gradient), x) if still.any() else x
