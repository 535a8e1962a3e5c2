"""`nn`: what users mean. Tensor ops with value semantics, one class each, over `!nn.tensor` with symbolic sizes.

| file | ops |
|---|---|
| `elementwise.py`, `rows.py` | one and two operands: a table of rows; `formulas.py` and `division.py` hold their code |
| `select.py` | cast, where, gelu |
| `movement.py`, `indexing.py` | reshape, permute, broadcast_to, rebind; slice, concat, gather |
| `reduce.py`, `statistics.py` | sum, prod, max, min; mean, argmax, argmin |
| `sort.py` | top_k and its forms, take_along_axis |
| `norm.py`, `matmul.py`, `creation.py` | norms; products; constants, weights, ranges |
| `buffers.py` | mutable memory: buffer_create, load, store, store_slice |
| `placement.py` | transfer, between devices |
| `messages.py` | assert and trace, which compute nothing |
| `group.py`, `custom.py` | what becomes one kernel; ops of the user's |

Beside them: `patterns.py` (canonicalization), `expansion.py` (how an op writes itself in smaller ones), `shapes.py`
and `ranges.py` (type rules), `reference.py` (NumPy). Made by the graph API and the readers, transformed by `passes/`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Dialect

from pelton.dialects.dense import DenseAttr
from pelton.dialects.nn.buffers import BufferCreateOp, LoadOp, StoreOp, StoreSliceOp
from pelton.dialects.nn.creation import ConstantOp, DimOp, IotaOp, Materialize, RangeOp, ShapeToTensorOp, WeightOp
from pelton.dialects.nn.custom import CustomOp
from pelton.dialects.nn.elementwise import Elementwise
from pelton.dialects.nn.group import GroupOp, YieldOp
from pelton.dialects.nn.indexing import ConcatOp, GatherOp, SliceOp
from pelton.dialects.nn.matmul import MatmulOp, PackedMatmulOp, PackOp
from pelton.dialects.nn.messages import AssertOp, TraceOp
from pelton.dialects.nn.movement import BroadcastToOp, PermuteOp, RebindOp, ReshapeOp
from pelton.dialects.nn.norm import LayerNormOp, LogsoftmaxOp, RmsNormOp, SoftmaxOp
from pelton.dialects.nn.placement import TransferOp
from pelton.dialects.nn.reduce import MaxOp, MinOp, ProdOp, SumOp
from pelton.dialects.nn.rows import ROWS
from pelton.dialects.nn.select import CastOp, GeluOp, WhereOp
from pelton.dialects.nn.sort import TakeAlongAxisOp, TopKOp, TopKSelectOp, TopKSortOp
from pelton.dialects.nn.statistics import ArgmaxOp, ArgminOp, MeanOp
from pelton.dialects.op import NnOp
from pelton.dialects.types import BufferType, DimsAttr, TensorType

OPS: tuple[type[NnOp], ...] = (
    *ROWS,
    CastOp, WhereOp, GeluOp,
    ReshapeOp, PermuteOp, BroadcastToOp, RebindOp, SliceOp, ConcatOp, GatherOp,
    SumOp, ProdOp, MaxOp, MinOp, MeanOp, ArgmaxOp, ArgminOp,
    SoftmaxOp, LogsoftmaxOp, LayerNormOp, RmsNormOp,
    MatmulOp, PackOp, PackedMatmulOp,
    TopKOp, TopKSelectOp, TopKSortOp, TakeAlongAxisOp,
    ConstantOp, WeightOp, IotaOp, DimOp, RangeOp, ShapeToTensorOp,
    BufferCreateOp, LoadOp, StoreOp, StoreSliceOp,
    AssertOp, TraceOp, TransferOp,
)  # fmt: skip
BY_NAME: Mapping[str, type[NnOp]] = {op.name.removeprefix("nn."): op for op in OPS}
"""The op classes by the names in the text, without `nn.`."""

NN = Dialect("nn", [*OPS, CustomOp, GroupOp, YieldOp], [DimsAttr, DenseAttr, TensorType, BufferType], [Materialize()])

__all__ = [
    "BY_NAME",
    "NN",
    "OPS",
    "ROWS",
    "ArgmaxOp",
    "ArgminOp",
    "AssertOp",
    "BroadcastToOp",
    "BufferCreateOp",
    "CastOp",
    "ConcatOp",
    "ConstantOp",
    "CustomOp",
    "DimOp",
    "Elementwise",
    "GatherOp",
    "GeluOp",
    "GroupOp",
    "IotaOp",
    "LayerNormOp",
    "LoadOp",
    "LogsoftmaxOp",
    "Materialize",
    "MatmulOp",
    "MaxOp",
    "MeanOp",
    "MinOp",
    "PackOp",
    "PackedMatmulOp",
    "PermuteOp",
    "ProdOp",
    "RangeOp",
    "RebindOp",
    "ReshapeOp",
    "RmsNormOp",
    "ShapeToTensorOp",
    "SliceOp",
    "SoftmaxOp",
    "StoreOp",
    "StoreSliceOp",
    "SumOp",
    "TakeAlongAxisOp",
    "TopKOp",
    "TopKSelectOp",
    "TopKSortOp",
    "TraceOp",
    "TransferOp",
    "WeightOp",
    "WhereOp",
    "YieldOp",
]
