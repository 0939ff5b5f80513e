"""SPECTRUM Figure 7: eigenvalues on MNIST 6/8, ReLU."""

from __future__ import annotations

from papers.item import Item

from . import _real

ITEM = Item(
    name="spectrum-fig7",
    title="SPECTRUM Fig. 7: eigenvalues on MNIST 6/8, ReLU",
    claim="eigenvalues of K on MNIST 6/8 and of K~ are extremely close",
    data="MNIST 6 and 8, T = 128; statistics of all 11,769 training images",
    sizes=_real.sizes_of("mnist"),
    measure=_real.measure_spectrum,
    findings=_real.spectrum_findings,
    plot=_real.spectrum_plot,
    needs=("mnist",),
)
