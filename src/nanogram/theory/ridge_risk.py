"""Risk of ridge regression on random features, rows, columns and features of one order; double descent included.

For given rows, by deterministic equivalents over the draw of the features (Louart, Liao and Couillet 2018; Liao,
Couillet and Mahoney 2020 for pairs of features of one projection).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from nanogram.activations import Activation, Sum, make_activation
from nanogram.activations import Cos as _Cos
from nanogram.activations import CosSin as _CosSin
from nanogram.activations import Sin as _Sin
from nanogram.kernels import of_activation

from ._population import dense_symmetric, positive_integer
from .mixture_statistics import checked_rows

__all__ = ["RidgeRisk", "kernel_ridge_risk", "ridge_risk"]

Floats = npt.NDArray[np.float64]

_STEPS = 200


class RidgeRisk(NamedTuple):
    """Expected errors over the draw of the features (and of the label noise).

    Attributes
    ----------
    train : float
        Mean squared error on the training rows.
    test : float or None
        Mean squared error on the test rows, ``bias + variance + irreducible``.
    bias : float or None
        Error of the mean prediction over draws of the features (label noise in the training labels included).
    variance : float or None
        What the draw of the features adds.
    irreducible : float
        The noise of the test labels.
    effective_ridge : tuple of float
        alpha (1 + delta_j) for each of the features of a projection.
    degrees_of_freedom : float
        E tr Z (Z^T Z + alpha I)^-1 Z^T.
    """

    train: float
    test: float | None
    bias: float | None
    variance: float | None
    irreducible: float
    effective_ridge: tuple[float, ...]
    degrees_of_freedom: float


def ridge_risk(
    X: Any,
    y: npt.ArrayLike,
    X_test: Any = None,
    y_test: npt.ArrayLike | None = None,
    *,
    activation: str | Activation | Callable[..., Any] = "cos_phase",
    n_features: int,
    alpha: float,
    noise: float = 0.0,
    gamma: float | str | None = None,
) -> RidgeRisk:
    """Expected risk of ridge regression on random features of these rows.

    ``Z = s(X W^T) / sqrt(m)`` with m independent projections, weights ``(Z^T Z + alpha I)^-1 Z^T y``, no intercept.

    Parameters
    ----------
    X, X_test : rows
        As they are projected: centred and scaled (or give gamma).
    y, y_test : array-like
        Targets, vectors. With ``noise`` the noiseless ones.
    activation : str, Activation or callable, default="cos_phase"
        What the features are: 'cos_phase' and 'cos_sin' for random Fourier features, 'relu', ...; for a designed code
        `StepDesign.as_activation()` (a step function, or a periodic one behind a random phase), with its own kernel.
    n_features : int
        m, the number of projections. An activation of two outputs ('cos_sin') has 2 m columns.
    alpha : float
        Ridge, positive, in the scale in which Z Z^T approaches the kernel.
    noise : float, default=0
        Variance of independent noise in the labels of both parts, over which the risk is averaged.
    gamma : float, 'scale' or None
        Rows are multiplied by sqrt(2 gamma) first, as in `nanogram.kernels.of_activation`; 'scale' looks at X.

    Returns
    -------
    RidgeRisk

    See Also
    --------
    kernel_ridge_risk : the same from kernel matrices, with the formulas.

    Notes
    -----
    For rows of many columns, or features of many directions: quadratic forms of a feature have to concentrate. With 8
    columns, 40 pairs and 120 rows the measured train error was half as large again as predicted.

    Examples
    --------
    The peak of double descent is at as many features as rows.

    >>> import numpy as np
    >>> from nanogram import theory
    >>> rng = np.random.default_rng(0)
    >>> X, X_test = (rng.standard_normal((200, 40)) / np.sqrt(40) for _ in range(2))
    >>> risks = [
    ...     theory.ridge_risk(X, X[:, 0], X_test, X_test[:, 0], n_features=m, alpha=1e-3, noise=0.01).test
    ...     for m in (50, 200, 800)
    ... ]
    >>> [bool(risks[0] < risks[1]), bool(risks[2] < risks[1])]
    [True, True]
    """
    rows = checked_rows(X)
    test = None if X_test is None else checked_rows(X_test, "X_test")
    if gamma is not None:
        from nanogram._bandwidth import resolve_gamma, row_scale

        scale = row_scale(resolve_gamma(gamma, rows))
        rows, test = scale * rows, None if test is None else scale * test
    parts = _single_outputs(make_activation(activation))
    return kernel_ridge_risk(
        [of_activation(part, rows) for part in parts],
        y,
        None if test is None else [of_activation(part, test, rows) for part in parts],
        None if test is None else [of_activation(part, test, diagonal=True) for part in parts],
        y_test,
        n_features=n_features,
        alpha=alpha,
        noise=noise,
    )


def _single_outputs(activation: Activation) -> list[Activation]:
    """Activations of one output each that share a projection."""
    if isinstance(activation, _CosSin):
        return [_Cos(), _Sin()]
    if isinstance(activation, Sum):
        return [part for term in activation.flat for part in _single_outputs(term)]
    if activation.n_outputs != 1:
        raise ValueError(f"activation={activation!r} has {activation.n_outputs} outputs; give a sum of single ones")
    return [activation]


def kernel_ridge_risk(
    K: Any,
    y: npt.ArrayLike,
    K_test: Any = None,
    diagonal_test: Any = None,
    y_test: npt.ArrayLike | None = None,
    *,
    n_features: int,
    alpha: float,
    noise: float = 0.0,
) -> RidgeRisk:
    """Expected risk of ridge regression on random features, from the kernels of the features.

    With K_j the kernels of the J features of a projection (J = 1 but for pairs), m projections,

        delta_j = (1/m) tr K_j Q,  Q = (sum_j K_j/(1 + delta_j) + alpha I)^-1
        E[Q_m] = Q,  E[Q_m A Q_m] = Q A Q + sum_j s_j(A) Q K_j Q,  Omega_ij = tr(K_i Q K_j Q) / (m (1 + delta_j)^2)
        t = (I - Omega)^-1 {tr(K_i Q A Q)/m}_i,  s_j = t_j/(1 + delta_j)^2

    the train error is ``alpha^2 y^T E[Q_m^2] y / n``. A test row x with kernels k_j has the mean prediction
    ``kappa^T y``, ``kappa = Q sum_j k_j/(1 + delta_j)``, and the variance

        sum_j y^T E[Q_m K_j Q_m] y / (m (1 + delta_j)^2) (k_j(x, x) - 2 kappa^T k_j + kappa^T K_j kappa)

    Label noise of variance v adds v I to y y^T in each of these and v to the test error. For J = 1,
    ``mu = alpha (1 + delta)`` solves ``mu = alpha + (mu/m) tr K (K + mu I)^-1``: a kernel ridge with a larger ridge.

    Parameters
    ----------
    K : array of shape (n, n), or list of J of them
        Kernel of the features, E[Z Z^T]; of coded features that of the code.
    y : array-like of shape (n,)
    K_test : array of shape (n_test, n), or list of J
        Test rows against training rows.
    diagonal_test : array of shape (n_test,), or list of J
        Kernel of each test row with itself.
    y_test : array-like of shape (n_test,)
    n_features, alpha, noise
        As in `ridge_risk`.

    Returns
    -------
    RidgeRisk

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import theory
    >>> theory.kernel_ridge_risk(np.eye(4), [1.0, 1.0, 1.0, 1.0], n_features=10**9, alpha=1.0).train  # (1/2)^2
    0.25...
    """
    kernels = [dense_symmetric(k, "K") for k in _listed(K)]
    n = len(kernels[0])
    m = positive_integer("n_features", n_features)
    alpha, noise = _real_number("alpha", alpha), _real_number("noise", noise)
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha={alpha!r} must be positive and finite")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise={noise!r} must be a variance: at least 0 and finite")
    if any(len(k) != n for k in kernels):
        raise ValueError(f"K has matrices of {[len(k) for k in kernels]} rows; they must have the same number")
    target = _vector("y", y, n)
    delta, Q = _fixed_point(kernels, m, alpha)
    equivalent = _Equivalent(kernels, delta, Q, m)
    QQ = Q @ Q
    by_labels = equivalent.sandwich(np.eye(n), QQ)
    train = alpha**2 / n * (float(target @ by_labels @ target) + noise * float(np.trace(by_labels)))
    shrunk = tuple(float(alpha * (1 + d)) for d in delta)
    freedom = n - alpha * float(np.trace(Q))
    if K_test is None or diagonal_test is None or y_test is None:
        if not (K_test is None and diagonal_test is None and y_test is None):
            raise ValueError("K_test, diagonal_test and y_test (X_test and y_test) go together: give all or none")
        return RidgeRisk(train, None, None, None, 0.0, shrunk, freedom)
    crosses = [_cross(k, n) for k in _listed(K_test)]
    diagonals = [_vector("diagonal_test", d, len(crosses[0])) for d in _listed(diagonal_test)]
    if len(crosses) != len(kernels) or len(diagonals) != len(kernels):
        raise ValueError(f"K has {len(kernels)} kernels, K_test {len(crosses)} and diagonal_test {len(diagonals)}")
    goal = _vector("y_test", y_test, len(crosses[0]))
    kappa = Q @ sum(k.T / (1 + d) for k, d in zip(crosses, delta, strict=True))
    bias = float(np.mean((kappa.T @ target - goal) ** 2)) + noise * float(np.mean(np.sum(kappa**2, axis=0)))
    variance = 0.0
    for kernel, cross, diagonal, d in zip(kernels, crosses, diagonals, delta, strict=True):
        inner = equivalent.sandwich(kernel)
        power = float(target @ inner @ target) + noise * float(np.trace(inner))
        rest = diagonal - 2 * np.einsum("it,ti->t", kappa, cross) + np.einsum("it,it->t", kappa, kernel @ kappa)
        variance += power / (m * float(1 + d) ** 2) * float(np.mean(rest))
    return RidgeRisk(train, bias + variance + noise, bias, variance, float(noise), shrunk, freedom)


class _Equivalent:
    """Second-order equivalents E[Q_m A Q_m]."""

    def __init__(self, kernels: Sequence[Floats], delta: Floats, Q: Floats, m: int) -> None:
        self.Q, self.m = Q, m
        self.wide = 1 / (1 + delta) ** 2
        self.between = [Q @ K @ Q for K in kernels]
        traces = np.array([[float(np.sum(K * B)) for B in self.between] for K in kernels])
        self.kernels = kernels
        self.omega = traces * self.wide / m

    def sandwich(self, A: Floats, QAQ: Floats | None = None) -> Floats:
        """E[Q_m A Q_m]."""
        QAQ = self.Q @ A @ self.Q if QAQ is None else QAQ
        first = np.array([float(np.sum(K * QAQ)) for K in self.kernels]) / self.m
        t = np.linalg.solve(np.eye(len(first)) - self.omega, first)
        return np.asarray(QAQ + sum(s * B for s, B in zip(t * self.wide, self.between, strict=True)))


def _fixed_point(kernels: Sequence[Floats], m: int, alpha: float) -> tuple[Floats, Floats]:
    """The solution delta and Q: for one kernel a scalar equation of its eigenvalues, else Newton's method."""
    n = len(kernels[0])
    if len(kernels) == 1:
        values, vectors = np.linalg.eigh(kernels[0])
        if values[0] < -1e-8 * max(values[-1], 0.0):
            raise ValueError(f"K has a negative eigenvalue, {values[0]:.6g}; the kernel of features has none")
        values = np.maximum(values, 0.0)
        mu = _effective_ridge(values, m, alpha)
        ratio = mu / alpha
        return np.array([ratio - 1]), (vectors * (ratio / (values + mu))) @ vectors.T
    # Q <= I/alpha: the solution lies below. The map is increasing and concave, so that Newton's steps fall to it from
    # there one by one; from below they would not (its slope may exceed 1 there).
    delta = np.array([np.trace(K) for K in kernels]) / (m * alpha)
    for _ in range(_STEPS):
        system = sum(K / (1 + d) for K, d in zip(kernels, delta, strict=True)) + alpha * np.eye(n)
        Q = np.asarray(cho_solve(cho_factor(system), np.eye(n)))
        products = [K @ Q for K in kernels]
        residual = np.array([np.trace(B) for B in products]) / m - delta
        if np.all(np.abs(residual) <= 1e-12 * (1 + delta)):
            return delta, Q
        omega = np.array([[np.sum(A * B.T) for B in products] for A in products]) / (m * (1 + delta) ** 2)
        delta = delta + np.linalg.solve(np.eye(len(delta)) - omega, residual)
    raise RuntimeError(f"the equations for delta did not settle in {_STEPS} steps (alpha={alpha:.3g}, m={m})")


def _effective_ridge(values: Floats, m: int, alpha: float) -> float:
    """The mu of alpha = mu (1 - (1/m) sum_k lambda_k/(lambda_k + mu)), whose right side rises once positive."""
    low, high = alpha, alpha + float(values.sum()) / m
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle * (1 - float(np.sum(values / (values + middle))) / m) < alpha:
            low = middle
        else:
            high = middle
        if high - low <= 4e-16 * high:
            break
    return (low + high) / 2


# ---------------------------------------------------------------------- arguments


def _listed(K: Any) -> list[Any]:
    return list(K) if isinstance(K, list | tuple) else [K]


def _vector(name: str, values: Any, n: int) -> Floats:
    if np.iscomplexobj(values):
        raise ValueError(f"{name} is complex; it must be real")
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (n,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} has shape {vector.shape}; it must be finite and ({n},)")
    return vector


def _cross(K: Any, n: int) -> Floats:
    if np.iscomplexobj(K):
        raise ValueError("K_test is complex; it must be real")
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n or not len(matrix) or not np.isfinite(matrix).all():
        raise ValueError(f"K_test has shape {matrix.shape}; it must be finite and (n_test, {n})")
    return matrix


def _real_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name}={value!r} must be a real number")
    return float(value)
