"""What `ops.custom` does: a name, values and parameters enter; a registered op is found, everything about the call is
checked, and an `nn.custom` op, or the ops that a scalar body consists of, leave.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute

from pelton.custom.bodies import keep
from pelton.custom.closure import closure_of, text_of
from pelton.custom.registry import REGISTERED, CustomOp, fits
from pelton.custom.specialize import specialized
from pelton.dialects.nn.custom import CustomOp as NnCustom
from pelton.dialects.types import DimsAttr
from pelton.dtype import DType
from pelton.graph.build import AnyValue, Body, Value
from pelton.graph.check import wrong, wrong_type
from pelton.graph.custom_types import expect_kernel_dtypes, expect_whole_buffers, expected_types, looped_dims
from pelton.graph.device_ref import DeviceRef
from pelton.graph.location import here, place
from pelton.graph.types import TensorType, element_type, to_ir
from pelton.support.errors import GraphError, GraphTypeError, PeltonError, shown
from pelton.support.texts import require_unicode

if TYPE_CHECKING:
    from pelton.graph.buffer_value import BufferValue
    from pelton.graph.value import TensorValue

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
FLOATS = 1 << 1023
"""Integers below are floats, up to rounding."""


class Call(NamedTuple):
    """A call that was checked: what it names, its values, its parameters, and the types of its results if known."""

    op: str
    found: CustomOp
    values: list[TensorValue | BufferValue]
    parameters: dict[str, Any]
    types: list[TensorType] | None

    def expect(self, types: Sequence[TensorType], who: str) -> None:
        """Raises GraphError unless these are the types of the results."""
        if self.types is not None:
            _compare(self.op, self.found, self.types, types, who)


def checked_call(
    op: str, name: Any, device: Any, values: Any, out_types: Any, parameters: Any, in_place: bool = False
) -> Call:
    """A call of a custom op, with everything about it that can be wrong checked; some values are buffers `in_place`."""
    found = find(op, name, Body.open(op).extensions)
    with located(place()):
        where = DeviceRef.from_device(device)
    tensors = _values(op, found, values, where, in_place)
    given = _parameters(op, found, parameters)
    types = _out_types(op, found, out_types, where)
    known = _known_types(op, found, tensors, given)
    if known is not None and types is not None:
        _compare(op, found, types, known, "the op itself says")
    chosen = known if types is None else types
    return Call(op, found, tensors, given, [] if chosen is None and in_place else chosen)


@contextmanager
def located(line: str) -> Generator[None]:
    """Errors also name the user's line."""
    try:
        yield
    except (GraphError, GraphTypeError) as error:
        own = error.details.location
        details = error.details._replace(location=f"{own}, for {line}" if own else line)
        raise type(error)(error.message, **details._asdict()) from error


def find(op: str, name: Any, extensions: Mapping[str, CustomOp]) -> CustomOp:
    """The op of that name: of the graph's extensions, else of the process."""
    if not isinstance(name, str):
        raise wrong_type(f"{op}: name is not a str", got=repr(name))
    found = extensions.get(name) or REGISTERED.get(name)
    if found is None:
        known = sorted({*extensions, *REGISTERED})
        near = get_close_matches(name, known, n=1)
        raise wrong(
            f"{op}: there is no custom op {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
            ", ".join(map(repr, known)) or "an op under @pelton.register: there is none",
            repr(name),
            "name its file in Graph(custom_extensions=[...]), or import its module first",
        )
    return found


def _values(op: str, found: CustomOp, values: Any, device: DeviceRef, in_place: bool) -> list[Any]:
    if isinstance(values, AnyValue) or not isinstance(values, Iterable):
        raise wrong_type(f"{op}: values is not a sequence of tensors", got=repr(values), remedy="[x]")
    tensors: list[Any] = list(cast("Iterable[Any]", values))
    for k, value in enumerate(tensors):
        if not isinstance(value, AnyValue if in_place else Value):
            buffer = isinstance(value, AnyValue)
            remedy = (
                "ops.inplace_custom, or x[...]" if buffer else "make a tensor of it with ops.constant, or a parameter"
            )
            raise wrong_type(f"{op}: value {k} of {found.name!r} is no tensor", "TensorValue", repr(value), remedy)
        if (there := value.ir_type.device.data) != str(device):
            raise wrong(
                f"{op}: value {k} of {found.name!r} is on another device", str(device), there, "move it: x.to(device)"
            )
    if found.scalar and len(tensors) != len(found.arguments):
        wanted = f"{len(found.arguments)}: {', '.join(found.arguments)}"
        raise wrong(f"{op}: {found.name!r} takes another number of values", wanted, str(len(tensors)))
    if found.types is not None and len(tensors) != len(found.types.inputs):
        raise wrong(f"{op}: {found.name!r} takes another number of values", f"{len(found.types.inputs)}: {found.types}",
                    str(len(tensors)))  # fmt: skip
    if not found.scalar and device.is_gpu() and found.cuda is None:
        raise wrong(f"{op}: {found.name!r} has no body for {device}", "a CPU device", str(device),
                    "register it with cuda=, or with scalar=True")  # fmt: skip
    if in_place:
        _check_buffers(op, found, [v for v in tensors if not isinstance(v, Value)])
    return tensors


def _check_buffers(op: str, found: CustomOp, buffers: Sequence[BufferValue]) -> None:
    if found.scalar:
        raise wrong(f"{op}: the scalar body of {found.name!r} changes nothing", "a kernel body", "", "ops.custom")
    if not buffers:
        raise wrong(f"{op}: no value of {found.name!r} is a buffer", "at least one BufferValue", "", "ops.custom")
    if len({id(b.ssa_in(Body.open(op), op)) for b in buffers}) != len(buffers):
        raise wrong(f"{op}: {found.name!r} is given one buffer twice", "different buffers", repr(buffers))


