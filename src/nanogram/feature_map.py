"""`FeatureMap`: projection x activation x code, rows in, packed codes out.

    Z = code( activation( X W^T + b ) / sqrt(k) ),    Z Z^T approaches the kernel of the activation

with k the number of projections. For designed step codes the two agree after centring, up to a ridge (`report_`).
The named maps of `nanogram.presets` are thin presets of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._maps.base import BaseMap
from ._maps.designed import design_for_rows, target_of
from ._maps.encoder import Encoder
from ._maps.epilogues import form_of
from ._maps.projected import fit_projected, refuse_undesigned_law
from ._maps.recipe import Recipe, checked_flag, projections_for, with_range
from ._maps.report import MapReport
from ._maps.scaling import Scaling
from .activations import make_activation
from .codes import StepCode, make_code
from .projections.base import Projection
from .rows import RowSource

__all__ = ["FeatureMap"]


class FeatureMap(BaseMap):
    """Random features: rows are projected, an activation is applied, and the values are encoded.

    Parameters
    ----------
    projection : str or Projection, default="gaussian"
        A law of `nanogram.projections` by name or as an object, such as ``Ternary(sparsity=0.9)``; or ``"auto"``.
    activation : str, Activation or callable, default="cos_phase"
        As `nanogram.activations.make_activation` takes it. ``"cos_phase"`` and ``"cos_sin"`` have the Gaussian
        kernel ``exp(-gamma |x - y|^2)``; with Cauchy projections the Laplacian ``exp(-gamma |x - y|_1)``.
    code : str, int or Code, default="float32"
        ``"float32"``, ``"float16"``, a number of bits (`UniformCode`, stochastically rounded), ``"binary"``,
        ``"ternary"``, or an object of `nanogram.codes`. A `UniformCode` without a range of its own gets that of
        the activation or, where it has no bounds, the range of least kernel error on rows of fit. A `StepCode`
        with a number of levels is designed for the rows: behind ``"cos_phase"`` a periodic code, behind
        ``"identity"`` thresholds on the projections with the kernel of 'rbf', else a code with the activation's kernel.
    n_components : int, default=1024
        Columns of the output. Activations of several columns a projection: all of the first, then all of the
        second; what is beyond ``n_components`` is left out.
    gamma : float, "scale" or "median", default="scale"
        Rows are scaled by sqrt(2 gamma) (by gamma for Cauchy projections). ``"scale"`` makes their mean squared
        norm, centred, tau = 1; ``"median"`` is 1 over twice the square of the median distance.
    center : bool, default=True
        Take the column means off. Without effect on the kernels of cos_phase and cos_sin; others are then kernels
        of the centred rows, as the theory has them.
    output : {"codes", "array"}, default="codes"
        Packed codes (`CodeMatrix`), or the float32 array that they decode to.
    random_state : int, RandomState or None, default=None
        Draws W, phases and rounding noise.
    salt : int, default=0
        Another salt, other rounding noise for the same rows (an epoch); may be changed after fit.

    Attributes
    ----------
    code_ : Code
        The code of the features, scale included.
    gamma_, tau_ : float
        The bandwidth as a number; mean squared norm of the centred rows times 2 gamma.
    design_ : StepDesign or None
        What `theory.design_step_code` said, for a designed code.
    report_ : MapReport
        The path taken, bytes, firing probabilities, saturation.
    seed_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where rows have names

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import FeatureMap
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> Z = FeatureMap(code=4, n_components=2048, random_state=0).fit_transform(X)
    >>> Z.shape, Z.bits, Z.nbytes
    ((100, 2048), 4, 114688)
    >>> from nanogram import kernels
    >>> bool(np.abs(Z @ Z.T - kernels.rbf(X, gamma="scale")).max() < 0.15)
    True
    """

    def __init__(
        self,
        projection: str | Projection = "gaussian",
        activation: Any = "cos_phase",
        code: Any = "float32",
        n_components: int = 1024,
        gamma: float | str = "scale",
        *,
        center: bool = True,
        output: str = "codes",
        random_state: Any = None,
        salt: int = 0,
    ) -> None:
        self.projection = projection
        self.activation = activation
        self.code = code
        self.n_components = n_components
        self.gamma = gamma
        self.center = center
        self.output = output
        self.random_state = random_state
        self.salt = salt

    def _fit_rows(self, source: RowSource, seed: int) -> tuple[Encoder, MapReport]:
        activation, code = make_activation(self.activation), make_code(self.code)

        def maker(law: Projection, scaling: Scaling, sample: Callable[[], Any]) -> Recipe:
            if not isinstance(code, StepCode) or code.designed:
                k = projections_for(self.n_components, activation)
                return Recipe(law, activation, with_range(code, activation), self.n_components, k)
            refuse_undesigned_law(law, code)
            target, kind = target_of(activation, code.n_levels)
            k = projections_for(self.n_components, make_activation("identity"))
            design = design_for_rows(target, code.n_levels, kind, scaling, sample, k)
            applied = make_activation(design.activation)
            return Recipe(law, applied, design.to_code(code.storage), k, k, design=design)

        center = checked_flag(self.center, "center")
        designed = isinstance(code, StepCode) and not code.designed
        in_integers = designed or form_of(activation, with_range(code, activation)) is not None
        recipe, scaling, encoder, report = fit_projected(
            source, self.projection, self.gamma, center, seed, maker, in_integers
        )
        self.code_, self.design_ = encoder.code, recipe.design
        self.gamma_, self.tau_ = scaling.gamma, scaling.tau
        return encoder, report
