"""Keys of rows from their content: where a row stands, or in which batch, does not matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nanogram.ops import active_isa

from ._threefry import content_keys

__all__ = ["row_keys"]

# Numbers that the reference, or rows that must be copied, take at a time.
_BLOCK = 1 << 18


def row_keys(X: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """A 64-bit key for each row of integers, from its content alone.

    Equal rows have equal keys wherever they stand and whatever dtype holds them; different rows have different
    keys but for chance: among ``n`` rows two share a key with probability about ``n**2 / 2**65``. The key serves
    as the row of a `Stream`.

    Parameters
    ----------
    X : array_like of shape (n_rows, n_columns)
        Integers or booleans between -2**31 and 2**31 - 1.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import row_keys
    >>> X = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.int8)
    >>> row_keys(X)
    array([ 5332563635799877101, 16284696858077295947], dtype=uint64)
    >>> bool((row_keys(X[::-1].astype(np.int64)) == row_keys(X)[::-1]).all())
    True
    """
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biu":
        raise ValueError(f"X has dtype {X.dtype} and shape {X.shape}; a 2-D array of integers is accepted")
    if X.dtype.kind == "b":
        X = X.view(np.uint8)
    fits = X.dtype.itemsize < 4 or (X.dtype.itemsize == 4 and X.dtype.kind == "i")
    if not fits and X.size and (int(X.min()) < -(2**31) or int(X.max()) >= 2**31):
        raise ValueError(f"X holds numbers from {X.min()} to {X.max()}; -2**31 to 2**31 - 1 is accepted")
    keys = np.empty(len(X), dtype=np.uint64)
    isa = active_isa()
    if isa is not None:
        from nanogram import _core

        dtype = X.dtype.newbyteorder("=") if fits else np.dtype(np.int32)
        if dtype == X.dtype and X.flags.c_contiguous:
            _core.row_keys(X, keys, isa)
            return keys
    step = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        if isa is None:
            keys[part] = content_keys(X[part])
        else:
            _core.row_keys(np.ascontiguousarray(X[part], dtype=dtype), keys[part], isa)
    return keys
