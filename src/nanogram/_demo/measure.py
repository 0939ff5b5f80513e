"""What the demonstration measures: encoding, bytes, products and accuracy, ours and scikit-learn's, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier

from nanogram import FourierFeatures, TernaryFeatures
from nanogram.linear_model import CodeRidgeClassifier

__all__ = ["Line", "maps_shown", "measure", "median_ms"]

Array = npt.NDArray[Any]
Map = FourierFeatures | TernaryFeatures

#: Penalties that scikit-learn's classifier chooses from, for rows of features whose squared norm is about one.
ALPHAS = (0.1, 0.3, 1.0)
#: Seconds between timed calls: NumPy's BLAS threads keep the cores busy for a moment after each of theirs.
PAUSE = 0.03


@dataclass(frozen=True)
class Line:
    """One line of the tables; times in milliseconds."""

    name: str
    nbytes: int
    encode: float
    matvec: float
    rmatvec: float
    gram: float
    fit: float
    error: float
    accuracy: float


def maps_shown(n_components: int) -> dict[str, Map]:
    """The feature maps of the tables."""
    common: dict[str, Any] = {"n_components": n_components, "random_state": 0}
    fourier = {f"Fourier, {b} bit{'s' * (b > 1)}": FourierFeatures(bits=b, **common) for b in (8, 4, 2, 1)}
    return {
        "Fourier, float32": FourierFeatures(**common),
        **fourier,
        "designed, 4 levels": TernaryFeatures(levels=4, **common),
        "designed, ternary": TernaryFeatures(**common),
        "designed, base 3": TernaryFeatures(storage="base3", **common),
        "designed, 2 levels": TernaryFeatures(levels=2, **common),
    }


def median_ms(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call, measured in turn after one round to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            call()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def measure(sample: Any, n_components: int, rounds: int = 5) -> tuple[Line, list[Line], dict[str, Map]]:
    """The line of scikit-learn, one for each map, and the fitted maps."""
    X, X_test, y, y_test = sample.X_train, sample.X_test, sample.y_train, sample.y_test
    heldout = max(1, len(y) // 6)
    maps = {name: features.fit(X) for name, features in maps_shown(n_components).items()}

    # The same kernel: gamma is the one that gamma='scale' meant.
    gamma = maps["Fourier, float32"].gamma_
    sampler = RBFSampler(n_components=n_components, gamma=gamma, random_state=0).fit(X.astype(np.float32))
    rows = X.astype(np.float32)
    Phi = np.ascontiguousarray(sampler.transform(rows), dtype=np.float32)
    alpha = _chosen_alpha(Phi, y, heldout)
    start = time.perf_counter()
    model = RidgeClassifier(alpha).fit(Phi, y)
    trained = time.perf_counter() - start
    baseline = float(model.score(sampler.transform(X_test.astype(np.float32)), y_test))

    matrices = {name: features.transform(X) for name, features in maps.items()}
    rng = np.random.default_rng(1)
    r, v = (rng.standard_normal((length,), dtype=np.float32) for length in Phi.shape)
    encode: dict[str, Callable[[], object]] = {"": partial(sampler.transform, rows)}
    left: dict[str, Callable[[], object]] = {"": lambda: Phi @ v}
    right: dict[str, Callable[[], object]] = {"": lambda: Phi.T @ r}
    gram: dict[str, Callable[[], object]] = {"": lambda: Phi.T @ Phi}
    for name, Z in matrices.items():
        encode[name], gram[name] = partial(maps[name].transform, X), Z.gram
        left[name], right[name] = partial(Z.matvec, v), partial(Z.rmatvec, r)
    times = [median_ms(calls, n) for calls, n in ((encode, 3), (left, rounds), (right, rounds), (gram, 1))]

    lines = []
    for name, Z in matrices.items():
        start = time.perf_counter()
        classifier = CodeRidgeClassifier(alpha).fit(Z, y)
        seconds = time.perf_counter() - start
        score = float(classifier.score(maps[name].transform(X_test), y_test))
        error = _relative_error(Z @ v, Z.toarray(), v)
        lines.append(_line(name, Z.nbytes, times, 1e3 * seconds, error, score))
    error = _relative_error(Phi @ v, Phi, v)
    return _line("", Phi.nbytes, times, 1e3 * trained, error, baseline), lines, maps


def _line(name: str, nbytes: int, times: list[dict[str, float]], fit: float, error: float, accuracy: float) -> Line:
    encode, matvec, rmatvec, gram = (one[name] for one in times)
    return Line(name, nbytes, encode, matvec, rmatvec, gram, fit, error, accuracy)


def _chosen_alpha(Phi: Array, y: Array, heldout: int) -> float:
    """The penalty with the best score on the last ``heldout`` rows of a model trained on the others."""
    scores = [
        RidgeClassifier(alpha).fit(Phi[:-heldout], y[:-heldout]).score(Phi[-heldout:], y[-heldout:]) for alpha in ALPHAS
    ]
    return ALPHAS[int(np.argmax(scores))]


def _relative_error(product: Array, Phi: Array, v: Array) -> float:
    exact = Phi.astype(np.float64) @ v.astype(np.float64)
    return float(np.linalg.norm(product - exact) / np.linalg.norm(exact))
