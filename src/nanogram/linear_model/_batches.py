"""Mini-batches: every row once an epoch, in an order that is a pure function of seed and epoch.

Rows of packed codes lie 16 to a tile, side by side in each word, so that picking one row reads the whole tile. Batches
of packed codes therefore come from a shuffle in two steps, at a thirtieth of the cost of picking rows:

1. the tiles are permuted at random and taken in groups of up to 256;
2. within a group, pair l of rows of eight tiles becomes tile l of a new matrix, and batches are runs of such new tiles.

Each batch of 250 rows then has rows of some 125 tiles chosen at random, two neighbours of each, and every row comes
once. Compared with picking rows the estimate of the gradient is as unbiased and, where neighbouring rows are alike
(sorted or ordered data), its variance at most twice as large as long as a group has as many tiles as a batch has pairs;
groups are smaller where 256 tiles take more than `GROUP_BYTES`. Moving single rows would take 2.5 times as long
(measured), as long as all products of an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram.code_matrix import CodeMatrix
from nanogram.projections import Stream

from ._design import CodesDesign, Design

__all__ = ["Batch", "Batches", "Shuffle"]

Int64 = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Shuffle = Literal["auto", "rows", "tiles"]

_TILE = ops.ROWS_PER_TILE
_PAIRS = _TILE // 2
#: Tiles of a group at the most, and bytes of one; at least `LEAST_TILES` are taken.
GROUP_TILES = 256
LEAST_TILES = 64
GROUP_BYTES = 32 << 20


class Batch:
    """Rows of a batch, and where they come from: ``ids`` is -1 for rows that are in the way and do not count.

    Good until the next batch is asked for: its codes may lie in a buffer that is used again.

    Attributes
    ----------
    ids : array of int64
    n_rows : int
        Rows that count.
    words : array of uint32 or None
        Packed codes of the rows, where they come as such; ``design`` makes a matrix of them when it is asked for.
    """

    __slots__ = ("_design", "_whole", "ids", "n_rows", "words")

    def __init__(
        self,
        design: Design | None,
        ids: Int64,
        n_rows: int,
        words: Words | None = None,
        whole: CodeMatrix | None = None,
    ) -> None:
        self._design, self.ids, self.n_rows, self.words, self._whole = design, ids, n_rows, words, whole

    @property
    def design(self) -> Design:
        """The rows."""
        if self._design is None:
            assert self.words is not None and self._whole is not None, "a batch holds words or a design"
            Z = self._whole
            self._design = CodesDesign(CodeMatrix(self.words, (len(self.ids), Z.shape[1]), Z.code, Z.precision))
        return self._design


class Batches:
    """Batches of some rows of a design.

    Parameters
    ----------
    design : Design
    rows : array of int64
        The rows that take part, ascending.
    size : int
        Rows of a batch; the last one of an epoch has fewer.
    shuffle : {"auto", "rows", "tiles"}
        ``"rows"`` permutes rows and picks them; ``"tiles"`` is the shuffle described above, for packed codes;
        ``"auto"`` takes tiles where there are `LEAST_TILES` of them.
    """

    def __init__(self, design: Design, rows: Int64, size: int, shuffle: Shuffle = "auto") -> None:
        packed = isinstance(design, CodesDesign) and design.Z.code.layout is not None
        if shuffle not in ("auto", "rows", "tiles"):
            raise ValueError(f"shuffle={shuffle!r} is not known; 'auto', 'rows' and 'tiles' are accepted")
        if shuffle == "tiles" and not packed:
            raise ValueError("shuffle='tiles' is for packed codes; these features have no tiles: use 'rows' or 'auto'")
        self.design, self.rows, self.size = design, rows, size
        self.by_tiles = packed and (shuffle == "tiles" or (shuffle == "auto" and len(rows) >= _TILE * LEAST_TILES))

    def epoch(self, seed: int, epoch: int, design: Design | None = None) -> Iterator[Batch]:
        """The batches of an epoch; ``design`` stands in for the rows with other rounding noise."""
        stream = Stream(seed, "sgd.shuffle", epoch)
        if self.by_tiles:
            yield from self._tiles(stream)
            return
        order = self.rows[stream.permutation(len(self.rows))]
        for start in range(0, len(order), self.size):
            ids = order[start : start + self.size]
            yield Batch((design or self.design).rows(ids), ids, len(ids))

    def _tiles(self, stream: Stream) -> Iterator[Batch]:
        Z = self.design.Z  # type: ignore[attr-defined]  # by_tiles says that it is a CodesDesign
        taking = np.full(Z.storage.shape[0] * _TILE, -1, dtype=np.int64)
        taking[self.rows] = self.rows
        by_tile = taking.reshape(-1, _TILE)
        tiles = np.flatnonzero((by_tile >= 0).any(axis=1))
        tiles = tiles[stream.permutation(len(tiles))]
        group = min(GROUP_TILES, max(LEAST_TILES, GROUP_BYTES // max(Z.storage[:1].nbytes, 1) // _TILE * _TILE))
        buffer = np.empty((min(group, -(-len(tiles) // _PAIRS) * _PAIRS), *Z.storage.shape[1:]), dtype=np.uint32)
        # What the last group left over, fewer rows than a batch has.
        left_words, left_ids = Z.storage[:0], np.empty(0, dtype=np.int64)
        for start in range(0, len(tiles), group):
            words, ids = _transposed(Z.storage, by_tile, tiles[start : start + group], buffer)
            at, used = np.flatnonzero(ids >= 0), 0
            left = int(np.count_nonzero(left_ids >= 0))
            if left:
                used = min(self.size - left, len(at))
                end = int(at[used - 1]) // _TILE + 1 if used else 0
                left_words = np.concatenate([left_words, words[:end]])
                left_ids = np.concatenate([left_ids, np.full(end * _TILE, -1)])
                left_ids[at[:used] - end * _TILE] = ids[at[:used]]
                if left + used == self.size or start + group >= len(tiles):
                    yield _cut(Z, left_words, left_ids, np.flatnonzero(left_ids >= 0))
                    left_ids = left_ids[:0]
            while len(at) - used >= self.size or (start + group >= len(tiles) and used < len(at)):
                yield _cut(Z, words, ids, at[used : used + self.size])
                used = min(used + self.size, len(at))
            if used < len(at):
                first = int(at[used]) // _TILE
                left_words, left_ids = words[first:].copy(), ids[first * _TILE :].copy()
                left_ids[: at[used] - first * _TILE] = -1  # these have been in a batch


def _cut(Z: CodeMatrix, words: Words, ids: Int64, at: Int64) -> Batch:
    """The tiles that hold the rows ``at``; their other rows are marked."""
    first, last = int(at[0]) // _TILE, int(at[-1]) // _TILE + 1
    kept = np.full((last - first) * _TILE, -1, dtype=np.int64)
    kept[at - first * _TILE] = ids[at]
    return Batch(None, kept, len(at), words[first:last], Z)


def _transposed(storage: Words, by_tile: Int64, tiles: Int64, buffer: Words) -> tuple[Words, Int64]:
    """New tiles, each of one pair of rows of eight of these tiles, and the rows they hold."""
    blocks, n_words = -(-len(tiles) // _PAIRS), storage.shape[1]
    ids = np.full((blocks * _PAIRS, _TILE), -1, dtype=np.int64)
    ids[: len(tiles)] = by_tile[tiles]
    new = buffer[: blocks * _PAIRS]
    source, target = storage.view(np.uint64), new.view(np.uint64).reshape(_PAIRS, blocks, n_words, _PAIRS)
    scratch = np.empty((_PAIRS, n_words, _PAIRS), dtype=np.uint64)
    for block in range(blocks):  # eight tiles at a time stay in the cache
        picked = tiles[block * _PAIRS : (block + 1) * _PAIRS]
        # With mode "clip" nothing is buffered; no index is out of range.
        part = np.take(source, picked, axis=0, out=scratch[: len(picked)], mode="clip")
        target[:, block, :, : len(part)] = part.transpose(2, 1, 0)
        target[:, block, :, len(part) :] = 0
    ordered = ids.reshape(blocks, _PAIRS, _PAIRS, 2).transpose(2, 0, 1, 3)
    return new, np.ascontiguousarray(ordered).ravel()
