"""Entries of an eigenvector, class by class, against the equivalent's and what a Gaussian mixture would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nanogram.activations import make_activation
from nanogram.theory import GMMStatistics, equivalent_kernel, gmm_statistics
from nanogram.theory.mixture_statistics import checked_labels, checked_rows

from ._drawing import CLASSES, PREDICTED, axes
from ._mixture_draws import class_means, eigenvector_of, exact_kernel, mixture_prediction
from ._observed import checked_kernel, features_of

__all__ = ["EigenvectorDisplay"]

Floats = npt.NDArray[np.float64]


class EigenvectorDisplay:
    """An eigenvector against class labels: one dot a row, rows sorted by class.

    Made by `from_rows`, `from_estimator` or `from_predictions`. The sign is the one that makes the last class's mean
    the greater of it and the first's.

    Parameters
    ----------
    eigenvector : array-like of shape (n,)
    labels : array-like of shape (n,)
    mean, std : array-like of shape (K,), optional
        Predicted mean and standard deviation of an entry, for each class in the order of the sorted labels.
    equivalent : array-like of shape (n,), optional
        The same eigenvector of the asymptotic equivalent K~.
    eigenvalue : float, optional
    component : int, default=0
        From the top, for the axis.

    Attributes
    ----------
    eigenvector : ndarray of shape (n,)
        With its sign settled, in the order of the rows given.
    classes : ndarray of shape (K,)
    class_means : ndarray of shape (K,)
        Measured.
    ax_, figure_ : the axes drawn on, and their figure
    points_ : list of the dots, one collection a class
    bands_ : list of the bands mean +- std, empty without a prediction
    line_ : the equivalent's eigenvector, or None

    Examples
    --------
    >>> from nanogram.datasets import make_gaussian_mixture, mixture_parameters
    >>> from nanogram.inspection import EigenvectorDisplay
    >>> means, covariances = mixture_parameters(200, "means", mean=6.0)
    >>> X, y, *_ = make_gaussian_mixture(100, 200, means=means, covariances=covariances, random_state=0)
    >>> display = EigenvectorDisplay.from_rows(X, y, "relu", n_draws=20)
    >>> display.class_means.round(2), display.mean.round(2)
    (array([-0.1,  0.1]), array([-0.1,  0.1]))
    """

    def __init__(
        self,
        eigenvector: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        mean: npt.ArrayLike | None = None,
        std: npt.ArrayLike | None = None,
        equivalent: npt.ArrayLike | None = None,
        eigenvalue: float | None = None,
        component: int = 0,
    ) -> None:
        vector = _vector("eigenvector", eigenvector)
        self.classes, members = checked_labels(labels, len(vector))
        self.labels = np.asarray(labels)
        self._which = _positions(members, len(vector))
        K = len(self.classes)
        averages = class_means(vector, self._which, K)
        sign = -1.0 if averages[-1] < averages[0] else 1.0
        self.eigenvector, self.class_means = sign * vector, sign * averages
        if (mean is None) != (std is None):
            raise ValueError("mean and std go together: give both or neither")
        self.mean = None if mean is None else _vector("mean", mean, K)
        self.std = None if std is None else _vector("std", std, K)
        if self.std is not None and (self.std < 0).any():
            raise ValueError(f"std={self.std.tolist()} must not be negative")
        if self.mean is not None:
            counts = np.bincount(self._which, minlength=K)
            self.mean = self.mean if (counts * self.mean) @ self.class_means >= 0 else -self.mean
        self.equivalent = None
        if equivalent is not None:
            other = _vector("equivalent", equivalent, len(vector))
            self.equivalent = other if other @ self.eigenvector >= 0 else -other
        self.eigenvalue, self.component = eigenvalue, _component(component, len(vector))

    # ------------------------------------------------------------------ what it shows, in numbers

    @property
    def within(self) -> float:
        """Share of entries within one standard deviation of the prediction (.68 of a Gaussian)."""
        if self.mean is None or self.std is None:
            raise ValueError("there is no prediction here; make the display with mean and std")
        return float(np.mean(np.abs(self.eigenvector - self.mean[self._which]) <= self.std[self._which]))

    @property
    def alignment(self) -> float:
        """Squared cosine of the eigenvector and the equivalent's."""
        if self.equivalent is None:
            raise ValueError("there is no equivalent here; make the display with equivalent")
        sizes = float(self.eigenvector @ self.eigenvector) * float(self.equivalent @ self.equivalent)
        return float(self.eigenvector @ self.equivalent) ** 2 / sizes

    # ------------------------------------------------------------------ making

    @classmethod
    def from_predictions(
        cls,
        eigenvector: npt.ArrayLike,
        labels: npt.ArrayLike,
        mean: npt.ArrayLike,
        std: npt.ArrayLike,
        **kwargs: Any,
    ) -> Self:
        """From an eigenvector and what theory predicts of its entries, class by class.

        Parameters
        ----------
        eigenvector, labels : array-like of shape (n,)
        mean, std : array-like of shape (K,)
        **kwargs
            equivalent, eigenvalue, component.
        """
        return cls(eigenvector, labels, mean=mean, std=std, **kwargs)

    @classmethod
    def from_rows(
        cls,
        X: Any,
        labels: Any,
        activation: Any = "relu",
        *,
        statistics: GMMStatistics | None = None,
        kernel: Any = None,
        component: int = 0,
        n_draws: int = 100,
        random_state: int = 0,
    ) -> Self:
        """From rows: the exact centred kernel of an activation, its equivalent K~, and the Gaussian mixture.

        Parameters
        ----------
        X : rows
            In the papers' scaling; centred here.
        labels : array-like of shape (n,)
        activation : str, Activation or callable, default="relu"
        statistics : GMMStatistics, optional
            Means and covariances of the mixture, of a larger set for instance; with covariances. By default those
            of the rows, Ledoit and Wolf's where a class has fewer rows than columns.
        kernel : array of shape (n, n), optional
            Instead of the exact one: Z Z^T of features, say.
        component : int, default=0
            From the top.
        n_draws : int, default=100
            Mixtures drawn for mean and standard deviation; 0 draws none.
        random_state : int, default=0
        """
        rows = checked_rows(X)
        classes, members = checked_labels(labels, len(rows))
        component = _component(component, len(rows))
        if isinstance(n_draws, bool) or n_draws != int(n_draws) or n_draws < 0:
            raise ValueError(f"n_draws={n_draws!r} must be a whole number, 0 or more")
        made = make_activation(activation)
        centred = rows - rows.mean(axis=0)
        own = gmm_statistics(rows, labels, keep_covariances=n_draws > 0 and statistics is None)
        given = own if statistics is None else statistics
        if given.M.shape != own.M.shape:
            raise ValueError(
                f"statistics are of {given.M.shape[1]} classes of {given.M.shape[0]} columns, not {own.M.shape}"
            )
        gram = exact_kernel(centred, made) if kernel is None else checked_kernel("kernel", kernel, len(rows))
        value, vector = eigenvector_of(gram, component)
        _, other = eigenvector_of(equivalent_kernel(rows, labels, made), component)
        mean = std = None
        if n_draws:
            which = _positions(members, len(rows))
            reference = class_means(vector, which, len(classes))
            mean, std = mixture_prediction(
                given, which, made, component, reference, n_draws=int(n_draws), random_state=random_state
            )
        return cls(vector, labels, mean=mean, std=std, equivalent=other, eigenvalue=value, component=component)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, component: int = 0) -> Self:
        """From a fitted estimator: a clustering's ``eigenvectors_``, or P Z Z^T P of a feature map.

        Parameters
        ----------
        estimator : fitted clustering or feature map
        X : rows
            Those of fit, for a clustering.
        y : array-like of shape (n,)
        component : int, default=0
        """
        found = getattr(estimator, "eigenvectors_", None)
        if found is not None:
            vectors, values = np.asarray(found), getattr(estimator, "eigenvalues_", None)
            if not 0 <= component < vectors.shape[1]:
                raise ValueError(
                    f"component={component!r} must be 0 to {vectors.shape[1] - 1}: the estimator keeps no more"
                )
            value = None if values is None else float(np.asarray(values)[component])
            return cls(vectors[:, component], y, eigenvalue=value, component=component)
        gram, _ = features_of(estimator, X)
        value, vector = eigenvector_of(gram, _component(component, len(gram)))
        return cls(vector, y, eigenvalue=value, component=component)

    # ------------------------------------------------------------------ drawing

    def plot(self, ax: Any = None, *, names: Sequence[str] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        names : sequence of str, optional
            Of the classes, for the legend.

        Returns
        -------
        self
        """
        if names is not None and len(names) != len(self.classes):
            raise ValueError(f"names has {len(names)} entries for {len(self.classes)} classes")
        shown = [f"class {label}" for label in self.classes] if names is None else list(names)
        ax = axes(ax, self)
        self.ax_, self.figure_ = ax, ax.figure
        order = np.argsort(self._which, kind="stable")
        self.points_, self.bands_ = [], []
        start = 0
        for a, name in enumerate(shown):
            rows = order[self._which[order] == a]
            places = np.arange(start, start + len(rows))
            colour = CLASSES[a % len(CLASSES)]
            self.points_.append(ax.scatter(places, self.eigenvector[rows], s=9, color=colour, label=name, zorder=2))
            if self.mean is not None and self.std is not None:
                ends = np.array([start - 0.5, start + len(rows) - 0.5])
                label = "Gaussian mixture, mean ± std" if a == 0 else None
                low, high = self.mean[a] - self.std[a], self.mean[a] + self.std[a]
                self.bands_.append(
                    ax.fill_between(ends, low, high, color="black", alpha=0.13, lw=0, label=label, zorder=1)
                )
                ax.plot(ends, [self.mean[a]] * 2, color="black", lw=1.2, zorder=3)
            start += len(rows)
            if a + 1 < len(shown):
                ax.axvline(start - 0.5, color="black", lw=0.6, ls=":", zorder=0)
        self.line_ = None
        if self.equivalent is not None:
            (self.line_,) = ax.plot(
                np.arange(len(order)), self.equivalent[order], color=PREDICTED, lw=0.8, alpha=0.8, label="equivalent K~"
            )
        ax.margins(x=0.01)
        # Room for the legend above the data.
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.28 * (high - low))
        ax.set_xlabel("row, sorted by class")
        value = "" if self.eigenvalue is None else f" (eigenvalue {self.eigenvalue:.3g})"
        ax.set_ylabel("entry")
        ax.set_title(f"eigenvector {self.component + 1}{value}", fontsize=10)
        ax.legend(frameon=False, loc="upper left", ncols=2, fontsize=8)
        return self


def _positions(members: list[npt.NDArray[np.intp]], n: int) -> npt.NDArray[np.intp]:
    which = np.empty(n, dtype=np.intp)
    for a, rows_of in enumerate(members):
        which[rows_of] = a
    return which


def _component(component: Any, n: int) -> int:
    if isinstance(component, bool) or component != int(component) or not 0 <= component < n:
        raise ValueError(f"component={component!r} must be a whole number from 0 to {n - 1}")
    return int(component)


def _vector(name: str, values: npt.ArrayLike, length: int | None = None) -> Floats:
    if np.iscomplexobj(values):
        raise ValueError(f"{name} is complex; it must be real")
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not len(found) or (length is not None and len(found) != length):
        raise ValueError(f"{name} has shape {found.shape}, must be ({'n' if length is None else length},)")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return found
