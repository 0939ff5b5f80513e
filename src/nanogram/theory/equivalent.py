"""The matrix that the kernel of any activation approaches in high dimension (SPECTRUM Theorem 1, TRF Theorem 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, eigsh

from nanogram.activations import Activation, Moments, make_activation

from .kernel_error import centred
from .mixture_statistics import GMMStatistics, checked_labels, checked_rows, gmm_statistics

__all__ = ["EquivalentKernel", "FittedRate", "equivalent_error", "equivalent_kernel", "fitted_rate", "moments_of"]

Floats = npt.NDArray[np.float64]

#: Matrices up to this size have their norms from a decomposition; larger ones by Lanczos.
_DENSE = 600


class EquivalentKernel(LinearOperator):
    """K~ as an operator: products in O(n p), and the array where it is asked for.

    ``K~ = P (d1 X X^T + d2 (psi psi^T + 2 J T J^T / p) + d0 I) P`` with psi_i = |z_i|^2 - tau: this is Theorem 1, as
    ``V A V^T = psi psi^T + 2 J T J^T / p``, and X = Z + J M^T / sqrt(p) are the rows themselves.

    Attributes
    ----------
    moments : Moments
        (d0, d1, d2).
    statistics : GMMStatistics
    tau : float
        Where the moments were taken.
    rows : ndarray of shape (n, p)
        Centred rows, P X.
    psi : ndarray of shape (n,)
        |z_i|^2 - tau = phi_i + t_a / sqrt(p).
    classes : ndarray of shape (n,)
        Index of the class of each row.
    """

    def __init__(
        self, rows: Floats, classes: npt.NDArray[np.intp], statistics: GMMStatistics, moments: Moments, tau: float
    ) -> None:
        super().__init__(np.dtype(np.float64), (len(rows), len(rows)))
        self.rows = rows - rows.mean(axis=0)
        self.classes = classes
        self.statistics = statistics
        self.moments = moments
        self.tau = tau
        self.psi = statistics.phi + statistics.t[classes] / np.sqrt(rows.shape[1])
        self._centred_psi = self.psi - self.psi.mean()

    def _matmat(self, V: Floats) -> Floats:
        d0, d1, d2 = self.moments
        p = self.rows.shape[1]
        V = V - V.mean(axis=0)
        sums = np.zeros((len(self.statistics.counts), V.shape[1]))
        np.add.at(sums, self.classes, V)
        shapes = (2 / p) * (self.statistics.T @ sums)[self.classes]
        product = d1 * (self.rows @ (self.rows.T @ V)) + d0 * V
        product += d2 * (np.outer(self._centred_psi, self._centred_psi @ V) + shapes - shapes.mean(axis=0))
        return np.asarray(product)

    def _matvec(self, v: Floats) -> Floats:
        return self._matmat(np.reshape(v, (-1, 1)))[:, 0]

    def _adjoint(self) -> EquivalentKernel:
        return self

    def toarray(self) -> Floats:
        """K~, n x n."""
        d0, d1, d2 = self.moments
        p = self.rows.shape[1]
        T = self.statistics.T[np.ix_(self.classes, self.classes)]
        kernel = d1 * (self.rows @ self.rows.T) + d2 * (np.outer(self.psi, self.psi) + (2 / p) * T)
        kernel[np.diag_indices_from(kernel)] += d0
        return centred(kernel)

    def eigenvalues(self) -> Floats:
        """All n eigenvalues, decreasing: through a matrix of p + K + 1 columns where those are fewer than n.

        K~ - d0 P is then L S L^T with S the signs of its parts; with L = Q R the eigenvalues are those of R S R^T.
        """
        d0, d1, d2 = self.moments
        n, p = self.rows.shape
        values, vectors = np.linalg.eigh(self.statistics.T)
        indicators = (vectors * np.sqrt(np.abs(values)))[self.classes] * np.sqrt(2 * d2 / p)
        parts = [np.sqrt(d2) * self._centred_psi[:, None], indicators - indicators.mean(axis=0)]
        L = np.hstack([*parts, np.sqrt(d1) * self.rows] if d1 > 0 else parts)
        if L.shape[1] >= n:
            return np.asarray(np.linalg.eigvalsh(self.toarray())[::-1])
        signs = np.ones(L.shape[1])
        signs[1 : 1 + len(values)] = np.where(values < 0, -1.0, 1.0)
        R: Floats = np.asarray(np.linalg.qr(L, mode="r"))
        found = np.concatenate([np.linalg.eigvalsh((R * signs) @ R.T), np.zeros(n - len(R))])
        # One of the zeros is P's own: K~ 1 = 0.
        found[np.argmin(np.abs(found))] = -d0
        return np.asarray(np.sort(found + d0)[::-1])


def equivalent_kernel(
    X: Any,
    labels: Any,
    activation: str | Activation | Callable[..., Any] | Sequence[float],
    *,
    statistics: GMMStatistics | None = None,
    tau: float | None = None,
    operator: bool = False,
) -> Any:
    """K~ of SPECTRUM Theorem 1 and TRF Theorem 1: what the centred kernel P K P is near to in high dimension.

        K~ = P (d1 (Z + J M^T / sqrt p)(Z + J M^T / sqrt p)^T + d2 V A V^T + d0 I) P,
        V = [J / sqrt p, phi],  A = [[t t^T + 2 T, t], [t^T, 1]]

    with the activation's moments at tau. It does not depend on the law of W, and on the activation through three
    numbers only. Rows are in the papers' scaling, of squared norm near tau; shifting all of them changes nothing in
    K~, while the kernel it stands for is that of the centred rows.

    Parameters
    ----------
    X : rows
        (n, p).
    labels : array-like of shape (n,) or None
        Class of each row; None is one class.
    activation : str, Activation, callable or (d0, d1, d2)
    statistics : GMMStatistics, optional
        From `gmm_statistics` of these rows, with known means and covariances for instance; estimated by default.
    tau : float, optional
        Where to take the moments and from where norms are counted; by default that of the statistics, tr C^o / p.
    operator : bool, default=False
        Return an `EquivalentKernel` (products in O(n p), no n x n array).

    Returns
    -------
    ndarray of shape (n, n), or EquivalentKernel

    Examples
    --------
    >>> from nanogram import kernels, theory
    >>> from nanogram.datasets import make_gaussian_mixture, mixture_parameters
    >>> means, covariances = mixture_parameters(512, "both", mean=4.0, spread=4.0)
    >>> X, y, *_ = make_gaussian_mixture(256, 512, means=means, covariances=covariances, random_state=0)
    >>> K = kernels.of_activation("relu", X)
    >>> round(theory.equivalent_error(K, theory.equivalent_kernel(X, y, "relu")), 2)
    0.02
    """
    rows = checked_rows(X)
    classes, members = checked_labels(labels, len(rows))
    if statistics is None:
        statistics = gmm_statistics(rows, labels)
    fits = statistics.phi.shape == (len(rows),) and len(statistics.M) == rows.shape[1]
    if not fits or not np.array_equal(statistics.counts, [len(rows_of) for rows_of in members]):
        raise ValueError(
            f"statistics are of {len(statistics.phi)} rows, {len(statistics.M)} columns and classes of "
            f"{statistics.counts.tolist()} rows; X and labels have {rows.shape} and {[len(m) for m in members]}"
        )
    if tau is None:
        tau = statistics.tau
    elif tau != statistics.tau:
        # psi = phi + t / sqrt(p) counts from tau.
        shift = (statistics.tau - tau) * np.sqrt(rows.shape[1])
        statistics = GMMStatistics(**{**statistics.__dict__, "t": statistics.t + shift, "tau": tau})
    which = np.empty(len(rows), dtype=np.intp)
    for a, rows_of in enumerate(members):
        which[rows_of] = a
    made = EquivalentKernel(rows, which, statistics, moments_of(activation, tau), tau)
    return made if operator else made.toarray()


def moments_of(activation: Any, tau: float) -> Moments:
    """(d0, d1, d2) of an activation at tau, or the three numbers themselves."""
    if isinstance(activation, str | Activation) or callable(activation):
        return make_activation(activation).moments(tau)
    values = np.asarray(activation, dtype=np.float64)
    if values.shape != (3,) or not np.isfinite(values).all() or values.min() < 0:
        raise ValueError(f"activation={activation!r} must be an activation or (d0, d1, d2), none of them negative")
    return Moments(*(float(d) for d in values))


def equivalent_error(kernel: Any, equivalent: Any, *, relative: bool = True) -> float:
    """``|P K P - K~| / |P K P|`` in spectral norm (SPECTRUM and TRF Theorem 1).

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        K, centred or not: the exact kernel, or Z Z^T of many features.
    equivalent : ndarray of shape (n, n) or EquivalentKernel
        K~.
    relative : bool, default=True
        Divide by the norm of the centred kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import theory
    >>> round(theory.equivalent_error(np.diag([2.0, 2.0]), [[0.5, -0.5], [-0.5, 0.5]]), 6)
    0.5
    """
    own = _square("kernel", kernel)
    other = equivalent.toarray() if isinstance(equivalent, EquivalentKernel) else _square("equivalent", equivalent)
    if other.shape != own.shape:
        raise ValueError(f"kernel has shape {own.shape} and equivalent {other.shape}; they must be alike")
    own = centred(own)
    size = _spectral_norm(own) if relative else 1.0
    if size == 0:
        raise ValueError("kernel is 0 after centring; no relative error can be given")
    return _spectral_norm(own - centred(other)) / size


class FittedRate(NamedTuple):
    """error ~ constant p^-exponent, by least squares in logarithms; ``error`` is the exponent's standard error."""

    exponent: float
    constant: float
    error: float


