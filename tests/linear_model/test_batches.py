"""Mini-batches: every row once an epoch, the right values, an order that is a function of seed and epoch."""

from __future__ import annotations

import numpy as np
import pytest

from nanogram.code_matrix import CodeMatrix
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.linear_model._batches import Batches
from nanogram.linear_model._design import as_design

RNG = np.random.default_rng(0)
CODES = {
    "ternary": (StepCode(levels=[-1.0, 0.0, 1.0], thresholds=[-0.5, 0.5]), 3),
    "8 bits": (UniformCode(bits=8), 256),
    "1 bit": (UniformCode(bits=1), 2),
}


def _matrix(n, m, kind="ternary"):
    code, levels = CODES[kind]
    return CodeMatrix.from_codes(RNG.integers(levels, size=(n, m)), code)


def _check(design, dense, rows, size, batches, **epoch):
    """Every row once, of the right values; all batches but the last one full. Returns the order."""
    order = []
    found = []
    for batch in batches.epoch(**epoch):
        live = batch.ids >= 0
        assert live.sum() == batch.n_rows
        assert batch.design.shape == (len(batch.ids), design.shape[1])
        probe = np.eye(design.shape[1])
        np.testing.assert_allclose(batch.design.matvec(probe)[live], dense[batch.ids[live]], atol=1e-5)
        order.append(batch.ids[live])
        found.append(batch.n_rows)
    assert found[:-1] == [size] * (len(found) - 1)
    assert 0 < found[-1] <= size
    order = np.concatenate(order)
    np.testing.assert_array_equal(np.sort(order), rows)
    return order


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize(("n", "size"), [(1100, 250), (5000, 250), (4999, 64), (1040, 7), (1030, 5000)])
def test_every_row_comes_once_from_tiles(kind, n, size):
    Z = _matrix(n, 24, kind)
    design, dense = as_design(Z), Z.toarray()
    for rows in (np.arange(n), np.sort(RNG.permutation(n)[: n * 9 // 10]), np.arange(3, n - 20)):
        batches = Batches(design, rows, size, "tiles")
        assert batches.by_tiles
        _check(design, dense, rows, size, batches, seed=3, epoch=1)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 127, 130])
def test_few_tiles(n):
    Z = _matrix(n, 5)
    _check(
        as_design(Z), Z.toarray(), np.arange(n), 10, Batches(as_design(Z), np.arange(n), 10, "tiles"), seed=0, epoch=0
    )


def test_groups_that_are_smaller_than_the_matrix(monkeypatch):
    from nanogram.linear_model import _batches

    monkeypatch.setattr(_batches, "GROUP_TILES", 64)
    Z = _matrix(5003, 20)
    for size in (250, 999, 1500):  # more than half a group, and more than one
        rows = np.arange(5003)
        _check(as_design(Z), Z.toarray(), rows, size, Batches(as_design(Z), rows, size), seed=5, epoch=2)


@pytest.mark.parametrize("kind", ["codes by rows", "dense", "floats"])
def test_every_row_comes_once_by_rows(kind):
    Z = _matrix(600, 10)
    X = {"codes by rows": Z, "dense": Z.toarray(), "floats": CodeMatrix.from_values(Z.toarray(), FloatCode())}[kind]
    design = as_design(X)
    batches = Batches(design, np.arange(5, 600), 250, "rows")
    assert not batches.by_tiles
    _check(design, Z.toarray(), np.arange(5, 600), 250, batches, seed=0, epoch=0)


@pytest.mark.parametrize("shuffle", ["rows", "tiles"])
def test_order_is_a_function_of_seed_and_epoch(shuffle):
    Z = _matrix(2000, 8)
    batches = Batches(as_design(Z), np.arange(2000), 250, shuffle)

    def order(seed, epoch):
        return np.concatenate([batch.ids for batch in batches.epoch(seed, epoch)])

    np.testing.assert_array_equal(order(1, 4), order(1, 4))
    assert not np.array_equal(order(1, 4), order(1, 5))
    assert not np.array_equal(order(1, 4), order(2, 4))


def test_batches_of_tiles_mix_rows():
    Z = _matrix(32_000, 4)
    batches = Batches(as_design(Z), np.arange(32_000), 250)
    for number, batch in enumerate(batches.epoch(0, 0)):
        tiles = np.unique(batch.ids[batch.ids >= 0] // 16, return_counts=True)[1]
        # Pairs of neighbours: 125 tiles; runs that span two pairs of a block may meet a tile twice.
        assert len(tiles) >= 110
        if number == 20:
            break


def test_mean_of_batches_is_unbiased_and_as_precise_as_of_rows_drawn_at_random():
    # Sorted targets, the worst case: the batch mean of pairs has at most twice the variance of single rows.
    n = 16_000
    y = np.linspace(-1, 1, n)
    Z = _matrix(n, 4)
    batches = Batches(as_design(Z), np.arange(n), 250)
    means = np.array([
        y[b.ids[b.ids >= 0]].mean() for epoch in range(10) for b in batches.epoch(0, epoch) if b.n_rows == 250
    ])  # fmt: skip
    variance = y.var() / 250
    error = np.sqrt(2 * variance / len(means))
    assert abs(means.mean()) < 4 * error
    # 640 means; a chi-squared variable over its degrees of freedom stays within 4 sqrt(2 / 640) of 1.
    assert means.var() < 2 * variance * (1 + 4 * np.sqrt(2 / len(means)))


def test_bad_shuffles_are_named():
    with pytest.raises(ValueError, match="shuffle='all'"):
        Batches(as_design(_matrix(20, 3)), np.arange(20), 5, "all")
    with pytest.raises(ValueError, match="shuffle='tiles'"):
        Batches(as_design(np.ones((20, 3))), np.arange(20), 5, "tiles")
