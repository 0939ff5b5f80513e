"""Figures and tables of the papers, run again: one file an item, one small runner (`python -m papers`).

item.py      what an item is: data, grid, seeds, measure, findings, plot
records.py   results as JSON lines, one record a run
runner.py    runs what is missing, shows progress and time left
report.py    PAPERS.md from the committed results
spectrum/ trf/ ...    the items, a file each, with ``ITEM`` in it
"""

from __future__ import annotations

import importlib
from pathlib import Path

from .item import Item

__all__ = ["find_item", "item_names", "items"]

FOLDER = Path(__file__).resolve().parent


def _modules() -> dict[str, str]:
    """Item name to module: ``spectrum/fig1.py`` is ``spectrum-fig1``; files that begin with _ are shared code."""
    paths = sorted(FOLDER.glob("*/*.py"), key=_order)
    return {f"{p.parent.name}-{p.stem}": f"papers.{p.parent.name}.{p.stem}" for p in paths if p.stem[0] != "_"}


def _order(path: Path) -> tuple[str, str, int]:
    stem = path.stem.rstrip("0123456789")
    return path.parent.name, stem, int(path.stem[len(stem) :] or 0)


def item_names() -> list[str]:
    """Names of all items, paper by paper."""
    return list(_modules())


def find_item(name: str) -> Item:
    """The item of a name such as 'spectrum-table4'."""
    modules = _modules()
    if name not in modules:
        raise ValueError(f"name={name!r} is no item; items are {', '.join(modules)}")
    item = importlib.import_module(modules[name]).ITEM
    if not isinstance(item, Item) or item.name != name:
        raise TypeError(f"{modules[name]}.ITEM must be an Item named {name!r}")
    return item


def items() -> list[Item]:
    """All items."""
    return [find_item(name) for name in item_names()]
