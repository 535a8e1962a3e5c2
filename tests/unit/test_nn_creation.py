"""Constants (every dtype, every bit), the other creation ops, constant folding, and the nn interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, StringAttr, i1, i8, i32, i64
from xdsl.ir import Attribute, Block
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.context import new_context
from pelton.dialects.dense import DenseAttr
from pelton.dialects.interpreter import InterpreterError, run
from pelton.dialects.nn import ConstantOp, DimOp, IotaOp, Materialize, RangeOp, ShapeToTensorOp, WeightOp, reference
from pelton.dialects.op import Pointwise
from pelton.dialects.reader import read_module
from pelton.dialects.types import DimsAttr, TensorType, dtype_name
from pelton.support.errors import ReadError
from pelton.tests.support.nn_values import (
    ALL,
    BF16,
    F16,
    F32,
    F64,
    FLOATS,
    NUMBERS,
    expanded,
    make,
    on_arrays,
    operand,
    special,
    values,
)  # fmt: skip
from pelton.tests.support.scalar_values import trace

U8 = IntegerType(8, Signedness.UNSIGNED)


def reread(attribute: Attribute) -> Attribute:
    context: Context = new_context()
    read_module(context, "%0 = nn.constant 1.0 : !nn.tensor<[], f32>", "load")
    return Parser(context, str(attribute)).parse_attribute()


@pytest.mark.parametrize("dtype", [*ALL, U8], ids=dtype_name)
def test_constants_read_back_bit_for_bit(dtype: Attribute) -> None:
    x = values(i8, 40).astype(np.uint8) if dtype == U8 else np.concatenate([special(dtype), values(dtype, 100)])
    value = DenseAttr.from_array(x, dtype)
    assert reread(value) == value
    assert (
        value.array().tobytes() == x.tobytes() and DenseAttr.of(value.values(), x.shape, dtype).array().dtype == x.dtype
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
def test_every_kind_of_nan_reads_back(dtype: Attribute) -> None:
    size = reference.numpy_dtype(dtype).itemsize
    bits = np.frombuffer(np.random.default_rng(0).bytes(size * 500), f"u{size}")
    value = DenseAttr.from_array(bits.view(reference.numpy_dtype(dtype)), dtype)
    assert reread(value) == value


def test_floats_print_in_the_fewest_digits() -> None:
    assert (
        DenseAttr.of([0.1, 1 / 3, 1e30, -0.0, 5e-324], (5,), F64).elements_text()
        == "[0.1, 0.3333333333333333, 1.0e+30, -0.0, 5.0e-324]"
    )
    assert DenseAttr.of([0.1, 1 / 3, 1e30], (3,), F32).elements_text() == "[0.1, 0.33333334, 1.0e+30]"
    assert DenseAttr.of([0.1, 1 / 3, 65504], (3,), F16).elements_text() == "[0.1, 0.3333, 65504.0]"
    assert DenseAttr.of([0.1, 1 / 3, 1e30], (3,), BF16).elements_text() == "[0.1, 0.334, 1.0e+30]"
    assert DenseAttr.of([True, False], (2,), i1).elements_text() == "[true, false]"
    assert DenseAttr.of([-7], (), i64).elements_text() == "-7"


def test_numbers_are_rounded_once() -> None:
    """Against NumPy's cast through our own rounding, which is tested on casts."""
    x = values(F64, 500, scale=1e3)
    for dtype in FLOATS:
        assert DenseAttr.of(x.tolist(), x.shape, dtype).array().tobytes() == reference.rounded(x, dtype).tobytes()


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [(300, i8, "300 is out of range"), (2, i1, "2 is not a bool"), (0.5, i32, "0.5 is not an integer")],
)
def test_numbers_that_do_not_fit(value: Any, dtype: Attribute, message: str) -> None:
    with pytest.raises((OverflowError, ValueError), match=message):
        DenseAttr.of([value], (), dtype)


