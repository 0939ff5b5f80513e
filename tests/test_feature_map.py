"""FeatureMap: kernels, codes, order, subsets, memory, streams, parameters."""

from __future__ import annotations

import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from nanogram import CodeMatrix, FeatureMap, kernels
from nanogram.activations import ACTIVATIONS, make_activation
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.projections import Cauchy, Hadamard, Ternary


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((90, 24)) * rng.uniform(0.5, 2.0, 24) + 3.0


def words_of(Z: CodeMatrix) -> bytes:
    return Z.toarray().tobytes()


def kernel_of(name, rows):
    if name == "cos_phase":
        return kernels.rbf(rows, gamma="scale")
    return kernels.of_activation(name, rows - rows.mean(axis=0), gamma="scale")


def within_error(products, exact, n_draws, width=5.0):
    """Mean over independent features agrees with the kernel: every entry within `width` standard errors or so."""
    mean, error = products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(n_draws)
    return np.abs(mean - exact) <= width * error + 1e-6


# --------------------------------------------------------------------------- kernels


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name not in ("step_function", "periodic_step")])
def test_products_of_float_features_are_the_kernel_of_the_activation(rows, name):
    few = rows[:12]
    exact = kernel_of(name, few)
    draws = 24
    products = []
    for seed in range(draws):
        Z = FeatureMap(activation=name, n_components=512, random_state=seed, output="array").fit_transform(few)
        products.append(Z.astype(np.float64) @ Z.T)
    # A t law of 23 degrees of freedom: beyond 6.5 of its errors once in 1e6 entries.
    assert within_error(np.array(products), exact, draws, 6.5).all()


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_stochastic_codes_are_unbiased(rows, bits):
    few = rows[:12]
    exact = kernels.rbf(few, gamma="scale")
    draws = 24
    products = []
    for seed in range(draws):
        Z = FeatureMap(code=bits, n_components=512, random_state=seed, output="array").fit_transform(few)
        products.append(Z.astype(np.float64) @ Z.T)
    off = ~np.eye(len(few), dtype=bool)
    assert within_error(np.array(products), exact, draws, 6.5)[off].all()
    if bits == 1:
        assert np.allclose(np.diagonal(products[0]), 2.0, atol=1e-5)


def test_cauchy_projections_have_the_laplacian_kernel(rows):
    few = rows[:12]
    draws = 24
    products = []
    for seed in range(draws):
        Z = FeatureMap(Cauchy(), n_components=512, random_state=seed, output="array").fit_transform(few)
        products.append(Z.astype(np.float64) @ Z.T)
    assert within_error(np.array(products), kernels.laplacian(few, gamma="scale"), draws, 6.5).all()


@pytest.mark.parametrize(
    "projection",
    [
        "gaussian",
        "rademacher",
        "ternary",
        "circulant",
        "orthogonal",
        "hadamard",
        "qmc",
        "spherical",
        "directional",
        "student_t",
    ],
)
@pytest.mark.filterwarnings("ignore:.*sparsity")
def test_every_law_approaches_the_gaussian_kernel(projection):
    X = np.random.default_rng(1).standard_normal((40, 64))
    Z = FeatureMap(projection, n_components=8192, random_state=0, output="array").fit_transform(X)
    exact = kernels.rbf(X, gamma="scale")
    error = np.linalg.norm(Z @ Z.T - exact) / np.linalg.norm(exact)
    # m independent features have about sqrt(1/m) an entry; laws that are not Gaussian a bias on top of it.
    assert error < 0.08


def test_pairs_have_exact_diagonals(rows):
    Z = FeatureMap(activation="cos_sin", n_components=256, random_state=0, output="array").fit_transform(rows)
    assert np.allclose((Z**2).sum(axis=1), 1.0, atol=1e-6)


