"""Progress reports, in scikit-learn's callbacks and in text."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from nanogram.linear_model import _callbacks
from nanogram.linear_model._callbacks import CallbackSupportMixin, progress, with_callbacks


class Halving(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Approaches the mean of y by halves; a fault in step ``fails``."""

    def __init__(self, max_iter=5, verbose=0, fails=None, error=KeyboardInterrupt):
        self.max_iter = max_iter
        self.verbose = verbose
        self.fails = fails
        self.error = error

    @with_callbacks
    def fit(self, X, y):
        coef = 0.0
        with progress(self, self.max_iter, X=X, y=y, step="halving") as tick:
            for i in range(self.max_iter):
                if i == self.fails:
                    raise self.error
                coef += 0.5 * (np.mean(y) - coef)
                now = coef
                if tick(model=lambda now=now: {"coef_": now}, gap=float(np.mean(y) - coef), kind="half"):
                    break
        self.coef_ = coef
        self.n_iter_, self.interrupted_ = tick.count, tick.interrupted
        return self

    def predict(self, X):
        return np.full(len(X), self.coef_)


class Recorder:
    """Counts hooks and stops after ``stop`` steps."""

    def __init__(self, stop=10**9):
        self.stop, self.calls = stop, []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.calls.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.seen = fitted_estimator.coef_
        return self.calls.count("end halving") >= self.stop


X, Y = np.zeros((8, 1)), np.full(8, 16.0)


def test_each_step_is_reported_between_setup_and_teardown():
    recorder = Recorder()
    model = Halving(max_iter=2).set_callbacks(recorder).fit(X, Y)
    steps = ["begin halving", "end halving"] * 2
    assert recorder.calls == ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert recorder.seen == model.coef_ == 12.0


def test_a_callback_stops_the_fit():
    model = Halving(max_iter=50).set_callbacks(Recorder(stop=3)).fit(X, Y)
    assert model.n_iter_ == 3


def test_models_are_scored_as_they_stand_after_each_step():
    monitor = ScoringMonitor(scoring="neg_mean_absolute_error")
    Halving(max_iter=3).set_callbacks(monitor).fit(X, Y)
    scores = [row["neg_mean_absolute_error"] for row in monitor.get_logs().data if row["task_name"] == "halving"]
    assert scores == [-8.0, -4.0, -2.0]


def test_fits_within_a_search():
    search = GridSearchCV(Halving(), {"max_iter": [1, 4]}, cv=2, scoring="neg_mean_absolute_error").fit(X, Y)
    assert search.best_params_ == {"max_iter": 4}


def test_interruption_keeps_what_there_is():
    recorder = Recorder()
    model = Halving(fails=3).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after 3 steps \(halving\)"):
        model.fit(X, Y)
    assert model.interrupted_
    assert model.coef_ == 14.0
    assert recorder.calls[-2:] == ["end fit", "teardown"]


def test_interruption_before_the_first_step_is_raised():
    recorder = Recorder()
    with pytest.raises(KeyboardInterrupt):
        Halving(fails=0).set_callbacks(recorder).fit(X, Y)
    assert recorder.calls == ["setup", "begin fit", "teardown"]


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError):
        Halving(fails=2, error=ZeroDivisionError).fit(X, Y)


def test_lines(capsys, monkeypatch):
    Halving().fit(X, Y)
    assert capsys.readouterr().out == ""
    Halving(verbose=1).fit(X, Y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("[Halving] halving 5/5  gap 0.5  kind half  (0.")
    Halving(verbose=2).fit(X, Y)
    assert len(capsys.readouterr().out.splitlines()) == 5
    monkeypatch.setattr(_callbacks, "EVERY", 0.0)
    Halving(verbose=1).fit(X, Y)
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_nothing_is_left_behind():
    model = Halving().set_callbacks(Recorder())
    before = set(vars(model))
    model.fit(X, Y)
    assert set(vars(model)) - before == {"coef_", "n_iter_", "interrupted_"}
    assert not hasattr(clone(model), "coef_")
