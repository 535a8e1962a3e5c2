"""Graphs in Python: tensor types enter, operators and `ops` fill a `Graph`, and its module of nn ops goes to the
compiler.
"""

from __future__ import annotations

from pelton.graph import ops
from pelton.graph.buffer_value import BufferValue
from pelton.graph.device_ref import DeviceKind, DeviceRef
from pelton.graph.dims import AlgebraicDim, Dim, DimLike, Shape, ShapeLike, StaticDim, SymbolicDim
from pelton.graph.graph import Graph
from pelton.graph.types import BufferType, TensorType
from pelton.graph.value import TensorValue
from pelton.graph.weight import Weight

__all__ = [
    "AlgebraicDim",
    "BufferType",
    "BufferValue",
    "DeviceKind",
    "DeviceRef",
    "Dim",
    "DimLike",
    "Graph",
    "Shape",
    "ShapeLike",
    "StaticDim",
    "SymbolicDim",
    "TensorType",
    "TensorValue",
    "Weight",
    "ops",
]
