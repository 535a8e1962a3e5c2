"""The CUDA text of `@matmul`: tiles of the result in registers, slabs of both operands in shared memory, in turns.

Enters: `kernel.call @matmul(%a, %b)` with a `[…, m, k]` and b `[…, k, n]`, or b packed in panels `[…, n / width, k,
width]` (parameter `width`). Leaves: lines of the kernel's text, the epilogue printed once, for one element. A block
makes one tile (`kernels/matmul_cuda.py`). Each accumulator is one chain in the order of k (of fused multiply-adds for
floats) for each part of k, and the parts are added in their order, so its bits depend on k alone.

A turn of the loop loads the next slab into registers, adds the products of the one before, which needs no data on its
way, and puts the loaded elements into the other half of the shared memory: so there is one barrier a turn. The left
slab stands transposed, so that a thread's rows are neighbours, with a pitch that spreads a row over the banks. At the
end the accumulators pass through shared memory, so that the epilogue is written once and stores whole rows.
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
from pelton.kernels.matmul_cuda import BLOCK_THREADS, Product, Tile, product_of

_PAD = 4
"""Elements between the rows of a tile: reads of four stay aligned, and neighbours in a column change banks."""

_TEXT = """\
mm_columns = ({n} + {last_column}) // {columns}
mm_tiles = ({m} + {last_row}) // {rows} * mm_columns
mm_item = lo + cuda.blockIdx.x
{batch}
mm_top = mm_item % mm_tiles // mm_columns * {rows}
mm_side = mm_item % mm_columns * {columns}
mm_y = (tid >> {across}) * {high}
mm_x = (tid & {last_across}) * {wide}
mm_la = tid & {last_depth}
mm_ra = tid >> {depth_bits}
mm_lb = tid >> {column_bits}
mm_jb = mm_side + (tid & {last_column})
mm_put = 0
for mm_k in range(0, {k} + {depth}, {depth}):
    mm_ka = mm_k + mm_la
    for mm_r in range({loads_a}):
        mm_ia = mm_top + mm_ra + mm_r * {step_a}
        mm_pa[mm_r] = {a} if mm_ia < {m} and mm_ka < {k} else {acc}(0)
    for mm_r in range({loads_b}):
        mm_kb = mm_k + mm_lb + mm_r * {step_b}
        mm_pb[mm_r] = {b} if mm_kb < {k} and mm_jb < {n} else {acc}(0)
    if mm_k > 0:
        mm_l = {slab} - mm_put + mm_y
        mm_r = {slab} - mm_put + {left} + mm_x
        for mm_q in range({depth}):
            tile_madd(mm_acc, {high}, {wide}, mm_s, mm_l + mm_q * {pitch}, mm_r + mm_q * {columns})
        {fold_part}
    for mm_r in range({loads_a}):
        mm_s[mm_put + mm_la * {pitch} + mm_ra + mm_r * {step_a}] = mm_pa[mm_r]
    for mm_r in range({loads_b}):
        mm_s[mm_put + {left} + tid + mm_r * {threads}] = mm_pb[mm_r]
    mm_put = {slab} - mm_put
    cuda.syncthreads()
{fold}
tile_put(mm_{whole}, {high}, {wide}, mm_s, mm_y * {result} + mm_x, {result})
cuda.syncthreads()
for mm_e in range(tid, {size}, T):
    mm_i = mm_top + (mm_e >> {column_bits})
    mm_j = mm_side + (mm_e & {last_column})
    if mm_i < {m} and mm_j < {n}:
        mm_value = mm_s[(mm_e >> {column_bits}) * {result} + (mm_e & {last_column})]"""


def write(printer: CudaPrinter, op: CallOp) -> None:
    """The lines of one product, the epilogue at their end."""
    product = product_of(op)
    tile = product.tile
    element = register_name(product.left.elem)
    acc = "f32" if element in ("f16", "bf16") else element
    printer.head("tid = i64(cuda.threadIdx.x)")
    printer.head(f"mm_s = tile_{acc}({_shared(tile)})")
    counts = {"acc": tile.high * tile.wide, "pa": _loads(tile.rows, tile), "pb": _loads(tile.columns, tile)}
    for name, count in counts.items():
        printer.head(f"mm_{name} = zeros_{acc}({count})")
    if _in_parts(product):
        printer.head(f"mm_sum = sums_{acc}({counts['acc']})")
    for line in _lines(printer, op, product, acc):
        printer.line(line)
    value = convert(Term("mm_value"), acc, register_name(op.body.block.args[0].type))
    with printer.indented(), printer.indented():
        printer.epilogue(op, value, [Term(t) for t in (["mm_batch"] if product.batched else []) + ["mm_i", "mm_j"]])


def _in_parts(product: Product) -> bool:
    """Whether there may be sums besides those of one part of k."""
    depth = product.left.shape[-1]
    return not isinstance(depth, int) or depth > PART or product.partial is not None


def _pitch(tile: Tile) -> int:
    return tile.rows + _PAD


def _shared(tile: Tile) -> int:
    """Elements: two slabs of each operand, or the tile of the result, which stands there after them."""
    slab = tile.depth * (_pitch(tile) + tile.columns)
    return max(2 * slab, tile.rows * (tile.columns + _PAD))


def _lines(printer: CudaPrinter, op: CallOp, product: Product, acc: str) -> list[str]:
    tile, (m, n, k) = product.tile, (printer.dim(d) for d in (*product.space[-2:], product.left.shape[-1]))
    left, across = tile.depth * _pitch(tile), tile.columns // tile.wide
    fold = ""
    if _in_parts(product):
        kept = "" if product.partial is None else f"_{register_name(product.partial)}"
        fold = f"tile_fold{kept}(mm_sum, mm_acc, {tile.high * tile.wide})"
    text = _TEXT.format(
        m=m.at(MUL), k=k.at(MUL), n=n.at(MUL), acc=acc, threads=BLOCK_THREADS,
        rows=tile.rows, columns=tile.columns, depth=tile.depth, high=tile.high, wide=tile.wide,
        last_row=tile.rows - 1, last_column=tile.columns - 1, last_depth=tile.depth - 1, last_across=across - 1,
        column_bits=_bits(tile.columns), depth_bits=_bits(tile.depth), across=_bits(across),
        pitch=_pitch(tile), left=left, slab=left + tile.depth * tile.columns, result=tile.columns + _PAD,
        loads_a=_loads(tile.rows, tile), loads_b=_loads(tile.columns, tile), size=tile.rows * tile.columns,
        step_a=BLOCK_THREADS // tile.depth, step_b=BLOCK_THREADS // tile.columns,
        a=_element(printer, op, 0, _left(product), acc), b=_element(printer, op, 1, _right(product), acc),
        batch="mm_batch = mm_item // mm_tiles" if product.batched else "", whole="sum" if fold else "acc", fold=fold,
        fold_part=f"if mm_k & {PART - 1} == 0 and mm_k < {k.at(MUL)}:\n            {fold}" if fold else "",
    )  # fmt: skip
    return [line for line in text.splitlines() if line.strip()]


def _loads(across: int, tile: Tile) -> int:
    """How many elements of a slab a thread loads."""
    return across * tile.depth // BLOCK_THREADS


def _bits(power: int) -> int:
    return power.bit_length() - 1


_NAMES = frozenset((*re.findall(r"mm_\w+", _TEXT), "mm_batch", "mm_sum"))
MATMUL = Schedule(BLOCK_THREADS, write, _NAMES)


def _left(product: Product) -> list[str]:
    return [*(["mm_batch"] if product.batched else []), "mm_ia", "mm_ka"]


def _right(product: Product) -> list[str]:
    batch = [] if product.shared else ["mm_batch"]
    if product.width:
        return [*batch, f"mm_jb // {product.width}", "mm_kb", f"mm_jb % {product.width}"]
    return [*batch, "mm_kb", "mm_jb"]


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