def test_too_few_elements() -> None:
    with pytest.raises(VerifyException, match="expects 4 elements for its shape, got 1"):
        DenseAttr((2, 2), F32, b"\0\0\0\0")


def test_constant_op() -> None:
    t = TensorType((2, 2), F32)
    op = ConstantOp.of([1, 2, 3, 4], t)
    op.verify()
    assert ConstantLike.get_constant_value(op.result) == op.value and op.evaluate({})[0].tolist() == [[1, 2], [3, 4]]
    assert (trace(op, {})[0] == op.value.array()).all()
    assert trace(ConstantOp.of([5] * 4, t), {})[0].tolist() == [[5, 5], [5, 5]]
    assert (
        trace(ConstantOp.of([0.0, -0.0, -0.0, 2], t), {})[0].tobytes() == np.array([0, -0.0, -0.0, 2], "f4").tobytes()
    )
    assert ConstantOp.scalar(True, i1).value.values() == [True]
    assert Materialize().materialize_constant(op.value, t) is not None
    assert Materialize().materialize_constant(StringAttr(""), t) is None


def test_constants_are_small() -> None:
    with pytest.raises(VerifyException, match="expects at most 1024 bytes, got 1028; make it an"):
        ConstantOp.of([0] * 257, TensorType((257,), F32)).verify()


@pytest.mark.parametrize("dtype", NUMBERS, ids=dtype_name)
def test_iota(dtype: Attribute) -> None:
    op = IotaOp.declare(TensorType(("n", 3), dtype), axis=IntegerAttr(0, i64))
    op.verify()
    (y,) = op.evaluate({"n": 4})
    assert (y == np.arange(4)[:, None].astype(y.dtype)).all() and y.shape == (4, 3)
    assert (trace(op, {"n": 4})[0] == y).all()


@pytest.mark.parametrize("dtype", NUMBERS, ids=dtype_name)
@pytest.mark.parametrize("count", [0, 1, 9])
def test_range(dtype: Attribute, count: int) -> None:
    start, step = (np.asarray(v).astype(reference.numpy_dtype(dtype)) for v in (100, -3))
    op, y = on_arrays("range", start, step, length=DimsAttr((count,)))
    assert isinstance(op, RangeOp)
    assert (y == (100 - 3 * np.arange(count)).astype(y.dtype)).all() and (trace(op, {}, start, step)[0] == y).all()


def test_range_of_floats_is_rounded_once() -> None:
    start, step = np.asarray(0.3, np.float32), np.asarray(0.1, np.float32)
    op, y = on_arrays("range", start, step, length=DimsAttr((1000,)))
    assert isinstance(op, Pointwise)
    assert (y == (np.float64(start) + np.arange(1000) * np.float64(step)).astype(np.float32)).all()
    assert (trace(op, {}, start, step)[0] == y).all()


def test_dim() -> None:
    op = make("dim", value=DimsAttr((dims.mul("a", "b"),)))
    assert isinstance(op, DimOp) and op.result_type == TensorType((), i64) and op.fold() is None
    assert op.evaluate({"a": 3, "b": 4})[0] == 12 and trace(op, {"a": 3, "b": 4})[0] == 12
    assert make("dim", value=DimsAttr((5,))).fold() == [DenseAttr.of([5], (), i64)]
    on_gpu = DimOp.declare(TensorType((), i64, "gpu:0"), value=DimsAttr(("a",)))
    on_gpu.verify()


def test_shape_to_tensor() -> None:
    op = make("shape_to_tensor", shape=DimsAttr(("a", 4)))
    assert isinstance(op, ShapeToTensorOp) and op.fold() is None
    assert op.evaluate({"a": 3})[0].tolist() == [3, 4]
    block = Block()
    expansion = op.expand(Builder(InsertPoint.at_end(block)))
    assert expansion is not None
    (value,) = expansion
    assert value.type == op.result_type and [o.name for o in block.ops][-1] == "nn.concat"
    assert make("shape_to_tensor", shape=DimsAttr((2, 4))).fold() == [DenseAttr.of([2, 4], (2,), i64)]
    assert run(expanded("shape_to_tensor", [], shape=DimsAttr(())), [])[0].shape == (0,)


