"""Four neighbours at once, wherever they begin and however many there are, and what cannot be done so."""

from __future__ import annotations

import numpy as np
import pytest

from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.source import Source
from pelton.driver import Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.support.errors import CompileError
from pelton.tests.support.cuda import functions, launch

MOVE = """\
def move(x, y, at, left, lo, hi, ctx):
    four = zeros_{storage}(4)
    if cuda.threadIdx.x == 0:
        load_4(four, x, at, left)
        store_4(y, at, four, left)
"""
WIDTHS = {"u8": "v4.u8", "u16": "v4.u16", "f32": "v4.f32", "f64": "v2.f64", "i32": "v4.u32", "i64": "v2.u64"}


@pytest.mark.parametrize("storage", WIDTHS)
def test_every_place_and_every_number(storage: str) -> None:
    """One access for four where there are four at a multiple of their bytes; nothing else is touched."""
    dtype = np.dtype({"u": "uint", "i": "int", "f": "float"}[storage[0]] + storage[1:])
    move = Source("move", MOVE.format(storage=storage), (("x", storage), ("y", storage)), ("at", "left"), 32)
    ptx = compile_ptx(move)
    assert f"ld.global.{WIDTHS[storage]}" in ptx
    assert f"st.global.{WIDTHS[storage]}" in ptx
    for at in range(6):
        for left in range(6):
            x, y = np.arange(1, at + left + 1).astype(dtype), np.zeros(at + left, dtype)
            launch(move, ptx, 1, [x, y], [at, left])
            np.testing.assert_array_equal(
                y, np.where(np.arange(at + left) < at, 0, x) * (np.arange(at + left) < at + 4)
            )


@pytest.mark.parametrize("dtype", [DType.float32, DType.float16, DType.int8, DType.float64, DType.bool])
@pytest.mark.parametrize("n", [509, 1023, 1025])
def test_rows_that_begin_anywhere(dtype: DType, n: int) -> None:
    """Rows of an odd length begin at every remainder of 16 bytes, and so do views of a buffer."""
    gpu = Accelerator.emulated()
    with Graph("rows", input_types=[TensorType(dtype, ("m", "n"), DeviceRef.GPU(0))] * 2) as graph:
        x, y = (value.tensor for value in graph.inputs)
        graph.output(ops.where(x == y, x, y), ops.concat([x, y], axis=1))
    model = InferenceSession(devices=[gpu]).load(graph)
    values = np.random.default_rng(n).integers(0, 2, (2, 3, n)).astype(dtype.to_numpy())
    x, y = (Buffer.from_numpy(v).to(gpu) for v in values)
    chosen, both = model.execute(x[1:], y[:2])
    np.testing.assert_array_equal(chosen.to_numpy(), values[1, :2])
    np.testing.assert_array_equal(both.to_numpy(), np.concatenate([values[0, 1:], values[1, :2]], axis=1))


COLUMNS = """\
kernel.func @columns(%x : !kernel.buf<[n, 2], f32>) sizes [n] {
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) by_four {
      %v = kernel.load %x[%j, %zero] : !kernel.buf<[n, 2], f32>
      kernel.store %v, %x[%j, %zero] : !kernel.buf<[n, 2], f32>
    }
  }
}
"""


def test_a_loop_that_cannot_is_refused() -> None:
    with pytest.raises(CompileError, match="cannot do four lanes a turn"):
        cuda_source(functions(COLUMNS)["columns"])
