"""Where the spiked form of K~ puts its isolated eigenvalues (SPECTRUM section 3, after Theorem 1).

K~ is noise and a low rank: ``K~ = P (d1 Z Z^T + d0 I + U B U^T) P``, ``U = [J/sqrt p, phi, Z M]`` and

    B = [[d1 M^T M + d2 (t t^T + 2 T), d2 t, d1 I], [d2 t^T, d2, 0], [d1 I, 0, 0]]

With ``w = (z - d0)/d1`` the noise has the deterministic equivalents (one delta a class, rows of C_a / p)

    delta_a = -tr C_a S^-1 / p,  S = w I - sum_b (n_b/p) C_b/(1 + delta_b),  r_a = 1/(d1 w (1 + delta_a))
    U^T (z - d1 Z Z^T - d0)^-1 U -> G(z) = diag( n_a r_a/p,  sum_a (n_a/p) 2 T_aa r_a,  M^T (w S^-1 - I) M / d1 )

and P takes ``G e e^T G / (e^T G e)``, e = [1, 0, 0], off it. As many eigenvalues of K~ lie above z as
``G^1/2 B G^1/2`` has above 1: they are found by counting, and one shows beside the bulk when that matrix has an
eigenvalue above 1 at the bulk's edge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram.activations import Activation, Moments

from .equivalent import moments_of
from .mixture_statistics import GMMStatistics

__all__ = ["SpikedEigenvalues", "spiked_eigenvalues"]

Floats = npt.NDArray[np.float64]

_HALVINGS = 60
_NEWTON = 200


class SpikedEigenvalues(NamedTuple):
    """Isolated eigenvalues of K~ above its bulk, as the model of the mixture has them.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Decreasing.
    alignment : ndarray of shape (k,)
        Share of each eigenvector's square in the span of the class indicators.
    edge : float
        Right end of the bulk, d0 plus d1 times that of Z Z^T.
    strengths : ndarray of shape (2 K + 1,)
        Eigenvalues of G^1/2 B G^1/2 at the edge, decreasing: the transition is at 1, and those above show (infinite
        where d1 = 0 and the noise is d0 I: all show).
    """

    eigenvalues: Floats
    alignment: Floats
    edge: float
    strengths: Floats


def spiked_eigenvalues(
    statistics: GMMStatistics,
    activation: str | Activation | Callable[..., Any] | Sequence[float],
    *,
    tau: float | None = None,
) -> SpikedEigenvalues:
    """Isolated eigenvalues of K~ = P (d1 Z Z^T + V A V^T + ...) P, and the transition at which they appear.

    No rows are looked at: means, covariances and class sizes are enough. `gram_spectrum(...).isolated(spikes)` says
    where the Gram matrix of m features has them.

    Parameters
    ----------
    statistics : GMMStatistics
        With covariances: known ones, or ``gmm_statistics(..., keep_covariances=True)``.
    activation : str, Activation, callable or (d0, d1, d2)
    tau : float, optional
        Where moments are taken; that of the statistics by default.

    Returns
    -------
    SpikedEigenvalues

    Notes
    -----
    Numbers and diagonals as covariances cost O(K^2 p) a step; p x p matrices O(K p^3), seconds at p = 500.

    Examples
    --------
    Classes of equal covariance: 'sign' shows them, 'abs' sees their row norms alone.

    >>> from nanogram import theory
    >>> from nanogram.datasets import make_gaussian_mixture, mixture_parameters
    >>> means, covariances = mixture_parameters(512, "means")
    >>> X, y, *_ = make_gaussian_mixture(256, 512, means=means, covariances=covariances, random_state=0)
    >>> statistics = theory.gmm_statistics(X, y, means=means, covariances=covariances)
    >>> spikes = theory.spiked_eigenvalues(statistics, "sign")
    >>> measured = theory.equivalent_kernel(X, y, "sign", operator=True, statistics=statistics).eigenvalues()
    >>> spikes.eigenvalues.round(1).tolist(), measured[:1].round(1).tolist(), spikes.alignment.round(1).tolist()
    ([5.3], [5.4], [0.9])
    >>> theory.spiked_eigenvalues(statistics, "abs").alignment.round(6).tolist()
    [0.0]
    """
    if not isinstance(statistics, GMMStatistics):
        raise TypeError(f"statistics is a {type(statistics).__name__}; gmm_statistics makes what is asked for")
    if statistics.covariances is None:
        raise ValueError("statistics hold no covariances: gmm_statistics(..., keep_covariances=True), or give them")
    moments = moments_of(activation, statistics.tau if tau is None else tau)
    if moments.d1 == 0 and moments.d2 == 0:
        raise ValueError(f"activation={activation!r} has d1 = d2 = 0 at tau={statistics.tau:.4g}: K~ is d0 P")
    form = _SpikedForm(statistics, moments)
    edge = form.edge()
    if moments.d1 == 0:
        # The noise is d0 I: every positive eigenvalue of the low rank shows.
        own = np.sort(np.linalg.eigvalsh(form.matrix(edge + 1)[0]))[::-1]
        positive = own > 1e-12 * max(own[0], 0.0)
        strengths = np.where(positive, np.inf, 0.0)
        found = (edge + own[positive]).tolist()
    else:
        strengths = np.sort(np.linalg.eigvalsh(form.matrix(edge)[0]))[::-1]
        found = [form.place(k + 1, edge) for k in range(int(np.sum(strengths > 1)))]
    alignment = np.array([form.alignment(z, k) for k, z in enumerate(found)])
    return SpikedEigenvalues(np.array(found), alignment, edge, strengths)


class _SpikedForm:
    """G(z) and B."""

    def __init__(self, statistics: GMMStatistics, moments: Moments) -> None:
        self.moments = moments
        self.M, self.counts = statistics.M, statistics.counts
        self.p, self.K = self.M.shape
        self.ratios = self.counts / self.p
        self.squares = 2 * np.diag(statistics.T)
        assert statistics.covariances is not None
        full = any(C.ndim == 2 for C in statistics.covariances)
        if full:
            flat = [C if C.ndim == 2 else np.diag(np.broadcast_to(C, self.p)) for C in statistics.covariances]
        else:
            flat = [np.broadcast_to(C, self.p) for C in statistics.covariances]
        self.covariances = np.array(flat)
        d1, d2 = moments.d1, moments.d2
        t, eye, zero = statistics.t[:, None], np.eye(self.K), np.zeros((self.K, 1))
        information = d1 * self.M.T @ self.M + d2 * (t @ t.T + 2 * statistics.T)
        self.B = np.block(
            [
                [information, d2 * t, d1 * eye],
                [d2 * t.T, np.full((1, 1), d2), zero.T],
                [d1 * eye, zero, np.zeros((self.K, self.K))],
            ]
        )
        self._start: tuple[float, Floats] = (np.inf, np.zeros(self.K))

    # ------------------------------------------------------------------ the noise

    def delta(self, w: float) -> tuple[Floats, Floats] | None:
        """The largest fixed point, and S^-1 (its diagonal, where covariances are diagonal); None inside the bulk.

        The map is increasing and concave, so that Newton's method from any point above falls to it step by step; w is
        in the bulk exactly where it leaves the region of positive S and 1 + delta, or of a map that contracts.
        """
        known, delta = self._start
        if known < w:
            delta = np.zeros(self.K)
        for _ in range(_NEWTON):
            if (delta <= -1).any():
                return None
            inverse = self._inverse(w, delta)
            if inverse is None:
                return None
            value, jacobian = self._map(inverse, delta)
            step_matrix = np.eye(self.K) - jacobian
            # An M-matrix: its eigenvalues are those of I - J, J with positive entries.
            if np.linalg.eigvals(step_matrix).real.min() <= 0:
                return None
            move = np.linalg.solve(step_matrix, value - delta)
            delta = delta + move
            # Steps shrink to their squares; near the edge, a double root, rounding moves delta by 1e-11.
            if np.abs(move).max() <= 1e-10:
                self._start = (w, delta)
                return delta, inverse
        return None

    def _inverse(self, w: float, delta: Floats) -> Floats | None:
        weights = self.ratios / (1 + delta)
        if self.covariances.ndim == 2:
            S = w - weights @ self.covariances
            return np.asarray(1 / S) if S.min() > 0 else None
        S = w * np.eye(self.p) - np.tensordot(weights, self.covariances, axes=1)
        try:
            root = np.linalg.inv(np.linalg.cholesky(S))
        except np.linalg.LinAlgError:
            return None
        return np.asarray(root.T @ root)

    def _map(self, inverse: Floats, delta: Floats) -> tuple[Floats, Floats]:
        """F(delta) and dF_a / d delta_b = (n_b/p^2) tr(C_a S^-1 C_b S^-1)/(1 + delta_b)^2."""
        C = self.covariances
        if C.ndim == 2:
            value = -(C @ inverse) / self.p
            pairs = (C * inverse) @ (C * inverse).T
        else:
            products = [each @ inverse for each in C]
            value = -np.array([np.trace(each) for each in products]) / self.p
            pairs = np.array([[np.sum(a * b.T) for b in products] for a in products])
        return value, pairs * (self.ratios / self.p) / (1 + delta) ** 2

    def edge(self) -> float:
        """Right end of the spectrum of d1 Z Z^T + d0, to seven digits, from outside."""
        d0, d1, _ = self.moments
        if d1 == 0:
            return d0
        C = self.covariances
        norm = float(C.max()) if C.ndim == 2 else max(float(np.linalg.eigvalsh(each)[-1]) for each in C)
        low, high = 0.0, norm * (1 + np.sqrt(self.ratios.sum())) ** 2 * 1.01
        tolerance = 1e-12 if C.ndim == 2 else 1e-7
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) is not None else (middle, high)
            if high - low <= tolerance * high:
                break
        # At the edge itself the fixed point is a double root; a little outside it can be found again.
        return float(d0 + d1 * high * (1 + 1e-8))

    # ------------------------------------------------------------------ the low rank

    def low_rank(self, z: float) -> Floats:
        """U^T (z - d1 P Z Z^T P - d0)^-1 U."""
        d0, d1, _ = self.moments
        out = np.zeros((2 * self.K + 1, 2 * self.K + 1))
        if d1 == 0:
            r = np.full(self.K, 1 / (z - d0))
        else:
            w = (z - d0) / d1
            solved = self.delta(w)
            if solved is None:
                raise ValueError(f"z={z:.6g} is in the bulk, which ends at {self.edge():.6g}")
            delta, inverse = solved
            r = 1 / (d1 * w * (1 + delta))
            spread = inverse[:, None] * self.M if inverse.ndim == 1 else inverse @ self.M
            out[self.K + 1 :, self.K + 1 :] = self.M.T @ (w * spread - self.M) / d1
        inside = np.arange(self.K)
        out[inside, inside] = self.ratios * r
        out[self.K, self.K] = float(self.ratios @ (self.squares * r))
        towards = out[:, : self.K].sum(axis=1)
        return np.asarray(out - np.outer(towards, towards) / towards[: self.K].sum())

    def matrix(self, z: float) -> tuple[Floats, Floats]:
        """G^1/2 B G^1/2, and G^1/2."""
        values, vectors = np.linalg.eigh(self.low_rank(z))
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        return root @ self.B @ root, root

    def place(self, k: int, edge: float) -> float:
        """The k-th largest eigenvalue of K~: the least z above which there are fewer than k."""

        def above(z: float) -> bool:
            return int(np.sum(np.linalg.eigvalsh(self.matrix(z)[0]) > 1)) >= k

        low, gap = edge, max(edge, float(np.abs(self.B).max()))
        high = edge + gap
        while above(high):
            low, gap = high, 2 * gap
            high = edge + gap
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) else (low, middle)
            if high - low <= 1e-12 * high:
                break
        return (low + high) / 2

    def alignment(self, z: float, k: int) -> float:
        """Square of the eigenvector ``(z - H)^-1 U x`` in the span of J; its norm is -x^T G'(z) x."""
        step = 1e-5 * (z - self.edge())
        matrix, root = self.matrix(z)
        order = np.argsort(np.linalg.eigvalsh(matrix))[::-1]
        y = np.linalg.eigh(matrix)[1][:, order[k]]
        # G^1/2 B G^1/2 y = y, so that x = B G^1/2 y solves x = B G x.
        x = self.B @ (root @ y)
        norm = -float(x @ (self.low_rank(z + step) - self.low_rank(z - step)) @ x) / (2 * step)
        along = (self.low_rank(z) @ x)[: self.K]
        return float(np.sum(along**2 / self.ratios) / norm)
