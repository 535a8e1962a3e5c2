"""What is wrong with a custom op or a call of one, said when it is registered, loaded or called; never later."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.custom import registry
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import BufferType, DeviceRef, Graph, TensorType, ops
from pelton.support.errors import CompileError
from pelton.tests.support.process import fresh

F32, CPU, GPU = DType.float32, DeviceRef.CPU(), DeviceRef.GPU()
N = TensorType(F32, ["n"], CPU)
TABLE = np.ones(4, np.float32)
OTHER: list[int] = []


@pytest.fixture(autouse=True)
def ops_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is registered here is known."""
    monkeypatch.setattr("pelton.custom.registry.REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)

    @pelton.register("move", types="f32[n] -> f32[n]")
    def move(out: Any, x: Any, *, by: float, times: int = 1, kind: DType = DType.float32, name: str = "a") -> None:
        out[0] = x[0]

    @pelton.register("pair", shape=lambda x, y: [x, y])
    def pair(a: Any, b: Any, x: Any, y: Any) -> None:
        a[0] = b[0] = x[0] + y[0]

    @pelton.register("plus", scalar=True)
    def plus(x: Any, y: Any) -> Any:
        return x + y

    @pelton.register("fails", shape=lambda x: x.shape[7])
    def fails(out: Any, x: Any) -> None: ...

    @pelton.register("typeless", shape=lambda x: "f32")
    def typeless(out: Any, x: Any) -> None: ...

    @pelton.register("bare")
    def bare(out: Any, x: Any) -> None: ...

    @pelton.register("matrix", types="float[..., n, n], T[n] -> T[..., n]")
    def matrix(out: Any, x: Any, y: Any) -> None: ...


def call(*arguments: Any, types: tuple[TensorType, ...] = (N,)) -> Callable[[], object]:
    """`ops.custom` on the inputs of a graph, where the values are given as their numbers."""

    def build(*inputs: Any) -> Any:
        name, device, values, *rest = arguments
        chosen = [inputs[v] if type(v) is int else v for v in values] if isinstance(values, list) else values
        return ops.custom(name, device, chosen, *rest)

    return lambda: Graph("g", build, types)


F64 = TensorType(DType.float64, ["n"], CPU)
HALF = TensorType(DType.float16, ["n"], CPU)
SQUARE = TensorType(F32, ["b", "n", "n"], CPU)
WIDE = TensorType(F32, ["b", "n", "m"], CPU)
BY: dict[str, Any] = {"by": 1.0}

CALLS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a name that is none": (call(3, CPU, [0], [N]), TypeError, "name is not a str"),
    "an unknown name": (
        call("mvoe", CPU, [0], [N]),
        ValueError,
        r"no custom op 'mvoe', did you mean 'move'\?[^$]*'bare', ",
    ),
    "no list of values": (call("bare", CPU, 3, [N]), TypeError, "values is not a sequence"),
    "a number as a value": (call("bare", CPU, [0.5], [N]), TypeError, "value 0 of 'bare' is no tensor"),
    "too few values": (call("move", CPU, [], [N], BY), ValueError, r"another number of values[^$]*1: f32\[n\]"),
    "too many values": (call("move", CPU, [0, 0], [N], BY), ValueError, "another number of values"),
    "another count for a scalar body": (
        call("plus", CPU, [0], [N]),
        ValueError,
        r"another number of values[^$]*2: x, y",
    ),
    "another number of arguments": (
        call("bare", CPU, [0, 0], [N]),
        ValueError,
        r"arguments[^$]*2: out, x[^$]*1 results and 2",
    ),
    "another number of results": (call("bare", CPU, [0], [N, N]), ValueError, "2 results and 1 values"),
    "another dtype": (
        call("move", CPU, [0], [N], BY, types=(F64,)),
        ValueError,
        r"value 0 of 'move' has another dtype[^$]*f32\[n\]",
    ),
    "another rank": (call("move", CPU, [0], [N], BY, types=(WIDE,)), ValueError, "value 0 of 'move' has another rank"),
    "a size that differs": (call("matrix", CPU, [0, 1], None, types=(WIDE, N)), ValueError, "the size m where n is n"),
    "a class of dtypes": (
        call("matrix", CPU, [0, 1], None, types=(TensorType(DType.int32, ["n", "n"], CPU), N)),
        ValueError,
        "another dtype",
    ),
    "a half for a kernel": (call("bare", CPU, [0], [HALF], types=(HALF,)), ValueError, r"cannot take float16[^$]*cast"),
    "values elsewhere": (
        call("bare", CPU, [0], [N], types=(TensorType(F32, ["n"], GPU),)),
        ValueError,
        "value 0 of 'bare' is on another device",
    ),
    "results elsewhere": (
        call("bare", CPU, [0], [TensorType(F32, ["n"], GPU)]),
        ValueError,
        "type 0 of out_types is on another",
    ),
    "no body for the device": (
        call("bare", GPU, [0], [TensorType(F32, ["n"], GPU)], types=(TensorType(F32, ["n"], GPU),)),
        ValueError,
        "no body for gpu:0",
    ),
    "no device": (call("bare", "cpu", [0], [N]), TypeError, "cpu"),
    "no list of types": (call("bare", CPU, [0], N), TypeError, "out_types is not a sequence"),
    "no types": (call("bare", CPU, [0], [F32]), TypeError, "type 0 of out_types is none"),
    "an unknown symbol": (call("bare", CPU, [0], [TensorType(F32, ["q"], CPU)]), ValueError, "the symbol 'q'"),
    "out_types that nobody says": (call("bare", CPU, [0], None), ValueError, "'bare' does not say what it gives"),
    "out_types against types": (
        call("move", CPU, [0], [TensorType(F32, [3], CPU)], BY),
        ValueError,
        r"other results than out_types[^$]*float32\[n\]",
    ),
    "out_types against the shape function": (
        call("pair", CPU, [0, 0], [N, F64]),
        ValueError,
        "other results than out_types",
    ),
    "out_types against a scalar body": (call("plus", CPU, [0, 0], [F64]), ValueError, "its body gives"),
    "a shape function that raises": (
        call("fails", CPU, [0], [N]),
        ValueError,
        "shape function of 'fails' fails[^$]*IndexError",
    ),
    "a shape function of no types": (call("typeless", CPU, [0], [N]), TypeError, "gives no types"),
    "a missing parameter": (call("move", CPU, [0], [N]), ValueError, "'move' needs the parameter 'by'"),
    "an unknown parameter": (
        call("move", CPU, [0], [N], {**BY, "to": 1}),
        ValueError,
        r"no parameter 'to'[^$]*by, times, kind, name",
    ),
    "a bool for a number": (
        call("move", CPU, [0], [N], {"by": True}),
        TypeError,
        r"'by' of 'move' has another type[^$]*float",
    ),
    "a float for an int": (
        call("move", CPU, [0], [N], {**BY, "times": 1.0}),
        TypeError,
        "'times' of 'move' has another type",
    ),
    "a text for a dtype": (
        call("move", CPU, [0], [N], {**BY, "kind": "f32"}),
        TypeError,
        "'kind' of 'move' has another type",
    ),
    "an array as a parameter": (
        call("move", CPU, [0], [N], {"by": TABLE}),
        TypeError,
        "'by' of 'move' has another type",
    ),
    "a huge int": (
        call("move", CPU, [0], [N], {**BY, "times": 1 << 63}),
        ValueError,
        "'times' of 'move' leaves 64 bits",
    ),
    "no mapping": (call("move", CPU, [0], [N], [1.0]), TypeError, "parameters is not a mapping"),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str) -> None:
    wrong, kind, message = CALLS[case]
    with pytest.raises(kind, match=message) as raised:
        wrong()
    assert Path(__file__).name in str(raised.value)


