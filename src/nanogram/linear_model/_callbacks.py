"""Progress of a fit: scikit-learn's callbacks and plain lines of text.

`sklearn.callback` is experimental in scikit-learn 1.9; nothing else in this library touches it. An estimator derives
from `CallbackSupportMixin`, decorates its fit and reports each step:

    class Model(CallbackSupportMixin, BaseEstimator):
        @with_callbacks
        def fit(self, X, y):
            with progress(self, self.max_iter, X=X, y=y) as tick:
                for _ in range(self.max_iter):
                    ...
                    if tick(loss=loss, model=lambda: {"coef_": coef}) or converged:
                        break
            self.coef_ = coef

The names assigned in the block hold what was best when it ended, by an interruption too.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from sklearn.callback import CallbackSupportMixin
from sklearn.callback import with_callbacks as _with_callbacks
from sklearn.exceptions import ConvergenceWarning

__all__ = ["CallbackSupportMixin", "Progress", "progress", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])
#: Seconds between lines of ``verbose=1``.
EVERY = 1.0


def with_callbacks(method: Method) -> Method:
    """Decorate a fit that enters `progress`: callbacks are torn down however it ends."""
    decorated: Method = _with_callbacks(method)
    return decorated


class Progress:
    """The steps of one fit, a context manager and a function to call at the end of each step.

    Attributes
    ----------
    count : int
        Steps that have ended.
    interrupted : bool
        Whether Ctrl-C ended the block.
    """

    def __init__(
        self, estimator: Any, max_steps: int | None, *, X: Any, y: Any, sample_weight: Any, verbose: int, step: str
    ) -> None:
        self._estimator, self._max_steps, self._step, self._verbose = estimator, max_steps, step, verbose
        self._data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        self._listening = bool(getattr(estimator, "_skl_callbacks", ()))
        self._fit: Any = None
        self._current: Any = None
        self._last: dict[str, Any] = {}
        self._started = self._printed = time.monotonic()
        self.count = 0
        self.interrupted = False

    def __enter__(self) -> Self:
        # A meta-estimator's task tree is joined even where nobody listens, as scikit-learn's own estimators do.
        self._fit = self._estimator._init_callback_context(max_subtasks=self._max_steps)
        self._fit.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return self

    def begin(self) -> None:
        """Tell callbacks that a step begins; `__call__` does it where this has not been called."""
        if self._listening and self._current is None:
            self._current = self._fit.subcontext(task_name=self._step)
            self._current.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def __call__(self, *, model: Callable[[], dict[str, Any]] | None = None, **figures: Any) -> bool:
        """End a step; True if a callback asks to stop.

        Parameters
        ----------
        model : callable, optional
            Makes the fitted attributes as they are now, for callbacks that evaluate the model so far.
        **figures
            Printed with ``verbose``, name and value.
        """
        stop = False
        if self._listening:
            self.begin()
            current, self._current = self._current, None
            stop = current.call_on_fit_task_end(
                estimator=self._estimator, **self._data, reconstruction_attributes=model
            )
        self.count += 1
        self._last = figures
        now = time.monotonic()
        if self._verbose > 1 or (self._verbose and now - self._printed >= EVERY):
            self._print(now)
        return bool(stop)

    def _print(self, now: float) -> None:
        self._printed = now
        of = f"/{self._max_steps}" if self._max_steps else ""
        figures = "".join(
            f"  {name} {value:.6g}" if isinstance(value, float) else f"  {name} {value}"
            for name, value in self._last.items()
        )
        name = type(self._estimator).__name__
        print(f"[{name}] {self._step} {self.count}{of}{figures}  ({now - self._started:.1f} s)", flush=True)  # noqa: T201
        self._last = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is KeyboardInterrupt and self.count:
            self.interrupted = True
            warnings.warn(
                f"interrupted after {self.count} steps ({self._step}); the best model so far is kept",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif kind is not None:
            return False
        if self._verbose and self._last:
            self._print(time.monotonic())
        if self._current is not None:
            self._current.call_on_fit_task_end(estimator=self._estimator)
            self._current = None
        self._fit.call_on_fit_task_end(estimator=self._estimator, **self._data)
        return self.interrupted


def progress(
    estimator: Any,
    max_steps: int | None,
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    verbose: int | None = None,
    step: str = "iteration",
) -> Progress:
    """Report the steps of a fit that is decorated by ``with_callbacks``.

    Parameters
    ----------
    estimator : estimator
        Derived from ``CallbackSupportMixin``.
    max_steps : int or None
        The most steps there can be; None where that is not known, 0 where nothing will be reported.
    X, y, sample_weight : optional
        As fit was given them: callbacks may score the model on them.
    verbose : int, optional
        0 prints nothing, 1 about a line a second and one at the end, 2 each step; default ``estimator.verbose``, 0
        where there is none.
    step : str, default="iteration"
        What a step is called.

    Returns
    -------
    Progress
        To enter with ``with``. Ctrl-C in the block ends it with a ``ConvergenceWarning`` once a step has ended, so
        that the caller goes on with the best it has; before that it is raised. The fit must call `progress` once.
    """
    if verbose is None:
        verbose = int(getattr(estimator, "verbose", 0))
    return Progress(estimator, max_steps, X=X, y=y, sample_weight=sample_weight, verbose=verbose, step=step)