def test_the_last_sine_of_an_odd_number_of_columns_is_left_out(rows):
    odd = FeatureMap(activation="cos_sin", n_components=7, random_state=0, output="array").fit_transform(rows)
    even = FeatureMap(activation="cos_sin", n_components=8, random_state=0, output="array").fit_transform(rows)
    assert odd.shape == (90, 7)
    assert np.allclose(odd * np.sqrt(3.5), even[:, :7] * 2.0, atol=1e-6)


def test_centring_moves_nothing_of_a_shift_invariant_kernel_and_is_a_choice_for_others(rows):
    relu = FeatureMap(activation="relu", n_components=4096, gamma=0.5, center=False, random_state=0, output="array")
    Z = relu.fit_transform(rows)
    exact = kernels.of_activation("relu", rows)
    assert np.linalg.norm(Z @ Z.T - exact) < 0.1 * np.linalg.norm(exact)
    assert relu.report_.scale == 1.0


# --------------------------------------------------------------------------- codes against floats


@pytest.mark.parametrize("projection", ["gaussian", Hadamard(2)])
def test_uniform_codes_are_the_float_features_rounded(rows, projection):
    floats = FeatureMap(projection, n_components=160, random_state=3, output="array").fit_transform(rows)
    for bits in (2, 8):
        code = UniformCode(bits, "nearest")
        encoded = FeatureMap(projection, code=code, n_components=160, random_state=3)
        Z = encoded.fit_transform(rows)
        step = encoded.code_.scale
        assert step == pytest.approx(2 * np.sqrt(2 / 160) / (2**bits - 1))
        # The grid of an integer path may move a value by a little more than half a step.
        assert np.abs(Z.toarray() - floats).max() <= 0.5 * step + 2e-3


def test_given_step_codes_compare_projections_with_their_thresholds(rows):
    t = FeatureMap(activation="identity", n_components=64, random_state=2, output="array").fit_transform(rows) * 8.0
    code = StepCode([-1.0, 0.0, 2.0], [-0.5, 0.25])
    Z = FeatureMap(activation="identity", code=code, n_components=64, random_state=2).fit_transform(rows)
    expected = np.array([-1.0, 0.0, 2.0])[np.searchsorted([-0.5, 0.25], t)] / 8.0
    assert np.mean(~np.isclose(Z.toarray(), expected)) < 2e-3


@pytest.mark.parametrize(
    ("activation", "code", "applied"),
    [("identity", "ternary", "identity"), ("cos_phase", "binary", "cos_phase"), ("relu", StepCode(4), "identity")],
)
def test_codes_of_so_many_levels_are_designed(rows, activation, code, applied):
    features = FeatureMap(activation=activation, code=code, n_components=256, random_state=0).fit(rows)
    assert features.design_.activation == applied
    assert np.allclose(features.code_.levels, features.design_.levels / 16.0)
    assert features.report_.kind == features.design_.kind
    assert features.report_.excess_ridge == features.design_.excess_d0


def test_float16_codes_store_half(rows):
    Z = FeatureMap(code="float16", n_components=64, random_state=0).fit_transform(rows)
    assert Z.code == FloatCode("float16")
    assert Z.nbytes == 90 * 64 * 2


def test_unbounded_values_get_a_range_at_fit_and_saturate_beyond_it(rows):
    features = FeatureMap(activation="relu", code=4, n_components=64, random_state=0)
    features.fit(rows)
    assert features.code_.low == 0.0
    features.transform(rows)
    assert features.report_.saturated_share < 0.02
    with pytest.warns(UserWarning, match="outside the range seen at fit"):
        features.transform(rows * 10)
    assert features.report_.saturated_share > 0.1
    features.transform(rows * 10)


def test_a_range_of_its_own_is_kept(rows):
    code = UniformCode(4, low=0.0, high=3.0)
    features = FeatureMap(activation="relu", code=code, n_components=64, random_state=0).fit(rows)
    assert (features.code_.low, features.code_.high) == (0.0, 3.0 / 8.0)


# --------------------------------------------------------------------------- same rows, same codes

