"""What every activation offers: the function, its Gaussian kernel and its Gaussian moments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Activation", "Array", "Floats", "Moments", "Sum", "checked_tau", "cosine"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Moments(NamedTuple):
    """The three numbers through which an activation enters the spectrum (SPECTRUM Theorem 1, TRF Theorem 1)."""

    d0: float
    d1: float
    d2: float


class Activation:
    """A function s together with its kernel and moments under Gaussian projections.

    With w ~ N(0, I) and z ~ N(0, 1):

        kernel(x, y)       = E[s(w.x) s(w.y)]
        mean(tau)          = E[s(sqrt(tau) z)]
        second_moment(tau) = E[s(sqrt(tau) z)^2], the kernel's diagonal at |x|^2 = tau
        d1 = E[s'(sqrt(tau) z)]^2,  d2 = E[s''(sqrt(tau) z)]^2 / 4,  d0 = Var[s(sqrt(tau) z)] - tau d1

    An activation may give several features a projection (``n_outputs``); kernels, moments and
    variances are then sums over them. Where ``uses_phase`` is true the projection carries a bias
    uniform on [0, 2 pi), already part of the argument ``t``; kernels are averaged over it, and so
    are ``variance`` and the moments, which are taken over the projection at a fixed phase.

    Parameters are kept as given and read by ``get_params``, so that activations are cloned,
    compared and searched over in the manner of scikit-learn.
    """

    #: The name that `make_activation` knows it by.
    name: str = ""
    #: Features (columns) a projection.
    n_outputs: int = 1
    #: True where the projection must carry a bias uniform on [0, 2 pi).
    uses_phase: bool = False

    # ------------------------------------------------------------------ for each activation to fill in

    def _apply(self, t: Array, out: Array) -> None:
        """Write s(t) to ``out``; ``out`` may be ``t`` when there is one output."""
        raise NotImplementedError

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        """The kernel from squared norms and dot products, elementwise."""
        raise NotImplementedError

    def _moments(self, tau: float) -> tuple[float, float, float]:
        raise NotImplementedError

    def _mean(self, tau: float) -> tuple[float, ...]:
        """One mean for each output."""
        raise NotImplementedError

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        """E[s(sqrt(tau) z)^2], elementwise in tau >= 0: the diagonal of the kernel."""
        raise NotImplementedError

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where s has a kink or a jump, increasing; integrals are split there."""
        return ()

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value of s (infinite when unbounded or unknown)."""
        return (-np.inf, np.inf)

    # ------------------------------------------------------------------ the function

    def __call__(self, t: npt.ArrayLike, out: Array | None = None) -> Any:
        """Evaluate s, in float32 for float32 (and float16) arguments, in float64 otherwise.

        With k = ``n_outputs`` > 1 the last axis grows k-fold: all columns of the first output, then
        all of the second, and so on. ``out`` receives the result; it may be ``t`` itself for k = 1.
        """
        t = np.asarray(t)
        if t.dtype not in (np.float32, np.float64):
            t = t.astype(np.float32 if t.dtype == np.float16 else np.float64)
        shape = t.shape
        if self.n_outputs > 1:
            t = np.atleast_1d(t)
            shape = (*t.shape[:-1], t.shape[-1] * self.n_outputs)
        if out is None:
            out = np.empty(shape, dtype=t.dtype)
        elif out.shape != shape:
            raise ValueError(f"out has shape {out.shape}; {self!r} of a {t.shape} array needs {shape}")
        self._apply(t, out)
        return out if out.ndim else out[()]

    # ------------------------------------------------------------------ the kernel

    def kernel_from_dots(self, xx: npt.ArrayLike, xy: npt.ArrayLike, yy: npt.ArrayLike) -> Floats:
        """E[s(w.x) s(w.y)] from |x|^2, x.y and |y|^2, in float64.

        For a matrix ``xy`` (n, k), ``xx`` may be (n,) and ``yy`` (k,); otherwise the three broadcast.
        A row of zeros gives s(0), as it does in the features.

        Examples
        --------
        >>> from nanogram.activations import make_activation
        >>> make_activation("relu").kernel_from_dots(1.0, [1.0, 0.0, -1.0], 1.0).round(6) + 0.0
        array([0.5     , 0.159155, 0.      ])
        """
        xx, xy, yy = (np.asarray(a, dtype=np.float64) for a in (xx, xy, yy))
        if xy.ndim == 2 and xx.ndim == 1:
            xx = xx[:, None]
        if xy.ndim == 2 and yy.ndim == 1:
            yy = yy[None, :]
        return self._kernel(xx, xy, yy)

    def kernel(self, X: Any, Y: Any = None) -> Array:
        """The kernel matrix of rows X against rows Y (X when None); see `nanogram.kernels.of_activation`."""
        # kernels.py is built on this module.
        from nanogram.kernels import of_activation

        return of_activation(self, X, Y)

    # ------------------------------------------------------------------ the moments

    def moments(self, tau: float) -> Moments:
        """(d0, d1, d2) at tau = mean squared row norm; several outputs add.

        Examples
        --------
        >>> from nanogram.activations import make_activation
        >>> make_activation("quadratic").moments(2.0)
        Moments(d0=8.0, d1=0.0, d2=1.0)
        """
        return Moments(*(float(d) for d in self._moments(checked_tau(tau))))

    def means(self, tau: float) -> tuple[float, ...]:
        """E[s(sqrt(tau) z)] of each output."""
        return tuple(float(m) for m in self._mean(checked_tau(tau)))

    def mean(self, tau: float) -> float:
        """E[s(sqrt(tau) z)] of an activation with one output."""
        if self.n_outputs != 1:
            raise TypeError(f"{self!r} has {self.n_outputs} outputs, each with its mean: use means(tau)")
        return self.means(tau)[0]

    def variance(self, tau: float) -> float:
        """Var[s(sqrt(tau) z)] = d0 + tau d1; several outputs add."""
        d0, d1, _ = self.moments(tau)
        return d0 + tau * d1

    # ------------------------------------------------------------------ building

    @staticmethod
    def of(
        function: Callable[[Array], Array],
        kinks: Iterable[float] = (),
        jumps: Iterable[float] = (),
        name: str | None = None,
    ) -> Activation:
        """An activation from any vectorised function; kernel and moments by quadrature.

        Integrals are split at the declared ``kinks`` (the slope breaks) and ``jumps`` (the value
        breaks). Others are found by bisection: a panel on which the Gauss-Legendre rule disagrees
        with itself on the two halves is halved until it agrees or is 2^-44 of its first width. Only
        a feature narrower than about 1/100 of the projections' standard deviation can be missed, so
        declare those.

        Examples
        --------
        >>> import numpy as np
        >>> from nanogram.activations import Activation
        >>> hinge = Activation.of(lambda t: np.maximum(t - 1, 0), kinks=[1.0], name="hinge")
        >>> d0, d1, d2 = hinge.moments(1.0)
        >>> round(d1, 6)  # Q(1)^2
        0.025171
        """
        # _user.py is built on this module.
        from ._user import UserActivation

        return UserActivation(function, tuple(kinks), tuple(jumps), name)

    def __add__(self, other: Activation) -> Sum:
        """The features of both, side by side: kernels and moments add."""
        if not isinstance(other, Activation):
            return NotImplemented
        return Sum((self, other))

    # ------------------------------------------------------------------ parameters

    @classmethod
    def _parameter_names(cls) -> list[str]:
        if cls.__init__ is object.__init__:
            return []
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters, as scikit-learn's ``get_params``; none of them has parameters of its own."""
        del deep
        return {name: getattr(self, name if name != "name" else "_given_name") for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place and return the activation."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {known}")
            setattr(self, name if name != "name" else "_given_name", value)
        return self

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({inside})"

    def _frozen(self) -> tuple[Any, ...]:
        return tuple((name, _frozen(value)) for name, value in self.get_params().items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Activation):
            return NotImplemented
        return type(self) is type(other) and self._frozen() == other._frozen()

    def __hash__(self) -> int:
        return hash((type(self), self._frozen()))


class Sum(Activation):
    """Several activations of one projection, their features side by side.

    Examples
    --------
    >>> from nanogram.activations import make_activation
    >>> pair = make_activation("cos + sin")
    >>> pair.n_outputs, [round(d, 6) for d in pair.moments(1.0)]
    (2, [0.264241, 0.367879, 0.09197])
    """

    name = "sum"

    def __init__(self, terms: tuple[Activation, ...]) -> None:
        self.terms = terms

    @property
    def flat(self) -> tuple[Activation, ...]:
        """The terms with sums among them opened up."""
        if not self.terms:
            raise ValueError("terms is empty; Sum takes one activation or more")
        flat = tuple(a for term in self.terms for a in (term.flat if isinstance(term, Sum) else (term,)))
        if len({a.uses_phase for a in flat}) > 1:
            raise ValueError(f"terms mix activations with and without a random phase: {flat}")
        return flat

    @property
    def n_outputs(self) -> int:  # type: ignore[override]  # a class constant elsewhere
        return sum(a.n_outputs for a in self.flat)

    @property
    def uses_phase(self) -> bool:  # type: ignore[override]  # a class constant elsewhere
        return self.flat[0].uses_phase

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({b for a in self.flat for b in a.breaks}))

    @property
    def bounds(self) -> tuple[float, float]:
        lower, upper = zip(*(a.bounds for a in self.flat), strict=True)
        return min(lower), max(upper)

    def _apply(self, t: Array, out: Array) -> None:
        if np.may_share_memory(t, out) and self.n_outputs > 1:
            t = t.copy()
        width, start = t.shape[-1] if t.ndim else 1, 0
        for a in self.flat:
            stop = start + width * a.n_outputs
            a._apply(t, out[..., start:stop])
            start = stop

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        return np.asarray(sum(a._kernel(xx, xy, yy) for a in self.flat))

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.asarray(sum(a.second_moment(tau) for a in self.flat))

    def _moments(self, tau: float) -> tuple[float, float, float]:
        d0, d1, d2 = (sum(d) for d in zip(*(a._moments(tau) for a in self.flat), strict=True))
        return d0, d1, d2

    def _mean(self, tau: float) -> tuple[float, ...]:
        return tuple(m for a in self.flat for m in a._mean(tau))


def checked_tau(tau: float) -> float:
    """``tau`` as a float, positive and finite."""
    if not (np.ndim(tau) == 0 and np.isfinite(tau) and tau > 0):
        raise ValueError(f"tau={tau!r} is not a mean squared row norm; it must be a positive, finite number")
    return float(tau)


def cosine(xx: Floats, xy: Floats, yy: Floats) -> tuple[Floats, Floats]:
    """The cosine of the angle, clipped to [-1, 1] and 0 for rows of zeros, and |x||y|."""
    product = xx * yy
    # The root of a rounded square is exact, so that equal rows have cs = 1; products that leave the range go by roots.
    safe = (product > 1e-290) & (product < 1e290)
    norms = np.where(safe, np.sqrt(product), np.sqrt(xx) * np.sqrt(yy))
    cs = np.divide(xy, norms, out=np.zeros(np.broadcast_shapes(np.shape(xy), np.shape(norms))), where=norms > 0)
    return np.clip(cs, -1.0, 1.0, out=cs), norms


def _frozen(value: Any) -> Any:
    """A hashable stand-in for a parameter: arrays and lists as tuples."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(_frozen(v) for v in value) if isinstance(value, (list, tuple)) else value
