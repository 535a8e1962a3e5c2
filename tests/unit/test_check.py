"""The check between passes: which op is blamed, where it stands, and modules no text can spell."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, func, test
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region

from pelton.dialects.check import check_module, location_text, op_text
from pelton.dialects.context import new_context
from pelton.dialects.reader import read_module
from pelton.support.errors import ReadError, VerifyError

HERE = FileLineColLoc(StringAttr("model.py"), IntAttr(7), IntAttr(3))
UNKNOWN = UnknownLoc()


def test_the_pass_is_named() -> None:
    module = ModuleOp([func.FuncOp("f", ((), (i32,)), Region(Block([func.ReturnOp()])))])
    with pytest.raises(VerifyError) as caught:
        check_module(module, "some-pass")
    assert caught.value.details.stage == "some-pass" and caught.value.details.op == "func.return"


def test_an_op_that_points_elsewhere() -> None:
    inner = test.TestOp()
    module = ModuleOp([inner])
    inner.parent = Block()
    with pytest.raises(VerifyError, match="an op inside does not point to the block that holds it"):
        check_module(module)


def test_a_value_from_another_function() -> None:
    one = arith.ConstantOp.from_int_and_width(1, 32)
    first = func.FuncOp("f", ((), ()), Region(Block([one, func.ReturnOp()])))
    add = arith.AddiOp(one, one)
    second = func.FuncOp("g", ((), ()), Region(Block([add, func.ReturnOp()])))
    with pytest.raises(VerifyError, match="defined"):
        check_module(ModuleOp([first, second]))


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (HERE, "model.py:7:3"),
        (UNKNOWN, ""),
        (NameLoc(StringAttr("layer"), HERE), "model.py:7:3"),
        (FusedLoc((UNKNOWN, HERE), NoneAttr()), "model.py:7:3"),
        (CallSiteLoc(UNKNOWN, HERE), "model.py:7:3"),
    ],
)
def test_places(location: FileLineColLoc | UnknownLoc | NameLoc | FusedLoc | CallSiteLoc, text: str) -> None:
    op = test.TestOp()
    op.location = location
    assert location_text(op) == text


def test_an_op_without_a_place_has_that_of_the_op_around_it() -> None:
    inner = test.TestOp()
    outer = test.TestOp(regions=[Region(Block([inner]))])
    outer.location = HERE
    assert location_text(inner) == "model.py:7:3"


def test_op_text_is_one_line_of_bounded_length() -> None:
    attributes: dict[str, Attribute] = {"a": ArrayAttr([StringAttr("x" * 50)] * 20)}
    text = op_text(test.TestOp(regions=[Region(Block([test.TestOp()]))], attributes=attributes))
    assert "\n" not in text and len(text) <= 160 and text.startswith('"test.op"')


def read(text: str) -> Operation:
    return read_module(new_context(), text, "t.mlir", 10)


def test_ops_know_their_line() -> None:
    module = read("func.func @f() {\n\n  func.return\n}")
    places = [location_text(op) for op in module.walk()]
    assert places == ["", "t.mlir:11:1", "t.mlir:13:3"]


def test_a_location_in_the_text_wins() -> None:
    module = read('func.func @f() {\n  func.return loc("model.py":7:3)\n}')
    assert [location_text(op) for op in module.walk()][-1] == "model.py:7:3"


@pytest.mark.parametrize("text", ["\t\t)", " " * 300 + ")" + " " * 300, "func.func @é(%x: ∞)"])
def test_the_excerpt_points_at_the_place(text: str) -> None:
    with pytest.raises(ReadError) as caught:
        read(text)
    line, mark = caught.value.details.got.split("\n")
    assert line[mark.index("^")] in ")∞" and len(line) <= 110


def test_a_long_unclosed_string_is_found_at_once() -> None:
    with pytest.raises(ReadError, match="string literal"):
        read('"' + "a" * 1_000_000)
