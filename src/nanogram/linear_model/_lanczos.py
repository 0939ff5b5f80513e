r"""Generalised cross-validation where no Gram matrix fits: one run of Lanczos serves all alphas.

Steps of Lanczos from b give a small tridiagonal T with ``b^T f(A) b ~ |b|^2 e_1^T f(T) e_1`` for every f at once: Gauss
quadrature, whose error falls as the square of that of conjugate gradients (Golub and Meurant, "Matrices, moments and
quadrature", 1994, section 3). From the targets' columns that is the sum of squared residuals, from columns of random
signs v, with ``E v^T f(A) v = tr f(A)``, the degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh_tridiagonal

from ._cg import normal_product
from ._least_squares import Primal

__all__ = ["PROBES", "Quadrature", "quadrature"]

Float64 = npt.NDArray[np.float64]
#: Columns of random signs: the degrees of freedom D have a relative standard deviation of at most sqrt(2 / (8 D)).
PROBES = 8
#: Steps between looks at whether it has converged, and the relative change that is small enough.
EVERY = 10
CHANGE = 1e-3


class Quadrature(NamedTuple):
    """For each alpha (a rows): weighted squared residuals, one column a target, and degrees of freedom."""

    residuals: Float64
    degrees: Float64
    n_iter: int


def quadrature(
    problem: Primal, B: Float64, alphas: Float64, *, max_iter: int, seed: int, tick: Callable[[float], bool]
) -> Quadrature:
    """Run Lanczos on the targets and on random signs side by side until no alpha's figures change.

    Parameters
    ----------
    problem : Primal
    B : array of shape (m, t)
        The right-hand side.
    alphas : array of shape (a,)
    max_iter : int
        The most steps, one pass over the rows each.
    seed : int
        Of the signs.
    tick : callable
        Called after each step with the last relative change; True ends the run.
    """
    t, m = B.shape[1], problem.order
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(m, PROBES))
    Q = np.hstack([B, signs])
    norms = np.linalg.norm(Q, axis=0)
    Q = Q / np.where(norms > 0, norms, 1.0)
    before = np.zeros_like(Q)
    diagonals: list[Float64] = []
    besides: list[Float64] = []
    latest, change = _figures(problem, alphas, norms, t, [np.zeros(len(norms))], []), np.inf
    for step in range(1, min(max_iter, m) + 1):
        R = normal_product(problem, Q)
        diagonals.append((Q * R).sum(axis=0))
        R -= diagonals[-1] * Q
        if besides:
            R -= besides[-1] * before
        beside = np.linalg.norm(R, axis=0)
        ended = beside <= 1e-10 * np.maximum(np.max(diagonals, axis=0), 1e-300)
        beside[ended] = 0.0
        stop = tick(change) or bool(ended.all()) or step == min(max_iter, m)
        if stop or step % EVERY == 0:
            found = _figures(problem, alphas, norms, t, diagonals, besides)
            change = _change(latest, found, problem.n_counted)
            latest = found
            if stop or change < CHANGE:
                break
        before, Q = Q, np.divide(R, beside, out=np.zeros_like(R), where=beside > 0)
        besides.append(beside)
    return Quadrature(*latest, len(diagonals))


def _figures(
    problem: Primal, alphas: Float64, norms: Float64, t: int, diagonals: list[Float64], besides: list[Float64]
) -> tuple[Float64, Float64]:
    """Residuals ``|y|^2 - b.x - alpha |x|^2`` and degrees of freedom ``tr A (A + alpha)^-1``, by the quadrature."""
    residuals, traces = np.empty((len(alphas), t)), np.empty((len(alphas), len(norms) - t))
    for j, norm in enumerate(norms):
        diagonal, beside = np.array([d[j] for d in diagonals]), np.array([b[j] for b in besides])
        nodes, vectors = eigh_tridiagonal(diagonal, beside) if len(diagonal) > 1 else (diagonal, np.ones((1, 1)))
        nodes, weights = np.maximum(nodes, 0.0), (norm * vectors[0]) ** 2
        shifted = nodes + alphas[:, None]
        if j < t:
            residuals[:, j] = problem.squares[j] - (weights * (1 / shifted + alphas[:, None] / shifted**2)).sum(axis=1)
        else:
            traces[:, j - t] = (weights * nodes / shifted).sum(axis=1)
    return np.maximum(residuals, 0.0), traces.mean(axis=1)


def _change(old: tuple[Float64, Float64], new: tuple[Float64, Float64], n: int) -> float:
    """The largest change of what the score is made of, relative to it."""
    scale = np.maximum(new[0], 1e-12 * np.maximum(new[0].max(initial=0.0), 1e-300))
    free = np.maximum(n - new[1], 1.0)
    return float(max((np.abs(new[0] - old[0]) / scale).max(), (np.abs(new[1] - old[1]) / free).max()))
