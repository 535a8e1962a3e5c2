"""The register tile of a product: right for every number of rows, in blocks of depth as in one, and nothing read
outside.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from pelton.codegen.cpu.compile import assembly
from pelton.codegen.cpu.target import AVX2, TARGETS, CpuTarget
from pelton.codegen.source import Source
from pelton.kernels.tiles import TILE
from pelton.tests.support.words import RUNNABLE, STORAGE_DTYPE, Array, run_text

ON_TARGETS = pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
ELEMENTS = pytest.mark.parametrize("element", ["f32", "f64"])


def product_source(target: CpuTarget, element: str, blocked: bool) -> Source:
    """y[m, n] = a[m, k] @ panels, one item per panel; `blocked` cuts the depth after `cut`."""
    count, width = TILE[target.name][element]
    whole = [f"matmul_tile(tile, a, top * k, k, rows, b, p * k * W, k, {count}, 0)"]
    halves = [
        f"matmul_tile(tile, a, top * k, k, rows, b, p * k * W, cut, {count}, 0)",
        f"matmul_tile(tile, a, top * k + cut, k, rows, b, (p * k + cut) * W, k - cut, {count}, 1)",
    ]
    lines = [
        "def product(a, b, y, m, n, k, cut, lo, hi, ctx):",
        f"    tile = tile_{element}({count * width})",
        "    for p in range(lo, hi):",
        "        tail = below(n - p * W)",
        f"        for top in range(0, m, {count}):",
        f"            rows = min(m - top, {count})",
        *(f"            {line}" for line in (halves if blocked else whole)),
        "            for r in range(rows):",
        "                store_masked(y, (top + r) * n + p * W, load(tile, r * W), tail)",
    ]
    buffers = (("a", element), ("b", element), ("y", element))
    return Source("product", "\n".join(lines), buffers, ("m", "n", "k", "cut"), width)


def packed(b: Array, width: int) -> Array:
    """[ceil(n / width), k, width], filled up with 0."""
    k, n = b.shape
    panels = np.zeros((-(-n // width), k, width), b.dtype)
    for p in range(len(panels)):
        columns = b[:, p * width : (p + 1) * width]
        panels[p, :, : columns.shape[1]] = columns
    return panels


def run(target: CpuTarget, element: str, a: Array, b: Array, cut: int | None = None) -> Array:
    (m, k), n = a.shape, b.shape[1]
    panels = packed(b, TILE[target.name][element][1])
    y = np.zeros((m, n), a.dtype)
    run_text(product_source(target, element, cut is not None), target, [a, panels, y], [m, n, k, cut or 0], len(panels))
    return y


def operands(m: int, n: int, k: int, element: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(m * n + k)
    dtype = STORAGE_DTYPE[element]
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


@ON_TARGETS
@ELEMENTS
def test_products_of_all_tails_are_right(target: CpuTarget, element: str) -> None:
    for m, n, k in [(1, 1, 1), (1, 40, 7), (5, 33, 64), (13, 16, 3), (24, 96, 50), (7, 5, 0)]:
        a, b = operands(m, n, k, element)
        bound = k * np.finfo(a.dtype).eps * (np.abs(a.astype(float)) @ np.abs(b.astype(float)))
        assert (np.abs(run(target, element, a, b) - a.astype(float) @ b.astype(float)) <= bound).all(), (m, n, k)


@ON_TARGETS
@ELEMENTS
def test_bits_depend_neither_on_blocks_of_depth_nor_on_other_rows(target: CpuTarget, element: str) -> None:
    a, b = operands(17, 37, 41, element)
    y = run(target, element, a, b)
    for cut in (0, 1, 20, 41):
        assert np.array_equal(run(target, element, a, b, cut), y), cut
    assert np.array_equal(run(target, element, np.ascontiguousarray(a[9:10]), b)[0], y[9])


@pytest.mark.skipif(AVX2 not in RUNNABLE, reason="this CPU cannot run avx2 code")
def test_each_step_is_one_fused_multiply_add() -> None:
    a, b = (np.array([[1 + 2.0**-30, 1 + 2.0**-30]]), np.array([[1 - 2.0**-30], [-1.0]]))
    assert run(AVX2, "f64", a, b)[0, 0] == 1 - 2.0**-60 - (1 + 2.0**-30)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@ELEMENTS
def test_sums_stay_in_registers(target: CpuTarget, element: str) -> None:
    text = assembly(product_source(target, element, blocked=False), target)
    product = re.compile(r"fmadd|mulp[sd]")
    loops = re.findall(r"^\.LBB\d+_\d+:[^\n]*\n((?:\t[^\n]*\n)+)", text, re.MULTILINE)
    inner = max(loops, key=lambda body: len(product.findall(body)))
    count, width = TILE[target.name][element]
    registers = count * width * STORAGE_DTYPE[element]().itemsize * 8 // target.vector_bits
    assert len(product.findall(inner)) == registers
    assert not re.search(r"mov[au]p[sd]\s+[^\n]*\(%r[sb]p\)", inner)
