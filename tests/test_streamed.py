"""Streamed codes equal stored ones: to the bit where codes are, to the product's precision where rows are summed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from nanogram import ArcCosineFeatures, CodeMatrix, FourierFeatures, NystroemFeatures, TernaryFeatures
from nanogram._memory import available_memory, parse_memory
from nanogram.linear_model._design import as_design
from nanogram.streamed import StreamedCodes, encode

RNG = np.random.default_rng(3)
X = RNG.standard_normal((333, 7))
MAPS = {
    "ternary": TernaryFeatures(n_components=200, random_state=1),
    "fourier4": FourierFeatures(n_components=200, bits=4, random_state=1),
    "float": FourierFeatures(n_components=200, random_state=1),
    "arccos2": ArcCosineFeatures(n_components=200, bits=2, random_state=1),
    "nystroem": NystroemFeatures(n_components=60, bits=8, random_state=1),
}


@pytest.fixture(params=MAPS, scope="module")
def pair(request):
    features = MAPS[request.param].fit(X)
    # Blocks of 16 rows, so that there are many of them.
    return StreamedCodes(features, X, block_bytes=1), as_design(features.transform(X))


def test_codes_are_those_stored(pair):
    streamed, stored = pair
    np.testing.assert_array_equal(streamed.stored().storage, stored.Z.storage)
    assert streamed.stored_nbytes == stored.Z.storage.nbytes
    assert len(streamed) == 333
    assert streamed.shape == stored.shape


def test_products(pair):
    streamed, stored = pair
    V, R = RNG.standard_normal((stored.shape[1], 3)), RNG.standard_normal((333, 2))
    if stored.Z.code.layout is None:  # BLAS blocks its sums by the shape
        np.testing.assert_allclose(streamed.matvec(V), stored.matvec(V), rtol=1e-12)
    else:
        np.testing.assert_array_equal(streamed.matvec(V), stored.matvec(V))
        np.testing.assert_array_equal(streamed.matvec(V[:, 0], "fast"), stored.matvec(V[:, 0], "fast"))
    scale = np.abs(stored.rmatvec(R)).max()
    np.testing.assert_allclose(streamed.rmatvec(R), stored.rmatvec(R), atol=1e-5 * scale)
    np.testing.assert_allclose(streamed.rmatvec(R[:, 0]), stored.rmatvec(R)[:, 0], atol=1e-5 * scale)


def test_there_and_back_is_one_encoding(pair, monkeypatch):
    streamed, stored = pair
    V, weights = RNG.standard_normal((stored.shape[1], 2)), RNG.uniform(size=(333, 1))
    expected = stored.there_and_back(V, lambda rows, P: weights[rows] * P)
    encoded = []
    real = type(streamed.encoder).encode_into

    def counting(self, block, out, noise):
        encoded.append(block.shape[0])
        return real(self, block, out, noise)

    monkeypatch.setattr(type(streamed.encoder), "encode_into", counting)
    found = streamed.there_and_back(V, lambda rows, P: weights[rows] * P)
    assert sum(encoded) == 333
    assert max(encoded) == 16
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_sums_and_gram(pair):
    streamed, stored = pair
    weights = RNG.uniform(size=333)
    np.testing.assert_allclose(streamed.column_sums(), stored.column_sums(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(streamed.column_sums(weights), stored.column_sums(weights), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(streamed.squared_row_norms(), stored.squared_row_norms(), rtol=1e-12)
    gram = stored.gram()
    np.testing.assert_allclose(streamed.gram(), gram, atol=1e-6 * np.abs(gram).max())
    weighted = stored.gram(weights)
    np.testing.assert_allclose(streamed.gram(weights), weighted, atol=1e-5 * np.abs(weighted).max())
    kernel = stored.kernel()
    np.testing.assert_allclose(streamed.kernel(), kernel, atol=1e-6 * np.abs(kernel).max())


def test_rows(pair):
    streamed, stored = pair
    for index in (slice(20, 30), np.array([5, 3, 300, 3]), slice(0, 0), RNG.permutation(333)[:100]):
        part = streamed.rows(index)
        expected = stored.Z[index]
        assert part.shape == expected.shape
        codes = part.stored() if part.streamed else part.Z
        np.testing.assert_array_equal(codes.toarray(), expected.toarray())
    again = streamed[RNG.permutation(333)[:200]][::-2]
    assert again.shape[0] == 100
    assert again.streamed


def test_splits_of_scikit_learn():
    features = MAPS["ternary"].fit(X)
    streamed = StreamedCodes(features, X)
    train, test, rows_train, rows_test = train_test_split(streamed, X, random_state=0)
    np.testing.assert_array_equal(train.stored().storage, features.transform(rows_train).storage)
    np.testing.assert_array_equal(test.stored().storage, features.transform(rows_test).storage)


def test_sparse_rows_and_streams():
    rows = sp.random_array((100, 30), density=0.2, random_state=np.random.default_rng(0), format="csr")
    features = TernaryFeatures(n_components=64, random_state=0).fit(rows)
    expected = features.transform(rows)
    v = RNG.standard_normal(64)
    np.testing.assert_array_equal(StreamedCodes(features, rows, block_bytes=1).matvec(v), expected.matvec(v, "float32"))
    dense = rows.toarray()
    stream = StreamedCodes(features, lambda: iter([dense[:37], dense[37:]]), block_bytes=1)
    assert stream.shape == (100, 64)
    np.testing.assert_array_equal(stream.matvec(v), expected.matvec(v, "float32"))
    with pytest.raises(TypeError, match="one order only"):
        stream.rows([1, 2])


def test_resampled_noise_is_unbiased():
    """The mean over salts of decoded 1-bit codes is the float feature; error bars from the codes' own variance."""
    fixed = {"n_components": 64, "random_state": 5, "projection": "gaussian"}
    coarse, exact = FourierFeatures(bits=1, **fixed).fit(X[:20]), FourierFeatures(**fixed).fit(X[:20])
    streamed, rounds = StreamedCodes(coarse, X[:20]), 400
    assert streamed.stochastic
    total = np.zeros((20, 64))
    for salt in range(rounds):
        total += streamed.resampled(salt).stored().toarray()
    values = exact.transform(X[:20]).toarray().astype(np.float64)
    half = np.abs(coarse.transform(X[:1]).toarray()).max()
    sigma = np.sqrt(np.maximum(half**2 - values**2, 1e-12) / rounds)
    z = (total / rounds - values) / sigma
    # 1280 near-normal numbers: their mean square is 1 within 5 standard deviations (of sqrt(2 / 1280)).
    assert abs(np.mean(z**2) - 1) < 5 * np.sqrt(2 / z.size)
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    plain = StreamedCodes(MAPS["ternary"].fit(X), X)
    assert not plain.stochastic
    assert plain.resampled(3) is plain


