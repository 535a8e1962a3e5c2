"""Ops on mutable memory: types, meaning in NumPy, what they require of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.context import new_context
from pelton.dialects.interpreter import InterpreterError, run
from pelton.dialects.nn import LoadOp, StoreOp
from pelton.dialects.nn.ranges import Ranges
from pelton.dialects.reader import read_module
from pelton.dialects.types import BufferType, TensorType


def module_of(body: str, arguments: str, result: str = "") -> ModuleOp:
    text = f"func.func @main({arguments}) {f'-> {result} ' if result else ''}{{\n{body}\n}}"
    return read_module(new_context(), text.encode(), "buffers.mlir")


def test_a_tensor_is_no_buffer() -> None:
    block = Block(arg_types=[TensorType([4], f32), BufferType([4], f32)])
    with pytest.raises(VerifyException, match=r"'nn.load' expects a buffer as operand 0, got !nn.tensor"):
        LoadOp.make(block.args[0])
    with pytest.raises(VerifyException, match=r"'nn.store' expects a tensor as operand 0, got !nn.buffer"):
        StoreOp.make(block.args[1], block.args[1])


def test_a_loaded_value_stays_what_it_was() -> None:
    body = """
      %old = nn.load %b : (!nn.buffer<[n], f32>) -> !nn.tensor<[n], f32>
      nn.store %x, %b : (!nn.tensor<[n], f32>, !nn.buffer<[n], f32>) -> ()
      func.return %old : !nn.tensor<[n], f32>"""
    module = module_of(body, "%b: !nn.buffer<[n], f32>, %x: !nn.tensor<[n], f32>", "!nn.tensor<[n], f32>")
    state, x = np.zeros(3, np.float32), np.arange(3, dtype=np.float32)
    (old,) = run(module, [state, x])
    assert old.tolist() == [0, 0, 0]
    assert state.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("start", "stop", "step", "index"),
    [("1", "n", "2", np.s_[1::2]), ("n - 1", "-1", "-1", np.s_[::-1]), ("0", "n", "1", np.s_[:]), ("2", "2", "1", [])],
)
def test_store_slice_is_an_assignment_of_numpy(start: str, stop: str, step: str, index: Any) -> None:
    state, want = np.zeros((5, 2), np.float32), np.zeros((5, 2), np.float32)
    count = len(want[index])
    x = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    want[index] = x
    size = {"1": "(n - 1 + 1) floordiv 2", "n - 1": "n", "0": "n", "2": "0"}[start]
    body = f"""
      nn.store_slice %x, %b {{starts = #nn.dims[{start}, 0], stops = #nn.dims[{stop}, 2], steps = #nn.dims[{step}, 1]}}
        : (!nn.tensor<[{size}, 2], f32>, !nn.buffer<[n, 2], f32>) -> ()
      func.return"""
    run(module_of(body, f"%b: !nn.buffer<[n, 2], f32>, %x: !nn.tensor<[{size}, 2], f32>"), [state, x])
    np.testing.assert_array_equal(state, want)


def test_what_a_store_requires_is_checked() -> None:
    body = """
      nn.store_slice %x, %b {starts = #nn.dims[p], stops = #nn.dims[p + 1], steps = #nn.dims[1]}
        : (!nn.tensor<[1], f32>, !nn.buffer<[n], f32>) -> ()
      func.return"""
    module = module_of(body, "%b: !nn.buffer<[n], f32>, %x: !nn.tensor<[1], f32>, %at: !nn.tensor<[p], f32>")
    state, x = np.zeros(3, np.float32), np.ones(1, np.float32)
    run(module, [state, x, np.zeros(2, np.float32)])
    assert state.tolist() == [0, 0, 1]
    with pytest.raises(InterpreterError, match=r"0 ≤ start ≤ stop ≤ size along axis 0 of \[n\]"):
        run(module, [state, x, np.zeros(3, np.float32)])


@pytest.mark.parametrize(
    ("ranges", "offset"),
    [
        (Ranges((0, 0), (3, 4), (1, 1), (3, 4)), 0),
        (Ranges((1, 0), (3, 4), (1, 1), (3, 4)), 4),
        (Ranges((1, 1), (2, 3), (1, 1), (3, 4)), 5),
        (Ranges((0, 1), (3, 3), (1, 1), (3, 4)), None),
        (Ranges((0, 0), (3, 4), (2, 1), (3, 4)), None),
        (Ranges((2, 0), (1, 4), (-1, 1), (3, 4)), 8),
        (Ranges((0, 0, 1), (1, 3, 2), (1, 1, 1), (1, 3, 4)), None),
        (Ranges((0, 1, 0), (1, 3, 4), (1, 1, 1), (1, 3, 4)), 4),
        (Ranges((0, 1, 0), (2, 3, 4), (1, 1, 1), (2, 3, 4)), None),
    ],
)
def test_where_a_slice_is_one_piece_of_memory(ranges: Ranges, offset: int | None) -> None:
    assert ranges.offset() == offset
    if offset is not None:
        memory = np.arange(np.prod([int(d) for d in ranges.shape if isinstance(d, int)])).reshape(ranges.shape)  # pyright: ignore[reportCallIssue, reportArgumentType]
        part = memory[ranges.places({})]
        assert part.ravel().tolist() == list(range(offset, offset + part.size))
