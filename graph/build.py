"""Growing the IR of a graph: an nn op class and its operands enter, the op is placed in the open graph, and its results
leave.

This is the one place where ops are made: here they get the user's source line, values of other graphs are refused, and
what an op's type rule objects to becomes an error for the user. `pelton.graph.ops` stands on it; `Graph` is a `Body`
with the public names.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects import types as ir
from pelton.dialects.nn import BY_NAME
from pelton.dialects.nn.buffers import BufferCreateOp
from pelton.dialects.nn.creation import Declared, WeightOp
from pelton.graph.check import check_bytes
from pelton.graph.location import here, place
from pelton.support.errors import GraphError, NoGraphError
from pelton.support.texts import require_unicode

if TYPE_CHECKING:
    from pelton.custom.registry import CustomOp
    from pelton.graph.buffer_value import BufferValue
    from pelton.graph.value import TensorValue

CURRENT: ContextVar[Body | None] = ContextVar("pelton_graph", default=None)
"""The graph whose `with` block is running, per thread and task."""


class AnyValue(ABC):
    """What ops take: whatever stands for a tensor or a buffer in a graph."""

    __slots__ = ()

    @property
    @abstractmethod
    def ir_type(self) -> ir.ShapedValueType:
        """The type in IR."""

    @abstractmethod
    def ssa_in(self, body: Body, op: str) -> SSAValue:
        """The IR value, for an op of `body`. Raises GraphError where it belongs to another graph."""

    @staticmethod
    def owned(value: SSAValue, owner: Body, body: Body, op: str) -> SSAValue:
        """`value`, which belongs to the graph `owner`, for an op of `body`."""
        if owner is not body:
            raise GraphError(
                f"{op}: a value of the graph {owner.name!r} is used in the graph {body.name!r}",
                location=place(),
                remedy="make the value an input of the graph that uses it",
            )
        return value


class Value(AnyValue):
    """Whatever stands for a tensor in a graph: results of ops, inputs, weights."""

    __slots__ = ()

    @property
    @abstractmethod
    def ir_type(self) -> ir.TensorType:
        """The type in IR."""


class Body(ABC):
    """A function that is being filled, in a module of its own: arguments, ops in program order, at last a return."""

    def __init__(self, name: str, inputs: Sequence[ir.ShapedValueType]) -> None:
        self.name = name
        self.constants: dict[str, Any] = {}
        """The arrays too large to stand in the IR, by the key of the weight that stands for them."""
        self.extensions: Mapping[str, CustomOp] = {}
        """The custom ops that only this graph knows, by name."""
        self._weights: dict[str, tuple[object, SSAValue]] = {}
        self._last_weight: Operation | None = None
        block = Block(arg_types=inputs)
        for k, argument in enumerate(block.args):
            argument.name_hint = f"input{k}"
        func = FuncOp(name, (inputs, ()), Region(block), arg_attrs=_named("input", len(inputs)))
        func.location = here()
        self._hold(ModuleOp([func]), func, finished=False)

    def _hold(self, module: ModuleOp, func: FuncOp, finished: bool) -> None:
        """Make this the function that is being filled, or has been."""
        self._module, self._func, self._block = module, func, func.body.block
        self._finished = finished
        types = [t for t in self._block.arg_types if isinstance(t, ir.ShapedValueType)]
        self.symbols = frozenset(s for t in types for d in t.shape for s in dims.symbols(d))
        """What ops may use as sizes: the symbols of the inputs."""

    @staticmethod
    def open(op: str) -> Body:
        """The graph that is being built. Raises NoGraphError outside a `with Graph(...)` block."""
        if (body := CURRENT.get()) is None:
            raise NoGraphError(
                f"{op} adds to a graph, but none is being built",
                location=place(),
                remedy="call it inside `with Graph(...)` or in the function given to Graph",
            )
        return body

    @abstractmethod
    def wrap(self, value: SSAValue) -> TensorValue:
        """The user's view of a tensor of this graph."""

    @abstractmethod
    def wrap_buffer(self, value: SSAValue) -> BufferValue:
        """The user's view of a buffer of this graph."""

    def create_buffer(self, t: ir.BufferType) -> BufferValue:
        """A new buffer."""
        made = BufferCreateOp.declare(t, here())
        self.append(made)
        return self.wrap_buffer(made.result)

    def append(self, made: Operation) -> None:
        """Place an op last. Raises GraphError once the graph has its outputs."""
        if self._finished:
            made.drop_all_references()
            raise GraphError(f"the graph {self.name!r} has its outputs already; nothing can be added", location=place())
        self._block.add_op(made)

    def declare_weight(self, name: str, owner: object, t: ir.TensorType) -> SSAValue:
        """The value of the weight `name`, declared once, at the top.

        Raises GraphError where another object has the name.
        """
        if (known := self._weights.get(name)) is not None:
            if known[0] is not owner:
                raise GraphError(
                    f"the graph {self.name!r} already has another weight named {name!r}",
                    location=place(),
                    remedy="use one Weight object per name, or other names",
                )
            return known[1]
        made: WeightOp = WeightOp.declare(t, here(), key=StringAttr(name))
        made.result.name_hint = re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII)
        self._place_first(made)
        self._weights[name] = (owner, made.result)
        return made.result

    def declare_constant(self, array: Any, t: ir.TensorType) -> SSAValue:
        """The value of a constant too large for the IR: a weight whose contents are in `constants`."""
        name = f"constant:{len(self.constants)}"
        value = self.declare_weight(name, array, t)
        self.constants[name] = array
        return value

    def _place_first(self, made: Operation) -> None:
        """Place an op after the weights before it and ahead of all else, so that later regions see it."""
        first = self._last_weight.next_op if self._last_weight is not None else self._block.first_op
        if self._finished or first is None:
            self.append(made)
        else:
            self._block.insert_op_before(made, first)
        self._last_weight = made

    def check_symbols(self, op: str, shape: Iterable[dims.Dim]) -> None:
        """Raises GraphError naming a symbol in `shape` that no input of this graph has."""
        for symbol in (s for d in shape for s in dims.symbols(d)):
            if symbol not in self.symbols:
                raise GraphError(
                    f"{op} names the symbol {symbol!r}, which no input of the graph {self.name!r} binds",
                    location=place(),
                    expected=f"one of {', '.join(sorted(self.symbols))}"
                    if self.symbols
                    else "ints: no input has a symbol",
                    got=symbol,
                    remedy="use a symbol in the shape of an input, or an expression of such",
                )

    def finish(self, results: Sequence[SSAValue]) -> None:
        """Close the function with a return of `results`."""
        final = ReturnOp(*results)
        final.location = here()
        self.append(final)
        inputs = [a.type for a in self._block.args]
        self._func.function_type = FunctionType.from_lists(inputs, [v.type for v in results])
        self._func.res_attrs = _named("output", len(results))
        self._finished = True


