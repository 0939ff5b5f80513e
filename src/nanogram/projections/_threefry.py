"""The counter-based generator in NumPy: the specification of ``core/random``, bit for bit.

Integers wrap at 32 or 64 bits; floating-point steps are single IEEE double operations in the order written.
``docs/adr/0003-counter-based-generator.md`` says the same for other languages.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = [
    "block_words",
    "content_keys",
    "entry_words",
    "multiply_high",
    "normal_of",
    "normal_table",
    "stream_key",
    "ternary_of",
    "threefry4x32",
    "uniform_of",
]

Words = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]

ROTATIONS: Final = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
PARITY: Final = 0x1BD11BDA
LOW32: Final = np.uint64(0xFFFFFFFF)
# Start of every stream's key, and the last three key words of the row hash.
STREAM_TAG: Final = np.frombuffer(b"nanogram stream ", dtype="<u4").astype(np.uint32)
CONTENT_TAG: Final = np.frombuffer(b"nanogram row", dtype="<u4").astype(np.uint32)


def _rotate_left(x: Words, by: int) -> Words:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def threefry4x32(counter: npt.ArrayLike, key: npt.ArrayLike) -> Words:
    """Threefry 4x32 with 20 rounds.

    Parameters
    ----------
    counter, key : array_like of uint32, shape (..., 4)
        Broadcast against each other.

    Returns
    -------
    ndarray of uint32, shape (..., 4)

    Examples
    --------
    >>> from nanogram.projections.counter import threefry4x32
    >>> [f"{word:08x}" for word in threefry4x32([0, 0, 0, 0], [0, 0, 0, 0])]
    ['9c6ca96a', 'e17eae66', 'fc10ecd4', '5256a7d8']
    """
    counter, key = np.broadcast_arrays(np.asarray(counter, dtype=np.uint32), np.asarray(key, dtype=np.uint32))
    out = np.empty(counter.shape, dtype=np.uint32)
    schedule = [key[..., i] for i in range(4)]
    schedule.append(np.bitwise_xor.reduce(key, axis=-1) ^ np.uint32(PARITY))
    # Wrapping is meant; NumPy warns of it for scalars (a single counter) only.
    with np.errstate(over="ignore"):
        x = [counter[..., i] + schedule[i] for i in range(4)]
        for pair in range(10):
            for odd in (0, 1):
                left, right = ROTATIONS[2 * pair % 8 + odd]
                one, three = (3, 1) if odd else (1, 3)
                x[0] = x[0] + x[one]
                x[one] = _rotate_left(x[one], left) ^ x[0]
                x[2] = x[2] + x[three]
                x[three] = _rotate_left(x[three], right) ^ x[2]
            if pair % 2:
                step = (pair + 1) // 2
                x = [x[i] + schedule[(step + i) % 5] for i in range(4)]
                x[3] = x[3] + np.uint32(step)
    for i in range(4):
        out[..., i] = x[i]
    return out


def stream_key(seed: int, purpose: str, salt: int) -> tuple[int, int, int, int]:
    """Threefry key of a stream: seed, salt and purpose absorbed in blocks of 16 bytes.

    Each block ``b`` turns the state ``h`` into ``threefry(counter=b, key=h) ^ b`` (Matyas, Meyer, Oseas).
    """
    text = purpose.encode()
    data = seed.to_bytes(8, "little") + salt.to_bytes(8, "little") + len(text).to_bytes(4, "little") + text
    blocks = np.frombuffer(data + bytes(-len(data) % 16), dtype="<u4").reshape(-1, 4).astype(np.uint32)
    state = STREAM_TAG
    for block in blocks:
        state = threefry4x32(block, state) ^ block
    a, b, c, d = (int(word) for word in state)
    return a, b, c, d


def block_words(key: tuple[int, int, int, int], draw: int, rows: Keys, blocks: Keys) -> Words:
    """Words of all blocks of all rows, shape (len(rows), len(blocks), 4)."""
    counter = np.empty((len(rows), len(blocks), 4), dtype=np.uint32)
    counter[..., 0] = blocks
    counter[..., 1] = draw
    counter[..., 2] = (rows & LOW32)[:, None]
    counter[..., 3] = (rows >> np.uint64(32))[:, None]
    return threefry4x32(counter, np.array(key, dtype=np.uint32))


def entry_words(key: tuple[int, int, int, int], draw: int, rows: Keys, columns: Keys) -> Words:
    """Word of each (row, column), shape (len(rows), len(columns))."""
    blocks, which = np.unique(columns >> np.uint64(2), return_inverse=True)
    words = block_words(key, draw, rows, blocks).reshape(len(rows), -1)
    return words[:, 4 * which + (columns & np.uint64(3)).astype(np.intp)]


def uniform_of(words: Words) -> npt.NDArray[np.float64]:
    """``(word + 1/2) / 2^32``: exact, never 0 or 1."""
    uniform: npt.NDArray[np.float64] = (words.astype(np.float64) + 0.5) * 2.0**-32
    return uniform


@cache
def normal_table() -> npt.NDArray[np.float64]:
    """The cubics of `normal_of`, (1024, 4), lowest power first; core/random/make_normal_table.py made them."""
    with (resources.files(__package__) / "_normal_table.npy").open("rb") as file:
        table: npt.NDArray[np.float64] = np.load(file, allow_pickle=False).astype(np.float64)
    table.setflags(write=False)
    return table


def normal_of(words: Words) -> npt.NDArray[np.float64]:
    """Inverse normal distribution function at ``(word + 1/2) / 2^32``, to within 2e-9.

    The upper half mirrors the lower. ``x = 2 tail + 1`` is the tail probability in units of 2^-33; the exponent
    and the five leading mantissa bits of the double ``x`` number the segment, the remaining 47 bits are the place
    within it.
    """
    upper = words >> np.uint32(31) == 1
    tail = np.where(upper, ~words, words)
    bits = (tail.astype(np.float64) * 2.0 + 1.0).view(np.int64)
    c = normal_table()[(bits >> 47) - (1023 << 5)]
    r = ((bits & ((1 << 47) - 1)) | (1023 << 52)).view(np.float64) - 1.0
    value: npt.NDArray[np.float64] = ((c[..., 3] * r + c[..., 2]) * r + c[..., 1]) * r + c[..., 0]
    return np.where(upper, -value, value)


def ternary_of(words: Words, threshold: int) -> npt.NDArray[np.int8]:
    """Sign by the top bit; 0 unless the other 31 bits are below ``threshold``."""
    sign = np.int8(1) - np.int8(2) * (words >> np.uint32(31)).astype(np.int8)
    return np.where(words & np.uint32(0x7FFFFFFF) < threshold, sign, np.int8(0))


def multiply_high(words: Keys, factor: int) -> npt.NDArray[np.int64]:
    """``floor(word * factor / 2^64)`` for 64-bit words and a factor up to 2^63."""
    low, high = words & LOW32, words >> np.uint64(32)
    factor_low, factor_high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    middle = high * factor_low + ((low * factor_low) >> np.uint64(32))
    carry = low * factor_high + (middle & LOW32)
    product: Keys = high * factor_high + (middle >> np.uint64(32)) + (carry >> np.uint64(32))
    return product.astype(np.int64)


def content_keys(x: npt.NDArray[Any]) -> Keys:
    """Hash of each row of integers that fit int32.

    The row, padded with zeros to whole blocks of four numbers, gives the sum over blocks ``b`` of
    ``threefry(counter=block b, key=(b, tag))``, word by word; one more call binds the number of columns.
    Every summand has its own key, so that the blocks can be taken in any order or side by side.
    """
    n, m = x.shape
    blocks = -(-m // 4)
    data = np.zeros((n, 4 * blocks), dtype=np.uint32)
    data[:, :m] = x.astype(np.int32).view(np.uint32)
    key = np.empty((blocks, 4), dtype=np.uint32)
    key[:, 0] = np.arange(blocks)
    key[:, 1:] = CONTENT_TAG
    total = threefry4x32(data.reshape(n, blocks, 4), key).sum(axis=1, dtype=np.uint32)
    last = np.array([m & 0xFFFFFFFF, m >> 32, *CONTENT_TAG[1:]], dtype=np.uint32)
    words = threefry4x32(total, last).astype(np.uint64)
    return words[:, 0] | (words[:, 1] << np.uint64(32))
