"""Scalar code by the value's type: what an op's `element` is written with.

`Scalars` inserts `arith` and `math` ops at one insertion point and picks the float or the integer form, so that a
kernel lowering reads like the formula it implements. A value has the type that it has in memory: a `ui8` stays one, and
meets the ops of unsigned numbers, though upstream has these for signless types alone. Index arithmetic is folded while
it is built (`i * 1 + 0` is `i`): the printers see few ops and known steps. Nothing is ever reassociated or contracted.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import INDEX, BufType, CheckOp, DimOp, FmodOp, LoadOp
from pelton.dialects.types import bytes_of, is_bool, is_float, is_int, is_unsigned

F32, F64 = Float32Type(), Float64Type()
BINARY: dict[str, tuple[type[Operation] | None, type[Operation] | None, type[Operation] | None]] = {
    # name: (float op, signed op, unsigned op)
    "add": (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "sub": (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "mul": (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    "div": (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    "floordiv": (None, arith.FloorDivSIOp, arith.DivUIOp),
    "rem": (FmodOp, arith.RemSIOp, arith.RemUIOp),
    "max": (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
    "min": (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
    "pow": (math.PowFOp, None, None),
    "copysign": (math.CopySignOp, None, None),
    "and": (None, arith.AndIOp, arith.AndIOp),
    "or": (None, arith.OrIOp, arith.OrIOp),
    "xor": (None, arith.XOrIOp, arith.XOrIOp),
    "shl": (None, arith.ShLIOp, arith.ShLIOp),
    "shr": (None, arith.ShRSIOp, arith.ShRUIOp),
}
FLOAT_COMPARE = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "unordered": "uno"}
INT_COMPARE = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "below": "ult"}
UNSIGNED_COMPARE = {name: predicate.replace("s", "u", 1) for name, predicate in INT_COMPARE.items()}
UNARY: dict[str, type[Operation]] = {
    name: getattr(math, cls)
    for name, cls in {
        "exp": "ExpOp", "log": "LogOp", "log1p": "Log1pOp", "sqrt": "SqrtOp", "rsqrt": "RsqrtOp", "sin": "SinOp",
        "cos": "CosOp", "tan": "TanOp", "asin": "AsinOp", "acos": "AcosOp", "atan": "AtanOp", "atanh": "AtanhOp",
        "tanh": "TanhOp", "erf": "ErfOp", "floor": "FloorOp", "ceil": "CeilOp", "roundeven": "RoundEvenOp",
        "trunc": "TruncOp",
    }.items()
}  # fmt: skip


class Scalars:
    """Inserts scalar ops at `builder`'s insertion point; every method returns the new value."""

    commutative: ClassVar = frozenset({"add", "mul", "max", "min", "and", "or", "xor"})

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.guard: SSAValue | None = None

    def insert(self, op: Operation) -> SSAValue:
        """Inserts any op of one result."""
        return self.builder.insert(op).results[0]

    # memory
    @contextmanager
    def where(self, condition: SSAValue) -> Generator[None]:
        """Code inside runs for lanes where `condition` holds only: others load nothing and fail no check, their values
        are void.
        """
        outer = self.guard
        self.guard = condition if outer is None else self.binary("and", outer, condition)
        try:
            yield
        finally:
            self.guard = outer

    def load(self, buf: SSAValue, index: Sequence[SSAValue]) -> SSAValue:
        """One element of a buffer, 0 where the guard does not hold."""
        assert isinstance(buf.type, BufType)
        if self.guard is None:
            return self.insert(LoadOp(buf, index))
        return self.insert(LoadOp(buf, index, self.guard, self.constant(0, buf.type.elem)))

    def check(self, op: Operation, ok: SSAValue, index: SSAValue, *values: SSAValue) -> None:
        """A check of `op`: the lane with linear index `index` fails unless `ok`, and shows `values`."""
        if self.guard is not None:
            ok = self.binary("or", ok, self.logical_not(self.guard))
        self.judge(op, ok, index, [self._word(v) for v in values])

    def judge(self, op: Operation, ok: SSAValue, index: SSAValue, words: Sequence[SSAValue]) -> None:
        """What the check is made of: here the one that fails, of a function with no other."""
        self.builder.insert(CheckOp(1, ok, index, words[0]))

    def _word(self, x: SSAValue) -> SSAValue:
        """A value as a check takes it: halves as f32, bools and integers as i64."""
        wide = self.widen(x)
        return wide if is_float(wide.type) or wide.type == INDEX else self.cast(wide, IntegerType(64))

    # constants
    def constant(self, value: float | int | bool, dtype: Attribute) -> SSAValue:
        if is_unsigned(dtype):  # `arith.constant` has none
            bits = 8 * bytes_of(dtype)
            word = int(value) % 2**bits
            signless = self.constant(word - (word >> (bits - 1) << bits), IntegerType(bits))
            return self.insert(arith.BitcastOp(signless, dtype))
        kind: Any = dtype
        number = FloatAttr(float(value), kind) if is_float(dtype) else IntegerAttr(int(value), kind)
        return self.insert(arith.ConstantOp(number))

    def index(self, value: int) -> SSAValue:
        return self.constant(value, INDEX)

    def dim(self, dim: Dim) -> SSAValue:
        """A size as an index: constants, `kernel.dim` and index arithmetic."""
        match dim:
            case int():
                return self.index(dim)
            case str():
                return self.insert(DimOp(dim))
            case dims.Expr():
                return self._expression(dim)

    def _expression(self, dim: dims.Expr) -> SSAValue:
        total: SSAValue | None = None
        for atoms, coefficient in dim.terms:
            term = self.index(coefficient)
            for atom in atoms:
                term = self.binary("mul", term, self._atom(atom))
            total = term if total is None else self.binary("add", total, term)
        assert total is not None
        return total

    def _atom(self, atom: dims.Atom) -> SSAValue:
        if isinstance(atom, str):
            return self.dim(atom)
        name = "max" if atom.name == "broadcast" else atom.name
        return self.binary(name, self.dim(atom.lhs), self.dim(atom.rhs))

    # arithmetic
    def binary(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`add sub mul div rem max min pow copysign` on floats; `add sub mul div floordiv rem max min and or xor shl
        shr` on integers.

        `rem` has the sign of `x`, as C's `%`. Integer division by zero gives 0.
        """
        if x.type == INDEX and (folded := self._fold(name, x, y)) is not None:
            return folded
        op = BINARY[name][0 if is_float(x.type) else 2 if is_unsigned(x.type) else 1]
        if op is None:
            raise TypeError(f"{name} has no form for {x.type}")
        return self.insert(op(x, y))  # pyright: ignore[reportCallIssue]

    def _fold(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue | None:
        a, b = known_index(x), known_index(y)
        match name, a, b:
            case (("add" | "sub" | "mul" | "floordiv" | "max" | "min"), int(), int()) if name != "floordiv" or b:
                fold = {"add": dims.add, "sub": dims.sub, "mul": dims.mul, "floordiv": dims.floordiv}
                value = (fold | {"max": dims.maximum, "min": dims.minimum})[name](a, b)
                assert isinstance(value, int)
                return self.index(value)
            case ("add", 0, _) | ("mul", 1, _):
                return y
            case ("add" | "sub", _, 0) | ("mul" | "floordiv", _, 1):
                return x
            case ("mul", 0, _) | ("mul", _, 0):
                return self.index(0)
            case _:
                return None

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("add", x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("sub", x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("mul", x, y)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("div", x, y)

    def unary(self, name: str, x: SSAValue) -> SSAValue:
        """A function of one float: a key of `UNARY`."""
        return self.insert(UNARY[name](x))  # pyright: ignore[reportCallIssue]

    def negate(self, x: SSAValue) -> SSAValue:
        if is_float(x.type):
            return self.insert(arith.NegfOp(x))
        return self.sub(self.constant(0, x.type), x)

    def absolute(self, x: SSAValue) -> SSAValue:
        if is_unsigned(x.type):
            return x
        return self.insert(math.AbsFOp(x) if is_float(x.type) else math.AbsIOp(x))

    # comparing and choosing
    def compare(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`eq ne lt le gt ge`, `unordered` for floats, `below` (unsigned less) for integers: an i1."""
        if is_float(x.type):
            return self.insert(arith.CmpfOp(x, y, FLOAT_COMPARE[name]))
        if is_bool(x.type) and name not in ("eq", "ne"):  # i1 is signed in arith: true would be -1
            wide = IntegerType(32)
            return self.compare(name, self.insert(arith.ExtUIOp(x, wide)), self.insert(arith.ExtUIOp(y, wide)))
        return self.insert(arith.CmpiOp(x, y, (UNSIGNED_COMPARE if is_unsigned(x.type) else INT_COMPARE)[name]))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.insert(arith.SelectOp(condition, x, y))

    def logical_not(self, x: SSAValue) -> SSAValue:
        return self.binary("xor", x, self.constant(1, i1))

    # conversions
    def cast(self, x: SSAValue, to: Attribute) -> SSAValue:
        """`x` as another scalar type: floats round to nearest even, float → integer truncates and saturates, bool is 0
        or 1.
        """
        match x.type, to:
            case a, b if a == b:
                return x
            case IndexType(), _:
                wide = IntegerType(64)
                return self.cast(self.insert(arith.IndexCastOp(x, wide)), to)
            case _, IndexType():
                return self.insert(arith.IndexCastOp(self.cast(x, IntegerType(64)), to))
            case a, b if is_bool(b):
                wide = self.widen(x)
                return self.compare("ne", wide, self.constant(0, wide.type))
            case a, b if is_float(a) and is_float(b):
                return self._float_to_float(x, b)
            case a, b if is_float(a):
                convert = arith.FPToUIOp if is_unsigned(b) else arith.FPToSIOp
                return self.insert(convert(self.widen(x), b))  # pyright: ignore[reportArgumentType]
            case a, b if is_float(b):
                return self._int_to_float(x, b)
            case a, b if not is_bool(a) and bytes_of(a) == bytes_of(b):
                return self.insert(arith.BitcastOp(x, b))
            case a, b if is_bool(a) or bytes_of(b) > bytes_of(a):
                extend = arith.ExtUIOp if is_bool(a) or is_unsigned(a) else arith.ExtSIOp
                return self.insert(extend(x, b))  # pyright: ignore[reportArgumentType]
            case _, b:
                return self.insert(arith.TruncIOp(x, b))  # pyright: ignore[reportArgumentType]

    def _float_to_float(self, x: SSAValue, to: Attribute) -> SSAValue:
        if bytes_of(x.type) == bytes_of(to):  # f16 ↔ bf16
            return self.cast(self.cast(x, F32), to)
        op = arith.ExtFOp if bytes_of(to) > bytes_of(x.type) else arith.TruncFOp
        if op is arith.ExtFOp and isinstance(x.owner, arith.ConstantOp) and isinstance(x.owner.value, FloatAttr):
            return self.constant(x.owner.value.value.data, to)
        if bytes_of(x.type) + bytes_of(to) == 10 and op is arith.ExtFOp:  # half → f64
            return self.insert(arith.ExtFOp(self.insert(arith.ExtFOp(x, F32)), F64))
        return self.insert(op(x, to))  # pyright: ignore[reportArgumentType]

    def _int_to_float(self, x: SSAValue, to: Attribute) -> SSAValue:
        if is_bool(x.type):
            x = self.insert(arith.ExtUIOp(x, IntegerType(32)))
        direct = to if bytes_of(to) >= 4 else F64  # f64 holds every integer that a half tells apart
        convert = arith.UIToFPOp if is_unsigned(x.type) else arith.SIToFPOp
        return self.cast(self.insert(convert(x, direct)), to)  # pyright: ignore[reportArgumentType]

    def widen(self, x: SSAValue) -> SSAValue:
        """The value in the type scalar math computes in: f16 and bf16 as f32, the rest as it is."""
        return self.cast(x, F32) if is_float(x.type) and bytes_of(x.type) == 2 else x

    # index arithmetic
    def unflatten(self, linear: SSAValue, shape: tuple[Dim, ...]) -> list[SSAValue]:
        """The multi-dimensional index of a row-major linear one."""
        index: list[SSAValue] = []
        for d in reversed(shape[1:]):
            size = self.dim(d)
            quotient = self.binary("floordiv", linear, size)
            index.insert(0, self.sub(linear, self.mul(quotient, size)))
            linear = quotient
        return [linear, *index] if shape else []

    def flatten(self, index: list[SSAValue] | tuple[SSAValue, ...], shape: tuple[Dim, ...]) -> SSAValue:
        """The row-major linear index of a multi-dimensional one."""
        linear = self.index(0)
        for i, d in zip(index, shape, strict=True):
            linear = self.add(self.mul(linear, self.dim(d)), i)
        return linear


def known_index(value: SSAValue) -> int | None:
    """The number behind an index constant."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def is_number(dtype: Attribute) -> bool:
    """Any float or integer type, bool left out."""
    return is_float(dtype) or is_int(dtype)
