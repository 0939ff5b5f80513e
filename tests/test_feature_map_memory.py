"""Peak memory of transform at full size: the codes and at most 64 MB, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 64 * 2**20
SCRIPT = """
import ctypes, json, sys
from pathlib import Path
import numpy as np
from nanogram import FourierFeatures, TernaryFeatures

def held(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))

kind, law, dtype = sys.argv[1:]
X = np.random.default_rng(0).standard_normal((20000, 784), dtype=np.float32).astype(dtype)
made = TernaryFeatures if kind == "ternary" else FourierFeatures
extra = {"bits": int(kind)} if kind != "ternary" else {}
made = made(10000, projection=law, random_state=0, **extra).fit(X[:2048])
made.transform(X[:16])
ctypes.CDLL(None).malloc_trim(0)  # room that fit left behind would hide what transform takes
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = held("VmRSS")
codes = made.transform(X)
print(json.dumps([codes.nbytes, held("VmHWM") - before]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="resident memory is read from Linux's /proc")
@pytest.mark.parametrize(
    ("kind", "law", "dtype"),
    [
        ("ternary", "hadamard", "float32"),
        ("ternary", "gaussian", "float64"),
        ("1", "hadamard", "float32"),
        ("8", "hadamard", "float16"),
        ("4", "rademacher", "float32"),
        ("2", "circulant", "float32"),
    ],
)
def test_transform_holds_its_codes_and_64_megabytes(kind: str, law: str, dtype: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, law, dtype], capture_output=True, text=True, check=True, timeout=300
    )
    codes, peak = json.loads(done.stdout)
    bits = 2 if kind == "ternary" else int(kind)
    # Rows end in whole words: 10,000 codes of one bit take 313.
    assert codes == 20000 * 4 * -(-10000 * bits // 32)
    # What was measured is the call: its codes must be in it.
    assert codes <= peak + 2**20
    assert peak <= codes + LIMIT
