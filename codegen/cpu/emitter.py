"""Writing LLVM instructions as arithmetic: a builder and a target enter; `Value`s with Python operators leave.

Every function of the vocabulary is written once over `Value`, which is a scalar or a vector: so a scalar and a lane
of a vector go through the same operations and give the same bits. No instruction carries a fast-math flag; nothing is
contracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pelton.codegen.cpu.elements import I32, I64, INTEGER_OF, MASK, Element
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.target import CpuTarget

Operand: TypeAlias = "Value | int | float"

STACK_ALIGNMENT = 64
"""Of everything that `Emitter.stack` makes room for, in bytes."""


class Splat(ir.Constant):
    """A constant vector of one value, spelled `splat (float 1.0)`: short to print and to parse."""

    def __init__(self, kind: Any, scalar: Any) -> None:
        ir.Constant.__init__(self, kind, None)
        self.scalar = scalar

    def get_reference(self) -> str:
        """How an instruction names it."""
        return f"splat ({self.scalar.type} {self.scalar.get_reference()})"


def vector_type(element: Element, lanes: int) -> Any:
    """The LLVM type of `lanes` lanes; 0 lanes is a scalar."""
    return ir.VectorType(element.llvm, lanes) if lanes else element.llvm


def constant(element: Element, lanes: int, number: float) -> Any:
    """`number` as an LLVM constant in every lane."""
    scalar = ir.Constant(element.llvm, float(number) if element.is_float else int(number))
    return Splat(vector_type(element, lanes), scalar) if lanes else scalar


class Emitter:
    """Where instructions go (`builder`), for which machine (`target`), in a function of how many logical `lanes`."""

    def __init__(self, builder: Any, target: CpuTarget, lanes: int) -> None:
        self.builder = builder
        self.target = target
        self.lanes = lanes

    def number(self, element: Element, number: float, lanes: int = 0) -> Value:
        """A constant."""
        return Value(self, constant(element, lanes, number), element, lanes)

    def call(self, name: str, result: Any, args: Sequence[Any]) -> Any:
        """A call of an LLVM intrinsic, or of a function of this module, by its full name."""
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(result, [a.type for a in args]), name)
        return self.builder.call(function, args)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """A call of an overloaded intrinsic whose result has the type of its first argument."""
        x = args[0]
        shape = f"v{x.lanes}{x.element.code}" if x.lanes else x.element.code
        return x.like(self.call(f"llvm.{name}.{shape}", x.llvm.type, [a.llvm for a in args]))

    def fma(self, x: Value, y: Operand, z: Operand) -> Value:
        """x * y + z, rounded once where the target can. The only place where a product and a sum meet."""
        if not self.target.has_fma:
            return x * y + z
        return self.intrinsic("fma", x, x.operand(y), x.operand(z))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Horner's rule; the coefficient of the highest power comes first."""
        y = x.constant(coefficients[0])
        for c in coefficients[1:]:
            y = self.fma(y, x, c)
        return y

    def select(self, mask: Value, x: Value, y: Operand) -> Value:
        """x where the mask is true, else y."""
        return x.like(self.builder.select(mask.llvm, x.llvm, x.operand(y).llvm))

    def splat(self, x: Value, lanes: int) -> Value:
        """The scalar `x` in every lane."""
        if x.lanes or not lanes:
            return x
        kind = vector_type(x.element, lanes)
        if isinstance(x.llvm, ir.Constant):
            return Value(self, Splat(kind, x.llvm), x.element, lanes)
        undefined = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(undefined, x.llvm, ir.Constant(I32.llvm, 0))
        lane_zero = constant(I32, lanes, 0)
        return Value(self, self.builder.shuffle_vector(first, undefined, lane_zero), x.element, lanes)

    def part(self, x: Value, first: int, count: int) -> Value:
        """Lanes first … first + count - 1 as a vector of their own."""
        lanes = ir.Constant(vector_type(I32, count), list(range(first, first + count)))
        undefined = ir.Constant(x.llvm.type, ir.Undefined)
        return Value(self, self.builder.shuffle_vector(x.llvm, undefined, lanes), x.element, count)

    def offset(self, pointer: Any, index: Any) -> Any:
        """The address of element `index` after `pointer`."""
        return self.builder.gep(pointer, [index])

    def stack(self, element: Element, count: int) -> Any:
        """Room for `count` elements that lives as long as the function."""
        with self.builder.goto_entry_block():
            pointer = self.builder.alloca(ir.ArrayType(element.llvm, count))
            pointer.align = STACK_ALIGNMENT
            return self.builder.bitcast(pointer, element.llvm.as_pointer())


