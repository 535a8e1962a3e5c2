"""What goes in and out of a model, read off its graph.

Enters: a module with one `func.func` of `nn` ops, before any pass. Leaves: descriptions of inputs, outputs, weights
and constants in the artifact's terms.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute

from pelton.artifact import TensorInfo
from pelton.dialects.check import location_text, op_text
from pelton.dialects.nn import GroupOp, WeightOp
from pelton.dialects.op import NnOp
from pelton.dialects.types import BufferType, ShapedValueType, TensorType
from pelton.dtype import DType
from pelton.support.errors import CompileError


@dataclass(frozen=True)
class Signature:
    """What goes in and out of a model."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    weights: tuple[TensorInfo, ...]
    constants: tuple[TensorInfo, ...]


def devices_of(module: ModuleOp) -> tuple[str, ...]:
    """The devices that the values of a module are on, in order of their names."""
    values = (
        v for op in module.walk() for v in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
    )
    return tuple(sorted({v.type.device.data for v in values if isinstance(v.type, ShapedValueType)}))


def describe(module: ModuleOp, constants: Container[str]) -> Signature:
    """The signature of the module's function; weights named in `constants` come with the model.

    Raises CompileError where the module is not one function of tensors and nn ops.
    """
    functions = [f for f in module.body.block.ops if isinstance(f, func.FuncOp) and not f.is_declaration]
    if len(functions) != 1:
        raise CompileError(
            "a model is one function", expected="a module with one func.func", got=f"{len(functions)} of them"
        )
    main = functions[0]
    returned = main.get_return_op()
    if returned is None:
        raise CompileError(f"@{main.sym_name.data} returns nothing", expected="a func.return at its end")
    for op in main.body.block.ops:
        if not isinstance(op, NnOp | GroupOp) and op is not returned:
            raise CompileError(
                f"@{main.sym_name.data} holds an op that is no part of a model",
                op=op_text(op),
                location=location_text(op),
                expected="ops of the nn dialect",
                got=op.name,
            )
    inputs = [input_info(argument_name(main, k), a.type) for k, a in enumerate(main.body.block.args)]
    outputs = [info(f"output{k}", v.type) for k, v in enumerate(returned.arguments)]
    keys = {op.key.data: op.results[0].type for op in main.walk() if isinstance(op, WeightOp)}
    named = [info(key, t) for key, t in keys.items()]
    weights = tuple(i for i in named if i.name not in constants)
    return Signature(tuple(inputs), tuple(outputs), weights, tuple(i for i in named if i.name in constants))


def info(name: str, t: Attribute, kinds: type[ShapedValueType] = TensorType) -> TensorInfo:
    """A tensor's description for the artifact; sizes that are expressions keep their text."""
    if not isinstance(t, kinds):
        raise CompileError("a model takes and returns tensors", expected="a !nn.tensor type", got=f"{name}: {t}")
    shape = tuple(d if isinstance(d, int) else str(d) for d in t.shape)
    return TensorInfo(name, element_type(name, t), shape, t.device.data, isinstance(t, BufferType))


def input_info(name: str, t: Attribute) -> TensorInfo:
    """The description of an input, whose sizes bind the symbols. A buffer is an input that the model writes."""
    for dim in t.shape if isinstance(t, ShapedValueType) else ():
        if not isinstance(dim, int | str):
            raise CompileError(
                f"the size {dim} of {name} would have to be solved for its symbols",
                expected="a number or a symbol for each size of an input",
                got=f"{name}: {t}",
            )
    return info(name, t, ShapedValueType)


def element_type(name: str, t: ShapedValueType) -> DType:
    """The element type of a tensor. Raises CompileError for one that no buffer can hold."""
    try:
        return DType(str(t.dtype))
    except ValueError:
        known = ", ".join(d.mlir for d in DType)
        raise CompileError(f"{name} has elements of no known type", expected=known, got=str(t)) from None


def argument_name(function: func.FuncOp, k: int) -> str:
    """The name of an argument: its attribute `nn.name`, else `input<k>`."""
    if function.arg_attrs is not None:
        label = function.arg_attrs.data[k].data.get("nn.name")
        if isinstance(label, StringAttr):
            return label.data
    return f"input{k}"