MAPS = {
    "float": FeatureMap(n_components=48, random_state=0),
    "stochastic": FeatureMap(code=4, n_components=48, random_state=0),
    "hadamard": FeatureMap("hadamard", code=2, n_components=48, random_state=0),
    "step": FeatureMap(activation="identity", code="ternary", n_components=48, random_state=0),
    "hadamard step": FeatureMap("hadamard", "identity", "ternary", n_components=48, random_state=0),
    "ternary": FeatureMap(Ternary(0.2), code=4, n_components=48, random_state=0),
    "pair": FeatureMap(activation="cos_sin", code=1, n_components=48, random_state=0),
}


@pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
def test_codes_do_not_depend_on_order_subset_or_container(rows, features, tmp_path):
    features = clone(features).fit(rows)
    Z = features.transform(rows).toarray()
    order = np.random.default_rng(0).permutation(len(rows))
    assert np.array_equal(features.transform(rows[order]).toarray(), Z[order])
    assert np.array_equal(features.transform(rows[33:34]).toarray(), Z[33:34])
    assert np.array_equal(features.transform(sp.csr_array(rows)).toarray(), Z)
    assert np.array_equal(features.transform(sp.csr_matrix(rows)).toarray(), Z)
    assert np.array_equal(features.transform(np.asfortranarray(rows)).toarray(), Z)
    assert np.array_equal(features.transform(rows.tolist()).toarray(), Z)
    assert np.array_equal(features.transform(iter([rows[:20], rows[20:]])).toarray(), Z)
    assert np.array_equal(np.vstack([block.toarray() for block in features.transform_blocks([rows[:7], rows[7:]])]), Z)
    memory = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=rows.shape)
    memory[...] = rows
    assert np.array_equal(features.transform(memory).toarray(), Z)


@pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
def test_fitting_again_or_pickling_changes_nothing(rows, features, tmp_path):
    features = clone(features).fit(rows)
    Z = words_of(features.transform(rows))
    assert words_of(clone(features).fit_transform(rows)) == Z
    assert words_of(pickle.loads(pickle.dumps(features)).transform(rows)) == Z
    joblib.dump(features, tmp_path / "map")
    assert words_of(joblib.load(tmp_path / "map", mmap_mode="r").transform(rows)) == Z


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int32", "int64", "uint8", "bool"])
def test_numbers_of_every_type_are_taken(dtype):
    numbers = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 9, size=(40, 5))
    features = FeatureMap(code=4, n_components=32, random_state=0).fit(numbers.astype(np.float64))
    assert words_of(features.transform(numbers.astype(dtype))) == words_of(features.transform(numbers * 1.0))


@pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
def test_arrays_are_what_codes_decode_to(rows, features):
    features = clone(features).fit(rows)
    codes = features.transform(rows)
    assert isinstance(codes, CodeMatrix)
    values = features.set_params(output="array").transform(rows)
    assert values.dtype == np.float32
    assert np.array_equal(values, codes.toarray())


def test_salts_change_the_rounding_alone(rows):
    features = FeatureMap(code=2, n_components=512, random_state=0, output="array").fit(rows)
    first = features.transform(rows)
    second = features.set_params(salt=1).transform(rows)
    step = features.code_.scale
    assert 0.2 < np.mean(first != second) < 0.8
    assert np.abs(first - second).max() <= step * 1.001


def test_sparse_rows_at_fit_stay_sparse_and_have_the_same_kernel(rows):
    X = sp.random_array((60, 400), density=0.05, rng=np.random.default_rng(0), format="csr")
    features = FeatureMap(n_components=4096, random_state=0)
    Z = features.fit_transform(X)
    assert np.abs(Z @ Z.T - kernels.rbf(X, gamma="scale")).max() < 0.12
    assert np.array_equal(features.transform(X.toarray()).toarray(), Z.toarray())
    step = FeatureMap(activation="identity", code="ternary", n_components=512, random_state=0).fit(X)
    dense = FeatureMap(activation="identity", code="ternary", n_components=512, random_state=0).fit(X.toarray())
    assert np.mean(step.transform(X).toarray() != dense.transform(X).toarray()) < 1e-3


