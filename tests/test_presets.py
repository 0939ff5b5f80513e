"""TernaryFeatures, FourierFeatures and ArcCosineFeatures: their kernels, codes and attributes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nanogram import ArcCosineFeatures, FeatureMap, FourierFeatures, TernaryFeatures, kernels
from nanogram.codes import FloatCode, StepCode, UniformCode
from nanogram.projections import Gaussian, Hadamard
from nanogram.theory import design_kernel_error, design_step_code, kernel_error


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((80, 40)) * rng.uniform(0.5, 1.5, 40) - 1.0


# --------------------------------------------------------------------------- TernaryFeatures


@pytest.mark.parametrize("projection", ["gaussian", "hadamard"])
@pytest.mark.parametrize(
    ("levels", "kind"), [(2, "monotone"), (3, "monotone"), (4, "free"), (3, "periodic"), (3, "auto")]
)
def test_designed_codes_have_the_kernel_of_the_target(rows, projection, levels, kind):
    features = TernaryFeatures(2048, levels=levels, kind=kind, projection=projection, random_state=1)
    Z = features.fit_transform(rows)
    found = kernel_error(Z @ Z.T, kernels.rbf(rows, gamma="scale"))
    scaled = (rows - rows.mean(axis=0)) * features.report_.scale
    expected = design_kernel_error(features.design_, "rbf", scaled, 2048)
    # The design says what error there will be; one draw of m features is within a few per cent of it.
    assert found == pytest.approx(expected.total, rel=0.15)


@pytest.mark.parametrize("target", ["relu", "abs", "erf", "cos_sin", "cos + relu"])
def test_other_targets(rows, target):
    features = TernaryFeatures(2048, target=target, projection="gaussian", random_state=1)
    Z = features.fit_transform(rows)
    scaled = (rows - rows.mean(axis=0)) * features.report_.scale
    expected = design_kernel_error(features.design_, target, scaled, 2048)
    assert kernel_error(Z @ Z.T, kernels.of_activation(target, scaled)) == pytest.approx(expected.total, rel=0.15)


def test_the_design_is_that_of_the_rows(rows):
    features = TernaryFeatures(64, kind="monotone", gamma=0.01, random_state=0).fit(rows)
    tau = 2 * 0.01 * rows.var(axis=0).sum()
    design = design_step_code("rbf", tau, 3, "monotone")
    assert features.tau_ == pytest.approx(tau)
    assert np.allclose(features.design_.thresholds, design.thresholds)
    assert np.allclose(features.code_.levels, design.levels / 8)
    assert features.gamma_ == 0.01
    assert features.report_.tau == features.tau_
    assert np.allclose(features.report_.firing, design.firing)
    assert features.report_.excess_ridge == pytest.approx(design.excess_d0)


def test_levels_fire_as_often_as_designed(rows):
    features = TernaryFeatures(8192, kind="monotone", random_state=0)
    Z = features.fit_transform(rows).toarray()
    shares = [np.mean(np.isclose(Z, level)) for level in np.unique(features.code_.levels)]
    # The mean over rows of different norms is near that of rows of norm tau.
    assert np.allclose(shares, features.design_.firing, atol=0.02)


@pytest.mark.parametrize("gamma_factor", [1.0, 14.0])
def test_large_tau_takes_a_periodic_code(rows, gamma_factor):
    gamma = 0.5 * gamma_factor / rows.var(axis=0).sum()
    features = TernaryFeatures(64, target="rbf", levels=2, gamma=gamma, random_state=0).fit(rows)
    assert features.tau_ == pytest.approx(gamma_factor)
    if gamma_factor > 4.2:
        assert features.design_.activation == "cos_phase"
        assert features.report_.kind == "periodic"


@pytest.mark.parametrize(
    ("levels", "storage", "bits"), [(2, "auto", 1), (3, "auto", 2), (3, "base3", 1.6), (4, "auto", 2)]
)
def test_storage(rows, levels, storage, bits):
    Z = TernaryFeatures(160, levels=levels, kind="periodic", storage=storage, random_state=0).fit_transform(rows)
    assert Z.bits == bits
    assert isinstance(Z.code, StepCode)
    plain = TernaryFeatures(160, levels=levels, kind="periodic", random_state=0, output="array").fit_transform(rows)
    assert np.array_equal(Z.toarray(), plain)


def test_five_codes_to_a_byte_are_never_folded():
    X = np.random.default_rng(0).standard_normal((300, 400))
    gamma = 0.5 * 4.0 / X.var(axis=0).sum()
    assert TernaryFeatures(512, gamma=gamma, random_state=0).fit(X).report_.kind == "folded"
    packed = TernaryFeatures(512, gamma=gamma, storage="base3", random_state=0).fit(X)
    assert packed.report_.kind in ("monotone", "periodic")
    assert packed.transform(X).bits == 1.6


def test_sign_is_the_code_without_thresholds(rows):
    Z = TernaryFeatures(512, target="sign", levels=2, random_state=0, output="array").fit_transform(rows)
    assert set(np.unique(Z * np.sqrt(512)).round(5)) == {-1.0, 1.0}


# --------------------------------------------------------------------------- FourierFeatures


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("bits", [None, 1, 2, 4, 8, 16])
def test_fourier_features_have_the_gaussian_kernel(rows, bits, pair):
    features = FourierFeatures(4096, bits=bits, pair=pair, random_state=2)
    Z = features.fit_transform(rows)
    off = ~np.eye(len(rows), dtype=bool)
    wrong = (Z @ Z.T - kernels.rbf(rows, gamma="scale"))[off]
    # An entry has a standard error of at most sqrt(4 / m): products of two values up to sqrt(2/m).
    assert np.sqrt(np.mean(wrong**2)) < 1.2 * np.sqrt(4 / 4096)
    # Hadamard blocks of P = 64 inputs have a bias of the order of 1/P.
    assert abs(wrong.mean()) < 1e-2


def test_the_quantiser_is_that_of_the_paper(rows):
    m = 200
    one = FourierFeatures(m, bits=1, random_state=0).fit(rows)
    assert (one.code_.low, one.code_.high) == pytest.approx((-np.sqrt(2 / m), np.sqrt(2 / m)))
    Z = one.transform(rows).toarray()
    assert np.allclose((Z.astype(np.float64) ** 2).sum(axis=1), 2.0)
    pair = FourierFeatures(m, bits=4, pair=True, random_state=0).fit(rows)
    assert pair.code_.high == pytest.approx(np.sqrt(1 / (m / 2)))


def test_float_features_without_bits(rows):
    features = FourierFeatures(64, random_state=0).fit(rows)
    assert features.code_ == FloatCode()


def test_the_laplacian_kernel_by_cauchy_projections(rows):
    Z = FourierFeatures(8192, bits=8, projection="cauchy", random_state=0).fit_transform(rows)
    assert np.abs(Z @ Z.T - kernels.laplacian(rows, gamma="scale")).max() < 0.12


def test_presets_are_feature_maps(rows):
    preset = FourierFeatures(96, bits=4, projection="hadamard", random_state=5).fit_transform(rows)
    general = FeatureMap("hadamard", "cos_phase", UniformCode(4), 96, random_state=5).fit_transform(rows)
    assert np.array_equal(preset.toarray(), general.toarray())
    assert preset.code == general.code


# --------------------------------------------------------------------------- ArcCosineFeatures


@pytest.mark.parametrize("projection", ["directional", "gaussian", "auto"])
@pytest.mark.parametrize(("order", "bits"), [(0, None), (0, 4), (1, None), (1, 8), (1, 2)])
def test_arc_cosine_features_have_their_kernel(rows, order, bits, projection):
    features = ArcCosineFeatures(8192, order=order, bits=bits, projection=projection, random_state=0)
    Z = features.fit_transform(rows)
    exact = kernels.arc_cosine(rows, order=order)
    off = ~np.eye(len(rows), dtype=bool)
    assert np.linalg.norm((Z @ Z.T - exact)[off]) < (0.06 if bits != 2 else 0.1) * np.linalg.norm(exact[off])


def test_steps_take_one_bit_and_rectified_values_a_range_from_zero(rows):
    assert ArcCosineFeatures(64, order=0, random_state=0).fit_transform(rows).bits == 1
    assert ArcCosineFeatures(64, order=1, bits=4, random_state=0).fit(rows).code_.low == 0.0


# --------------------------------------------------------------------------- projection="auto"


def law_of(features, rows):
    return features.set_params(random_state=0).fit(rows).report_.projection


@pytest.mark.parametrize(("p", "law"), [(8, Gaussian()), (9, Hadamard(3)), (600, Hadamard(3))])
def test_auto_is_hadamard_for_codes_of_dense_rows_of_some_width(p, law):
    X = np.random.default_rng(0).standard_normal((30, p))
    for features in (FourierFeatures(8, bits=2), TernaryFeatures(8), FeatureMap("auto", "identity", "ternary", 8)):
        assert law_of(features, X) == repr(law)
    assert law_of(ArcCosineFeatures(8, order=0, projection="auto"), X) == repr(law)


@pytest.mark.parametrize(("p", "law"), [(8, Gaussian()), (54, Gaussian()), (255, Gaussian()), (256, Hadamard(3))])
def test_auto_for_floats_takes_transforms_of_wide_rows_alone(p, law):
    X = np.random.default_rng(0).standard_normal((30, p))
    for features in (FourierFeatures(8), FeatureMap("auto", "relu", 4, 8), ArcCosineFeatures(8, projection="auto")):
        assert law_of(features, X) == repr(law)


@pytest.mark.parametrize(("p", "bits", "law"), [(123, 2, Hadamard(3)), (123, None, Gaussian()), (600, 2, Gaussian())])
def test_auto_for_sparse_rows(p, bits, law):
    X = sp.random_array((30, p), density=0.1, rng=np.random.default_rng(0), format="csr")
    assert law_of(FourierFeatures(8, bits=bits), X) == repr(law)
