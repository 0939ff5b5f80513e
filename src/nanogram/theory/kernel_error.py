"""How far a kernel from m coded features is from its target, in expectation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["KernelError", "centred", "expected_kernel_error", "kernel_error", "without_ridge"]

FloatArray = npt.NDArray[np.float64]


class KernelError(NamedTuple):
    """Relative Frobenius errors of a centred kernel, up to a multiple of P: ``total^2 = bias^2 + noise^2``."""

    total: float
    bias: float
    noise: float


def centred(kernel: FloatArray) -> FloatArray:
    """P K P with P = I - 11'/n."""
    return np.asarray(kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean())


def without_ridge(kernel: FloatArray) -> FloatArray:
    """P K P less the multiple of P that is nearest to it: what a ridge cannot change."""
    own = centred(kernel)
    n = len(own)
    return np.asarray(own - np.trace(own) / (n - 1) * (np.eye(n) - 1 / n))


def kernel_error(approximation: FloatArray, target: FloatArray) -> float:
    """Relative Frobenius distance of two kernels after centring, up to a multiple of P.

    Both lose their multiples of P, the denominator too: otherwise a kernel that is nearly diagonal, as
    every Gaussian kernel at large tau, would make any code look good.
    """
    goal = without_ridge(target)
    return float(np.linalg.norm(without_ridge(approximation) - goal) / np.linalg.norm(goal))


def expected_kernel_error(
    target: FloatArray,
    kernel: FloatArray,
    draw: Callable[[np.random.Generator, int], FloatArray],
    n_features: int,
    *,
    draws: int = 1024,
    seed: int = 0,
) -> KernelError:
    """Root mean square of `kernel_error` over the draw of ``n_features`` independent columns.

    The bias compares the code's exact kernel with the target. With q = |P z|^2 for a column z, the noise is
    ``((1 - 1/(n-1)) E[q^2] - |code's kernel|^2) / m`` in the same norm; E[q^2] is a mean of single
    numbers, taken over ``draws`` columns of a fixed seed.

    Parameters
    ----------
    target, kernel : ndarray of shape (n, n)
        Target kernel, and exact kernel of the code.
    draw : callable
        ``draw(rng, count)`` gives columns, shape (n, count).
    n_features : int
        m.
    draws, seed : int
        For E[q^2].

    Returns
    -------
    KernelError
        Named tuple (total, bias, noise).
    """
    n = len(target)
    goal, own = without_ridge(target), without_ridge(kernel)
    power = n * draw(np.random.default_rng(seed), draws).var(axis=0)
    fourth = float(np.mean(power**2)) * (1 - 1 / (n - 1))
    size = float(np.linalg.norm(goal))
    bias = float(np.linalg.norm(own - goal)) / size
    noise = float(np.sqrt(max(0.0, fourth - float(np.sum(own**2))) / n_features)) / size
    return KernelError(float(np.hypot(bias, noise)), bias, noise)
