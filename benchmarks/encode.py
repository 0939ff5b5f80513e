"""Rows to packed codes against float32 pipelines, in one process, cold caches, interleaved, medians.

    python benchmarks/encode.py                          20,000 rows to 10,000 columns, p = 54, 123, 784, 1280
    python benchmarks/encode.py --p 784 --group ternary  one width, one group (ternary, fourier, memory, latency)
    python benchmarks/encode.py --quick                  2,000 x 1,024, seconds; shows that it runs, says little
    python benchmarks/encode.py --isa avx2               as on a machine without AVX-512

Every map is measured through its public `transform`, at the grid it chooses by itself (12 bits of rows for unstructured
projections, up to 16 for Hadamard). Beside it stand NumPy's float32 ``X @ W.T`` alone, which has made no feature
yet, scikit-learn's RBFSampler, PolynomialCountSketch and Nystroem, and PyTorch where it is installed. Results of
single parts (``--p``, ``--group``) are merged into the files that are there, so that a run can be made in pieces; each
part keeps the command, date, commit and limits of its own run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import _runner

_runner.quiet_blas()

import _encode_parts as parts

from nanogram import FeatureMap, FourierFeatures, ops
from nanogram.codes import StepCode
from nanogram.projections import Hadamard, Ternary

WIDTHS = (54, 123, 784, 1280)
GROUPS = ("ternary", "fourier", "memory", "latency")


class Case(NamedTuple):
    """A map, and the ratios asked of it at some widths: to ``X @ W.T``, and to `RBFSampler`."""

    group: str
    name: str
    make: Callable[[int], Any]
    asked: dict[int, tuple[float, float]] = {}  # noqa: RUF012


def _ternary(law: Any) -> Callable[[int], Any]:
    code = StepCode(levels=[-1.0, 0.0, 1.0], thresholds=[-0.6, 0.6])
    return lambda m: FeatureMap(law, "identity", code, n_components=m, random_state=0)


def _fourier(law: Any, bits: int, rounding: str = "stochastic") -> Callable[[int], Any]:
    return lambda m: FourierFeatures(m, bits=bits, rounding=rounding, projection=law, random_state=0)


def cases() -> list[Case]:
    """All maps of the comparison."""
    asked_rounds: dict[int, dict[int, tuple[float, float]]] = {3: {784: (35, 60), 54: (6.5, 50)}, 1: {784: (90, 150)}}
    table: dict[int, tuple[float, float]] = {784: (4.2, 7.5)}
    listed = [
        Case("ternary", f"ternary, Hadamard, {r} round{'s' * (r > 1)}", _ternary(Hadamard(r)), asked_rounds.get(r, {}))
        for r in (1, 2, 3)
    ]
    listed += [
        Case("ternary", "ternary, sparse W, eps .9", _ternary(Ternary(0.9)), {784: (11, 19)}),
        Case("ternary", "ternary, trits W, eps .5", _ternary(Ternary(0.5)), table),
        Case("ternary", "ternary, Ternary(0) W", _ternary(Ternary(0.0)), table),
        Case("ternary", "ternary, Rademacher W", _ternary("rademacher"), table),
        Case("ternary", "ternary, Gaussian W", _ternary("gaussian")),
        Case("ternary", "ternary, circulant W", _ternary("circulant")),
    ]
    for law, name in (("hadamard", "Hadamard"), ("rademacher", "Rademacher W"), ("gaussian", "Gaussian W")):
        asked = (26.0, 45.0) if law == "hadamard" else (3.5, 6.0)
        for bits in (1, 2, 4, 8, 16):
            listed.append(
                Case("fourier", f"Fourier, {name}, {bits} bits", _fourier(law, bits), {784: asked} if bits <= 8 else {})
            )
    listed += [
        Case("fourier", "Fourier, Hadamard, 1 bit, nearest", _fourier("hadamard", 1, "nearest"), {784: (26, 45)}),
        Case("fourier", "Fourier, Hadamard, 8 bits, nearest", _fourier("hadamard", 8, "nearest"), {784: (26, 45)}),
    ]
    listed += [
        Case("fourier", f"Fourier, circulant W, {bits} bits", _fourier("circulant", bits)) for bits in (1, 2, 4, 8, 16)
    ]
    return listed


def measure_width(p: int, group: str, shape: tuple[int, int], rounds: int) -> dict[str, Any]:
    """Every map of a group at one width, its peers in the same rounds."""
    n, m = shape
    X = parts.rows(n, p)
    chosen = [case for case in cases() if case.group == group]
    maps = {case.name: case.make(m).fit(X[: min(n, 2048)]) for case in chosen}
    calls: dict[str, Callable[[], object]] = dict(parts.peers(X, m))
    calls |= {name: partial(one.transform, X) for name, one in maps.items()}
    if group == "ternary":
        # A choice, not the default: rows of 8 bits.
        calls["ternary, Gaussian W, rows of 8 bits"] = parts.eight_bit_rows(X, m, cosine=False)
    else:
        calls["Fourier, Gaussian W, 1 bit, rows of 8 bits"] = parts.eight_bit_rows(X, m, cosine=True)
    timings = _runner.interleave(calls, rounds=rounds)
    gemm, sampler = timings["X @ W.T"].median, timings["RBFSampler"].median
    asked = {case.name: case.asked.get(p) for case in chosen}
    lines: dict[str, Any] = {}
    for name, timing in timings.items():
        lines[name] = {
            "timing": timing,
            "to_gemm": gemm / timing.median,
            "to_sampler": sampler / timing.median,
            "asked": asked.get(name),
            "gcodes_a_second": n * m / timing.median / 1e9,
            "path": maps[name].report_.path if name in maps else None,
            "grid_bits": maps[name].report_.grid_bits if name in maps else None,
        }
        print(f"  p = {p:5d} {name:44s} {1e3 * timing.median:9.1f} ms  {gemm / timing.median:7.2f}x", flush=True)
    if group == "ternary":
        # Too slow to take all rows round after round: a tenth of them, timed once, ten times that.
        for name, call in parts.slow_peers(X[: n // 10], m).items():
            seconds = 10 * _runner.interleave({name: call}, rounds=1, warm_ups=0)[name].median
            lines[name] = {
                "timing": _runner.Timing(seconds, seconds, seconds, 1),
                "to_gemm": gemm / seconds,
                "to_sampler": sampler / seconds,
                "scaled_from": n // 10,
            }
    return lines


def tables(record: dict[str, Any]) -> str:
    """The results as Markdown."""

    def ratio(line: dict[str, Any], which: int) -> str:
        value = line["to_sampler" if which else "to_gemm"]
        asked = line.get("asked")
        wanted = None if not asked else asked[which]
        verdict = "" if wanted is None else f" (asked {wanted:g}: {'met' if value >= wanted else 'MISSED'})"
        return f"{value:.2f}x{verdict}" if value < 10 else f"{value:.1f}x{verdict}"

    def origin(key: str) -> str:
        run = record["origins"].get(key)
        if run is None:
            return "Of an earlier run, which was not recorded.\n\n"
        limits = ", ".join(f"{name} {value:.0f}" for name, value in run["limits"].items())
        commit, _, changed = run["commit"].partition(" ")
        return f"`{run['command']}` on {run['date'][:10]}, commit {commit[:10]} {changed}".rstrip() + f"; {limits}.\n\n"

    n, m = record["shape"]
    text = [f"{n} rows to {m} columns, packed, by the public `transform`. "]
    text.append(
        "Parts were measured one by one; the line under a title says by which run, and what the machine could do at "
        "most before it.\n\n"
    )
    text.append(
        "Ratios are the time of NumPy's float32 `X @ W.T` (which has made no feature yet) and of scikit-learn's "
        "`RBFSampler.transform` (float32) over ours, medians of the same run.\n\n"
    )
    for key, lines in sorted(record["widths"].items(), key=lambda item: (item[0].split()[1], int(item[0].split()[0]))):
        p, group = key.split()
        text.append(f"## {group}, p = {p}\n\n{origin(key)}")
        rows = []
        for name, line in lines.items():
            scaled = f" ({line['scaled_from']} rows, scaled)" if line.get("scaled_from") else ""
            grid = line.get("grid_bits")
            path = line.get("path") or ""
            rows.append(
                [
                    name + scaled,
                    f"{1e3 * parts.seconds(line['timing']):.1f}",
                    ratio(line, 0),
                    ratio(line, 1),
                    f"{path}{f', {grid} bits' if grid else ''}",
                ]
            )
        text.append(
            _runner.markdown_table(["", "ms", "to X @ W.T", "to RBFSampler", "path, bits of the grid"], rows) + "\n"
        )
    if record.get("memory"):
        rows = [
            [
                f"{name}, p = {p}",
                f"{line['codes'] / 2**20:.1f}",
                f"{line['beyond'] / 2**20:.1f}",
                "met" if line["beyond"] <= 64 * 2**20 else "MISSED",
            ]
            for p, lines in record["memory"].items()
            for name, line in lines.items()
        ]
        text.append(
            "## Peak memory of transform\n\nResident memory in a fresh process, above that before the call.\n\n"
        )
        text += [f"p = {p}: {origin(f'{p} memory')}" for p in record["memory"]]
        text.append(_runner.markdown_table(["", "codes, MiB", "beyond codes, MiB", "asked 64 MiB"], rows) + "\n")
    if record.get("latency"):
        rows = [[name, f"{1e6 * value:.0f}"] for name, value in record["latency"].items()]
        text.append("## One row\n\n" + origin("latency") + _runner.markdown_table(["", "microseconds"], rows) + "\n")
    return "".join(text)


def main() -> None:
    """Measure and write benchmarks/results/encode*.json and .md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 x 1,024, few rounds")
    parser.add_argument("--isa", choices=ops.available_isas(), default=ops.isa_name(), help="instruction set to use")
    parser.add_argument("--p", type=int, nargs="*", default=list(WIDTHS), help="columns of X")
    parser.add_argument("--group", nargs="*", choices=GROUPS, default=list(GROUPS), help="what to measure")
    parser.add_argument("--rounds", type=int, help="measurements of each map (5)")
    parser.add_argument("--out", type=Path, default=_runner.RESULTS, help="folder of the results")
    parser.add_argument("--memory-of", nargs=2, metavar=("CASE", "P"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    shape, rounds = ((2000, 1024), 3) if options.quick else ((20000, 10000), 5)
    if options.memory_of:
        name, p = options.memory_of
        made = next(case for case in cases() if case.name == name).make(shape[1])
        print(json.dumps(parts.peak_of_transform(made, shape[0], int(p))))
        return
    name = f"encode{'-quick' if options.quick else ''}-{options.isa}"
    path = options.out / f"{name}.json"
    record: dict[str, Any] = {"widths": {}, "memory": {}, "latency": {}, "origins": {}}
    if path.exists() and not options.quick:
        held = json.loads(path.read_text(encoding="utf-8"))
        record = {key: held.get(key, value) for key, value in record.items()}

    def keep(part: str) -> None:
        """The files with this part: what was measured stays, whatever becomes of the next one."""
        origin = _runner.provenance()
        record["origins"][part] = {key: origin[key] for key in ("command", "date", "commit")} | {"limits": limits}
        _runner.write(name, record, tables(record), options.out)

    with ops.use_isa(options.isa):
        print(f"encode: {shape[0]} x {shape[1]}, {ops.isa_name()}")
        limits = _runner.limits(0.5)
        record |= {"shape": list(shape), "isa": ops.isa_name()}
        for p in options.p:
            for group in ("ternary", "fourier"):
                if group in options.group:
                    measured = measure_width(p, group, shape, options.rounds or rounds)
                    record["widths"][f"{p} {group}"] = measured
                    keep(f"{p} {group}")
            if "memory" in options.group:
                chosen = [case.name for case in cases() if case.name in parts.MEMORY_CASES]
                record["memory"][str(p)] = {
                    one: parts.in_fresh_process(Path(__file__), one, p, options.quick) for one in chosen
                }
                keep(f"{p} memory")
        if "latency" in options.group:
            record["latency"] = parts.latencies()
            keep("latency")
        print("\n" + tables(record))


if __name__ == "__main__":
    main()
