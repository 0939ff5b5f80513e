"""Codes that are never stored: rows are encoded anew, block by block, in every pass of a solver.

`StreamedCodes` is a `Design` like any other, so that every solver that sees products alone runs on it in the memory of
its model and one block. `encode` makes codes of rows, stored or streamed, as a memory budget allows.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ._code_matrix.build import storage_spec
from ._code_matrix.indexing import as_array, is_all, resolve, split_key
from ._maps.base import BaseMap
from ._maps.reading import no_rows
from ._memory import available_memory, parse_memory
from .code_matrix import CodeMatrix
from .codes import UniformCode
from .linear_model._design import Between, CodesDesign, Design
from .ops.reference import Precision
from .rows import RandomAccessSource, RowSource, as_row_source

__all__ = ["StreamedCodes", "encode"]

Float64 = npt.NDArray[np.float64]
#: Bytes of packed codes held at a time; products gain nothing from more.
BLOCK_BYTES = 16 << 20
#: The same for Gram matrices, where every block costs a sum of two (m, m) arrays.
GRAM_BYTES = 64 << 20
#: What solvers and encoders need beside the codes, at the least.
WORKSPACE = 8 << 20
STORAGES = ("auto", "stored", "streamed")
_TILE = 16
#: Rows of a pass that only counts them.
_COUNTED = 4096


class StreamedCodes(Design):
    """The codes of rows under a fitted feature map, made anew in each pass and dropped block by block.

    Codes, and so products ``Z V``, equal those of ``feature_map.transform(X)`` to the bit; sums over rows (``Z^T R``,
    Gram matrices) are added block by block in double and equal them to the precision of the product.

    Parameters
    ----------
    feature_map : fitted feature map
        One of this package (`FeatureMap` and its presets, `NystroemFeatures`).
    X : rows
        As `nanogram.rows.as_row_source` takes them; they must be there for many passes. Mini-batches and parts
        (``Z[rows]``) also need rows that can be read in any order, which streams cannot.
    block_bytes : int, default=16 MiB
        Packed codes held at a time; at least 16 rows are.
    salt : int, optional
        Another salt, other rounding noise (LP's protocol resamples it in each epoch); default: the map's own.

    Attributes
    ----------
    shape : (int, int)
    code : Code
    stochastic : bool
        Whether codes are rounded stochastically, so that ``resampled`` changes them.
    stored_nbytes : int
        Bytes the codes would take if they were stored.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.streamed import StreamedCodes
    >>> X = np.random.default_rng(0).standard_normal((500, 8))
    >>> features = TernaryFeatures(n_components=512, random_state=0).fit(X)
    >>> Z = StreamedCodes(features, X)
    >>> Z.shape, Z.stored_nbytes
    ((500, 512), 65536)
    >>> v = np.ones(512)
    >>> bool((Z.matvec(v) == features.transform(X).matvec(v, "float32")).all())
    True
    """

    streamed = True
    ndim = 2

    def __init__(
        self, feature_map: BaseMap, X: Any, *, block_bytes: int = BLOCK_BYTES, salt: int | None = None
    ) -> None:
        if not isinstance(feature_map, BaseMap):
            raise TypeError(
                f"feature_map is {type(feature_map).__name__}; a fitted feature map of this package is accepted "
                "(of a Pipeline, its last step, with rows that have been through the others)"
            )
        check_is_fitted(feature_map, "encoder_")
        source = as_row_source(X)
        if not source.restartable:
            raise TypeError("X can be read only once, and codes that are not stored are made anew in every pass")
        if source.n_columns != feature_map.n_features_in_:
            raise ValueError(
                f"X has {source.n_columns} columns, but {type(feature_map).__name__} is expecting "
                f"{feature_map.n_features_in_} features as input"
            )
        if source.n_rows is None:  # a stream knows its length after a pass
            for _ in source.blocks(_COUNTED, sparse="keep"):
                pass
        if not source.n_rows:
            raise no_rows(source.n_columns)
        self.feature_map = feature_map
        self.block_bytes = operator.index(block_bytes)
        if self.block_bytes < 1:
            raise ValueError(f"block_bytes={block_bytes} is not accepted; at least 1 is")
        self.salt = feature_map.salt if salt is None else operator.index(salt)
        self.encoder = feature_map.encoder_
        self.source: RowSource = source
        self.shape = (source.n_rows, self.encoder.n_columns)
        self._counted = self._finite = False

    # ------------------------------------------------------------------ what it is

    @property
    def code(self) -> Any:
        """How the codes decode."""
        return self.encoder.code

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """Type of decoded values."""
        return np.dtype(np.float32)

    @property
    def stochastic(self) -> bool:
        """Whether another salt gives other codes."""
        return isinstance(self.code, UniformCode) and self.code.rounding == "stochastic"

    @property
    def stored_nbytes(self) -> int:
        """Bytes of the codes, were they stored."""
        shape, dtype = storage_spec(self.code, self.shape)
        return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"StreamedCodes(shape={self.shape}, code={self.code!r}, stored_nbytes={self.stored_nbytes})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Refused: whoever wants an array says so."""
        raise TypeError("streamed codes are not turned into an array implicitly; use .stored() and its .toarray()")

    def resampled(self, salt: int) -> Self:
        """The same rows with other rounding noise; the same object where nothing is random."""
        if not self.stochastic or salt == self.salt:
            return self
        other = copy.copy(self)
        other.salt = operator.index(salt)
        return other

    def stored(self) -> CodeMatrix:
        """All codes, stored."""
        seen = _Seen()
        Z = self._encoded(self.source.blocks(self._step(), sparse="keep"), self.shape[0], seen)
        self._count(seen)
        return Z

    # ------------------------------------------------------------------ parts

    def __getitem__(self, key: Any) -> Self:
        """Rows, still streamed; columns are not taken apart."""
        row_key, column_key = split_key(key)
        n, m = self.shape
        if not is_all(resolve(column_key, m, 1), m):
            raise IndexError("columns of streamed codes cannot be picked: fit a map of fewer, or use .stored()")
        index = resolve(row_key, n, 0)
        if is_all(index, n):
            return self
        other = copy.copy(self)
        other.source = _Picked(self._any_order(), as_array(index))
        other.shape = (len(index), m)
        other._counted = True  # parts are rows of the whole: whoever reads all of them tells
        return other

    def rows(self, index: Any) -> Design:
        """The rows of an index: encoded now where they fit in one block (a mini-batch), else streamed."""
        part = self[index]
        return part if part.shape[0] > self._group(self.block_bytes) else CodesDesign(part.stored())

    def _any_order(self) -> RandomAccessSource:
        if not isinstance(self.source, RandomAccessSource):
            raise TypeError(
                f"rows of a {type(self.source).__name__} come in one order only, so parts and mini-batches of them "
                "cannot be encoded: pass an array, a frame or a memory map, or store the codes"
            )
        return self.source

    # ------------------------------------------------------------------ blocks

    def _step(self) -> int:
        """Rows encoded at a time."""
        return self.encoder.block_rows

    def _group(self, nbytes: int) -> int:
        """Rows whose packed codes fit in so many bytes, whole steps of the encoder if one fits."""
        row = self.code.bits * self.shape[1] / 8
        fitting = max(int(nbytes / row) // _TILE * _TILE, _TILE)
        step = self._step()
        return fitting // step * step if fitting >= step else fitting

    def _encoded(self, blocks: Iterator[tuple[int, Any]], n_rows: int, seen: _Seen) -> CodeMatrix:
        """Codes of the next blocks, up to so many rows; the blocks are whole tiles, but for the last one."""
        m, code = self.shape[1], self.code
        storage = np.empty(*storage_spec(code, (n_rows, m)))
        noise = self.encoder.noise(self.salt)
        at = 0
        for _, block in blocks:
            stop = at + block.shape[0]
            part = slice(at, stop) if code.layout is None else slice(at // _TILE, -(-stop // _TILE))
            found = self.encoder.encode_into(block, storage[part], noise)
            seen.entries, seen.outside, at = seen.entries + found.entries, seen.outside + found.outside, stop
            if at >= n_rows:
                break
        return CodeMatrix(storage, (n_rows, m), code)

    def _passes(self, nbytes: int) -> Iterator[tuple[slice, CodeMatrix]]:
        """One pass: blocks of rows and their codes, in order."""
        n, seen = self.shape[0], _Seen()
        group = self._group(nbytes)
        blocks = self.source.blocks(min(self._step(), group), sparse="keep", check_finite=not self._finite)
        for start in range(0, n, group):
            rows = slice(start, min(start + group, n))
            yield rows, self._encoded(blocks, rows.stop - start, seen)
        self._finite = True
        self._count(seen)

    def _count(self, seen: _Seen) -> None:
        """Tell the map's report of the first pass: it speaks of rows, not of passes."""
        if not self._counted and self.shape[0]:
            self._counted = True
            self.feature_map.report_.count(self.shape[0], seen.entries, seen.outside, stacklevel=5)

    # ------------------------------------------------------------------ products

    def matvec(self, V: Float64, precision: Precision = "float32") -> Float64:
        """``Z V``: one pass."""
        V = np.asarray(V, dtype=np.float64)
        out = np.empty((self.shape[0], *V.shape[1:]))
        for rows, Z in self._passes(self.block_bytes):
            out[rows] = Z.matvec(V, precision)
        return out

    def rmatvec(self, R: Float64, precision: Precision = "float32") -> Float64:
        """``Z^T R``: one pass."""
        R = np.asarray(R, dtype=np.float64)
        out = np.zeros((self.shape[1], *R.shape[1:]))
        for rows, Z in self._passes(self.block_bytes):
            out += Z.rmatvec(R[rows], precision)
        return out

    def precise_rmatvec(self, R: Float64) -> Float64:
        """``Z^T R`` to about 1e-13: each block's part as precise as that."""
        R = np.asarray(R, dtype=np.float64)
        out = np.zeros((self.shape[1], *R.shape[1:]))
        for rows, Z in self._passes(self.block_bytes):
            out += CodesDesign(Z).precise_rmatvec(R[rows])
        return out

    def there_and_back(self, V: Float64, between: Between, precision: Precision = "float32") -> Float64:
        """``Z^T between(Z V)``: one pass for both products."""
        V = np.asarray(V, dtype=np.float64)
        out: Float64 | None = None
        for rows, Z in self._passes(self.block_bytes):
            part = Z.rmatvec(np.asarray(between(rows, Z.matvec(V, precision)), dtype=np.float64), precision)
            out = part if out is None else out + part
        assert out is not None, "there are rows"
        return out

    def gram(self, weights: Float64 | None = None, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """``Z^T diag(weights) Z``: one pass; holds two (m, m) arrays while it adds."""
        out: npt.NDArray[Any] | None = None
        for rows, Z in self._passes(max(self.block_bytes, min(GRAM_BYTES, 4 * self.block_bytes))):
            part = CodesDesign(Z).gram(None if weights is None else weights[rows], dtype)
            if out is None:
                out = part
            else:
                out += part
        assert out is not None, "there are rows"
        return out

    def kernel(self) -> Float64:
        """``Z Z^T``: each pair of blocks once, the blocks encoded anew for each of the others after them."""
        n = self.shape[0]
        out = np.empty((n, n))
        group = self._group(self.block_bytes)
        starts = range(0, n, group)
        if len(starts) == 1:
            return np.asarray(self.stored().kernel())
        for a in starts:
            left = slice(a, min(a + group, n))
            Z = self[left].stored()
            for b in range(a, n, group):
                right = slice(b, min(b + group, n))
                part = Z.kernel() if b == a else Z.kernel(self[right].stored())
                out[left, right] = part
                out[right, left] = part.T
        return out

    def squared_row_norms(self) -> Float64:
        """Sum of squares of each row: one pass."""
        return np.concatenate([Z.squared_row_norms() for _, Z in self._passes(self.block_bytes)])

    def column_sums(self, weights: Float64 | None = None) -> Float64:
        """``Z^T weights``, or plain sums: one pass."""
        if weights is not None:
            return self.rmatvec(weights)
        return np.asarray(sum(Z.column_sums() for _, Z in self._passes(self.block_bytes)))


@dataclass
class _Seen:
    """Entries compared with a range in one pass, and those outside it."""

    entries: int = 0
    outside: int = 0


class _Picked(RandomAccessSource):
    """Some rows of a source, in an order of their own."""

    _source: RandomAccessSource
    _index: npt.NDArray[np.int64]

    def __init__(self, source: RandomAccessSource, index: npt.NDArray[np.int64]) -> None:
        if isinstance(source, _Picked):  # one step to the rows, however often they were picked
            index, source = source._index[index], source._source
        self._source, self._index = source, index
        self.n_rows, self.n_columns, self.dtype = len(index), source.n_columns, source.dtype
        self.feature_names, self.is_sparse = source.feature_names, source.is_sparse

    def _rows(self, which: Any) -> Any:
        return self._source._rows(self._index[which])


def encode(
    feature_map: BaseMap, X: Any, storage: str = "auto", max_memory: int | float | str | None = None
) -> CodeMatrix | StreamedCodes:
    """Codes of rows, stored or made anew in each pass, as the memory allows.

    Parameters
    ----------
    feature_map : fitted feature map
    X : rows
        As `nanogram.rows.as_row_source` takes them.
    storage : {"auto", "stored", "streamed"}, default="auto"
        ``"auto"`` stores codes that fit in ``max_memory`` together with 8 MiB of workspace.
    max_memory : int, float or str, optional
        Bytes, or such as ``"64MB"``, ``"1GiB"``; default: half of what the machine has left. Blocks of streamed
        codes take a quarter of it, 16 MiB at most.

    Returns
    -------
    CodeMatrix or StreamedCodes
        Every estimator of `nanogram.linear_model` takes either, at fit and at predict.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.streamed import encode
    >>> X = np.random.default_rng(0).standard_normal((4000, 8))
    >>> features = TernaryFeatures(n_components=8192, random_state=0).fit(X)
    >>> type(encode(features, X)).__name__, type(encode(features, X, max_memory="10MB")).__name__
    ('CodeMatrix', 'StreamedCodes')
    """
    if storage not in STORAGES:
        raise ValueError(f"storage={storage!r} is not known; 'auto', 'stored' and 'streamed' are accepted")
    budget = available_memory() // 2 if max_memory is None else parse_memory(max_memory)
    # A quarter of a small budget: codes of a block, and what encoding it takes beside them.
    codes = StreamedCodes(feature_map, X, block_bytes=max(1, min(BLOCK_BYTES, budget // 4)))
    if storage == "stored" or (storage == "auto" and codes.stored_nbytes + WORKSPACE <= budget):
        return codes.stored()
    return codes
