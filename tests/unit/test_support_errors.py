"""Errors: their text, their bases, and that they survive pickling."""

from __future__ import annotations

import pickle
import re

import pytest

from pelton.support import errors
from pelton.support.errors import CompileError, PeltonError, ReadError, diagnostic, shortened


def kinds() -> list[type[PeltonError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PeltonError)]
    return [kind for kind in found if kind is not PeltonError]


def drawn() -> dict[str, tuple[str, ...]]:
    """Name → built-in exception beside it, as the drawing at the top of the file shows."""
    rows = re.findall(r"─ (\w+)(?: +([A-Z]\w+Error)\b)?  ", errors.__doc__ or "")
    return {name: (base,) if base else () for name, base in rows}


def test_the_drawing_shows_every_kind() -> None:
    assert set(drawn()) - {"PeltonError"} == {kind.__name__ for kind in kinds()}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_each_kind_has_the_base_the_drawing_promises(kind: type[PeltonError]) -> None:
    assert {base.__name__ for base in kind.__mro__} >= set(drawn()[kind.__name__])
    assert any(issubclass(kind, base) for base in (ValueError, TypeError, RuntimeError, LookupError))


def test_the_text_has_only_the_parts_that_are_known() -> None:
    error = CompileError(
        "shapes differ", op="nn.add", location="model.py:7", got="[2]", expected="[3]", stage="simplify"
    )
    assert str(error).splitlines() == [
        "shapes differ",
        "  op:       nn.add",
        "  at:       model.py:7",
        "  expected: [3]",
        "  got:      [2]",
        "  pass:     simplify",
    ]
    assert str(CompileError("alone")) == "alone"


def test_later_lines_of_a_part_stand_under_the_first() -> None:
    assert str(PeltonError("no", got="a\nb")).splitlines()[1:] == ["  got:      a", "            b"]


def test_as_a_compiler_prints_it() -> None:
    assert (
        diagnostic(ReadError("bad", location="a.mlir:1:2", got="x"), "tool") == "a.mlir:1:2: error: bad\n  got:      x"
    )
    assert diagnostic(ReadError("bad"), "tool") == "tool: error: bad"


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_pickling_keeps_everything(kind: type[PeltonError]) -> None:
    error = kind("message", op="nn.add", remedy="none")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind and str(copy) == str(error) and copy.details == error.details


def test_details_are_added_and_never_replaced() -> None:
    error = ReadError("no op", location="a.mlir:1", got="x")
    more = error.with_details(location="b.mlir:2", stage="reading", replay="run.sh")
    assert type(more) is ReadError and more.message == "no op" and error.details.stage == ""
    assert (more.details.location, more.details.got) == ("a.mlir:1", "x")
    assert (more.details.stage, more.details.replay) == ("reading", "run.sh")


def test_long_texts_are_cut() -> None:
    assert shortened("  two\n  lines ", 9) == "two lines"
    assert shortened("a b c d e f", 6) == "a b c…"