class Value:
    """A scalar (`lanes` 0) or a vector of one element type, with the operators of its kind."""

    __slots__ = ("element", "emitter", "lanes", "llvm")

    def __init__(self, emitter: Emitter, llvm: Any, element: Element, lanes: int) -> None:
        self.emitter = emitter
        self.llvm = llvm
        self.element = element
        self.lanes = lanes

    def like(self, llvm: Any) -> Value:
        """Another value of this type."""
        return Value(self.emitter, llvm, self.element, self.lanes)

    def constant(self, number: float) -> Value:
        """A constant of this type."""
        return self.like(constant(self.element, self.lanes, number))

    def operand(self, other: Operand) -> Value:
        """`other` with as many lanes as this value: a number becomes a constant of this type."""
        if isinstance(other, Value):
            return self.emitter.splat(other, self.lanes)
        return self.constant(other)

    def as_element(self, element: Element) -> Value:
        """The same lanes seen as another element of the same LLVM type (i32 as u32)."""
        return Value(self.emitter, self.llvm, element, self.lanes)

    def convert(self, instruction: str, element: Element) -> Value:
        """One LLVM conversion instruction: zext, sext, trunc, fptrunc, bitcast, …"""
        if element.llvm == self.element.llvm:
            return self.as_element(element)
        kind = vector_type(element, self.lanes)
        return Value(self.emitter, getattr(self.emitter.builder, instruction)(self.llvm, kind), element, self.lanes)

    def bits(self) -> Value:
        """The representation of a float as a signed integer."""
        return self.convert("bitcast", INTEGER_OF[self.element.bits])

    def _binary(self, instruction: str, other: Operand) -> Value:
        build = getattr(self.emitter.builder, instruction)
        return self.like(build(self.llvm, self.operand(other).llvm))

    def _arithmetic(self, name: str, other: Operand) -> Value:
        return self._binary(("f" if self.element.is_float else "") + name, other)

    def _reversed(self, name: str, other: Operand) -> Value:
        return self.operand(other)._arithmetic(name, self)

    def _compare(self, operator: str, other: Operand) -> Value:
        b, y = self.emitter.builder, self.operand(other)
        if self.element.is_float:
            compare = b.fcmp_unordered if operator == "!=" else b.fcmp_ordered
        else:
            compare = b.icmp_unsigned if self.element.kind == "uint" else b.icmp_signed
        return Value(self.emitter, compare(operator, self.llvm, y.llvm), MASK, self.lanes)

    def __add__(self, other: Operand) -> Value:
        return self._arithmetic("add", other)

    def __radd__(self, other: Operand) -> Value:
        return self._reversed("add", other)

    def __sub__(self, other: Operand) -> Value:
        return self._arithmetic("sub", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._reversed("sub", other)

    def __mul__(self, other: Operand) -> Value:
        return self._arithmetic("mul", other)

    def __rmul__(self, other: Operand) -> Value:
        return self._reversed("mul", other)

    def __truediv__(self, other: Operand) -> Value:
        return self._binary("fdiv", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.operand(other)._binary("fdiv", self)

    def __neg__(self) -> Value:
        b = self.emitter.builder
        return self.like(b.fneg(self.llvm) if self.element.is_float else b.neg(self.llvm))

    def __and__(self, other: Operand) -> Value:
        return self._binary("and_", other)

    def __or__(self, other: Operand) -> Value:
        return self._binary("or_", other)

    def __xor__(self, other: Operand) -> Value:
        return self._binary("xor", other)

    def __invert__(self) -> Value:
        return self._binary("xor", -1)

    def __lshift__(self, count: Operand) -> Value:
        return self._binary("shl", count)

    def __rshift__(self, count: Operand) -> Value:
        return self._binary("lshr" if self.element.kind == "uint" else "ashr", count)

    def __lt__(self, other: Operand) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Value:
        return self._compare(">=", other)

    def equals(self, other: Operand) -> Value:
        """Lane by lane; NaN equals nothing."""
        return self._compare("==", other)

    def differs(self, other: Operand) -> Value:
        """Not `equals`: true where either is NaN."""
        return self._compare("!=", other)

    def is_nan(self) -> Value:
        """True where a float is no number."""
        return self.differs(self)


def as_index(x: Value) -> Value:
    """A scalar integer as i64."""
    return x.convert("zext" if x.element.kind in ("uint", "mask") else "sext", I64) if x.element.bits < I64.bits else x
