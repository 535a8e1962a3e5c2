"""Running kernels of `kernels.mlir` (or any text) on the emulator: text → barriers → CUDA source → PTX → arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.source import Source
from pelton.dialects import dims, plan
from pelton.dialects.kernel import FuncOp
from pelton.dialects.types import dtype_name
from pelton.dtype import DType
from pelton.graph import Graph
from pelton.kernels.matmul_cuda import cuda_items
from pelton.passes.choose_kernels import ChooseKernels
from pelton.passes.expand_ops import ExpandOps
from pelton.passes.fuse_groups import FuseGroups
from pelton.passes.insert_barriers import InsertBarriers
from pelton.passes.lower_groups import LowerGroups
from pelton.passes.simplify import Simplify
from pelton.runtime.emulator import emulate
from pelton.tests.support.kernels import functions_of, kernel_module

Array = np.ndarray[Any, Any]
KERNELS = Path(__file__).parent / "kernels.mlir"


def functions(text: str) -> dict[str, FuncOp]:
    """The kernel functions of a text by name, verified, with their barriers."""
    module = kernel_module(text)
    InsertBarriers().apply(Context(), module)
    module.verify()
    return functions_of(module)


@cache
def source(name: str) -> Source:
    """The CUDA source of a kernel of kernels.mlir."""
    return cuda_source(functions(KERNELS.read_text())[name])


@cache
def ptx(name: str) -> str:
    """Its PTX."""
    return compile_ptx(source(name))


def launch(
    kernel: Source, text: str, items: int, buffers: Sequence[Array], sizes: Sequence[int], *, check_races: bool = True
) -> list[int]:
    """Runs a kernel over its grid; buffers change in place. The status words: site, index, value (site 0: no check
    failed)."""
    status = np.zeros(3, np.int64)
    words = [b if b.dtype.kind in "biuf" else b.view(np.uint16) for b in buffers]
    words = [w.view(np.uint8) if w.dtype == np.bool_ else w for w in words]
    args: list[Array | int | float] = [*words, *sizes, 0, items, status]
    emulate(text, kernel.name, items, kernel.lanes, args, check_races=check_races)
    return status.tolist()


def run(name: str, items: int, buffers: Sequence[Array], *sizes: int) -> list[int]:
    """`launch` of a kernel of kernels.mlir."""
    return launch(source(name), ptx(name), items, buffers, sizes)


# ---- whole graphs
def cuda_module(graph: Graph) -> ModuleOp:
    """The graph's kernels and plan, lowered as for a GPU."""
    module = graph.module.clone()
    for step in (
        Simplify(),
        ExpandOps(),
        Simplify(),
        ChooseKernels("cuda"),
        FuseGroups(),
        LowerGroups(),
        InsertBarriers(),
    ):
        step.apply(Context(), module)
    module.verify()
    return module


def run_plan(module: ModuleOp, arrays: Sequence[Array], constants: Mapping[str, Array]) -> list[Array]:
    """The outputs of `main`: each launch runs on the emulator."""
    ops = list(module.body.block.ops)
    kernels = {op.sym_name.data: op for op in ops if isinstance(op, FuncOp)}
    main = next(op for op in ops if isinstance(op, plan.FuncOp))
    sizes: dict[str, int] = {}
    held: dict[SSAValue, Array] = {}
    given = [*arrays, *(constants[n.data] for n in main.names.data[len(arrays) :])]
    for argument, array in zip(main.body.block.args, given, strict=True):
        sizes |= {d: n for d, n in zip(plan.buf_type(argument).shape, array.shape, strict=True) if isinstance(d, str)}
        held[argument] = np.ascontiguousarray(array)
    outputs: dict[int, Array] = {}
    for op in main.body.block.ops:
        match op:
            case plan.AllocOp() | plan.OutputOp():
                t = plan.buf_type(op.buf)
                held[op.buf] = np.zeros(
                    [dims.evaluate(d, sizes) for d in t.shape], DType(dtype_name(t.elem)).to_numpy()
                )
                if isinstance(op, plan.OutputOp):
                    outputs[op.number.data] = held[op.buf]
            case plan.ViewOp():
                source, shape = held[op.source], [dims.evaluate(d, sizes) for d in plan.buf_type(op.buf).shape]
                first = dims.evaluate(op.offset_dim, sizes) // source.itemsize
                held[op.buf] = source.reshape(-1)[first : first + int(np.prod(shape))].reshape(shape)
            case plan.CopyOp():
                held[op.target].reshape(-1)[:] = held[op.source].reshape(-1)
            case plan.LaunchOp():
                bound = [dims.evaluate(d, sizes) for d in op.sizes.data]
                _launch(kernels[op.callee.string_value()], [held[b] for b in (*op.inputs, *op.outputs)], bound)
            case plan.RequireOp():
                lhs, rhs = (dims.evaluate(d, sizes) for d in op.dims.data)
                assert lhs == rhs if op.relation.data == "eq" else lhs <= rhs
            case _:
                raise AssertionError(f"{op.name} is not run here")
    return [outputs[k] for k in sorted(outputs)]


def _launch(kernel: FuncOp, buffers: list[Array], sizes: list[int]) -> None:
    found = cuda_source(kernel)
    symbols = dict(zip(map(str, kernel.sizes.data), sizes, strict=True))
    items = dims.evaluate(cuda_items(kernel), symbols)
    site, *_ = launch(found, _compiled(found), items, buffers, sizes)
    assert site == 0, f"check {site} of {found.name}"


@cache
def _compiled(kernel: Source) -> str:
    return compile_ptx(kernel)
