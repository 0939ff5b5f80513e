"""Conjugate gradients for ridge regression when no Gram matrix fits, preconditioned by a randomised sketch of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import linalg

from nanogram.ops.reference import Precision

from ._least_squares import Primal

__all__ = [
    "Nystroem",
    "Solution",
    "conjugate_gradients",
    "default_rank",
    "normal_product",
    "nystroem",
    "precise_product",
]

Float64 = npt.NDArray[np.float64]
#: Bytes of the vectors that a preconditioner may hold.
PRECONDITIONER_BYTES = 120e6
#: From this tolerance on, products of low precision do on the way.
FAST_TOL = 1e-4
#: Rows at a time over which several columns are held, in bytes.
BLOCK_BYTES = 32e6


def normal_product(problem: Primal, V: Float64, precision: Precision = "float32") -> Float64:
    """``Z^T S Z V`` of centred rows, in one pass."""
    shift = problem.means @ V
    sums = np.zeros(V.shape[1])

    def between(rows: slice, products: Float64) -> Float64:
        R = products - shift
        if problem.weights is not None:
            R *= problem.weights[rows, None]
        np.add(sums, R.sum(axis=0), out=sums)
        return R

    out = problem.design.there_and_back(V, between, precision)
    out -= np.multiply.outer(problem.means, sums)
    return np.asarray(out)


class Preconditioner(Protocol):
    """What stands in for ``(A + alpha)^-1``, up to a factor."""

    def __call__(self, R: Float64, alpha: Float64) -> Float64:
        """Apply to the residuals of targets with these alphas."""


@dataclass(frozen=True)
class Nystroem:
    r"""The preconditioner ``(l_r + alpha) U (L + alpha)^-1 U^T + (I - U U^T)`` of ``U L U^T``, close to A.

    Frangella, Tropp and Udell (2021), "Randomized Nystroem preconditioning", section 5: with the sketch as good as
    the best of rank r, the condition becomes ``(l_r + alpha) / alpha``.
    """

    vectors: Float64
    values: Float64

    def __call__(self, R: Float64, alpha: Float64) -> Float64:
        """Apply to the residuals of targets with these alphas."""
        if not self.values.size:
            return R
        inner = self.vectors.T @ R
        last = self.values[-1] + alpha
        return np.asarray(R + self.vectors @ (inner * (last / (self.values[:, None] + alpha) - 1.0)))


def default_rank(n: int, m: int, targets: int = 1) -> int:
    """The rank of a preconditioner: about as many products as the iterations it saves, 120 MB of vectors at most.

    At most 16 a target, between 64 and 512, n and a quarter of m.
    """
    return max(0, min(max(64, min(512, 16 * targets)), int(PRECONDITIONER_BYTES / (16 * max(m, 1))), n, m // 4))


def nystroem(problem: Primal, rank: int, seed: int = 0) -> Nystroem:
    """Sketch ``A ~ A W (W^T A W)^-1 W^T A`` with W random and orthonormal, (m, rank).

    The same reference, algorithm 2.1: the shift keeps the Cholesky factorisation possible in spite of rounding.
    """
    m = problem.order
    if rank == 0:
        return Nystroem(np.empty((m, 0)), np.empty(0))
    W = linalg.qr(np.random.default_rng(seed).standard_normal((m, rank)), mode="economic", overwrite_a=True)[0]
    Y = np.empty((m, rank))
    step = max(1, int(BLOCK_BYTES / (8 * max(problem.design.shape))))
    # One pass with all columns where rows are encoded anew in each; else columns in groups, to save memory.
    step = rank if problem.design.streamed else step
    for start in range(0, rank, step):
        Y[:, start : start + step] = normal_product(problem, W[:, start : start + step])
    norm = float(np.linalg.norm(Y))
    if norm == 0.0:
        return Nystroem(np.empty((m, 0)), np.empty(0))
    shift = 1e-6 * norm
    Y += shift * W
    inner = W.T @ Y
    del W
    inner = 0.5 * (inner + inner.T)
    values, vectors = linalg.eigh(inner)
    # Where rounding left a sketch that is not positive, its directions are dropped.
    kept = values > 1e-3 * shift
    B = Y @ (vectors[:, kept] / np.sqrt(values[kept]))
    del Y
    small_values, small = linalg.eigh(B.T @ B)
    order = np.argsort(small_values)[::-1]
    small_values, small = small_values[order], small[:, order]
    good = small_values > 2 * shift
    U = B @ (small[:, good] / np.sqrt(small_values[good]))
    return Nystroem(U, small_values[good] - shift)


class Solution(NamedTuple):
    """What `conjugate_gradients` found."""

    x: Float64
    n_iter: npt.NDArray[np.int64]
    #: ``|B - (A + alpha) x| / |B|``, a target.
    residuals: Float64
    converged: bool


def conjugate_gradients(
    problem: Primal,
    alpha: Float64,
    B: Float64,
    *,
    start: Float64 | None,
    preconditioner: Preconditioner,
    tol: float,
    max_iter: int,
    tick: Callable[[Float64, Float64], bool],
) -> Solution:
    """Solve ``(A + alpha I) x = B``, all targets side by side, each with an alpha and step lengths of its own.

    Parameters
    ----------
    problem, alpha, B
        The system; alpha has one entry a target.
    start : array, optional
        Where to begin; zeros.
    preconditioner : Preconditioner
    tol : float
        Of the residual's norm, relative to B's.
    max_iter : int
    tick : callable
        Called after each iteration with x and the relative residuals; True ends it.

    Notes
    -----
    Products of packed codes lose 1e-6 of their right-hand side (5e-5 where tol allows it). So residuals are formed
    anew, with exact products, whenever they have fallen by 1e-3, and the search goes on from there: the solution is
    as precise as the residual, not as the products on the way.
    """
    # Products good to 5e-5 carry a round as far as it is asked to go where little is asked.
    precision: Precision = "fast" if tol >= FAST_TOL else "float32"
    scale = np.linalg.norm(B, axis=0)
    safe = np.where(scale > 0, scale, 1.0)
    x = np.zeros_like(B) if start is None else start.copy()
    n_iter = np.zeros(B.shape[1], dtype=np.int64)
    relative = np.ones(B.shape[1])
    best, stuck = np.inf, 0
    while True:
        R = B - alpha * x - precise_product(problem, x) if x.any() else B.copy()
        relative = np.linalg.norm(R, axis=0) / safe
        done = relative <= tol
        worst = float(relative.max(initial=0.0))
        # Two rounds without progress: rounding is all that is left.
        stuck = stuck + 1 if worst > 0.5 * best else 0
        best = min(best, worst)
        if done.all() or int(n_iter.max(initial=0)) >= max_iter or stuck >= 2:
            return Solution(x, n_iter, relative, bool(done.all()))
        target = np.maximum(tol * 0.5, relative * 1e-3) * safe
        S = preconditioner(R, alpha)
        P = S.copy()
        rs = (R * S).sum(axis=0)
        active = ~done
        while active.any() and int(n_iter.max(initial=0)) < max_iter:
            # Only the columns still sought for are multiplied.
            Q = normal_product(problem, P[:, active], precision) + alpha[active] * P[:, active]
            curvature = (P[:, active] * Q).sum(axis=0)
            step = np.divide(rs[active], curvature, out=np.zeros(len(curvature)), where=curvature > 0)
            x[:, active] += step * P[:, active]
            R[:, active] -= step * Q
            n_iter[active] += 1
            norms = np.linalg.norm(R, axis=0)
            relative = norms / safe
            if tick(x, relative):
                return Solution(x, n_iter, relative, bool((relative <= tol).all()))
            going = active & (norms > target)
            going[active] &= step > 0
            S = preconditioner(R[:, going], alpha[going])
            new = (R[:, going] * S).sum(axis=0)
            P[:, going] = S + new / rs[going] * P[:, going]
            rs[going] = new
            active = going


def precise_product(problem: Primal, x: Float64) -> Float64:
    """``Z^T S Z x`` of centred rows, by exact products."""
    R = problem.design.precise_matvec(x) - problem.means @ x
    if problem.weights is not None:
        R *= problem.weights[:, None]
    product: Float64 = problem.design.precise_rmatvec(R) - np.multiply.outer(problem.means, R.sum(axis=0))
    return product
