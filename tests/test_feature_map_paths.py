"""The integer paths of feature maps: against the float path, and the same to the bit everywhere."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from nanogram import FeatureMap, FourierFeatures, TernaryFeatures, ops
from nanogram._maps import choice
from nanogram.codes import StepCode, UniformCode
from nanogram.projections import Circulant, Directional, Gaussian, Hadamard, Rademacher, Ternary

RECIPES = {
    "ternary": ("identity", "ternary"),
    "even": ("identity", StepCode([0.0, 1.0, 0.0], [-1.0, 1.0])),
    "four levels": ("identity", StepCode([-1.0, 0.0, 0.5, 2.0], [-1.0, 0.0, 1.0])),
    "base3": ("identity", StepCode(3, storage="base3")),
    "periodic": ("cos_phase", "ternary"),
    "cosines": ("cos_phase", UniformCode(2, "nearest")),
    "pairs": ("cos_sin", UniformCode(2, "nearest")),
    "sines": ("sin", UniformCode(1, "nearest")),
}
LAWS = {
    "hadamard1": Hadamard(1),
    "hadamard3": Hadamard(3),
    "gaussian": Gaussian(),
    "rademacher": Rademacher(),
    "sparse": Ternary(0.8),
    "directional": Directional(),
    "circulant": Circulant(),
}
pytestmark = pytest.mark.filterwarnings("ignore::nanogram.projections.SparsityWarning")
STOCHASTIC = {"stochastic": ("cos_phase", 4), "stochastic pairs": ("cos_sin", 8), "one bit": ("cos_phase", 1)}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    return (rng.standard_normal((150, 50)) * rng.uniform(0.3, 2.0, 50) + 2.0).astype(np.float32)


@pytest.fixture
def float_only(monkeypatch):
    def switch():
        monkeypatch.setattr(choice, "integer_form", lambda recipe: None)

    return switch


def digest(Z):
    return hashlib.sha256(Z.storage.tobytes()).hexdigest()


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_few_codes_differ_from_exact_thresholds(rows, law, recipe, float_only):
    activation, code = recipe
    features = FeatureMap(law, activation, code, n_components=1001, random_state=0)
    integer = clone(features).fit(rows)
    assert integer.report_.path.startswith("integer")
    codes = integer.transform(rows).toarray()
    float_only()
    exact = clone(features).fit(rows)
    assert exact.report_.path == "float"
    assert np.mean(codes != exact.transform(rows).toarray()) <= 1e-3


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("recipe", [*RECIPES.values(), *STOCHASTIC.values()], ids=[*RECIPES, *STOCHASTIC])
def test_codes_are_the_same_on_every_instruction_set_and_split(rows, law, recipe):
    activation, code = recipe
    features = FeatureMap(law, activation, code, n_components=333, random_state=0).fit(rows)
    Z = features.transform(rows)
    for isa in ("reference", *ops.available_isas()):
        with ops.use_isa(isa):
            assert digest(features.transform(rows)) == digest(Z)
            assert digest(clone(features).fit(rows).transform(rows)) == digest(Z)
    whole = Z.toarray()
    order = np.random.default_rng(0).permutation(len(rows))
    assert np.array_equal(features.transform(rows[order]).toarray(), whole[order])
    assert np.array_equal(features.transform(rows[17:40]).toarray(), whole[17:40])
    assert digest(features.transform(iter([rows[:10], rows[10:11], rows[11:]]))) == digest(Z)
    assert digest(features.transform(sp.csr_array(rows))) == digest(Z)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_rows_without_a_fixed_size_of_blocks(rows, law, monkeypatch):
    from nanogram._maps import integer_path

    features = FeatureMap(law, "cos_phase", 2, n_components=100, random_state=0).fit(rows)
    whole = digest(features.transform(rows))
    monkeypatch.setattr(integer_path, "BLOCK_ENTRIES", 16 * 50)
    assert features.encoder_.block_rows == 16
    assert digest(features.transform(rows)) == whole


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_stochastic_codes_scatter_about_the_float_features(rows, law, bits, float_only):
    features = FeatureMap(law, "cos_phase", bits, n_components=128, random_state=0, output="array").fit(rows)
    assert features.report_.path.startswith("integer")
    salts = 64
    mean = np.mean([features.set_params(salt=salt).transform(rows[:40]) for salt in range(salts)], axis=0)
    exact = FeatureMap(law, n_components=128, random_state=0, output="array").fit(rows).transform(rows[:40])
    step = features.code_.scale
    z = (mean - exact) / (step / 2 / np.sqrt(salts) + 1e-4)
    # At most step / 2 of standard deviation: 5,120 means within five of it.
    assert np.abs(z).max() < 5


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_rows_beyond_the_grid_saturate_on_their_ray(rows, law):
    features = FeatureMap(law, "identity", StepCode([-1.0, 1.0], [0.0]), n_components=512, random_state=0).fit(rows)
    Z = features.transform(rows).toarray()
    mean = rows.mean(axis=0)
    with pytest.warns(UserWarning, match="saturate"):
        features.transform(mean + 50 * (rows - mean))
    assert features.report_.saturated_share > 0.05
    # Said once.
    longer = features.transform(mean + 4 * (rows - mean)).toarray()
    if isinstance(law, Hadamard):
        # Rows that are shrunk stay on their ray, and signs of projections do not depend on their length.
        assert np.mean(longer != Z) < 0.01


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("n_columns", [1, 2, 3, 5])
def test_few_columns(law, n_columns, float_only):
    X = np.random.default_rng(0).standard_normal((40, n_columns))
    features = FeatureMap(law, "identity", "ternary", n_components=9, random_state=0)
    codes = clone(features).fit_transform(X).toarray()
    float_only()
    assert np.mean(codes != clone(features).fit_transform(X).toarray()) < 0.02


@pytest.mark.parametrize("law", ["hadamard", "gaussian"])
@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 1.0, 100.0])
def test_bandwidths_far_from_the_rows(rows, gamma, law):
    Z = FourierFeatures(256, gamma=gamma, bits=8, projection=law, random_state=0).fit_transform(rows[:40])
    exact = FourierFeatures(256, gamma=gamma, projection=law, random_state=0).fit_transform(rows[:40])
    # Coarse phases are left to the float path.
    assert np.abs(Z @ Z.T - exact @ exact.T).max() < 0.06


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_sparse_rows_of_fit_take_the_integer_path_too(law, float_only):
    X = sp.random_array((80, 300), density=0.1, rng=np.random.default_rng(0), format="csr")
    features = TernaryFeatures(1000, kind="monotone", projection=law, random_state=0)
    codes = clone(features).fit(X).transform(X)
    assert np.array_equal(clone(features).fit(X).transform(X.toarray()).toarray(), codes.toarray())
    float_only()
    assert np.mean(codes.toarray() != clone(features).fit(X).transform(X).toarray()) <= 1e-3


def test_the_report_names_the_path(rows):
    assert FeatureMap("hadamard", code=4, n_components=8).fit(rows).report_.path == "integer: hadamard"
    assert FeatureMap("gaussian", code=4, n_components=8).fit(rows).report_.path == "integer: dense"
    assert FeatureMap("hadamard", n_components=8).fit(rows).report_.path == "float"
    assert FeatureMap("circulant", code=4, n_components=8).fit(rows).report_.path == "integer: dense"
    assert FeatureMap("hadamard", "relu", 4, n_components=8).fit(rows).report_.path == "float"
    own = UniformCode(4, low=-1.0, high=1.5)
    assert FeatureMap("hadamard", code=own, n_components=8).fit(rows).report_.path == "float"
    text = str(FeatureMap("hadamard", code=4, n_components=8).fit(rows).report_)
    assert "integer: hadamard" in text
    assert "grid_bits" in text


def test_wide_sparse_rows_are_taken_many_at_a_time():
    X = sp.random_array((40, 40_000), density=2e-3, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    features = FourierFeatures(512, bits=2, projection="gaussian", random_state=0).fit(X)
    assert features.report_.path == "float"
    # Dense blocks of so many columns have 16 rows, and W would be drawn anew for each of them.
    encoder = features.encoder_
    assert encoder.block_rows == 16
    assert encoder.sparse_block_rows(80) == 4096
    assert encoder.sparse_block_rows(40_000) == 48
    parts = list(features.transform_blocks([X[:16], X[16:]]))
    whole = features.transform(X)
    assert np.array_equal(np.vstack([part.toarray() for part in parts]), whole.toarray())
