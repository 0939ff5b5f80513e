"""SPECTRUM Figure 9: eigenvalues on EEG B/E, ReLU."""

from __future__ import annotations

from papers.item import Item

from . import _real

ITEM = Item(
    name="spectrum-fig9",
    title="SPECTRUM Fig. 9: eigenvalues on EEG B/E, ReLU",
    claim="eigenvalues of K on EEG B/E and of K~ are extremely close",
    data="Bonn EEG sets B and E, T = 128; rows as in spectrum-table3",
    sizes=_real.sizes_of("eeg"),
    measure=_real.measure_spectrum,
    findings=_real.spectrum_findings,
    plot=_real.spectrum_plot,
    remark=_real.eeg_spectrum_remark,
    needs=("eeg",),
)
