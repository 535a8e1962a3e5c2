"""The meaning of a kernel in NumPy: the truth that code of every target is compared with.

Enters: a `kernel.func`, its buffers and sizes. Leaves: the buffers as the kernel changes them, and the failed check
if there is one. The grid is a Python loop; a `lanes` or `reduce` loop runs all its lanes at once, an array per
value.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Block, Operation, SSAValue

from pelton.codegen import scalar_values
from pelton.codegen.scalar_values import numpy_dtype
from pelton.dialects import dims
from pelton.dialects.kernel import (
    BarrierOp,
    CallOp,
    CheckOp,
    DimOp,
    FuncOp,
    GridOp,
    LanesOp,
    LoadOp,
    ReduceOp,
    ReportOp,
    ScratchOp,
    StoreOp,
    YieldOp,
)
from pelton.dialects.kernel.grid import call_space
from pelton.dialects.kernel.uniformity import buffer_type, yielded
from pelton.dialects.nn.matmul import PART
from pelton.kernels.top_k import is_top_k, ranked_of
from pelton.support.errors import CompileError, InternalError

if TYPE_CHECKING:
    import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True)
class Failure:
    """The failed check with the lowest linear index."""

    site: int
    """The number of the check's op within its group, from 1."""
    index: int
    value: int
    """As a word: a float by its bits."""


def run_kernel(
    func: FuncOp, buffers: Sequence[Array], sizes: Sequence[int], items: range | None = None
) -> Failure | None:
    """Run `func` on `buffers`, contiguous arrays that it changes in place; `sizes` in the order of the function's.

    `items` picks items of the grid, all of them by default; a hand schedule always runs whole. Raises InternalError for
    an access outside a buffer.
    """
    import numpy as np

    run = _Run(func, buffers, sizes, items)
    with np.errstate(all="ignore"):
        run.block(func.body.block)
    return run.failure


