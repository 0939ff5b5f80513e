"""What feature maps say to bad rows and bad parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nanogram import ArcCosineFeatures, FeatureMap, FourierFeatures, NystroemFeatures, TernaryFeatures
from nanogram.activations import make_activation
from nanogram.codes import StepCode, UniformCode
from nanogram.projections import Cauchy, Ternary

X = np.random.default_rng(0).standard_normal((50, 6))
MAPS = [FeatureMap, TernaryFeatures, FourierFeatures, ArcCosineFeatures, NystroemFeatures]


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_what_is_not_finite_is_named_by_column(kind, bad, wrap):
    wrong = X.copy()
    wrong[7, 3] = bad
    features = kind(n_components=8)
    with pytest.raises(ValueError, match=r"column 3.*row 7"):
        features.fit(wrap(wrong))
    features.fit(wrap(X))
    with pytest.raises(ValueError, match=r"column 3.*row 7"):
        features.transform(wrap(wrong))


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("constant", [0.0, 3.7])
@pytest.mark.filterwarnings("ignore:all rows are alike")
def test_rows_that_are_all_alike(kind, constant):
    features = kind(n_components=8, random_state=0)
    Z = features.fit_transform(np.full((20, 6), constant)).toarray()
    assert np.isfinite(Z).all()
    if not getattr(features, "bits", None):
        assert (Z[:1] == Z).all()


def test_designs_warn_of_rows_that_are_all_alike():
    with pytest.warns(UserWarning, match="tau = 0"):
        features = TernaryFeatures(n_components=8).fit(np.ones((20, 6)))
    assert features.tau_ == 0.0
    assert any("tau = 0" in note for note in features.report_.notes)


@pytest.mark.parametrize("kind", MAPS)
def test_another_number_of_columns(kind):
    features = kind(n_components=8).fit(X)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6"):
        features.transform(X[:, :5])
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6"):
        features.transform(iter([X[:, :5]]))


@pytest.mark.parametrize("kind", MAPS)
def test_no_rows(kind):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        kind(n_components=8).fit(X[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        kind(n_components=8).fit(X).transform(X[:0])


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("count", [0, -3, 2.5, True, "many"])
def test_n_components_out_of_range(kind, count):
    with pytest.raises(ValueError, match=r"n_components="):
        kind(n_components=count).fit(X)


@pytest.mark.parametrize("kind", [FeatureMap, TernaryFeatures, FourierFeatures, NystroemFeatures])
@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "wide"])
def test_gamma_out_of_range(kind, gamma):
    with pytest.raises(ValueError, match="gamma="):
        kind(n_components=8, gamma=gamma).fit(X)


@pytest.mark.parametrize("kind", [FourierFeatures, ArcCosineFeatures, NystroemFeatures])
@pytest.mark.parametrize("bits", [0, 3, 32, 1.5])
def test_bits_out_of_range(kind, bits):
    with pytest.raises(ValueError, match="bits="):
        kind(n_components=8, bits=bits).fit(X)


@pytest.mark.parametrize("levels", [1, 5, "three"])
def test_levels_out_of_range(levels):
    with pytest.raises(ValueError, match="levels="):
        TernaryFeatures(n_components=8, levels=levels).fit(X)


def test_other_parameters_out_of_range():
    for features, named in [
        (FeatureMap(output="floats"), "output="),
        (FeatureMap(projection="normal"), "projection="),
        (FeatureMap(projection=Ternary(1.0)), "sparsity"),
        (FeatureMap(activation="tanh"), "activation="),
        (FeatureMap(code="uniform3"), "code="),
        (FeatureMap(code=UniformCode(3)), "bits="),
        (FeatureMap(random_state=-1), "random_state="),
        (FeatureMap(salt=-1, code=1), "salt="),
        (FourierFeatures(rounding="down", bits=4), "rounding="),
        (ArcCosineFeatures(order=2), "order="),
        (TernaryFeatures(kind="odd"), "kind="),
        (TernaryFeatures(storage="base2"), "storage="),
        (TernaryFeatures(projection=Cauchy()), "no variance"),
        (NystroemFeatures(n_components=8, kernel="sigmoid"), "kernel="),
        (NystroemFeatures(n_components=8, landmarks="best"), "landmarks="),
        (NystroemFeatures(n_components=8, ensemble=9), "ensemble="),
        (NystroemFeatures(n_components=8, kernel=lambda A, B: A), "returned shape"),
    ]:
        with pytest.raises(ValueError, match=named):
            features.fit(X).transform(X)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (FeatureMap(gamma=None), r"gamma=None must be a positive, finite number, 'scale' or 'median'"),
        (FeatureMap(center="no"), "center='no' is not accepted; True and False are"),
        (FourierFeatures(pair=2), "pair=2 is not accepted; True and False are"),
        (FourierFeatures(random_state="seven"), "random_state='seven' must be an integer"),
        (FourierFeatures(random_state=np.random.default_rng(0)), r"random_state=Generator.* a RandomState or None"),
        (TernaryFeatures(target=["rbf"]), r"target=\['rbf'\] must be an activation"),
    ],
)
def test_errors_name_parameter_value_and_what_is_accepted(features, message):
    with pytest.raises(ValueError, match=message):
        features.set_params(n_components=8).fit(X)


def test_user_functions_that_are_not_finite():
    with pytest.raises(ValueError, match=r"function 'root' returned NaN or infinity; .* negative ones included"):
        FeatureMap(activation=root, n_components=8).fit_transform(X)


def root(t):
    with np.errstate(invalid="ignore"):
        return np.sqrt(t)


def test_grids_that_reach_into_a_name_say_what_they_need():
    with pytest.raises(ValueError, match=r"code__bits needs code to be an object .*code=4.*UniformCode\(bits=4\)"):
        FeatureMap(code=4).set_params(code__bits=2)
    with pytest.raises(ValueError, match="projection__sparsity needs projection to be an object"):
        TernaryFeatures().set_params(projection__sparsity=0.5)
    assert FeatureMap(code=4).set_params(code=UniformCode(4), code__bits=2).code.bits == 2
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        FeatureMap().set_params(colour=1)


def test_sparsity_too_high_for_so_few_columns():
    with pytest.warns(UserWarning, match="sparsity"):
        FeatureMap(projection=Ternary(0.9), n_components=8).fit(X)


def test_monotone_codes_out_of_their_range_of_tau():
    with pytest.warns(UserWarning, match="tau"):
        TernaryFeatures(n_components=8, levels=2, kind="monotone", gamma=0.5 * 10 / X.var(axis=0).sum()).fit(X)
    with pytest.raises(ValueError, match=r"tau=50.*periodic"):
        TernaryFeatures(n_components=8, levels=2, kind="monotone", gamma=0.5 * 50 / X.var(axis=0).sum()).fit(X)


@pytest.mark.parametrize("factor", [1e-6, 1e5])
def test_designs_at_any_tau(factor):
    with pytest.warns(UserWarning, match="tau="):
        features = TernaryFeatures(n_components=64, gamma=0.5 * factor / X.var(axis=0).sum(), random_state=0).fit(X)
    assert np.isfinite(features.transform(X).toarray()).all()
    assert features.tau_ == pytest.approx(factor)


def test_an_iterator_cannot_be_fitted():
    with pytest.raises(TypeError, match="fresh iterator"):
        FeatureMap(n_components=8).fit(iter([X]))
    assert FeatureMap(n_components=8).fit(lambda: iter([X])).n_features_in_ == 6


def test_values_too_large_to_square():
    with pytest.raises(ValueError, match="too large"):
        FeatureMap(n_components=8).fit(X * 1e200)


def test_tiny_and_large_scales_give_the_same_codes():
    plain = FeatureMap(code=StepCode(3), activation="identity", n_components=256, random_state=0).fit(X)
    for factor in (2.0**-60, 2.0**60):
        scaled = FeatureMap(code=StepCode(3), activation="identity", n_components=256, random_state=0).fit(X * factor)
        assert np.array_equal(scaled.transform(X * factor).toarray(), plain.transform(X).toarray())


def test_an_entry_saturates_once():
    features = FourierFeatures(64, bits=4, projection="hadamard", random_state=0).fit(X)
    with pytest.warns(UserWarning, match="^1 of the entries lie outside"):
        features.transform(X * 1000)
    assert 0.99 < features.report_.saturated_share <= 1.0


def test_user_activations_may_be_objects():
    features = FeatureMap(activation=make_activation("leaky_relu", a_minus=0.5), n_components=8, random_state=0)
    assert features.fit_transform(X).shape == (50, 8)
