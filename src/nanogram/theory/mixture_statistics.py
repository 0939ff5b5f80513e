"""What a Gaussian mixture tells the spectrum of a kernel: means, traces and shapes of covariances (SPECTRUM 3, TRF 3).

The model is ``x_i = mu_a / sqrt(p) + z_i``, ``z_i ~ (0, C_a / p)`` for rows of class a, so that C_a is p times the
covariance of the rows as they are, and mu_a sqrt(p) times their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram.rows import as_row_source

__all__ = ["GMMStatistics", "checked_labels", "checked_rows", "gmm_statistics", "trace_of_square"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class GMMStatistics:
    """Statistics of a mixture; K classes, n rows, p columns.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Labels, sorted.
    counts : ndarray of shape (K,)
        Rows of each class.
    M : ndarray of shape (p, K)
        Means mu_a of the classes, as columns.
    t : ndarray of shape (K,)
        t_a = tr C_a^o / sqrt(p), C_a^o = C_a - C^o, C^o = sum_a c_a C_a.
    T : ndarray of shape (K, K)
        T_ab = tr(C_a C_b) / p.
    tau : float
        tr C^o / p.
    phi : ndarray of shape (n,)
        |z_i|^2 - tr C_a / p, z_i the row less the mean of its class.
    covariances : tuple of K arrays, or None
        C_a, each a number, (p,) or (p, p), where they were given or asked for.
    shrinkage : ndarray of shape (K,), or None
        Ledoit-Wolf intensities of the covariances, 0 where they are the plain ones.
    """

    classes: npt.NDArray[Any]
    counts: Integers
    M: Floats
    t: Floats
    T: Floats
    tau: float
    phi: Floats
    covariances: tuple[Floats, ...] | None = None
    shrinkage: Floats | None = None

    @property
    def proportions(self) -> Floats:
        """c_a = n_a / n."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def mean_covariance(self) -> Floats:
        """C^o = sum_a c_a C_a; a number, (p,) or (p, p), the widest of the C_a."""
        if self.covariances is None:
            raise ValueError("these statistics hold no covariances: gmm_statistics(..., keep_covariances=True)")
        if any(C.ndim == 2 for C in self.covariances):
            p = len(self.M)
            full = [C if C.ndim == 2 else np.diag(np.broadcast_to(C, p)) for C in self.covariances]
            return np.asarray(sum(c * C for c, C in zip(self.proportions, full, strict=True)))
        return np.asarray(sum(c * C for c, C in zip(self.proportions, self.covariances, strict=True)))

    @property
    def mean_information(self) -> Floats:
        """M^T M with the classes' common mean taken out: (M - M c 1^T)^T (M - M c 1^T)."""
        apart = self.M - (self.M @ self.proportions)[:, None]
        return np.asarray(apart.T @ apart)

    @property
    def covariance_information(self) -> Floats:
        """``t t^T + 2 T`` with what the classes share taken out, weighted by their proportions.

        ``(I - 1 c^T)(t t^T + 2 T)(I - c 1^T)``: in terms of covariances ``t t^T + 2 {tr(C_a^o C_b^o) / p}_ab``,
        because sum_a c_a t_a = 0. Two equal covariances leave nothing, where ``|2 T|`` alone would be 4 for identities.
        """
        out = np.eye(len(self.t)) - np.outer(np.ones(len(self.t)), self.proportions)
        return np.asarray(out @ (np.outer(self.t, self.t) + 2 * self.T) @ out.T)

    def norms(self, scale: str = "unit") -> tuple[float, float]:
        """``(|M^T M|, |t t^T + 2 T|)`` in spectral norm, common parts out (SPECTRUM Table 3).

        Rows times c multiply the first by c^2 and the second by c^4. ``"unit"`` brings both to rows of tau = 1,
        where they can be compared; ``"data"`` leaves them as they are.
        """
        if scale not in ("unit", "data"):
            raise ValueError(f"scale={scale!r} must be 'unit' or 'data'")
        c = 1 / self.tau if scale == "unit" else 1.0
        means, shapes = (float(np.linalg.norm(B, 2)) for B in (self.mean_information, self.covariance_information))
        return means * c, shapes * c * c