def test_encode_goes_by_the_budget():
    features = MAPS["ternary"].fit(X)
    stored = encode(features, X, "stored", max_memory=1)
    assert isinstance(stored, CodeMatrix)
    assert isinstance(encode(features, X), CodeMatrix)
    assert isinstance(encode(features, X, "streamed"), StreamedCodes)
    need = stored.storage.nbytes + (8 << 20)
    assert isinstance(encode(features, X, max_memory=need), CodeMatrix)
    assert isinstance(encode(features, X, max_memory=need - 1), StreamedCodes)
    np.testing.assert_array_equal(stored.storage, features.transform(X).storage)


def test_bad_input():
    features = MAPS["ternary"].fit(X)
    with pytest.raises(ValueError, match="storage='disk'"):
        encode(features, X, "disk")
    with pytest.raises(NotFittedError):
        StreamedCodes(TernaryFeatures(), X)
    with pytest.raises(TypeError, match="feature_map is str"):
        StreamedCodes("ternary", X)
    with pytest.raises(ValueError, match="X has 6 columns"):
        StreamedCodes(features, X[:, :6])
    with pytest.raises(ValueError, match="0 sample"):
        StreamedCodes(features, X[:0])
    with pytest.raises(ValueError, match="block_bytes=0"):
        StreamedCodes(features, X, block_bytes=0)
    with pytest.raises(TypeError, match="implicitly"):
        np.asarray(StreamedCodes(features, X))
    with pytest.raises(IndexError, match="columns"):
        StreamedCodes(features, X)[:, :4]
    holed = X.copy()
    holed[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        StreamedCodes(features, holed).matvec(np.ones(200))


@pytest.mark.parametrize(
    ("text", "size"),
    [("64MB", 64e6), ("1GiB", 2**30), ("1.5 kb", 1500), (" 2tib ", 2**41), ("7", 7), (12.9, 12), (np.int64(5), 5)],
)
def test_parse_memory(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "MB", "64XB", "-3MB", "1e9", "0", 0, -5, float("nan"), float("inf")])
def test_parse_memory_refuses(text):
    with pytest.raises(ValueError, match="max_memory="):
        parse_memory(text)


@pytest.mark.parametrize("value", [True, None, [1]])
def test_parse_memory_refuses_types(value):
    with pytest.raises(TypeError, match="budget="):
        parse_memory(value, "budget")


def test_available_memory():
    assert 2**20 < available_memory() < 2**50
