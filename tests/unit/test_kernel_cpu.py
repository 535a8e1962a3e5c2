"""Kernels through the CPU printer and the compiler, against the NumPy interpreter, on what the host can run.

The kernels are those of the lit tests of the printer, so every text that is pinned there is also run here.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.sources import cpu_source
from pelton.codegen.cpu.target import AVX2, AVX512, BASELINE, CpuTarget, host_target
from pelton.codegen.interpreter import Failure, run_kernel
from pelton.codegen.scalar_values import numpy_dtype
from pelton.dialects import dims
from pelton.dialects.kernel import BufType, FuncOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.kernels.items import kernel_items
from pelton.passes.specialize_dims import specialize
from pelton.passes.split_lanes import SplitLanes
from pelton.tests.support.kernels import Compiled, functions_of, kernel_functions, kernel_module

Array = np.ndarray[Any, Any]

TEXTS = Path(__file__).parents[1] / "lit" / "codegen"
FILES = (
    "argmax", "bool", "column_sum", "control_flow", "elementwise", "gather", "integers", "math", "matmul", "softmax",
    "strided", "transpose",
)  # fmt: skip
TARGETS = (BASELINE, AVX2, AVX512)
LENGTHS = (0, 1, 31, 32, 33, 100, 257)
ROWS = {"rows": 7, "m": 5, "a": 2, "b": 3, "c": 2, "k": 19}


@cache
def functions(specialized: int | None = None) -> dict[str, FuncOp]:
    """Every kernel, by name; with `n` a number."""
    texts = [(TEXTS / f"{name}.mlir").read_text() for name in FILES]
    found = {name: func for text in texts for name, func in kernel_functions(text).items()}
    if specialized is not None:
        for func in found.values():
            specialize(func, {"n": specialized})
    return found


@cache
def compiled(target: CpuTarget, specialized: int | None = None) -> Compiled:
    """All kernels for one target; skips where this host cannot run it."""
    if not target.required <= host_target().required:
        pytest.skip(f"this CPU does not run {target.name} code")
    return Compiled(list(functions(specialized).values()), target)


NAMES = tuple(functions())
WITH_FMA = {"functions", "functions_f64", "scalar", "scale_shift", "softmax", "exp", "linear", "batched", "shared"}
"""Kernels whose words use fused multiply-adds: their bits differ on a machine without that instruction."""
BY_ROWS = ("argmax", "statistics", "scale_shift", "softmax", "linear")
"""Kernels of `m` independent rows, the first dim of their buffers."""


def sizes_of(func: FuncOp, n: int, **more: int) -> dict[str, int]:
    """A number for every size of a kernel."""
    sizes = {
        **ROWS,
        "n": n,
        "ldx": n + 3,
        "p": -(-n // 16) if "shared" not in func.sym_name.data else -(-n // 8),
        **more,
    }
    return {str(s): sizes[str(s)] for s in func.sizes.data}


def extent(t: BufType, sizes: dict[str, int]) -> int:
    """How many elements of memory a buffer spans."""
    shape = [dims.evaluate(d, sizes) for d in t.shape]
    steps = [dims.evaluate(s, sizes) for s in t.element_strides()]
    return 1 + sum((d - 1) * s for d, s in zip(shape, steps, strict=True)) if all(shape) else 0


def buffers_of(func: FuncOp, sizes: dict[str, int]) -> list[Array]:
    """Arrays with something of everything: signs, zeros, repeats, NaN and infinities, indices in and out of range."""
    rng = np.random.default_rng(zlib.crc32(func.sym_name.data.encode()) + sum(sizes.values()))
    arrays: list[Array] = []
    for arg in func.body.block.args:
        assert isinstance(arg.type, BufType)
        dtype, count = numpy_dtype(arg.type.elem), extent(arg.type, sizes)
        if dtype.kind == "b":
            array = rng.random(count) < 0.5
        elif dtype.kind in "iu":
            array = rng.integers(-9, 9, count)
        else:
            array = rng.standard_normal(count) * 2
            special = [np.nan, np.inf, -np.inf, 0.0, -0.0]
            array[: max(count - 40, 0) : 41] = [special[k % 5] for k in range(len(range(0, max(count - 40, 0), 41)))]
        arrays.append(array.astype(dtype))
    return arrays


def assert_close(name: str, got: Array, want: Array, length: int) -> None:
    """Integers and bools are equal; floats within a rounding of each of the `length` terms that a sum may have."""
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    x, y = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(x), np.isnan(y), err_msg=name)
    np.testing.assert_array_equal(np.isinf(x), np.isinf(y), err_msg=name)
    digits = {2: 7 if want.dtype.name == "bfloat16" else 10, 4: 23, 8: 52}[want.dtype.itemsize]
    finite = np.isfinite(y)
    bound = 2.0**-digits * (4 * np.abs(y[finite]) + (length + 4) * min(1.0, 2.0 ** (digits - 23)))
    error = np.abs(x[finite] - y[finite])
    assert (error <= bound).all(), f"{name}: {error.max()} where {bound[error.argmax()]} is allowed"


def whole(func: FuncOp, sizes: dict[str, int]) -> range:
    return range(dims.evaluate(kernel_items(func), sizes))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_kernels_agree_with_the_interpreter(name: str, target: CpuTarget) -> None:
    code, func = compiled(target), functions()[name]
    for n in LENGTHS:
        sizes = sizes_of(func, n)
        if len(whole(func, sizes)) > 100:
            continue  # an item per element: the short lengths say all
        got, want = buffers_of(func, sizes), buffers_of(func, sizes)
        failure = code.run(name, got, list(sizes.values()), whole(func, sizes))
        assert failure == run_kernel(func, want, list(sizes.values()))
        for x, y in zip(got, want, strict=True):
            assert_close(f"{name} n={n}", x, y, max(n, 19))


def test_every_kernel_compiles_for_avx512_on_any_host() -> None:
    sources = [cpu_source(func, AVX512.name) for func in functions().values()]
    objects = compile_sources(sources, AVX512)
    assert list(objects) == [s.name for s in sources]
    assert {code[:4] for code in objects.values()} == {b"\x7fELF"}


@pytest.mark.parametrize("n", [64, 70])
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith(("functions", "integers", "compare"))])
def test_a_known_size_changes_no_bit(name: str, n: int) -> None:
    symbolic, known = functions()[name], functions(n)[name]
    sizes = sizes_of(symbolic, n)
    once, again = buffers_of(symbolic, sizes), buffers_of(symbolic, sizes)
    items = whole(symbolic, sizes)
    assert whole(known, sizes) == items
    failure = compiled(AVX2).run(name, once, list(sizes.values()), items)
    assert compiled(AVX2, n).run(name, again, list(sizes.values()), items) == failure
    assert_same_bits(once, again)


def assert_same_bits(one: Sequence[Array], other: Sequence[Array]) -> None:
    """Every byte, apart from which NaN it is."""
    for x, y in zip(one, other, strict=True):
        x, y = (np.where(a != a, np.zeros((), a.dtype), a) for a in (x, y))
        np.testing.assert_array_equal(x.view(np.uint8), y.view(np.uint8))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("one", "other"), [(BASELINE, AVX2), (AVX2, AVX512)], ids=["baseline-avx2", "avx2-avx512"])
def test_targets_agree_to_the_bit(name: str, one: CpuTarget, other: CpuTarget) -> None:
    if name in WITH_FMA and not one.has_fma:
        pytest.skip(f"{one.name} has no fused multiply-add")
    func = functions()[name]
    first, second = compiled(one), compiled(other)
    for n in (1, 33, 100):
        sizes = sizes_of(func, n)
        x, y, items = buffers_of(func, sizes), buffers_of(func, sizes), whole(func, sizes)
        assert first.run(name, x, list(sizes.values()), items) == second.run(name, y, list(sizes.values()), items)
        assert_same_bits(x, y)


@pytest.mark.parametrize("name", BY_ROWS)
def test_a_row_has_the_same_bits_alone_and_in_a_batch(name: str) -> None:
    code, func = compiled(AVX2), functions()[name]
    sizes = sizes_of(func, 70, m=13)
    batch = buffers_of(func, sizes)
    code.run(name, batch, list(sizes.values()), whole(func, sizes))
    alone = {**sizes, "m": 1}
    for row in (0, 6, 12):
        single = rows_of(func, buffers_of(func, sizes), row, sizes)
        code.run(name, single, list(alone.values()), whole(func, alone))
        assert_same_bits(single, rows_of(func, batch, row, sizes))


def rows_of(func: FuncOp, buffers: Sequence[Array], row: int, sizes: dict[str, int]) -> list[Array]:
    """Row `row` of the buffers that have `m` of them, and copies of the others."""
    found: list[Array] = []
    for array, arg in zip(buffers, func.body.block.args, strict=True):
        t = buffer_type(arg)
        step = dims.evaluate(t.element_strides()[0], sizes)
        found.append((array[row * step : (row + 1) * step] if t.shape[0] == "m" else array).copy())
    return found


@pytest.mark.parametrize("name", ["transpose", "softmax", "linear", "batched", "grid3"])
def test_chunks_of_the_grid_change_no_bit(name: str) -> None:
    code, func = compiled(AVX2), functions()[name]
    sizes = sizes_of(func, 100, m=61)
    once, again, items = buffers_of(func, sizes), buffers_of(func, sizes), whole(func, sizes)
    code.run(name, once, list(sizes.values()), items)
    for item in reversed(items):
        code.run(name, again, list(sizes.values()), range(item, item + 1))
    assert_same_bits(once, again)


def test_split_lanes_changes_the_grid_and_no_bit() -> None:
    text = (TEXTS / "column_sum.mlir").read_text() + (TEXTS / "elementwise.mlir").read_text()
    before, module = kernel_functions(text), kernel_module(text)
    SplitLanes(tile=64, heavy_tile=32).apply(Context(), module)
    after = functions_of(module)
    code = Compiled(list(before.values()), AVX2), Compiled(list(after.values()), AVX2)
    for name, items in (("column_sum", 5), ("exp", 3)):
        sizes = sizes_of(before[name], 150)
        x, y = buffers_of(before[name], sizes), buffers_of(before[name], sizes)
        assert (len(whole(before[name], sizes)), len(whole(after[name], sizes))) == (1, items)
        code[0].run(name, x, list(sizes.values()), whole(before[name], sizes))
        code[1].run(name, y, list(sizes.values()), whole(after[name], sizes))
        assert_same_bits(x, y)


def test_a_failed_check_reports_the_lowest_index() -> None:
    code, func = compiled(AVX2), functions()["gather"]
    w, index, y = np.zeros((4, 3), np.float32), np.array([0, -5, 9, -4, 4], np.int64), np.zeros((5, 3), np.float32)
    for items in (range(5), range(2, 5)):
        first = 1 if 1 in items else 2
        want = Failure(1, first, int(index[first]))
        assert code.run("gather", [w, index, y], [4, 3, 5], items) == want
        assert run_kernel(func, [w, index, y], [4, 3, 5], items) == want
