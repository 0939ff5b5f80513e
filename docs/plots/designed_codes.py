"""Designed codes for the Gaussian kernel: the functions, and what they spend beyond the Hermite bound."""

import matplotlib.pyplot as plt
import numpy as np

from nanogram import theory

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), constrained_layout=True)

t = np.linspace(-3.5, 3.5, 2001)
for offset, levels in enumerate((2, 3, 4)):
    design = theory.design_step_code("rbf", 1.0, levels, kind="free" if levels == 4 else "monotone")
    left.step(t, design.as_activation()(t), where="mid", label=f"{levels} levels", color=f"C{offset}")
wave = theory.design_step_code("rbf", 1.0, 3, kind="periodic")
left.step(t, wave.as_activation()(t), where="mid", label="3 levels, periodic", color="C3", linestyle=":")
left.set(xlabel="t = w·x (periodic: t + phase)", ylabel="code", title="Gaussian kernel, tau = 1")
left.legend(fontsize="small")

taus = np.geomspace(0.05, 4.0, 40)
for offset, levels in enumerate((2, 3, 4)):
    kind = "free" if levels == 4 else "monotone"
    designs = [theory.design_step_code("rbf", tau, levels, kind=kind) for tau in taus]
    ratio = [(d.moments.d0 + d.tau * d.moments.d1) / (d.hermite_bound + d.tau * d.moments.d1) for d in designs]
    right.plot(taus, ratio, label=f"{levels} levels", color=f"C{offset}")
right.axhline(1.0, color="black", linewidth=0.8, label="Hermite bound")
right.set(xscale="log", xlabel="tau", ylabel="variance / least possible", title="What is spent on noise")
right.legend(fontsize="small")
