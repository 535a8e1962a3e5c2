"""`nn`: what users mean. Tensor ops with value semantics, one class each, over `!nn.tensor` with symbolic sizes."""

from __future__ import annotations

from xdsl.ir import Dialect

from pelton.dialects.dense import DenseAttr
from pelton.dialects.nn.creation import ConstantOp, DimOp, IotaOp, Materialize, RangeOp, ShapeToTensorOp, WeightOp
from pelton.dialects.nn.elementwise import Binary, Elementwise, RowOp, Unary
from pelton.dialects.nn.group import GroupOp, YieldOp
from pelton.dialects.nn.indexing import ConcatOp, GatherOp, SliceOp
from pelton.dialects.nn.matmul import MatmulOp, PackedMatmulOp, PackOp
from pelton.dialects.nn.movement import BroadcastToOp, Movement, PermuteOp, RebindOp, ReshapeOp
from pelton.dialects.nn.norm import LayerNormOp, LogsoftmaxOp, RmsNormOp, SoftmaxOp
from pelton.dialects.nn.reduce import MaxOp, MinOp, ProdOp, SumOp
from pelton.dialects.nn.rows import ROWS, AddOp, DivOp, ExpOp, MulOp, NegateOp, ReluOp, SubOp
from pelton.dialects.nn.select import CastOp, GeluOp, WhereOp
from pelton.dialects.nn.statistics import ArgmaxOp, ArgminOp, MeanOp
from pelton.dialects.op import NnOp
from pelton.dialects.types import DimsAttr, TensorType

OPS: tuple[type[NnOp], ...] = (
    *ROWS,
    CastOp, WhereOp, GeluOp,
    ReshapeOp, PermuteOp, BroadcastToOp, RebindOp, SliceOp, ConcatOp, GatherOp,
    SumOp, ProdOp, MaxOp, MinOp, MeanOp, ArgmaxOp, ArgminOp,
    SoftmaxOp, LogsoftmaxOp, LayerNormOp, RmsNormOp,
    MatmulOp, PackOp, PackedMatmulOp,
    ConstantOp, WeightOp, IotaOp, DimOp, RangeOp, ShapeToTensorOp,
)  # fmt: skip
BY_NAME = {op.name.removeprefix("nn."): op for op in OPS}
"""The op classes by the names in the text, without `nn.`."""

NN = Dialect("nn", [*OPS, GroupOp, YieldOp], [DimsAttr, DenseAttr, TensorType], [Materialize()])
