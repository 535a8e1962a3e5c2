"""The operations of graphs: tensors, numbers, arrays and sizes enter, tensors leave. Each adds to the graph that is
being built.

Names shadow Python's (`abs max min pow print range round sum`), so use them as `ops.max`. What every function of two
operands shares (broadcasting, promotion, numbers beside tensors) is described in `ops.elementwise`.
"""

from __future__ import annotations

from pelton.graph.ops.buffers import buffer_create, buffer_load, buffer_store, buffer_store_slice
from pelton.graph.ops.creation import constant, range, shape_to_tensor, transfer_to
from pelton.graph.ops.custom import custom, inplace_custom
from pelton.graph.ops.elementwise import (
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    div,
    equal,
    floor_div,
    greater,
    greater_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    mod,
    mul,
    not_equal,
    pow,
    sub,
)
from pelton.graph.ops.functions import (
    abs,
    acos,
    asin,
    atan,
    atanh,
    ceil,
    cos,
    erf,
    exp,
    floor,
    gelu,
    is_inf,
    is_nan,
    log,
    log1p,
    negate,
    relu,
    round,
    rsqrt,
    sigmoid,
    silu,
    sin,
    sqrt,
    tan,
    tanh,
    trunc,
)
from pelton.graph.ops.indexing import slice_tensor
from pelton.graph.ops.joining import chunk, concat, gather, split, stack, where
from pelton.graph.ops.messages import assert_, print, trace
from pelton.graph.ops.movement import (
    broadcast_to,
    flatten,
    permute,
    rebind,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
)
from pelton.graph.ops.norm import layer_norm, rms_norm
from pelton.graph.ops.product import matmul, outer
from pelton.graph.ops.reduction import argmax, argmin, logsoftmax, max, mean, min, prod, softmax, sum
from pelton.graph.ops.sorting import argsort, bottom_k, top_k

__all__ = [
    "abs", "acos", "add", "argmax", "argmin", "argsort", "asin", "assert_", "atan", "atanh", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "bottom_k", "broadcast_to", "buffer_create", "buffer_load",
    "buffer_store", "buffer_store_slice", "cast", "ceil", "chunk", "concat", "constant", "cos", "custom", "div",
    "equal", "erf", "exp", "flatten", "floor", "floor_div", "gather", "gelu", "greater", "greater_equal",
    "inplace_custom", "is_inf", "is_nan",
    "layer_norm", "log", "log1p", "logical_and", "logical_not", "logical_or", "logical_xor", "logsoftmax", "matmul",
    "max", "mean", "min", "mod", "mul", "negate", "not_equal", "outer", "permute", "pow", "print", "prod", "range",
    "rebind", "relu", "reshape", "rms_norm", "round", "rsqrt", "shape_to_tensor", "sigmoid", "silu", "sin",
    "slice_tensor", "softmax", "split", "sqrt", "squeeze", "stack", "sub", "sum", "tan", "tanh", "top_k", "trace",
    "transfer_to", "transpose", "trunc", "unsqueeze", "where",
]  # fmt: skip
