"""The CUDA text of `@matmul`: 16 × 16 tiles in shared memory, a thread per element of the result. Simple, not fast.

Enters: `kernel.call @matmul(%a, %b)` with a `[…, m, k]` and b `[…, k, n]`, or b packed in panels `[…, n / width, k,
width]` (parameter `width`). Leaves: lines of the kernel's text, the epilogue printed once, for the one accumulator of
a thread. A block has 256 threads and makes one tile: the grid has batch · ceil(m / 16) · ceil(n / 16) items. Each
accumulator is one chain in the order of k (of fused multiply-adds for floats) for each part of k, and the parts are
added in their order, so its bits depend on k alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pelton.codegen.cuda.printer import CudaPrinter, Schedule
from pelton.codegen.spelling import convert, register_name
from pelton.codegen.terms import MUL, Term, infix, number, total
from pelton.codegen.uniformity import buffer_type
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import CallOp
from pelton.dialects.nn.matmul import PART
from pelton.kernels.matmul_cuda import TILE, Product, product_of

_PITCH = TILE + 1
"""Rows of the left tile stand one element further apart, so that a column of it falls into different banks."""

_TEXT = """\
mm_x = tid & {last}
mm_y = tid >> 4
mm_a = tile_{acc}({a_size})
mm_b = tile_{acc}({b_size})
mm_columns = ({n} + {last}) // {tile}
mm_tiles = ({m} + {last}) // {tile} * mm_columns
mm_item = lo + cuda.blockIdx.x
{batch}
mm_i = mm_item % mm_tiles // mm_columns * {tile} + mm_y
mm_j = mm_item % mm_columns * {tile} + mm_x
mm_sum = {acc}(0)
for mm_part in range(0, {k}, {part}):
    mm_acc = {acc}(0)
    for mm_k in range(mm_part, {end}, {tile}):
        mm_ka = mm_k + mm_x
        mm_kb = mm_k + mm_y
        mm_a[mm_y * {pitch} + mm_x] = {a} if mm_i < {m} and mm_ka < {k} else {acc}(0)
        mm_b[mm_y * {tile} + mm_x] = {b} if mm_kb < {k} and mm_j < {n} else {acc}(0)
        cuda.syncthreads()
        for mm_q in range({tile}):
            mm_acc = {step}
        cuda.syncthreads()
    mm_sum = {kept} if mm_part == 0 else {acc}(mm_sum + {kept})
if mm_i < {m} and mm_j < {n}:"""
_STEPS = {True: "fma({x}, {y}, mm_acc)", False: "{acc}(mm_acc + {x} * {y})"}


def write(printer: CudaPrinter, op: CallOp) -> None:
    """The lines of one product, the epilogue at their end."""
    product = product_of(op)
    m, n, k = (printer.dim(d) for d in (*product.space[-2:], product.left.shape[-1]))
    element = register_name(product.left.elem)
    acc = "f32" if element in ("f16", "bf16") else element
    x, y = f"mm_a[mm_y * {_PITCH} + mm_q]", f"mm_b[mm_q * {TILE} + mm_x]"
    text = _TEXT.format(
        m=m.at(MUL), k=k.at(MUL), n=n.at(MUL), acc=acc, tile=TILE, last=TILE - 1, pitch=_PITCH,
        a_size=TILE * _PITCH, b_size=TILE * TILE, batch="mm_batch = mm_item // mm_tiles" if product.batched else "",
        a=_element(printer, op, 0, _left(product), acc), b=_element(printer, op, 1, _right(product), acc),
        step=_STEPS[acc[0] == "f"].format(x=x, y=y, acc=acc), part=PART, kept=_kept(product, acc),
        end=_end(product, k),
    )  # fmt: skip
    printer.head("tid = i64(cuda.threadIdx.x)")
    for line in filter(None, text.splitlines()):
        printer.line(line)
    value = convert(Term("mm_sum"), acc, register_name(op.body.block.args[0].type))
    with printer.indented():
        printer.epilogue(op, value, [Term(t) for t in (["mm_batch"] if product.batched else []) + ["mm_i", "mm_j"]])


def _end(product: Product, k: Term) -> str:
    """Where a part ends."""
    depth = product.left.shape[-1]
    return k.text if isinstance(depth, int) and depth <= PART else f"minimum(mm_part + {PART}, {k.text})"


def _kept(product: Product, acc: str) -> Term:
    """The sum of a part, as it is added."""
    if product.partial is None:
        return Term("mm_acc")
    half = register_name(product.partial)
    return convert(convert(Term("mm_acc"), acc, half), half, acc)


MATMUL = Schedule(TILE * TILE, write, frozenset(re.findall(r"mm_\w+", _TEXT)))


def _left(product: Product) -> list[str]:
    return [*(["mm_batch"] if product.batched else []), "mm_i", "mm_ka"]


def _right(product: Product) -> list[str]:
    batch = [] if product.shared else ["mm_batch"]
    if product.width:
        return [*batch, f"mm_j // {product.width}", "mm_kb", f"mm_j % {product.width}"]
    return [*batch, "mm_kb", "mm_j"]


def _element(printer: CudaPrinter, op: CallOp, operand: int, indices: Sequence[str], acc: str) -> Term:
    """One element of an operand, in the accumulator's type."""
    kind = buffer_type(op.bufs[operand])
    terms = [_scaled(printer, Term(i, MUL) if " " in i else Term(i), s)
             for i, s in zip(indices, kind.element_strides(), strict=True)]  # fmt: skip
    return convert(Term(f"{printer.term(op.bufs[operand])}[{total(terms)}]"), register_name(kind.elem), acc)


def _scaled(printer: CudaPrinter, index: Term, stride: Dim) -> Term:
    match stride:
        case 1:
            return index
        case 0:
            return number(0)
        case _:
            return infix("*", index, printer.dim(stride))
