"""TRF Figure 2: K with Gaussian and with Student-t W, and the one K~ of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram import FeatureMap, kernels
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.inspection import EigenvectorDisplay, SpectrumDisplay
from nanogram.projections import StudentT
from nanogram.theory import equivalent_error, equivalent_kernel, gmm_statistics
from nanogram.theory.kernel_error import centred
from papers._kernels import alignment, plot_grid, top_eigenpairs
from papers.item import Finding, Item, Outcome, Record, Size, mean_and_error, select

Floats = npt.NDArray[np.float64]
LAWS: dict[str, Any] = {"gaussian": "gaussian", "student_t": StudentT(df=7), "rademacher": "rademacher"}
#: Columns of one feature map; as many maps are averaged as make up m.
BLOCK = 4096


def features_kernel(X: Floats, law: str, m: int, seed: int) -> Floats:
    """P G P of m relu features with W of a law, from the library's own feature maps."""
    total = np.zeros((len(X), len(X)))
    for block in range(m // BLOCK):
        # gamma = 1/2 leaves rows as they are.
        features = FeatureMap(
            LAWS[law], "relu", "float32", BLOCK, gamma=0.5, output="array", random_state=1000 * seed + block
        )
        Z = features.fit_transform(X)
        total += Z @ Z.T
    return centred(total * BLOCK / m)


def measure(parameters: Mapping[str, Any], seed: int) -> Outcome:
    """Distance of the average over m features to K~, and to the exact kernel of a Gaussian W."""
    p, n, m = parameters["p"], parameters["n"], parameters["m"]
    means, covariances = mixture_parameters(p, "both", mean=4.0, spread=4.0)
    X, y, *_ = make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=seed)
    known = gmm_statistics(X, y, means=means, covariances=list(covariances))
    equivalent = equivalent_kernel(X, y, "relu", statistics=known)
    exact = centred(kernels.of_activation("relu", X - X.mean(axis=0)))
    G = features_kernel(X, parameters["law"], m, seed)
    values, vectors = top_eigenpairs(G, 1)
    others, other_vectors = top_eigenpairs(equivalent, 1)
    size = equivalent_error(exact, np.zeros_like(exact), relative=False)
    found: dict[str, Any] = {
        "error": equivalent_error(G, equivalent, relative=False) / size,
        "error_exact": equivalent_error(exact, equivalent, relative=False) / size,
        "noise": equivalent_error(G, exact, relative=False) / size,
        "top": values[0] / others[0],
        "alignment": alignment(vectors[:, 0], other_vectors[:, 0]),
    }
    if seed == 0:
        found |= {
            "eigenvalues": np.linalg.eigvalsh(G)[::-1],
            "equivalent_eigenvalues": np.linalg.eigvalsh(equivalent)[::-1],
            # Every eighth row: enough to draw.
            "eigenvector": vectors[::8, 0],
            "equivalent_eigenvector": other_vectors[::8, 0],
            "labels": y[::8],
        }
    return Outcome(found["error"], found, G.nbytes)


def findings(records: Sequence[Record]) -> list[Finding]:
    found = []
    for law in ("gaussian", "student_t", "rademacher"):
        own = select(records, law=law)
        if not own:
            continue
        exact, exact_error = mean_and_error([r.values["error_exact"] for r in own])
        drawn, drawn_error = mean_and_error([r.error for r in own])
        angle, angle_error = mean_and_error([r.values["alignment"] for r in own])
        top, top_error = mean_and_error([r.values["top"] for r in own])
        if law == "gaussian":
            found.append(
                Finding(
                    "exact K of Gaussian W: \\|K - K~\\| / \\|K\\|",
                    f"{drawn:.3g} with K averaged over features",
                    exact,
                    exact_error,
                    len(own),
                    exact <= 1.5 * drawn,
                    "within 1.5 x of the averaged K's",
                )
            )
            gaussian = drawn
        found += [
            Finding(
                f"W {law}: \\|G - K~\\| / \\|K\\| of the average over features",
                "close match, whatever the law",
                drawn,
                drawn_error,
                len(own),
                drawn <= 1.5 * gaussian,
                "within 1.5 x of Gaussian W's",
            ),
            Finding(
                f"W {law}: largest eigenvalue over K~'s",
                "close match",
                top,
                top_error,
                len(own),
                abs(top - 1) < 0.05,
                "within 5 %",
                ".4f",
            ),
            Finding(
                f"W {law}: squared cosine of leading eigenvectors",
                "close match",
                angle,
                angle_error,
                len(own),
                angle > 0.95,
                "above .95",
                ".4f",
            ),
        ]
    return found


def plot(records: Sequence[Record]) -> Any:
    laws = [law for law in LAWS if select(records, law=law)]
    figure, axes = plot_grid(2, len(laws), (4.4, 3.0))
    for column, law in enumerate(laws):
        values = next(r for r in select(records, law=law) if r.seed == 0).values
        own, others = (np.array(values[name])[:-1] for name in ("eigenvalues", "equivalent_eigenvalues"))
        display = SpectrumDisplay(
            own, compared=others, isolated=own[:1], spikes=others[:1], name="K", compared_name="K~"
        )
        display.plot(axes[0, column], bins=40, log=False)
        # n - p eigenvalues of K~ are d0: a column that would flatten the rest.
        axes[0, column].set(yscale="log", ylim=(2e-3, 200))
        axes[0, column].set_title(f"W {law}", fontsize=10)
        equivalent = values["equivalent_eigenvector"]
        EigenvectorDisplay(values["eigenvector"], values["labels"], equivalent=equivalent).plot(axes[1, column])
        axes[1, column].set_xlabel("row (every eighth), sorted by class")
    return figure


def _grid(n: int, m: int, laws: Sequence[str]) -> list[dict[str, Any]]:
    return [{"p": 512, "n": n, "m": m, "law": law} for law in laws]


ITEM = Item(
    name="trf-fig2",
    title="TRF Fig. 2: K of ReLU with W of three laws, and its equivalent",
    claim="eigenvalues and leading eigenvector of K and K~ match, for Gaussian and Student-t (7) W, p = 512, n = 2048",
    data="Gaussian mixture as printed; Rademacher W added",
    sizes={
        "quick": Size(_grid(512, 2 * BLOCK, ("gaussian", "student_t")), 1),
        "full": Size(_grid(2048, 8 * BLOCK, tuple(LAWS)), 2),
    },
    measure=measure,
    findings=findings,
    plot=plot,
    remark=(
        "K of a Student-t or Rademacher W has no closed form; it is averaged over 32,768 features, whose noise "
        "is most of "
        "the distance to K~ (the exact K of Gaussian W is the first line)."
    ),
)
