"""What `CodeRidge`, `CodeRidgeCV` and `CodeRidgeClassifier` share: fitting given alphas, and linear predictions."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._callbacks import CallbackSupportMixin, Progress
from ._cg import conjugate_gradients, default_rank, nystroem
from ._design import Design, read_features
from ._least_squares import LeastSquares, Primal
from ._ridge_solve import KEPT_BYTES, Choice, SinglePrecision, Spread, as_problem, direct, spread_of

__all__ = ["Fitted", "RegressorBase", "RidgeBase"]

Float64 = npt.NDArray[np.float64]


def _unchanged(R: Float64, alpha: Float64) -> Float64:
    """No preconditioner."""
    del alpha
    return R


class Fitted(NamedTuple):
    """Coefficients (t, m), intercepts (t,) and noise variances (t,)."""

    coef: Float64
    intercept: Float64
    noise: Float64


class RidgeBase(CallbackSupportMixin, BaseEstimator):
    """Coefficients (t, m), intercepts (t,) and the spread of predictions, from a design and targets (n, t)."""

    fit_intercept: Any
    solver: Any
    dual: Any
    max_memory: Any
    keep_factor: Any
    tol: Any
    max_iter: Any
    warm_start: Any
    random_state: Any
    verbose: Any
    coef_: Float64
    intercept_: Any
    n_iter_: Any
    solver_: str
    dual_: bool
    _spread: Spread | None
    n_features_in_: int

    def _check_settings(self) -> None:
        if not (isinstance(self.keep_factor, bool | np.bool_) or self.keep_factor == "auto"):
            raise ValueError(f"keep_factor={self.keep_factor!r} is not accepted; True, False and 'auto' are")
        if not 0 < float(self.tol) < 1:
            raise ValueError(f"tol={self.tol!r} is not accepted; a number between 0 and 1 is")
        if self.max_iter is not None and int(self.max_iter) < 1:
            raise ValueError(f"max_iter={self.max_iter!r} is not accepted; None or at least 1 is")

    def _keeps(self, choice: Choice, shape: tuple[int, int]) -> bool:
        if choice.solver == "cg" or choice.single:
            if self.keep_factor is True:
                raise ValueError(
                    "keep_factor=True needs a factor in double precision, which solver='cg' has not, and max_memory "
                    "leaves no room for one: raise max_memory, or drop keep_factor"
                )
            return False
        if isinstance(self.keep_factor, str):
            return 8.0 * shape[1] * min(shape) <= KEPT_BYTES
        return bool(self.keep_factor)

    def _solve(
        self, design: Design, Y: Float64, weights: Float64 | None, alpha: Float64, choice: Choice, tick: Progress
    ) -> Fitted:
        """Fit for one alpha a target; sets ``n_iter_``, ``solver_``, ``dual_`` and the spread of predictions."""
        problem = as_problem(design, Y, weights, self.fit_intercept, choice.dual)
        keep = self._keeps(choice, design.shape)
        if choice.solver == "cg" or choice.single:
            assert isinstance(problem, Primal), "iterations work on the features' system"
            coef, B = self._iterate(problem, alpha, choice, tick)
            objective = problem.penalised(alpha, coef, B)
            self.solver_, self._spread = choice.solver, None
        else:
            solution = direct(problem, alpha, choice.solver, keep)
            self.n_iter_, self.solver_ = np.ones(Y.shape[1], dtype=np.int64), solution.solver
            self._spread = spread_of(problem, alpha, solution)
            coef = problem.coefficients(solution.x)
            objective = problem.penalised(alpha, solution.x, solution.right_hand_side)
            tick()
        self.dual_ = choice.dual
        degrees = max(problem.n_counted - bool(self.fit_intercept), 1)
        return Fitted(coef.T, problem.intercepts(coef), objective / degrees)

    def _iterate(self, problem: Primal, alpha: Float64, choice: Choice, tick: Progress) -> tuple[Float64, Float64]:
        """Coefficients (m, t) by conjugate gradients, and the right-hand side."""
        B = problem.right_hand_side()
        x = np.zeros_like(B)
        if self.warm_start and hasattr(self, "coef_") and np.atleast_2d(self.coef_).shape == B.T.shape:
            x = np.atleast_2d(self.coef_).T.astype(np.float64)
        counts, residuals = np.zeros(B.shape[1], dtype=np.int64), np.ones(B.shape[1])
        max_iter = 1000 if self.max_iter is None else int(self.max_iter)
        factor = SinglePrecision(problem.matrix(np.float32)) if choice.single else None
        sketch = (
            None if choice.single else nystroem(problem, default_rank(*problem.design.shape, B.shape[1]), self._seed())
        )
        # A factor serves one alpha, a sketch all of them.
        groups = [alpha == a for a in np.unique(alpha)] if factor is not None else [np.ones(len(alpha), dtype=bool)]
        stopped = False
        for group in groups:
            if factor is not None:
                factor.factorise(float(alpha[group][0]))
            columns = np.flatnonzero(group)

            def after(part: Float64, relative: Float64, columns: npt.NDArray[np.int64] = columns) -> bool:
                nonlocal stopped
                x[:, columns] = part
                stopped = tick(model=lambda: self._as_attributes(problem, x), residual=float(relative.max(initial=0.0)))
                counts[columns] += 1
                return stopped

            try:
                solution = conjugate_gradients(
                    problem,
                    alpha[group],
                    B[:, group],
                    start=x[:, group],
                    preconditioner=factor or sketch or _unchanged,
                    tol=min(float(self.tol), 1e-9) if choice.single else float(self.tol),
                    max_iter=max_iter,
                    tick=after,
                )
            except KeyboardInterrupt:
                if not counts.any():
                    tick.count = 0  # there is no model yet: let it through
                    raise
                tick.interrupted = stopped = True
                message = f"interrupted after {counts.max()} iterations; the best model so far is kept"
                warnings.warn(message, ConvergenceWarning, stacklevel=4)
            else:
                x[:, group], counts[group], residuals[group] = solution.x, solution.n_iter, solution.residuals
            if stopped:
                break
        self.n_iter_ = counts
        if not stopped and (residuals > float(self.tol)).any():
            self._warn(float(residuals.max()), int(counts.max()), max_iter)
        return x, B

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _warn(self, residual: float, count: int, max_iter: int) -> None:
        advice = "raise max_iter" if count >= max_iter else "a larger tol accepts it"
        warnings.warn(
            f"conjugate gradients stopped after {count} iterations with a relative residual of {residual:.1e}, above "
            f"tol={self.tol}: {advice}, a larger alpha converges faster, and a max_memory that holds the Gram matrix "
            "needs no iterations",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _as_attributes(self, problem: LeastSquares, x: Float64) -> dict[str, Any]:
        """Fitted attributes for coefficients on the way, (m, t)."""
        return {"coef_": x.T.copy(), "intercept_": problem.intercepts(x)}

    def _raw(self, X: Any) -> tuple[Design, Float64]:
        """``Z W^T + b``, (n, t)."""
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        coef = np.atleast_2d(self.coef_)
        return design, design.matvec(np.ascontiguousarray(coef.T)) + self.intercept_

    def _deviations(self, design: Design, noise: Float64) -> Float64:
        """Standard deviations of new targets, (n, t)."""
        spread: Spread | None = self._spread
        if spread is None:
            raise ValueError(
                "return_std=True needs the factor of the fit, which this model does not hold: "
                "fit with keep_factor=True, a solver other than 'cg' and alpha above 0"
            )
        return np.asarray(np.sqrt(noise * (1.0 + spread.variances(design))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RegressorBase(RidgeBase):
    """Predictions of numbers, and attributes in scikit-learn's shapes."""

    noise_variance_: Any

    def _publish(self, fitted: Fitted, single: bool) -> None:
        """Set the fitted attributes, without the axis of targets where y was a vector."""
        if single:
            self.coef_, self.intercept_ = fitted.coef[0], float(fitted.intercept[0])
            self.noise_variance_ = float(fitted.noise[0])
        else:
            self.coef_, self.intercept_, self.noise_variance_ = fitted

    def _predict(self, X: Any, return_std: bool) -> Any:
        design, raw = self._raw(X)
        single = self.coef_.ndim == 1
        mean = raw[:, 0] if single else raw
        if not return_std:
            return mean
        std = self._deviations(design, np.atleast_1d(self.noise_variance_))
        return mean, std[:, 0] if single else std