def _out_types(op: str, found: CustomOp, out_types: Any, device: DeviceRef) -> list[TensorType] | None:
    if out_types is None:
        return None
    if isinstance(out_types, TensorType) or not isinstance(out_types, Iterable):
        raise wrong_type(f"{op}: out_types is not a sequence of types", got=repr(out_types), remedy="[TensorType(...)]")
    types: list[Any] = list(cast("Iterable[Any]", out_types))
    for k, t in enumerate(types):
        if not isinstance(t, TensorType):
            raise wrong_type(f"{op}: type {k} of out_types is none of a tensor", "TensorType", repr(t))
        if t.device != device:
            raise wrong(f"{op}: type {k} of out_types is on another device", str(device), str(t))
        Body.open(op).check_symbols(op, t.shape.raw)
    return types


def _parameters(op: str, found: CustomOp, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Every parameter's value, defaults included."""
    if given is not None and not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(f"{op}: parameters is not a mapping", "name → value", repr(given))
    values = dict(given or {})
    if unknown := [k for k in values if k not in found.parameters]:
        known = ", ".join(found.parameters) or "none: parameters are keyword-only arguments of the body"
        raise wrong(f"{op}: {found.name!r} has no parameter {unknown[0]!r}", known, repr(unknown[0]))
    for name, p in found.parameters.items():
        if name not in values:
            if p.required:
                raise wrong(
                    f"{op}: {found.name!r} needs the parameter {name!r}", p.kind.__name__ if p.kind else "a value"
                )
            values[name] = p.default
        elif not fits(values[name], p.kind):
            kinds = p.kind.__name__ if p.kind else "int, float, bool, str or DType"
            got = f"{values[name]!r} ({type(values[name]).__name__})"
            raise wrong_type(f"{op}: parameter {name!r} of {found.name!r} has another type", kinds, got)
        if p.kind is float and abs(values[name]) < FLOATS:
            values[name] = float(values[name])
        if isinstance(values[name], int) and not SMALLEST <= values[name] <= LARGEST:
            raise wrong(f"{op}: parameter {name!r} of {found.name!r} leaves 64 bits", "an int64", shown(values[name]))
    return {name: values[name] for name in found.parameters}


def _known_types(
    op: str, found: CustomOp, tensors: Sequence[TensorValue | BufferValue], parameters: Mapping[str, Any]
) -> list[TensorType] | None:
    """What the op itself says of its results, by its types or its shape function."""
    inputs = [t.type for t in tensors]
    known = None if found.types is None else expected_types(op, found, inputs)
    if found.shape is None:
        return known
    try:
        said = found.shape(*inputs, **parameters)
    except PeltonError:
        raise
    except (Exception, SystemExit) as error:  # the user's own code
        raise wrong(
            f"{op}: the shape function of {found.name!r} fails", got=f"{type(error).__name__}: {error}"
        ) from error
    types: list[Any] = list(cast("Iterable[Any]", said)) if isinstance(said, list | tuple) else [said]
    if not all(isinstance(t, TensorType) for t in types):
        raise wrong_type(
            f"{op}: the shape function of {found.name!r} gives no types", "TensorType, or a list", repr(types)
        )
    if known is not None:
        _compare(op, found, types, known, "its types say")
    return types


def _compare(op: str, found: CustomOp, got: Sequence[TensorType], wanted: Sequence[TensorType], who: str) -> None:
    if list(got) != list(wanted):
        raise wrong(
            f"{op}: {found.name!r} gives other results than out_types says; {who}",
            ", ".join(map(str, wanted)),
            ", ".join(map(str, got)),
            "sizes that are equal when the model runs are made equal by x.rebind([...])",
        )


def syntax(call: Call) -> tuple[ast.Module, Mapping[str, str]]:
    """The functions of a scalar body, parameters put in; and the files that they stand in."""
    with located(place()):
        closure = closure_of(call.found.name, call.found.body)
    return specialized(closure.tree(), call.parameters), closure.files


def kernel_results(call: Call) -> list[TensorValue]:
    """Add an `nn.custom` op to the open graph: a kernel of its own."""
    op, found, values, parameters, types = call
    if types is None:
        raise wrong(
            f"{op}: {found.name!r} does not say what it gives", "out_types", "None", "or register a shape function"
        )
    if len(types) + len(values) != len(found.arguments):
        raise wrong(
            f"{op}: the body of {found.name!r} has another number of arguments",
            f"{len(found.arguments)}: {', '.join(found.arguments)}",
            f"{len(types)} results and {len(values)} values",
        )
    with located(place()):
        text = text_of(found)
    looped = looped_dims(found, [v.type for v in values], types)
    expect_whole_buffers(op, found, [v.type for v in values], looped)
    expect_kernel_dtypes(op, found, [*(v.type for v in values), *types])
    for name, value in parameters.items():
        if isinstance(value, str):
            require_unicode(f"{op}: parameter {name!r}", value, place())
    body = Body.open(op)
    made = NnCustom.create(
        operands=[v.ssa_in(body, op) for v in values],
        result_types=[to_ir(t) for t in types],
        properties={
            "op": StringAttr(found.name),
            "body": StringAttr(keep(text)),
            "looped": DimsAttr(looped),
            "parameters": DictionaryAttr({name: _attribute(value) for name, value in parameters.items()}),
        },
        location=here(),
    )
    body.append(made)
    return [body.wrap(r) for r in made.results]


def _attribute(value: Any) -> Attribute:
    match value:
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case DType():
            return element_type(value)
        case _:
            return StringAttr(value)