REFUSED = [
    ("range", [((), F32), ((), F64)], {"length": DimsAttr((3,))}, "expects a start and a step of one type and rank 0"),
    (
        "range",
        [((1,), F32), ((1,), F32)],
        {"length": DimsAttr((3,))},
        "expects a start and a step of one type and rank 0",
    ),
    (
        "range",
        [((), i1), ((), i1)],
        {"length": DimsAttr((3,))},
        "expects elements of a float or an integer, got i1",
    ),
    ("range", [((), F32), ((), F32)], {"length": DimsAttr((3, 4))}, "expects one length, got [3, 4]"),
    ("dim", [], {"value": DimsAttr((3, 4))}, "expects one size, got [3, 4]"),
]


@pytest.mark.parametrize(("name", "operands", "properties", "message"), REFUSED)
def test_refusals(name: str, operands: Any, properties: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifyException) as error:
        make(name, *(operand(*o) for o in operands), **properties)
    assert message in str(error.value)


def test_refusals_of_declared_ops() -> None:
    with pytest.raises(VerifyException, match="expects an axis from 0 to 0"):
        IotaOp.declare(TensorType((3,), F32), axis=IntegerAttr(1, i64)).verify()
    with pytest.raises(VerifyException, match="expects known sizes, got"):
        WeightOp.declare(TensorType(("n",), F32), key=StringAttr("w")).verify()
    with pytest.raises(VerifyException, match=r"expects elements for !nn.tensor<\[3\], f32>, got \[2\] of f32"):
        ConstantOp.declare(TensorType((3,), F32), value=DenseAttr.of([1, 2], (2,), F32)).verify()
    with pytest.raises(TypeError, match="the weight 'w' has its value in the weights registry"):
        WeightOp.declare(TensorType((3,), F32), key=StringAttr("w")).evaluate({})


def test_folding() -> None:
    constant = ConstantOp.of([1.0, 2.0], TensorType((2,), F32)).result
    assert make("add", constant, constant).fold() == [DenseAttr.of([2.0, 4.0], (2,), F32)]
    assert make("max", constant, axis=IntegerAttr(0, i64)).fold() == [DenseAttr.of([2.0], (1,), F32)]
    for inexact in (make("sum", constant, axis=IntegerAttr(0, i64)), make("exp", constant)):
        assert inexact.fold() is None, "bits would depend on what is known when a model is compiled"
    assert make("add", constant, operand((2,), F32)).fold() is None
    assert make("broadcast_to", constant, shape=DimsAttr((4, 2))).fold() is None, "a broadcast is cheaper than memory"
    assert make("reshape", constant, shape=DimsAttr((2, 1))).fold() == [DenseAttr.of([1.0, 2.0], (2, 1), F32)]
    many = ConstantOp.of(range(100), TensorType((100,), F32)).result
    assert make("concat", many, many, many, axis=IntegerAttr(0, i64)).fold() is None, "more than a constant may hold"


# the interpreter
PROGRAM = """
func.func @main(%x : !nn.tensor<[n, m], f32>, %y : !nn.tensor<[m], f32>) -> !nn.tensor<[n, m], f32> {
  %w = nn.weight {key = "w"} : !nn.tensor<[1], f32>
  %a = nn.broadcast_to %y {shape = #nn.dims[n, m]} : (!nn.tensor<[m], f32>) -> !nn.tensor<[n, m], f32>
  %g = nn.group "elementwise" (%x, %a) {
  ^bb0(%p : !nn.tensor<[n, m], f32>, %q : !nn.tensor<[n, m], f32>):
    %s = nn.add %p, %q : !nn.tensor<[n, m], f32>
    nn.yield %s : !nn.tensor<[n, m], f32>
  }
  %b = nn.broadcast_to %w {shape = #nn.dims[n, m]} : (!nn.tensor<[1], f32>) -> !nn.tensor<[n, m], f32>
  %z = nn.mul %g, %b : !nn.tensor<[n, m], f32>
  func.return %z : !nn.tensor<[n, m], f32>
}
"""
X, Y, W = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32), np.array([2], np.float32)