class _Run:
    """One execution: what every SSA value is, and which lanes are active."""

    def __init__(self, func: FuncOp, buffers: Sequence[Array], sizes: Sequence[int], items: range | None) -> None:
        self.func = func
        self.sizes = {str(s): n for s, n in zip(func.sizes.data, sizes, strict=True)}
        self.items = items
        self.values: dict[SSAValue, Array] = {}
        self.mask: Array | None = None
        self.failure: Failure | None = None
        for arg, given in zip(func.body.block.args, buffers, strict=True):
            self.values[arg] = scalar_values.flat(given, numpy_dtype(buffer_type(arg).elem))

    def size(self, dim: dims.Dim) -> int:
        return dims.evaluate(dim, self.sizes)

    def number(self, value: SSAValue) -> int:
        """A uniform integer."""
        return int(self.values[value])

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Operation) -> None:
        import numpy as np

        match op:
            case YieldOp() | scf.YieldOp() | BarrierOp():
                return
            case arith.ConstantOp():
                self.values[op.result] = scalar_values.constant(op)
            case DimOp():
                self.values[op.value] = np.asarray(self.sizes[op.dim.data], np.int64)
            case GridOp():
                self.grid(op)
            case LanesOp():
                self.lanes(op.bounds, op.body.block)
            case ReduceOp():
                self.reduce(op)
            case LoadOp():
                self.load(op)
            case StoreOp():
                self.store(op)
            case ScratchOp():
                self.scratch(op)
            case CheckOp():
                self.check(op)
            case ReportOp():
                self.report(op)
            case CallOp():
                self.call(op)
            case scf.ForOp():
                self.sequential(op)
            case scf.IfOp():
                self.branch(op)
            case _:
                self.values[op.results[0]] = scalar_values.evaluate(op, [self.values[o] for o in op.operands])

    # ---- loops

    def grid(self, op: GridOp) -> None:
        import numpy as np

        bounds = [self.number(b) for b in op.bounds]
        for item in self.items if self.items is not None else range(prod(bounds)):
            places = np.unravel_index(item, bounds) if bounds else ()
            for arg, place in zip(op.body.block.args, places, strict=True):
                self.values[arg] = np.asarray(place, np.int64)
            self.block(op.body.block)

    def lanes(self, bounds: Sequence[SSAValue], block: Block) -> int:
        """All lanes of a space at once; how many there are."""
        shape = [self.number(b) for b in bounds]
        self.spread(block.args, shape)
        if prod(shape):
            self.block(block)
        return prod(shape)

    def spread(self, indices: Sequence[SSAValue], shape: Sequence[int]) -> None:
        """Each index of a space as one array over all its lanes."""
        import numpy as np

        for k, arg in enumerate(indices):
            self.values[arg] = np.indices(shape, np.int64)[k].reshape(-1)

    def reduce(self, op: ReduceOp) -> None:
        import numpy as np

        count = self.lanes(op.bounds, op.body.block)
        for kind, value, result in zip(op.kind_names, op.yielded.values, op.values, strict=True):
            lanes = np.broadcast_to(self.values[value], count) if count else np.empty(0, numpy_dtype(value.type))
            self.values[result] = scalar_values.reduced(kind, lanes)

    def sequential(self, op: scf.ForOp) -> None:
        import numpy as np

        index, *carried = op.body.block.args
        start, stop, step = (self.values[b] for b in (op.lb, op.ub, op.step))
        for arg, value in zip(carried, op.iter_args, strict=True):
            self.values[arg] = self.values[value]
        at = start
        while np.any(going := np.logical_and(at < stop, True if self.mask is None else self.mask)):
            self.values[index] = at
            with self.masked(going if going.ndim else None):
                self.block(op.body.block)
            after = [self.values[v] for v in yielded(op.body.block)]
            for arg, value in zip(carried, after, strict=True):
                self.values[arg] = np.where(going, value, self.values[arg]) if going.ndim else value
            at = at + step
        for result, arg in zip(op.results, carried, strict=True):
            self.values[result] = self.values[arg]

    def branch(self, op: scf.IfOp) -> None:
        import numpy as np

        condition = self.values[op.cond]
        if not condition.ndim:
            block = (op.true_region if condition else op.false_region).blocks
            if block:
                self.block(block[0])
                for result, value in zip(op.results, yielded(block[0]), strict=True):
                    self.values[result] = self.values[value]
            return
        arms: list[list[Array]] = []
        for region, own in ((op.true_region, condition), (op.false_region, ~condition)):
            with self.masked(own if self.mask is None else own & self.mask):
                if region.blocks:
                    self.block(region.block)
                    arms.append([self.values[v] for v in yielded(region.block)])
        for k, result in enumerate(op.results):
            self.values[result] = np.where(condition, arms[0][k], arms[1][k])

    @contextmanager
    def masked(self, mask: Array | None) -> Generator[None]:
        outer, self.mask = self.mask, mask if mask is not None else self.mask
        yield
        self.mask = outer

    # ---- memory

    def active(self, guard: SSAValue | None, *values: Array) -> Array:
        """Which lanes take part, in the common shape of `values`."""
        import numpy as np

        masks = [m for m in (self.mask, self.values[guard] if guard is not None else None) if m is not None]
        shape = np.broadcast_shapes(*(v.shape for v in (*values, *masks)))
        return np.logical_and.reduce([np.broadcast_to(m, shape) for m in (*masks, np.True_)])

    def places(self, op: LoadOp | StoreOp, active: Array) -> Array:
        """The element offset of each lane; 0 where a lane is not active."""
        import numpy as np

        strides = [self.size(s) for s in buffer_type(op.buf).element_strides()]
        at = sum((self.values[i] * s for i, s in zip(op.index, strides, strict=True)), start=np.asarray(0))
        at = np.where(active, at, 0)
        size = self.values[op.buf].size
        if np.any(active & ((at < 0) | (at >= size))):
            raise InternalError("a kernel reaches outside a buffer", op=op.name, location=f"@{self.func.sym_name.data}",
                                expected=f"offsets below {size}", got=f"{at.min()} … {at.max()}")  # fmt: skip
        return at

    def load(self, op: LoadOp) -> None:
        import numpy as np

        active = self.active(op.guard, *(self.values[i] for i in op.index))
        at, memory = self.places(op, active), self.values[op.buf]
        fill = self.values[op.fill] if op.fill is not None else np.zeros((), memory.dtype)
        if np.any(active):
            self.values[op.value] = np.where(active, memory[at], fill)
        else:
            self.values[op.value] = np.broadcast_to(fill, active.shape)

    def store(self, op: StoreOp) -> None:
        import numpy as np

        value = self.values[op.value]
        active = self.active(op.guard, value, *(self.values[i] for i in op.index))
        at = self.places(op, active)
        self.values[op.buf][at[active]] = np.broadcast_to(value, active.shape)[active]

    def scratch(self, op: ScratchOp) -> None:
        """Undefined contents are bytes that no kernel would write on purpose."""
        import numpy as np

        t = buffer_type(op.buf)
        extent = sum((self.size(d) - 1) * self.size(s) for d, s in zip(t.shape, t.element_strides(), strict=True)) + 1
        dtype = numpy_dtype(t.elem)
        raw = np.full(max(extent, 1) * dtype.itemsize, 1 if dtype.kind == "b" else 0xFF, np.uint8)
        self.values[op.buf] = raw.view(dtype)

    def check(self, op: CheckOp) -> None:
        """The failure of lowest index, of two at one index that of the first check."""
        if (found := self.judged(op.ok, op.index, [op.value])) is not None:
            index, (word,) = found
            if self.failure is None or (index, op.site.data) < (self.failure.index, self.failure.site):
                self.failure = Failure(op.site.data, index, word)

    def report(self, op: ReportOp) -> None:
        """A row of words: 1, the lowest index, the values there."""
        if (found := self.judged(op.ok, op.index, op.values)) is not None:
            index, words = found
            row = self.values[op.rows][op.row.data : op.row.data + 2 + len(words)]
            if not row[0] or index < row[1]:
                row[:] = [1, index, *words]

    def judged(self, ok: SSAValue, index: SSAValue, values: Sequence[SSAValue]) -> tuple[int, list[int]] | None:
        """The lowest index of a lane without `ok`, and its values as words; None where there is no such lane."""
        import numpy as np

        good, places, *given = (self.values[v] for v in (ok, index, *values))
        failed = self.active(None, good, places, *given) & ~good
        if not np.any(failed):
            return None
        indices = np.broadcast_to(places, failed.shape)[failed]
        first = int(np.argmin(indices))
        got = [np.broadcast_to(v, failed.shape)[failed][first] for v in given]
        return int(indices[first]), [int(v.view(f"i{v.itemsize}") if v.dtype.kind == "f" else v) for v in got]

    # ---- hand schedules

    def call(self, op: CallOp) -> None:
        """The schedule's result at once, then its hole for all elements."""
        import numpy as np

        if is_top_k(op):
            self.rank(op)
            return
        if op.callee.string_value() != "matmul":
            raise CompileError("the interpreter does not know a schedule", op=op.name, got=op.callee.string_value())
        a, b = (self.shaped(v) for v in op.bufs)
        if op.parameters is not None and "width" in str(op.parameters):
            b = np.moveaxis(b, -3, -2).reshape(*b.shape[:-3], b.shape[-2], -1)
        columns = self.size(call_space(op)[-1])
        acc, *indices = op.body.block.args
        dtype = numpy_dtype(acc.type)
        wide = np.float64 if dtype.kind not in "iu" else dtype
        a, b = a.astype(wide), b[..., :columns].astype(wide)
        partial = op.parameters.data.get("partial") if isinstance(op.parameters, DictionaryAttr) else None
        step = PART if partial is not None else max(a.shape[-1], 1)
        parts = [np.matmul(a[..., k : k + step], b[..., k : k + step, :]) for k in range(0, max(a.shape[-1], 1), step)]
        kept = [scalar_values.round_to(y, partial).astype(wide) if partial is not None else y for y in parts]
        product = sum(kept[1:], start=kept[0])
        self.spread(indices, product.shape)
        self.values[acc] = scalar_values.round_to(product.reshape(-1), acc.type)
        if product.size:
            self.block(op.body.block)

    def rank(self, op: CallOp) -> None:
        """The indices of each row, best first: sorted by element, then by index, with NaN as the largest."""
        import numpy as np

        ranked, x = ranked_of(op), self.shaped(op.bufs[0])
        count, last = self.size(ranked.count), x.shape[1] - 1
        wide = x if x.dtype.kind in "iu" else x.astype(np.float64)
        rising = np.argsort(wide[:, ::-1] if ranked.largest else wide, axis=1, kind="stable")
        order = last - rising[:, ::-1] if ranked.largest else rising
        self.values[op.bufs[1]][: len(x) * count] = order[:, :count].reshape(-1)

    def shaped(self, value: SSAValue) -> Array:
        return self.values[value][: prod(s := [self.size(d) for d in buffer_type(value).shape])].reshape(s)