def fitted_rate(p: npt.ArrayLike, errors: npt.ArrayLike) -> FittedRate:
    """The rate at which errors fall with p; theory says 1/2 for activations with d2 != 0.

    Examples
    --------
    >>> from nanogram.theory import fitted_rate
    >>> round(fitted_rate([64, 256, 1024], [0.4, 0.2, 0.1]).exponent, 6)
    0.5
    """
    x, y = np.asarray(p, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(np.unique(x)) < 2 or min(x.min(), y.min()) <= 0:
        raise ValueError("p and errors must be vectors of one length, positive, with two or more different p")
    u, v = np.log(x) - np.log(x).mean(), np.log(y)
    slope = float(u @ v / (u @ u))
    rest = v - v.mean() - slope * u
    spread = float(np.sqrt(rest @ rest / max(len(x) - 2, 1) / (u @ u)))
    return FittedRate(-slope, float(np.exp(v.mean() - slope * np.log(x).mean())), spread)


def _square(name: str, matrix: Any) -> Floats:
    if np.iscomplexobj(matrix):
        raise ValueError(f"{name} is complex; it must be real")
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not np.isfinite(values).all():
        raise ValueError(f"{name} has shape {values.shape}, must be a finite square matrix")
    return values


def _spectral_norm(matrix: Floats) -> float:
    """Largest modulus of an eigenvalue of a symmetric matrix."""
    if len(matrix) <= _DENSE:
        return float(np.abs(np.linalg.eigvalsh(matrix)).max())
    start = np.random.default_rng(0).standard_normal(len(matrix))
    return float(np.abs(eigsh(matrix, k=1, which="LM", v0=start, return_eigenvectors=False)[0]))
