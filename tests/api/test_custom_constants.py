"""What a body of a custom op can say only if it is known when it is written: numbers, texts of exceptions, imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pelton
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, ops

CPU = DeviceRef.CPU()
N = TensorType(DType.float32, ["n"], CPU)


@pytest.fixture(autouse=True)
def ops_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is registered here is known."""
    monkeypatch.setattr("pelton.custom.registry.REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)


def million_digits(x: Any) -> Any:
    return x * 10**10**10


def a_power(x: Any, *, n: int) -> Any:
    return x * (2**n)


@pytest.mark.parametrize(("body", "parameters"), [(million_digits, {}), (a_power, {"n": 10**12})])
def test_numbers_of_any_length_are_not_computed(body: Callable[..., Any], parameters: dict[str, Any]) -> None:
    pelton.register("long", scalar=True)(body)
    with pytest.raises(ValueError, match=r"which has no value: it is an integer of more than 1024 bits"):
        Graph("g", lambda x: ops.custom("long", CPU, [x], [x.type], parameters)[0], [N])


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
        Graph("g", lambda x: ops.custom("states", CPU, [x], [x.type])[0], [N])
