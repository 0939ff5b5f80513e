"""Settings every test shares."""

from __future__ import annotations

import os

# Before the compiled core loads OpenMP: threads that wait must not spin, or tests that share two cores take minutes.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from hypothesis import HealthCheck, settings

# No deadline: two busy cores make any wall-clock limit on one example a coin toss.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples on every run: a red run can be repeated, a green one means the same tomorrow.
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))
