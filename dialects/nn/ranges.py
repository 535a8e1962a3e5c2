"""Which elements a slice takes: a start, a stop and a step per axis enter; sizes, what has to hold, and places leave.

Read by `nn.slice`, which takes them out, and `nn.store_slice`, which puts them in. Steps are numbers other than 0.
Going up, 0 ≤ start ≤ stop ≤ size; going down, -1 ≤ stop ≤ start < size, where stop -1 means "down to the first".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn.shapes import at_most, shape_text
from pelton.dialects.op import Index, Requirement, Sizes
from pelton.dialects.types import DimsAttr

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars


@dataclass(frozen=True)
class Ranges:
    """Start, start + step, … before stop, along each axis of `shape`."""

    starts: tuple[Dim, ...]
    stops: tuple[Dim, ...]
    steps: tuple[int, ...]
    shape: tuple[Dim, ...]

    @classmethod
    def of(cls, op: str, starts: DimsAttr, stops: DimsAttr, steps: DimsAttr, shape: tuple[Dim, ...]) -> Ranges:
        """The properties of an op. Raises VerifyException where they do not fit `shape` for any size of its symbols."""
        numbers = tuple(d for d in steps.data if isinstance(d, int))
        for name, values in (("starts", starts.data), ("stops", stops.data), ("steps", numbers)):
            if len(values) != len(shape):
                raise VerifyException(
                    f"'{op}' expects {len(shape)} {name} for {shape_text(shape)}, got {shape_text(values)}"
                )
        if 0 in numbers:
            raise VerifyException(f"'{op}' expects steps other than 0, got {shape_text(steps.data)}")
        ranges = cls(starts.data, stops.data, numbers, shape)
        for rule in ranges.rules():
            if isinstance(low := rule.lhs, int) and isinstance(high := rule.rhs, int) and low > high:
                raise VerifyException(f"'{op}' expects {rule.message}, got {low} > {high}")
        return ranges

    def sizes(self) -> list[Dim]:
        """How many elements it takes along each axis."""
        found: list[Dim] = []
        for start, stop, step in zip(self.starts, self.stops, self.steps, strict=True):
            distance = dims.sub(stop, start) if step > 0 else dims.sub(start, stop)
            found.append(dims.ceildiv(distance, abs(step)))
        return found

    def rules(self) -> list[Requirement]:
        """What starts and stops keep to, as low ≤ high."""
        rules: list[Requirement] = []
        rows = zip(self.starts, self.stops, self.steps, self.shape, strict=True)
        for axis, (start, stop, step, size) in enumerate(rows):
            low, high, floor, limit = (start, stop, 0, size) if step > 0 else (stop, start, -1, dims.sub(size, 1))
            words = "0 ≤ start ≤ stop ≤ size" if step > 0 else "-1 ≤ stop ≤ start < size"
            for x, y in ((floor, low), (low, high), (high, limit)):
                where = f"along axis {axis} of {shape_text(self.shape)}"
                if not (isinstance(start, int) and isinstance(stop, int)):
                    where += f", with start {start} and stop {stop}"
                rules.append(Requirement("le", x, y, f"{words} {where}"))
        return rules

    def requires(self) -> list[Requirement]:
        """The rules that depend on sizes of a run."""
        return [r for r in self.rules() if not at_most(r.lhs, r.rhs)]

    def places(self, sizes: Sizes) -> tuple[Any, ...]:
        """The index that NumPy takes."""
        from pelton.dialects.nn import reference

        starts, stops = reference.sizes_of(self.starts, sizes), reference.sizes_of(self.stops, sizes)
        return tuple(
            slice(start, None if stop < 0 else stop, step) if start >= 0 else slice(0, 0)
            for start, stop, step in zip(starts, stops, self.steps, strict=True)
        )

    def index(self, b: Scalars, index: Index) -> list[SSAValue]:
        """Where the element at `index` of the slice stands."""
        rows = zip(index, self.starts, self.steps, strict=True)
        return [b.add(b.dim(start), b.mul(i, b.index(step))) for i, start, step in rows]

    def offset(self) -> Dim | None:
        """How many elements stand before the slice, where its elements are neighbours in memory, row by row."""
        offset: Dim = 0
        stride: Dim = 1
        whole = True
        rows = list(zip(self.starts, self.stops, self.steps, self.shape, self.sizes(), strict=True))
        for start, stop, step, size, count in reversed(rows):
            if not whole and count != 1:
                return None
            if (start, stop, step) != (0, size, 1):
                whole = False
                if step != 1 and count != 1:
                    return None
            offset = dims.add(offset, dims.mul(start, stride))
            stride = dims.mul(stride, size)
        return offset