def gmm_statistics(
    X: Any,
    labels: Any = None,
    *,
    means: npt.ArrayLike | None = None,
    covariances: Sequence[npt.ArrayLike] | None = None,
    keep_covariances: bool = False,
    shrinkage: str = "auto",
) -> GMMStatistics:
    """(M, t, T, tau, phi) of labelled rows: what Theorem 1 of SPECTRUM and TRF asks of the data.

    Traces are estimated without bias and without any p x p matrix when p is large. With class means taken out and
    S_a the sample covariances, ``tr(C_a C_b)`` is estimated by ``tr(S_a S_b)`` for a != b (independent samples), and
    ``tr(C_a^2)`` by the U-statistic `trace_of_square`, without bias for any law of the rows.

    Parameters
    ----------
    X : rows
        (n, p), anything `nanogram.rows` reads; held as a dense float64 array.
    labels : array-like of shape (n,), optional
        Class of each row; None is one class of all.
    means : array-like of shape (K, p), optional
        The model's mu_a where they are known, in the order of the sorted labels.
    covariances : sequence of K numbers, (p,) or (p, p) arrays, optional
        The model's C_a where they are known; t, T and tau are then theirs.
    keep_covariances : bool, default=False
        Keep estimates of C_a, p x p each, in the result.
    shrinkage : {"auto", "ledoit-wolf", "none"}, default="auto"
        For those estimates: Ledoit-Wolf's always, never, or ("auto") for classes with no more rows than columns.
        The traces are not touched by it.

    Returns
    -------
    GMMStatistics

    Examples
    --------
    >>> from nanogram import theory
    >>> from nanogram.datasets import make_gaussian_mixture, mixture_parameters
    >>> means, covariances = mixture_parameters(200, "covariances", spread=4.0)
    >>> X, y, *_ = make_gaussian_mixture(600, 200, means=means, covariances=covariances, random_state=0)
    >>> estimated = theory.gmm_statistics(X, y)
    >>> known = theory.gmm_statistics(X, y, means=means, covariances=covariances)
    >>> estimated.T.round(2).tolist(), known.T.round(2).tolist()
    ([[0.99, 1.26], [1.26, 1.62]], [[1.0, 1.28], [1.28, 1.65]])
    """
    rows = checked_rows(X)
    n, p = rows.shape
    classes, members = checked_labels(labels, n)
    if shrinkage not in ("auto", "ledoit-wolf", "none"):
        raise ValueError(f"shrinkage={shrinkage!r} must be 'auto', 'ledoit-wolf' or 'none'")
    counts = np.array([len(rows_of) for rows_of in members])
    shares = counts / n
    known_means = None if means is None else _known_means(means, len(classes), p)
    M = np.empty((p, len(classes)))
    phi, Z = np.empty(n), np.empty_like(rows)
    for a, rows_of in enumerate(members):
        centre = rows[rows_of].mean(axis=0) if known_means is None else known_means[a] / np.sqrt(p)
        M[:, a] = np.sqrt(p) * centre
        Z[rows_of] = rows[rows_of] - centre
    squares = np.einsum("ij,ij->i", Z, Z)
    intensities: Floats | None = None
    kept: tuple[Floats, ...] | None = None
    if covariances is not None:
        kept = _known_covariances(covariances, len(classes), p)
        traces = np.array([np.broadcast_to(C if C.ndim < 2 else np.diag(C), p).sum() for C in kept])
        T = np.array([[_trace_of_product(A, B, p) for B in kept] for A in kept]) / p
        norms = traces / p
    else:
        _enough_rows(classes, counts, known_means is not None)
        T, norms = _estimated_traces(Z, members, squares, known_means is not None)
        if keep_covariances:
            kept, intensities = _shrunk(Z, members, shrinkage, known_means is not None)
    for a, rows_of in enumerate(members):
        # Taking the sample mean out shortens rows by 1 - 1/n_a on average.
        longer = counts[a] / (counts[a] - 1) if known_means is None and counts[a] > 1 else 1.0
        phi[rows_of] = longer * squares[rows_of] - norms[a]
    tau = float(shares @ norms)
    if not tau > 0:
        raise ValueError("all rows of a class are alike: tau, the mean squared norm within classes, is 0")
    return GMMStatistics(classes, counts, M, np.sqrt(p) * (norms - tau), T, tau, phi, kept, intensities)


