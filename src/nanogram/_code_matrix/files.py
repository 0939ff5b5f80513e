"""Code matrices in safetensors files (docs/adr/0004-code-matrix-files.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from nanogram import io, ops
from nanogram.codes import Code, code_from_json

from .blocks import row_ranges
from .build import storage_spec

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]

FORMAT: Final = "nanogram.CodeMatrix"
VERSION: Final = 1
#: The one array of the file.
NAME: Final = "storage"
FIELDS: Final = ("code", "format", "layout", "shape", "version")


def save(Z: CodeMatrix, path: PathLike) -> None:
    """Write the matrix."""
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "shape": Z.shape,
        "layout": Z.code.layout,
        "code": Z.code.to_json(),
    }
    header = json.dumps(fields, separators=(",", ":"), allow_nan=False)
    io.write(path, {NAME: Z.storage}, {"nanogram": header})


def load(path: PathLike, mmap: bool, check_codes: bool) -> tuple[Array, tuple[int, int], Code]:
    """Storage, shape and code of the matrix in the file."""
    with Path(path).open("rb") as file:
        header = io.read_header(file, path)
        shape, code = _described(header.metadata, path)
        if set(header.tensors) != {NAME}:
            raise io.FormatError(path, "tensors", f"expected only {NAME!r}, found {len(header.tensors)} names")
        tensor = header.tensors[NAME]
        expected, dtype = storage_spec(code, shape)
        if tensor.shape != expected or tensor.dtype.newbyteorder("=") != dtype:
            raise io.FormatError(
                path,
                f"tensor {NAME!r}",
                f"{tensor.dtype} of shape {tensor.shape}; {shape[0]} x {shape[1]} codes in layout {code.layout!r} "
                f"take {dtype} of shape {expected}",
            )
        storage = io.read_tensor(file, tensor, path, mmap=mmap)
    if check_codes and code.layout is not None:
        check_words(storage, shape, code, path)
    return storage, shape, code


def _described(metadata: dict[str, str], path: PathLike) -> tuple[tuple[int, int], Code]:
    """Shape and code out of the metadata, each field checked."""
    if set(metadata) != {"nanogram"}:
        raise io.FormatError(path, "__metadata__", "expected the one name 'nanogram'")
    fields = io.strict_json(metadata["nanogram"], path, "__metadata__ nanogram")
    if not isinstance(fields, dict):
        raise io.FormatError(path, "__metadata__ nanogram", "not a JSON object")
    if fields.get("format") != FORMAT:
        raise io.FormatError(path, "format", f"{str(fields.get('format'))[:60]!r}; expected {FORMAT!r}")
    version = fields.get("version")
    if type(version) is not int or version != VERSION:
        raise io.FormatError(path, "version", f"{str(version)[:60]}; this release reads version {VERSION}")
    if tuple(sorted(fields)) != FIELDS:
        raise io.FormatError(path, "__metadata__ nanogram", f"expected the fields {', '.join(FIELDS)}")
    shape = fields["shape"]
    sizes = isinstance(shape, list) and len(shape) == 2 and all(type(size) is int for size in shape)
    if not sizes or not all(0 <= size <= io.LARGEST_DIMENSION for size in shape):
        raise io.FormatError(path, "shape", f"{str(shape)[:60]} is not a pair of sizes")
    try:
        code = code_from_json(fields["code"])
        layout, n_columns, _ = code.layout, code.n_columns, code.scale
    except (ValueError, TypeError, OverflowError) as error:
        raise io.FormatError(path, "code", str(error)[:300]) from None
    if fields["layout"] != layout:
        raise io.FormatError(path, "layout", f"{str(fields['layout'])[:60]!r}; the code is stored in {layout!r}")
    if n_columns is not None and n_columns != shape[1]:
        raise io.FormatError(path, "code", f"made for {n_columns} columns; shape is {shape}")
    return (shape[0], shape[1]), code


def check_words(words: Array, shape: tuple[int, int], code: Code, path: PathLike) -> None:
    """FormatError unless every code is one of the code's levels and every place beyond the matrix holds 0."""
    n, m = shape
    layout = ops.get_layout(code.layout or "")
    tile, per_word = ops.ROWS_PER_TILE, layout.per_word
    for start, stop in row_ranges(n, m):
        block = words[start // tile : -(-stop // tile)]
        if layout.name == "t5" and block.size and int(block.reshape(-1).view(np.uint8).max()) > 242:
            raise io.FormatError(path, f"codes of rows {start} to {stop - 1}", "a byte above 242 is not five trits")
        if layout.name == "u2" and code.n_levels == 3:
            outside = bool((block & (block >> np.uint32(1)) & np.uint32(0x55555555)).any())
        elif code.n_levels < layout.n_codes:
            codes = ops.unpack(block, layout, (len(block) * tile, m))
            outside = bool(codes.size) and int(codes.max()) >= code.n_levels
        else:
            outside = False
        if outside:
            raise io.FormatError(path, f"codes of rows {start} to {stop - 1}", f"the code has {code.n_levels} levels")
        if m % per_word and len(block):
            last = np.ascontiguousarray(block[:, -1:])
            if ops.unpack(last, layout, (len(block) * tile, per_word))[:, m % per_word :].any():
                raise io.FormatError(path, f"codes of rows {start} to {stop - 1}", "not 0 beyond the last column")
    if n % tile and m and words[-1, :, n % tile :].any():
        raise io.FormatError(path, "codes", "not 0 beyond the last row")
