"""RowSource: the one thing every block loop reads from.

`as_row_source` makes one from arrays, sparse matrices, frames, memory maps and streams of blocks, so that code which
reads rows is written once. Nothing here knows of features.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from nanogram._rows.arrays import ArraySource, SparseSource, array_of
from nanogram._rows.base import Block, RandomAccessSource, RowSample, RowSource, SparseMode
from nanogram._rows.frames import PandasSource, PolarsSource, nested_type
from nanogram._rows.streams import PartsSource, StreamSource

__all__ = [
    "Block",
    "RandomAccessSource",
    "RowSample",
    "RowSource",
    "SparseMode",
    "as_row_source",
    "block_rows_for",
    "from_parts",
]


def as_row_source(X: Any, *, feature_names: Sequence[str] | None = None, single_pass: bool = False) -> RowSource:
    """Wrap rows of any kind, without copying or densifying them.

    Parameters
    ----------
    X : rows
        A NumPy array of numbers or booleans (memory maps included), a SciPy sparse matrix or array, a pandas or
        polars frame, a torch tensor on the CPU, a list of lists; or a stream of blocks, each of them one of these: a
        function that returns a fresh iterator at each call, or an object that can be iterated again. A RowSource
        is returned as it is.
    feature_names : sequence of str, optional
        Names of the columns, for error messages and models; frames bring their own.
    single_pass : bool
        Accept an iterator that can be read only once, for a single pass.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> import numpy as np
    >>> as_row_source(np.zeros((4, 3), dtype=np.float16))
    ArraySource(n_rows=4, n_columns=3, dtype=float16)
    >>> stream = as_row_source(lambda: (np.full((2, 3), i) for i in range(5)))
    >>> [block[:, 0].tolist() for _, block in stream.blocks(4)]
    [[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0], [4.0, 4.0]]
    >>> stream.n_rows
    10
    """
    source = _wrapped(X, single_pass)
    if feature_names is not None:
        names = tuple(feature_names)
        if len(names) != source.n_columns:
            raise ValueError(f"feature_names has {len(names)} names for {source.n_columns} columns")
        source = copy.copy(source)
        source.feature_names = names
    return source


def _wrapped(X: Any, single_pass: bool = False) -> RowSource:
    if isinstance(X, RowSource):
        return X
    if sp.issparse(X):
        return SparseSource(X)
    if isinstance(X, str | bytes | dict | set) or X is None:
        raise _not_rows(X)
    kind = nested_type(X)
    if kind == "pandas.DataFrame":
        return PandasSource(X)
    if kind == "polars.DataFrame":
        return PolarsSource(X)
    if kind == "polars.LazyFrame":
        raise TypeError("X is a polars LazyFrame: collect() it, or pass a function that yields its batches")
    if kind in ("pandas.Series", "polars.Series"):
        raise ValueError(f"Expected 2D array, got 1D array instead: X is a {kind}, use X.to_frame()")
    if kind == "torch.Tensor":
        return ArraySource(_of_tensor(X))
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "__array__"):
        return ArraySource(array_of(X))
    if callable(X):
        return StreamSource(X, _wrapped, single_pass=single_pass)
    if isinstance(X, Iterator):
        if single_pass:
            return StreamSource(X, _wrapped, single_pass=True)
        raise TypeError(
            f"X is an iterator ({type(X).__name__}), which can be read only once: pass a function that returns a fresh "
            "iterator, or as_row_source(X, single_pass=True) when one pass is enough"
        )
    if isinstance(X, Iterable):
        return StreamSource(X, _wrapped, single_pass=single_pass)
    raise _not_rows(X)


def _not_rows(X: Any) -> TypeError:
    kind = type(X).__name__
    return TypeError(f"X of type {kind} is not rows: pass an array, a frame, a sparse matrix or a stream of blocks")


def _of_tensor(tensor: Any) -> Any:
    if tensor.device.type != "cpu":
        raise TypeError(f"X is a torch tensor on {tensor.device}: rows are read on the CPU, pass X.cpu()")
    try:
        return tensor.detach().numpy()
    except TypeError as error:
        raise TypeError(f"X is a torch tensor of {tensor.dtype}, which NumPy does not have: pass X.float()") from error


def from_parts(parts: Iterable[Any]) -> RowSource:
    """Put sources one after the other, as one source.

    Parameters
    ----------
    parts : iterable of rows
        Each as `as_row_source` takes it; same number of columns, and same names where they have names.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> import numpy as np
    >>> both = from_parts([np.zeros((3, 2)), [[1, 2], [3, 4]]])
    >>> both.n_rows, [block.shape for _, block in both.blocks(4)]
    (5, [(4, 2), (1, 2)])
    """
    return PartsSource([_wrapped(part) for part in parts])


def block_rows_for(n_columns: int, budget_bytes: int, itemsize: int = 4) -> int:
    """Rows of a dense block that fits in a budget: a multiple of 16 (a tile of codes) where 16 fit.

    Parameters
    ----------
    n_columns : int
        Columns of the block.
    budget_bytes : int
        Bytes it may take.
    itemsize : int
        Bytes of one value; 4 for float32.

    Returns
    -------
    int

    Examples
    --------
    >>> block_rows_for(784, 8 * 2**20)
    2672
    >>> block_rows_for(10**6, 2**20)
    Traceback (most recent call last):
    ...
    ValueError: budget_bytes=1048576 does not hold one row of 1000000 columns (4000000 bytes)
    """
    row_bytes = operator.index(n_columns) * operator.index(itemsize)
    if row_bytes < 1:
        raise ValueError(f"n_columns={n_columns} and itemsize={itemsize} must be at least 1")
    rows = int(budget_bytes) // row_bytes
    if rows < 1:
        raise ValueError(
            f"budget_bytes={budget_bytes} does not hold one row of {n_columns} columns ({row_bytes} bytes)"
        )
    return rows - rows % 16 if rows >= 16 else rows