def trace_of_square(Z: npt.ArrayLike) -> float:
    """Unbiased estimate of tr(S^2) for rows of covariance S and unknown mean, whatever their law.

    ``(n-1)/(n (n-2) (n-3)) ((n-1)(n-2) tr S^2 + (tr S)^2 - n Q)``, S the sample covariance and
    ``Q = sum_i |z_i - mean|^4 / (n-1)``: the U-statistic that averages products over four different rows, in closed
    form (Himeno and Yamada 2014). tr S^2 comes from the smaller of the two Gram matrices.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.random.default_rng(0).standard_normal((50, 400))
    >>> round(trace_of_square(Z) / 400, 2), round(float(np.sum(np.cov(Z.T) ** 2)) / 400, 2)
    (0.94, 8.99)
    """
    rows = np.asarray(Z, dtype=np.float64)
    n = len(rows)
    if rows.ndim != 2 or n < 4:
        raise ValueError(f"Z has shape {rows.shape}; an unbiased estimate of tr(S^2) takes at least 4 rows")
    centred = rows - rows.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    power = _squared_norm(centred, centred) / (n - 1) ** 2
    fourth = float(squares @ squares) / (n - 1)
    trace = float(squares.sum()) / (n - 1)
    return (n - 1) / (n * (n - 2) * (n - 3)) * ((n - 1) * (n - 2) * power + trace**2 - n * fourth)


# ---------------------------------------------------------------------- estimates


def _squared_norm(A: Floats, B: Floats) -> float:
    """|A B^T|_F^2 = tr(A^T A B^T B), through whichever product is smaller."""
    if len(A) * len(B) <= A.shape[1] ** 2:
        return float(np.sum((A @ B.T) ** 2))
    return float(np.sum((A.T @ A) * (B.T @ B)))


def _estimated_traces(
    Z: Floats, members: Sequence[Integers], squares: Floats, known_means: bool
) -> tuple[Floats, Floats]:
    """T, and tr C_a / p."""
    p, K = Z.shape[1], len(members)
    freedom = [len(rows_of) - (not known_means) for rows_of in members]
    norms = np.array([squares[rows_of].sum() / f for rows_of, f in zip(members, freedom, strict=True)])
    T = np.empty((K, K))
    for a, first in enumerate(members):
        T[a, a] = _own_trace(Z[first], squares[first]) if known_means else trace_of_square(Z[first])
        for b in range(a):
            T[a, b] = T[b, a] = _squared_norm(Z[first], Z[members[b]]) / (freedom[a] * freedom[b])
    # Rows have covariance C_a / p: tr(C_a C_b) / p is p times what they show.
    return p * T, norms


def _own_trace(Z: Floats, squares: Floats) -> float:
    """tr(S^2) for rows of mean zero: the mean of (z_i . z_j)^2 over pairs."""
    n = len(Z)
    return (_squared_norm(Z, Z) - float(squares @ squares)) / (n * (n - 1))


def _shrunk(
    Z: Floats, members: Sequence[Integers], shrinkage: str, known_means: bool
) -> tuple[tuple[Floats, ...], Floats]:
    from sklearn.covariance import ledoit_wolf

    p = Z.shape[1]
    kept, intensities = [], []
    for rows_of in members:
        n = len(rows_of)
        if shrinkage == "ledoit-wolf" or (shrinkage == "auto" and n <= p):
            S, intensity = ledoit_wolf(Z[rows_of], assume_centered=True)
            S = S * (n / (n - (not known_means)))
        else:
            S, intensity = Z[rows_of].T @ Z[rows_of] / (n - (not known_means)), 0.0
        kept.append(p * S)
        intensities.append(float(intensity))
    return tuple(kept), np.array(intensities)


