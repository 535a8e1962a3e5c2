"""Dim and Shape: kinds, algebra, equality, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pelton.graph import AlgebraicDim, Dim, Shape, StaticDim, SymbolicDim

X, Y = Dim("x"), Dim("y")


@pytest.mark.parametrize(
    ("value", "kind"),
    [(3, StaticDim), ("batch", SymbolicDim), (X + 1, AlgebraicDim), (np.int32(7), StaticDim), (Dim(5), StaticDim)],
)
def test_kind_follows_the_value(value: Any, kind: type[Dim]) -> None:
    assert type(Dim(value)) is kind
    assert type(kind(value)) is kind
    assert Dim(Dim(value)) == Dim(value)


def test_the_wrong_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="StaticDim is not the kind"):
        StaticDim("n")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (X + 1 + 1, X + 2),
        (1 + X, X + 1),
        (X + X, X * 2),
        (X - X, 0),
        (5 - X + X, 5),
        (X * Y, Y * X),
        ((X + 1) * (X - 1), X * X - 1),
        (X * 6 // 2, 3 * X),
        (X * Y // Y, X),
        (Dim(7) // 2, 3),
        (Dim(-7) // 2, -4),
        (X * 0, 0),
        (-X, X * -1),
        (X + "y", X + Y),
        ("y" + X, X + Y),
        (8 // Dim(3), 2),
        (X // 1, X),
        (X + np.int64(2), X + 2),
    ],
)
def test_algebra_folds_to_one_form(made: Dim, expected: Any) -> None:
    assert made == expected
    assert hash(made) == hash(Dim(expected))


def test_equality_is_structural() -> None:
    assert Dim(3) == 3 and Dim(3) == np.int64(3) and Dim("n") == "n" and Dim("x") + 1 == X + 1
    assert Dim(3) != 4 and Dim("n") != "m" and X != X + 1 and X // 2 != X
    assert Dim("n") != 1.5 and Dim(1) != None  # noqa: E711  (the operator is what is tested)
    assert len({Dim("n"), "n"}) == 1 and len({3, Dim(3)}) == 1


@pytest.mark.parametrize(
    ("dim", "text", "representation"),
    [
        (Dim(3), "3", "Dim(3)"),
        (X, "x", "Dim('x')"),
        (2 * X + 1, "2*x + 1", "Dim('2*x + 1')"),
        (X // 2, "(x floordiv 2)", None),
    ],
)
def test_text(dim: Dim, text: str, representation: str | None) -> None:
    assert str(dim) == text
    assert representation is None or repr(dim) == representation


def test_static_dims_serve_as_ints() -> None:
    assert int(Dim(3)) == 3 and isinstance(two := Dim(2), StaticDim) and two.dim == 2 and list(range(two)) == [0, 1]
    assert Dim(3) < 4 and Dim(3) <= Dim(3) and Dim(5) > 4 and Dim(4) >= 4
    assert isinstance(n := Dim("n"), SymbolicDim) and n.name == "n"


loose_dim: Any = Dim
loose_shape: Any = Shape
LOOSE_X: Any = X
REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: loose_dim(True), TypeError, "a bool is not a size"),
    (lambda: loose_dim(1.0), TypeError, "not a size"),
    (lambda: loose_dim(None), TypeError, "not a size"),
    (lambda: loose_dim("a b"), ValueError, "identifier"),
    (lambda: loose_dim(""), ValueError, "identifier"),
    (lambda: loose_dim("1n"), ValueError, "identifier"),
    (lambda: loose_dim(2**63), ValueError, "64 bits"),
    (lambda: loose_dim(2**62) * 4, ValueError, "64 bits"),
    (lambda: X < 3, TypeError, "no order.*x < 3"),
    (lambda: X <= 3, TypeError, "no order"),
    (lambda: sorted([X, Y]), TypeError, "no order"),
    (lambda: X % 2, TypeError, "not %"),
    (lambda: X / 2, TypeError, "not /.*\n.*use //"),
    (lambda: LOOSE_X + 1.5, TypeError, "unsupported operand"),
    (lambda: int(X), TypeError, "not known while the graph is built"),
    (lambda: range(LOOSE_X), TypeError, "integer"),
    (lambda: X // 0, ZeroDivisionError, "divided by zero"),
    (lambda: loose_shape([1, 2.5]), TypeError, "not a size"),
    (lambda: hash(loose_shape([1])), TypeError, "unhashable"),
]


@pytest.mark.parametrize(("act", "kind", "text"), REFUSED)
def test_refusals_say_why(act: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        act()


def test_shape_is_a_list_of_dims() -> None:
    shape = Shape(["n", 3, X + 1])
    assert shape == ["n", 3, X + 1] and shape == ("n", 3, X + 1) and shape != ["n", 3] and shape != "n"
    assert shape.rank == len(shape) == 3 and shape.static_dims == [3]
    assert isinstance(shape[:2], Shape) and shape[:2] == ["n", 3] and shape[-1] == X + 1
    assert [*shape[:-1], 7] == ["n", 3, 7] and "n" in shape
    assert str(shape) == "[n, 3, x + 1]" and repr(Shape([1])) == "Shape([1])"


@pytest.mark.parametrize("value", [Dim(3), X, X * 2 + 1, Shape(["n", 3])])
def test_copies_and_pickles(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
