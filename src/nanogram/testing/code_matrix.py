"""The contract of `CodeMatrix`, as a test that any matrix can be put to."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram._code_matrix.blocks import centred
from nanogram.code_matrix import CodeMatrix, hstack, vstack
from nanogram.ops.reference import TOLERANCES

__all__ = ["check_code_matrix"]

Array = npt.NDArray[Any]


def check_code_matrix(Z: CodeMatrix, rng: np.random.Generator | int | None = None) -> None:
    """Check products, sums, indexing, stacking, copies and files of a matrix against its decoded values.

    Parameters
    ----------
    Z : CodeMatrix
        Small: its values are decoded, in float64, several times.
    rng : Generator or seed, optional
        Source of right-hand sides and indices; default: seed 0.

    Raises
    ------
    AssertionError
        Where the matrix differs from what its decoded values give.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.code_matrix import CodeMatrix
    >>> from nanogram.codes import UniformCode
    >>> from nanogram.testing.code_matrix import check_code_matrix
    >>> check_code_matrix(CodeMatrix.from_codes(np.eye(5, dtype=np.uint8), UniformCode(1)))
    """
    rng = np.random.default_rng(0 if rng is None else rng)
    D = Z.toarray(dtype=np.float64)
    _check_description(Z, D)
    _check_products(Z, D, rng)
    _check_odd_products(Z, D, rng)
    _check_quadratic(Z, D, rng)
    _check_sums(Z, D)
    _check_parts(Z, D, rng)
    _check_stacking(Z, D)
    _check_copies(Z)


def same_matrix(Y: CodeMatrix, Z: CodeMatrix) -> bool:
    """Whether two matrices hold the same codes under the same code."""
    return (
        Y.shape == Z.shape
        and Y.code == Z.code
        and np.array_equal(Y.storage, Z.storage, equal_nan=Y.code.layout is None)
    )


def _close(actual: Array, expected: Array, size: Any, tolerance: float) -> None:
    """|actual - expected| <= tolerance * size, elementwise; equal where the size is 0."""
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    error = np.abs(actual.astype(np.float64) - expected)
    assert (error <= tolerance * size).all(), (
        f"error {np.max(error / (size + 1e-300))} of the size, allowed {tolerance}"
    )


def _check_description(Z: CodeMatrix, D: Array) -> None:
    assert Z.ndim == 2
    assert Z.shape == D.shape
    assert len(Z) == D.shape[0]
    assert Z.size == D.size
    assert Z.dtype == np.float32
    assert Z.T.shape == D.T.shape
    assert Z.T.T is Z
    assert not Z.storage.flags.writeable
    assert Z.nbytes >= Z.storage.nbytes >= Z.bits * Z.size / 8 * (1 - 1e-12)
    refusal = ""
    try:
        np.asarray(Z)
    except TypeError as error:
        refusal = str(error)
    assert ".toarray()" in refusal, "numpy.asarray must raise and name toarray"


def _check_products(Z: CodeMatrix, D: Array, rng: np.random.Generator) -> None:
    # The error is relative to the integers' part of the values: what of the offset is outside them counts too.
    extent = np.sqrt(D**2 + centred(Z.code)[2] ** 2)
    for A, M, E in ((Z, D, extent), (Z.T, D.T, extent.T)):
        norms = np.linalg.norm(E, axis=1)

        def size_with(V: Array, norms: Array = norms) -> Array:
            sizes: Array = np.multiply.outer(norms, np.linalg.norm(V.astype(np.float64), axis=0))
            return sizes

        for shape in ((M.shape[1],), (M.shape[1], 1), (M.shape[1], 3)):
            V = rng.standard_normal(shape)
            for precision, tolerance in TOLERANCES.items():
                # The bound is Cauchy and Schwarz's, sqrt(3) from root mean square to largest; single rounds too.
                for W, slack in ((V, 1e-12), (V.astype(np.float32), 2e-6)):
                    result = A.matvec(W, precision=precision)  # type: ignore[arg-type]  # keys of TOLERANCES
                    assert result.dtype == W.dtype, f"a right-hand side of {W.dtype} gave {result.dtype}"
                    _close(result, M @ W.astype(np.float64), size_with(W), 2 * tolerance + slack)
            np.testing.assert_array_equal(A @ V, A.matvec(V))
            np.testing.assert_array_equal(V.T @ A.T, (A @ V).T)
        for dtype in (np.bool_, np.int8, np.int64, np.float16):
            V = rng.integers(0, 2, size=(M.shape[1], 2)).astype(dtype)
            result = A @ V
            assert result.dtype == np.result_type(np.float32, dtype)
            _close(result, M @ V.astype(np.float64), size_with(V), 2 * TOLERANCES[Z.precision] + 2e-6)


def _check_odd_products(Z: CodeMatrix, D: Array, rng: np.random.Generator) -> None:
    for A, M in ((Z, D), (Z.T, D.T)):
        if M.shape[1] == 0:
            continue
        V = rng.standard_normal((M.shape[1], 5))
        for column, value in enumerate((np.nan, np.inf, -np.inf)):
            V[rng.integers(M.shape[1]), column] = value
        V[rng.integers(M.shape[1]), 2] = np.inf
        with np.errstate(invalid="ignore"):
            expected = np.stack([(row[:, None] * V).sum(axis=0) for row in M]) if len(M) else M @ V
        result = A @ V
        odd = ~np.isfinite(expected)
        np.testing.assert_array_equal(result[odd], expected[odd])
        assert np.isfinite(result[~odd]).all()


def _check_quadratic(Z: CodeMatrix, D: Array, rng: np.random.Generator) -> None:
    norms, lengths = np.linalg.norm(D, axis=0), np.linalg.norm(D, axis=1)
    for dtype, rounding in ((np.float64, 1e-6), (np.float32, 2e-6)):
        G, K = Z.gram(dtype=dtype), Z.kernel(dtype=dtype)
        assert G.dtype == K.dtype == dtype
        np.testing.assert_array_equal(G, G.T)
        np.testing.assert_array_equal(K, K.T)
        _close(G, D.T @ D, np.multiply.outer(norms, norms), rounding)
        _close(K, D @ D.T, np.multiply.outer(lengths, lengths), rounding)
    part = Z[: len(Z) // 2]
    _close(Z.kernel(part), D @ D[: len(Z) // 2].T, np.multiply.outer(lengths, lengths[: len(Z) // 2]), 1e-6)
    w = rng.standard_normal(len(Z))
    weighted = np.sqrt((np.abs(w)[:, None] * D**2).sum(axis=0))
    W = Z.gram(weights=w)
    np.testing.assert_array_equal(W, W.T)
    _close(W, (D.T * w) @ D, np.multiply.outer(weighted, weighted), 1e-5)


def _check_sums(Z: CodeMatrix, D: Array) -> None:
    _close(Z.sum(axis=0), D.sum(axis=0), np.abs(D).sum(axis=0), 1e-6)
    _close(Z.sum(axis=1), D.sum(axis=1), np.abs(D).sum(axis=1), 1e-6)
    _close(np.asarray(Z.sum()), np.asarray(D.sum()), np.abs(D).sum(), 1e-6)
    _close(Z.squared_row_norms(), (D**2).sum(axis=1), (D**2).sum(axis=1), 1e-6)
    if D.size:
        _close(Z.mean(axis=0), D.mean(axis=0), np.abs(D).mean(axis=0), 1e-6)
        _close(np.asarray(Z.mean()), np.asarray(D.mean()), np.abs(D).mean(), 1e-6)


def _keys(length: int, rng: np.random.Generator) -> list[Any]:
    keys: list[Any] = [slice(None), slice(None, None, -1), slice(1, None, 3), slice(0, 0), [], rng.random(length) < 0.5]
    keys += [slice(0, 16), slice(16, None), slice(3, 21), slice(0, 40), slice(length // 2, length)]
    if length:
        keys += [length - 1, -1, [0, -1, 0], rng.integers(-length, length, size=length + 3), rng.permutation(length)]
    return keys


def _check_parts(Z: CodeMatrix, D: Array, rng: np.random.Generator) -> None:
    def matrix(array: Array, key: Any, axis: int) -> Array:
        return np.take(array, [key], axis=axis) if isinstance(key, int) else array[(slice(None),) * axis + (key,)]

    def equal(part: CodeMatrix, expected: Array) -> None:
        assert isinstance(part, CodeMatrix)
        np.testing.assert_array_equal(part.toarray(), expected)
        # Beyond the matrix every stored code is 0: sums of the same codes packed afresh see anything else.
        assert same_matrix(
            part, type(part)(part.code.pack(part.code.unpack(part.storage, part.shape)), part.shape, part.code)
        )

    for key in _keys(Z.shape[0], rng):
        equal(Z[key], matrix(D, key, 0))
        np.testing.assert_array_equal(Z.toarray(key), matrix(D, key, 0))
    for key in _keys(Z.shape[1], rng):
        equal(Z[:, key], matrix(D, key, 1))
    rows, columns = rng.random(Z.shape[0]) < 0.5, rng.permutation(Z.shape[1])
    equal(Z[rows, columns], D[rows][:, columns])
    equal(Z[..., columns], D[:, columns])
    for axis, length in enumerate(Z.shape):
        for key in (length, -length - 1, [0, length], np.ones(length + 1, dtype=bool), [0.5], "a"):
            try:
                _ = Z[(slice(None),) * axis + (key,)]
            except IndexError:
                continue
            raise AssertionError(f"index {key!r} along axis {axis} of {Z.shape} must raise IndexError")


def _check_stacking(Z: CodeMatrix, D: Array) -> None:
    tall = vstack([Z, Z[:3], Z])
    np.testing.assert_array_equal(tall.toarray(), np.concatenate([D, D[:3], D]))
    wide = hstack([Z, Z[:, :3], Z])
    np.testing.assert_allclose(wide.toarray(), np.concatenate([D, D[:, :3], D], axis=1), rtol=1e-6, atol=0)
    pair: Any = [Z, Z]
    by_numpy: list[Any] = [np.vstack(pair), np.concatenate(pair, axis=1)]
    assert same_matrix(by_numpy[0], vstack(pair))
    assert same_matrix(by_numpy[1], hstack(pair))


def _check_copies(Z: CodeMatrix) -> None:
    assert same_matrix(pickle.loads(pickle.dumps(Z, protocol=5)), Z)
    assert same_matrix(Z.copy(), Z)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.safetensors"
        Z.save(path)
        for mmap in (False, True):
            assert same_matrix(CodeMatrix.load(path, mmap=mmap, check_codes=True), Z)
