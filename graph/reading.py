"""A graph from a file: a path to `.mlir` text enters, a checked module and its one function leave, and become a
finished `Graph`.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pelton.dialects.reader import read_mlir
from pelton.dialects.types import BufferType, TensorType
from pelton.support.errors import ReadError


def read_graph(path: str | PathLike[str]) -> tuple[ModuleOp, FuncOp]:
    """The module in a file, and its function. RuntimeError naming the path where it cannot be read or is no graph."""
    name = str(path)
    module = read_mlir(Path(path))
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]
    if len(functions) != 1:
        raise ReadError(f"{name} is no graph", expected="one func.func", got=f"{len(functions)} functions")
    (function,) = functions
    inputs, outputs = function.function_type.inputs, function.function_type.outputs
    for t in (*(t for t in inputs if not isinstance(t, BufferType)), *outputs):
        if not isinstance(t, TensorType):
            raise ReadError(f"{name} is no graph", expected="inputs and outputs of type !nn.tensor", got=str(t))
    return module, function
