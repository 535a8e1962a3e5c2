"""`nn`: what users mean. Tensor ops with value semantics, one class each, over `!nn.tensor` with symbolic sizes."""

from __future__ import annotations

from xdsl.ir import Dialect

from pelton.dialects.dense import DenseAttr
from pelton.dialects.nn.creation import ConstantOp, Materialize, WeightOp
from pelton.dialects.nn.elementwise import Binary, Elementwise, Unary
from pelton.dialects.nn.group import GroupOp, YieldOp
from pelton.dialects.nn.matmul import MatmulOp
from pelton.dialects.nn.movement import BroadcastToOp, PermuteOp, RebindOp, ReshapeOp
from pelton.dialects.nn.reduce import MaxOp, MinOp, ProdOp, SumOp
from pelton.dialects.nn.rows import ROWS
from pelton.dialects.op import NnOp
from pelton.dialects.types import DimsAttr, TensorType

OPS: tuple[type[NnOp], ...] = (
    *ROWS, ReshapeOp, PermuteOp, BroadcastToOp, RebindOp, SumOp, ProdOp, MaxOp, MinOp, MatmulOp, ConstantOp, WeightOp,
)  # fmt: skip
BY_NAME = {op.name.removeprefix("nn."): op for op in OPS}

NN = Dialect("nn", [*OPS, GroupOp, YieldOp], [DimsAttr, DenseAttr, TensorType], [Materialize()])
