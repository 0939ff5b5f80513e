"""Runs what is missing of an item, one record a run, with progress and time left."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nanogram import datasets

from .item import Item, Record
from .records import append_record, key_of, read_records

__all__ = ["FOLDER", "MissingDataError", "draw", "machine", "records_of", "results_path", "run_item"]

FOLDER = Path(__file__).resolve().parent


class MissingDataError(RuntimeError):
    """A data set that an item needs is not here."""


def machine() -> str:
    """Processor, cores and NumPy, in a line."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores, NumPy {np.__version__}"


def results_path(item: Item, size: str, folder: Path = FOLDER) -> Path:
    """Where an item's records are."""
    return folder / "results" / size / f"{item.name}.jsonl"


def run_item(
    item: Item,
    size: str = "full",
    *,
    folder: Path = FOLDER,
    say: Callable[[str], None] | None = None,
) -> list[Record]:
    """Run what an item's size asks for and its file does not have yet; all records of the size.

    Stopping at any moment loses the run in progress and no other.
    """
    if size not in item.sizes:
        raise ValueError(f"size={size!r} is none of {item.name}; it has {', '.join(item.sizes)}")
    here = datasets.available()
    missing = [name for name in item.needs if name not in here]
    if missing:
        raise MissingDataError(
            f"{item.name} needs {', '.join(missing)}: set NANOGRAM_DATA to their folder (docs/data.md)"
        )
    path = results_path(item, size, folder)
    done = {key_of(r.parameters, r.seed) for r in read_records(path, item)}
    wanted = item.sizes[size].runs()
    todo = [(parameters, seed) for parameters, seed in wanted if key_of(parameters, seed) not in done]
    speak = say if say is not None else _to_stderr
    if len(todo) < len(wanted):
        speak(f"{item.name}: {len(wanted) - len(todo)} of {len(wanted)} runs are there already")
    where, begun = machine(), time.perf_counter()
    for count, (parameters, seed) in enumerate(todo, 1):
        start = time.perf_counter()
        outcome = item.measure(parameters, seed)
        seconds = time.perf_counter() - start
        record = Record(parameters, seed, outcome.error, outcome.values, outcome.bytes, seconds, where)
        append_record(path, item, record)
        left = (time.perf_counter() - begun) / count * (len(todo) - count)
        speak(f"{item.name}: {count} of {len(todo)} runs, {seconds:.1f} s, about {left:.0f} s left")
    return records_of(item, size, folder=folder)


def records_of(item: Item, size: str, *, folder: Path = FOLDER) -> list[Record]:
    """Records of a size, in the order of its runs; those missing are not there."""
    found = {key_of(r.parameters, r.seed): r for r in read_records(results_path(item, size, folder), item)}
    keys = [key_of(parameters, seed) for parameters, seed in item.sizes[size].runs()]
    return [found[key] for key in keys if key in found]


def draw(item: Item, records: list[Record], folder: Path = FOLDER) -> Path:
    """Draw an item's plot as a small PNG, its data named in it."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure = item.plot(records)
    if item.stand_in:
        figure.suptitle(f"{item.title}: {item.stand_in}", fontsize=9)
    else:
        figure.suptitle(item.title, fontsize=10)
    path = folder / "plots" / f"{item.name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without dates and versions inside: the same records give the same file.
    metadata: Any = {"Software": None}
    figure.savefig(path, dpi=90, metadata=metadata)
    plt.close(figure)
    return path


def _to_stderr(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
