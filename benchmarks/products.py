"""Products with packed codes against NumPy float32, in one process, cold caches, interleaved, medians.

    python benchmarks/products.py                 20,000 x 10,000, some minutes and 4 GB
    python benchmarks/products.py --quick         2,000 x 1,024, seconds; shows that it runs, says little
    python benchmarks/products.py --isa avx2      as on a machine without AVX-512

For every format: Z @ v, Z.T @ r and both with ten columns, at the precisions "fast" and "float32", and the Gram
matrix Z.T @ Z. Each stands against the same operation of NumPy on a float32 matrix of the same shape, against the
ratio asked of it, and against the limits of the machine: bytes of codes a second over measured DRAM bandwidth, and
useful arithmetic over the measured peak of the unit that does it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import _runner

_runner.quiet_blas()

import numpy as np
from scipy.linalg import blas

from nanogram import CodeMatrix, ops
from nanogram.code_matrix import vstack
from nanogram.codes import Code, FloatCode, StepCode, UniformCode

Timings = dict[str, _runner.Timing]


class Format(NamedTuple):
    """A code, the unit that multiplies two matrices of it, and what is asked of it (ratios to NumPy float32)."""

    name: str
    code: Code
    unit: str
    asked: dict[str, float]


FORMATS = [
    Format("1 bit", UniformCode(bits=1), "popcount_gops", {"Z v": 24, "Zt r": 20, "Z V": 9, "Zt R": 6.5}),
    Format(
        "2-bit ternary",
        StepCode(levels=[-1.0, 0.0, 1.0], thresholds=[-0.5, 0.5]),
        "popcount_gops",
        {"Z v": 16, "Zt r": 12, "Z V": 9, "Zt R": 6.5},
    ),
    Format(
        "base-3 ternary",
        StepCode(levels=[-1.0, 0.0, 1.0], thresholds=[-0.5, 0.5], storage="base3"),
        "popcount_gops",
        {},
    ),
    Format(
        "2 bits, four free levels",
        StepCode(levels=[-1.4, -0.3, 0.5, 1.7], thresholds=[-0.7, 0.0, 0.9]),
        "popcount_gops",
        {},
    ),
    Format("4 bits", UniformCode(bits=4), "int8_gops", {"Z v": 9, "Zt r": 6.5, "Z V": 9, "Zt R": 6.5}),
    Format("8 bits", UniformCode(bits=8), "int8_gops", {"Z v": 4.5, "Zt r": 3.5}),
    Format("16 bits", UniformCode(bits=16), "int8_gops", {}),
    Format("float16", FloatCode("float16"), "fp32_gflops", {}),
    Format("float32", FloatCode("float32"), "fp32_gflops", {}),
]
#: Gram: asked against SGEMM and against SSYRK.
ASKED_GRAM = {"1 bit": (25.0, 14.0), "2-bit ternary": (15.0, 8.0)}
#: With AVX2 forced only this is asked.
ASKED_AVX2 = {("2-bit ternary", "Z v"): 12.0}
COLUMNS = 10


def random_matrix(code: Code, shape: tuple[int, int], rng: np.random.Generator) -> CodeMatrix:
    """A matrix of random codes (their values do not change the time), made by blocks of rows."""
    blocks = []
    for start in range(0, shape[0], 2048):
        size = (min(2048, shape[0] - start), shape[1])
        if code.layout is None:
            values = rng.standard_normal(size, dtype=np.float32)
            blocks.append(CodeMatrix.from_values(values, code))
        else:
            codes = rng.integers(code.n_levels, size=size, dtype=code.code_dtype)
            blocks.append(CodeMatrix.from_codes(codes, code))
    return vstack(blocks)


def error_of(Z: CodeMatrix, V: np.ndarray, precision: str, transpose: bool) -> float:
    """Largest error of a product over some rows (or columns), relative to the norms that make it up."""
    pick = np.linspace(0, Z.shape[1 if transpose else 0] - 1, 64).astype(int)
    exact_part = (Z[:, pick].toarray().T if transpose else Z.toarray(rows=pick)).astype(np.float64)
    product = (Z.rmatvec if transpose else Z.matvec)(V, precision=precision)[pick]
    size = np.linalg.norm(exact_part, axis=1, keepdims=True) * np.linalg.norm(V, axis=0)
    return float((np.abs(product - exact_part @ V.astype(np.float64)) / size).max())


def row(
    fmt: Format,
    Z: CodeMatrix,
    op: str,
    precision: str,
    timing: _runner.Timing,
    baseline: float,
    limits: dict[str, float],
) -> dict[str, Any]:
    """One line of the results of a product."""
    asked = ASKED_AVX2.get((fmt.name, op)) if ops.isa_name() == "avx2" else fmt.asked.get(op)
    ratio = baseline / timing.median
    gbs = Z.storage.nbytes / timing.median / 1e9
    columns = COLUMNS if op in ("Z V", "Zt R") else 1
    # Multiply-adds of bytes that a product by dot products takes: one for each digit of the right-hand side, and for
    # each byte of a 16-bit code or bit matrix of four free levels. Look-ups do with less: theirs may pass 100 %.
    digits = {"fast": 2, "float32": 3}[precision] * (2 if fmt.code.bits == 16 else 1 if fmt.code.table is None else 3)
    gops = 0.0 if fmt.code.layout is None else 2.0 * Z.size * columns * digits / timing.median / 1e9
    of_int8 = gops / limits["int8_gops"] if limits.get("int8_gops") else 0.0
    of_dram = gbs / limits["dram_read_gbs"]
    return {
        "gops": gops,
        "of_int8": of_int8,
        "bound": f"DRAM {100 * of_dram:.0f} %" if of_dram >= of_int8 else f"int8 {100 * of_int8:.0f} %",
        "timing": timing,
        "ratio": ratio,
        "asked": asked,
        "of_asked": None if asked is None else ratio / asked,
        "gbs": gbs,
        "of_dram": of_dram,
    }


def measure_products(matrices: dict[str, CodeMatrix], A: np.ndarray, rounds: int, limits: dict[str, float]) -> dict:
    """Z v, Z^T r and both with ten columns, for every format and precision."""
    rng = np.random.default_rng(1)
    n, m = A.shape
    sides = {
        "Z v": rng.standard_normal((m, 1), dtype=np.float32)[:, 0],
        "Zt r": rng.standard_normal((n, 1), dtype=np.float32)[:, 0],
        "Z V": rng.standard_normal((m, COLUMNS), dtype=np.float32),
        "Zt R": rng.standard_normal((n, COLUMNS), dtype=np.float32),
    }
    results: dict[str, Any] = {}
    for op, side in sides.items():
        transpose = op.startswith("Zt")
        left = A.T if transpose else A
        calls: dict[str, Callable[[], object]] = {"numpy": lambda left=left, side=side: left @ side}
        for name, Z in matrices.items():
            multiply = Z.rmatvec if transpose else Z.matvec
            for precision in ("fast", "float32"):
                calls[f"{name}, {precision}"] = lambda f=multiply, side=side, p=precision: f(side, precision=p)
        timings = _runner.interleave(calls, rounds=rounds)
        baseline = timings["numpy"].median
        results[op] = {"numpy": {"timing": timings["numpy"], "gbs": A.nbytes / baseline / 1e9}}
        for fmt in FORMATS:
            for precision in ("fast", "float32"):
                key = f"{fmt.name}, {precision}"
                Z = matrices[fmt.name]
                V = side if side.ndim == 2 else side[:, None]
                results[op][key] = row(fmt, Z, op, precision, timings[key], baseline, limits)
                results[op][key]["error"] = error_of(Z, V, precision, transpose)
        print(f"  {op}: NumPy {1e3 * baseline:.1f} ms")
    return results


def measure_gram(matrices: dict[str, CodeMatrix], A: np.ndarray, rounds: int, limits: dict[str, float]) -> dict:
    """Z^T Z of every format against SGEMM (NumPy's A.T @ A.copy()) and SSYRK (SciPy)."""
    B = A.copy()  # NumPy turns A.T @ A into SSYRK by itself; two arrays keep it at SGEMM
    calls: dict[str, Callable[[], object]] = {
        "SGEMM": lambda: A.T @ B,
        "SSYRK": lambda: blas.ssyrk(1.0, A.T, trans=0, lower=1),
    }
    for name, Z in matrices.items():
        calls[name] = lambda Z=Z: Z.gram(dtype=np.float32)
    timings = _runner.interleave(calls, rounds=rounds, warm_ups=0 if rounds < 5 else 1)
    gemm, syrk = timings["SGEMM"].median, timings["SSYRK"].median
    print(f"  Gram: SGEMM {gemm:.2f} s, SSYRK {syrk:.2f} s")
    n, m = A.shape
    useful = float(n) * m * (m + 1)  # multiply and add over one triangle
    results: dict[str, Any] = {"SGEMM": {"timing": timings["SGEMM"]}, "SSYRK": {"timing": timings["SSYRK"]}}
    for fmt in FORMATS:
        seconds = timings[fmt.name].median
        asked = ASKED_GRAM.get(fmt.name, (None, None)) if ops.isa_name() != "avx2" else (None, None)
        peak = limits.get(fmt.unit)
        results[fmt.name] = {
            "timing": timings[fmt.name],
            "ratio_sgemm": gemm / seconds,
            "ratio_ssyrk": syrk / seconds,
            "asked_sgemm": asked[0],
            "asked_ssyrk": asked[1],
            "gops": useful / seconds / 1e9,
            "unit": fmt.unit,
            "of_peak": None if not peak else useful / seconds / 1e9 / peak,
        }
    return results


def tables(record: dict[str, Any]) -> str:
    """The results as Markdown."""

    def ratio(value: float, asked: float | None) -> str:
        return f"{value:.1f}x" + (
            "" if asked is None else f" (asked {asked:g}: {'met' if value >= asked else 'MISSED'})"
        )

    n, m = record["shape"]
    limits = record["limits"]
    titles = {
        "Z v": "Z @ v",
        "Zt r": "Z.T @ r",
        "Z V": f"Z @ V, {COLUMNS} columns",
        "Zt R": f"Z.T @ R, {COLUMNS} columns",
    }
    text = [f"{n} x {m}. Limits measured in the same process: "]
    text[0] += ", ".join(f"{name} {value:.0f}" for name, value in limits.items()) + ".\n\n"
    text.append(
        "Ratios are NumPy's float32 time over ours; the error is the largest relative to |z| |v|. "
        "The nearest limit is the larger of two shares: bytes of codes over DRAM bandwidth, and the byte products of "
        "all digits over the peak of the int8 dot product.\n\n"
    )
    for op, title in titles.items():
        lines = record["products"][op]
        base = lines["numpy"]
        text.append(f"## {title}\n\nNumPy float32: {1e3 * base['timing'].median:.2f} ms, {base['gbs']:.1f} GB/s.\n\n")
        rows = []
        for fmt in FORMATS:
            for precision in ("fast", "float32"):
                line = lines[f"{fmt.name}, {precision}"]
                rows.append(
                    [
                        f"{fmt.name}, {precision}",
                        f"{1e3 * line['timing'].median:.2f}",
                        ratio(line["ratio"], line["asked"] if precision == "fast" else None),
                        f"{line['gbs']:.1f}",
                        line["bound"],
                        f"{line['error']:.1e}",
                    ]
                )
        text.append(
            _runner.markdown_table(["format, precision", "ms", "ratio", "GB/s", "nearest limit", "error"], rows) + "\n"
        )
    gram = record["gram"]
    if gram:
        text.append(
            f"## Gram matrix Z.T @ Z\n\nSGEMM {gram['SGEMM']['timing'].median:.3f} s, "
            f"SSYRK {gram['SSYRK']['timing'].median:.3f} s. "
            "The share counts a multiply and an add for each pair of one triangle; a ternary pair costs more than one "
            "popcount, so its share cannot reach 100 %.\n\n"
        )
        rows = []
        for fmt in FORMATS:
            line = gram[fmt.name]
            share = "" if line["of_peak"] is None else f"{100 * line['of_peak']:.0f} % of {line['unit'].split('_')[0]}"
            rows.append(
                [
                    fmt.name,
                    f"{line['timing'].median:.3f}",
                    ratio(line["ratio_sgemm"], line["asked_sgemm"]),
                    ratio(line["ratio_ssyrk"], line["asked_ssyrk"]),
                    f"{line['gops']:.0f}",
                    share,
                ]
            )
        text.append(_runner.markdown_table(["format", "s", "to SGEMM", "to SSYRK", "GOPS", "of peak"], rows) + "\n")
    rows = [[name, f"{size['nbytes']:,}", f"{size['over_codes']:.4f}"] for name, size in record["memory"].items()]
    text.append("## Memory\n\n" + _runner.markdown_table(["format", "bytes of the object", "over codes alone"], rows))
    return "".join(text)


def main() -> None:
    """Measure and write benchmarks/results/products*.json and .md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 x 1,024, few rounds")
    parser.add_argument("--isa", choices=ops.available_isas(), default=ops.isa_name(), help="instruction set to use")
    parser.add_argument("--rows", type=int, help="rows of Z (20000)")
    parser.add_argument("--columns", type=int, help="columns of Z (10000)")
    parser.add_argument("--rounds", type=int, help="measurements of each product (15)")
    parser.add_argument("--gram-rounds", type=int, help="measurements of each Gram matrix (3); 0 leaves them out")
    parser.add_argument("--out", type=Path, default=_runner.RESULTS, help="folder of the results")
    options = parser.parse_args()
    defaults = (2000, 1024, 3, 2) if options.quick else (20000, 10000, 15, 3)
    given = (options.rows, options.columns, options.rounds, options.gram_rounds)
    n, m, rounds, gram_rounds = (d if g is None else g for g, d in zip(given, defaults, strict=True))

    with ops.use_isa(options.isa):
        rng = np.random.default_rng(0)
        print(f"products: {n} x {m}, {ops.isa_name()}")
        limits = _runner.limits(0.1 if options.quick else 1.0)
        matrices = {fmt.name: random_matrix(fmt.code, (n, m), rng) for fmt in FORMATS}
        A = np.asarray(matrices["float32"].toarray())
        record: dict[str, Any] = {
            "shape": [n, m],
            "isa": ops.isa_name(),
            "limits": limits,
            "memory": {
                fmt.name: {
                    "nbytes": matrices[fmt.name].nbytes,
                    "over_codes": matrices[fmt.name].nbytes / (n * m * fmt.code.bits / 8),
                }
                for fmt in FORMATS
            },
            "products": measure_products(matrices, A, rounds, limits),
            "gram": measure_gram(matrices, A, gram_rounds, limits) if gram_rounds else {},
        }
        text = tables(record)
        print("\n" + text)
        name = "products" + ("-quick" if options.quick else "")
        _runner.write(f"{name}-{options.isa}", record, text, options.out)


if __name__ == "__main__":
    main()
