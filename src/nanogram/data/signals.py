"""Signals cut into windows: EEG segments, spoken digits. What is cut together is never split apart."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from nanogram._rows.keys import fixed_permutation
from nanogram.data.files import load
from nanogram.data.parts import fraction, with_parts
from nanogram.data.tables import Folder

__all__ = ["fetch_eeg", "fetch_fsdd"]

_SETS = "ABCDE"

Array: TypeAlias = npt.NDArray[Any]
Indices: TypeAlias = npt.NDArray[np.int64]


def fetch_eeg(
    *,
    sets: str = "BE",
    rows: str = "windows",
    window: int = 100,
    test_size: float = 0.2,
    seed: int = 0,
    data_home: Folder = None,
    download: bool = True,
) -> Bunch:
    """Epileptic EEG of Bonn, 500 single-channel segments in five sets, as windows or as instants.

    A set has 100 segments of 4,097 samples. As *windows* each gives 40 rows of 100 samples side by side, the rest of
    it is dropped; segments, not windows, are split into training and test rows: windows of one segment resemble each
    other. As *instants* a set gives 4,097 rows, the samples of its 100 segments at one time: these are the "4097
    segments of length p = 100" of SPECTRUM 4.2 with which its Tables 3 and 5 come out (papers/PAPERS.md). Segments
    come from different people and have no common clock, and columns of two sets are different segments, so instants
    are for running the paper again, not for telling one set from another. Neighbouring instants resemble each other
    and are split in stretches.

    Parameters
    ----------
    sets : str
        Letters of the sets to read, of ``"ABCDE"``; y is the position of the row's set in this string.
    rows : {"windows", "instants"}
        What a row is.
    window : int
        Samples of a window, the number of columns; of instants, how many of them in a row stay together in the split
        (the last stretch is what is left).
    test_size : float
        Share of the segments of each set, of instants of the stretches; 0 leaves all rows, in order, for training.
    seed : int
        Seed of the permutation of segments or stretches.
    data_home, download
        As in `fetch_mnist`; OpenML does not have the raw segments.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, y_train, X_test, y_test (int16 rows), target_names, source, DESCR; segment_train, segment_test of
        windows (numbers of segments in the file), instant_train, instant_test of instants (0 to 4,096).
    """
    if len(set(sets)) != len(sets) or not sets or not set(sets) <= set(_SETS):
        raise ValueError(f"sets={sets!r} must be different letters of {_SETS!r}")
    if rows not in ("windows", "instants"):
        raise ValueError(f"rows={rows!r} must be 'windows' or 'instants'")
    arrays = load("eeg", data_home, download)
    X, y = arrays["X"], arrays["y"]
    if not 1 <= window <= X.shape[1]:
        raise ValueError(f"window={window} must be 1 to {X.shape[1]} samples")
    cut = _windows if rows == "windows" else _instants
    share = fraction("test_size", test_size)
    pieces, owners, is_test = [], [], []
    for letter in sets:
        piece, owner, group = cut(X, np.flatnonzero(y == _SETS.index(letter)), window)
        n_groups = int(group[-1]) + 1
        tested = np.argsort(fixed_permutation(n_groups, seed)) < round(share * n_groups)
        pieces.append(piece)
        owners.append(owner)
        is_test.append(tested[group])
    if len({piece.shape[1] for piece in pieces}) > 1:
        raise ValueError(f"eeg: sets {sets} differ in their number of segments; the file is damaged")
    chosen = np.concatenate(is_test)
    parts = {"train": np.flatnonzero(~chosen), "test": np.flatnonzero(chosen)}
    kind = f"windows of {window} samples, split by segment"
    if rows == "instants":
        kind = f"instants of all segments of a set, split in stretches of {window}"
    bunch = with_parts(
        np.concatenate(pieces),
        np.repeat(np.arange(len(sets), dtype=np.uint8), [len(piece) for piece in pieces]),
        parts,
        arrays["source"],
        f"EEG, sets {', '.join(sets)}: {kind}.",
        target_names=list(sets),
    )
    owner = np.concatenate(owners)
    for name, where in parts.items():
        bunch[f"{'segment' if rows == 'windows' else 'instant'}_{name}"] = owner[where]
        del bunch[f"rows_{name}"]
    return bunch


def _windows(X: Array, members: Indices, window: int) -> tuple[Array, Indices, Indices]:
    """Rows, the segment of each and its place among the set's segments, which are split as wholes."""
    per_segment = X.shape[1] // window
    cut = X[members, : per_segment * window].reshape(-1, window)
    return cut, np.repeat(members, per_segment), np.repeat(np.arange(len(members)), per_segment)


