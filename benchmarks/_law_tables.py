"""Tables and verdicts of `projections.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import _runner
import numpy as np

DENSE = "gaussian"
#: 95 % of Student's t, by seeds.
STUDENT = {3: 4.30, 4: 3.18, 5: 2.78}


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


def verdict(record: dict[str, Any], data: str) -> str:
    """Whether 'auto' loses accuracy to Gaussian projections on these rows, and how fast it is."""
    parts = []
    for feature, auto in record["auto"][data].items():
        own = [c for c in record["accuracy"] if (c["data"], c["feature"]) == (data, feature)]
        one = paired(own, auto)
        gap = f"{100 * one.difference:+.2f} ± {100 * one.paired:.2f}{' LOWER' if one.lower else ''}"
        speed = speed_up(record["time"], data, auto, feature)
        pace = "" if np.isnan(speed) else f", {speed:.1f}x as fast"
        parts.append(f"{feature}: {auto}" + ("" if auto == DENSE else f", {gap}{pace}"))
    return f"- **{data}**. {'; '.join(parts)}."


def lower_cells(record: dict[str, Any], data: str, law: str) -> tuple[int, int, float]:
    """Features (and their mean) on which a law is lower, how many there are, and the greatest mean loss in points."""
    own = [cell for cell in record["accuracy"] if cell["data"] == data]
    groups = [[c for c in own if c["feature"] == name] for name in dict.fromkeys(c["feature"] for c in own)]
    each = [paired(group, law) for group in [*groups, own]]
    return sum(one.lower for one in each), len(each), 100 * max(0.0, *(-one.difference for one in each))


def choice(record: dict[str, Any]) -> list[str]:
    """Laws over groups of data sets: where lower, by how much at most, and how fast."""
    lines, timed = [], list(dict.fromkeys(cell["feature"] for cell in record["time"]))
    for title, names in record["groups"].items():
        table = []
        for law in record["laws"]:
            counts = [lower_cells(record, data, law) for data in names]
            pace = {feature: mean_speed(record["time"], names, law, feature) for feature in timed}
            table.append([
                law, f"{sum(c[0] for c in counts)} of {sum(c[1] for c in counts)}", f"{max(c[2] for c in counts):.2f}",
                *("" if np.isnan(one) else f"{one:.1f}x" for one in pace.values()),
            ])  # fmt: skip
        header = ["law", "lower in", "greatest loss", *(f"speed, {name}" for name in timed)]
        lines += [f"### {title}\n", _runner.markdown_table(header, table)]
    return lines


def speed_up(cells: list[dict[str, Any]], data: str, law: str, feature: str) -> float:
    """Time of Gaussian projections over the law's."""
    name = data.replace("Fashion-MNIST", "MNIST")
    seconds = {c["law"]: c["seconds"]["median"] for c in cells if (c["data"], c["feature"]) == (name, feature)}
    return float(seconds[DENSE] / seconds[law]) if law in seconds else float("nan")


def mean_speed(cells: list[dict[str, Any]], names: list[str], law: str, feature: str) -> float:
    """Geometric mean over the sets that were timed; NaN where none was."""
    found = np.array([speed_up(cells, data, law, feature) for data in names])
    found = found[np.isfinite(found)]
    return float(np.exp(np.mean(np.log(found)))) if len(found) else float("nan")


def markdown(record: dict[str, Any]) -> str:
    """Verdicts first, then the tables."""
    accuracy, timed, settings = record["accuracy"], record["time"], record["settings"]
    measured = list(dict.fromkeys(cell["data"] for cell in accuracy))
    lines = [
        'The evidence behind `projection="auto"`.\n',
        "## Verdicts\n",
        "What `auto` is for each set and feature, the difference of its accuracy to dense Gaussian projections in",
        "percentage points ± standard error over seeds, and its speed relative to theirs.\n",
        *(verdict(record, data) for data in measured),
        "\n## How the choice follows\n",
        "*Lower in*: how many of the features of these sets, and of their means over features, have an accuracy lower",
        "than that of Gaussian projections, beyond 95 % of Student's t over seeds (one in forty by chance).",
        "*Greatest loss*: of a mean, in percentage points. Speed: of `transform`, against Gaussian, geometric mean",
        "over the sets timed (Fashion-MNIST has the times of MNIST).\n",
        *([record["note"] + "\n"] if record.get("note") else []),
        *choice(record),
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
