"""One mixture, one activation: K, the papers' estimate of it, and K~ of Theorem 1 (figures 1 to 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nanogram import kernels
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.inspection import EigenvectorDisplay, SpectrumDisplay
from nanogram.theory import equivalent_kernel, gmm_statistics
from nanogram.theory.kernel_error import centred
from papers._kernels import accuracy, alignment, averaged_kernel, clusters, top_eigenpairs
from papers.item import Finding, Outcome, Record, mean_and_error, select

__all__ = ["error_finding", "measure", "plot_eigenvector", "plot_spectrum"]


def measure(parameters: Mapping[str, Any], seed: int) -> Outcome:
    """Distances of K, and of the papers' average over 500 draws of W, to K~ with the mixture's own statistics."""
    p, n, activation = parameters["p"], parameters["n"], parameters["activation"]
    means, covariances = mixture_parameters(p, parameters["kind"], mean=parameters["mean"], spread=parameters["spread"])
    X, y, *_ = make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=seed)
    known = gmm_statistics(X, y, means=means, covariances=list(covariances))
    K = centred(kernels.of_activation(activation, X))
    equivalent = equivalent_kernel(X, y, activation, statistics=known)
    averaged = averaged_kernel(X, activation, seed)
    values, vectors = np.linalg.eigh(K)
    others, other_vectors = np.linalg.eigh(equivalent)
    drawn, drawn_vectors = top_eigenpairs(averaged, 1)
    size = float(np.abs(values).max())
    found: dict[str, Any] = {
        "error": float(np.linalg.norm(K - equivalent, 2)) / size,
        "error_averaged": float(np.linalg.norm(averaged - equivalent, 2)) / size,
        "eigenvalues_apart": float(np.abs(values - others).max()) / size,
        "gap": float((values[-1] - values[-2]) / values[-1]),
        "alignment": alignment(vectors[:, -1], other_vectors[:, -1]),
        "alignment_averaged": alignment(drawn_vectors[:, 0], other_vectors[:, -1]),
        "accuracy": accuracy(clusters(vectors[:, -1:], 2, seed), y),
        "accuracy_averaged": accuracy(clusters(drawn_vectors, 2, seed), y),
        "accuracy_equivalent": accuracy(clusters(other_vectors[:, -1:], 2, seed), y),
    }
    if seed == 0:
        found |= {
            "eigenvalues": values[::-1],
            "equivalent_eigenvalues": others[::-1],
            "eigenvector": drawn_vectors[:, 0],
            "equivalent_eigenvector": other_vectors[:, -1],
            "labels": y,
        }
    return Outcome(found["error"], found, K.nbytes)


def error_finding(records: Sequence[Record], what: str) -> Finding:
    """|K - K~| / |K| against 1.5 times what the papers' own estimate of K has, which is what their figures show."""
    error, spread = mean_and_error([r.error for r in records])
    drawn, _ = mean_and_error([r.values["error_averaged"] for r in records])
    return Finding(
        f"\\|K - K~\\| / \\|K\\|, {what}",
        f"{drawn:.3g} by the paper's procedure (500 draws of W)",
        error,
        spread,
        len(records),
        error <= 1.5 * drawn,
        "exact K within 1.5 x of the procedure's",
    )


def plot_spectrum(record: Record, ax: Any) -> None:
    """Histogram of K over that of K~."""
    values, others = (np.array(record.values[name]) for name in ("eigenvalues", "equivalent_eigenvalues"))
    # The zero of centring belongs to neither spectrum.
    kept = [v[np.abs(v) > 1e-9 * v.max()] for v in (values, others)]
    display = SpectrumDisplay(
        kept[0], compared=kept[1], isolated=values[:1], spikes=others[:1], name="K", compared_name="K~"
    )
    display.plot(ax, bins=40, log=False)


def plot_eigenvector(record: Record, ax: Any, title: str = "") -> None:
    """Leading eigenvector of the averaged K and of K~."""
    values = record.values
    display = EigenvectorDisplay(values["eigenvector"], values["labels"], equivalent=values["equivalent_eigenvector"])
    display.plot(ax)
    ax.set_title(title or "leading eigenvector", fontsize=10)


def first(records: Sequence[Record], **parameters: Any) -> Record:
    """Seed 0, which carries the arrays."""
    return next(r for r in select(records, **parameters) if r.seed == 0)
