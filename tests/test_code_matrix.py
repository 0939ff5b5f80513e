"""CodeMatrix against the matrix it decodes to."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator, lsqr, svds
from threadpoolctl import threadpool_limits

from nanogram import ops
from nanogram.code_matrix import CodeMatrix, hstack, vstack
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.ops.reference import TOLERANCES
from nanogram.testing.code_matrix import check_code_matrix, same_matrix

SHARED_CODES = {
    "1 bit": UniformCode(1),
    "2 bits": UniformCode(2, low=-3, high=1),
    "4 bits": UniformCode(4),
    "8 bits": UniformCode(8, low=0, high=5),
    "16 bits": UniformCode(16),
    "sign": StepCode([-1, 1], [0.0]),
    "ternary": StepCode([-1, 0, 1], [-0.4, 0.4]),
    "base 3": StepCode([-1, 0, 1], [-0.4, 0.4], "base3"),
    "seven": StepCode(np.arange(7.0) - 1, np.arange(6.0) / 3 - 1),
    "table of 3": StepCode([-1, 0.2, 1], [-0.4, 0.4]),
    "symmetric table": StepCode([-2, -0.5, 0.5, 2], [-1, 0, 1]),
    "skew table": StepCode([-2, -0.4, 0.5, 2], [-1, 0, 1]),
    "float32": FloatCode(),
    "float16": FloatCode("float16"),
}
BY_COLUMN = {f"{bits} bits by column": bits for bits in (1, 2, 8, 16)}
NAMES = [*SHARED_CODES, *BY_COLUMN]


def make(name: str, n: int, m: int, seed: int = 0) -> CodeMatrix:
    rng = np.random.default_rng([seed, n, m])
    code = SHARED_CODES.get(name)
    if code is None:
        code = UniformCode(BY_COLUMN[name], low=rng.uniform(-2, -1, m), high=rng.uniform(0.5, 3, m))
    return CodeMatrix.from_values(rng.standard_normal((n, m)), code, random_state=seed)


@pytest.mark.parametrize("isa", ops.available_isas())
@pytest.mark.parametrize("name", NAMES)
def test_contract(name, isa):
    with ops.use_isa(isa):
        check_code_matrix(make(name, 37, 45))


@settings(max_examples=40)
@given(name=st.sampled_from(NAMES), n=st.integers(0, 40), m=st.integers(0, 70), seed=st.integers(0, 2**32 - 1))
def test_contract_at_any_shape(name, n, m, seed):
    check_code_matrix(make(name, n, m, seed), seed)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (16, 160), (17, 161)])
@pytest.mark.parametrize("name", NAMES)
def test_contract_at_the_edges(name, shape):
    check_code_matrix(make(name, *shape))


def test_results_do_not_depend_on_the_implementation():
    Z = make("2 bits by column", 100, 70)
    v = np.random.default_rng(0).standard_normal((70, 3))
    results = []
    for isa in ops.available_isas():
        with ops.use_isa(isa):
            results.append((Z @ v, Z.T @ (Z @ v), Z.gram(), Z[:, 3:50].storage, Z.sum(axis=0)))
    for result in results[1:]:
        for a, b in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(a, b)


def test_results_do_not_depend_on_threads():
    Z = make("ternary", 2000, 300)
    V = np.random.default_rng(0).standard_normal((300, 4))
    with threadpool_limits(1):
        single = Z @ V, Z.T @ (Z @ V)
    for a, b in zip(single, (Z @ V, Z.T @ (Z @ V)), strict=True):
        np.testing.assert_array_equal(a, b)


# --------------------------------------------------------------------------- precision


def spiky(rng, size):
    """A vector that one-digit integers would lose: a few large values over many small ones."""
    v = rng.standard_normal(size) * 1e-3
    v[rng.integers(size, size=3)] = [1.0, -3.0, 2.0]
    return v


RIGHT_HAND_SIDES = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "spiky": spiky,
    "one spike": lambda rng, size: np.eye(1, size, 3)[0] + 1e-4 * rng.standard_normal(size),
    "heavy tails": lambda rng, size: rng.standard_cauchy(size),
    "wide": lambda rng, size: rng.standard_normal(size) * 10.0 ** rng.uniform(-8, 8, size),
    "tiny": lambda rng, size: rng.standard_normal(size) * 1e-300,
    "huge": lambda rng, size: rng.standard_normal(size) * 1e300,
}


@pytest.mark.parametrize("kind", RIGHT_HAND_SIDES)
@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("name", ["1 bit", "ternary", "base 3", "symmetric table", "8 bits by column", "float32"])
def test_relative_error(name, precision, kind):
    """The error against the documented bound; 1.3 covers the spread of a root mean square over 900 results."""
    Z = make(name, 900, 700).with_precision(precision)
    D = Z.toarray(dtype=np.float64)
    rng = np.random.default_rng(5)
    for A, M in ((Z, D), (Z.T, D.T)):
        v = RIGHT_HAND_SIDES[kind](rng, M.shape[1])
        exact = M @ v
        # Of the size that a sum with random signs has: |M|_F |v| / sqrt(columns).
        size = np.linalg.norm(M) * np.linalg.norm(v / np.abs(v).max()) * np.abs(v).max() / np.sqrt(M.shape[1])
        error = np.linalg.norm((A @ v - exact) / size)
        assert error <= 1.3 * TOLERANCES[precision] + 1e-7
        assert np.isfinite(A @ v).all()


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_sparse_values_of_an_uncentred_code(bits):
    """Most codes are 0 and mean 0: the error is relative to the few values, not to codes about mid-range."""
    X = np.maximum(np.random.default_rng(0).standard_normal((500, 400)) - 2, 0)
    for high in (1.0, np.linspace(1, 2, 400)):
        Z = CodeMatrix.from_values(X, UniformCode(bits, "nearest", low=np.zeros_like(high), high=high))
        D = Z.toarray(dtype=np.float64)
        for A, M in ((Z, D), (Z.T, D.T)):
            v = np.random.default_rng(1).standard_normal(M.shape[1])
            error = np.linalg.norm(A @ v - M @ v) / np.linalg.norm(M @ v)
            assert error <= 1.3 * TOLERANCES["fast"]


def test_values_of_one_magnitude_are_exact():
    """Labels and counts of members lose nothing but double rounding."""
    Z = make("ternary", 200, 90)
    D = Z.toarray(dtype=np.float64)
    y = np.where(np.arange(200) % 3, 1.0, -1.0)
    np.testing.assert_allclose(Z.T @ y, D.T @ y, rtol=0, atol=1e-12)
    members = np.arange(200)[:, None] % 4 == np.arange(4)
    np.testing.assert_array_equal(Z.T @ members, (D.T @ members).astype(np.float32))


def test_precision_of_a_call_and_of_the_matrix():
    Z = make("4 bits", 50, 60)
    v = np.random.default_rng(0).standard_normal(60)
    precise = Z.with_precision("float32")
    assert (Z.precision, precise.precision) == ("fast", "float32")
    assert precise.storage is not Z.storage
    assert np.shares_memory(precise.storage, Z.storage)
    np.testing.assert_array_equal(precise @ v, Z.matvec(v, "float32"))
    assert np.any(precise @ v != Z @ v)
    assert precise[:10].precision == "float32"
    with pytest.raises(ValueError, match="precision='double' is unknown; choose one of 'fast', 'float32'"):
        Z.with_precision("double")
    with pytest.raises(ValueError, match="precision='double'"):
        Z.matvec(v, "double")


# --------------------------------------------------------------------------- right-hand sides


def test_right_hand_sides_as_numpy_takes_them():
    Z = make("4 bits", 20, 30)
    V = np.random.default_rng(0).standard_normal((60, 8))
    V.flags.writeable = False
    np.testing.assert_array_equal(Z @ V[::2], Z @ V[::2].copy())
    np.testing.assert_array_equal(Z @ np.asfortranarray(V[:30]), Z @ V[:30])
    np.testing.assert_array_equal(Z @ V[:30, 0].tolist(), Z @ V[:30, 0])
    np.testing.assert_array_equal(np.matmul(Z, V[:30]), Z @ V[:30])
    np.testing.assert_array_equal(V[:20].T @ Z, (Z.T @ V[:20]).T)
    np.testing.assert_array_equal(V[:20, 0] @ Z, Z.T @ V[:20, 0])
    np.testing.assert_array_equal(V[:30].T @ Z.T, (Z @ V[:30]).T)
    np.testing.assert_array_equal(Z.T.rmatvec(V[:30]), Z @ V[:30])
    assert (Z @ V[:30, :0]).shape == (20, 0)


@pytest.mark.parametrize("bad", [np.zeros(29), np.zeros((31, 2)), np.zeros((30, 1, 1)), np.zeros(()), []])
def test_wrong_shapes_are_refused(bad):
    with pytest.raises(ValueError, match=r"right-hand side has shape .*; expected \(30,\) or \(30, k\)"):
        make("4 bits", 20, 30) @ bad


@pytest.mark.parametrize("bad", [np.zeros(30, complex), np.array(["a"] * 30), np.array([None] * 30)])
def test_wrong_dtypes_are_refused(bad):
    with pytest.raises(TypeError, match="right-hand side has dtype"):
        make("4 bits", 20, 30) @ bad


def test_products_with_sparse_matrices_are_refused():
    Z = make("4 bits", 20, 30)
    for A in (sparse.csr_array((30, 2)), sparse.csr_matrix((30, 2))):
        with pytest.raises(TypeError, match="toarray"):
            Z @ A
        with pytest.raises(TypeError, match="toarray"):
            A.T @ Z.T


@pytest.mark.parametrize("name", ["1 bit", "base 3", "skew table", "8 bits by column", "float32", "float16"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_infinity_spread_as_in_numpy(name, dtype):
    """More columns than one, many odd entries, zeros among the decoded values (0 * inf is NaN)."""
    Z = make(name, 50, 40)
    D = Z.toarray()
    rng = np.random.default_rng(0)
    for A, M in ((Z, D), (Z.T, D.T)):
        V = rng.standard_normal((M.shape[1], 6)).astype(dtype)
        V[3, 0] = np.nan
        V[5, 1] = np.inf
        V[[2, 7], 2] = np.inf, -np.inf
        V[:, 3] = np.nan
        V[:, 4] = np.inf
        with np.errstate(invalid="ignore"):
            expected = np.stack([(row[:, None] * V).sum(axis=0) for row in M])
        result = A @ V
        assert result.dtype == dtype
        np.testing.assert_array_equal(result[~np.isfinite(expected)], expected[~np.isfinite(expected)])
        np.testing.assert_allclose(result[:, 5], expected[:, 5], rtol=0, atol=0.02)
        np.testing.assert_array_equal(np.isfinite(result), np.isfinite(expected))


def test_nan_stored_in_floats_spreads():
    D = np.ones((4, 3), dtype=np.float32)
    D[1, 2] = np.nan
    Z = CodeMatrix.from_values(D, FloatCode())
    np.testing.assert_array_equal(np.isnan(Z @ np.ones(3)), [False, True, False, False])
    np.testing.assert_array_equal(np.isnan(Z.T @ np.ones(4)), [False, False, True])


def test_scipy_solvers():
    Z = make("8 bits", 80, 20)
    D = Z.toarray(dtype=np.float64)
    y = np.random.default_rng(0).standard_normal(80)
    solution = np.linalg.lstsq(D, y)[0]
    for operator in (Z.as_linear_operator(precision="float32"), aslinearoperator(Z.with_precision("float32"))):
        np.testing.assert_allclose(lsqr(operator, y)[0], solution, atol=1e-5)
        V = np.eye(20)[:, :3]
        np.testing.assert_allclose(operator @ V, D[:, :3], atol=1e-5)
        np.testing.assert_allclose(operator.H @ np.eye(80)[:, :3], D[:3].T, atol=1e-5)
    values = svds(Z.as_linear_operator(precision="float32"), k=3, v0=np.ones(20))[1]
    np.testing.assert_allclose(np.sort(values)[::-1], np.linalg.svd(D)[1][:3], rtol=1e-5)


# --------------------------------------------------------------------------- Gram and kernel


@pytest.mark.parametrize("name", ["1 bit", "ternary", "base 3", "16 bits", "symmetric table", "skew table"])
def test_gram_and_kernel_are_exact_integers(name):
    """With levels that are small integers every entry is one: nothing may be lost."""
    Z = make(name, 500, 40)
    code = Z.code
    values = code.code_values
    integral = StepCode(np.round(values * 10), np.arange(len(values) - 1.0)) if len(values) <= 4 else None
    if integral is None:
        integral = UniformCode(16, low=0, high=65535)
    Z = CodeMatrix.from_codes(np.asarray(code.unpack(Z.storage, Z.shape)), integral)
    D = Z.toarray(dtype=np.float64).astype(np.int64)
    np.testing.assert_array_equal(Z.gram(), D.T @ D)
    np.testing.assert_array_equal(Z.kernel(), D @ D.T)
    np.testing.assert_array_equal(Z[:30].kernel(Z[10:55]), D[:30] @ D[10:55].T)
    np.testing.assert_array_equal(Z.gram(dtype=np.float32), (D.T @ D).astype(np.float32))
    np.testing.assert_array_equal(Z.sum(axis=0), D.sum(axis=0))
    np.testing.assert_array_equal(Z.sum(axis=1), D.sum(axis=1))


def test_products_of_codes_with_codes():
    Z = make("4 bits", 30, 20)
    np.testing.assert_array_equal(Z.T @ Z, Z.gram())
    np.testing.assert_array_equal(Z @ Z.T, Z.kernel())
    np.testing.assert_array_equal(Z @ Z[:5].T, Z.kernel(Z[:5]))
    for product in (lambda: Z @ Z, lambda: Z.T @ Z[:], lambda: Z.T @ Z.T):
        with pytest.raises(TypeError, match="products of codes with codes are"):
            product()


def test_kernel_refuses_what_does_not_match():
    Z = make("4 bits", 30, 20)
    with pytest.raises(ValueError, match="other has 19 columns; expected 20"):
        Z.kernel(Z[:, :19])
    with pytest.raises(ValueError, match="do not mean the same"):
        Z.kernel(make("8 bits", 30, 20))
    with pytest.raises(TypeError, match="other is ndarray"):
        Z.kernel(np.zeros((30, 20)))


def test_gram_over_several_blocks(monkeypatch):
    """Blocks far smaller than the matrix, so that every loop over blocks runs."""
    monkeypatch.setattr("nanogram._code_matrix.blocks.BLOCK_BYTES", 4096)
    monkeypatch.setattr("nanogram._code_matrix.gram.CHUNK", 16)
    for name in ("1 bit", "skew table", "8 bits by column", "float16"):
        check_code_matrix(make(name, 101, 45))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(29), r"weights has shape \(29,\); expected \(30,\)"),
        (np.ones((30, 1)), "weights has shape"),
        (np.r_[np.ones(29), np.nan], r"weights\[29\] is nan"),
        (np.r_[np.inf, np.ones(29)], r"weights\[0\] is inf"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        make("4 bits", 30, 20).gram(weights=weights)


def test_weights_of_any_scale():
    Z = make("4 bits", 30, 20)
    D = Z.toarray(dtype=np.float64)
    w = np.random.default_rng(0).uniform(0.5, 1, 30)
    for scale in (1e-300, 1.0, 1e300):
        np.testing.assert_allclose(Z.gram(weights=w * scale), (D.T * (w * scale)) @ D, rtol=1e-5, atol=1e-5 * scale)
    assert not Z.gram(weights=np.zeros(30)).any()
    with pytest.raises(TypeError, match="weights has dtype"):
        Z.gram(weights=np.array(["1"] * 30))


def test_only_float_results():
    with pytest.raises(ValueError, match="choose float32 or float64"):
        make("4 bits", 3, 2).gram(dtype=np.int64)


# --------------------------------------------------------------------------- parts


def test_slices_of_whole_tiles_copy_nothing():
    Z = make("ternary", 100, 45)
    for key in (slice(16, 48), slice(32, None), slice(0, 96), slice(None)):
        assert np.shares_memory(Z[key].storage, Z.storage)
    assert not np.shares_memory(Z[0:20].storage, Z.storage)


def test_a_part_carries_its_columns_of_the_code():
    Z = make("8 bits by column", 20, 30)
    part = Z[:, [4, 4, 1]]
    np.testing.assert_array_equal(part.code.scale, Z.code.scale[[4, 4, 1]])
    assert part.nbytes == part.storage.nbytes + 48


def test_index_errors_are_numpys():
    Z = make("4 bits", 5, 4)
    D = Z.toarray()
    for key in (5, -6, [0, 5], [-6], np.ones(4, bool), [[0, 1]], np.array([0.0]), (0, 0, 0), "a", None, (0, 4)):
        with pytest.raises(IndexError) as ours:
            Z[key]
        if key is not None and not isinstance(key, str) and np.ndim(key if not isinstance(key, tuple) else 0) < 2:
            with pytest.raises(IndexError) as numpys:
                D[key]
            # The same first words, where ours say no more than NumPy's.
            words = str(numpys.value).split()[:2]
            assert str(ours.value).split()[:2] == words or "only integers" in str(ours.value)


def test_integers_of_every_kind_index():
    Z = make("4 bits", 20, 30)
    for key in (3, np.int8(3), np.uint64(3), np.array(3)):
        np.testing.assert_array_equal(Z[key].toarray(), Z.toarray()[3:4])
    for dtype in (np.int8, np.uint8, np.uint64):
        index = np.array([1, 3, 2], dtype=dtype)
        np.testing.assert_array_equal(Z[index].toarray(), Z.toarray()[[1, 3, 2]])
    np.testing.assert_array_equal(Z[range(1, 9, 2)].toarray(), Z.toarray()[1:9:2])
    assert [row.shape for row in Z[:2]] == [(1, 30), (1, 30)]


# --------------------------------------------------------------------------- stacking


@pytest.mark.parametrize("name", NAMES)
def test_stacks_of_odd_sizes(name):
    matrices = [make(name, n, 23, seed=n) for n in (5, 0, 16, 33, 1)]
    if name in SHARED_CODES:
        np.testing.assert_array_equal(vstack(matrices).toarray(), np.concatenate([Z.toarray() for Z in matrices]))
    sides = [make(name, 21, m, seed=m) for m in (32, 0, 7, 20, 1)]
    wide = CodeMatrix.hstack(sides)
    np.testing.assert_array_equal(wide.toarray(), np.concatenate([Z.toarray() for Z in sides], axis=1))
    check_code_matrix(wide)


def test_mixed_codes_merge_by_column():
    A = CodeMatrix.from_codes(np.array([[0, 1], [1, 1]]), StepCode([-5, 2], [0.0]))
    B = CodeMatrix.from_codes(np.array([[1], [0]]), UniformCode(1, "nearest", low=7, high=9))
    wide = hstack([A, B])
    np.testing.assert_array_equal(wide.toarray(), [[-5, 2, 9], [2, 2, 7]])
    assert wide.bits == 1
    check_code_matrix(wide)


def test_stacks_refuse_what_does_not_fit():
    A, B = make("base 3", 20, 30), make("2 bits", 20, 30)
    with pytest.raises(ValueError, match=r"(?s)columns coded by StepCode.* and by UniformCode.* do not fit"):
        hstack([A, B])
    with pytest.raises(ValueError, match="decode differently"):
        vstack([A, B])
    with pytest.raises(ValueError, match=r"same number of rows; they have \[19, 20\]"):
        hstack([A, A[:19]])
    with pytest.raises(ValueError, match="same number of columns; they have 30 and 29"):
        vstack([A, A[:, :29]])
    with pytest.raises(TypeError, match=r"hstack of codes and ndarray.*\.toarray\(\)"):
        np.hstack([A, np.zeros((20, 2))])
    with pytest.raises(ValueError, match="at least one matrix"):
        hstack([])
    with pytest.raises(ValueError, match="axis=2"):
        np.concatenate([A, A], axis=2)


# --------------------------------------------------------------------------- construction


def test_random_words_do_not_repeat_from_block_to_block(monkeypatch):
    values = np.full((64, 50), 0.1)
    whole = CodeMatrix.from_values(values, UniformCode(2), random_state=3)
    monkeypatch.setattr("nanogram._code_matrix.blocks.BLOCK_BYTES", 4096)
    assert same_matrix(CodeMatrix.from_values(values, UniformCode(2), random_state=3), whole)
    codes = whole.code.unpack(whole.storage, whole.shape)
    assert np.any(codes[:32] != codes[32:])
    words = np.random.default_rng(0).integers(0, 2**32, size=(64, 50), dtype=np.uint32)
    Z = CodeMatrix.from_values(values, UniformCode(2), words=words)
    np.testing.assert_array_equal(Z.code.unpack(Z.storage, Z.shape), UniformCode(2).encode(values, words=words))
    with pytest.raises(ValueError, match=r"words has shape \(64, 49\); expected \(64, 50\)"):
        CodeMatrix.from_values(values, UniformCode(2), words=words[:, 1:])


def test_bad_construction():
    Z = make("4 bits", 20, 30)
    with pytest.raises(ValueError, match=r"storage is uint32 of shape .* need uint32 of shape"):
        CodeMatrix(Z.storage[:1], Z.shape, Z.code)
    with pytest.raises(ValueError, match="need uint32"):
        CodeMatrix(Z.storage.astype(np.int32), Z.shape, Z.code)
    with pytest.raises(TypeError, match="storage is list"):
        CodeMatrix([], (0, 0), Z.code)
    with pytest.raises(TypeError, match="is not a code"):
        CodeMatrix(Z.storage, Z.shape, 4)
    for shape in ((-1, 3), (1.5, 2), 3, (1, 2, 3)):
        with pytest.raises(ValueError, match="shape="):
            CodeMatrix(Z.storage, shape, Z.code)
    with pytest.raises(ValueError, match="not designed yet"):
        CodeMatrix.from_values(np.zeros((2, 2)), StepCode(3))
    with pytest.raises(ValueError, match="is made for 2 columns; the matrix has 3"):
        CodeMatrix.from_values(np.zeros((2, 3)), UniformCode(4, low=[-1, -1], high=[1, 1]))
    with pytest.raises(ValueError, match="codes run from 0 to 3; this code has 0 to 2"):
        CodeMatrix.from_codes(np.array([[0, 3]]), SHARED_CODES["ternary"])
    with pytest.raises(ValueError, match="two dimensions"):
        CodeMatrix.from_values(np.zeros(3), UniformCode(4))
    with pytest.raises(TypeError, match="values is sparse"):
        CodeMatrix.from_values(sparse.csr_array((3, 3)), UniformCode(4))
    with pytest.raises(ValueError, match="NaN in column 1"):
        CodeMatrix.from_values([[0, np.nan]], UniformCode(4))


def test_immutable():
    code = UniformCode(4)
    Z = CodeMatrix.from_values(np.zeros((20, 30)), code)
    with pytest.raises(ValueError, match="read-only"):
        Z.storage[0] = 1
    with pytest.raises(AttributeError):
        Z.shape = (1, 2)
    before = Z.toarray()
    code.set_params(high=7.0)
    np.testing.assert_array_equal(Z.toarray(), before)


def test_storage_that_is_not_contiguous_is_copied():
    Z = make("4 bits", 40, 30)
    doubled = np.repeat(Z.storage, 2, axis=1)[:, ::2]
    assert same_matrix(CodeMatrix(doubled, Z.shape, Z.code), Z)


def test_nbytes():
    Z = make("1 bit", 1600, 3200)
    assert Z.nbytes == 1600 * 3200 // 8
    by_column = make("1 bits by column", 16000, 320)
    assert by_column.nbytes <= 1.01 * 16000 * 320 / 8


def test_description():
    Z = make("4 bits", 20, 30)
    assert repr(Z) == "CodeMatrix(shape=(20, 30), code=UniformCode(), nbytes=512)"
    assert repr(Z.with_precision("float32")).endswith("precision='float32')")
    assert repr(Z.T) == f"{Z!r}.T"
    assert "20 &times; 30" in Z._repr_html_()
    assert (np.shape(Z), np.ndim(Z), np.size(Z), np.size(Z, 1)) == ((20, 30), 2, 600, 30)


@pytest.mark.parametrize(
    "densify",
    [np.asarray, np.array, np.exp, np.linalg.norm, lambda Z: Z.T + np.ones(20), lambda Z: np.ones(30) * Z, np.sum],
)
def test_nothing_decodes_by_accident(densify):
    with pytest.raises(TypeError, match=r"call \.toarray\(\)"):
        densify(make("4 bits", 20, 30))


def test_rows_of_a_transpose():
    with pytest.raises(TypeError, match=r"Z\[:, columns\]\.T"):
        make("4 bits", 20, 30).T[0]


def test_bad_axis():
    with pytest.raises(ValueError, match="axis=2"):
        make("4 bits", 2, 3).sum(axis=2)


# --------------------------------------------------------------------------- copies


def test_pickling_out_of_band():
    Z = make("8 bits", 200, 100)
    buffers = []
    data = pickle.dumps(Z, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 2000
    back = pickle.loads(data, buffers=buffers)
    assert same_matrix(back, Z)
    assert np.shares_memory(back.storage, Z.storage)
    assert same_matrix(pickle.loads(pickle.dumps(Z, protocol=2)), Z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(Z.T)).toarray(), Z.toarray().T)


def test_copies():
    Z = make("8 bits by column", 20, 30).with_precision("float32")
    assert copy.copy(Z) is Z
    for other in (copy.deepcopy(Z), Z.copy()):
        assert same_matrix(other, Z)
        assert other.precision == "float32"
        assert not np.shares_memory(other.storage, Z.storage)
        assert not other.storage.flags.writeable


def test_joblib_memory_maps(tmp_path):
    Z = make("4 bits", 300, 200)
    joblib.dump(Z, tmp_path / "Z.joblib")
    mapped = joblib.load(tmp_path / "Z.joblib", mmap_mode="r")
    assert isinstance(mapped.storage.base if mapped.storage.base.base is None else mapped.storage.base.base, np.ndarray)
    assert same_matrix(mapped, Z)
    check_code_matrix(mapped[:40, :30])


def test_loky_round_trip():
    # Above joblib's megabyte, from which on arrays travel as memory maps.
    Z = CodeMatrix.from_codes(np.random.default_rng(0).integers(0, 256, size=(4000, 400)), UniformCode(8))
    v = np.arange(400.0)
    (result,) = joblib.Parallel(n_jobs=2)([joblib.delayed(Z.matvec)(v)])
    np.testing.assert_array_equal(result, Z @ v)
    (back,) = joblib.Parallel(n_jobs=2)([joblib.delayed(Z.__getitem__)(slice(0, 32))])
    assert same_matrix(back, Z[:32])


# --------------------------------------------------------------------------- size


def test_sizes_are_counted_in_64_bits():
    """A matrix of 2^62 codes that takes no memory: zero stride along rows."""
    words = np.lib.stride_tricks.as_strided(np.zeros((1, 1, 16), np.uint32), shape=(2**27, 0, 16), strides=(0, 0, 4))
    Z = CodeMatrix(words, (2**31, 0), UniformCode(1))
    assert Z.size == 0
    assert len(Z) == 2**31
    assert Z[2**31 - 5 :].shape == (5, 0)
    assert Z[[-1, 2**31 - 1]].shape == (2, 0)
    with pytest.raises(IndexError, match="index 2147483648 is out of bounds"):
        Z[2**31]


@pytest.mark.slow
@pytest.mark.skipif(ops.isa_name() == "reference", reason="the reference unpacks all codes at once: 17 GB")
def test_more_than_two_to_the_31_codes():
    n, m = 2**16 + 5, 2**15 + 64
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, size=ops.words_shape(ops.get_layout("u1"), n, m), dtype=np.uint32)
    words[-1, :, n % 16 :] = 0
    Z = CodeMatrix(words, (n, m), UniformCode(1))
    assert Z.size > 2**31
    assert Z.nbytes < 1.01 * Z.size / 8
    rows, columns = np.array([0, 16, n - 1, n // 2]), np.array([0, 31, m - 1, m // 2])
    corner = Z.toarray(rows)
    np.testing.assert_array_equal(Z[rows].toarray(), corner)
    np.testing.assert_array_equal(Z[:, columns].toarray()[rows], corner[:, columns])
    v = rng.standard_normal(m)
    np.testing.assert_allclose((Z @ v)[rows], corner.astype(np.float64) @ v, atol=2e-4 * np.sqrt(m) * 5)
    r = np.zeros(n)
    r[rows] = [1.0, -1.0, 1.0, 1.0]
    np.testing.assert_allclose(Z.T @ r, corner.T @ r[rows], atol=1e-9)
    np.testing.assert_array_equal(Z.sum(axis=1)[rows], corner.sum(axis=1))
    np.testing.assert_array_equal(vstack([Z[-5:], Z[:3]]).toarray(), np.r_[Z[n - 5 :].toarray(), Z[:3].toarray()])


@pytest.mark.parametrize("name", [*SHARED_CODES, *BY_COLUMN])
def test_squared_row_norms_of_several_blocks(name, monkeypatch):
    from nanogram._code_matrix import blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4 * 600 * 40)
    Z = make(name, 150, 600)
    D = Z.toarray().astype(np.float64)
    np.testing.assert_allclose(Z.squared_row_norms(), (D * D).sum(axis=1), rtol=1e-6)


def test_squared_row_norms_of_values_whose_squares_leave_single_precision():
    codes = np.random.default_rng(0).integers(0, 16, (20, 40))
    for size in (1e-25, 1e25):
        Z = CodeMatrix.from_codes(codes, UniformCode(4, low=-size, high=size))
        D = Z.toarray().astype(np.float64)
        np.testing.assert_allclose(Z.squared_row_norms(), (D * D).sum(axis=1), rtol=1e-6)
