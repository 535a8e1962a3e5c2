"""What can be the body of a custom op, what it can state, and how large its constants may be: said when it is
registered or called.
"""

from __future__ import annotations

import functools
import math
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.custom.specialize import specialize
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops

CPU = DeviceRef.CPU()
BEYOND = 10**5000


@pytest.fixture(autouse=True)
def ops_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.custom.registry.REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*values: Any) -> Any:
        return 2 * function(*values)

    return called


def renamed(function: Any) -> Any:
    function.__name__ = "f"
    return function


def same(x: Any) -> Any:
    return x


def generates(x: Any) -> Iterator[Any]:
    yield x


async def awaits(x: Any) -> Any:
    return x


async def streams(x: Any) -> AsyncIterator[Any]:
    yield x


@contextmanager
def manages(x: Any) -> Generator[Any]:
    yield x


class Kind:
    def method(self, x: Any) -> Any:
        return x

    def __call__(self, x: Any) -> Any:
        return x


UNSUITABLE: dict[str, tuple[Any, str]] = {
    "a generator": (generates, r"body generates is a generator[^$]*test_custom_bodies.py:\d+[^$]*leave out"),
    "a coroutine": (awaits, r"body awaits is a coroutine \(async def\)"),
    "an asynchronous generator": (streams, "body streams is an asynchronous generator"),
    "a decorated function": (twice(same), "body same is wrapped by a decorator[^$]*register it before it is wrapped"),
    "a context manager": (manages, "body manages is wrapped by a decorator"),
    "a lambda of another name": (renamed(lambda x: x), "body is a lambda"),
    "a class": (Kind, "not a Python function[^$]*a def that calls it"),
    "a method": (Kind().method, "not a Python function"),
    "an object": (Kind(), "not a Python function"),
    "a partial": (functools.partial(same, 1), "not a Python function[^$]*keyword-only parameter"),
    "a cache": (functools.lru_cache(same), "not a Python function"),
    "a built-in": (abs, "not a Python function"),
    "a ufunc": (np.sin, "not a Python function"),
}


@pytest.mark.parametrize("scalar", [False, True], ids=["kernel", "scalar"])
@pytest.mark.parametrize("case", UNSUITABLE)
def test_what_is_no_body(case: str, scalar: bool) -> None:
    function, message = UNSUITABLE[case]
    with pytest.raises(TypeError, match=message):
        pelton.register("f", scalar=scalar)(function)
    if not scalar:
        with pytest.raises(TypeError, match=message):
            pelton.register("f", cuda=function)(same)


def test_a_shape_function_returns() -> None:
    with pytest.raises(TypeError, match="shape function awaits is a coroutine"):
        pelton.register("f", shape=awaits)(same)
    pelton.register("f", shape=twice(same))(same)


def computed(body: Callable[..., Any], **parameters: Any) -> list[float]:
    """What a scalar body gives for 1.0."""
    pelton.register("f", scalar=True)(body)
    row = TensorType(DType.float64, [1], CPU)
    graph = Graph("g", lambda x: ops.custom("f", CPU, [x], None, parameters)[0], [row])
    return InferenceSession().load(graph).execute(np.ones(1))[0].to_numpy().tolist()


def towers(x: Any) -> Any:
    return x * 10**10**10


def calls_pow(x: Any) -> Any:
    return x * pow(-3, 10**10)


def calls_math(x: Any) -> Any:
    return x * math.pow(10, 10**10)


def squares(x: Any) -> Any:
    y = 2**60
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    return x * (y % 7)


def names(x: Any) -> Any:
    return x * (BEYOND % 7)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (towers, r"hold 10 \*\* 10 \*\* 10, [^$]*more than 1024 bits[^$]*test_custom_bodies.py:\d+, for"),
        (calls_pow, "more than 1024 bits"),
        (calls_math, r"hold math.pow\(10, [^$]*math range error"),
        (squares, r"hold y \* y, [^$]*more than 1024 bits"),
        (names, "names uses BEYOND, an integer of more than 1024 bits"),
    ],
)
def test_constants_are_bounded(body: Callable[..., Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        computed(body)


def raised(x: Any, *, n: int) -> Any:
    return x * (2**n)


def test_constants_made_of_parameters_are_bounded() -> None:
    assert computed(raised, n=10) == [1024.0]
    with pytest.raises(ValueError, match="more than 1024 bits"):
        computed(raised, n=10**12)


def test_constants_within_bounds() -> None:
    def large(x: Any) -> Any:
        return x * (2**1000 + round(7, -(10**10)) - (-1) ** 10**10 * 0)

    def small(x: Any) -> Any:
        return x * 2**-1000 + 0**10 * 1**10**10

    assert computed(large) == [2.0**1000]
    assert computed(small) == [2.0**-1000]


def scaled(x: Any, *, by: float, times: int = 1) -> Any:
    return x * by * times


def test_parameters_are_bounded() -> None:
    assert computed(scaled, by=2**70) == [2.0**70]
    for wrong in ({"by": BEYOND}, {"by": 2**1024}, {"by": 1.0, "times": BEYOND}, {"by": 1.0, "times": 2**63}):
        with pytest.raises(ValueError, match="leaves 64 bits"):
            computed(scaled, **wrong)


def test_texts_are_not_folded_into_longer_ones() -> None:
    """A billion characters would be computed while the graph is built."""
    text = "def f(x):\n    return x if {} == x else 1\n"
    for expression in ("'ab' * 3", "'%9d' % 3"):
        assert expression in specialize(text.format(expression), {})
    assert "'ab'" in specialize(text.format("'a' + 'b'"), {})


def importing(out: Any, x: Any) -> None:
    from math import sin

    out[0] = sin(x[0])


def formatting(out: Any, x: Any) -> None:
    if x[0] > 0:
        raise ValueError(f"bad {x[0]}")
    out[0] = x[0]


def formatting_old(out: Any, x: Any) -> None:
    if x[0] > 0:
        raise ValueError("bad %d" % x[0])  # noqa: UP031  (on purpose)
    out[0] = x[0]


def formatting_by_call(out: Any, x: Any) -> None:
    if x[0] > 0:
        raise ValueError("bad {}".format(x[0]))  # noqa: UP032  (on purpose)
    out[0] = x[0]


def with_a_value(out: Any, x: Any) -> None:
    if x[0] > 0:
        raise ValueError("bad", x[0])
    out[0] = x[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (formatting_old, r"makes the text of an exception as it runs: raise ValueError\('bad %d'"),
        (formatting_by_call, r"makes the text of an exception as it runs: raise ValueError\('bad {}'"),
        (with_a_value, r"makes the text of an exception as it runs: raise ValueError\('bad', x"),
        (importing, r"imports something inside: from math import sin\n(.*\n)*.*in front of the function"),
        (formatting, r"makes the text of an exception as it runs: raise ValueError\(f'bad"),
    ],
)
def test_statements_that_no_kernel_has(body: Callable[..., Any], message: str) -> None:
    pelton.register("states", shape=lambda x: x)(body)
    with pytest.raises(ValueError, match=message):
        Graph("g", lambda x: ops.custom("states", CPU, [x], [x.type])[0], [TensorType(DType.float32, ["n"], CPU)])
