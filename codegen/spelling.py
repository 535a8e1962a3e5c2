"""How scalar ops of `arith` and `math` are spelled in the vocabulary that all targets share: one table row per op.

Enters: an op, its operands as terms, and whether the result has a value per lane in one variable. Leaves: a term,
to the printers. A target overrides rows where its spelling differs (`Printer.rows`); an op without a row is an
error that names op and target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Attribute, Operation

from pelton.codegen.terms import Term, call, infix, number, prefix
from pelton.dialects.op import location_of
from pelton.dialects.types import bytes_of, dtype_name, is_bool, is_float, is_unsigned, limits_of
from pelton.support.errors import CompileError


@dataclass(frozen=True)
class Infix:
    """A binary operator."""

    operator: str


@dataclass(frozen=True)
class Function:
    """A function of the operands in their order."""

    name: str


Rule: TypeAlias = Callable[[Operation, Sequence[Term], bool], Term]
"""(op, operands, vector) → term; `vector`: the result has one value per lane in one variable."""
Row: TypeAlias = Infix | Function | Rule


def register_name(t: Attribute) -> str:
    """The short name of a type as it is computed with: an index is an i64."""
    return "i64" if isinstance(t, IndexType) else dtype_name(t)


def negation(x: Term, vector: bool) -> Term:
    """The opposite of a mask or a bool."""
    return prefix("~" if vector else "not", x)


_OPPOSITE = {"eq": "ne", "ule": "ugt", "uge": "ult", "sle": "sgt", "sge": "slt"}
_ORDERED = {"oeq": "==", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "une": "!="}
_UNORDERED = {"ueq": "one", "ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt", "true": "false"}
_SIGNED = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": ("ult", 0, 1), "ule": ("ule", 0, 1), "ugt": ("ult", 1, 0), "uge": ("ule", 1, 0)}


def _cmpf(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    assert isinstance(op, arith.CmpfOp)
    return _compare_floats(arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data], args[0], args[1], vector)


def _compare_floats(predicate: str, x: Term, y: Term, vector: bool) -> Term:
    if predicate in _ORDERED:
        return infix(_ORDERED[predicate], x, y)
    if predicate in _UNORDERED:
        return negation(_compare_floats(_UNORDERED[predicate], x, y, vector), vector)
    match predicate:
        case "one":
            return infix("|", infix("<", x, y), infix(">", x, y))
        case "ord" | "uno":
            equal, both = ("==", "&") if predicate == "ord" else ("!=", "|")
            own = infix(equal, x, x)
            return own if x == y else infix(both, own, infix(equal, y, y))
        case _:
            return infix("<", x, x)


def _cmpi(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    assert isinstance(op, arith.CmpiOp)
    predicate, (x, y) = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data], args
    if is_bool(op.lhs.type):
        return _compare_bools(predicate, x, y, vector)
    if predicate in _SIGNED:
        return infix(_SIGNED[predicate], x, y)
    name, first, second = _UNSIGNED[predicate]
    return call(name, args[first], args[second])


def _compare_bools(predicate: str, x: Term, y: Term, vector: bool) -> Term:
    if predicate in _OPPOSITE:
        return negation(_compare_bools(_OPPOSITE[predicate], x, y, vector), vector)
    match predicate:
        case "ne":
            return infix("^", x, y)
        case "ult" | "sgt":
            return infix("&", negation(x, vector), y)
        case _:
            return infix("&", x, negation(y, vector))


def _xor(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    if is_bool(op.results[0].type):
        for one, other in ((0, 1), (1, 0)):
            if args[one].text == "True":
                return negation(args[other], vector)
    return infix("^", args[0], args[1])


def _negate(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    return prefix("-", args[0])


def ceildiv(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    """Of sizes, which are far from overflow; by 0 it is 0, as all division is."""
    x, y = args
    if y.text.isdigit():
        return call("floordiv", infix("+", x, number(max(int(y.text) - 1, 0))), y)
    return prefix("-", call("floordiv", prefix("-", x), y))


FROM_HALF: Mapping[str, str] = {"f16": "f16_to_f32", "bf16": "bf16_to_f32"}


def convert(x: Term, source: str, target: str, unsigned: bool = False) -> Term:
    """`x` of register type `source` as `target`; integers are signed unless `unsigned`. Only the last step rounds."""
    if source == target:
        return x
    if source in FROM_HALF:
        return convert(call(FROM_HALF[source], x), "f32", target)
    if target in FROM_HALF:
        exact = source if source in ("f32", "f64") else "f64"
        return call(f"{exact}_to_{target}", convert(x, source, exact, unsigned))
    match source, target:
        case _, "i1":
            x = infix("!=", infix("&", x, number(1)), number(0))
        case "i1", _ if not unsigned:
            x = convert(prefix("-", call("to_i32", x)), "i32", target)
        case (("i8" | "i16" | "i32" | "i64"), _) if unsigned:
            x = call(f"to_{target}", call(f"to_u{source[1:]}", x))
        case _:
            x = call(f"to_{target}", x)
    return x


def _convert(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    source, target = register_name(op.operands[0].type), register_name(op.results[0].type)
    return convert(args[0], source, target)


def _convert_unsigned(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    source, target = register_name(op.operands[0].type), register_name(op.results[0].type)
    return convert(args[0], source, target, unsigned=True)


def _bitcast(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    """Between integers of one width: a constant is written as what it becomes."""
    source, target = (v.type for v in (op.operands[0], op.results[0]))
    if is_float(source) or is_float(target) or bytes_of(source) != bytes_of(target):
        raise CompileError("bits are reinterpreted between integers of one width", op=op.name,
                           location=location_of(op) or "", got=f"{source} to {target}")  # fmt: skip
    owner = op.operands[0].owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr) and is_unsigned(target):
        return call(register_name(target), number(owner.value.value.data % (1 << 8 * bytes_of(target))))
    return convert(args[0], register_name(source), register_name(target))


_MATH = (
    "exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atanh", "tanh", "erf",
    "floor", "ceil", "roundeven", "trunc", "copysign",
)  # fmt: skip

ROWS: Mapping[str, Row] = {
    "arith.addf": Infix("+"), "arith.subf": Infix("-"), "arith.mulf": Infix("*"), "arith.divf": Infix("/"),
    "kernel.fmod": Function("truncmod"),
    "arith.addi": Infix("+"), "arith.subi": Infix("-"), "arith.muli": Infix("*"),
    "arith.andi": Infix("&"), "arith.ori": Infix("|"), "arith.xori": _xor,
    "arith.shli": Infix("<<"), "arith.shrsi": Infix(">>"), "arith.shrui": Infix(">>"),
    "arith.negf": _negate,
    "arith.maximumf": Function("maximum"), "arith.minimumf": Function("minimum"),
    "arith.maxnumf": Function("maxnum"), "arith.minnumf": Function("minnum"),
    "arith.maxsi": Function("maximum"), "arith.minsi": Function("minimum"),
    "arith.maxui": Function("maximum"), "arith.minui": Function("minimum"),
    "arith.divsi": Function("truncdiv"), "arith.remsi": Function("truncmod"), "arith.floordivsi": Function("floordiv"),
    "arith.divui": Function("truncdiv"), "arith.remui": Function("truncmod"),
    "arith.ceildivui": ceildiv, "arith.ceildivsi": ceildiv,
    "arith.cmpf": _cmpf, "arith.cmpi": _cmpi, "arith.select": Function("where"),
    "arith.extf": _convert, "arith.truncf": _convert, "arith.sitofp": _convert, "arith.fptosi": _convert,
    "arith.extsi": _convert, "arith.trunci": _convert, "arith.index_cast": _convert,
    "arith.uitofp": _convert_unsigned, "arith.extui": _convert_unsigned, "arith.fptoui": _convert,
    "arith.bitcast": _bitcast,
    "math.absf": Function("absolute"), "math.absi": Function("absolute"), "math.powf": Function("pow"),
    **{f"math.{name}": Function(name) for name in _MATH},
}  # fmt: skip

MAKES_HALF = frozenset({"arith.select", "arith.truncf", "arith.sitofp", "arith.uitofp"})
"""Ops whose result may be f16 or bf16: registers hold those as bits, without arithmetic."""

_COMBINE: Mapping[str, Row] = {
    "add": Infix("+"),
    "mul": Infix("*"),
    "max": Function("maximum"),
    "min": Function("minimum"),
}
_COMBINE_MASKS: Mapping[str, Row] = {"max": Infix("|"), "min": Infix("&")}
_FLOAT_IDENTITY = {"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}


def combination(kind: str, t: Attribute, x: Term, y: Term) -> Term | None:
    """`x` and `y` combined as `kernel.reduce` says; None where the kind has no meaning for the type."""
    match (_COMBINE_MASKS if is_bool(t) else _COMBINE).get(kind):
        case Infix(operator):
            return infix(operator, x, y)
        case Function(name):
            return call(name, x, y)
        case _:
            return None


def identity(kind: str, t: Attribute, bare: bool = False) -> Term:
    """The literal that changes nothing when combined; without its type where `bare`."""
    if is_bool(t):
        return Term(str(kind == "min"))
    term = number(_FLOAT_IDENTITY[kind]) if is_float(t) else number(_integer_identity(kind, t))
    return term if bare else call(register_name(t), term)


def _integer_identity(kind: str, t: Attribute) -> int:
    low, high = limits_of(i64 if isinstance(t, IndexType) else t)
    return {"add": 0, "mul": 1, "max": low, "min": high}[kind]


STORAGE: Mapping[str, str] = {"i1": "u8", "f16": "u16", "bf16": "u16"}
"""Element types that stand in memory as another type; all others stand as themselves."""


def storage_name(t: Attribute) -> str:
    """The type that stands in memory for `t`, as in `tile_u16`."""
    return STORAGE.get(register_name(t), register_name(t))


_WORDS = """
f16 bf16 f32 f64 mask i1 i8 i16 i32 i64 u8 u16 u32 u64 inf nan W lo hi ctx range
load load_masked store store_masked gather scatter iota below full splat where check as_mask as_bytes
report_1 report_2 report_3 report_4 report_5 report_6 report_7 report_8
maximum minimum maxnum minnum floordiv floormod truncdiv truncmod ult ule absolute copysign
exp log log1p sqrt rsqrt sin cos tan asin acos atan atanh tanh erf pow floor ceil roundeven trunc
to_f32 to_f64 to_mask to_i8 to_i16 to_i32 to_i64 to_u8 to_u16 to_u32 to_u64
f16_to_f32 bf16_to_f32 f16_to_f64 bf16_to_f64 f32_to_f16 f32_to_bf16 f64_to_f16 f64_to_bf16
across_add across_mul across_max across_min bits_of first_bit count_bits order_key matmul_tile
tile_f32 tile_f64 tile_f16 tile_bf16 tile_i1 tile_index
tile_i8 tile_i16 tile_i32 tile_i64 tile_u8 tile_u16 tile_u32 tile_u64
"""
VOCABULARY: frozenset[str] = frozenset(_WORDS.split())
"""Names that no variable of a kernel text may take."""
