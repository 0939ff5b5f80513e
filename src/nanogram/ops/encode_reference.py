"""What the fused encoders compute, in NumPy: the specification of ``core/encode``, bit for bit.

**Grid.** A row becomes integers ``x = clip(rint((double(X) - mu) * inv_grid), -limit, limit)``.

**Transform.** ``y = H D_r ... H D_1 x`` in int16. The ``L = log2(P)`` stages of a round are cut into groups of at most
four (`stage_groups`): within a group sums grow by ``sqrt(2)`` a stage and only the last stage saturates; before each
group but the first every value is multiplied by ``2**(-s/2)`` (``s`` stages in the group before; `GROUP_FACTORS`
over 2**15, rounded as in ``(x * f + 2**14) >> 15``), which is also where a new round's signs enter. The last round
runs from the highest stride to the lowest, rounds before it in alternating directions, so that two rounds meet in the
same group. `hadamard_gain` is the exact factor between the integers and the unnormalised transform.

**Guard.** A row too large for these 16 bits is first divided by a power of two (`guard_shifts`): it stays on the ray
it was on, as a saturated row should, and no sum of the first group overflows. `hadamard_capacity` says how finely a row
may be gridded without that; with a grid chosen so at fit, guarded rows are outliers, and they are counted.

**Epilogues.** Thresholds on ``y``; cosines of a 16-bit phase, rounded; thresholds on that cosine.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = [
    "COSINE_COEFFICIENTS",
    "GROUP_FACTORS",
    "cos_u16",
    "cosine_codes",
    "guard_shifts",
    "hadamard_capacity",
    "hadamard_gain",
    "hadamard_int",
    "phases",
    "quantise_rows",
    "rounding_words",
    "stage_groups",
    "stage_schedule",
    "step_codes",
]

Array = npt.NDArray[Any]
Int16 = npt.NDArray[np.int16]

#: ``round(2**15 * 2**(-s/2))`` for s = 0 .. 4 stages.
GROUP_FACTORS: Final = (32768, 23170, 16384, 11585, 8192)
#: Standard deviation that the largest row may have at the end of a group: 4.5 of them fit.
LARGEST_DEVIATION: Final = 7281
#: ``sin(pi z / 2) - z`` as odd polynomial in z, times 2**15.
COSINE_COEFFICIENTS: Final = (18699, -21153, 2598, -145)


# ---------------------------------------------------------------------- grid


def quantise_rows(X: Array, mu: npt.NDArray[np.float64], inv_grid: float, limit: int) -> tuple[Int16, int]:
    """Rows on the grid, and how many entries were clipped (NaN counts as clipped, to ``limit``)."""
    scaled = (X.astype(np.float64) - mu) * np.float64(inv_grid)
    high, low = ~(scaled <= limit), scaled < -limit
    scaled = np.where(high, np.float64(limit), np.where(low, -np.float64(limit), scaled))
    return np.rint(scaled).astype(np.int16), int(high.sum() + low.sum())


# ---------------------------------------------------------------------- transform


def stage_groups(size: int) -> tuple[int, ...]:
    """Stages of each group of a round of ``size`` values, from the lowest stride up.

    Examples
    --------
    >>> stage_groups(1024)
    (4, 3, 3)
    """
    stages = size.bit_length() - 1
    n_groups = -(-stages // 4)
    return tuple(stages // n_groups + (g < stages % n_groups) for g in range(n_groups))


def stage_schedule(size: int, rounds: int) -> list[list[tuple[int, int]]]:
    """For each round its groups in order, each as (lowest bit, number of stages)."""
    groups, bit = [], 0
    for stages in stage_groups(size):
        groups.append((bit, stages))
        bit += stages
    return [groups[:: 1 if (rounds - 1 - r) % 2 else -1] for r in range(rounds)]


def hadamard_gain(size: int, rounds: int) -> float:
    """The integers of `hadamard_int` over those of the unnormalised ``H D_r ... H D_1 x``, exact."""
    gain, before = 1.0, 0
    for round_groups in stage_schedule(size, rounds):
        for _, stages in round_groups:
            gain *= GROUP_FACTORS[before] / 32768
            before = stages
    return gain


def _fold(values: Array, bits: int, bit: int, stages: int) -> Array:
    """Sums over a group's axes of an array (n, 2, 2, ...) whose last axis is bit 0."""
    axes = tuple(1 + bits - 1 - b for b in range(bit, bit + stages))
    return np.asarray(values.sum(axis=axes, keepdims=True))


