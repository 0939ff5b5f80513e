"""Writes src/nanogram/projections/_normal_table.npy, the inverse normal distribution function as piecewise cubics.

Run ``python core/random/make_normal_table.py``; with ``--check`` it compares the committed table with a fresh one
instead (coefficients may differ in the last digits where SciPy's or the platform's logarithm does).

The odd integer ``x = 2 t + 1`` (``0 <= t < 2^31``) is a tail probability in units of 2^-33. Octave ``k`` holds
``2^k <= x < 2^(k+1)`` and is cut into 32 equal segments. Row ``32 k + i`` of the table is the cubic in
``r = x / 2^k - (1 + i / 32)``, lowest power first, that meets ``ndtri`` at the ends of the segment and at the two
inner extrema of the third Chebyshev polynomial: neighbours join, the last cubic ends at ndtri(1/2) = 0, and the
error is within an eighth of the least possible.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

SEGMENTS = 32
PLACE = Path(__file__).parents[2] / "src" / "nanogram" / "projections" / "_normal_table.npy"


def cubic(places: list[float], values: list[float]) -> list[float]:
    """Coefficients, lowest power first, of the cubic through four points (Newton's divided differences)."""
    differences = list(values)
    for order in (1, 2, 3):
        for q in range(3, order - 1, -1):
            differences[q] = (differences[q] - differences[q - 1]) / (places[q] - places[q - order])
    coefficients = [differences[3], 0.0, 0.0, 0.0]
    for q in (2, 1, 0):
        for power in (3, 2, 1):
            coefficients[power] = coefficients[power - 1] - places[q] * coefficients[power]
        coefficients[0] = differences[q] - places[q] * coefficients[0]
    return coefficients


def table() -> npt.NDArray[np.float64]:
    """The whole table, (1024, 4)."""
    places = [0.0, 0.25 / SEGMENTS, 0.75 / SEGMENTS, 1.0 / SEGMENTS]
    rows = []
    for octave in range(32):
        for segment in range(SEGMENTS):
            tails = [(1.0 + segment / SEGMENTS + r) * 2.0 ** (octave - 33) for r in places]
            rows.append(cubic(places, [float(ndtri(p)) for p in tails]))
    return np.array(rows, dtype="<f8")


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        np.testing.assert_allclose(np.load(PLACE, allow_pickle=False), table(), rtol=1e-9, atol=1e-9)
    else:
        np.save(PLACE, table(), allow_pickle=False)
