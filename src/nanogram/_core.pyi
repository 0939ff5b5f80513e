from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]

# bindings/register_system.cpp
def available_isas() -> list[str]: ...
def max_threads() -> int: ...
def measure_limits(seconds: float = 0.2, isa: int = -1) -> dict[str, float]: ...

# bindings/register_pack.cpp
def pack(codes: Array, layout: int, isa: int) -> Words: ...
def unpack(words: Words, layout: int, n_rows: int, n_columns: int, isa: int) -> Array: ...
def unpack_rows(
    words: Words, layout: int, n_rows: int, n_columns: int, rows: npt.NDArray[np.int64], isa: int
) -> Array: ...
def convert(words: Words, layout: int, to_layout: int, n_rows: int, n_columns: int, isa: int) -> Words: ...
def take_columns(
    words: Words, layout: int, n_rows: int, n_columns: int, columns: npt.NDArray[np.int64], isa: int
) -> Words: ...
def split_planes(words: Words, n_rows: int, n_columns: int, isa: int) -> tuple[Words, Words, Words]: ...
def widen(halves: npt.NDArray[np.uint16], out: npt.NDArray[np.float32], isa: int) -> None: ...
def column_sums(words: Words, layout: int, n_rows: int, n_columns: int, isa: int) -> npt.NDArray[np.int64]: ...
def row_sums(words: Words, layout: int, n_rows: int, n_columns: int, isa: int) -> npt.NDArray[np.int64]: ...
def decode(
    words: Words,
    layout: int,
    n_rows: int,
    n_columns: int,
    rows: npt.NDArray[np.int64] | None,
    levels: npt.NDArray[np.float32] | None,
    scale: npt.NDArray[np.float64] | None,
    offset: npt.NDArray[np.float64] | None,
    zero2: int,
    out: Array,
    isa: int,
) -> None: ...

# bindings/register_matmul.cpp
class Multiplier:
    def __init__(
        self,
        words: Words,
        layout: int,
        rows: int,
        columns: int,
        zero2: int,
        table: npt.NDArray[np.float64] | None,
        factor: float,
    ) -> None: ...
    def multiply(
        self, values: Array, out: Array, transposed: bool, tolerance: float, least_digits: int, isa: int
    ) -> bool: ...

def matmul(
    words: Words,
    layout: int,
    n_rows: int,
    n_columns: int,
    values: Array,
    zero2: int,
    table: npt.NDArray[np.float64] | None,
    tolerance: float,
    least_digits: int,
    most_digits: int,
    out: npt.NDArray[np.float64],
    isa: int,
) -> bool: ...
def rmatmul(
    words: Words,
    layout: int,
    n_rows: int,
    n_columns: int,
    values: Array,
    zero2: int,
    table: npt.NDArray[np.float64] | None,
    tolerance: float,
    least_digits: int,
    most_digits: int,
    out: npt.NDArray[np.float64],
    isa: int,
) -> bool: ...

# bindings/register_gram.cpp
def gram(
    words: Words,
    n_rows: int,
    n_columns: int,
    other: Words | None,
    other_columns: int,
    layout: int,
    zero2: int,
    out: Array,
    isa: int,
) -> None: ...
def kernel(
    words: Words,
    n_rows: int,
    other: Words | None,
    other_rows: int,
    n_columns: int,
    layout: int,
    zero2: int,
    out: Array,
    isa: int,
) -> None: ...

# bindings/register_random.cpp
def counter_fill(
    law: int,
    key: tuple[int, int, int, int],
    draw: int,
    rows: npt.NDArray[np.uint64],
    first_column: int,
    columns: npt.NDArray[np.uint64] | None,
    table: npt.NDArray[np.float64] | None,
    threshold: int,
    out: Array,
    isa: int,
) -> None: ...
def row_keys(x: Array, keys: npt.NDArray[np.uint64], isa: int) -> None: ...

# bindings/register_encode.cpp
def quantise_rows(
    x: Array, mu: npt.NDArray[np.float64], inv_grid: float, limit: int, out: npt.NDArray[np.int16], isa: int
) -> int: ...
def encode_hadamard(
    x: Array,
    mu: npt.NDArray[np.float64] | None,
    inv_grid: float,
    limit: int,
    signs: Words,
    n_columns: int,
    kind: int,
    layout: int,
    thresholds: npt.NDArray[np.int32] | None,
    codes: npt.NDArray[np.int64] | None,
    multiplier: int,
    bias: npt.NDArray[np.uint16] | None,
    key: tuple[int, int, int, int],
    words: Words,
    row_offset: int,
    isa: int,
) -> tuple[int, int]: ...

# bindings/register_encode_dense.cpp
def encode_dense(
    rows: npt.NDArray[np.int16] | None,
    compressed: tuple[Array, Array, Array] | None,
    weights: tuple[Any, ...],
    epilogue: tuple[Any, ...],
    words: Words,
    layout: int,
    first_row: int,
    isa: int,
) -> None: ...
