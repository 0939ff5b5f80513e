"""SPECTRUM Figure 8: leading eigenvector on MNIST 6/8, ReLU."""

from __future__ import annotations

from papers.item import Item

from . import _real

ITEM = Item(
    name="spectrum-fig8",
    title="SPECTRUM Fig. 8: leading eigenvector on MNIST 6/8, ReLU",
    claim="the leading eigenvector on MNIST 6/8 is that of the Gaussian mixture, within its standard deviation",
    data="MNIST 6 and 8, T = 128; statistics of all 11,769 training images",
    sizes=_real.sizes_of("mnist", seeds=3),
    measure=_real.measure_eigenvector,
    findings=_real.eigenvector_findings,
    plot=_real.eigenvector_plot,
    needs=("mnist",),
)