def _instants(X: Array, members: Indices, window: int) -> tuple[Array, Indices, Indices]:
    """Rows, the instant of each and its stretch."""
    time = np.arange(X.shape[1])
    return np.ascontiguousarray(X[members].T), time, time // window


def fetch_fsdd(
    *,
    context: int = 5,
    standardize: bool = True,
    heldout_size: float = 0.1,
    seed: int = 0,
    data_home: Folder = None,
    download: bool = True,
) -> Bunch:
    """Free Spoken Digits: log-mel frames with their neighbours, 11 x 40 = 440 columns; stands in for TIMIT.

    A row is a frame with `context` frames on either side (the first and last of an utterance are repeated at its
    ends), its label the digit spoken. Split by utterance: the official test recordings (0 to 4 of each speaker
    and digit), a share of the other utterances heldout.

    Parameters
    ----------
    context : int
        Frames on either side.
    standardize : bool
        Each of the 40 bands to mean 0 and variance 1 over the training frames (float32); False leaves float16.
    heldout_size : float
        Share of the utterances that are not test.
    seed : int
        Seed of the permutation of utterances.
    data_home, download
        As in `fetch_mnist`; OpenML does not have it.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, y_train, utterance_train, the same for heldout and test, feature_names, target_names, source, DESCR.
    """
    if context < 0:
        raise ValueError(f"context={context} must be at least 0 frames")
    arrays = load("fsdd", data_home, download)
    frames, starts = arrays["X"], arrays["utt_start"].astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(frames) or (np.diff(starts) < 1).any():
        raise ValueError("fsdd: the starts of the utterances do not cover the frames; the file is damaged")
    part = np.where(arrays["utt_rec"] < 5, 2, 0)
    rest = np.flatnonzero(part == 0)
    n_heldout = round(fraction("heldout_size", heldout_size) * len(rest))
    part[rest[fixed_permutation(len(rest), seed)[:n_heldout]]] = 1
    owner = np.repeat(np.arange(len(part)), np.diff(starts))
    if standardize:
        train = frames[part[owner] == 0].astype(np.float64)
        frames = ((frames - train.mean(axis=0)) / train.std(axis=0)).astype(np.float32)
    offsets = np.arange(-context, context + 1)
    bunch = Bunch(
        feature_names=[f"band{band}_frame{offset:+d}" for offset in offsets for band in range(frames.shape[1])],
        target_names=[str(digit) for digit in range(10)],
        source=str(arrays["source"]),
        DESCR=f"Free Spoken Digits: {2 * context + 1} log-mel frames a row, split by utterance.\n\n"
        f"Source: {arrays['source']}",
    )
    for number, name in enumerate(("train", "heldout", "test")):
        rows = np.flatnonzero(part[owner] == number)
        if not len(rows):
            continue
        first, last = starts[owner[rows], None], starts[owner[rows] + 1, None] - 1
        neighbours = np.clip(rows[:, None] + offsets, first, last)
        bunch[f"X_{name}"] = frames[neighbours].reshape(len(rows), -1)
        bunch[f"y_{name}"] = arrays["y"][rows]
        bunch[f"utterance_{name}"] = owner[rows]
    return bunch