def test_no_graph() -> None:
    with pytest.raises(LookupError, match=r"ops\.custom adds to a graph"):
        ops.custom("bare", CPU, [], [N])


def anything(value: Any) -> Any:
    """What a type checker has nothing against."""
    return value


def nothing(out: Any, x: Any) -> None: ...


def with_defaults(out: Any, x: Any = 1) -> None: ...


def of_any_count(*tensors: Any) -> None: ...


def with_a_list(out: Any, x: Any, *, sizes: list[int]) -> None: ...


def with_a_wrong_default(out: Any, x: Any, *, size: int = 0.5) -> None: ...  # pyright: ignore[reportArgumentType]


def of_one_more(out: Any, x: Any, y: Any) -> None: ...


def registering(**how: Any) -> Callable[[], object]:
    """The attempt to register a body of one result and one value in that way."""
    return lambda: pelton.register("f", **how)(nothing)


REGISTRATIONS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no name": (lambda: pelton.register(anything(nothing)), TypeError, "the name is not a str"),
    "an empty name": (lambda: pelton.register(" ")(nothing), ValueError, "the name is empty"),
    "no function": (lambda: pelton.register("f")(anything(3)), TypeError, "not a Python function"),
    "a built-in": (lambda: pelton.register("f")(len), TypeError, "not a Python function"),
    "a lambda": (lambda: pelton.register("f")(lambda out, x: None), TypeError, "is a lambda"),
    "a default": (lambda: pelton.register("f")(with_defaults), ValueError, "neither a tensor nor a parameter"),
    "any count": (lambda: pelton.register("f")(of_any_count), ValueError, "neither a tensor nor a parameter"),
    "a list": (lambda: pelton.register("f")(with_a_list), ValueError, "sizes has a type that parameters cannot have"),
    "a default of another type": (
        lambda: pelton.register("f")(with_a_wrong_default),
        ValueError,
        "default of parameter size",
    ),
    "types that cannot be read": (registering(types="f32[n]"), ValueError, "types cannot be read"),
    "an unknown dtype": (registering(types="f31[n] -> f32[n]"), ValueError, "'f31' is not an element"),
    "dims in the middle": (registering(types="f32[n, ...] -> f32[n]"), ValueError, "which has to come first"),
    "a size from nowhere": (registering(types="f32[n] -> f32[m]"), ValueError, "size m, which no value"),
    "leading dims from nowhere": (
        registering(types="f32[n] -> f32[..., n]"),
        ValueError,
        "leading dims, where no value",
    ),
    "a result that all calls write": (
        registering(types="f32[..., n] -> f32[n]"),
        ValueError,
        "each call of the body would write all of it",
    ),
    "types of another count": (registering(types="f32[n], f32[n] -> f32[n]"), ValueError, "3 arguments for f32"),
    "scalar types of another count": (
        registering(types="f32[n] -> f32[n]", scalar=True),
        ValueError,
        "1 arguments for f32",
    ),
    "a shape that is none": (
        lambda: pelton.register("f", shape=anything(3))(nothing),
        TypeError,
        "shape is no function",
    ),
    "a scalar body for CUDA": (registering(scalar=True, cuda=nothing), ValueError, "a scalar body needs no cuda body"),
    "a shape of a scalar body": (registering(scalar=True, shape=nothing), ValueError, "needs no shape function"),
    "a CUDA body of other arguments": (registering(cuda=of_one_more), ValueError, "the cuda body has other arguments"),
}


