"""What one lane of a register holds. A storage type such as "bf16" enters; an `Element` with its LLVM type leaves.

bf16 and f16 are 16 bits without arithmetic; "i1" is a byte in memory and, in registers, a mask ("mask").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pelton.codegen.cpu.seam import ir


@dataclass(frozen=True, eq=False)
class Element:
    """One kind of lane. Compared by identity: there is one object per kind."""

    name: str
    bits: int
    kind: str
    """"float", "int" (signed), "uint" or "mask"."""
    llvm: Any
    code: str
    """The LLVM suffix of overloaded intrinsics, as in `llvm.sqrt.f32`."""

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        return self.kind in ("int", "uint")

    def __repr__(self) -> str:
        return self.name


def _integer(name: str, bits: int, kind: str) -> Element:
    return Element(name, bits, kind, ir.IntType(bits), f"i{bits}")


F32 = Element("f32", 32, "float", ir.FloatType(), "f32")
F64 = Element("f64", 64, "float", ir.DoubleType(), "f64")
F16 = Element("half", 16, "float", ir.HalfType(), "f16")
"""Only between the two ends of a hardware conversion."""
I8, I16, I32, I64 = (_integer(f"i{bits}", bits, "int") for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (_integer(f"u{bits}", bits, "uint") for bits in (8, 16, 32, 64))
I128 = _integer("i128", 128, "uint")
"""Only inside the reduction of huge angles."""
MASK = _integer("mask", 1, "mask")

REGISTERS: dict[str, Element] = {e.name: e for e in (F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, MASK)}
"""Every element a kernel text can hold, by name."""

STORAGE: dict[str, Element] = {
    **{e.name: e for e in (F32, F64, I8, I16, I32, I64, U8, U16, U32, U64)},
    "f16": U16,
    "bf16": U16,
    "i1": U8,
    "index": I64,
}
"""What is loaded from and stored to a buffer of that storage type."""

INTEGER_OF: dict[int, Element] = {8: I8, 16: I16, 32: I32, 64: I64}
"""The signed integer of a width."""
