"""`CodeMatrix`: a matrix of codes, the one contract between feature maps and models.

Nothing downstream knows how the codes were made, nothing upstream what they are for.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from html import escape
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator

from ._code_matrix import build, files, gram, indexing, sums
from ._code_matrix.blocks import decoded_index, decoded_rows, row_ranges
from ._code_matrix.numpy_protocol import CodesProtocol
from ._code_matrix.products import checked_precision, product
from ._code_matrix.stacking import hstack, vstack
from ._code_matrix.transposed import TransposedCodeMatrix, refuse_codes
from .codes import Code
from .ops.reference import Precision

__all__ = ["CodeMatrix", "hstack", "vstack"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class CodeMatrix(CodesProtocol):
    r"""An immutable matrix stored as packed codes of 1 to 16 bits, or as floats.

    It stands for the matrix of decoded float32 values and multiplies without ever holding them. Whatever would
    make them by accident (`numpy.asarray`, a NumPy function) raises and names `toarray`.

    Parameters
    ----------
    storage : ndarray
        Words as `nanogram.ops.layouts` lays them out; for a `FloatCode` the (n, m) array itself.
        It is not copied (memory maps stay memory maps) and must not be changed afterwards.
    shape : (int, int)
        Rows and columns.
    code : Code
        How stored codes decode.
    precision : {"fast", "float32"}, default="fast"
        Of products; see Notes.

    Notes
    -----
    **Products.** ``Z @ V``, ``Z.T @ R``, `matvec` and `rmatvec` take bool, integers and float16/32/64, one or two
    dimensions, and return the dtype NumPy gives for a float32 matrix: float32, or float64 for float64 and for
    integers of 32 bits and more.

    **Precision.** Each column v of the right-hand side is rounded to integers v' times a step, with
    ``|v - v'| <= tol |v|`` in root mean square, tol = 5e-5 for ``"fast"`` and 1e-6 for ``"float32"``; all sums
    after that are exact integers, and the decoder is applied in double. So the result is that of a right-hand
    side changed by tol relative to its norm, and its own error has root mean square tol times a result
    whose signs are random, ``|Z|_F |v| / sqrt(m)``. Where scales differ by column, read scale times v for v.
    An offset that is no multiple of half a step, or differs by column, is not part of the rounded
    product: then ``|Z|`` is the norm without the rest of the offset, at most twice Z's for one offset within the range.
    A column of v whose values are all -a, 0 or a loses nothing (unless scales differ by column).
    Results in float32 are rounded once more. They are the same to the bit for any number of threads and any
    instruction set. Matrices of floats multiply by BLAS, which does not promise that: float32 and ``"fast"``
    work in single, float64 with ``"float32"`` in double.

    **NaN and infinity** in a right-hand side spread as in NumPy's product of the decoded matrix
    (0 times infinity is NaN): the rows that hold them are multiplied in floats.

    **Indexing** keeps two dimensions: ``Z[3]`` has shape (1, m), as of SciPy's sparse matrices, and so has
    every result. ``Z[rows, columns]`` means ``Z[rows][:, columns]``, with lists on both sides too. Rows
    are taken without unpacking; a slice of whole tiles of 16 rows (``Z[16:48]``, ``Z[32:]``) copies nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.code_matrix import CodeMatrix
    >>> from nanogram.codes import UniformCode
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 64))
    >>> Z = CodeMatrix.from_values(X, UniformCode(bits=2), random_state=0)
    >>> Z
    CodeMatrix(shape=(1000, 64), code=UniformCode(bits=2), nbytes=16128)
    >>> (Z @ np.ones(64)).shape, Z.gram().shape, Z[::2].shape
    ((1000,), (64, 64), (500, 64))
    """

    __slots__ = ("_code", "_decoder", "_multiplier", "_precision", "_shape", "_storage")

    def __init__(self, storage: Array, shape: tuple[int, int], code: Code, precision: Precision = "fast") -> None:
        self._shape = build.checked_shape(shape)
        # A shallow copy: parameters set on the caller's code later must not reach this matrix.
        self._code = copy.copy(build.checked_code(code, self._shape[1]))
        self._storage = build.checked_storage(storage, self._shape, self._code)
        self._precision = checked_precision(precision)
        self._decoder: Any = None  # what products derive from the code, once
        self._multiplier: Any = None  # and from the storage too

    @classmethod
    def from_codes(cls, codes: npt.ArrayLike, code: Code) -> Self:
        """The matrix of these codes (n, m), integers below ``code.n_levels`` (values for a `FloatCode`).

        Examples
        --------
        >>> import numpy as np
        >>> from nanogram.code_matrix import CodeMatrix
        >>> from nanogram.codes import UniformCode
        >>> CodeMatrix.from_codes(np.array([[0, 3], [1, 2]]), UniformCode(2, low=-3, high=3)).toarray()
        array([[-3.,  3.],
               [-1.,  1.]], dtype=float32)
        """
        return cls(*build.storage_from_codes(codes, code), code)

    @classmethod
    def from_values(cls, values: npt.ArrayLike, code: Code, *, words: Any = None, random_state: Any = None) -> Self:
        """Encode values (n, m) block by block; ``words`` and ``random_state`` as in ``code.encode``.

        Examples
        --------
        >>> from nanogram.code_matrix import CodeMatrix
        >>> from nanogram.codes import UniformCode
        >>> CodeMatrix.from_values([[-0.8, 0.4]], UniformCode(1, "nearest")).toarray()
        array([[-1.,  1.]], dtype=float32)
        """
        return cls(*build.storage_from_values(values, code, words, random_state), code)

    # ------------------------------------------------------------------ what it is

    @property
    def storage(self) -> Array:
        """The words (or floats), read-only."""
        return self._storage

    @property
    def code(self) -> Code:
        """How stored codes decode."""
        return self._code

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """Type of decoded values."""
        return self._code.dtype

    ndim = 2

    def __len__(self) -> int:
        return self._shape[0]

    @property
    def size(self) -> int:
        """Number of codes."""
        return self._shape[0] * self._shape[1]

    @property
    def bits(self) -> float:
        """Stored bits a code."""
        return self._code.bits

    @property
    def nbytes(self) -> int:
        """Bytes of the storage and of the decoder, where that differs by column."""
        decoder = 0 if self._code.n_columns is None else 16 * self._code.n_columns
        return self._storage.nbytes + decoder

    @property
    def precision(self) -> Precision:
        """Precision of products: ``"fast"`` or ``"float32"``."""
        return self._precision

    def with_precision(self, precision: Precision) -> Self:
        """The same matrix, its storage shared, with another precision of products."""
        return type(self)(self._storage, self._shape, self._code, precision)

    def __repr__(self) -> str:
        precision = "" if self._precision == "fast" else f", precision={self._precision!r}"
        return f"CodeMatrix(shape={self._shape}, code={self._code!r}, nbytes={self.nbytes}{precision})"

    def _repr_html_(self) -> str:
        n, m = self._shape
        return (
            f"<div><b>CodeMatrix</b> {n:,} &times; {m:,}, {self.bits:g} bits a code, {self.nbytes / 2**20:,.1f} MiB"
            f"<br><code>{escape(repr(self._code))}</code></div>"
        )

    # ------------------------------------------------------------------ products

    @property
    def T(self) -> TransposedCodeMatrix:  # noqa: N802 - NumPy's name
        """The transpose: ``Z.T @ R``, nothing copied."""
        return TransposedCodeMatrix(self)

    def __matmul__(self, other: Any) -> Array:
        if isinstance(other, TransposedCodeMatrix):
            return self.kernel(None if other.T is self else other.T)
        return product(self, refuse_codes(other), transpose=False)

    def __rmatmul__(self, other: Any) -> Array:
        return product(self, np.asarray(other).T, transpose=True).T

    def matvec(self, v: npt.ArrayLike, precision: Precision | None = None) -> Array:
        """``Z @ v`` for v of shape (m,) or (m, k), in a precision other than the matrix's own if given."""
        return product(self, v, transpose=False, precision=precision)

    def rmatvec(self, r: npt.ArrayLike, precision: Precision | None = None) -> Array:
        """``Z.T @ r`` for r of shape (n,) or (n, k)."""
        return product(self, r, transpose=True, precision=precision)

    # Under these names `scipy.sparse.linalg.aslinearoperator` looks for products with several columns.
    matmat = matvec
    rmatmat = rmatvec

    def as_linear_operator(self, dtype: npt.DTypeLike = np.float64, precision: Precision | None = None) -> Any:
        """A SciPy ``LinearOperator``, for `scipy.sparse.linalg`'s solvers.

        Parameters
        ----------
        dtype : dtype, default=float64
            In which the solver works.
        precision : {"fast", "float32"}, optional
            Of the products; default: the matrix's own.
        """
        matrix = self if precision is None else self.with_precision(precision)
        return LinearOperator(
            self._shape,
            matvec=matrix.matvec,
            rmatvec=matrix.rmatvec,
            matmat=matrix.matvec,
            rmatmat=matrix.rmatvec,
            dtype=np.dtype(dtype),
        )

    def gram(self, weights: npt.ArrayLike | None = None, dtype: npt.DTypeLike | None = None) -> Array:
        """``Z^T Z``, or ``Z^T diag(weights) Z``: an (m, m) array, symmetric to the bit.

        Parameters
        ----------
        weights : array of shape (n,), optional
            Finite; may be negative.
        dtype : {float64, float32}, default=float64
            Of the result.

        Notes
        -----
        Of packed codes without weights the sums are exact integers and rounding happens in the decoder's
        scale and offset alone, in double; a float32 result is rounded once. With weights, or for floats, blocks of
        rows are multiplied in single by BLAS and summed in double (relative error near 1e-6).
        """
        return gram.gram(self, weights, dtype)

    def kernel(self, other: CodeMatrix | None = None, dtype: npt.DTypeLike | None = None) -> Array:
        """``Z Z^T``, or ``Z Z'^T`` with another matrix whose codes decode alike: an (n, n') array.

        Exact integers as in `gram`, unless scale or offset differ by column: then single precision summed
        in double over 4096 columns at a time.
        """
        if other is not None and not isinstance(other, CodeMatrix):
            raise TypeError(f"other is {type(other).__name__}; a CodeMatrix is accepted")
        return gram.kernel(self, other, dtype)

    # ------------------------------------------------------------------ sums

    def column_sums(self) -> Float64:
        """Sum of each column, (m,)."""
        return sums.column_sums(self)

    def row_sums(self) -> Float64:
        """Sum of each row, (n,)."""
        return sums.row_sums(self)

    def squared_row_norms(self) -> Float64:
        """Sum of the squares of each row, (n,)."""
        return sums.squared_row_norms(self)

    def sum(self, axis: int | None = None) -> Any:
        """Sum of all values (``axis=None``), of each column (0) or each row (1); always in float64."""
        if axis is None:
            return float(self.column_sums().sum())
        if axis not in (-2, -1, 0, 1):
            raise ValueError(f"axis={axis!r} is not accepted; choose None, 0 or 1")
        return self.column_sums() if axis % 2 == 0 else self.row_sums()

    def mean(self, axis: int | None = None) -> Any:
        """Mean of all values, of each column (``axis=0``) or each row (1); always in float64."""
        count = self.size if axis is None else self._shape[axis]
        with np.errstate(invalid="ignore"):
            mean = np.asarray(self.sum(axis)) / np.float64(count)
        return mean if mean.ndim else float(mean)

    # ------------------------------------------------------------------ parts

    def __getitem__(self, key: Any) -> Self:
        row_key, column_key = indexing.split_key(key)
        n, m = self._shape
        rows, columns = indexing.resolve(row_key, n, 0), indexing.resolve(column_key, m, 1)
        storage = self._storage if indexing.is_all(rows, n) else indexing.take_rows(self, rows)
        code = self._code
        if not indexing.is_all(columns, m):
            storage = indexing.take_columns(storage, code.layout, (len(rows), m), columns)
            code = code.select_columns(indexing.as_array(columns))
        part = type(self)(storage, (len(rows), len(columns)), code, self._precision)
        if code is self._code:
            part._decoder = self._decoder
        return part

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def toarray(self, rows: Any = None, dtype: npt.DTypeLike | None = None) -> Array:
        """The decoded values, of all rows or of those that ``rows`` (any row index) picks.

        Parameters
        ----------
        rows : index, optional
            As in ``Z[rows]``.
        dtype : dtype, default=float32
            Of the array.
        """
        index = indexing.resolve(slice(None) if rows is None else rows, self._shape[0], 0)
        out = np.empty((len(index), self._shape[1]), dtype=self.dtype if dtype is None else dtype)
        whole = isinstance(index, range) and index.start % 16 == 0
        for start, stop in row_ranges(*out.shape):
            if isinstance(index, range) and whole:
                out[start:stop] = decoded_rows(self, index.start + start, index.start + stop)
            else:
                out[start:stop] = decoded_index(self, indexing.as_array(index[start:stop]))
        return out

    hstack = staticmethod(hstack)
    vstack = staticmethod(vstack)

    # ------------------------------------------------------------------ files, copies

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file: beside ``path`` first, then renamed, so that no reader finds half a file."""
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False, check_codes: bool | None = None) -> Self:
        """Read what `save` wrote; no code is run, and every field is checked before a byte is trusted.

        Parameters
        ----------
        path : path
            The file.
        mmap : bool, default=False
            Leave the codes on disk and map them read-only.
        check_codes : bool, optional
            Check that every stored code is in range too, which reads the whole file; the default is to do so
            unless ``mmap``. A code out of range harms nobody: decoding it raises ValueError, products
            treat it as some number.

        Raises
        ------
        nanogram.io.FormatError
            A ValueError that names the file and the field that is wrong.
        """
        return cls(*files.load(path, mmap, not mmap if check_codes is None else check_codes))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._storage, self._shape, self._code, self._precision)

    def __copy__(self) -> Self:
        return self

    def copy(self) -> Self:
        """A matrix with storage of its own (out of a memory map, say)."""
        return type(self)(self._storage.copy(), self._shape, self._code, self._precision)
