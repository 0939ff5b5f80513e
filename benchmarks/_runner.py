"""What all benchmarks share: a quiet process, interleaved timing, a record of the machine, two result files.

A benchmark file begins with

    import _runner
    _runner.quiet_blas()          # before anything imports NumPy

because OpenBLAS threads keep spinning for a while after each call and slow down whatever runs next;
OPENBLAS_THREAD_TIMEOUT=4 puts them to sleep at once, and OpenBLAS reads it when it is loaded.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
TIMEOUT = "OPENBLAS_THREAD_TIMEOUT"


def quiet_blas() -> None:
    """Start the process again with spinning BLAS threads off, unless they are."""
    if os.environ.get(TIMEOUT) == "4":
        return
    if "numpy" in sys.modules:
        raise RuntimeError(f"call quiet_blas() before NumPy is imported, or set {TIMEOUT}=4")
    os.execve(sys.executable, sys.orig_argv, os.environ | {TIMEOUT: "4"})


# ---------------------------------------------------------------- timing


@dataclass(frozen=True)
class Timing:
    """Seconds of one alternative over the rounds."""

    median: float
    best: float
    worst: float
    rounds: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Summary of the single measurements."""
        return cls(statistics.median(seconds), min(seconds), max(seconds), len(seconds))


class CacheFlush:
    """Empties the caches by reading and writing more than they hold."""

    def __init__(self, megabytes: int = 256) -> None:
        import numpy as np

        self._buffer = np.zeros(megabytes * 2**20 // 8)

    def __call__(self) -> None:
        self._buffer += 1.0


def interleave(
    alternatives: Mapping[str, Callable[[], object]], *, rounds: int = 15, cold: bool = True, warm_ups: int = 1
) -> dict[str, Timing]:
    """Time the alternatives in turn, round after round, so that a slow minute of the machine hits all of them.

    With ``cold`` every call starts with its data out of the caches.
    """
    flush = CacheFlush() if cold else None
    seconds: dict[str, list[float]] = {name: [] for name in alternatives}
    for turn in range(warm_ups + rounds):
        for name, call in alternatives.items():
            if flush is not None:
                flush()
            start = time.perf_counter()
            result = call()
            elapsed = time.perf_counter() - start
            del result  # freeing a large result is not part of the next alternative's time
            if turn >= warm_ups:
                seconds[name].append(elapsed)
    return {name: Timing.of(values) for name, values in seconds.items()}


# ---------------------------------------------------------------- the machine


def limits(seconds: float = 0.5) -> dict[str, float]:
    """What the machine can do at most: DRAM read (GB/s), float32 GFLOPS, int8 and popcount GOPS where measured.

    The compiled core measures them; without it NumPy gives estimates of the first two from below.
    """
    import numpy as np

    try:
        from nanogram._core import measure_limits
    except ImportError:
        A = np.ones((8192, 8192), dtype=np.float32)
        v = np.ones(8192, dtype=np.float32)
        B = A[:2048, :2048].copy()
        timings = interleave({"read": lambda: A @ v, "gemm": lambda: B @ B}, rounds=5)
        return {
            "dram_read_gbs": A.nbytes / timings["read"].best / 1e9,
            "fp32_gflops": 2 * 2048**3 / timings["gemm"].best / 1e9,
        }
    return dict(measure_limits(seconds))


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def resident(field: str) -> int:
    """Bytes that this process holds (``"VmRSS"``) or has held at most (``"VmHWM"``), as Linux counts them."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def provenance() -> dict[str, Any]:
    """Where figures come from: machine, versions, commit, command, date."""
    from threadpoolctl import threadpool_info

    from nanogram import ops

    commit = _git("rev-parse", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "core", "bindings", "src", "benchmarks/*.py")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.argv]),
        "commit": commit + (" with changes" if changed else ""),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "isa": ops.isa_name(),
        "isas": list(ops.available_isas()),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "environment": {name: os.environ[name] for name in (TIMEOUT, "OMP_NUM_THREADS") if name in os.environ},
        "threadpools": [
            {key: pool.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
            for pool in threadpool_info()
        ],
    }


# ---------------------------------------------------------------- results


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is aligned to the right."""
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def write(name: str, record: Mapping[str, Any], markdown: str, folder: Path = RESULTS) -> tuple[Path, Path]:
    """Write ``name.json`` (figures and provenance) and ``name.md`` (the tables), and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    origin = provenance()
    full = {"benchmark": name, "provenance": origin, **record}
    json_path, table_path = folder / f"{name}.json", folder / f"{name}.md"
    json_path.write_text(json.dumps(full, indent=1, default=_plain) + "\n", encoding="utf-8")
    heading = (
        f"# {name}\n\n`{origin['command']}` on {origin['date'][:10]}, commit {origin['commit'][:10]}"
        f"{' with changes' if 'changes' in origin['commit'] else ''}: {origin['cpu']}, {origin['cores']} cores, "
        f"{origin['isa']}; NumPy {origin['versions']['numpy']}, Python {origin['python']}.\n\n"
    )
    table_path.write_text(heading + markdown, encoding="utf-8")
    print(f"\nwritten: {json_path}\n         {table_path}")
    return json_path, table_path


def _plain(value: Any) -> Any:
    if isinstance(value, Timing):
        return asdict(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to JSON")