def _named(prefix: str, count: int) -> ArrayAttr[DictionaryAttr] | None:
    """The names that arguments or results have for callers of the model."""
    return ArrayAttr(DictionaryAttr({"nn.name": StringAttr(f"{prefix}{k}")}) for k in range(count)) if count else None


def emit(op: str, name: str, *operands: AnyValue, **properties: Attribute) -> TensorValue:
    """Add the op `nn.<name>`, of one result, to the open graph; `op` is what the user called."""
    return emit_all(op, name, operands, **properties)[0]


def emit_all(op: str, name: str, operands: Sequence[AnyValue], **properties: Attribute) -> list[TensorValue]:
    """Add an op and return all its results.

    Raises GraphError where operands do not fit, NoGraphError outside a graph.
    """
    body = Body.open(op)
    _check_texts(op, properties)
    inputs = [v.ssa_in(body, op) for v in operands]
    _check_devices(op, operands)
    try:
        made = BY_NAME[name].make(*inputs, location=here(), **properties)
    except VerifyException as error:
        raise GraphError(f"{op}: {error}", op=op, location=place()) from error
    for result in made.results:
        if isinstance(t := result.type, ir.TensorType):
            check_bytes(f"{op}: the result", t.shape, ir.bytes_of(t.dtype))
    body.append(made)
    return [body.wrap(r) for r in made.results]


def effect(op: str, name: str, *operands: AnyValue, **properties: Attribute) -> None:
    """Add an op without results."""
    emit_all(op, name, operands, **properties)


def declare(op: str, name: str, t: ir.TensorType, **properties: Attribute) -> TensorValue:
    """Add an op without operands whose result is of type `t`, such as `nn.constant`."""
    body = Body.open(op)
    cls = BY_NAME[name]
    assert issubclass(cls, Declared)
    made: Operation = cls.declare(t, here(), **properties)
    body.append(made)
    return body.wrap(made.results[0])


def _check_texts(op: str, properties: Mapping[str, Attribute]) -> None:
    """Raises GraphError naming a property with a text that no UTF-8 holds."""
    for name, value in properties.items():
        match value:
            case StringAttr():
                require_unicode(f"{op}: {name}", value.data, place())
            case DictionaryAttr():
                _check_texts(op, value.data)
            case _:
                pass


def _check_devices(op: str, operands: Sequence[AnyValue]) -> None:
    devices = {v.ir_type.device.data for v in operands}
    if len(devices) > 1:
        raise GraphError(
            f"{op} takes operands on one device",
            op=op,
            location=place(),
            got=", ".join(v.ir_type.device.data for v in operands),
            remedy="move them together with x.to(device)",
        )
