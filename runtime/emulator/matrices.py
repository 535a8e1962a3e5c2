"""Steps of the instructions on matrices that a warp holds: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step. Whole warps are there when it
runs (meeting.py). Layouts are fragments.py's, numbers tensor_core.py's.
"""

from __future__ import annotations

import re

import numpy as np

from pelton.runtime.emulator import fragments, tensor_core
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.step import (
    MakeReader,
    MakeStep,
    MakeWriter,
    Mask,
    Reader,
    Step,
    Writer,
    address_of,
    items,
    memory_of,
    space_of,
)
from pelton.runtime.emulator.values import TYPES, UNSIGNED, Array

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_DEPTHS = {
    "f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), "s8": (16, 32), "u8": (16, 32), "e4m3": (16, 32),
    "e5m2": (16, 32), "f64": (4, 8, 16),
}  # fmt: skip
"""By type: the depths of the shapes with 16 rows."""
_SMALL = {("s8", 16), ("u8", 16), ("f64", 4)}
"""Types and depths of the shapes with 8 rows."""
U32 = TYPES["u32"]


def gathered(machine: Machine, reads: list[Reader], warps: Array) -> Array:
    """Registers of whole warps: [warps, 32, registers]."""
    columns = [np.broadcast_to(read(machine), (machine.size,)).reshape(-1, 32)[warps] for read in reads]
    return np.stack(columns, -1)


