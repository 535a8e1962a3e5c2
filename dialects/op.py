"""One class says everything about one tensor op: signature, type rule, NumPy meaning, computation, documentation.

`NnOp` is the base of every op of the `nn` dialect. A subclass gives

- `infer`: the result types from operands and properties. The verifier, the graph API and the text parser all use it;
- `evaluate`: the meaning, in NumPy: computed in float64 and rounded once. The interpreter, constant folding and the
  tests use it;
- one of: `expand` (itself in smaller ops), or `element` (the scalar code of one result element, for a `Pointwise` op),
  or a class that `passes/lower_groups.py` knows by kind (`Reduction`, matmul);
- `tolerance`: how far compiled code may stand from `evaluate`. Most ops only give `ULP`, steps of the result's dtype;
  an op that sums overrides the method, since its error scales with what it sums and not with the sum;
- `requires`: what must hold between sizes that only a run knows;
- `effects`: what it does beside computing its results, if anything: `effects.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, NameLoc, UnknownLoc, f64, i1, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.dims import Dim
from pelton.dialects.effects import NONE, Effects, HasEffects
from pelton.dialects.fold import fold_constants
from pelton.dialects.types import BufferType, TensorType, dtype_name

if TYPE_CHECKING:
    from xdsl.builder import Builder

    from pelton.dialects.scalars import Scalars

Array: TypeAlias = Any
"""A NumPy array (or scalar); untyped here because the dialects load without NumPy."""
Sizes: TypeAlias = Mapping[str, int]
"""What each symbol stands for, in one evaluation."""
Index: TypeAlias = Sequence[SSAValue]
"""One index value per dim."""
Read: TypeAlias = Callable[[int, Index], SSAValue]
"""`read(k, index)`: the scalar that operand `k` has at `index`."""

PLACEHOLDER = TensorType((), i1)
"""What a result's type is before it is inferred."""


@dataclass(frozen=True)
class Requirement:
    """What the plan checks before an op runs: `lhs` equals (`eq`) or is at most (`le`) `rhs`; `message` says so to the
    user.
    """

    relation: str
    lhs: Dim
    rhs: Dim
    message: str

    def holds(self, lhs: int, rhs: int) -> bool:
        """Whether the relation holds between two known sizes."""
        return lhs == rhs if self.relation == "eq" else lhs <= rhs


