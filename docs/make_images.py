"""Draw the images of the documentation: ``python docs/make_images.py`` writes docs/images/*.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from nanogram import FeatureMap, theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.inspection import EigenvectorDisplay, MomentsDisplay, SpectrumDisplay

mpl.use("Agg")
FOLDER = Path(__file__).parent / "images"


def main() -> None:
    means, covariances = mixture_parameters(512, "both", mean=6.0, spread=6.0)
    X, y, *_ = make_gaussian_mixture(512, 512, means=means, covariances=covariances, random_state=0)
    known = theory.gmm_statistics(X, y, means=means, covariances=covariances)
    features = FeatureMap(activation="relu", n_components=2048, gamma=0.5, random_state=0).fit(X)
    made = {
        "spectrum": SpectrumDisplay.from_estimator(features, X).plot(),
        "eigenvector": EigenvectorDisplay.from_rows(X, y, "relu", statistics=known, n_draws=50).plot(),
        "moments": MomentsDisplay.from_activations(tau=1.0).plot(),
        "moments_shares": MomentsDisplay.from_activations(tau=1.0, ratio=3.0).plot(scale="shares"),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, display in made.items():
        display.figure_.savefig(FOLDER / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
