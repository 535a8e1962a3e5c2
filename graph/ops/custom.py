"""Ops of the user's: the name of a registered Python function and tensors enter, tensors leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pelton.graph.custom import Call, checked_call, kernel_results, syntax
from pelton.graph.operands import tensor
from pelton.graph.ops.scalar import Reader

if TYPE_CHECKING:
    from pelton.dtype import DType
    from pelton.graph.build import AnyValue, Value
    from pelton.graph.device_ref import DeviceRef
    from pelton.graph.types import TensorType
    from pelton.graph.value import TensorValue


def custom(
    name: str,
    device: DeviceRef,
    values: Sequence[Value],
    out_types: Sequence[TensorType] | None,
    parameters: Mapping[str, bool | int | float | str | DType] | None = None,
) -> list[TensorValue]:
    """The results of the custom op `name`, which `pelton.register` knows or an extension of the graph registers.

    `values` are on `device`, and so are the results, of `out_types`; None where the op says itself what it gives.
    `parameters` are values for the keyword-only arguments of its body.

    Raises ValueError for a name that nobody registered (listing those that are known), and for values, parameters and
    types that do not fit the op; TypeError for arguments of the wrong kind.

    >>> @pelton.register("scaled", scalar=True)
    ... def scaled(x, *, by: float = 1.0):
    ...     return x * by
    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as g:
    ...     x = g.inputs[0]
    ...     g.output(*ops.custom("scaled", x.device, [x], [x.type], {"by": 2.0}))
    """
    call = checked_call("ops.custom", name, device, values, out_types, parameters)
    return _scalar_results(call) if call.found.scalar else kernel_results(call)


def inplace_custom(
    name: str,
    device: DeviceRef,
    values: Sequence[AnyValue],
    out_types: Sequence[TensorType] | None = None,
    parameters: Mapping[str, bool | int | float | str | DType] | None = None,
) -> list[TensorValue]:
    """A custom op that changes buffers: those among `values`, which its kernel body reads and writes; it happens at
    this place in program order. Returns its results of `out_types`, if it has any.

    Raises as `custom` does, and ValueError where no value is a buffer, or one stands twice.

    >>> @pelton.register("push", types="T[n], T[] -> ")
    ... def push(stack, value):
    ...     for i in range(len(stack) - 1):
    ...         stack[i] = stack[i + 1]
    ...     stack[len(stack) - 1] = value[()]
    >>> stack, value = BufferType(DType.float32, [8], DeviceRef.CPU()), TensorType(DType.float32, [], DeviceRef.CPU())
    >>> with Graph("g", input_types=[stack, value]) as g:
    ...     g.output(*ops.inplace_custom("push", DeviceRef.CPU(), g.inputs))
    """
    return kernel_results(
        checked_call("ops.inplace_custom", name, device, values, out_types, parameters, in_place=True)
    )


def _scalar_results(call: Call) -> list[TensorValue]:
    """What the ops of a scalar body give."""
    reader = Reader(call.found.name, *syntax(call))
    results = [tensor(call.op, "result", r) for r in reader.results(call.values)]
    call.expect([r.type for r in results], "its body gives")
    return results
