"""What the printers promise beside the text itself: stable names, sound expressions, grids and steps that are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects import arith

from pelton.codegen import spelling
from pelton.codegen.cpu import vocabulary
from pelton.codegen.cpu.sources import cpu_source
from pelton.codegen.literals import half_bits
from pelton.codegen.scalar_values import known_ops
from pelton.codegen.spelling import VOCABULARY, convert
from pelton.codegen.terms import Names, Term, infix, number, prefix, total
from pelton.dialects import dims
from pelton.dialects.kernel import FuncOp, LanesOp, LoadOp
from pelton.dialects.kernel.grid import grid_items
from pelton.dialects.kernel.uniformity import Steps
from pelton.kernels.items import kernel_items
from pelton.kernels.matmul import PANELS, ROWS
from pelton.support.errors import CompileError
from pelton.tests.support.kernels import kernel_functions

TEXTS = Path(__file__).parents[1] / "lit" / "codegen"


def functions(file: str) -> dict[str, FuncOp]:
    return kernel_functions((TEXTS / f"{file}.mlir").read_text())


def test_every_word_is_reserved() -> None:
    assert set(vocabulary.names(32)) <= VOCABULARY


def test_the_interpreter_knows_what_printers_spell() -> None:
    assert known_ops() == set(spelling.ROWS)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (infix("*", infix("+", Term("a"), Term("b")), Term("c")), "(a + b) * c"),
        (infix("-", Term("a"), infix("-", Term("b"), Term("c"))), "a - (b - c)"),
        (infix("-", infix("-", Term("a"), Term("b")), Term("c")), "a - b - c"),
        (infix("<", infix("<", Term("a"), Term("b")), Term("c")), "(a < b) < c"),
        (infix("&", infix("<", Term("a"), Term("b")), Term("c")), "(a < b) & c"),
        (prefix("-", prefix("-", Term("a"))), "-(-a)"),
        (prefix("~", infix("|", Term("a"), Term("b"))), "~(a | b)"),
        (infix("&", prefix("not", infix("<", Term("a"), Term("b"))), Term("c")), "(not (a < b)) & c"),
        (infix("*", number(-1), Term("a")), "-1 * a"),
        (total([]), "0"),
        (total([Term("a"), infix("*", Term("b"), Term("c"))]), "a + b * c"),
    ],
)
def test_parentheses_are_those_python_needs(term: Term, text: str) -> None:
    assert str(term) == text


@pytest.mark.parametrize(
    ("value", "bits", "text"),
    [(0.1, 32, "0.1"), (1.0, 32, "1.0"), (16777216.0, 32, "16777216.0"), (3.4028235e38, 32, "3.4028235e+38"),
     (1e-45, 32, "1e-45"), (float("inf"), 32, "inf"), (float("nan"), 32, "nan"), (-0.0, 32, "-0.0"),
     (0.1, 64, "0.1"), (1 / 3, 64, "0.3333333333333333"), (1 / 3, 32, "0.33333333"), (-7, 64, "-7")],
)  # fmt: skip
def test_literals_have_the_fewest_digits_that_read_back(value: float, bits: int, text: str) -> None:
    assert str(number(value, bits)) == text


@pytest.mark.parametrize(
    ("value", "f16", "bf16"),
    [(1.0, 0x3C00, 0x3F80), (-2.5, 0xC100, 0xC020), (65504.0, 0x7BFF, 0x4780), (1e9, 0x7C00, 0x4E6E),
     (-1e9, 0xFC00, 0xCE6E), (float("inf"), 0x7C00, 0x7F80), (1.00390625, 0x3C04, 0x3F80),
     (1.01171875, 0x3C0C, 0x3F82)],
)  # fmt: skip
def test_half_literals_are_bits_rounded_to_nearest_even(value: float, f16: int, bf16: int) -> None:
    assert (half_bits(value, "f16"), half_bits(value, "bf16")) == (f16, bf16)


def test_half_literals_keep_nan() -> None:
    assert half_bits(float("nan"), "f16") & 0x7FFF > 0x7C00
    assert half_bits(float("nan"), "bf16") & 0x7FFF > 0x7F80


def test_names_are_unique_and_never_a_word() -> None:
    names = Names({"exp", "W"})
    given = [names.fresh(h, "t") for h in ("x", "x", "exp", "lambda", "0", None, "x1", "a-b", "é", "__")]
    assert given == ["x", "x1", "exp1", "lambda1", "t", "t1", "x1_1", "a_b", "t2", "t3"]


def test_index_names_are_taken_again() -> None:
    names = Names(())
    first = names.index("j", "i")
    assert names.index("j", "i") == "j1"
    names.release(first, "j", "i")
    assert names.index("j", "i") == "j"
    assert names.fresh("j", "t") == "j2"


@pytest.mark.parametrize(
    ("source", "target", "unsigned", "text"),
    [("bf16", "f64", False, "to_f64(bf16_to_f32(x))"), ("f16", "bf16", False, "f32_to_bf16(f16_to_f32(x))"),
     ("i32", "f16", False, "f64_to_f16(to_f64(x))"), ("i8", "i64", True, "to_i64(to_u8(x))"),
     ("i1", "i32", True, "to_i32(x)"), ("i1", "f32", False, "to_f32(-to_i32(x))"), ("i64", "i64", False, "x")],
)  # fmt: skip
def test_conversions_round_once(source: str, target: str, unsigned: bool, text: str) -> None:
    assert str(convert(Term("x"), source, target, unsigned)) == text


def test_the_text_is_the_same_in_every_process() -> None:
    path = TEXTS / "control_flow.mlir"
    command = [sys.executable, "-m", "pelton.tools.opt", str(path), "-t", "numba-cpu"]
    texts = {
        subprocess.run(
            command, env={"PYTHONPATH": root(), "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1


def root() -> str:
    return str(Path(__file__).parents[2] / ".typing")


def test_the_source_names_buffers_and_sizes() -> None:
    source = cpu_source(functions("gather")["gather"])
    assert (source.name, source.lanes) == ("kernel_gather", 32)
    assert source.buffers == (("w", "f32"), ("idx", "i64"), ("y", "f32"))
    assert source.symbols == ("rows", "n", "m")
    assert cpu_source(functions("elementwise")["grid3"]).lanes == 8
    assert cpu_source(functions("matmul")["shared"]).lanes == 8


def test_sizes_keep_their_names_where_the_text_cannot() -> None:
    text = """kernel.func @f(%x : !kernel.buf<[W], f32>, %W : !kernel.buf<[n], f32>) sizes [W, n] {
      kernel.grid () in () { }
    }"""
    source = cpu_source(kernel_functions(text)["f"])
    assert source.symbols == ("W", "n")
    assert source.text.startswith("def f(x, W1, W2, n, lo, hi, ctx):")


@pytest.mark.parametrize(
    ("file", "name", "items"),
    [("transpose", "transpose", "((m + 31) floordiv 32)*((n + 31) floordiv 32)"), ("elementwise", "grid3", "a*b*c"),
     ("column_sum", "column_sum", "1"), ("integers", "wrap", "n")],
)  # fmt: skip
def test_the_grid_is_a_size(file: str, name: str, items: str) -> None:
    assert str(kernel_items(functions(file)[name])) == items


def test_a_product_has_an_item_per_block() -> None:
    known = functions("matmul")
    sizes = {"m": 3 * ROWS + 1, "k": 7, "b": 5, "p": PANELS + 1, "n": 100}
    assert dims.evaluate(kernel_items(known["linear"]), sizes) == 4 * 3
    assert dims.evaluate(kernel_items(known["shared"]), sizes) == 5 * 4 * 2
    assert dims.evaluate(kernel_items(known["batched"]), {**sizes, "m": 25, "p": 3}) == 5 * 3 * 2


def test_a_grid_of_loaded_sizes_is_refused() -> None:
    text = """kernel.func @f(%x : !kernel.buf<[n], i64>) sizes [n] {
      %zero = arith.constant 0 : index
      %v = kernel.load %x[%zero] : !kernel.buf<[n], i64>
      %k = arith.index_cast %v : i64 to index
      kernel.grid (%i) in (%k) { }
    }"""
    with pytest.raises(CompileError, match="the number of grid items is not known"):
        grid_items(kernel_functions(text)["f"])


def test_steps_follow_index_arithmetic() -> None:
    func = functions("strided")["steps"]
    steps = Steps(func, lambda indices: indices[-1:])
    loop = next(op for op in func.walk() if isinstance(op, LanesOp))
    arithmetic = arith.AddiOp | arith.SubiOp | arith.MuliOp | arith.FloorDivSIOp
    results = [op.results[0] for op in loop.body.block.ops if isinstance(op, arithmetic)]
    named = {r.name_hint: steps[r] for r in results if r.name_hint}
    assert named == {"back": -1, "double": 2, "odd": 2, "shift": 1, "half": None}
    assert [steps.span(op) for op in loop.walk() if isinstance(op, LoadOp)] == [-1, 2, 1, None]


def test_a_carried_value_is_uniform_only_if_the_loop_keeps_it_so() -> None:
    func = functions("control_flow")["collatz"]
    steps = Steps(func, lambda indices: indices[-1:])
    loop = next(op for op in func.walk() if op.name == "scf.for")
    assert [steps[r] for r in loop.results] == [None, None, 0]
