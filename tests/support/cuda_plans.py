"""Whole graphs on the emulator, without a runtime: a module enters, lowered as for a GPU; each launch of its plan runs
as PTX, and the outputs leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.source import Source
from pelton.compiler import cuda_passes
from pelton.dialects import dims, plan
from pelton.dialects.context import new_context
from pelton.dialects.types import dtype_name
from pelton.dtype import DType
from pelton.kernels.matmul_cuda import cuda_items
from pelton.passes.assign_buffers import AssignBuffers
from pelton.passes.outline_constants import outlined
from pelton.support.options import DEFAULTS, Options
from pelton.tests.support import cuda
from pelton.tests.support.kernels import functions_of

Array = np.ndarray[Any, Any]
UNWRITTEN = 0xA5
"""Every byte of new memory, so that what nobody wrote shows."""


def lowered(module: ModuleOp, options: Options = DEFAULTS) -> ModuleOp:
    """The kernels and plans of a module of `nn` ops. Temporaries keep memory of their own, so that an access outside of
    one is found.
    """
    module = module.clone()
    for step in cuda_passes(options):
        if not isinstance(step, AssignBuffers):
            step.apply(new_context(), module)
    module.verify()
    return module


def run_plan(module: ModuleOp, arrays: Sequence[Array], constants: Mapping[str, Array]) -> list[Array]:
    """The outputs of `main`, after `init` has prepared what depends on `constants` alone."""
    plans = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, plan.FuncOp)}
    stored = {**constants, **{c.info.name: _array(c.info, c.data) for c in outlined(module)}}
    prepared = Run(module, plans["init"], [], stored, []).outputs
    return Run(module, plans["main"], arrays, stored, prepared).outputs


def _array(info: Any, data: bytes) -> Array:
    return np.frombuffer(data, info.dtype.to_numpy()).reshape(info.shape)


class Run:
    """One walk of a plan: `outputs`, and the rows that checks left in `reports`."""

    def __init__(
        self,
        module: ModuleOp,
        function: plan.FuncOp,
        arrays: Sequence[Array],
        stored: Mapping[str, Array],
        prepared: Sequence[Array],
    ) -> None:
        self._kernels = functions_of(module)
        self._sizes: dict[str, int] = {}
        self._held: dict[SSAValue, Array] = {}
        self._results: dict[int, Array] = {}
        self.reports = np.zeros(0, np.int64)
        given = [*arrays, *prepared]
        given += [stored[n.data] for n in list(function.names)[len(given) :]]
        for argument, array in zip(function.body.block.args, given, strict=True):
            pairs = zip(plan.buf_type(argument).shape, array.shape, strict=True)
            self._sizes |= {d: n for d, n in pairs if isinstance(d, str)}
            self._held[argument] = np.ascontiguousarray(array)
        for op in function.body.block.ops:
            self._step(op)

    @property
    def outputs(self) -> list[Array]:
        """The results, by number."""
        return [self._results[k] for k in sorted(self._results)]

    def _step(self, op: Any) -> None:
        match op:
            case plan.AllocOp() | plan.OutputOp():
                self._held[op.buf] = self._new(plan.buf_type(op.buf))
                if isinstance(op, plan.OutputOp):
                    self._results[op.number.data] = self._held[op.buf]
            case plan.ReportsOp():
                self.reports = self._held[op.buf] = np.zeros(self._shape(plan.buf_type(op.buf)), np.int64)
            case plan.ViewOp():
                t, source = plan.buf_type(op.buf), self._held[op.source]
                first = dims.evaluate(op.offset_dim, self._sizes)
                memory = source.reshape(-1).view(np.uint8)[first : first + dims.evaluate(t.bytes, self._sizes)]
                self._held[op.buf] = memory.view(_dtype(t)).reshape(self._shape(t))
            case plan.CopyOp():
                self._held[op.target].reshape(-1)[:] = self._held[op.source].reshape(-1)
            case plan.LaunchOp():
                self._launch(op)
            case plan.RequireOp():
                lhs, rhs = (dims.evaluate(d, self._sizes) for d in op.dims.data)
                assert lhs == rhs if op.relation.data == "eq" else lhs <= rhs
            case _:
                raise AssertionError(f"{op.name} is not run here")

    def _launch(self, op: plan.LaunchOp) -> None:
        kernel = self._kernels[op.callee.string_value()]
        source, bound = cuda_source(kernel), [dims.evaluate(d, self._sizes) for d in op.sizes.data]
        items = dims.evaluate(cuda_items(kernel), dict(zip(map(str, kernel.sizes.data), bound, strict=True)))
        buffers = [self._held[b] for b in (*op.inputs, *op.outputs)]
        site, index, value = cuda.launch(source, _compiled(source), items, buffers, bound)
        if site:
            raise Failed(op.sites.data[site - 1], index, value)

    def _new(self, t: plan.BufType) -> Array:
        memory = np.full(dims.evaluate(t.bytes, self._sizes), UNWRITTEN, np.uint8)
        return memory.view(_dtype(t)).reshape(self._shape(t))

    def _shape(self, t: plan.BufType) -> list[int]:
        return [dims.evaluate(d, self._sizes) for d in t.shape]


class Failed(AssertionError):
    """A check that fails the run: its site in the plan, the index and the value it left."""

    def __init__(self, site: plan.SiteAttr, index: int, value: int) -> None:
        super().__init__(f"{site}: index {index}, value {value}")
        self.site, self.index, self.value = site, index, value


def _dtype(t: plan.BufType) -> Any:
    return DType(dtype_name(t.elem)).to_numpy()


@cache
def _compiled(kernel: Source) -> str:
    return compile_ptx(kernel)
