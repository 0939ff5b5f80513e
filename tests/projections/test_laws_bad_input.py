"""What laws refuse or warn of, and in which words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nanogram.projections import (
    QMC,
    Cauchy,
    Gaussian,
    Hadamard,
    Rademacher,
    SparsityWarning,
    StudentT,
    Ternary,
)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (Ternary(sparsity=1.0), r"sparsity=1.0 must be from 0, below 1"),
        (Ternary(sparsity=-0.1), r"sparsity=-0.1 must be from 0, below 1"),
        (Ternary(sparsity=float("nan")), r"sparsity=nan must be from 0, below 1"),
        (Ternary(sparsity="0.5"), r"sparsity='0.5' must be a number from 0, below 1"),
        (Ternary(sparsity=True), r"sparsity=True must be a number"),
        (Ternary(sparsity=0.9999), r"sparsity=0.9999 leaves 0.002 of 20 inputs .* at most 0.9995 is accepted"),
        (StudentT(df=2), r"df=2 must be an integer from 3"),
        (StudentT(df=4.5), r"df=4.5 must be an integer"),
        (Hadamard(rounds=0), r"rounds=0 must be an integer from 1 to 3"),
        (Hadamard(rounds=4), r"rounds=4 must be an integer from 1 to 3"),
    ],
    ids=repr,
)
def test_parameters_out_of_range_are_named(law, message):
    with pytest.raises((ValueError, TypeError), match=message):
        law.draw(20, 10, 1)


def test_shapes_and_seeds_are_named():
    with pytest.raises(ValueError, match="n_inputs=0 must be an integer from 1"):
        Gaussian().draw(0, 10, 1)
    with pytest.raises(TypeError, match=r"n_components=1\.5 must be an integer"):
        Gaussian().draw(3, 1.5, 1)
    with pytest.raises(ValueError, match="seed=-1 must be an integer from 0"):
        Gaussian().draw(3, 5, -1)
    with pytest.raises(ValueError, match="n_inputs=30000 is more than the 21201 dimensions"):
        QMC().draw(30_000, 5, 1)


def test_input_is_named():
    drawn = Gaussian().draw(4, 3, 1)
    with pytest.raises(ValueError, match=r"X has shape \(2, 5\); rows of 4 columns are accepted"):
        drawn.project(np.zeros((2, 5)))
    with pytest.raises(TypeError, match="X has dtype complex128; real numbers are accepted"):
        drawn.project(np.zeros((2, 4), dtype=complex))
    with pytest.raises(ValueError, match=r"out has shape \(2, 4\); \(2, 3\) is accepted"):
        drawn.project(np.zeros((2, 4)), out=np.zeros((2, 4)))
    with pytest.raises(ValueError, match="rows runs from 0 to 3; 0 to 2 is accepted"):
        drawn.materialize([0, 3])
    with pytest.raises(ValueError, match=r"Gaussian\(\) has no integer weights; rademacher"):
        drawn.weights_int8()
    with pytest.raises(ValueError, match=r"Cauchy\(\) has no Hadamard signs"):
        Cauchy().draw(4, 3, 1).hadamard_signs()


# --------------------------------------------------------------------------- sparsity


def test_too_sparse_for_the_inputs_warns_and_says_what_is_not():
    with pytest.warns(SparsityWarning, match=r"sparsity=0.9 leaves 5.4 of 54 inputs .* sparsity at most 0.704 or"):
        Ternary(0.9).draw(54, 10, 1)
    with pytest.warns(SparsityWarning, match="choose sparsity=0 or the projection 'hadamard'"):
        Ternary(0.5).draw(9, 10, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ternary(0.9).draw(160, 10, 1)
        Ternary(0.0).draw(3, 10, 1)
        Rademacher().draw(3, 10, 1)


@pytest.mark.filterwarnings("ignore::nanogram.projections.SparsityWarning")
@pytest.mark.parametrize(("p", "sparsity"), [(1, 0.0), (1, 0.5), (1, 0.99), (9, 0.9), (100, 0.99), (3, 0.99)])
def test_no_row_of_a_sparse_law_is_empty(p, sparsity):
    drawn = Ternary(sparsity).draw(p, 5000, 3)
    weights = drawn.weights_int8()
    assert weights.any(axis=1).all()
    rows = np.array([4999, 0, 17, 17, 2500])
    np.testing.assert_array_equal(drawn.weights_int8(rows), weights[rows])
    # Nonzeros, given that there is one: the mean of a binomial number, over 1 - P(none).
    empty = sparsity**p
    mean = p * (1 - sparsity) / (1 - empty)
    square = (p * (1 - sparsity) * sparsity + (p * (1 - sparsity)) ** 2) / (1 - empty)
    found = np.abs(weights).sum(axis=1).mean()
    assert abs(found - mean) <= 5 * np.sqrt((square - mean**2) / 5000) + 1e-9
    assert drawn.int8_scale == pytest.approx(np.sqrt(p / mean))
    assert drawn.nbytes == pytest.approx(8 + 16 * 5000 * empty, abs=8 + 16 * 5 * np.sqrt(5000 * empty))


def test_rows_that_are_not_empty_are_those_of_the_first_draw():
    """The rule of the redraws, written out."""
    from nanogram.projections import Stream

    with pytest.warns(SparsityWarning):
        weights = Ternary(0.8).draw(6, 300, 9).weights_int8()
    stream = Stream(9, "projection.ternary")
    draws = np.array([stream.ternary(300, 6, sparsity=0.8, draw=d) for d in range(40)])
    first = draws.any(axis=2).argmax(axis=0)
    assert first.max() > 1
    np.testing.assert_array_equal(weights, draws[first, np.arange(300)])