def scattered(machine: Machine, writes: list[Writer], registers: Array, warps: Array, mask: Mask) -> None:
    """Gives each register of [warps, 32, registers] back."""
    for k, write in enumerate(writes):
        full = np.zeros((machine.size // 32, 32), registers.dtype)
        full[warps] = registers[:, :, k]
        write(machine, full.reshape(-1), mask)


def warps_of(mask: Mask) -> Array:
    """The numbers of the warps that are here."""
    return np.flatnonzero(mask[::32])


def _multiply(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`mma.sync`: D = A·B + C by each warp."""
    modifiers = instruction.modifiers
    kind_d, kind_a, kind_b, kind_c = modifiers[-4:]
    rows, columns, depth = _shape(modifiers, kind_a)
    finite, a, b = "satfinite" in modifiers, tensor_core.element(kind_a), tensor_core.element(kind_b)
    layout_a, layout_b = fragments.first(rows, depth, a.bits), fragments.second(depth, columns, b.bits)
    layout_c = fragments.result(rows, columns)
    store, fetch = tensor_core.result_dtype(kind_d), tensor_core.result_dtype(kind_c)
    writes = [writer(o) for o in items(instruction.operands[0])]
    register = TYPES["b64" if kind_a == "f64" else "b32"]
    reads_a, reads_b, reads_c = ([reader(o, register) for o in items(g)] for g in instruction.operands[1:4])
    _count(instruction, [(reads_a, layout_a, a.bits), (reads_b, layout_b, b.bits)])

    def act(machine: Machine, mask: Mask) -> None:
        warps = warps_of(mask)
        left, right, start = (gathered(machine, r, warps) for r in (reads_a, reads_b, reads_c))
        x = fragments.assemble(a.numbers(tensor_core.unpacked(left, a.dtype)), layout_a)
        y = fragments.assemble(b.numbers(tensor_core.unpacked(right, b.dtype)), layout_b)
        c = fragments.assemble(tensor_core.sums(kind_c, tensor_core.unpacked(start, fetch)), layout_c)
        total = fragments.distribute(x @ y + c, layout_c)
        bits = np.ascontiguousarray(tensor_core.result_bits(kind_d, total, finite=finite))
        registers = bits.astype(store).view(UNSIGNED[max(store.itemsize, 4)])
        scattered(machine, writes, registers, warps, mask)

    return act


def _shape(modifiers: tuple[str, ...], kind: str) -> tuple[int, int, int]:
    match = next((m for m in map(_SHAPE.fullmatch, modifiers) if m), None)
    rows, columns, depth = (int(g) for g in match.groups()) if match else (0, 0, 0)
    good = (rows == 16 and depth in _DEPTHS.get(kind, ())) or (rows == 8 and (kind, depth) in _SMALL)
    if not good or columns != 8 or modifiers[3:5] != ("row", "col"):
        raise UnsupportedInstruction(f"mma.{'.'.join(modifiers)}")
    return rows, columns, depth


def _count(instruction: Instruction, groups: list[tuple[list[Reader], fragments.Fragment, int]]) -> None:
    for reads, layout, bits in groups:
        if (needed := layout.row.shape[1] * bits // max(bits, 32)) != len(reads):
            raise UnsupportedInstruction(f"`{instruction.text}`: {len(reads)} registers, a fragment has {needed}")


# ---- 8 × 8 matrices of 16 bits
def _rows(machine: Machine, count: int, address: Array, warps: Array) -> tuple[Array, Mask]:
    """Which lanes give the addresses of rows (8 for each matrix), and a check that those addresses are there."""
    givers = np.zeros((machine.size // 32, 32), np.bool_)
    givers[warps, : 8 * count] = True
    return np.broadcast_to(address, (machine.size,)), givers.reshape(-1)


def _matrices(instruction: Instruction) -> int:
    if not {"m8n8", "b16"} <= set(instruction.modifiers):
        raise UnsupportedInstruction(f"{instruction.stem}.{'.'.join(instruction.modifiers)}")
    return next(int(m[1]) for m in instruction.modifiers if m in ("x1", "x2", "x4"))


def _load(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`ldmatrix`: lanes 8j … 8j+7 give the rows of matrix j; each lane gets two neighbours of each matrix."""
    count, memory, across = _matrices(instruction), memory_of(instruction, 1), "trans" in instruction.modifiers
    space, address = space_of(instruction, memory), address_of(memory, reader)
    writes = [writer(o) for o in items(instruction.operands[0])]

    def act(machine: Machine, mask: Mask) -> None:
        warps = warps_of(mask)
        at, givers = _rows(machine, count, address(machine), warps)
        content = np.zeros((machine.size, 16), np.uint8)
        for arena, offset, threads in machine.read_places(space, at, givers, 16):
            content[threads] = arena.bytes[offset[:, None] + np.arange(16)]
        rows = content.view(np.uint16).reshape(-1, 32, 8)[warps, : 8 * count].reshape(-1, count, 8, 8)
        rows = rows.transpose(0, 1, 3, 2) if across else rows
        registers = np.ascontiguousarray(rows).view(np.uint32).reshape(-1, count, 32).transpose(0, 2, 1)
        scattered(machine, writes, registers, warps, mask)

    return act


def _store(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`stmatrix`: the same way back."""
    count, memory, across = _matrices(instruction), memory_of(instruction, 0), "trans" in instruction.modifiers
    space, address = space_of(instruction, memory), address_of(memory, reader)
    reads = [reader(o, U32) for o in items(instruction.operands[1])]

    def act(machine: Machine, mask: Mask) -> None:
        warps = warps_of(mask)
        at, givers = _rows(machine, count, address(machine), warps)
        registers = np.ascontiguousarray(gathered(machine, reads, warps).transpose(0, 2, 1))
        rows = registers.view(np.uint16).reshape(-1, count, 8, 8)
        rows = np.ascontiguousarray(rows.transpose(0, 1, 3, 2) if across else rows)
        content = np.zeros((machine.size // 32, 32, 16), np.uint8)
        content[warps, : 8 * count] = rows.view(np.uint8).reshape(-1, 8 * count, 16)
        content = content.reshape(-1, 16)
        for arena, offset, threads in machine.write_places(space, at, givers, 16):
            arena.bytes[offset[:, None] + np.arange(16)] = content[threads]

    return act


def _transpose(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`movmatrix.trans`: across the warp, without memory."""
    write, read = writer(instruction.operands[0]), reader(instruction.operands[1], U32)

    def act(machine: Machine, mask: Mask) -> None:
        warps = warps_of(mask)
        rows = np.ascontiguousarray(gathered(machine, [read], warps)[:, :, 0]).view(np.uint16).reshape(-1, 8, 8)
        turned = np.ascontiguousarray(rows.transpose(0, 2, 1)).view(np.uint32).reshape(-1, 32, 1)
        scattered(machine, [write], turned, warps, mask)

    return act


STEPS: dict[str, MakeStep] = {"mma": _multiply, "ldmatrix": _load, "stmatrix": _store, "movmatrix": _transpose}
