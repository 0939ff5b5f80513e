"""Parts of encode.py: rows, peers, peak memory in a fresh process, latency of a single row."""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _runner
import numpy as np
import numpy.typing as npt
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

from nanogram import FourierFeatures, TernaryFeatures
from nanogram.ops.encode import CosineEpilogue, StepEpilogue, quantise_rows
from nanogram.ops.encode_dense import IntegerWeights, encode_dense

Floats = npt.NDArray[np.float32]
Call = Callable[[], object]

#: Maps whose memory is measured: each path once, and the widest codes.
MEMORY_CASES = (
    "ternary, Hadamard, 3 rounds",
    "ternary, sparse W, eps .9",
    "ternary, trits W, eps .5",
    "ternary, Gaussian W",
    "ternary, circulant W",
    "Fourier, Hadamard, 1 bits",
    "Fourier, Hadamard, 8 bits",
    "Fourier, Gaussian W, 4 bits",
    "Fourier, circulant W, 4 bits",
)


def rows(n: int, p: int) -> Floats:
    """Normal rows; their values do not change the time."""
    return np.random.default_rng(p).standard_normal((n, p), dtype=np.float32)


def seconds(timing: Any) -> float:
    """The median of a timing, as measured or as read from a file."""
    return float(timing["median"] if isinstance(timing, dict) else timing.median)


def peers(X: Floats, m: int) -> dict[str, Call]:
    """What the others take for all rows."""
    p = X.shape[1]
    W = np.random.default_rng(0).standard_normal((m, p), dtype=np.float32)
    sampler = RBFSampler(gamma=0.5 / p, n_components=m, random_state=0).fit(X[:16])
    double = X[: len(X) // 4].astype(np.float64)
    of_double = RBFSampler(gamma=0.5 / p, n_components=m, random_state=0).fit(double[:16])
    calls: dict[str, Call] = {
        "X @ W.T": lambda: X @ W.T,
        "RBFSampler": lambda: sampler.transform(X),
        "RBFSampler, float64, a quarter of the rows": lambda: of_double.transform(double),
    }
    try:
        import torch
    except ImportError:
        return calls
    Xt, Wt, b = torch.from_numpy(X), torch.from_numpy(W), torch.zeros(m)
    calls["PyTorch, X @ W.T"] = lambda: Xt @ Wt.T
    calls["PyTorch, cos(X @ W.T + b)"] = lambda: torch.addmm(b, Xt, Wt.T).cos_()
    return calls


def slow_peers(X: Floats, m: int) -> dict[str, Call]:
    """Peers of many seconds; Nystroem's factors are made up, for its time does not depend on them."""
    n, p = X.shape
    sketch = PolynomialCountSketch(degree=2, n_components=m, random_state=0).fit(X[:16])
    landmarks = Nystroem(gamma=0.5 / p, n_components=16, random_state=0).fit(X[:16])
    rng = np.random.default_rng(1)
    landmarks.components_ = rng.standard_normal((m, p), dtype=np.float32)
    landmarks.normalization_ = rng.standard_normal((m, m), dtype=np.float32)
    del n
    return {
        "PolynomialCountSketch": lambda: sketch.transform(X),
        "Nystroem": lambda: landmarks.transform(X),
    }


def eight_bit_rows(X: Floats, m: int, cosine: bool) -> Call:
    """The integer product of rows on 8 bits, a choice that the maps leave to `nanogram.ops`."""
    n, p = X.shape
    rng = np.random.default_rng(2)
    drawn = np.clip(np.rint(rng.standard_normal((m, p), dtype=np.float32) * 32), -127, 127)
    weights = IntegerWeights(drawn.astype(np.int8), bits=8)
    mean = np.zeros(p)
    epilogue: Any
    if cosine:
        epilogue = CosineEpilogue(rng.integers(2**32, size=m), 1, "nearest", None, 12345)
    else:
        limits = np.array([[-0.6], [0.6]]) * 32 * 32 * np.sqrt(p)
        epilogue = StepEpilogue(np.repeat(limits, m, axis=1).astype(np.int32), np.array([0, 1, 2]), "u2")

    def call() -> object:
        return encode_dense(quantise_rows(X, mean, 32.0, 127)[0], weights, epilogue)

    del n
    return call


# ---------------------------------------------------------------- memory


def peak_of_transform(made: Any, n: int, p: int) -> dict[str, int]:
    """Bytes of the codes, and what the process held at most beyond them and what it held before."""
    X = rows(n, p)
    made.fit(X[:2048])
    made.transform(X[:16])
    # Room that fit left behind goes back: it would hide what transform takes.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak starts anew
    before = _runner.resident("VmRSS")
    codes = made.transform(X)
    return {"codes": codes.nbytes, "beyond": _runner.resident("VmHWM") - before - codes.nbytes}


def in_fresh_process(script: Path, name: str, p: int, quick: bool) -> dict[str, int]:
    """`peak_of_transform` where nothing else was run before."""
    command = [sys.executable, str(script), "--memory-of", name, str(p), *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"  p = {p:5d} {name:44s} {result['beyond'] / 2**20:6.1f} MiB beyond {result['codes'] / 2**20:.1f} MiB of codes"
    )
    return result


# ---------------------------------------------------------------- one row


def latencies() -> dict[str, float]:
    """Seconds of `transform` of a single row: small maps and the largest."""
    measured: dict[str, float] = {}
    for p, m in ((4, 64), (54, 1024), (784, 1024), (784, 10000)):
        X = rows(256, p)
        maps = {
            "Hadamard, ternary": TernaryFeatures(m, projection="hadamard", random_state=0),
            "Gaussian, ternary": TernaryFeatures(m, projection="gaussian", random_state=0),
            "Hadamard, Fourier 4 bits": FourierFeatures(m, bits=4, projection="hadamard", random_state=0),
        }
        maps["RBFSampler"] = RBFSampler(gamma=0.5 / p, n_components=m, random_state=0)
        for name, one in maps.items():
            one.fit(X)
            taken = []
            for _ in range(60):
                start = time.perf_counter()
                one.transform(X[:1])
                taken.append(time.perf_counter() - start)
            measured[f"{name}, {p} to {m}"] = statistics.median(taken[10:])
            print(f"  one row: {name}, {p} to {m}: {1e6 * measured[f'{name}, {p} to {m}']:.0f} us")
    return measured
