"""Which activation shows the classes in these rows: mean- or covariance-oriented, with labels or without (SPECTRUM)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram.activations import Activation, LeakyReLU, Moments, Quadratic, make_activation
from nanogram.rows import as_row_source

from ._clustering import Halves, clustering_agreement
from .mixture_statistics import GMMStatistics, checked_labels, checked_rows, gmm_statistics
from .step_design import design_step_code
from .step_report import StepDesign

__all__ = ["ActivationProfile", "activation_profile"]

Floats = npt.NDArray[np.float64]
Family = Literal["mean", "covariance", "balanced"]

#: SPECTRUM's table; 'step' has the centred kernel of 'sign', a quarter of it.
TABLE = ("identity", "sign", "sin", "erf", "relu", "abs", "cos", "gaussian")
#: Slopes a- of max(t, 0) + a- max(-t, 0) between the identity (-1) and the modulus (1).
SLOPES = (-1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 0.8, 1.0)

#: Bits; scores nearer than this to each other, or than two standard errors, are a tie.
_TIE = 0.02


class ActivationProfile(NamedTuple):
    """What the rows ask of an activation.

    Attributes
    ----------
    activation : str
        The activation of the table with the highest score, or of those that tie with it.
    family : {"mean", "covariance", "balanced"}
        Whether that has d2 = 0, d1 = 0 or neither.
    scores : dict
        Bits for each activation of the table: on how much two clusterings made on separate halves agree or, with
        labels, how much clusterings tell of the labels.
    errors : dict
        Standard errors of the scores over the splits (which share rows: somewhat too small).
    dominant : {"means", "covariances", "both", "neither"}
        Which of the two families d2 = 0 and d1 = 0 has the higher best score; both within two standard errors of
        each other, neither when no score exceeds 0.05 bits.
    leaky_relu : LeakyReLU
        The slopes of highest score in max(t, 0) + a- max(-t, 0); from -1, means alone, to 1, covariances alone.
    moments : Moments
        (d0, d1, d2) of these slopes at tau.
    ratio : float
        d1/d2 of these slopes; infinite for means alone, 0 for covariances alone.
    quadratic : Quadratic
        a2 t^2 + a1 t of the same d1 and d2.
    step_code : StepDesign
        Three levels of the same d1 and d2 at tau.
    tau : float
        Mean squared norm to which rows were scaled; to be applied to rows of this size.
    norms : (float, float) or None
        With labels, |M^T M| and |t t^T + 2 T| less what classes share, for rows of tau = 1 (SPECTRUM Table 3).
    statistics : GMMStatistics or None
        With labels, of the rows as they are.
    """

    activation: str
    family: Family
    scores: dict[str, float]
    errors: dict[str, float]
    dominant: str
    leaky_relu: LeakyReLU
    moments: Moments
    ratio: float
    quadratic: Quadratic
    step_code: StepDesign
    tau: float
    norms: tuple[float, float] | None
    statistics: GMMStatistics | None


def activation_profile(
    X: Any,
    labels: Any = None,
    *,
    n_clusters: int | None = None,
    activations: Sequence[str | Activation] = TABLE,
    tau: float = 1.0,
    max_rows: int = 512,
    n_splits: int = 10,
    random_state: int = 0,
) -> ActivationProfile:
    """Recommend an activation for spectral clustering of these rows.

    Which of means and covariances tell classes apart decides between activations with d1 and with d2; SPECTRUM
    leaves open how to see it without labels. The rule here: cut rows into two halves at random, cluster each half by
    itself (k-means on the leading eigenvectors of the centred kernel), let each of the two clusterings name all rows,
    and score the activation by the mutual information of the two names. Structure that is in the rows is found in
    both halves, what k-means makes of noise or of a few outliers is not, or carries no information: an even and
    repeatable cut into K parts has log2 K bits. With labels the score is the information that clusterings of each
    half give about the labels of all rows. Of activations that tie (0.02 bits, or two standard errors of the paired
    difference) a mean-oriented one is taken where there is any, that of least d0/(tau d1), which needs the fewest
    features; else the one whose first K - 1 eigenvalues stand out most.

    Parameters
    ----------
    X : rows
        Centred and scaled to ``tau`` here.
    labels : array-like, optional
        Two classes or more of at least 4 rows.
    n_clusters : int, optional
        Number of clusters and of eigenvectors; by default 2, or the number of classes.
    activations : sequence of str or Activation
        The table to choose from.
    tau : float, default=1.0
        Mean squared norm of the rows at which activations are compared.
    max_rows : int, default=512
        Rows of one split, drawn at random; halves have half as many.
    n_splits : int, default=10
    random_state : int, default=0

    Returns
    -------
    ActivationProfile

    Notes
    -----
    Costs ``2 n_splits`` decompositions of (max_rows/2)-sized matrices for each activation: some seconds. How often
    the rule is right is measured in ``benchmarks/results/activation_profile_checking.md``.

    Examples
    --------
    >>> from nanogram import theory
    >>> from nanogram.datasets import make_gaussian_mixture, mixture_parameters
    >>> means, covariances = mixture_parameters(100, "means", mean=6.0)
    >>> X, y, *_ = make_gaussian_mixture(400, 100, means=means, covariances=covariances, random_state=0)
    >>> profile = theory.activation_profile(X, max_rows=200, n_splits=3)
    >>> profile.family, profile.dominant
    ('mean', 'means')
    """
    rng = np.random.default_rng(random_state)
    statistics, names = None, None
    if labels is not None:
        rows = checked_rows(X)
        classes, members = checked_labels(labels, len(rows))
        if len(classes) < 2:
            raise ValueError("labels has one class; give two or more, or labels=None for the rule without labels")
        statistics = gmm_statistics(rows, labels)
        names = np.empty(len(rows), dtype=np.intp)
        for a, rows_of in enumerate(members):
            names[rows_of] = a
        keep = rng.permutation(len(rows))[: 16 * max_rows]
        rows, names = rows[keep], names[keep]
    else:
        rows = checked_rows(_thinned(X, 16 * max_rows, rng))
    K = n_clusters if n_clusters is not None else 2 if names is None else len(np.unique(names))
    if isinstance(K, bool) or int(K) != K or not 2 <= K <= len(rows) // 8:
        raise ValueError(f"n_clusters={K!r} must be an integer from 2 to {len(rows) // 8}, an eighth of the rows")
    if n_splits < 2 or max_rows < 16:
        raise ValueError(f"n_splits={n_splits} must be at least 2 and max_rows={max_rows} at least 16")
    if not (tau > 0 and np.isfinite(tau)):
        raise ValueError(f"tau={tau!r} must be positive and finite")
    rows = rows - rows.mean(axis=0)
    spread = float(np.mean(np.einsum("ij,ij->i", rows, rows)))
    if not spread > 0:
        raise ValueError("all rows of X are alike")
    rows = rows * np.sqrt(tau / spread)
    made = {a if isinstance(a, str) else repr(a): make_activation(a) for a in activations}
    if not made:
        raise ValueError("activations is empty")
    leaky = {f"leaky {slope}": LeakyReLU(1.0, slope) for slope in SLOPES}
    halves = [Halves.draw(rows, names, max_rows, int(rng.integers(2**31))) for _ in range(n_splits)]
    found = {
        name: np.array([clustering_agreement(half, activation, int(K)) for half in halves])
        for name, activation in (made | leaky).items()
    }
    measured = {name: values[:, 0] for name, values in found.items()}
    scores = {name: float(values.mean()) for name, values in measured.items()}
    best = _chosen(made, measured, {name: float(found[name][:, 1].mean()) for name in made}, tau)
    slope = max(leaky, key=lambda name: scores[name])
    moments = leaky[slope].moments(tau)
    return ActivationProfile(
        activation=best,
        family=_family(made[best].moments(tau), tau),
        scores={name: scores[name] for name in made},
        errors={name: float(measured[name].std(ddof=1) / np.sqrt(n_splits)) for name in made},
        dominant=_dominant(made, measured, tau),
        leaky_relu=leaky[slope],
        moments=moments,
        ratio=moments.d1 / moments.d2 if moments.d2 > 0 else float("inf"),
        quadratic=Quadratic(float(np.sqrt(moments.d2)), float(np.sqrt(moments.d1)), 0.0),
        step_code=design_step_code(leaky[slope], tau, 3),
        tau=tau,
        norms=None if statistics is None else statistics.norms(),
        statistics=statistics,
    )


def _thinned(X: Any, count: int, rng: np.random.Generator) -> Any:
    """At most ``count`` rows, at random, where X can be read at random places."""
    if np.iscomplexobj(X):
        raise ValueError("X is complex; rows must be real")
    source = as_row_source(X)
    n = source.n_rows
    if n is None or n <= count or not source.random_access:
        return source
    return source.take(np.sort(rng.permutation(n)[:count]), np.float64, sparse="dense")


def _chosen(made: dict[str, Activation], measured: dict[str, Floats], prominence: dict[str, float], tau: float) -> str:
    """Of the activations that tie with the highest score: mean-oriented of least noise, else most prominent."""
    top = max(made, key=lambda name: measured[name].mean())
    behind = {name: measured[top] - measured[name] for name in made}
    tied = [name for name, d in behind.items() if d.mean() <= max(_TIE, 2 * d.std(ddof=1) / np.sqrt(len(d)))]
    moments = {name: made[name].moments(tau) for name in tied}
    means = [name for name in tied if _family(moments[name], tau) == "mean"]
    if means:
        return min(means, key=lambda name: moments[name].d0 / (tau * moments[name].d1))
    return max(tied, key=lambda name: prominence[name])


def _family(moments: Moments, tau: float) -> Family:
    first, second = tau * moments.d1, tau * tau * moments.d2
    if second <= 1e-9 * first:
        return "mean"
    return "covariance" if first <= 1e-9 * second else "balanced"


def _dominant(made: dict[str, Activation], measured: dict[str, Floats], tau: float) -> str:
    best: dict[str, Floats] = {}
    for name, activation in made.items():
        family = _family(activation.moments(tau), tau)
        if family not in best or measured[name].mean() > best[family].mean():
            best[family] = measured[name]
    if max(values.mean() for values in best.values()) < 0.05:
        return "neither"
    if "mean" not in best or "covariance" not in best:
        winner = max(best, key=lambda f: best[f].mean())
        return {"mean": "means", "covariance": "covariances", "balanced": "both"}[winner]
    apart = best["mean"] - best["covariance"]
    if abs(apart.mean()) <= 2 * apart.std(ddof=1) / np.sqrt(len(apart)):
        return "both"
    return "means" if apart.mean() > 0 else "covariances"
