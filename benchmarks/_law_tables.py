"""Tables and verdicts of `projections.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import _runner
import numpy as np

DENSE = "gaussian"
#: 95 % of Student's t, by seeds.
STUDENT = {3: 4.30, 4: 3.18}


class Paired(NamedTuple):
    """Mean accuracy, and its difference to Gaussian projections with a standard error over seeds."""

    mean: float
    error: float
    difference: float
    paired: float
    seeds: int

    @property
    def lower(self) -> bool:
        """Whether it is lower than Gaussian, beyond the error (95 %)."""
        return self.difference < -STUDENT[self.seeds] * self.paired


def paired(cells: list[dict[str, Any]], law: str) -> Paired:
    """Over all cells given: a mean for each seed, then over seeds."""
    seeds = sorted({cell["seed"] for cell in cells})

    def by_seed(name: str) -> np.ndarray:
        return np.array([
            np.mean([cell["accuracy"] for cell in cells if cell["law"] == name and cell["seed"] == seed])
            for seed in seeds
        ])  # fmt: skip

    own = by_seed(law)
    gap, root = own - by_seed(DENSE), np.sqrt(len(seeds))
    return Paired(own.mean(), own.std(ddof=1) / root, gap.mean(), gap.std(ddof=1) / root, len(seeds))


def accuracy_tables(cells: list[dict[str, Any]], data: str, laws: list[str]) -> list[str]:
    """One table a number of columns: accuracy of Gaussian projections in percent, differences of the others."""
    lines = []
    for m in sorted({cell["m"] for cell in cells if cell["data"] == data}):
        own = [cell for cell in cells if cell["data"] == data and cell["m"] == m]
        names = list(dict.fromkeys(cell["feature"] for cell in own))
        table = []
        for law in laws:
            each = [paired([cell for cell in own if cell["feature"] == name], law) for name in names]
            together = paired(own, law)
            if law == DENSE:
                shown = [f"{100 * one.mean:.2f} ± {100 * one.error:.2f}" for one in [*each, together]]
            else:
                shown = [
                    ("**{}**" if one.lower else "{}").format(f"{100 * one.difference:+.2f} ± {100 * one.paired:.2f}")
                    for one in [*each, together]
                ]
            table.append([law, *shown])
        lines += [f"m = {m:,}, {together.seeds} seeds\n", _runner.markdown_table(["law", *names, "all"], table)]
    return lines


def time_table(cells: list[dict[str, Any]], data: str) -> list[str]:
    own = [cell for cell in cells if cell["data"] == data]
    names = list(dict.fromkeys(cell["feature"] for cell in own))
    laws = list(dict.fromkeys(cell["law"] for cell in own))
    seconds = {(cell["law"], cell["feature"]): cell["seconds"]["median"] for cell in own}
    table = [[law, *(f"{1e3 * seconds[law, name]:.1f}" for name in names)] for law in laws]
    return [f"### {data}\n", _runner.markdown_table(["ms", *names], table)]


def time_of(cells: list[dict[str, Any]], data: str, law: str) -> float:
    """Geometric mean of the codes' times."""
    name = data.replace("Fashion-MNIST", "MNIST")
    own = [
        c["seconds"]["median"] for c in cells if (c["data"], c["law"]) == (name, law) and "float" not in c["feature"]
    ]
    return float(np.exp(np.mean(np.log(own))))


def verdict(record: dict[str, Any], data: str) -> str:
    """Whether 'auto' loses no accuracy to Gaussian projections, and which law that loses none is the fastest."""
    auto, laws = record["auto"][data], record["laws"]
    groups = {}
    for cell in record["accuracy"]:
        if cell["data"] == data:
            groups.setdefault(cell["m"], []).append(cell)
    by_law = {law: [paired(group, law) for group in groups.values()] for law in laws}
    equal = [law for law in laws if not any(one.lower for one in by_law[law])]
    speed = {law: time_of(record["time"], data, law) for law in laws}
    fastest = min(equal, key=speed.__getitem__)
    gaps = ", ".join(
        f"{100 * one.difference:+.2f} ± {100 * one.paired:.2f} at m = {m:,}"
        for m, one in zip(groups, by_law[auto], strict=True)
    )
    accurate = "it is the yardstick" if auto == DENSE else f"{'not lower' if auto in equal else 'LOWER'} ({gaps})"
    near = speed[auto] <= 1.1 * speed[fastest]
    pace = "the fastest such law, or within 10 % of it" if near else f"{speed[auto] / speed[fastest]:.1f} times as slow"
    return (
        f"- **{data}**: auto is {auto}; {accurate}. {speed[DENSE] / speed[auto]:.1f} times as fast as Gaussian"
        f"{'' if near else f', {pace} as {fastest}'}; fastest law that is not lower: {fastest}."
    )


def markdown(record: dict[str, Any]) -> str:
    """Verdicts first, then the tables."""
    accuracy, timed, settings = record["accuracy"], record["time"], record["settings"]
    measured = list(dict.fromkeys(cell["data"] for cell in accuracy))
    lines = [
        'The evidence behind `projection="auto"`.\n',
        "## Verdicts\n",
        "Differences in percentage points to dense Gaussian projections, mean over all features, ± standard error over",
        "seeds; *lower* means beyond 95 % of Student's t. Times: geometric mean over ternary and 2-bit codes.\n",
        *(verdict(record, data) for data in measured),
        "\n## Accuracy\n",
        f"Ridge classifiers on {settings['train']:,} training rows and {settings['test']:,} test rows (in proportion",
        "where there are fewer), split anew for each seed; gamma and alpha by heldout rows of the first split with",
        "Gaussian projections. First row of a table: accuracy in percent ± standard error over seeds. Others:",
        "difference to it in percentage points, paired by seed, ± its standard error; bold: lower beyond 95 %.\n",
    ]
    for data in measured:
        tau = next(cell["tau"] for cell in accuracy if cell["data"] == data)
        lines += [f"### {data} (tau = {tau:g})\n", *accuracy_tables(accuracy, data, record["laws"])]
    lines += [
        "## Time\n",
        f"Milliseconds to transform {settings['timed_rows']:,} rows to {settings['timed_columns']:,} columns, median",
        f"of {settings['rounds']} rounds (floats: 2).\n",
    ]
    for data in dict.fromkeys(cell["data"] for cell in timed):
        lines += time_table(timed, data)
    return "\n".join(lines)
