"""The contract of `Projection`, as a test that any new law can be put to."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from nanogram.projections import Drawn, Projection, SparsityWarning, make_projection

__all__ = ["check_projection"]

Array = npt.NDArray[Any]
#: Inputs and features: one of each, fewer features than inputs, and numbers that are no multiple of a block.
SHAPES = ((1, 1), (1, 7), (2, 2), (5, 3), (7, 30), (32, 64), (37, 1), (50, 177))
#: Means over seeds may be this many of their standard errors off: a right law fails with probability 2e-9 a figure,
#: were they normal; over so many seeds they are nearly so.
STANDARD_ERRORS = 6.0
SEEDS = 200


def check_projection(law: Projection | str, rng: np.random.Generator | int | None = None) -> None:
    """Check that a law keeps the contract that feature maps build on.

    Copies; any block of W against the slice of the whole, to the bit; projections of arrays, sparse arrays and
    matrices of several types against the product with W, kept in the cache or not; bytes, costs and integer weights;
    mean and variance of entries and covariance of projections over seeds, within error bars computed from them;
    refusal of bad input.

    Parameters
    ----------
    law : Projection or str
        A law whose entries have a fourth moment, or none at all (``entry_variance`` None).
    rng : Generator or seed, optional
        Source of the rows; default: seed 0.

    Raises
    ------
    AssertionError
        Where the law breaks the contract.

    Examples
    --------
    >>> from nanogram.testing import check_projection
    >>> check_projection("gaussian")
    """
    law = make_projection(law)
    rng = np.random.default_rng(0 if rng is None else rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsityWarning)
        _check_copies(law)
        for p, m in SHAPES:
            _check_blocks(law, p, m, rng)
            _check_project(law, p, m, rng)
            _check_stores(law, p, m)
        for p in (12, 7):
            _check_moments(law, p, rng)
        _check_refusals(law)


# --------------------------------------------------------------------------- helpers


def _refuses(what: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    try:
        call(*args, **kwargs)
    except (ValueError, TypeError) as error:
        message = str(error)
    else:
        raise AssertionError(f"{what} is accepted")
    assert message, f"{what} is refused without a word"


def _same(found: Array, expected: Array, what: str) -> None:
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, not {expected.dtype}"
    np.testing.assert_array_equal(found, expected, err_msg=what)


def _numbers(index: Any, end: int) -> Array:
    """What an index means, as NumPy sees it."""
    if index is None or isinstance(index, slice):
        return np.arange(end)[index or slice(None)]
    array = np.asarray(index)
    return np.arange(end)[array if len(array) else slice(0)]


def _draws(law: Projection, p: int, m: int, seed: int = 3) -> tuple[Drawn, Drawn]:
    """W that is kept, and W that is made anew."""
    return law.draw(p, m, seed), law.draw(p, m, seed, cache_bytes=0)


# --------------------------------------------------------------------------- copies and blocks


def _check_copies(law: Projection) -> None:
    W = law.draw(6, 9, 1).materialize()
    copies = {
        "pickle": pickle.loads(pickle.dumps(law)),
        "clone": clone(law),
        "set_params": type(law)().set_params(**law.get_params(deep=False)),
    }
    for name, copy in copies.items():
        _same(copy.draw(6, 9, 1).materialize(), W, f"the copy by {name}")
    assert repr(law).startswith(type(law).__name__)
    assert isinstance(law.name, str)
    assert (law.entry_mean is None) == (law.entry_variance is None)


def _check_blocks(law: Projection, p: int, m: int, rng: np.random.Generator) -> None:
    drawn, again = _draws(law, p, m)
    assert drawn.shape == (m, p)
    W = drawn.materialize(dtype=np.float64)
    assert W.shape == (m, p)
    assert W.dtype == np.float64
    assert np.isfinite(W).all()
    assert W.any(axis=1).all(), "no row of W may be empty"
    _same(drawn.materialize(), W.astype(np.float32), "float32 must be float64 rounded")
    _same(pickle.loads(pickle.dumps(drawn)).materialize(dtype=np.float64), W, "the pickled projection")
    rows, columns = rng.integers(0, m, 9), rng.integers(0, p, 5)
    blocks: tuple[tuple[Any, Any], ...] = (
        (rows, columns),
        (slice(m // 3, None), slice(0, p, 2)),
        (range(m // 2, m), None),
        (slice(None, None, -1), np.arange(p) % 2 == 0),
        ([], []),
        ([m - 1], [0]),
        (np.array([-1]), slice(p - 1, p)),
    )
    for r, c in blocks:
        part = again.materialize(r, c, np.float64)
        _same(part, W[np.ix_(_numbers(r, m), _numbers(c, p))], f"the block {r!r}, {c!r}")
    if p * m > 30:
        assert (law.draw(p, m, 4).materialize() != drawn.materialize()).any(), "another seed must give another W"
    if drawn.int8_scale is not None:
        weights = drawn.weights_int8(rows)
        _same(weights, drawn.weights_int8()[rows], "rows of integer weights")
        assert weights.dtype == np.int8
        np.testing.assert_allclose(weights * drawn.int8_scale, W[rows], rtol=1e-15)
    else:
        _refuses("weights_int8 without integers", drawn.weights_int8)


# --------------------------------------------------------------------------- projections


def _check_project(law: Projection, p: int, m: int, rng: np.random.Generator) -> None:
    X = rng.standard_normal((11, p))
    X[rng.random(X.shape) < 0.3] = 0
    inputs: tuple[Any, ...] = (
        X,
        X.astype(np.float32),
        X.astype(np.float16),
        (9 * X).astype(np.int64),
        (9 * X).astype(np.int8),
        np.abs(9 * X).astype(np.uint8),
        X > 0,
        np.asfortranarray(X),
        np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        X[:0],
        X[:1].astype(np.float32),
        sparse.csr_array(X),
        sparse.csr_matrix(X.astype(np.float32)),
        sparse.csr_array((9 * X).astype(np.int32)),
        sparse.csc_array(X),
        sparse.csr_array(X[:0]),
    )
    for drawn in _draws(law, p, m):
        W = drawn.materialize(dtype=np.float64)
        for rows in inputs:
            dense = rows.toarray() if sparse.issparse(rows) else rows
            dense = dense.astype(np.float64)
            found = drawn.project(rows)
            assert found.dtype == (np.float32 if np.can_cast(rows.dtype, np.float32) else np.float64)
            _close(found, dense, W, f"projection of {type(rows).__name__} of {rows.dtype}")
        features = slice(m // 3, m - m // 4)
        out = np.full((11, 3 * len(range(m)[features])), np.nan, dtype=np.float32)[:, ::3]
        assert drawn.project(X, out=out, components=features) is out
        _close(out, X, W[features], "projection on some features into a strided array")
        _close(drawn.project_vector(X[0])[None], X[:1], W, "projection of a vector")


def _close(found: Array, X: Array, W: Array, what: str) -> None:
    """Rounding may be off by a few units of the norms, which is what transforms promise, too."""
    norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(W) + 1e-30
    error = np.abs(found - X @ W.T) / norms
    allowed = 20 * np.finfo(found.dtype).eps
    assert found.shape == (len(X), len(W)), f"{what}: shape {found.shape}"
    assert error.max(initial=0) <= allowed, f"{what}: off by {error.max():.3g} of the norms, {allowed:.3g} is allowed"


def _check_stores(law: Projection, p: int, m: int) -> None:
    kept, again = _draws(law, p, m)
    assert kept.kind in ("dense", "fast")
    for drawn in (kept, again):
        drawn.project(np.ones((3, p)))
        assert drawn.nbytes >= 8
        assert drawn.cost() >= 0
        np.testing.assert_allclose(drawn.cost(6), 6 * drawn.cost(), rtol=1e-12)
        assert len(pickle.dumps(drawn)) < drawn.nbytes + 3000, "the pickle holds more than nbytes says"
    assert again.cache_nbytes == 0
    assert kept.cache_nbytes == (8 * m * p if kept.kind == "dense" else 0)
    assert kept.entry_mean == law.entry_mean
    assert kept.entry_variance == law.entry_variance


# --------------------------------------------------------------------------- moments


def _check_moments(law: Projection, p: int, rng: np.random.Generator) -> None:
    """Over seeds: entries' mean and variance, and the covariance of projections, which is that of the rows."""
    if law.entry_mean is None or law.entry_variance is None:
        return
    m = 40
    X = rng.standard_normal((3, p))
    means, squares, products = [], [], []
    for seed in range(SEEDS):
        drawn = law.draw(p, m, seed)
        W, y = drawn.materialize(dtype=np.float64), drawn.project(X)
        means.append(np.append(W[[0, m // 2, m - 1]].ravel(), W.mean()))
        squares.append(np.append((W[[0, m // 2, m - 1]] ** 2).ravel(), (W * W).mean()))
        products.append(y @ y.T / m)
    _expect(np.array(means), np.full(3 * p + 1, law.entry_mean), "mean of entries")
    square = law.entry_variance + law.entry_mean**2
    _expect(np.array(squares), np.full(3 * p + 1, square), "mean square of entries")
    row_sums = X.sum(axis=1)
    covariance = law.entry_variance * X @ X.T + law.entry_mean**2 * np.outer(row_sums, row_sums)
    _expect(np.array(products), covariance, "covariance of projections")


def _expect(sample: Array, expected: Array, what: str) -> None:
    found = sample.mean(axis=0)
    allowed = STANDARD_ERRORS * sample.std(axis=0, ddof=1) / np.sqrt(len(sample)) + 1e-6
    wrong = np.abs(found - expected) > allowed
    assert not wrong.any(), f"{what}: {found[wrong]} over seeds, {expected[wrong]} +- {allowed[wrong]} expected"


# --------------------------------------------------------------------------- refusals


def _check_refusals(law: Projection) -> None:
    for wrong in (0, -1, 2.5, "3", None, True):
        _refuses(f"n_inputs={wrong!r}", law.draw, wrong, 3, 1)
        _refuses(f"n_components={wrong!r}", law.draw, 3, wrong, 1)
    for seed in (-1, 1 << 64, 1.5, None):
        _refuses(f"seed={seed!r}", law.draw, 3, 3, seed)
    drawn = law.draw(5, 4, 1)
    for X in (np.zeros((2, 6)), np.zeros(5), np.zeros((2, 5), complex), np.full((2, 5), "a"), sparse.csr_array((2, 4))):
        _refuses(f"X of shape {X.shape} and {X.dtype}", drawn.project, X)
    X = np.zeros((2, 5))
    for out in (np.zeros((2, 5)), np.zeros((2, 4), np.int32), [[0.0] * 4] * 2):
        _refuses("out that does not fit", drawn.project, X, out=out)
    _refuses("every other feature", drawn.project, X, components=slice(0, 4, 2))
    _refuses("a matrix as a vector", drawn.project_vector, X)
    for rows in ([4], [-5], [[0]], [0.0], [True], 2):
        _refuses(f"rows={rows!r}", drawn.materialize, rows)
        _refuses(f"columns={rows!r}", drawn.materialize, None, [5] if rows == [4] else [-6] if rows == [-5] else rows)
    _refuses("a type that is no float", drawn.materialize, dtype=np.int32)
