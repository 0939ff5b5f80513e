"""Compute routines: stateless functions over arrays, dispatched to NumPy or to the compiled core.

`reference` is the specification. The compiled core returns the same bits on every instruction set
and with any number of threads. ``NANOGRAM_ISA`` (``reference``, ``generic``, ``avx2``, ``avx512``)
or `use_isa` chooses; by default the widest the machine has.
"""

from ._dispatch import (
    column_sums,
    convert,
    decode,
    gram,
    kernel,
    matmul,
    multiplier,
    pack,
    rmatmul,
    row_sums,
    split_planes,
    take_columns,
    take_rows,
    unpack,
    unpack_rows,
    widen,
)
from ._isa import active_isa, available_isas, isa_name, use_isa
from .layouts import LAYOUTS, ROWS_PER_TILE, Layout, get_layout, words_shape
from .reference import NotFiniteError

__all__ = [
    "LAYOUTS",
    "ROWS_PER_TILE",
    "Layout",
    "NotFiniteError",
    "active_isa",
    "available_isas",
    "column_sums",
    "convert",
    "decode",
    "get_layout",
    "gram",
    "isa_name",
    "kernel",
    "matmul",
    "multiplier",
    "pack",
    "rmatmul",
    "row_sums",
    "split_planes",
    "take_columns",
    "take_rows",
    "unpack",
    "unpack_rows",
    "use_isa",
    "widen",
    "words_shape",
]
