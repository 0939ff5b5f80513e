"""What a projection law is, and what a drawn projection can do.

A law (`Projection`) is a scikit-learn parameter object. `Projection.draw` makes a `Drawn`: the matrix W, features by
inputs, as a function of (seed, row, column), of which any block can be made and which can be applied to rows. Entries
have mean 0 and variance 1 (Cauchy: neither exists), so that ``x @ w`` has variance ``|x|**2``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from ._arguments import checked_float_dtype, checked_integer
from ._blocks import WORKSPACE, checked_input, checked_out, consecutive, dense_rows, resolved

__all__ = ["CACHE_BYTES", "Drawn", "DrawnBlocks", "DrawnRows", "Projection"]

Array = npt.NDArray[Any]
#: Rows or columns of W by number.
Numbers = range | npt.NDArray[np.int64]

#: A W up to this size is kept once it was used.
CACHE_BYTES: Final = 1 << 25


class Projection(BaseEstimator, ABC):
    """Base of all laws; a parameter object without a ``fit``, whose parameters are checked by `draw`."""

    #: Short name, as `make_projection` takes it.
    name: ClassVar[str]
    #: Mean and variance of an entry of W; None where the law has none.
    entry_mean: ClassVar[float | None] = 0.0
    entry_variance: ClassVar[float | None] = 1.0

    def draw(self, n_inputs: int, n_components: int, seed: int, *, cache_bytes: int = CACHE_BYTES) -> Drawn:
        """W for ``n_inputs`` columns of X and ``n_components`` features.

        Parameters
        ----------
        n_inputs, n_components : int
            At least 1.
        seed : int
            From 0 to 2**64 - 1; `seed_from` makes one of a ``random_state``.
        cache_bytes : int, default=2**25
            W is kept, once used, where it is not larger than this; else it is made anew, block by block, each time.
            Laws with a fast transform never form W.

        Returns
        -------
        Drawn
        """
        p = checked_integer("n_inputs", n_inputs, 1, 1 << 34)
        m = checked_integer("n_components", n_components, 1, 1 << 34)
        seed = checked_integer("seed", seed, 0, 1 << 64)
        return self._draw(p, m, seed, checked_integer("cache_bytes", cache_bytes, 0, 1 << 63))

    @abstractmethod
    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        """The drawn projection; checks the law's own parameters."""


