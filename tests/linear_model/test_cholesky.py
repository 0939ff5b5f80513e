"""The panel-wise Cholesky factorisation against NumPy's, in both orders and precisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgError

from nanogram.linear_model._cholesky import STRIP, cholesky_in_place, cholesky_solve, triangular_solve


def positive_definite(n: int, seed: int = 0) -> np.ndarray:
    Q = np.random.default_rng(seed).standard_normal((n, n + 3))
    return Q @ Q.T / n + np.eye(n)


@given(
    n=st.integers(0, 70),
    panel=st.integers(1, 40),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_factor_equals_numpys_and_leaves_the_upper_triangle(n: int, panel: int, dtype: type, order: str) -> None:
    A = np.array(positive_definite(n), dtype=dtype, order=order)
    upper = np.triu(A, 1)
    L = cholesky_in_place(A, panel)
    assert L is A
    np.testing.assert_array_equal(np.triu(L, 1), upper)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(positive_definite(n)), atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("order", ["C", "F"])
def test_strips_of_rows_are_all_updated(order: str) -> None:
    n = STRIP + 600  # two strips, the second panel's rows in both
    rng = np.random.default_rng(1)
    true = np.tril(rng.standard_normal((n, 40)), 0)
    A = np.array(true @ true.T, order=order)
    A[np.diag_indices(n)] += 3.0
    b = rng.standard_normal(n)
    L = cholesky_in_place(A)
    x = cholesky_solve(L, b)
    residual = true @ (true.T @ x) + 3.0 * x - b
    assert np.abs(residual).max() < 1e-10


@pytest.mark.parametrize("order", ["C", "F"])
def test_triangular_solves(order: str) -> None:
    A = positive_definite(30)
    L = cholesky_in_place(np.array(A, order=order), 7)
    B = np.random.default_rng(2).standard_normal((30, 4))
    np.testing.assert_allclose(np.tril(L) @ triangular_solve(L, B), B, atol=1e-12)
    np.testing.assert_allclose(np.tril(L).T @ triangular_solve(L, B, transposed=True), B, atol=1e-12)
    np.testing.assert_allclose(A @ cholesky_solve(L, B), B, atol=1e-12)


@pytest.mark.parametrize("panel", [1, 2, 3, 8])
def test_indefinite_matrices_are_refused_with_the_minor(panel: int) -> None:
    A = np.diag([2.0, 1.0, 3.0, -1.0, 5.0])
    with pytest.raises(LinAlgError, match="order 4 "):
        cholesky_in_place(A, panel)


@pytest.mark.parametrize(
    "bad", [np.zeros((2, 3)), np.zeros(4), np.eye(3, dtype=np.int64), np.eye(6)[::2, ::2], np.eye(3, dtype=complex)]
)
def test_other_arrays_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="square, contiguous array of float32 or float64"):
        cholesky_in_place(bad)


@pytest.mark.slow
def test_sizes_that_crash_lapack() -> None:
    n = 16_384
    rng = np.random.default_rng(3)
    Q = rng.standard_normal((n, 64))
    A = Q @ Q.T
    A[np.diag_indices(n)] += 10.0
    b = rng.standard_normal(n)
    x = cholesky_solve(cholesky_in_place(A), b)
    assert np.abs(Q @ (Q.T @ x) + 10.0 * x - b).max() < 1e-9
