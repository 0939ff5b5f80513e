"""The named feature maps: thin presets of `FeatureMap`.

TernaryFeatures      one to two bits, thresholds and levels designed for the target's kernel
FourierFeatures      random Fourier features, float or 1 to 16 bits
ArcCosineFeatures    the arc-cosine kernels of order 0 and 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._maps.base import BaseMap
from ._maps.designed import design_for_rows
from ._maps.encoder import Encoder
from ._maps.epilogues import form_of
from ._maps.projected import fit_projected, refuse_undesigned_law
from ._maps.recipe import Recipe, checked_count, checked_flag, projections_for, with_range
from ._maps.report import MapReport
from ._maps.scaling import Scaling
from .activations import make_activation
from .codes import Code, FloatCode, StepCode, UniformCode
from .projections.base import Projection
from .rows import RowSource

__all__ = ["ArcCosineFeatures", "FourierFeatures", "TernaryFeatures"]


class TernaryFeatures(BaseMap):
    """Features of two, three or four levels whose kernel is the target's (TRF), after centring and up to a ridge.

    The code is designed (`nanogram.theory.design_step_code`) at the rows' own tau: of all codes with the target's d1
    and d2, the one of least variance. Where thresholds on the projections would fire too rarely, or have the larger
    kernel error on a sample of the rows, a Gaussian target gets a periodic code: thresholds on a cosine of
    random phase.

    Parameters
    ----------
    n_components : int, default=8192
        Columns of the output.
    target : str, Activation or callable, default="rbf"
        Whose kernel is wanted: "rbf" or any activation, or names joined by "+".
    gamma : float, "scale" or "median", default="scale"
        Rows are scaled by sqrt(2 gamma); "scale" makes tau = 1.
    levels : {2, 3, 4}, default=3
        Levels of a code: 1 bit for two, else 2 bits (or 1.6, see ``storage``).
    projection : str or Projection, default="auto"
        A law, or "auto": the fastest that loses no accuracy.
    kind : {"auto", "monotone", "free", "even", "folded", "periodic"}, default="auto"
        Shape of the code, as `design_step_code` has it.
    storage : {"auto", "bits", "base3"}, default="auto"
        As `nanogram.codes.StepCode` has it; "base3" stores five codes of three equally spaced levels in a byte.
    output, random_state
        As of `FeatureMap`.

    Attributes
    ----------
    tau_, gamma_ : float
        Mean squared norm of the centred, scaled rows; the bandwidth as a number.
    code_ : StepCode
        Thresholds, and levels with the scale of the features.
    design_ : StepDesign
        The design: unscaled levels, moments, firing probabilities, excess.
    report_ : MapReport

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> features = TernaryFeatures(n_components=512, kind="monotone", random_state=0)
    >>> Z = features.fit_transform(X)
    >>> Z.bits, round(features.tau_, 6), features.design_.thresholds.round(3)
    (2.0, 1.0, array([0.775, 1.63 ]))
    """

    def __init__(
        self,
        n_components: int = 8192,
        target: Any = "rbf",
        gamma: float | str = "scale",
        levels: int = 3,
        projection: str | Projection = "auto",
        *,
        kind: str = "auto",
        storage: str = "auto",
        output: str = "codes",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.target = target
        self.gamma = gamma
        self.levels = levels
        self.projection = projection
        self.kind = kind
        self.storage = storage
        self.output = output
        self.random_state = random_state

    def _fit_rows(self, source: RowSource, seed: int) -> tuple[Encoder, MapReport]:
        def maker(law: Projection, scaling: Scaling, sample: Callable[[], Any]) -> Recipe:
            refuse_undesigned_law(law, StepCode(3))
            k = checked_count(self.n_components)
            equally = self.storage == "base3"
            design = design_for_rows(self.target, self.levels, self.kind, scaling, sample, k, equally_spaced=equally)
            return Recipe(law, make_activation(design.activation), design.to_code(self.storage), k, k, design=design)

        recipe, scaling, encoder, report = fit_projected(source, self.projection, self.gamma, True, seed, maker)
        self.code_, self.design_ = encoder.code, recipe.design
        self.gamma_, self.tau_ = scaling.gamma, scaling.tau
        return encoder, report


class FourierFeatures(BaseMap):
    """Random Fourier features of the Gaussian kernel ``exp(-gamma |x - y|^2)``, float or in 1 to 16 bits (LP-RFF).

    Columns are sqrt(2/m) cos(w.x + b), or the pair [cos, sin] / sqrt(m/2). With bits they are rounded to 2^bits
    equally spaced levels from -sqrt(2/m) to sqrt(2/m) (pairs: from -sqrt(1/(m/2)) to its opposite).

    Parameters
    ----------
    n_components : int, default=8192
        Columns of the output; of an odd number of pairs' columns the last sine is left out.
    gamma : float, "scale" or "median", default="scale"
        The kernel's; "scale" makes tau = 1, as of `FeatureMap`.
    bits : {1, 2, 4, 8, 16} or None, default=None
        Bits of a feature; None for float32.
    rounding : {"stochastic", "nearest"}, default="stochastic"
        Stochastic rounding is unbiased; its noise depends on the row's content, the feature and ``salt`` alone.
    projection : str or Projection, default="auto"
        A law, or "auto": the fastest that loses no accuracy. "circulant" is LP-RFF's, "cauchy" gives the
        Laplacian kernel ``exp(-gamma |x - y|_1)``.
    pair : bool, default=False
        [cos, sin] of half as many projections instead of cosines of random phase.
    output, random_state, salt
        As of `FeatureMap`.

    Attributes
    ----------
    code_ : Code
        The code of the features, scale included.
    tau_, gamma_ : float
        Mean squared norm of the centred, scaled rows; the bandwidth as a number.
    report_ : MapReport

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import FourierFeatures, kernels
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> Z = FourierFeatures(n_components=4096, bits=2, random_state=0).fit_transform(X)
    >>> Z.nbytes / X.shape[0] <= 4096 * 2 / 8 * 64 / 50
    True
    """

    def __init__(
        self,
        n_components: int = 8192,
        gamma: float | str = "scale",
        bits: int | None = None,
        rounding: str = "stochastic",
        projection: str | Projection = "auto",
        pair: bool = False,
        *,
        output: str = "codes",
        random_state: Any = None,
        salt: int = 0,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.bits = bits
        self.rounding = rounding
        self.projection = projection
        self.pair = pair
        self.output = output
        self.random_state = random_state
        self.salt = salt

    def _fit_rows(self, source: RowSource, seed: int) -> tuple[Encoder, MapReport]:
        activation = make_activation("cos_sin" if checked_flag(self.pair, "pair") else "cos_phase")
        code = with_range(_code_of(self.bits, self.rounding), activation)

        def maker(law: Projection, _scaling: Scaling, _sample: Callable[[], Any]) -> Recipe:
            k = projections_for(self.n_components, activation)
            return Recipe(law, activation, code, int(self.n_components), k)

        in_integers = form_of(activation, code) is not None
        _, scaling, encoder, report = fit_projected(source, self.projection, self.gamma, True, seed, maker, in_integers)
        self.code_, self.gamma_, self.tau_ = encoder.code, scaling.gamma, scaling.tau
        return encoder, report


class ArcCosineFeatures(BaseMap):
    """Features of the arc-cosine kernels (Cho and Saul): sqrt(2/m) 1[w.x > 0] and sqrt(2/m) max(w.x, 0).

    ``Z Z^T`` approaches `nanogram.kernels.arc_cosine` of the rows as they are, neither centred nor scaled.

    Parameters
    ----------
    n_components : int, default=8192
        Columns of the output.
    order : {0, 1}, default=1
        Step features, or rectified ones.
    projection : str or Projection, default="directional"
        A law, or "auto". Directional rows, of one norm, are the exact leverage-score law (NTK section 4).
    bits : {1, 2, 4, 8, 16} or None, default=None
        Bits of a feature of order 1, stochastically rounded; None for float32. Its range is the one of least
        error in the kernel on rows seen at fit; values beyond it saturate and are counted in ``report_``. Features of
        order 0 have two values and take 1 bit, with nothing lost.
    output, random_state, salt
        As of `FeatureMap`.

    Attributes
    ----------
    code_ : Code
        The code of the features, scale included.
    report_ : MapReport

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import ArcCosineFeatures, kernels
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> Z = ArcCosineFeatures(n_components=8192, order=0, random_state=0).fit_transform(X)
    >>> Z.bits, bool(np.abs(Z @ Z.T - kernels.arc_cosine(X, order=0)).max() < 0.1)
    (1.0, True)
    """

    def __init__(
        self,
        n_components: int = 8192,
        order: int = 1,
        projection: str | Projection = "directional",
        bits: int | None = None,
        *,
        output: str = "codes",
        random_state: Any = None,
        salt: int = 0,
    ) -> None:
        self.n_components = n_components
        self.order = order
        self.projection = projection
        self.bits = bits
        self.output = output
        self.random_state = random_state
        self.salt = salt

    def _fit_rows(self, source: RowSource, seed: int) -> tuple[Encoder, MapReport]:
        if self.order not in (0, 1) or isinstance(self.order, bool):
            raise ValueError(f"order={self.order!r} is not accepted; 0 (steps) and 1 (rectified) are")
        code: Code = _code_of(self.bits, "stochastic")
        activation = make_activation("relu")
        if self.order == 0:
            # 1[t > 0] is itself a code: nothing is lost in one bit.
            activation, code = make_activation("identity"), StepCode([0.0, 1.0], [0.0])

        def maker(law: Projection, _scaling: Scaling, _sample: Callable[[], Any]) -> Recipe:
            k = checked_count(self.n_components)
            return Recipe(law, activation, code, k, k, amplitude=2.0**0.5)

        # gamma = 1/2 is a scale of one.
        in_integers = form_of(activation, code) is not None
        _, _, encoder, report = fit_projected(source, self.projection, 0.5, False, seed, maker, in_integers)
        self.code_ = encoder.code
        return encoder, report


def _code_of(bits: int | None, rounding: str) -> Code:
    """Float storage for None, else a uniform code; its parameters are checked here."""
    if bits is None:
        return FloatCode()
    code = UniformCode(bits, rounding)
    _ = code.layout
    if rounding not in ("stochastic", "nearest"):
        raise ValueError(f"rounding={rounding!r} is not accepted; choose 'stochastic' or 'nearest'")
    return code