@dataclass(frozen=True, eq=False)
class Drawn(ABC):
    """A projection matrix W of ``n_components`` rows and ``n_inputs`` columns; made by `Projection.draw`.

    Attributes
    ----------
    law : Projection
    n_inputs, n_components, seed, cache_bytes : int

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Gaussian
    >>> drawn = Gaussian().draw(n_inputs=3, n_components=5, seed=7)
    >>> X = np.eye(3, dtype=np.float32)
    >>> bool((drawn.project(X) == drawn.materialize().T).all())
    True
    >>> bool((drawn.materialize(rows=slice(1, 4)) == drawn.materialize()[1:4]).all())
    True
    """

    law: Projection
    n_inputs: int
    n_components: int
    seed: int
    cache_bytes: int
    _cache: dict[str, Array] = field(default_factory=dict, init=False, repr=False)
    #: How many times the bytes of a block it takes to make it, roughly.
    _effort: ClassVar[int] = 1

    def __getstate__(self) -> dict[str, Any]:
        """All but what can be made again."""
        return {**self.__dict__, "_cache": {}}

    # ------------------------------------------------------------------ what it is

    @property
    def shape(self) -> tuple[int, int]:
        """Features and inputs: the shape of W."""
        return self.n_components, self.n_inputs

    @property
    def entry_mean(self) -> float | None:
        """Mean of an entry of W over seeds; None where the law has none."""
        return self.law.entry_mean

    @property
    def entry_variance(self) -> float | None:
        """Variance of an entry of W over seeds; None where the law has none."""
        return self.law.entry_variance

    @property
    def nbytes(self) -> int:
        """Bytes that have to be stored: the seed, and arrays that are not made from it again."""
        return 8 + sum(value.nbytes for value in self.__dict__.values() if isinstance(value, np.ndarray))

    @property
    def cache_nbytes(self) -> int:
        """Bytes kept for speed alone; they are not pickled."""
        return sum(value.nbytes for value in self._cache.values())

    @property
    @abstractmethod
    def kind(self) -> str:
        """How `project` works: "dense" (blocks of W) or "fast" (a transform, W is never formed)."""

    def cost(self, n: int = 1) -> float:
        """Multiply-adds to project ``n`` rows (additions alone, where the law needs no products)."""
        return float(n) * self.n_components * self.n_inputs

    # ------------------------------------------------------------------ blocks of W

    def materialize(self, rows: Any = None, columns: Any = None, dtype: npt.DTypeLike = np.float32) -> Array:
        """Any block of W, the same numbers as the slice of the whole.

        Parameters
        ----------
        rows, columns : slice, range, mask or array of integers, optional
            Features and inputs; default: all of them.
        dtype : float32 or float64, default=float32
            float32 is float64 rounded.

        Returns
        -------
        ndarray of shape (rows, columns)
        """
        dtype = checked_float_dtype(dtype)
        which = resolved("rows", rows, self.n_components)
        inputs = resolved("columns", columns, self.n_inputs)
        out = np.empty((len(which), len(inputs)), dtype=dtype)
        step = self._step(np.dtype(np.float64))
        for start in range(0, len(which), step):
            out[start : start + step] = self._block(which[start : start + step], inputs, dtype)
        return out

    def weights_int8(self, rows: Any = None) -> npt.NDArray[np.int8]:
        """Rows of W over `int8_scale`, as integers; for laws whose entries are -1, 0 and 1 up to a scale."""
        if self.int8_scale is None:
            raise ValueError(f"{self.law!r} has no integer weights; rademacher, ternary and hadamard(rounds=1) have")
        which = resolved("rows", rows, self.n_components)
        return self._block_int8(which, range(self.n_inputs))

    @property
    def int8_scale(self) -> float | None:
        """W is this times `weights_int8`; None where W is not integer."""
        return None

    def hadamard_signs(self) -> npt.NDArray[np.uint32]:
        """The diagonals of a Hadamard projection, packed."""
        raise ValueError(f"{self.law!r} has no Hadamard signs; hadamard has")

    def _step(self, dtype: np.dtype[Any]) -> int:
        """Rows of W that fit the workspace, a multiple of `_grain`."""
        fit = WORKSPACE // (dtype.itemsize * self.n_inputs * self._effort)
        return max(self._grain, fit // self._grain * self._grain)

    @property
    def _grain(self) -> int:
        """Rows of W that are made together."""
        return 1

    @abstractmethod
    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        """A block of W."""

    def _block_int8(self, rows: Numbers, columns: Numbers) -> npt.NDArray[np.int8]:
        raise NotImplementedError

    # ------------------------------------------------------------------ X W^T

    def project(self, X: Any, out: Array | None = None, components: slice | None = None) -> Array:
        """``X @ W.T``.

        Parameters
        ----------
        X : array or scipy.sparse array or matrix, shape (n, n_inputs)
            Real numbers of any type. NaN and infinity are not looked for.
        out : ndarray of shape (n, components), optional
            float32 or float64; the arithmetic has its type.
        components : slice, optional
            The features wanted, step 1 (default: all of them).

        Returns
        -------
        ndarray of shape (n, components)
            ``out``, or a new array: float64 when X is float64 or has integers of more than 16 bits, else float32.
        """
        X = checked_input(X, self.n_inputs)
        features = consecutive("components", components, self.n_components)
        out = checked_out(out, X, len(features))
        if out.size:
            self._project(X, features, out)
        return out

    def project_vector(self, vector: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """``W @ vector`` in double, for one row such as the column means."""
        row = np.asarray(vector, dtype=np.float64)
        if row.ndim != 1:
            raise ValueError(f"vector has {row.ndim} dimensions; one row of {self.n_inputs} numbers is accepted")
        result: npt.NDArray[np.float64] = self.project(row[None])[0]
        return result

    @abstractmethod
    def _project(self, X: Any, features: range, out: Array) -> None:
        """Fill ``out``; X an ndarray or CSR of any real type."""


class DrawnRows(Drawn):
    """A projection applied as a product with blocks of W, which are kept where W is small."""

    @property
    def kind(self) -> str:
        """Always "dense": products with blocks of W."""
        return "dense"

    def _project(self, X: Any, features: range, out: Array) -> None:
        X = X.astype(out.dtype, copy=False)
        for rows in self._spans(features, out.dtype):
            weights = self._weights(rows, out.dtype)
            part = out[:, rows.start - features.start : rows.stop - features.start]
            if sparse.issparse(X):
                part[...] = X @ weights.T
            else:
                np.matmul(X, weights.T, out=part)

    def _spans(self, features: range, dtype: np.dtype[Any]) -> Iterator[range]:
        step = self._step(dtype)
        start = features.start
        while start < features.stop:
            stop = min(start - start % step + step, features.stop)
            yield range(start, stop)
            start = stop

    def _weights(self, rows: range, dtype: np.dtype[Any]) -> Array:
        if self.n_components * self.n_inputs * dtype.itemsize > self.cache_bytes:
            return self._block(rows, range(self.n_inputs), dtype)
        whole = self._cache.get(dtype.name)
        if whole is None:
            whole = self.materialize(dtype=dtype)
            whole.setflags(write=False)
            # Only one type is kept; another thread may do the same with the same numbers.
            self._cache.clear()
            self._cache[dtype.name] = whole
        return whole[rows.start : rows.stop]


class DrawnBlocks(Drawn):
    """A projection applied block after block of features by a fast transform of the dense rows."""

    @property
    def kind(self) -> str:
        """Always "fast": W is never formed."""
        return "fast"

    @property
    @abstractmethod
    def block_size(self) -> int:
        """Features a block."""

    @property
    def n_blocks(self) -> int:
        """Blocks of features; the last one is truncated."""
        return -(-self.n_components // self.block_size)

    @abstractmethod
    def _transform(self, x: Array, block: int) -> Array:
        """All features of a block, (n, block_size), of rows (n, n_inputs) of the type wanted."""

    def _project(self, X: Any, features: range, out: Array) -> None:
        size = self.block_size
        for rows, x in dense_rows(X, out.dtype, 4 * max(size, self.n_inputs)):
            for block in range(features.start // size, -(-features.stop // size)):
                first, last = max(block * size, features.start), min(block * size + size, features.stop)
                y = self._transform(x, block)[:, first - block * size : last - block * size]
                out[rows, first - features.start : last - features.start] = y
