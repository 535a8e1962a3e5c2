"""Words of the CPU vocabulary on trial: a word, a target and arrays enter; what its vector and scalar forms give
leaves.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pelton.artifact import KernelCode
from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.target import TARGETS, CpuTarget, host_target
from pelton.codegen.source import Source
from pelton.runtime.loader import NativeCode, map_objects

Array = np.ndarray[Any, Any]

RUNNABLE = TARGETS[: TARGETS.index(host_target()) + 1]
"""The targets whose code this machine can run."""

STORAGE_DTYPE: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.uint16,
    "bf16": np.uint16,
    "i1": np.uint8,
    **{f"i{bits}": getattr(np, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(np, f"uint{bits}") for bits in (8, 16, 32, 64)},
}
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def same_bits(x: Array, y: Array) -> Array:
    """Where two arrays of one type hold the same number, 0 and -0 apart, all NaN alike."""
    if x.dtype.kind != "f":
        return x == y
    return ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))


def run_text(source: Source, target: CpuTarget, buffers: Sequence[Array], sizes: Sequence[int], items: int) -> Array:
    """Compile and run a text on arrays, in place; the context words afterwards."""
    code = _code(source, target)
    words = np.array([*(b.ctypes.data for b in buffers), *sizes], np.int64)
    context = np.zeros(4, np.int64)
    assert PROTOTYPE(code.address(source.name))(words.ctypes.data, 0, items, context.ctypes.data) == 0
    return context


@cache
def _code(source: Source, target: CpuTarget) -> NativeCode:
    return map_objects([KernelCode(*item) for item in compile_sources([source], target).items()])


def word_source(expression: str, inputs: Sequence[str], output: str, lanes: int = 32) -> Source:
    """`expression` over a, b, c, … as a kernel: once lane by lane in vectors with a masked tail, once as scalars."""
    names = "abcd"[: len(inputs)]
    loads = [f"{n} = load({n}_, j)" for n in names]
    tails = [f"{n} = load_masked({n}_, j, tail, 1)" for n in names]
    lines = [
        f"def word({', '.join(n + '_' for n in names)}, vectors, scalars, n, lo, hi, ctx):",
        "    j = 0",
        "    while j + W <= n:",
        *(f"        {line}" for line in loads),
        f"        store(vectors, j, {expression})",
        "        j += W",
        "    if j < n:",
        "        tail = below(n - j)",
        *(f"        {line}" for line in tails),
        f"        store_masked(vectors, j, {expression}, tail)",
        "    for i in range(n):",
        *(f"        s{n} = {n}_[i]" for n in names),
        f"        scalars[i] = {_scalar(expression, names)}",
    ]
    kinds = [(f"{n}_", kind) for n, kind in zip(names, inputs, strict=True)]
    buffers = (*kinds, ("vectors", output), ("scalars", output))
    return Source("word", "\n".join(lines), buffers, ("n",), lanes)


def _scalar(expression: str, names: str) -> str:
    """The same expression over sa, sb, … : scalars need variables of their own."""
    return re.sub(rf"\b([{names}])\b", r"s\1", expression)


def apply_word(
    target: CpuTarget, expression: str, inputs: Sequence[str], output: str, arrays: Sequence[Array]
) -> tuple[Array, Array]:
    """What the vector form and the scalar form of `expression` give for the arrays."""
    n = len(arrays[0])
    dtype = STORAGE_DTYPE[output]
    vectors, scalars = np.zeros(n, dtype), np.zeros(n, dtype)
    given = [np.ascontiguousarray(a, STORAGE_DTYPE[kind]) for a, kind in zip(arrays, inputs, strict=True)]
    run_text(word_source(expression, inputs, output), target, [*given, vectors, scalars], [n], 1)
    return vectors, scalars
