"""Small PTX kernels written by hand: a line or a few of PTX between loads and stores, run on the emulator; and all the
kernels of a test file given to ptxas at once."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cuda.compile import find_ptxas
from pelton.runtime.emulator import Tiled, emulate

Array = np.ndarray[Any, Any]
HEAD = ".version 9.0\n.target {target}\n.address_size 64\n"
_REGISTERS = {
    "b16": ("%h", ".b16"), "u16": ("%h", ".b16"), "s16": ("%h", ".b16"), "b32": ("%r", ".b32"), "u32": ("%r", ".b32"),
    "s32": ("%r", ".b32"), "f32": ("%f", ".f32"), "b64": ("%d", ".b64"), "u64": ("%d", ".b64"), "s64": ("%d", ".b64"),
    "f64": ("%e", ".f64"), "pred": ("%p", ".pred"),
}  # fmt: skip
_DTYPES = {name: np.dtype(f"{'f' if name[0] == 'f' else 'i' if name[0] == 's' else 'u'}{int(name[1:]) // 8}")
           for name in _REGISTERS if name != "pred"}  # fmt: skip
DECLARATIONS = (
    ".reg .pred %p<12>;\n.reg .b16 %h<16>;\n.reg .b32 %r<160>;\n.reg .f32 %f<160>;\n.reg .b64 %d<40>;\n"
    ".reg .f64 %e<32>;\n"
)


def entry(body: str, parameters: int, name: str = "k", head: str = "") -> str:
    """An entry whose pointers are in %d0, %d1, …, the thread in %r0 and its bytes in 32-bit elements in %d30."""
    signature = ", ".join(f".param .u64 {name}_{k}" for k in range(parameters))
    loads = "".join(f"ld.param.u64 %d{k}, [{name}_{k}];\n" for k in range(parameters))
    thread = "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d30, %r0, 4;\n"
    return f"{head}.visible .entry {name}({signature})\n{{\n{DECLARATIONS}{loads}{thread}{body}\nret;\n}}\n"


def module(entries: Iterable[str], target: str = "sm_90a") -> str:
    """A PTX text of entries."""
    return HEAD.format(target=target) + "\n".join(entries)


def run(body: str, *args: Array | Tiled, grid: int = 1, block: int = 32, head: str = "", **more: Any) -> None:
    """The body as a kernel over the arrays, on the emulator."""
    emulate(module([entry(body, len(args), head=head)]), "k", grid, block, args, **more)


def scalar(line: str, results: Sequence[str], operands: Sequence[str], name: str = "k") -> str:
    """A kernel for one line: `$0` … are its results, then its operands, one per thread, kept as arrays of their
    types."""
    text, used = "", dict[str, int]()
    names: list[str] = []
    for type in (*results, *operands):
        prefix = _REGISTERS[type][0]
        used[prefix] = used.get(prefix, 0) + 1
        names.append(f"{prefix}{used[prefix]}" if prefix != "%d" else f"%d{20 + used[prefix]}")
    for k, type in enumerate(operands, len(results)):
        shown = "u32" if type == "pred" else type
        size = _DTYPES[shown].itemsize
        target = "%r9" if type == "pred" else names[k]
        text += f"mad.wide.u32 %d31, %r0, {size}, %d{k};\nld.global.{shown} {target}, [%d31];\n"
        text += f"setp.ne.u32 {names[k]}, %r9, 0;\n" if type == "pred" else ""
    text += re.sub(r"\$(\d+)", lambda m: names[int(m[1])], line) + "\n"
    for k, type in enumerate(results):
        shown = "u32" if type == "pred" else type
        text += f"selp.u32 %r9, 1, 0, {names[k]};\n" if type == "pred" else ""
        source = "%r9" if type == "pred" else names[k]
        text += f"mad.wide.u32 %d31, %r0, {_DTYPES[shown].itemsize}, %d{k};\nst.global.{shown} [%d31], {source};\n"
    return entry(text, len(names), name)


def compute(line: str, results: Sequence[str], operands: Sequence[str], *values: Sequence[Any] | Array) -> list[Array]:
    """The results of one line for rows of operand values (padded to warps)."""
    count = len(values[0])
    block = -(-count // 32) * 32
    types = ["u32" if t == "pred" else t for t in (*results, *operands)]
    arrays = [np.zeros(block, _DTYPES[t]) for t in types]
    for array, value in zip(arrays[len(results) :], values, strict=True):
        bits = isinstance(value, np.ndarray) and value.dtype.itemsize == array.itemsize
        array[:count] = np.asarray(value).view(array.dtype) if bits else value
    emulate(module([scalar(line, results, operands)]), "k", 1, block, arrays)
    return [a[:count] for a in arrays[: len(results)]]


def assemble(entries: Sequence[str], folder: Path, target: str = "sm_90a") -> None:
    """ptxas accepts the text of all entries; skipped where it is not installed."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    text = folder / "all.ptx"
    text.write_text(module(entries, target))
    command = [ptxas, f"-arch={target}", "-O0", "-c", str(text), "-o", str(folder / "all.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