def _guard_sums(x: Array, size: int, rounds: int) -> tuple[Array, list[tuple[Array, float]]]:
    """Of each row the largest sum of magnitudes in the first group, and sums of squares with their limits."""
    bits = size.bit_length() - 1
    padded = np.zeros((len(x), size), dtype=x.dtype)
    padded[:, : x.shape[1]] = x
    cube = np.abs(padded).reshape((len(x),) + (2,) * bits)
    everything = tuple(range(1, bits + 1))
    schedule = stage_schedule(size, rounds)[0]
    first = _fold(cube, bits, *schedule[0]) if schedule else cube
    sums = first.max(axis=everything) if bits else first
    squares, checks, done = cube * cube, [], 0
    for g, (bit, stages) in enumerate(schedule):
        squares = _fold(squares, bits, bit, stages)
        if g:
            checks.append((squares.max(axis=everything), float(LARGEST_DEVIATION**2 << done)))
        done += stages
    if rounds > 1 and schedule:
        most = max(stages for _, stages in schedule)
        checks.append((squares.max(axis=everything), float(LARGEST_DEVIATION**2 * size >> most)))
    return sums, checks


def guard_shifts(x: Int16, size: int, rounds: int) -> npt.NDArray[np.int64]:
    """By how many bits each row's magnitudes are to be shifted down (0 for all rows the grid was made for)."""
    sums, checks = _guard_sums(x.astype(np.int64), size, rounds)
    shifts = np.zeros(len(x), dtype=np.int64)
    while (over := (sums >> shifts) > 32767).any():
        shifts += over
    # The squares are those of the row as the first condition left it.
    if shifts.any():
        magnitudes = np.abs(x.astype(np.int64)) >> shifts[:, None]
        _, checks = _guard_sums(magnitudes, size, rounds)
    more = np.zeros_like(shifts)
    for squares, limit in checks:
        while (over := (squares >> (2 * more)) > int(limit)).any():
            more += over
    return shifts + more


def hadamard_capacity(X: npt.ArrayLike, rounds: int = 3) -> npt.NDArray[np.float64]:
    """The largest ``inv_grid`` with which each (centred) row passes the guard and fits 16 bits; infinity for zero rows.

    Examples
    --------
    >>> hadamard_capacity([[1.0, -1.0], [0.0, 4.0]], rounds=1)
    array([16379.5 ,  8189.75])
    """
    X = np.asarray(X, dtype=np.float64)
    size = 1 << max(0, X.shape[1] - 1).bit_length()
    sums, checks = _guard_sums(X, size, rounds)
    with np.errstate(divide="ignore"):
        # Rounding to the grid adds half a step an entry at most, and sixteen entries to a sum.
        capacity = np.minimum(32767 - 8.0 * (size > 1), 32767) / sums
        for squares, limit in checks:
            capacity = np.minimum(capacity, 0.999 * np.sqrt(limit / squares))
    return np.asarray(capacity)


def _mulhrs(x: Int16, factor: Array | int) -> Int16:
    """``(x * factor + 2**14) >> 15``, the multiplication that int16 vectors have."""
    product = x.astype(np.int32) * np.asarray(factor, dtype=np.int32)
    return np.asarray((product + 16384) >> 15).astype(np.int16)


def _saturated(x: npt.NDArray[np.int32]) -> Int16:
    return np.clip(x, -32768, 32767).astype(np.int16)


def _stage(y: Int16, bit: int, saturate: bool) -> Int16:
    pairs = y.reshape(len(y), -1, 2, 1 << bit)
    a, b = pairs[:, :, 0].astype(np.int32), pairs[:, :, 1].astype(np.int32)
    out = np.stack([a + b, a - b], axis=2)
    return (_saturated(out) if saturate else out.astype(np.int16)).reshape(y.shape)


