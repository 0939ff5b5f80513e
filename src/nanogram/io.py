"""Files: safetensors written beside and renamed, and read without trusting a byte.

A safetensors file is an 8-byte little-endian length, a JSON header of that length, and the arrays one after the
other. The header maps each name to dtype, shape and place, and ``__metadata__`` to strings.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["FormatError", "Header", "Tensor", "atomic_writer", "read_header", "read_tensor", "strict_json", "write"]

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]

#: What safetensors itself accepts as the longest header.
LONGEST_HEADER: Final = 100_000_000
#: Arrays start on a cache line of the file, hence of a memory map.
ALIGNMENT: Final = 64
#: A dimension above this is refused, so that sizes and offsets stay far from 2^63.
LARGEST_DIMENSION: Final = 2**48
_DTYPES: Final = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
_NAMES: Final = {np.dtype(code).newbyteorder("="): name for name, code in _DTYPES.items()}


class FormatError(ValueError):
    """A file that is not what it should be; the message names the file and the field."""

    def __init__(self, path: PathLike, field: str, problem: str) -> None:
        # All three are arguments, so that the error survives pickling on its way out of a worker.
        super().__init__(path, field, problem)

    def __str__(self) -> str:
        path, field, problem = self.args
        return f"{os.fspath(path)}: {field}: {problem}"


class Tensor(NamedTuple):
    """Where an array lies in its file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


class Header(NamedTuple):
    """The checked header of a file."""

    metadata: dict[str, str]
    tensors: dict[str, Tensor]


# --------------------------------------------------------------------------- writing


@contextmanager
def atomic_writer(path: PathLike) -> Iterator[BinaryIO]:
    """A new file beside ``path`` that takes its place when the block ends well, and vanishes when it does not."""
    target = Path(path)
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the rename lasts once the folder is on disk
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write(path: PathLike, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Write arrays and metadata as one safetensors file, atomically.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from nanogram import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.safetensors"
    ...     io.write(path, {"a": np.arange(3.0)}, {"format": "example"})
    ...     with path.open("rb") as file:
    ...         io.read_tensor(file, io.read_header(file, path).tensors["a"], path)
    array([0., 1., 2.])
    """
    # Wide types first, as safetensors does: every array is then aligned for its type.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    fields: dict[str, Any] = {"__metadata__": dict(metadata)}
    at = 0
    for name, array in ordered:
        native = array.dtype.newbyteorder("=")
        if native not in _NAMES:
            raise ValueError(f"array {name!r} has dtype {array.dtype}; one of {', '.join(map(str, _NAMES))} is stored")
        fields[name] = {
            "dtype": _NAMES[native],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    header = json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    if len(header) > LONGEST_HEADER:
        raise ValueError(f"the header takes {len(header)} bytes; safetensors holds {LONGEST_HEADER}")
    with atomic_writer(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for _, array in ordered:
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            if little.size:
                file.write(little.reshape(-1).view(np.uint8).data)


# --------------------------------------------------------------------------- reading


def strict_json(text: bytes | str, path: PathLike, field: str) -> Any:
    """JSON without duplicate names, NaN or numbers beyond double; FormatError for anything else."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise ValueError("a name occurs twice")
        return fields

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise ValueError("a number is too large")
        return value

    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=unique, parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, field, f"not valid JSON ({str(error)[:100]})") from None


def read_header(file: BinaryIO, path: PathLike) -> Header:
    """The header of an open file, every field checked against the others and against the file's size."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(path, "file", "not a regular file")
    size = status.st_size
    prefix = file.read(8)
    if len(prefix) < 8:
        raise FormatError(path, "header length", f"the file has {size} bytes; 8 are the least")
    length = int.from_bytes(prefix, "little")
    if not 2 <= length <= min(LONGEST_HEADER, size - 8):
        raise FormatError(path, "header length", f"{length} bytes in a file of {size}")
    text = file.read(length)
    if len(text) != length or not text.startswith(b"{"):
        raise FormatError(path, "header", "not a JSON object")
    fields = strict_json(text, path, "header")
    metadata = fields.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise FormatError(path, "__metadata__", "not an object of strings")
    tensors = {name: _tensor(entry, name, path) for name, entry in fields.items()}
    at = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)):
        if tensor.start != at:
            raise FormatError(path, f"tensor {_short(name)}: data_offsets", f"start at {tensor.start}, expected {at}")
        at = tensor.stop
    if at != size - 8 - length:
        raise FormatError(path, "data", f"{size - 8 - length} bytes; the header describes {at}")
    first = 8 + length
    placed = {name: t._replace(start=first + t.start, stop=first + t.stop) for name, t in tensors.items()}
    return Header(metadata, placed)


def _tensor(entry: Any, name: str, path: PathLike) -> Tensor:
    where = f"tensor {_short(name)}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise FormatError(path, where, "expected an object of dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise FormatError(path, f"{where}: dtype", f"{_short(dtype)} is not known; one of {', '.join(_DTYPES)} is")
    if not isinstance(shape, list) or len(shape) > 32 or not all(_is_size(size) for size in shape):
        raise FormatError(path, f"{where}: shape", f"{_short(shape)} is not a list of sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_size(offset) for offset in offsets):
        raise FormatError(path, f"{where}: data_offsets", f"{_short(offsets)} is not a pair of offsets")
    kind = np.dtype(_DTYPES[dtype])
    if offsets[1] - offsets[0] != math.prod(shape) * kind.itemsize:
        raise FormatError(path, f"{where}: data_offsets", f"{offsets} do not fit {dtype} of shape {_short(shape)}")
    return Tensor(kind, tuple(shape), offsets[0], offsets[1])


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_DIMENSION


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_tensor(file: BinaryIO, tensor: Tensor, path: PathLike, *, mmap: bool = False) -> Array:
    """The array, read into memory or mapped read-only; its header must have been checked by `read_header`."""
    native = tensor.dtype.newbyteorder("=")
    if tensor.start == tensor.stop:
        return np.empty(tensor.shape, dtype=native)
    if mmap:
        mapped = np.memmap(file, dtype=tensor.dtype, mode="r", offset=tensor.start, shape=tensor.shape)
        return mapped if sys.byteorder == "little" else mapped.astype(native)
    array = np.empty(tensor.shape, dtype=tensor.dtype)
    buffer = array.reshape(-1).view(np.uint8).data
    file.seek(tensor.start)
    filled = 0
    while filled < len(buffer):
        count = file.readinto(buffer[filled:])  # type: ignore[attr-defined]  # binary files have it, BinaryIO does not
        if not count:
            raise FormatError(path, "data", f"the file ended {len(buffer) - filled} bytes early")
        filled += count
    return array.astype(native, copy=False)
