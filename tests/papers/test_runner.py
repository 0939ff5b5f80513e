from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from papers import find_item
from papers.__main__ import main
from papers.item import Finding, Item, Outcome, Size, mean_and_error
from papers.records import append_record, key_of, read_records
from papers.runner import MissingDataError, draw, records_of, results_path, run_item

pytest.importorskip("matplotlib").use("Agg")

ROOT = Path(__file__).resolve().parents[2]


class Counted:
    """A measure that remembers its calls and can be told to be interrupted at one of them."""

    def __init__(self, stop_at=None):
        self.calls, self.stop_at = [], stop_at

    def __call__(self, parameters, seed):
        if len(self.calls) == self.stop_at:
            raise KeyboardInterrupt
        self.calls.append((parameters["x"], seed))
        return Outcome(parameters["x"] / (seed + 1), {"series": [0.1, 1 / 3]}, 8)


def _item(measure, **changes):
    def plot(records):
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots()
        ax.plot([r.error for r in records])
        return figure

    made = Item(
        name="test-tiny",
        title="tiny",
        claim="none",
        data="none",
        sizes={"full": Size([{"x": 1.0}, {"x": 2.0}], 2)},
        measure=measure,
        findings=lambda records: [Finding("c", "p", records[0].error, None, 1, True, "always")],
        plot=plot,
    )
    return dataclasses.replace(made, **changes)


def _silent(message):
    del message


def test_runs_the_whole_grid_and_says_how_far_it_is(tmp_path):
    measure, said = Counted(), []
    records = run_item(_item(measure), folder=tmp_path, say=said.append)
    # Seed by seed over the grid.
    assert measure.calls == [(1.0, 0), (2.0, 0), (1.0, 1), (2.0, 1)]
    assert [r.error for r in records] == [1.0, 2.0, 0.5, 1.0]
    assert "4 of 4 runs" in said[-1]
    assert "left" in said[0]
    line = json.loads(results_path(_item(measure), "full", tmp_path).read_text().splitlines()[0])
    assert {"item", "parameters", "seed", "error", "bytes", "seconds", "machine", "values"} <= set(line)
    assert line["seconds"] >= 0
    assert "cores" in line["machine"]


def test_goes_on_where_it_was_stopped(tmp_path):
    first = Counted(stop_at=2)
    with pytest.raises(KeyboardInterrupt):
        run_item(_item(first), folder=tmp_path, say=_silent)
    second, said = Counted(), []
    records = run_item(_item(second), folder=tmp_path, say=said.append)
    assert second.calls == [(1.0, 1), (2.0, 1)]
    assert "2 of 4 runs are there already" in said[0]
    assert len(records) == 4
    third = Counted()
    assert run_item(_item(third), folder=tmp_path, say=_silent) == records
    assert third.calls == []


@pytest.mark.parametrize("kept", [1, 20, -2])
def test_a_line_cut_short_is_run_again(tmp_path, kept):
    item = _item(Counted())
    run_item(item, folder=tmp_path, say=_silent)
    path = results_path(item, "full", tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:3]) + "\n" + lines[3][:kept])
    assert len(records_of(item, "full", folder=tmp_path)) == 3
    again = Counted()
    records = run_item(_item(again), folder=tmp_path, say=_silent)
    assert again.calls == [(2.0, 1)]
    assert len(records) == 4
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [0, 0, 1, 1]


def test_damage_elsewhere_is_an_error(tmp_path):
    item = _item(Counted())
    run_item(item, folder=tmp_path, say=_silent)
    path = results_path(item, "full", tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0][:30], *lines[1:]]) + "\n")
    with pytest.raises(ValueError, match=":1 is no record"):
        run_item(item, folder=tmp_path, say=_silent)
    path.write_text(lines[0].replace("test-tiny", "other") + "\n")
    with pytest.raises(ValueError, match="record of 'other'"):
        read_records(path, item)


def test_records_of_another_revision_are_run_again(tmp_path):
    run_item(_item(Counted()), folder=tmp_path, say=_silent)
    newer = Counted()
    records = run_item(_item(newer, revision=2), folder=tmp_path, say=_silent)
    assert len(newer.calls) == len(records) == 4
    assert len(records_of(_item(newer), "full", folder=tmp_path)) == 4


def test_keys_do_not_depend_on_order_and_values_are_rounded(tmp_path):
    assert key_of({"a": 1, "b": 2.0}, 3) == key_of({"b": 2.0, "a": 1}, 3)
    assert key_of({"a": 1}, 0) != key_of({"a": 1}, 1)
    item = _item(Counted())
    record = run_item(item, folder=tmp_path, say=_silent)[0]
    assert record.values["series"] == [0.1, 0.3333333]
    with pytest.raises(ValueError, match="cannot be a result"):
        append_record(tmp_path / "x.jsonl", item, dataclasses.replace(record, error=float("nan")))


def test_missing_data_and_unknown_sizes_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("papers.runner.datasets.available", dict)
    with pytest.raises(MissingDataError, match="needs mnist"):
        run_item(_item(Counted(), needs=("mnist",)), folder=tmp_path, say=_silent)
    with pytest.raises(ValueError, match="size='huge'"):
        run_item(_item(Counted()), "huge", folder=tmp_path, say=_silent)
    with pytest.raises(ValueError, match="is no item"):
        find_item("spectrum-fig99")


def test_stand_ins_are_named_in_the_plot(tmp_path):
    item = _item(Counted(), stand_in="digits for TIMIT")
    seen = []

    def plot(records):
        import matplotlib.pyplot as plt

        seen.append(plt.figure())
        return seen[0]

    path = draw(dataclasses.replace(item, plot=plot), run_item(item, folder=tmp_path, say=_silent), tmp_path)
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert "digits for TIMIT" in seen[0].get_suptitle()


def test_one_item_end_to_end_from_the_command_line(tmp_path, capsys):
    assert main(["run", "spectrum-fig2", "--size", "quick", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / "results" / "quick" / "plots" / "spectrum-fig2.png").stat().st_size > 5000
    records = records_of(find_item("spectrum-fig2"), "quick", folder=tmp_path)
    # Theorem 1 at p = 512: .0206 +- .0004 over seeds, and eigenvectors that coincide.
    assert all(0.01 < r.error < 0.04 for r in records)
    assert all(r.values["alignment"] > 0.999 for r in records)
    before = results_path(find_item("spectrum-fig2"), "quick", tmp_path).read_bytes()
    assert main(["run", "spectrum-fig2", "--size", "quick", "--folder", str(tmp_path)]) == 0
    assert "2 of 2 runs are there already" in capsys.readouterr().err
    assert results_path(find_item("spectrum-fig2"), "quick", tmp_path).read_bytes() == before


def test_the_command_line_refuses_what_it_does_not_know(tmp_path, capsys):
    assert main(["run", "nothing", "--folder", str(tmp_path)]) == 2
    assert "is no item" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run"])
    assert main(["plot", "spectrum-fig2", "--size", "quick", "--folder", str(tmp_path)]) == 2


def test_listing_from_a_shell():
    done = subprocess.run(
        [sys.executable, "-m", "papers", "list"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names[:3] == ["spectrum-fig1", "spectrum-fig2", "spectrum-fig3"]
    assert {f"spectrum-table{k}" for k in range(1, 6)} <= set(names)
    assert {"trf-fig2", "trf-remark4"} <= set(names)


def test_mean_and_error():
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)
