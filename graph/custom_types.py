"""The types of one call of a custom op against what the op says of them: types of values enter, those of the results
leave, or an error that names value, expected and got.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pelton.custom.patterns import Pattern, is_variable
from pelton.custom.registry import CustomOp
from pelton.dialects.dims import Dim
from pelton.dtype import DType
from pelton.graph.check import wrong
from pelton.graph.dims import Dim as UserDim
from pelton.graph.types import BufferType, TensorType

CLASSES: dict[str, Callable[[DType], bool]] = {
    "float": DType.is_float,
    "int": DType.is_integral,
    "any": lambda d: True,
}
AnyType = TensorType | BufferType
UNKNOWN_TO_NUMBA = (DType.float16, DType.bfloat16)


class Match:
    """What names stand for, as far as the values said."""

    def __init__(self, op: str, found: CustomOp) -> None:
        self.op = op
        self.found = found
        self.sizes: dict[str, Dim] = {}
        self.dtypes: dict[str, DType] = {}
        self.leading: tuple[Dim, ...] | None = None

    def take(self, k: int, pattern: Pattern, t: AnyType) -> None:
        """Compare value `k`; remember what it decides."""
        if not any(self.has_dtype(d, t.dtype) for d in pattern.dtypes):
            raise self.mismatch(k, "another dtype", pattern, t)
        rank = len(pattern.dims)
        if t.rank < rank if pattern.leading else t.rank != rank:
            raise self.mismatch(k, "another rank", pattern, t)
        shape = t.shape.raw
        own = shape[len(shape) - rank :]
        for wanted, size in zip(pattern.dims, own, strict=True):
            known = wanted if isinstance(wanted, int) else self.sizes.setdefault(wanted, size)
            if known != size:
                raise self.mismatch(k, f"the size {size} where {wanted} is {known}", pattern, t)
        if pattern.leading:
            lead = shape[: len(shape) - rank]
            self.leading = lead if self.leading is None else self.leading
            if lead != self.leading:
                raise self.mismatch(k, f"other leading sizes than {list(map(str, self.leading))}", pattern, t)

    def has_dtype(self, wanted: str, dtype: DType) -> bool:
        if is_variable(wanted):
            return self.dtypes.setdefault(wanted, dtype) is dtype
        return CLASSES[wanted](dtype) if wanted in CLASSES else DType(wanted) is dtype

    def mismatch(self, k: int, what: str, pattern: Pattern, t: AnyType) -> Any:
        bound = ", ".join(f"{n} = {d}" for n, d in {**self.dtypes, **self.sizes}.items())
        name = self.found.name
        remedy = "x.cast(...)" if "dtype" in what else "reshape, broadcast or rebind the value"
        return wrong(
            f"{self.op}: value {k} of {name!r} has {what}", f"{pattern}" + (f", {bound}" * bool(bound)), str(t), remedy
        )

    def give(self, pattern: Pattern, device: Any) -> TensorType | None:
        """The type of a result; None where the pattern leaves its dtype open."""
        (dtype, *more) = pattern.dtypes
        if more or dtype in CLASSES or (is_variable(dtype) and dtype not in self.dtypes):
            return None
        chosen = self.dtypes[dtype] if is_variable(dtype) else DType(dtype)
        own = [d if isinstance(d, int) else self.sizes[d] for d in pattern.dims]
        leading = (self.leading or ()) if pattern.leading else ()
        return TensorType(chosen, [UserDim(d) for d in (*leading, *own)], device)


def expected_types(op: str, found: CustomOp, inputs: Sequence[AnyType]) -> list[TensorType] | None:
    """The types of the results by what the op says of its values; None where it leaves a dtype open.

    Raises GraphError where a value is none that it takes.
    """
    if found.types is None:
        return None
    match = Match(op, found)
    for k, (pattern, t) in enumerate(zip(found.types.inputs, inputs, strict=True)):
        match.take(k, pattern, t)
    device = inputs[0].device if inputs else None
    given = [match.give(pattern, device) for pattern in found.types.outputs]
    return None if device is None or None in given else [t for t in given if t is not None]


def looped_dims(found: CustomOp, inputs: Sequence[AnyType], outputs: Sequence[TensorType]) -> tuple[int, ...]:
    """Per value and result, how many leading dims the body does not see."""
    if found.types is None:
        return (0,) * (len(inputs) + len(outputs))
    pairs = zip((*found.types.inputs, *found.types.outputs), (*inputs, *outputs), strict=True)
    return tuple(t.rank - len(pattern.dims) if pattern.leading else 0 for pattern, t in pairs)


def expect_whole_buffers(op: str, found: CustomOp, inputs: Sequence[AnyType], looped: Sequence[int]) -> None:
    """Raises GraphError for a buffer that several calls of the body would change at once."""
    for k, (t, count) in enumerate(zip(inputs, looped, strict=False)):
        if isinstance(t, BufferType) and not count and any(looped):
            raise wrong(
                f"{op}: buffer {k} of {found.name!r} lacks the leading dims that the body is called for, side by side",
                f"{found.types}, with ... for every buffer",
                str(t),
            )


def expect_kernel_dtypes(op: str, found: CustomOp, types: Sequence[AnyType]) -> None:
    """Raises GraphError for a dtype that no kernel body can take."""
    for t in types:
        if t.dtype in UNKNOWN_TO_NUMBA:
            raise wrong(
                f"{op}: the kernel body of {found.name!r} cannot take {t.dtype.name}",
                "bool, integers, float32 or float64",
                str(t),
                "cast to float32 before and back after it; a scalar body takes every float",
            )
