"""Results as JSON lines: one record a run, appended as runs end, so that nothing is lost when a run is stopped."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .item import Item, Record

__all__ = ["append_record", "key_of", "read_records"]

#: Digits kept of a number.
_DIGITS = 7


def key_of(parameters: Mapping[str, Any], seed: int) -> str:
    """One string for each run, whatever the order of the parameters."""
    return json.dumps([plain(dict(parameters)), seed], sort_keys=True)


def read_records(path: Path, item: Item) -> list[Record]:
    """Records of an item in the order of its largest size, without repetitions and other revisions.

    A last line cut short by a crash is left out. Anything else that is no record is an error: results are evidence.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    found: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            record = Record(**{name: entry[name] for name in Record.__dataclass_fields__})
            name, revision = entry["item"], entry["revision"]
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                break
            raise ValueError(f"{path}:{number} is no record: {line[:80]!r}") from error
        if name != item.name:
            raise ValueError(f"{path}:{number} is a record of {name!r}, not of {item.name!r}")
        if revision == item.revision:
            found.setdefault(key_of(record.parameters, record.seed), record)
    return list(found.values())


def append_record(path: Path, item: Item, record: Record) -> None:
    """Add a line; it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"item": item.name, "revision": item.revision, **plain(record.__dict__)}
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END) > 0:
            _drop_torn_line(file)
        file.write(json.dumps(entry).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _drop_torn_line(file: Any) -> None:
    """What a crash left behind the last end of line is cut off."""
    file.seek(0)
    content = file.read()
    if not content.endswith(b"\n"):
        file.truncate(content.rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts that JSON has, with a few digits each."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} cannot be a result")
        return float(f"{value:.{_DIGITS}g}")
    return value