def _trace_of_product(A: Floats, B: Floats, p: int) -> float:
    if A.ndim == 2 and B.ndim == 2:
        return float(np.sum(A * B))
    first, second = (np.diag(C) if C.ndim == 2 else np.broadcast_to(C, p) for C in (A, B))
    return float(first @ second)


# ---------------------------------------------------------------------- arguments


def checked_rows(X: Any, name: str = "X") -> Floats:
    """Rows as a dense float64 array; complex, NaN and infinite entries are refused."""
    if np.iscomplexobj(X):
        raise ValueError(f"{name} is complex; rows must be real")
    try:
        source = as_row_source(X)
        blocks = [np.asarray(block, dtype=np.float64) for _, block in source.blocks(4096, np.float64, sparse="dense")]
    except (TypeError, ValueError) as error:
        raise type(error)(str(error) if name == "X" else f"{name}: {error}") from error
    if not blocks or sum(len(block) for block in blocks) == 0:
        raise ValueError(f"{name} has no rows")
    return np.concatenate(blocks)


def checked_labels(labels: Any, n: int) -> tuple[npt.NDArray[Any], list[Integers]]:
    """Sorted classes, and the rows of each."""
    if labels is None:
        return np.zeros(1, dtype=np.intp), [np.arange(n)]
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"labels has shape {given.shape}, must be ({n},): one a row")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("labels contains NaN or infinity")
    if given.dtype.kind == "c":
        raise ValueError("labels is complex; classes are named by integers, strings or real numbers")
    classes, which = np.unique(given, return_inverse=True)
    return classes, [np.flatnonzero(which == a) for a in range(len(classes))]


def _enough_rows(classes: npt.NDArray[Any], counts: Integers, known_means: bool) -> None:
    least = 2 if known_means else 4
    if counts.min() < least:
        a = int(np.argmin(counts))
        rows = "row" if counts[a] == 1 else "rows"
        raise ValueError(
            f"labels: class {classes[a]!s} has {counts[a]} {rows}; tr(C^2) is estimated from at least {least} rows of "
            "a class. Leave the class out, or pass means and covariances"
        )


def _known_means(means: npt.ArrayLike, K: int, p: int) -> Floats:
    mu = np.asarray(means, dtype=np.float64)
    if mu.shape != (K, p) or not np.isfinite(mu).all():
        raise ValueError(f"means has shape {mu.shape}, must be finite and ({K}, {p}): a row mu_a for each class")
    return mu


def _known_covariances(covariances: Sequence[npt.ArrayLike], K: int, p: int) -> tuple[Floats, ...]:
    if any(np.iscomplexobj(C) for C in covariances):
        raise ValueError("covariances are complex; they must be real")
    given = tuple(np.asarray(C, dtype=np.float64) for C in covariances)
    if len(given) != K:
        raise ValueError(f"covariances has {len(given)} entries for {K} classes")
    for a, C in enumerate(given):
        if C.shape not in ((), (p,), (p, p)) or not np.isfinite(C).all():
            raise ValueError(f"covariances[{a}] has shape {C.shape}, must be finite and (), ({p},) or ({p}, {p})")
        if C.ndim == 2 and not np.allclose(C, C.T):
            raise ValueError(f"covariances[{a}] is not symmetric")
        if (np.diag(C) if C.ndim == 2 else C).min() < 0:
            raise ValueError(f"covariances[{a}] has a negative variance")
        if C.ndim == 2 and (least := float(np.linalg.eigvalsh(C)[0])) < -1e-8 * float(np.trace(C)):
            raise ValueError(f"covariances[{a}] has a negative eigenvalue, {least:.3g}; a covariance has none")
    return given
