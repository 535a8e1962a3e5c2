"""Values that the tests of nn ops share: random ones with the special ones of each dtype, and ops built from types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.dims import Dim
from pelton.dialects.nn import BY_NAME, reference
from pelton.dialects.op import NnOp
from pelton.dialects.types import TensorType, is_bool, is_float

F16, BF16, F32, F64 = Float16Type(), BFloat16Type(), Float32Type(), Float64Type()
FLOATS: Sequence[Attribute] = (F16, BF16, F32, F64)
UNSIGNED = U8, U16, U32, U64 = tuple(IntegerType(bits, Signedness.UNSIGNED) for bits in (8, 16, 32, 64))
INTS: Sequence[Attribute] = (i8, i32, i64, *UNSIGNED)
NUMBERS = (*FLOATS, *INTS)
ALL = (*NUMBERS, i1)


def special(dtype: Attribute) -> np.ndarray[Any, Any]:
    """Zeros, limits, infinities, NaN and their neighbours."""
    numpy = reference.numpy_dtype(dtype)
    if is_bool(dtype):
        return np.array([False, True])
    if not is_float(dtype):
        limits = np.iinfo(numpy)
        numbers = [0, 1, -1, 2, -2, 3, 7, limits.min, limits.min + 1, limits.max]
        return np.array([n if n >= limits.min else n + limits.max + 1 for n in map(int, numbers)], numpy)
    limits = reference.info(numpy)
    tiny = float(limits.smallest_subnormal)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 10.0, -10.0, 89.0, -89.0, -104.0]
    edges = [float(limits.max), -float(limits.max), tiny, -tiny, float(limits.tiny)]
    return np.array([*numbers, *edges, np.inf, -np.inf, np.nan]).astype(numpy)


def values(dtype: Attribute, count: int, seed: int = 0, scale: float = 3.0) -> np.ndarray[Any, Any]:
    """`count` random numbers."""
    random = np.random.default_rng(seed)
    numpy = reference.numpy_dtype(dtype)
    if is_bool(dtype):
        return random.random(count) < 0.5
    if is_float(dtype):
        return (random.standard_normal(count) * scale).astype(numpy)
    return random.integers(-100, 100, count).astype(numpy)


def pairs(dtype: Attribute) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Every special value with every other, and random pairs of magnitudes far apart."""
    x, y = (v.ravel() for v in np.meshgrid(special(dtype), special(dtype)))
    lhs, rhs = values(dtype, 500, 1, 100), values(dtype, 500, 2, 0.3)
    return np.concatenate([x, lhs]), np.concatenate([y, rhs])


def value(t: Attribute) -> SSAValue:
    """A value of any type, out of nowhere."""
    return TestOp(result_types=[t]).results[0]


def operand(shape: Sequence[Dim], dtype: Attribute, device: str = "cpu:0") -> SSAValue:
    """A value of a tensor type."""
    return value(TensorType(shape, dtype, device))


def make(name: str, *operands: SSAValue, **properties: Any) -> NnOp:
    """An op by its name without `nn.`."""
    return BY_NAME[name].make(*operands, **properties)


def on_arrays(name: str, *arrays: np.ndarray[Any, Any], **properties: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    """An op on static tensors like the arrays, and what it evaluates to."""
    op = make(name, *(operand(a.shape, attribute_of(a.dtype)) for a in arrays), **properties)
    (y,) = op.evaluate({}, *arrays)
    assert y.shape == op.result_type.shape, f"{op.name} evaluates to {y.shape}, infers {op.result_type}"
    assert y.dtype == reference.numpy_dtype(op.result_type.dtype)
    return op, y


def attribute_of(dtype: Any) -> Attribute:
    """The IR's dtype of a NumPy dtype."""
    return next(a for a in (*ALL, IntegerType(16)) if reference.numpy_dtype(a) == dtype)


def dtypes_of(name: str, arity: int) -> Iterator[Attribute]:
    """The dtypes an elementwise op takes."""
    for dtype in ALL:
        try:
            make(name, *(operand((4,), dtype) for _ in range(arity)))
        except VerifyException:
            continue
        yield dtype


def function_of(name: str, types: Sequence[TensorType], **properties: Any) -> FuncOp:
    """A function of one op."""
    block = Block(arg_types=types)
    op = make(name, *block.args, **properties)
    block.add_ops([op, ReturnOp(*op.results)])
    signature = FunctionType.from_lists(list(types), [r.type for r in op.results])
    return FuncOp("main", signature, Region(block))


def expanded(name: str, types: Sequence[TensorType], **properties: Any) -> ModuleOp:
    """A module with a function of one op that has been expanded to primitive ones."""
    from pelton.passes.expand_ops import ExpandOps

    module = ModuleOp([function_of(name, types, **properties)])
    module.verify()
    before = str(module)
    ExpandOps().apply(Context(), module)
    module.verify()
    assert str(module) != before, f"nn.{name} does not expand"
    return module