# --------------------------------------------------------------------------- size


@pytest.mark.parametrize("output", ["codes", "array"])
def test_transform_holds_its_result_and_64_megabytes(output):
    X = np.random.default_rng(0).standard_normal((6000, 40)).astype(np.float32)
    features = FeatureMap(code=2, n_components=6000 if output == "codes" else 2500, random_state=0, output=output)
    features.fit(X[:500])
    features.transform(X[:32])
    tracemalloc.start()
    Z = features.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= Z.nbytes + 64 * 2**20
    assert output == "array" or Z.nbytes == 6000 * 6000 // 4


def test_one_component_and_one_column():
    X = np.random.default_rng(0).standard_normal((20, 1))
    for code in ("float32", 1, "binary"):
        Z = FeatureMap(code=code, n_components=1, random_state=0).fit_transform(X)
        assert Z.shape == (20, 1)


# --------------------------------------------------------------------------- scikit-learn


def test_grids_reach_into_the_parts(rows):
    y = rows[:, 0] ** 2
    pipeline = make_pipeline(
        FeatureMap(Ternary(0.0), code=UniformCode(2), n_components=64, random_state=0, output="array"), Ridge()
    )
    grid = GridSearchCV(
        pipeline,
        {"featuremap__code__bits": [1, 8], "featuremap__projection__sparsity": [0.0, 0.25], "ridge__alpha": [1.0]},
        cv=2,
        error_score="raise",
    ).fit(rows, y)
    assert set(grid.best_params_) == {"featuremap__code__bits", "featuremap__projection__sparsity", "ridge__alpha"}
    assert grid.predict(rows).shape == (90,)


def test_feature_names_and_frames(rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(24)])
    features = FeatureMap(code=4, n_components=5, random_state=0, output="array").fit(frame)
    assert list(features.get_feature_names_out()) == [f"featuremap{i}" for i in range(5)]
    assert features.n_features_in_ == 24
    assert list(features.feature_names_in_[:2]) == ["x0", "x1"]
    named = features.set_output(transform="pandas").transform(frame)
    assert list(named.columns) == [f"featuremap{i}" for i in range(5)]
    with pytest.raises(ValueError, match="feature names should match"):
        features.transform(frame[frame.columns[::-1]])
    codes = FeatureMap(code=4, n_components=5).set_output(transform="pandas")
    with pytest.raises(ValueError, match="output='array'"):
        codes.fit_transform(frame)


def test_polars_frames(rows):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(rows, schema=[f"x{i}" for i in range(24)])
    features = FeatureMap(code=4, n_components=5, random_state=0).fit(frame)
    assert words_of(features.transform(frame)) == words_of(
        FeatureMap(code=4, n_components=5, random_state=0).fit_transform(rows)
    )


def test_the_representation_for_notebooks(rows):
    html = FeatureMap(Ternary(0.5), code=UniformCode(2))._repr_html_()
    assert "FeatureMap" in html


def test_random_state_may_be_anything_scikit_learn_takes(rows):
    a = FeatureMap(n_components=8, random_state=np.random.RandomState(1)).fit(rows)
    b = FeatureMap(n_components=8, random_state=np.random.RandomState(1)).fit(rows)
    assert a.seed_ == b.seed_
    assert FeatureMap(n_components=8).fit(rows).seed_ != FeatureMap(n_components=8).fit(rows).seed_


def test_callables_and_sums_are_activations(rows):
    def hinge(t):
        return np.maximum(t - 1, 0)

    Z = FeatureMap(activation=hinge, n_components=32, random_state=0).fit_transform(rows)
    assert Z.shape == (90, 32)
    Z = FeatureMap(activation="cos + relu", n_components=32, random_state=0).fit_transform(rows)
    assert Z.shape == (90, 32)
    assert make_activation("cos + relu").n_outputs == 2
