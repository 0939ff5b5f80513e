"""Stacking packed matrices: side by side, and one under the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram.codes import Code, UniformCode

from .blocks import row_ranges
from .numpy_protocol import HANDLERS

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]
Parts = tuple[Array, tuple[int, int], Code]


def _checked(matrices: Iterable[Any], what: str) -> list[CodeMatrix]:
    from nanogram.code_matrix import CodeMatrix  # which imports this module

    matrices = list(matrices)
    if not matrices:
        raise ValueError(f"{what} needs at least one matrix")
    for Z in matrices:
        if not isinstance(Z, CodeMatrix):
            raise TypeError(
                f"{what} of codes and {type(Z).__name__}: stack CodeMatrix with CodeMatrix "
                f"(encode the other part, or call .toarray() on the codes)"
            )
    return matrices


def hstack(matrices: Iterable[CodeMatrix]) -> CodeMatrix:
    """Matrices side by side, what FeatureUnion and ColumnTransformer do with codes.

    Codes that decode alike keep their code. Linear codes of as many stored bits (uniform codes, two levels, three
    and more at equal distances) are merged into a `UniformCode` with a range by column. Other mixtures raise
    ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.code_matrix import CodeMatrix, hstack
    >>> from nanogram.codes import UniformCode
    >>> A = CodeMatrix.from_codes(np.array([[0, 1]]), UniformCode(1))
    >>> B = CodeMatrix.from_codes(np.array([[1]]), UniformCode(1, low=0, high=5))
    >>> hstack([A, B]).toarray()
    array([[-1.,  1.,  5.]], dtype=float32)
    """
    checked = _checked(matrices, "hstack")
    return type(checked[0])(*_stack_columns(checked), checked[0].precision)


def vstack(matrices: Iterable[CodeMatrix]) -> CodeMatrix:
    """Matrices one under the other; their codes must decode alike.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.code_matrix import CodeMatrix, vstack
    >>> from nanogram.codes import UniformCode
    >>> A = CodeMatrix.from_codes(np.array([[0, 1]]), UniformCode(1))
    >>> vstack([A, A]).shape
    (2, 2)
    """
    checked = _checked(matrices, "vstack")
    return type(checked[0])(*_stack_rows(checked), checked[0].precision)


def _concatenate(arrays: Iterable[Any], axis: int = 0) -> CodeMatrix:
    if axis not in (-2, -1, 0, 1):
        raise ValueError(f"axis={axis!r} is not accepted; choose 0 or 1")
    return vstack(arrays) if axis % 2 == 0 else hstack(arrays)


HANDLERS.update({np.hstack: hstack, np.vstack: vstack, np.concatenate: _concatenate})


def _stack_columns(matrices: Sequence[CodeMatrix]) -> Parts:
    """Storage, shape and code of ``[Z_1 Z_2 ...]``."""
    heights = {Z.shape[0] for Z in matrices}
    if len(heights) != 1:
        raise ValueError(f"matrices side by side need the same number of rows; they have {sorted(heights)}")
    code = _joint_code(matrices)
    shape = (heights.pop(), sum(Z.shape[1] for Z in matrices))
    layout = code.layout
    if layout is None:
        return np.concatenate([Z.storage for Z in matrices], axis=1), shape, code
    per_word = ops.get_layout(layout).per_word
    if all(Z.shape[1] % per_word == 0 for Z in matrices[:-1]):
        return np.concatenate([Z.storage for Z in matrices], axis=1), shape, code
    # Whole words side by side leave gaps of padding columns, which are then closed block by block.
    starts = np.cumsum([0, *(Z.storage.shape[1] * per_word for Z in matrices)])
    kept = np.concatenate([start + np.arange(Z.shape[1]) for start, Z in zip(starts, matrices, strict=False)])
    words = np.empty(ops.words_shape(ops.get_layout(layout), *shape), dtype=np.uint32)
    for start, stop in row_ranges(shape[0], words.shape[1]):
        tiles = slice(start // ops.ROWS_PER_TILE, -(-stop // ops.ROWS_PER_TILE))
        loose = np.concatenate([Z.storage[tiles] for Z in matrices], axis=1)
        words[tiles] = ops.take_columns(loose, layout, (stop - start, int(starts[-1])), kept)
    return words, shape, code


def _stack_rows(matrices: Sequence[CodeMatrix]) -> Parts:
    """Storage, shape and code of the matrices one under the other."""
    first = matrices[0]
    for Z in matrices[1:]:
        if Z.shape[1] != first.shape[1]:
            raise ValueError(
                f"matrices one under the other need the same number of columns; they have {first.shape[1]} and "
                f"{Z.shape[1]}"
            )
        if not first.code.compatible(Z.code):
            raise ValueError(f"{Z.code!r} and {first.code!r} decode differently; rows of one matrix share one code")
    shape = (sum(Z.shape[0] for Z in matrices), first.shape[1])
    layout = first.code.layout
    if layout is None:
        return np.concatenate([Z.storage for Z in matrices]), shape, first.code
    tile = ops.ROWS_PER_TILE
    words = np.zeros(ops.words_shape(ops.get_layout(layout), *shape), dtype=np.uint32)
    at = 0
    for Z in matrices:
        n = Z.shape[0]
        if at % tile == 0:
            words[at // tile : at // tile + len(Z.storage)] = Z.storage
        else:
            # Lane by lane: rows r, r + 16, ... move together, words and all.
            for r in range(min(tile, n)):
                count = -(-(n - r) // tile)
                group, lane = divmod(at + r, tile)
                words[group : group + count, :, lane] = Z.storage[:count, :, r]
        at += n
    return words, shape, first.code


def _joint_code(matrices: Sequence[CodeMatrix]) -> Code:
    """One code for all columns: the common one, or the decoders column by column."""
    first = matrices[0].code
    same = all(first.compatible(Z.code) for Z in matrices[1:])
    if len(matrices) == 1 or (same and first.n_columns is None):
        return first
    for Z in matrices:
        if not _mergeable(first, Z.code):
            other = next(Y.code for Y in matrices if not first.compatible(Y.code))
            raise ValueError(
                f"columns coded by {first!r} and by {other!r} do not fit in one matrix; "
                f"equally spaced levels in the same number of bits are merged column by column, no other codes: "
                f"choose such codes, give all parts the same code, or multiply part by part"
            )
    ends = [_ends(Z) for Z in matrices]
    roundings = {getattr(Z.code, "rounding", "nearest") for Z in matrices}
    return UniformCode(
        bits=int(first.bits),
        rounding=roundings.pop() if len(roundings) == 1 else "nearest",
        low=np.concatenate([low for low, _ in ends]),
        high=np.concatenate([high for _, high in ends]),
    )


def _mergeable(first: Code, code: Code) -> bool:
    # Five trits to a byte have no uniform code that could take them.
    return code.layout is not None and code.layout == first.layout and code.layout != "t5" and code.table is None


def _ends(Z: CodeMatrix) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Values of the lowest and highest code of each column; a uniform code's own range, so that its steps stay.

    Codes of fewer levels than their layout has room for leave the highest codes unused.
    """
    code = Z.code
    assert code.layout is not None, "floats are not merged"
    if isinstance(code, UniformCode):
        low, high = code.low, code.high
    else:
        low = code.offset - code.scale * (code.zero2 / 2)
        high = code.offset + code.scale * (ops.get_layout(code.layout).n_codes - 1 - code.zero2 / 2)
    m = Z.shape[1]
    return np.broadcast_to(np.asarray(low, np.float64), (m,)), np.broadcast_to(np.asarray(high, np.float64), (m,))