def hadamard_int(x: Int16, signs: npt.NDArray[np.bool_], size: int, n_columns: int) -> Int16:
    """The transform of integer rows, first ``n_columns`` columns of all blocks.

    ``signs`` of shape (blocks, rounds, size) is true where a diagonal holds -1.
    """
    n_blocks, rounds = signs.shape[:2]
    start = np.zeros((len(x), size), dtype=np.int16)
    magnitudes = np.abs(x.astype(np.int32)) >> guard_shifts(x, size, rounds)[:, None]
    start[:, : x.shape[1]] = np.where(x < 0, -magnitudes, magnitudes)
    out = np.empty((len(x), n_columns), dtype=np.int16)
    for block in range(n_blocks):
        y = start
        before = 0
        for r, groups in enumerate(stage_schedule(size, rounds)):
            sign = np.where(signs[block, r], -1, 1)
            if r == 0 or not groups:
                y = (y * sign).astype(np.int16)
            for g, (bit, stages) in enumerate(groups):
                if before:
                    factor = GROUP_FACTORS[before]
                    y = _mulhrs(y, factor * sign if g == 0 else factor)
                for b in range(bit, bit + stages):
                    y = _stage(y, b, b == bit + stages - 1)
                before = stages
        stop = min(n_columns, (block + 1) * size)
        out[:, block * size : stop] = y[:, : stop - block * size]
    return out


# ---------------------------------------------------------------------- epilogues


def step_codes(y: Int16, thresholds: Array, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.uint16]:
    """``codes[sum_i (y > thresholds[i])]``, thresholds (L - 1, m) clipped to 16 bits and ascending along axis 0."""
    clipped = np.clip(thresholds, -32768, 32767)
    interval = np.zeros(y.shape, dtype=np.int64)
    for row in clipped:
        interval += y > row
    return codes[interval].astype(np.uint16)


def cos_u16(phase: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """``65535 (1 + cos(2 pi phase / 65536)) / 2`` in integers; see COSINE_COEFFICIENTS for the polynomial.

    Within 4e-5 of the range of the exact value.

    Examples
    --------
    >>> import numpy as np
    >>> cos_u16(np.array([0, 16384, 32768, 49152], dtype=np.uint16))
    array([65535, 32768,     1, 32768], dtype=uint16)
    """
    signed = np.asarray(phase, dtype=np.uint16).view(np.int16)
    # cos(phase) = sin(pi z / 2): z falls from 1 to -1 and rises again; -1 itself would overflow when squared.
    magnitude = np.abs(signed.astype(np.int32))
    z = np.maximum(_saturated(2 * (16384 - magnitude)), np.int16(-32767))
    c0, c1, c2, c3 = COSINE_COEFFICIENTS
    w = _mulhrs(z, z)
    p = _mulhrs(w, c3) + np.int16(c2)
    p = _mulhrs(w, p) + np.int16(c1)
    p = _mulhrs(w, p) + np.int16(c0)
    s = _saturated(z.astype(np.int32) + _mulhrs(z, p))
    return (s.astype(np.int32) + 32768).astype(np.uint16)


def rounding_words(bits: npt.NDArray[np.uint32], n_columns: int) -> npt.NDArray[np.uint16]:
    """The 16-bit rounding word of each column from ``Stream.bits(row_keys, ceil(m / 2))``: low half first."""
    halves = np.stack([bits & np.uint32(0xFFFF), bits >> np.uint32(16)], axis=-1)
    return halves.reshape(len(bits), -1)[:, :n_columns].astype(np.uint16)


def phases(y: Int16, multiplier: int, bias: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Low 16 bits of ``y * multiplier + bias``."""
    product: npt.NDArray[np.int64] = y.astype(np.int64) * multiplier + bias
    return (product & 0xFFFF).astype(np.uint16)


def cosine_codes(
    c: npt.NDArray[np.uint16], bits: int, words: npt.NDArray[np.uint16] | int = 32768
) -> npt.NDArray[np.uint16]:
    """``(c (2**bits - 1) + word) >> 16``: to nearest with word 32768, stochastically with random words."""
    product = c.astype(np.uint32) * np.uint32((1 << bits) - 1) + np.asarray(words, dtype=np.uint32)
    return (product >> np.uint32(16)).astype(np.uint16)
