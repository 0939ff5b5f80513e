from __future__ import annotations

import numpy as np
import pytest

from nanogram import TernaryFeatures, theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.inspection import MomentsDisplay


def test_points_are_the_moments():
    display = MomentsDisplay.from_activations(tau=2.0).plot()
    expected = [theory.moments(name, 2.0)[1:] for name in display.moments]
    np.testing.assert_allclose(display.points_.get_offsets(), expected)
    np.testing.assert_allclose(display.coordinates(), expected)
    drawn = " ".join(text.get_text() for text in display.texts_ if text is not None)
    assert all(name in drawn for name in display.moments)


def test_shares_do_not_change_with_amplitude_and_add_up_to_at_most_one():
    one = MomentsDisplay.from_activations(["relu"], tau=1.5).coordinates("shares")
    tripled = MomentsDisplay({"3 relu": 9 * np.array(theory.moments("relu", 1.5))}, 1.5).coordinates("shares")
    np.testing.assert_allclose(one, tripled)
    shares = MomentsDisplay.from_activations(tau=1.5).coordinates("shares")
    assert (shares.sum(axis=1) <= 1 + 1e-12).all()
    by_name = dict(zip(MomentsDisplay.from_activations(tau=1.5).moments, shares, strict=True))
    np.testing.assert_allclose(by_name["identity"], [1, 0], atol=1e-12)
    assert by_name["cos"][0] == 0
    quadratic = MomentsDisplay.from_activations(["quadratic"], tau=1.5).coordinates("shares")
    np.testing.assert_allclose(quadratic, [[0, 1]], atol=1e-12)


@pytest.mark.parametrize("scale", ["moments", "shares"])
@pytest.mark.parametrize("ratio", [0.0, 0.7, 4.0, np.inf])
def test_the_line_has_the_ratio_asked_for(scale, ratio):
    display = MomentsDisplay.from_activations(tau=1.5, ratio=ratio).plot(scale=scale)
    (_, x), (_, y) = display.line_.get_data()
    factor = 2 * 1.5 if scale == "shares" else 1.0
    if ratio == 0:
        assert x == 0
        assert y > 0
    else:
        assert y == pytest.approx(factor * x / ratio)
        assert x > 0


def test_leaky_relus_go_from_identity_to_modulus():
    display = MomentsDisplay.from_activations(["relu"]).plot(scale="shares")
    points = np.column_stack(display.family_line_.get_data())
    np.testing.assert_allclose(points[0], [1, 0], atol=1e-12)
    np.testing.assert_allclose(
        points[-1], MomentsDisplay.from_activations(["abs"]).coordinates("shares")[0], atol=1e-12
    )


def test_from_profile_marks_the_choice():
    means, covariances = mixture_parameters(100, "means", mean=6.0)
    X, *_ = make_gaussian_mixture(200, 100, means=means, covariances=covariances, random_state=0)
    profile = theory.activation_profile(X, max_rows=100, n_splits=2, activations=("identity", "relu", "abs"))
    display = MomentsDisplay.from_profile(profile).plot()
    assert display.chosen == profile.activation
    assert display.ratio == profile.ratio
    assert list(display.moments) == ["identity", "relu", "abs", "step code"]
    marked = list(display.moments).index(profile.activation)
    colours = display.points_.get_facecolors()
    others = [k for k in range(len(colours)) if k != marked]
    assert not (colours[others] == colours[marked]).all(axis=1).any()


def test_from_estimator_shows_the_code_beside_its_target():
    X = np.random.default_rng(0).standard_normal((100, 20))
    display = MomentsDisplay.from_estimator(TernaryFeatures(n_components=64, random_state=0).fit(X))
    target, code = display.coordinates()
    np.testing.assert_allclose(code, target, rtol=1e-3)
    np.testing.assert_allclose(target, theory.moments("rbf", display.tau)[1:])
    with pytest.raises(ValueError, match="no designed"):
        MomentsDisplay.from_estimator(object())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"moments": {}}, "empty"),
        ({"tau": 0.0}, "tau=0.0"),
        ({"moments": {"a": (1.0, 2.0)}}, "must be"),
        ({"moments": {"a": (1.0, -2.0, 0.0)}}, "negative"),
        ({"ratio": -1.0}, "ratio=-1.0"),
        ({"chosen": "b"}, "chosen='b'"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        MomentsDisplay(**({"moments": {"a": (1.0, 1.0, 1.0)}, "tau": 1.0} | arguments))


def test_bad_scale():
    with pytest.raises(ValueError, match="scale='log'"):
        MomentsDisplay.from_activations().plot(scale="log")
