"""Signals cut into windows: EEG segments, spoken digits. What is cut together is never split apart."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from nanogram._rows.keys import fixed_permutation
from nanogram.data.files import load
from nanogram.data.parts import fraction, with_parts
from nanogram.data.tables import Folder

__all__ = ["fetch_eeg", "fetch_fsdd"]

_SETS = "ABCDE"


def fetch_eeg(
    *,
    sets: str = "BE",
    window: int = 100,
    test_size: float = 0.2,
    seed: int = 0,
    data_home: Folder = None,
    download: bool = True,
) -> Bunch:
    """Epileptic EEG of Bonn: windows of single-channel segments (SPECTRUM 4.2: sets B and E, windows of 100).

    A set has 100 segments of 4,097 samples; each gives 40 windows of 100 side by side, the rest of it is dropped.
    Segments, not windows, are split into training and test rows: windows of one segment resemble each other.

    Parameters
    ----------
    sets : str
        Letters of the sets to read, of ``"ABCDE"``; y is the position of the row's set in this string.
    window : int
        Samples of a window: the number of columns.
    test_size : float
        Share of the segments of each set.
    seed : int
        Seed of the permutation of segments.
    data_home, download
        As in `fetch_mnist`; OpenML does not have the raw segments.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, y_train, segment_train, X_test, y_test, segment_test (int16 windows), target_names, source, DESCR.
    """
    if len(set(sets)) != len(sets) or not sets or not set(sets) <= set(_SETS):
        raise ValueError(f"sets={sets!r} must be different letters of {_SETS!r}")
    arrays = load("eeg", data_home, download)
    X, y = arrays["X"], arrays["y"]
    if not 1 <= window <= X.shape[1]:
        raise ValueError(f"window={window} must be 1 to {X.shape[1]} samples")
    per_segment = X.shape[1] // window
    segments, labels, is_test = [], [], []
    for label, letter in enumerate(sets):
        members = np.flatnonzero(y == _SETS.index(letter))
        n_test = round(fraction("test_size", test_size) * len(members))
        segments.append(members)
        labels.append(np.full(len(members), label, dtype=np.uint8))
        is_test.append(np.argsort(fixed_permutation(len(members), seed)) < n_test)
    chosen, tested = np.concatenate(segments), np.repeat(np.concatenate(is_test), per_segment)
    windows = X[chosen, : per_segment * window].reshape(-1, window)
    y_windows = np.repeat(np.concatenate(labels), per_segment)
    parts = {"train": np.flatnonzero(~tested), "test": np.flatnonzero(tested)}
    bunch = with_parts(
        windows,
        y_windows,
        parts,
        arrays["source"],
        f"EEG, sets {', '.join(sets)}: windows of {window} samples, split by segment.",
        target_names=list(sets),
    )
    owner = np.repeat(chosen, per_segment)
    for name, rows in parts.items():
        bunch[f"segment_{name}"] = owner[rows]
        del bunch[f"rows_{name}"]
    return bunch


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