@pytest.mark.parametrize("case", REGISTRATIONS)
def test_registrations(case: str) -> None:
    wrong, kind, message = REGISTRATIONS[case]
    with pytest.raises(kind, match=message):
        wrong()


def test_a_function_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("def body(out, x): out[0] = x[0]", namespace)
    with pytest.raises(TypeError, match=r"source of its body cannot be read[^$]*in a file or in a cell"):
        pelton.register("f")(namespace["body"])


def recursive(n: int) -> int:
    return recursive(n - 1) if n > 0 else 0


def uses_table(out: Any, x: Any) -> None:
    out[0] = TABLE[0]


def uses_list(out: Any, x: Any) -> None:
    out[0] = OTHER[0]


def uses_module(out: Any, x: Any) -> None:
    out[0] = inspect.CO_NESTED


def uses_nothing(out: Any, x: Any) -> None:
    out[0] = undefined  # noqa: F821  (on purpose)  # pyright: ignore[reportUndefinedVariable]


def uses_recursion(out: Any, x: Any) -> None:
    out[0] = recursive(3)


CAPTURES = {
    uses_table: "uses_table uses TABLE, a ndarray[^$]*give it to the op as a value",
    uses_list: "uses_list uses OTHER, a list",
    uses_module: "uses the module inspect",
    uses_nothing: "uses undefined, which is not defined",
    uses_recursion: "recursive calls itself through recursive[^$]*write a loop",
}


@pytest.mark.parametrize("body", CAPTURES, ids=lambda f: f.__name__)
def test_what_a_body_cannot_take_along(body: Callable[..., None]) -> None:
    pelton.register("f")(body)
    with pytest.raises(ValueError, match=CAPTURES[body]):
        call("f", CPU, [0], [N])()


