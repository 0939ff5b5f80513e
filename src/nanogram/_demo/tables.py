"""Markdown tables of the measurements."""

from __future__ import annotations

from collections.abc import Sequence

from .measure import Line

__all__ = ["main_table", "markdown", "product_table"]


def main_table(first: Line, lines: Sequence[Line], baseline: str) -> str:
    """Bytes, times to encode and to train, and accuracy, beside the baseline's."""
    header = ["features", "MB", "of float32", "encode, ms", "train, ms", "accuracy"]
    rows = [header, [baseline, _mb(first), "1", f"{first.encode:.0f}", f"{first.fit:.0f}", _percent(first)]]
    for line in lines:
        share = f"1/{first.nbytes / line.nbytes:.0f}" if first.nbytes > line.nbytes * 1.5 else "1"
        times = (_with_ratio(line.encode, first.encode, 0), _with_ratio(line.fit, first.fit, 0))
        rows.append([line.name, _mb(line), share, *times, _percent(line)])
    return markdown(rows)


def product_table(first: Line, lines: Sequence[Line], baseline: str) -> str:
    """Times of the products, beside the baseline's, and their error."""
    rows = [["Z stored as", "Z @ v, ms", "Z.T @ r, ms", "Z.T @ Z, ms", "error of Z @ v"]]
    rows.append([baseline, f"{first.matvec:.2f}", f"{first.rmatvec:.2f}", f"{first.gram:.0f}", f"{first.error:.0e}"])
    for line in lines:
        pairs = ((line.matvec, first.matvec, 2), (line.rmatvec, first.rmatvec, 2), (line.gram, first.gram, 0))
        rows.append([line.name, *(_with_ratio(*pair) for pair in pairs), f"{line.error:.0e}"])
    return markdown(rows)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The first row as header, the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    text = [
        "| "
        + " | ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        + " |"
        for row in rows
    ]
    rule = "| " + " | ".join("-" * (w - 1) + ":" if i else "-" * w for i, w in enumerate(widths)) + " |"
    return "\n".join([text[0], rule, *text[1:]])


def _mb(line: Line) -> str:
    return f"{line.nbytes / 1e6:.1f}"


def _percent(line: Line) -> str:
    return f"{100 * line.accuracy:.1f} %"


def _with_ratio(ours: float, theirs: float, digits: int) -> str:
    return f"{ours:.{digits}f} ({theirs / ours:.1f}x)"
