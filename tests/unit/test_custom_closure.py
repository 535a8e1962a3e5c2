"""A body becomes a text that stands alone: what it takes along, how names are kept apart, what parameters decide."""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from pelton.custom.closure import closure_of
from pelton.custom.patterns import parse_types
from pelton.custom.raises import messages
from pelton.custom.registry import body_of
from pelton.custom.specialize import specialize
from pelton.dtype import DType

SCALE, NAMES, KIND, LIMIT = 2.5, (1, (2.0, "x")), DType.float32, float("nan")


def text_of(function: Any) -> str:
    return closure_of("f", body_of("f", function)).text()


def called(text: str, *arguments: Any) -> Any:
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return list(namespace.values())[-1](*arguments)


def shared(x: Any) -> Any:
    return x * SCALE


def body(x: Any, *, n: int = 1) -> Any:
    """Uses what a body may use."""
    if DType.float32 == KIND and not math.isnan(x):
        return shared(x) + NAMES[1][0] + np.float64(n)
    return LIMIT


def test_a_text_stands_alone() -> None:
    text = text_of(body)
    assert called(specialize(text, {"n": 3}), 2.0) == 2.0 * 2.5 + 2.0 + 3
    assert math.isnan(called(specialize(text, {"n": 3}), math.nan))
    assert text == text_of(body)


def test_helpers_of_one_name_are_kept_apart() -> None:
    """The same function in two modules, each with a `SCALE` of its own."""

    def make(first: Any, second: Any) -> Any:
        def both(x: Any) -> Any:
            return first(x) + second(x)

        return both

    def scaled(x: Any) -> Any:
        return x * SCALE

    twin = FunctionType(scaled.__code__, {**globals(), "SCALE": 10.0}, "scaled")
    assert called(specialize(text_of(make(scaled, twin)), {}), 2.0) == 2.0 * 2.5 + 2.0 * 10.0


def test_what_parameters_decide_is_decided() -> None:
    def choose(x: Any, *, mode: str, n: int, kind: DType = DType.float32, on: bool = False) -> Any:
        if mode == "a" or on:
            y = x * (n * 2 - 1)
        elif mode == "b" and kind != DType.float64:
            y = x if n > 1 else -x
        else:
            y = 0
        return y

    text = text_of(choose)
    a = specialize(text, {"mode": "a", "n": 3, "kind": KIND, "on": False})
    assert "if" not in a and "x * 5" in a
    b = specialize(text, {"mode": "b", "n": 3, "kind": KIND, "on": False})
    assert "if" not in b and "y = x" in b
    assert "y = 0" in specialize(text, {"mode": "b", "n": 3, "kind": DType.float64, "on": False})


def test_a_local_name_hides_a_constant() -> None:
    def hides(x: Any) -> Any:
        SCALE = 1  # noqa: N806  (as the global)
        return x * SCALE + shared(x)

    assert called(specialize(text_of(hides), {}), 2.0) == 2.0 + 5.0


@pytest.mark.parametrize("value", [-(1 << 63), 1e300, -0.0, math.inf, -math.inf, "quote ' and \\ \n"])
def test_every_value_of_a_parameter(value: Any) -> None:
    def give(x: Any, *, p: Any) -> Any:
        return p

    got = called(specialize(text_of(give), {"p": value}), 0)
    assert got == value and str(got) == str(value)


def test_messages_follow_the_statements() -> None:
    text = "def f(x):\n    if x:\n        raise ValueError('no')\n    assert x > 0, 'low'\n    raise KeyError\n"
    assert messages(text)[:3] == ("ValueError: no", "AssertionError: low", "KeyError")
    assert len(messages(text)) == 5


def test_types_are_read_as_they_are_written() -> None:
    text = "f32|f64[..., n, 3], T[], any[m] -> T[..., n], i64[...]"
    assert str(parse_types("f", text, "")) == text
    assert parse_types("f", "->f32[]", "").inputs == ()
