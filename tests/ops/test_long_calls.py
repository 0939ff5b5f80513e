"""Long calls into the core let other threads run and stop at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from nanogram import ops
from nanogram.ops._isa import _core

pytestmark = pytest.mark.skipif(_core is None, reason="the compiled core is not built")

# At the plain level each of these takes many seconds.
PROGRAM = """
    import sys, time
    import numpy as np
    from nanogram import ops
    words = np.zeros((500, 500, 16), dtype=np.uint32)
    shape = (8000, 8000)
    tall = np.ones((8000, 400))
    calls = {{
        "matmul": lambda: ops.matmul(words, "u2", shape, tall),
        "rmatmul": lambda: ops.rmatmul(words, "u2", shape, tall),
        "multiplier": lambda: ops.multiplier(words, "u2", shape)(tall, False, "fast", 0),
        "gram": lambda: [ops.gram(words, "u2", shape) for _ in range(100)],
        "kernel": lambda: [ops.kernel(words, "u2", shape) for _ in range(100)],
    }}
    print("started", flush=True)
    try:
        calls["{name}"]()
    except KeyboardInterrupt:
        print("stopped", flush=True)
    else:
        print("finished", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGINT is sent as POSIX systems do")
@pytest.mark.parametrize("name", ["matmul", "rmatmul", "multiplier", "gram", "kernel"])
def test_ctrl_c_stops_it(name):
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM.format(name=name))],
        env=os.environ | {"NANOGRAM_ISA": "generic"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        time.sleep(0.7)
        program.send_signal(signal.SIGINT)
        output, error = program.communicate(timeout=60)
    finally:
        program.kill()
    assert output == "stopped\n", error


def test_other_threads_run_meanwhile():
    words = np.zeros((250, 250, 16), dtype=np.uint32)
    values = np.ones((4000, 100))
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.002):
            ticks.append(time.perf_counter())

    with ops.use_isa("generic"):
        thread = threading.Thread(target=tick)
        thread.start()
        start = time.perf_counter()
        ops.matmul(words, "u2", (4000, 4000), values)
        end = time.perf_counter()
        done.set()
        thread.join()
    inside = [t for t in ticks if start < t < end]
    # Without releasing the lock not one tick could fall inside the call, but for its first and last moments.
    assert len(inside) > 5
    assert max(inside) - min(inside) > 0.3 * (end - start)
