"""The CUDA text of `@matmul`: tiles of the result in registers, slabs of both operands in shared memory, in turns.

Enters: `kernel.call @matmul(%a, %b)` with a `[…, m, k]` and b `[…, k, n]`, or b packed in panels `[…, n / width, k,
width]` (parameter `width`). Leaves: lines of the kernel's text, the epilogue printed once, for one element. A block
makes one tile (`kernels/matmul_cuda.py`). Each accumulator is one chain in the order of k (of fused multiply-adds for
floats) for each part of k, and the parts are added in their order, so its bits depend on k alone.

A turn of the loop loads the next slab into registers, adds the products of the one before, which needs no data on its
way, and puts the loaded elements into the other half of the shared memory: so there is one barrier a turn. The left
slab stands transposed, so that a thread's rows are neighbours, with a pitch that spreads a row over the banks. At the
end the accumulators pass through shared memory, so that the epilogue is written once and stores whole rows.

Where the number of rows is known at run time only, all but the epilogue is printed twice: for the tile that most runs
take, and for a lower one, which those of few rows take.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from pelton.codegen.cuda.printer import CudaPrinter, Schedule
from pelton.codegen.spelling import convert, register_name
from pelton.codegen.terms import MUL, Term, infix, number, total
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import CallOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.dialects.nn.matmul import PART
from pelton.kernels.matmul_cuda import BLOCK_THREADS, Product, Tile, product_of

_PAD = 4
"""Elements between the rows of a tile: reads of four stay aligned, and neighbours in a column change banks."""

_PLACE = """\
mm_columns = ({n} + {last_column}) // {columns}
mm_tiles = ({m} + {last_row}) // {rows} * mm_columns
mm_item = lo + cuda.blockIdx.x
{batch}
mm_top = mm_item % mm_tiles // mm_columns * {rows}
mm_side = mm_item % mm_columns * {columns}
mm_jb = mm_side + (tid & {last_column})"""

_SUMS = """\
mm_y = (tid >> {across}) * {high}
mm_x = (tid & {last_across}) * {wide}
mm_la = tid & {last_depth}
mm_ra = tid >> {depth_bits}
mm_lb = tid >> {column_bits}
mm_put = 0
for mm_k in range(0, {k} + {depth}, {depth}):
    mm_ka = mm_k + mm_la
    for mm_r in range({loads_a}):
        mm_ia = mm_top + mm_ra + mm_r * {step_a}
        mm_pa{few}[mm_r] = {a} if mm_ia < {m} and mm_ka < {k} else {acc}(0)
    for mm_r in range({loads_b}):
        mm_kb = mm_k + mm_lb + mm_r * {step_b}
        mm_pb{few}[mm_r] = {b} if mm_kb < {k} and mm_jb < {n} else {acc}(0)
    if mm_k > 0:
        mm_l = {slab} - mm_put + mm_y
        mm_r = {slab} - mm_put + {left} + mm_x
        for mm_q in range({depth}):
            tile_madd(mm_acc{few}, {high}, {wide}, mm_s, mm_l + mm_q * {pitch}, mm_r + mm_q * {columns})
        {fold_part}
    for mm_r in range({loads_a}):
        mm_s[mm_put + mm_la * {pitch} + mm_ra + mm_r * {step_a}] = mm_pa{few}[mm_r]
    for mm_r in range({loads_b}):
        mm_s[mm_put + {left} + tid + mm_r * {threads}] = mm_pb{few}[mm_r]
    mm_put = {slab} - mm_put
    cuda.syncthreads()
{fold}
tile_put({whole}, {high}, {wide}, mm_s, mm_y * {result} + mm_x, {result})"""

_STORE = """\
cuda.syncthreads()
for mm_e in range(tid, {size}, T):
    mm_i = mm_top + (mm_e >> {column_bits})
    mm_j = mm_side + (mm_e & {last_column})
    if mm_i < {m} and mm_j < {n}:
        mm_value = mm_s[(mm_e >> {column_bits}) * {result} + (mm_e & {last_column})]"""


def write(printer: CudaPrinter, op: CallOp) -> None:
    """The lines of one product, the epilogue at their end."""
    product = product_of(op)
    tile, few = product.tile, product.few
    element = register_name(product.left.elem)
    acc = "f32" if element in ("f16", "bf16") else element
    text = _Text(printer, op, product, acc)
    printer.head("tid = i64(cuda.threadIdx.x)")
    printer.head(f"mm_s = tile_{acc}({max(_shared(t) for t in (tile, few) if t)})")
    text.lines(_PLACE, tile)
    if few:
        printer.line(f"if {text.m} <= {few.rows}:")
        with printer.indented():
            text.sums(few, "_few")
        printer.line("else:")
    with printer.indented() if few else nullcontext():
        text.sums(tile)
    size = f"{tile.rows * tile.columns}"
    if few:
        size = f"{few.rows * tile.columns} if {text.m} <= {few.rows} else {size}"
    text.lines(_STORE, tile, size=size)
    value = convert(Term("mm_value"), acc, register_name(op.body.block.args[0].type))
    with printer.indented(), printer.indented():
        printer.epilogue(op, value, [Term(t) for t in (["mm_batch"] if product.batched else []) + ["mm_i", "mm_j"]])


@dataclass(frozen=True)
class _Text:
    """The texts above, filled in for one product."""

    printer: CudaPrinter
    op: CallOp
    product: Product
    acc: str

    @property
    def m(self) -> str:
        """The number of rows."""
        return self.printer.dim(self.product.space[-2]).at(MUL)

    def sums(self, tile: Tile, few: str = "") -> None:
        """The accumulators of a tile, computed and put into shared memory. `few` ends the names of its arrays."""
        counts = {"acc": tile.high * tile.wide, "pa": _loads(tile.rows, tile), "pb": _loads(tile.columns, tile)}
        for name, count in counts.items():
            self.printer.head(f"mm_{name}{few} = zeros_{self.acc}({count})")
        whole, fold, fold_part = f"mm_acc{few}", "", ""
        if _in_parts(self.product):
            whole = f"mm_sum{few}"
            self.printer.head(f"{whole} = sums_{self.acc}({counts['acc']})")
            kept = "" if self.product.partial is None else f"_{register_name(self.product.partial)}"
            fold = f"tile_fold{kept}({whole}, mm_acc{few}, {counts['acc']})"
            fold_part = f"if mm_k & {PART - 1} == 0 and mm_k < {{k}}:\n            {fold}"
        self.lines(_SUMS.replace("{fold_part}", fold_part), tile, few=few, whole=whole, fold=fold)

    def lines(self, text: str, tile: Tile, **more: str) -> None:
        """A text for one tile."""
        printer, op, product, acc = self.printer, self.op, self.product, self.acc
        n, k = (printer.dim(d).at(MUL) for d in (product.space[-1], product.left.shape[-1]))
        left, across = tile.depth * _pitch(tile), tile.columns // tile.wide
        whole = text.format(
            m=self.m, k=k, n=n, acc=acc, threads=BLOCK_THREADS,
            rows=tile.rows, columns=tile.columns, depth=tile.depth, high=tile.high, wide=tile.wide,
            last_row=tile.rows - 1, last_column=tile.columns - 1, last_depth=tile.depth - 1, last_across=across - 1,
            column_bits=_bits(tile.columns), depth_bits=_bits(tile.depth), across=_bits(across),
            pitch=_pitch(tile), left=left, slab=left + tile.depth * tile.columns, result=tile.columns + _PAD,
            loads_a=_loads(tile.rows, tile), loads_b=_loads(tile.columns, tile),
            step_a=BLOCK_THREADS // tile.depth, step_b=BLOCK_THREADS // tile.columns,
            a=_element(printer, op, 0, _left(product), acc), b=_element(printer, op, 1, _right(product), acc),
            batch="mm_batch = mm_item // mm_tiles" if product.batched else "", **more,
        )  # fmt: skip
        for line in whole.splitlines():
            if line.strip():
                printer.line(line)


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


def _loads(across: int, tile: Tile) -> int:
    """How many elements of a slab a thread loads."""
    return across * tile.depth // BLOCK_THREADS


def _bits(power: int) -> int:
    return power.bit_length() - 1


_ARRAYS = ("mm_acc", "mm_pa", "mm_pb", "mm_sum")
_NAMES = frozenset(
    (
        *re.findall(r"mm_\w+", _PLACE + _SUMS + _STORE),
        "mm_batch",
        *_ARRAYS,
        *(f"{name}_few" for name in _ARRAYS),
    )
)
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