def interpret(text: str, *inputs: Any, **weights: Any) -> list[Any]:
    return run(read_module(new_context(), text, "program"), inputs, weights)


def test_interpreter_runs_groups_and_weights() -> None:
    assert interpret(PROGRAM, X, Y, w=W)[0].tolist() == [[2, 4, 6], [2, 4, 6]]
    assert run(read_module(new_context(), PROGRAM, "p"), {"y": Y, "x": X}, {"w": W})[0].shape == (2, 3)


FAILURES: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((X,), {"w": W}, "@main expects 2 inputs, got 1"),
    ((X, Y.astype(np.float64)), {"w": W}, r"input 1 (%y) expects rank 1 of f32, got float64[3]"),
    ((X, X), {"w": W}, r"input 1 (%y) expects rank 1 of f32, got float32[2, 3]"),
    ((X, Y[:2]), {"w": W}, "input 1 (%y) has size 2 for m, an earlier input has 3"),
    ((X, Y), {}, "the weight 'w' is missing"),
    ((X, Y), {"w": Y}, "weight 'w' expects size 1 along axis 0, got 3"),
]


@pytest.mark.parametrize(("inputs", "weights", "message"), FAILURES)
def test_interpreter_says_what_does_not_fit(inputs: Any, weights: Any, message: str) -> None:
    with pytest.raises(InterpreterError) as error:
        interpret(PROGRAM, *inputs, **weights)
    assert str(error.value) == message


RESHAPE = """
func.func @main(%x : !nn.tensor<[n, 4], f32>, %y : !nn.tensor<[m], f32>) -> !nn.tensor<[m], f32> {
  %z = nn.reshape %x {shape = #nn.dims[m]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[m], f32>
  func.return %z : !nn.tensor<[m], f32>
}
"""


def test_interpreter_checks_what_ops_require() -> None:
    x = np.zeros((2, 4), np.float32)
    assert interpret(RESHAPE, x, np.zeros(8, np.float32))[0].shape == (8,)
    with pytest.raises(
        InterpreterError, match=r"nn.reshape: reshape of \[n, 4\] to \[m\] .*: expected 4\*n = m, got 8 and 9"
    ):
        interpret(RESHAPE, x, np.zeros(9, np.float32))


def test_interpreter_passes_on_what_an_op_refuses() -> None:
    text = """
    func.func @main(%x : !nn.tensor<[3], f32>, %i : !nn.tensor<[1], i64>) -> !nn.tensor<[1], f32> {
      %z = nn.gather %x, %i {axis = 0} : (!nn.tensor<[3], f32>, !nn.tensor<[1], i64>) -> !nn.tensor<[1], f32>
      func.return %z : !nn.tensor<[1], f32>
    }
    """
    with pytest.raises(InterpreterError, match=r"nn\.gather: gather: index out of range: 7 at element 0"):
        interpret(text, np.zeros(3, np.float32), np.array([7]))


def test_constant_text_that_does_not_fit() -> None:
    for text in (
        "nn.constant [1, 2.5] : !nn.tensor<[2], i32>",
        "nn.constant 300 : !nn.tensor<[], i8>",
        "nn.constant 1 : i32",
    ):
        with pytest.raises(ReadError, match=r"expected (elements that fit|a !nn\.tensor type)"):
            interpret(f"func.func @main() {{ %0 = {text} \n func.return }}")
