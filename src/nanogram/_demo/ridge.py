"""A ridge classifier that knows nothing but products with its features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from nanogram import CodeMatrix

__all__ = ["ALPHAS", "RidgeOnCodes", "chosen_alpha"]

Array = npt.NDArray[Any]

#: Penalties to choose from, for rows of features whose squared norm is about one.
ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0)


class RidgeOnCodes:
    """One-against-all ridge regression with an intercept, of the Gram matrix and two products.

    ``(Z^T Z - n mu mu^T + alpha I) A = Z^T T - n mu t``, T the targets +-1, mu and t the column means of Z and T.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, Z: CodeMatrix, y: Array) -> Self:
        """Solve for one column of coefficients a class."""
        self.classes_ = np.unique(y)
        targets = np.where(y[:, None] == self.classes_, 1.0, -1.0)
        mean, centre = Z.column_sums() / len(y), targets.mean(axis=0)
        system = Z.gram()
        system -= len(y) * np.outer(mean, mean)
        system[np.diag_indices_from(system)] += self.alpha
        factor = cho_factor(system, overwrite_a=True, check_finite=False)
        self.coef_ = cho_solve(factor, Z.T @ (targets - centre), check_finite=False)
        self.intercept_ = centre - mean @ self.coef_
        return self

    def predict(self, Z: CodeMatrix) -> Array:
        """The class of the highest score."""
        return np.asarray(self.classes_[np.argmax(Z @ self.coef_ + self.intercept_, axis=1)])

    def score(self, Z: CodeMatrix, y: Array) -> float:
        """Share of rows classified rightly."""
        return float(np.mean(self.predict(Z) == y))


def chosen_alpha(make_model: Any, Z: Any, y: Array, heldout: int) -> float:
    """The penalty with the best score on the last ``heldout`` rows of a model trained on the others."""
    scores = [
        make_model(alpha=alpha).fit(Z[:-heldout], y[:-heldout]).score(Z[-heldout:], y[-heldout:]) for alpha in ALPHAS
    ]
    return ALPHAS[int(np.argmax(scores))]
