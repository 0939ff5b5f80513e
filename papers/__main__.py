"""Command line: ``python -m papers list | run | plot | report``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import find_item, item_names
from .report import make_report
from .runner import FOLDER, MissingDataError, draw, records_of, run_item


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status is 0 when all was done, 2 when data are missing, 130 when stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m papers", description="Figures and tables of the papers, run again."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="names and titles of the items")
    for name, words in (("run", "run what is missing, then plot"), ("plot", "draw again from the records")):
        command = commands.add_parser(name, help=words)
        command.add_argument("items", nargs="*", help="names; all of them with --all")
        command.add_argument("--all", action="store_true")
        command.add_argument("--size", choices=("quick", "full"), default="full")
        command.add_argument("--folder", type=Path, default=FOLDER, help="where results and plots go")
    report = commands.add_parser("report", help="write PAPERS.md from the records")
    report.add_argument("--check", action="store_true", help="say whether PAPERS.md is what the records give")
    options = parser.parse_args(arguments)
    if options.command == "list":
        for name in item_names():
            print(f"{name:20} {find_item(name).title}")
        return 0
    if options.command == "report":
        return _report(options.check)
    if bool(options.items) == options.all:
        parser.error("give names of items, or --all")
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    status = 0
    for name in item_names() if options.all else options.items:
        try:
            item = find_item(name)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
        try:
            if options.command == "run":
                records = run_item(item, options.size, folder=options.folder)
            else:
                records = records_of(item, options.size, folder=options.folder)
        except MissingDataError as error:
            print(error, file=sys.stderr)
            status = 2
            continue
        except KeyboardInterrupt:
            print(f"\nstopped; the same command goes on where {name} was", file=sys.stderr)
            return 130
        if not records:
            print(f"{name}: no records of size {options.size}", file=sys.stderr)
            status = 2
            continue
        # Plots of the quick size stay beside its results, out of the way of the committed ones.
        folder = options.folder / "results" / "quick" if options.size == "quick" else options.folder
        print(draw(item, records, folder))
    return status


def _report(check: bool) -> int:
    path, text = FOLDER / "PAPERS.md", make_report()
    if check:
        same = path.exists() and path.read_text(encoding="utf-8") == text
        print(
            "PAPERS.md is what the records give"
            if same
            else "PAPERS.md is not what the records give; run: python -m papers report"
        )
        return 0 if same else 1
    path.write_text(text, encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
