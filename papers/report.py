"""PAPERS.md: what the papers print beside what was measured, made from the committed records alone."""

from __future__ import annotations

import math
from pathlib import Path

from . import items
from .item import Finding, Item, Record
from .runner import FOLDER, records_of

__all__ = ["make_report"]

_HEAD = """# The papers, run again

Made by `python -m papers report` from the records in `results/full`; do not edit by hand. `python -m papers run NAME`
runs an item again (records that are there are kept; delete its file to start afresh), `--size quick` a small one.

A claim *holds* when the rule beside it is met. Standard errors are those of the mean over runs with different seeds,
their number in brackets. Bytes are those of the largest thing held, features or kernel matrices. Seconds were
taken on a machine with other work to do and claim nothing.

| item | what the paper claims | measured (± standard error; runs) | holds | bytes | data | plot |
| --- | --- | --- | --- | ---: | --- | --- |
"""


def make_report(folder: Path = FOLDER) -> str:
    """The text of PAPERS.md."""
    rows, sections = [], []
    for item in items():
        records = records_of(item, "full", folder=folder)
        expected = len(item.sizes["full"].runs())
        if len(records) < expected:
            rows.append(
                f"| {item.name} | {item.claim} | {len(records)} of {expected} runs done | not yet | | {item.data} | |"
            )
            continue
        findings = item.findings(records)
        rows.append(_row(item, records, findings))
        sections.append(_section(item, records, findings))
    return _HEAD + "\n".join(rows) + "\n\n" + "\n".join(sections)


def _row(item: Item, records: list[Record], findings: list[Finding]) -> str:
    held = sum(f.holds for f in findings)
    verdict = "yes" if held == len(findings) else f"{held} of {len(findings)}" if held else "no"
    first = findings[0]
    data = item.data + (f" **Stand-in:** {item.stand_in}." if item.stand_in else "")
    shown = f"{first.claim}: {_number(first)}"
    largest = max(r.bytes for r in records)
    return (
        f"| [{item.name}](#{item.name}) | {item.claim} | {shown} | {verdict} | {largest:,} | {data} | "
        f"[plot](plots/{item.name}.png) |"
    )


def _section(item: Item, records: list[Record], findings: list[Finding]) -> str:
    lines = [f"## {item.name}", "", f"{item.title}. {len(records)} runs, {sum(r.seconds for r in records):.0f} s.", ""]
    lines += ["| claim | printed | measured | holds | rule |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {f.claim} | {f.printed} | {_number(f)} | {'yes' if f.holds else '**no**'} | {f.rule} |" for f in findings
    ]
    remark = item.remark(records) if callable(item.remark) else item.remark
    if remark:
        lines += ["", remark]
    return "\n".join(lines) + "\n"


def _number(finding: Finding) -> str:
    if finding.unit == "%":
        text, error = f"{100 * finding.measured:.2f} %", finding.standard_error
        if error is not None and math.isfinite(error):
            text += f" ± {100 * error:.2f}"
    else:
        text, error = format(finding.measured, finding.unit), finding.standard_error
        if error is not None and math.isfinite(error):
            text += f" ± {error:.1g}"
    return f"{text} ({finding.runs})"
