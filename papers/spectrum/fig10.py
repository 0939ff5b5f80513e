"""SPECTRUM Figure 10: leading eigenvector on EEG B/E, ReLU."""

from __future__ import annotations

from papers.item import Item

from . import _real

ITEM = Item(
    name="spectrum-fig10",
    title="SPECTRUM Fig. 10: leading eigenvector on EEG B/E, ReLU",
    claim="the leading eigenvector on EEG B/E is that of the Gaussian mixture, within its standard deviation",
    data="Bonn EEG sets B and E, T = 128; rows as in spectrum-table3",
    sizes=_real.sizes_of("eeg"),
    measure=_real.measure_eigenvector,
    findings=_real.eigenvector_findings,
    plot=_real.eigenvector_plot,
    remark=_real.eeg_eigenvector_remark,
    needs=("eeg",),
)