class NnOp(IRDLOperation, HasFolderInterface, HasEffects):
    """The base of every tensor op. See the module's docstring for what a subclass gives."""

    ULP: ClassVar[Mapping[str, float]] = {}
    """Steps between neighbouring numbers that compiled code may be off, by dtype; a dtype that is not named allows
    none.
    """
    FOLDS: ClassVar[bool] = True
    """Whether a call on constants becomes a constant; False where the op is cheaper than the memory of its result."""

    @abstractmethod
    def infer(self) -> Sequence[TensorType | BufferType]:
        """The result types. Raises VerifyException that says expected and got where the operands do not fit."""

    @abstractmethod
    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """The results for NumPy `inputs`; float arithmetic in float64, rounded once to the result's dtype."""

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        """The same results from smaller ops inserted by `builder`; None for a primitive op."""
        return None

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """Per result of `evaluate`, the absolute error that is allowed in each element; 0 means the same value, sign of
        zero included.
        """
        from pelton.dialects.nn.reference import spacing

        types = [r.type for r in self.results if isinstance(r.type, TensorType)]
        return [self.ULP.get(dtype_name(t.dtype), 0) * spacing(y) for t, y in zip(types, results, strict=True)]

    def requires(self) -> Sequence[Requirement]:
        """Relations between symbolic sizes that `infer` could not decide."""
        return ()

    def effects(self) -> Effects:
        """What the op does beside computing its results. One that does anything has the trait `DeclaredEffects`, all
        others `Pure`.
        """
        return NONE

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """The results as constants where all operands are constants and the results are small and exact."""
        return fold_constants(self, self.evaluate, self.tolerance) if self.FOLDS and self.operands else None

    @classmethod
    def make(cls, *operands: SSAValue, location: Any = None, **properties: Attribute) -> Self:
        """A new op with inferred result types. Raises VerifyException where `infer` does."""
        count = len(cls.get_irdl_definition().results)
        op = cls.create(
            operands=operands,
            properties=properties,
            result_types=[PLACEHOLDER] * count,
            location=location or UnknownLoc(),
        )
        try:
            types = op.infer()
        except VerifyException:
            op.drop_all_references()
            raise
        for result, t in zip(op.results, types, strict=True):
            result._type = t  # pyright: ignore[reportPrivateUsage]  # the one place where an op gets its types late
        return op

    def verify_(self) -> None:
        expected, got = list(self.infer()), [r.type for r in self.results]
        if expected != got:
            want, have = (", ".join(map(str, ts)) for ts in (expected, got))
            raise VerifyException(f"'{self.name}' infers {want}, its results say {have}")

    def tensor(self, k: int = 0) -> TensorType:
        """The type of operand `k`."""
        t = self.operands[k].type
        if not isinstance(t, TensorType):
            raise VerifyException(f"'{self.name}' expects a tensor as operand {k}, got {t}")
        return t

    def buffer(self, k: int = 0) -> BufferType:
        """The type of operand `k`, a buffer."""
        t = self.operands[k].type
        if not isinstance(t, BufferType):
            raise VerifyException(f"'{self.name}' expects a buffer as operand {k}, got {t}")
        return t

    @property
    def result_type(self) -> TensorType:
        """The type of the first result."""
        t = self.results[0].type
        assert isinstance(t, TensorType)
        return t

    # text: `nn.name %a, %b {axis = 1} : type` where all types are one, else `: (types) -> types`
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        ) or []  # fmt: skip
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        if (function := parser.parse_optional_function_type()) is not None:
            inputs, outputs = list(function.inputs.data), list(function.outputs.data)
        else:
            only = parser.parse_type()
            inputs, outputs = [only] * len(names), [only]
        operands = parser.resolve_operands(names, inputs, parser.pos)
        known = cls.get_irdl_definition().properties
        properties = {k: v for k, v in attributes.items() if k in known}
        rest = {k: v for k, v in attributes.items() if k not in known}
        return cls.create(operands=operands, properties=properties, attributes=rest, result_types=outputs)

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
        _print_attributes(printer, {**self.properties, **self.attributes})
        printer.print_string(" : ")
        types = {v.type for v in (*self.operands, *self.results)}
        if len(types) == 1 and len(self.results) == 1:
            printer.print_attribute(types.pop())
        else:
            printer.print_operation_type(self)


def _print_attributes(printer: Printer, attributes: Mapping[str, Attribute]) -> None:
    """`{axis = 1, epsilon = 1.000000e-05}`: an attribute dictionary without the types that its parser assumes."""
    if not attributes:
        return
    printer.print_string(" {")
    for k, (name, value) in enumerate(attributes.items()):
        printer.print_string(f"{', ' if k else ''}{name} = ")
        match value:
            case IntegerAttr() if value.type == i64:
                printer.print_string(str(value.value.data))
            case FloatAttr() if value.type == f64:
                printer.print_float(value.value.data, f64)
            case _:
                printer.print_attribute(value)
    printer.print_string("}")


class Canonical(NnOp, HasCanonicalizationPatternsInterface):
    """An op that has rules in `nn/patterns.py`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from pelton.dialects.nn.patterns import patterns_for

        return patterns_for(cls)


class Pointwise(NnOp):
    """An op each of whose result elements is scalar code over single elements of its operands: what fusion can inline
    anywhere.
    """

    traits = traits_def(Pure())

    @abstractmethod
    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        """The result element at `index`; operands through `read`, at whatever index they are needed."""


class Reduction(NnOp):
    """Combines all elements along one axis, which stays with size 1."""

    traits = traits_def(Pure())

    @property
    @abstractmethod
    def kind(self) -> str:
        """How two elements combine: one of the kernel dialect's kinds."""

    @property
    @abstractmethod
    def accumulator(self) -> Attribute:
        """The dtype elements are combined in: f32 for f16 and bf16, rounded once at the end; else their own."""

    @property
    @abstractmethod
    def axis_index(self) -> int:
        """The reduced axis, 0 ≤ axis < rank."""


def location_of(op: Operation) -> str | None:
    """`file.py:12` of the user's line that made `op`, where that is known."""
    location: Any = op.location
    while isinstance(location, NameLoc):
        location = location.location
    filename = getattr(location, "filename", None)
    line = getattr(location, "line", None)
    if filename is None or line is None:
        return None
    return f"{filename.data}:{line.data}"