def test_a_parameter_is_read_only() -> None:
    @pelton.register("f")
    def body(out: Any, x: Any, *, n: int) -> None:
        n += 1
        out[0] = n

    with pytest.raises(ValueError, match="body assigns to its parameter n"):
        call("f", CPU, [0], [N], {"n": 1})()


def allocates(out: Any, x: Any) -> None:
    y = np.exp(x)
    out[0] = y[0]


def writes_a_value(out: Any, x: Any) -> None:
    x[0] = 1.0


def wants_another_function(out: Any, x: Any) -> None:
    out[0] = np.sinh(x[0])


def is_no_numba(out: Any, x: Any) -> None:
    out[0] = open("file")  # noqa: SIM115  (on purpose)


BODIES = {
    allocates: "op f allocates memory[^$]*y = np.exp",
    writes_a_value: "op f does not compile[^$]*x.0. = 1.0[^$]*readonly",
    wants_another_function: "op f calls functions that no kernel may call[^$]*sinh",
    is_no_numba: "op f does not compile[^$]*open",
}


def refusal(body: Callable[..., None]) -> CompileError:
    """What loading a model with this body raises."""
    pelton.register("f")(body)
    g: Any = call("f", CPU, [0], [N])()
    with pytest.raises(CompileError) as raised:
        InferenceSession().load(g)
    registry.REGISTERED.pop("f")
    return raised.value


@pytest.mark.parametrize("body", BODIES, ids=lambda f: f.__name__)
def test_what_numba_does_not_compile_names_op_and_line(body: Callable[..., None]) -> None:
    error = str(refusal(body))
    assert re.search(BODIES[body], error) and Path(__file__).name in error


REPLAYS = """
import os, shlex, sys
from pelton.tools.opt import main
sys.stderr = sys.stdout
for folder in sys.argv[1:]:
    os.chdir(folder)
    print("ended with", main(shlex.split(open("run.sh").read().splitlines()[-1].partition("&& ")[2])[1:]), end="\\f")
"""


def test_replays_have_the_bodies() -> None:
    """In a process that knows no op."""
    errors = [refusal(body) for body in BODIES]
    printed = fresh(REPLAYS, *(Path(error.details.replay).parent for error in errors)).split("\f")
    assert printed.pop() == "" and len(printed) == len(errors)
    for error, text in zip(errors, printed, strict=True):
        assert error.message in text and text.endswith("ended with 1")


B = BufferType(F32, ["n"], CPU)
B2 = BufferType(F32, ["b", "n"], CPU)


def in_place(name: str, values: list[int], *types: TensorType | BufferType) -> Callable[[], object]:
    def build(*inputs: Any) -> None:
        ops.inplace_custom(name, CPU, [inputs[v] for v in values])

    return lambda: Graph("g", build, types)


IN_PLACE = {
    "no buffer": (in_place("change", [0], N), ValueError, "no value of 'change' is a buffer"),
    "a scalar body": (in_place("plus", [0, 0], B), ValueError, "scalar body of 'plus' changes nothing"),
    "one buffer twice": (in_place("two", [0, 0], B), ValueError, "given one buffer twice"),
    "another rank": (in_place("change", [0], B2), ValueError, "value 0 of 'change' has another rank"),
    "a buffer for all rows": (in_place("rows", [1, 0], B, B2), ValueError, "buffer 1 of 'rows' lacks the leading dims"),
    "a buffer to ops.custom": (call("bare", CPU, [0], [N], types=(anything(B),)), TypeError, "inplace_custom"),
}


@pytest.mark.parametrize("case", IN_PLACE)
def test_calls_in_place(case: str) -> None:
    @pelton.register("change", types="f32[n] -> ")
    def change(x: Any) -> None: ...

    @pelton.register("two", types="f32[n], f32[n] -> ")
    def two(x: Any, y: Any) -> None: ...

    @pelton.register("rows", types="f32[..., n], f32[n] -> ")
    def rows(x: Any, y: Any) -> None: ...

    wrong, kind, message = IN_PLACE[case]
    with pytest.raises(kind, match=message) as raised:
        wrong()
    assert Path(__file__).name in str(raised.value)
