"""Rows in frames: pandas and polars, converted block by block.

Neither library is imported: a frame is known by the module of its class, and only its own methods are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram._rows.arrays import check_columns
from nanogram._rows.base import RandomAccessSource, block_dtype
from nanogram._rows.convert import Raw

__all__ = ["PandasSource", "PolarsSource", "names_of", "nested_type"]


def names_of(labels: Any) -> tuple[str, ...] | None:
    """Labels of columns as feature names: all of them strings, or none (as scikit-learn has it)."""
    names = tuple(labels)
    return names if names and all(isinstance(name, str) for name in names) else None


def nested_type(frame: Any) -> str:
    """``"pandas.DataFrame"``, ``"polars.LazyFrame"`` and so on; subclasses count as what they derive from."""
    for kind in type(frame).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("pandas", "polars", "torch"):
            return f"{library}.{kind.__name__}"
    return ""


def _refused(label: Any, dtype: Any) -> TypeError:
    return TypeError(
        f"column {label!r} of the frame has dtype {dtype}: columns must be numeric or boolean; "
        "encode it (sklearn.preprocessing.OrdinalEncoder, OneHotEncoder) or leave it out"
    )


class PandasSource(RandomAccessSource):
    """Rows of a pandas frame; missing values of nullable columns become NaN."""

    def __init__(self, frame: Any, feature_names: tuple[str, ...] | None = None) -> None:
        check_columns(*frame.shape)
        self._frame = frame
        self.n_rows, self.n_columns = frame.shape
        kinds = [_pandas_type(label, dtype) for label, dtype in zip(frame.columns, frame.dtypes, strict=True)]
        self.dtype = np.result_type(*set(kinds))
        self.feature_names = feature_names or names_of(frame.columns)
        # Frames of one plain type hand out whole blocks, often without a copy.
        self._uniform = len(set(kinds)) == 1 and all(isinstance(dtype, np.dtype) for dtype in frame.dtypes)

    def _rows(self, which: slice | npt.NDArray[np.int64]) -> Raw:
        part = self._frame.iloc[which]
        if self._uniform:
            whole: npt.NDArray[Any] = part.to_numpy()
            return whole
        block = np.empty(part.shape, dtype=block_dtype(self.dtype, None))
        for j in range(self.n_columns):
            column = part.iloc[:, j]
            with np.errstate(over="ignore", invalid="ignore"):
                if isinstance(column.dtype, np.dtype):
                    block[:, j] = column.to_numpy()
                else:
                    block[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return block


def _pandas_type(label: Any, dtype: Any) -> np.dtype[Any]:
    if isinstance(dtype, np.dtype):
        if dtype.kind not in "biuf":
            raise _refused(label, dtype)
        return dtype
    # Nullable, Arrow-backed and sparse columns: `kind` is theirs to state; categories and dates state "O" or "M".
    if getattr(dtype, "kind", "O") not in "biuf":
        raise _refused(label, dtype)
    return np.dtype(np.float64)


class PolarsSource(RandomAccessSource):
    """Rows of a polars frame; nulls become NaN."""

    def __init__(self, frame: Any, feature_names: tuple[str, ...] | None = None) -> None:
        check_columns(*frame.shape)
        self._frame = frame
        self.n_rows, self.n_columns = frame.shape
        self.dtype = np.result_type(*{_polars_type(label, dtype) for label, dtype in frame.schema.items()})
        self.feature_names = feature_names or names_of(frame.columns)

    def _rows(self, which: slice | npt.NDArray[np.int64]) -> Raw:
        if isinstance(which, slice):
            part = self._frame.slice(which.start, which.stop - which.start)
        else:
            part = self._frame[which]
        block = np.empty(part.shape, dtype=block_dtype(self.dtype, None))
        for j in range(self.n_columns):
            column = part.to_series(j)
            if not column.dtype.is_float() and column.null_count():
                column = column.to_frame().select_seq(_as_float(column)).to_series()
            with np.errstate(over="ignore", invalid="ignore"):
                block[:, j] = column.to_numpy()
        return block


def _as_float(column: Any) -> Any:
    import polars as pl

    return column.cast(pl.Float64)


def _polars_type(label: str, dtype: Any) -> np.dtype[Any]:
    name = str(dtype)
    if name == "Boolean":
        return np.dtype(np.bool_)
    if not dtype.is_numeric():
        raise _refused(label, dtype)
    plain = name.lower()
    # Decimals and 128-bit integers have no counterpart among NumPy's types.
    return np.dtype(plain) if plain in np.sctypeDict and plain in _PLAIN else np.dtype(np.float64)


_PLAIN = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {"float16", "float32", "float64"}
