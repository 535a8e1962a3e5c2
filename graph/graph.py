"""A graph under construction, as users hold it: input types enter, ops fill it, its outputs close it; the module goes
to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import Token
from os import PathLike
from types import TracebackType
from typing import Any, Self, cast

from xdsl.ir import SSAValue

from pelton.custom.extensions import load_extensions
from pelton.dialects import dims
from pelton.dialects import types as ir
from pelton.graph.buffer_value import BufferValue
from pelton.graph.build import CURRENT, AnyValue, Body, Value
from pelton.graph.location import place
from pelton.graph.reading import read_graph
from pelton.graph.types import BufferType, TensorType, buffer_from_ir, from_ir, to_ir
from pelton.graph.value import TensorValue
from pelton.support.errors import GraphError, GraphTypeError, NoGraphError
from pelton.support.texts import require_unicode


class _Current:
    """`Graph.current`: the graph whose `with` block is running."""

    def __get__(self, instance: object, owner: type[Graph]) -> Graph:
        body = CURRENT.get()
        if not isinstance(body, Graph):
            raise NoGraphError("no graph is being built", location=place(), remedy="use it inside `with Graph(...)`")
        return body


class Graph(Body):
    """A computation on tensors, from `inputs` to the values given to `output`. Built in a `with` block, or by a
    function:

    >>> x = TensorType(DType.float32, ["n", 3], DeviceRef.CPU())
    >>> with Graph("double", input_types=[x]) as double:
    ...     double.output(double.inputs[0] * 2)
    >>> double = Graph("double", lambda x: x * 2, input_types=[x])

    `forward` is called with the inputs, then `args` and `kwargs`, and returns the outputs: None, one value or an
    iterable of them. Symbols in the input types are bound when the model runs; ops may use them and expressions of
    them. `path` is a `.mlir` file that stands for the whole graph. `custom_extensions` are what
    `ops.custom` looks in first: `.py` files, directories of them, modules, or functions under `pelton.register`.

    Raises TypeError for arguments of the wrong kind, ValueError for an empty name or for an expression of symbols as an
    input's size, RuntimeError for a file that cannot be read.
    """

    current = _Current()
    """The graph that is being built, in this thread. Raises LookupError where there is none."""

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any] | None = None,
        input_types: Iterable[TensorType | BufferType] = (),
        path: str | PathLike[str] | None = None,
        *args: Any,
        custom_extensions: Sequence[Any] = [],
        **kwargs: Any,
    ) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError("Graph: name is not a str", got=repr(name))
        if not name:
            raise GraphError("Graph: name is empty", expected="a name for the function")
        require_unicode("Graph: name", name)
        super().__init__(name, _input_types(input_types))
        self.extensions = load_extensions(custom_extensions)
        if path is not None:
            if forward is not None or self._block.args:
                raise GraphTypeError("Graph: path stands for the whole graph", expected="no forward and no input_types")
            self._hold(*read_graph(path), finished=True)
        self._inputs = tuple(map(self._wrap_input, self._block.args))
        self._tokens: list[Token[Body | None]] = []
        if forward is not None:
            self._call(forward, args, kwargs)

    def _call(self, forward: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        if not callable(forward):
            raise GraphTypeError("Graph: forward is not callable", got=repr(forward))
        with self:
            result = forward(*self._inputs, *args, **kwargs)
            if result is not None or not self._finished:
                self.output(*_outputs(result))

    def __enter__(self) -> Self:
        self._tokens.append(CURRENT.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        CURRENT.reset(self._tokens.pop())

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What the model will be given, in order: a `TensorValue` per `TensorType`, a `BufferValue` per `BufferType`.

        `.tensor` and `.buffer` of one are itself, checked.
        """
        return self._inputs

    @property
    def input_types(self) -> list[TensorType | BufferType]:
        """The types of the inputs."""
        types = (argument.type for argument in self._block.args)
        return [from_ir(t) if isinstance(t, ir.TensorType) else buffer_from_ir(cast(ir.BufferType, t)) for t in types]

    @property
    def output_types(self) -> list[TensorType]:
        """The types of the outputs. ValueError before `output`."""
        self._expect_finished()
        return [from_ir(t) for t in self._func.function_type.outputs.data if isinstance(t, ir.TensorType)]

    @property
    def module(self) -> Any:
        """The IR: a `builtin.module` with one `func.func` of nn ops. ValueError before `output`."""
        self._expect_finished()
        return self._module

    def output(self, *values: Value) -> None:
        """Say what the graph returns; it is complete then.

        ValueError on a second call, TypeError for what is no tensor of a graph.
        """
        if self._finished:
            raise GraphError(f"the graph {self.name!r} has its outputs already", location=place())
        for k, v in enumerate(cast("Sequence[object]", values)):
            if not isinstance(v, Value):
                remedy = "spread a list: output(*values)" if isinstance(v, list | tuple) else "ops.constant"
                remedy = "return what it holds: buffer[...]" if isinstance(v, BufferValue) else remedy
                got = f"{v!r} ({type(v).__name__})"  # pyright: ignore[reportUnknownArgumentType]
                raise GraphTypeError(
                    f"Graph.output: value {k} is no tensor", expected="TensorValue", got=got, remedy=remedy
                )
        self.finish([v.ssa_in(self, "Graph.output") for v in values])

    def wrap(self, value: SSAValue) -> TensorValue:
        return TensorValue(value, self)

    def wrap_buffer(self, value: SSAValue) -> BufferValue:
        return BufferValue(value, self)

    def _wrap_input(self, value: SSAValue) -> TensorValue | BufferValue:
        return self.wrap_buffer(value) if isinstance(value.type, ir.BufferType) else self.wrap(value)

    def _expect_finished(self) -> None:
        if not self._finished:
            raise GraphError(f"the graph {self.name!r} has no outputs yet", remedy="end it with graph.output(...)")

    def __str__(self) -> str:
        """The IR as text, finished or not."""
        return str(self._module)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.input_types))
        outputs = ", ".join(map(str, self.output_types)) if self._finished else "unfinished"
        return f"Graph({self.name!r}: ({inputs}) -> ({outputs}))"


def _input_types(types: Iterable[TensorType | BufferType]) -> list[ir.ShapedValueType]:
    if isinstance(types, TensorType | BufferType) or not isinstance(types, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(
            "Graph: input_types is not a sequence of types", got=repr(types), remedy="[TensorType(...)]"
        )
    found: list[ir.ShapedValueType] = []
    for k, t in enumerate(types):
        if not isinstance(t, TensorType | BufferType):  # pyright: ignore[reportUnnecessaryIsInstance]
            expected = "TensorType or BufferType"
            raise GraphTypeError(f"Graph: input {k} is not of a tensor type", expected=expected, got=repr(t))
        for d in t.shape.raw:
            if isinstance(d, dims.Expr):
                raise GraphError(
                    f"Graph: input {k} has the size {d}, which would have to be solved for its symbols",
                    expected="ints and symbols",
                    got=str(t.shape),
                    remedy="give it a symbol of its own, and x.rebind([...]) to the expression",
                )
        found.append(to_ir(t))
    return found


def _outputs(result: Any) -> list[Any]:
    """What a forward function returned, as a list."""
    if result is None:
        return []
    if isinstance(result, AnyValue) or not isinstance(result, Iterable):
        return [result]
    return list(cast("Iterable[Any]", result))
