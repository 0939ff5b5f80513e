"""Rows drawn from the models of the papers: Gaussian mixtures, signal plus noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

__all__ = [
    "Mixture",
    "Noise",
    "SignalPlusNoise",
    "make_gaussian_mixture",
    "make_signal_plus_noise",
    "mixture_parameters",
    "noise_kurtosis",
]

Noise: TypeAlias = Literal["gaussian", "student_t", "rademacher"]
Floats: TypeAlias = npt.NDArray[np.float64]


class Mixture(NamedTuple):
    """Rows of a mixture, class after class, and what they were drawn from."""

    X: Floats
    y: npt.NDArray[np.int64]
    means: Floats
    covariances: tuple[Floats, ...]


class SignalPlusNoise(NamedTuple):
    """Rows -mu + z and +mu + z, the signs, and mu."""

    X: Floats
    v: npt.NDArray[np.int64]
    mu: Floats
    kurtosis: float


def noise_kurtosis(noise: Noise, df: float = 7.0) -> float:
    """Kurtosis of the unit-variance noise: 3, 3 + 6/(df - 4) or 1.

    Examples
    --------
    >>> noise_kurtosis("student_t", df=7)
    5.0
    """
    if noise == "gaussian":
        return 3.0
    if noise == "rademacher":
        return 1.0
    _check_noise(noise, df)
    return 3 + 6 / (df - 4) if df > 4 else float("inf")


def _check_noise(noise: str, df: float) -> None:
    if noise not in ("gaussian", "student_t", "rademacher"):
        raise ValueError(f"noise={noise!r} must be 'gaussian', 'student_t' or 'rademacher'")
    if noise == "student_t" and not df > 2:
        raise ValueError(f"df={df} must be more than 2, for the noise to have a variance")


def _drawn(noise: Noise, df: float, shape: tuple[int, int], random: Any) -> Floats:
    _check_noise(noise, df)
    if noise == "gaussian":
        z = random.standard_normal(shape)
    elif noise == "student_t":
        z = random.standard_t(df, shape) * np.sqrt((df - 2) / df)
    else:
        z = random.randint(0, 2, shape) * 2.0 - 1.0
    drawn: Floats = z
    return drawn


def mixture_parameters(
    p: int,
    kind: Literal["means", "covariances", "both", "crossed"] = "both",
    *,
    mean: float = 5.0,
    spread: float = 15.0,
) -> tuple[Floats, Floats]:
    """Means and variances of the mixtures in SPECTRUM and TRF.

    mu_a = [0_{a-1}; mean; 0_{p-a}] and C_a = (1 + spread (a-1)/sqrt(p)) I_p, a = 1, 2.

    Parameters
    ----------
    p : int
        Dimension, at least 2.
    kind : {"means", "covariances", "both", "crossed"}
        Classes that differ in means only, in covariances only, in both (TRF Fig. 2, with mean=4 and spread=4), or
        the four crossings N(mu_1, C_1), N(mu_1, C_2), N(mu_2, C_1), N(mu_2, C_2) (SPECTRUM Fig. 5).
    mean, spread : float
        The two numbers of the formula; the defaults are SPECTRUM's.

    Returns
    -------
    means : ndarray of shape (K, p)
    covariances : ndarray of shape (K,)
        Multiples of the identity, as `make_gaussian_mixture` takes them.

    Examples
    --------
    >>> means, covariances = mixture_parameters(100, "covariances")
    >>> (means[0] == means[1]).all().item(), covariances.tolist()
    (True, [1.0, 2.5])
    """
    if p < 2:
        raise ValueError(f"p={p} must be at least 2")
    pairs = {
        "means": [(0, 0), (1, 0)],
        "covariances": [(0, 0), (0, 1)],
        "both": [(0, 0), (1, 1)],
        "crossed": [(0, 0), (0, 1), (1, 0), (1, 1)],
    }
    if kind not in pairs:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, pairs))}")
    means = np.zeros((len(pairs[kind]), p))
    variances = np.empty(len(means))
    for row, (place, variance) in enumerate(pairs[kind]):
        means[row, place] = mean
        variances[row] = 1 + spread * variance / np.sqrt(p)
    return means, variances


def make_gaussian_mixture(
    n: int,
    p: int,
    *,
    means: npt.ArrayLike | None = None,
    covariances: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    proportions: npt.ArrayLike | None = None,
    normalize: bool = True,
    noise: Noise = "gaussian",
    df: float = 7.0,
    random_state: Any = 0,
) -> Mixture:
    """Draw rows of a mixture: x = mu_a / sqrt(p) + C_a^{1/2} z / sqrt(p) (SPECTRUM 2, TRF eq. 7).

    Parameters
    ----------
    n, p : int
        Rows and columns.
    means : array of shape (K, p), optional
        mu_a; zero by default.
    covariances : sequence of K, each a number, an array of shape (p,) or of shape (p, p), optional
        C_a: a multiple of the identity, a diagonal, or a full matrix; identities by default.
    proportions : array of shape (K,), optional
        Shares c_a, equal by default. Class sizes are these shares of n, rounded so that they add up, not drawn.
    normalize : bool
        Whether rows are divided by sqrt(p), as in the papers.
    noise : {"gaussian", "student_t", "rademacher"}
        Law of the entries of z, of mean 0 and variance 1.
    df : float
        Degrees of freedom of Student-t.
    random_state : int, RandomState or None
        As in scikit-learn.

    Returns
    -------
    Mixture
        X, y (0 to K - 1, ascending), means, covariances.

    Examples
    --------
    >>> means, covariances = mixture_parameters(64, "both")
    >>> X, y, *_ = make_gaussian_mixture(100, 64, means=means, covariances=covariances, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((100, 64), [50, 50])
    """
    if n < 1 or p < 1:
        raise ValueError(f"n={n} and p={p} must be at least 1")
    mu = None if means is None else np.asarray(means, dtype=np.float64)
    if mu is not None and (mu.ndim != 2 or mu.shape[1] != p):
        raise ValueError(f"means has shape {mu.shape}, must be (K, p) with p={p}")
    spreads = None if covariances is None else tuple(np.asarray(C, dtype=np.float64) for C in _sequence(covariances))
    shares = None if proportions is None else np.asarray(proportions, dtype=np.float64)
    n_classes = {len(given) for given in (mu, spreads, shares) if given is not None} or {1}
    if len(n_classes) > 1:
        raise ValueError(f"means, covariances and proportions speak of {sorted(n_classes)} classes")
    K = n_classes.pop()
    mu = np.zeros((K, p)) if mu is None else mu
    spreads = tuple(np.array(1.0) for _ in range(K)) if spreads is None else spreads
    shares = np.full(K, 1 / K) if shares is None else shares
    if shares.ndim != 1 or (shares < 0).any() or not np.isclose(shares.sum(), 1):
        raise ValueError(f"proportions={shares.tolist()} must be at least 0 and add up to 1")
    borders = np.rint(np.cumsum(shares) * n).astype(np.int64)
    y = np.searchsorted(borders, np.arange(n), side="right")
    X = _drawn(noise, df, (n, p), check_random_state(random_state))
    for a, C in enumerate(spreads):
        members = y == a
        X[members] = _coloured(X[members], C, a) + mu[a]
    if normalize:
        X /= np.sqrt(p)
    return Mixture(X, y, mu, spreads)


def _sequence(covariances: Any) -> Sequence[Any]:
    if np.ndim(covariances[0] if len(covariances) else 0.0) > 2:
        raise ValueError("covariances must be a sequence of numbers, vectors or matrices, one a class")
    sequence: Sequence[Any] = covariances
    return sequence


def _coloured(z: Floats, C: Floats, a: int) -> Floats:
    p = z.shape[1]
    if C.shape not in ((), (p,), (p, p)):
        raise ValueError(f"covariances[{a}] has shape {C.shape}, must be (), ({p},) or ({p}, {p})")
    if C.ndim < 2:
        if (C < 0).any():
            raise ValueError(f"covariances[{a}] has a negative variance, {C.min()}")
        scaled: Floats = z * np.sqrt(C)
        return scaled
    if not np.allclose(C, C.T):
        raise ValueError(f"covariances[{a}] is not symmetric")
    values, vectors = np.linalg.eigh(C)
    if values[0] < -1e-10 * abs(values[-1]):
        raise ValueError(f"covariances[{a}] has a negative eigenvalue, {values[0]:.3g}")
    coloured: Floats = z @ (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return coloured


def make_signal_plus_noise(
    n: int,
    p: int,
    rho: float,
    *,
    balance: float = 0.5,
    mu: npt.ArrayLike | None = None,
    noise: Noise = "gaussian",
    df: float = 7.0,
    random_state: Any = 0,
) -> SignalPlusNoise:
    """Draw rows of SQSC's model (eq. 1): x = -mu + z for the first class, +mu + z for the second, |mu|^2 = rho.

    Parameters
    ----------
    n, p : int
        Rows and columns.
    rho : float
        Signal-to-noise ratio; 0 leaves noise alone.
    balance : float
        Share of the first class.
    mu : array of shape (p,), optional
        Direction of the signal, scaled to norm sqrt(rho); uniform on the sphere by default.
    noise : {"gaussian", "student_t", "rademacher"}
        Law of the entries of z, of mean 0 and variance 1; SQSC Fig. 12 has Student-t with 7 degrees of freedom.
    df : float
        Degrees of freedom of Student-t.
    random_state : int, RandomState or None
        As in scikit-learn.

    Returns
    -------
    SignalPlusNoise
        X, v (-1 and 1, ascending), mu, kurtosis of the noise.

    Examples
    --------
    >>> drawn = make_signal_plus_noise(1000, 500, rho=4.0, noise="rademacher")
    >>> drawn.X.shape, drawn.v.sum().item(), round(float(drawn.mu @ drawn.mu), 6), drawn.kurtosis
    ((1000, 500), 0, 4.0, 1.0)
    """
    if n < 1 or p < 1:
        raise ValueError(f"n={n} and p={p} must be at least 1")
    if not 0 <= rho < np.inf:
        raise ValueError(f"rho={rho} must be at least 0 and finite")
    if not 0 <= balance <= 1:
        raise ValueError(f"balance={balance} must be 0 to 1")
    random = check_random_state(random_state)
    direction = random.standard_normal(p) if mu is None else np.asarray(mu, dtype=np.float64)
    length = np.linalg.norm(direction)
    if direction.shape != (p,) or not 0 < length < np.inf:
        raise ValueError(f"mu must be a finite vector of {p} entries that is not zero, got shape {direction.shape}")
    signal: Floats = direction * (np.sqrt(rho) / length)
    v = np.where(np.arange(n) < round(balance * n), -1, 1)
    X = _drawn(noise, df, (n, p), random)
    X += v[:, None] * signal
    return SignalPlusNoise(X, v, signal, noise_kurtosis(noise, df))
