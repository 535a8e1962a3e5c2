"""Kernels of `.mlir` text on trial: read, compiled for a CPU target, run on NumPy arrays.

Enters: text and arrays. Leaves: what the compiled kernel made of the arrays, to compare with `codegen.interpreter`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from pelton.artifact import KernelCode
from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.sources import cpu_source
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.interpreter import Failure
from pelton.codegen.source import Source
from pelton.dialects.kernel import KERNEL, FuncOp
from pelton.runtime.loader import NativeCode, map_objects

Array = np.ndarray[Any, Any]


def kernel_module(text: str) -> ModuleOp:
    """A verified module with kernels."""
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, math.Math, scf.Scf, KERNEL):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The kernels of a module, by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}


def kernel_functions(text: str) -> dict[str, FuncOp]:
    """The kernels of a text, by name."""
    return functions_of(kernel_module(text))


class Compiled:
    """Functions compiled for one target and mapped into the process."""

    def __init__(self, functions: Sequence[FuncOp], target: CpuTarget) -> None:
        self.sources: dict[str, Source] = {f.sym_name.data: cpu_source(f, target.name) for f in functions}
        objects = compile_sources(list(self.sources.values()), target)
        codes = [KernelCode(name, code) for name, code in objects.items()]
        self.code: NativeCode = map_objects(codes)

    def run(self, name: str, buffers: Sequence[Array], sizes: Sequence[int], items: range) -> Failure | None:
        """Run items of a kernel on contiguous arrays, in place; the failed check, as the interpreter says it."""
        source = self.sources[name]
        words = np.array([*(b.ctypes.data for b in buffers), *sizes], np.int64)
        context = np.array([0, np.iinfo(np.int64).max, 0], np.int64)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        kernel = prototype(self.code.address(source.name))
        assert kernel(words.ctypes.data, items.start, items.stop, context.ctypes.data) == 0
        site, index, value = map(int, context)
        return Failure(site, index, value) if site else None
