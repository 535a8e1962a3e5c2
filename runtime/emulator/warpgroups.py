"""`wgmma`: products that four warps start together and that run beside them, with operands in shared memory.

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step. Accumulators hold a pattern
that is no number until a group is waited for: who reads them too early gets it. Operands in shared memory count as read
until then (flight.py). Layouts are those of the canonical layouts in the document's section on shared memory matrices.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator import fragments, tensor_core
from pelton.runtime.emulator.errors import EmulationError, OutOfBounds, UnsupportedInstruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.program import Constant, Instruction, Register, Several
from pelton.runtime.emulator.step import MakeReader, MakeStep, MakeWriter, Mask, Reader, Step, items
from pelton.runtime.emulator.under_way import Product, Warpgroup
from pelton.runtime.emulator.values import TYPES, Array

_SHAPE = re.compile(r"m64n(\d+)k(\d+)")
_BYTES = 32
"""Of K: every shape is as deep as 32 bytes of elements."""
_SPANS = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes of a row of a swizzled layout, by the descriptor's mode; 16 without one."""
_UNREAD = 0x7FFF_DEAD
U32, U64, PREDICATE = TYPES["u32"], TYPES["u64"], TYPES["pred"]


class Descriptor(NamedTuple):
    """A matrix in shared memory: where it starts, the two strides in bytes, bytes of a swizzled row."""

    start: int
    leading: int
    stride: int
    span: int


def decoded(bits: int, thread: int) -> Descriptor:
    """The fields of a matrix descriptor."""

    def field_at(low: int) -> int:
        return (bits >> low & 0x3FFF) << 4

    if bits >> 49 & 7:
        raise EmulationError(thread, "a matrix descriptor with a base offset is not emulated")
    return Descriptor(field_at(0), field_at(16), field_at(32), _SPANS[bits >> 62])


def addresses(d: Descriptor, rows: int, element: int, *, across: bool) -> Array:
    """Where the elements [rows, depth] of a multiplicand lie in shared memory. `rows` runs along M or N; `across`:
    M- or N-major, else K-major."""
    row, depth = np.arange(rows)[:, None], np.arange(_BYTES // element)[None, :]
    if not across:
        byte = depth * element
        inner = byte // 16 * d.leading + byte % 16 if d.span == 16 else byte
        at = row // 8 * d.stride + row % 8 * d.span + inner
    else:
        byte = row * element
        between = (d.leading, d.stride) if d.span == 16 else (d.stride, d.leading)
        at = depth // 8 * between[0] + depth % 8 * d.span + byte // d.span * between[1] + byte % d.span
    at = at + d.start
    return at ^ ((at >> 7 & d.span // 16 - 1) << 4)


class Operand(NamedTuple):
    """A multiplicand: its elements, and either registers or a descriptor and its major dimension."""

    element: tensor_core.Element
    registers: list[Reader] | None
    descriptor: Reader | None
    across: bool
    negative: bool


# ---- reading multiplicands
def _matrix(machine: Machine, operand: Operand, rows: int, first: int) -> tuple[Array, Array]:
    """Numbers [rows, depth] of a multiplicand of the warpgroup of thread `first`, and the pieces of shared memory."""
    if operand.descriptor is None:
        return _from_registers(machine, operand, first), np.zeros(0, np.int64)
    given = np.broadcast_to(operand.descriptor(machine), (machine.size,))[first : first + 128]
    if (given != given[0]).any():
        raise EmulationError(
            first + int(np.argmax(given != given[0])), "a matrix descriptor that is not the warpgroup's"
        )
    size = operand.element.dtype.itemsize
    at = addresses(decoded(int(given[0]), first), rows, size, across=operand.across)
    if int(at.max()) + size > machine.shared.size:
        raise OutOfBounds(
            first, f"a matrix up to byte {int(at.max()) + size} of {machine.shared.size} of shared memory"
        )
    at = at + int(machine.cta[first]) * machine.shared.stride
    chunks = np.unique(at // 16) * 16
    for warp in range(4):
        machine.require_known_to_copies(chunks, first + 32 * warp)
    bits = machine.shared.bytes.view(operand.element.dtype)[at // size]
    return operand.element.numbers(bits), chunks


def _from_registers(machine: Machine, operand: Operand, first: int) -> Array:
    assert operand.registers is not None
    columns = [np.broadcast_to(r(machine), (machine.size,))[first : first + 128] for r in operand.registers]
    registers = np.stack(columns, -1).reshape(4, 32, -1)
    layout = fragments.first(16, _BYTES // operand.element.dtype.itemsize, operand.element.bits)
    bits = fragments.assemble(tensor_core.unpacked(registers, operand.element.dtype), layout)
    return operand.element.numbers(bits).reshape(64, -1)


def _firsts(machine: Machine, mask: Mask) -> list[int]:
    """The first threads of the warpgroups that are here."""
    return np.flatnonzero(mask & (machine.thread % 128 == 0)).tolist()


def _of(machine: Machine, first: int) -> Warpgroup:
    return machine.warpgroups.setdefault(first, Warpgroup())


# ---- wgmma.mma_async
class Form(NamedTuple):
    """The operands of an instruction."""

    columns: int
    kind: str
    registers: tuple[Register, ...]
    a: Operand
    b: Operand
    keep: Reader
    finite: bool


def _form(instruction: Instruction, reader: MakeReader) -> Form:
    modifiers, operands = instruction.modifiers, instruction.operands
    shape = next((m for m in map(_SHAPE.fullmatch, modifiers) if m), None)
    kind, *inputs = modifiers[-3:]
    a, b = (tensor_core.element(name) for name in inputs)
    columns, depth = (int(g) for g in shape.groups()) if shape else (0, 0)
    if columns % 8 or not 8 <= columns <= 256 or depth * a.dtype.itemsize != _BYTES or "sp" in modifiers:
        raise UnsupportedInstruction(f"wgmma.{'.'.join(modifiers)}")
    signs = [int(o.text, 0) for o in operands[4:] if isinstance(o, Constant)]
    from_registers = isinstance(operands[1], Several)
    turns = [0] * from_registers + signs[2:]
    turns += [0] * (2 - len(turns))
    left = Operand(
        a,
        [reader(o, U32) for o in items(operands[1])] if from_registers else None,
        None if from_registers else reader(operands[1], U64),
        bool(turns[0]),
        signs[:1] == [-1],
    )
    right = Operand(b, None, reader(operands[2], U64), bool(turns[1]), signs[1:2] == [-1])
    registers = tuple(o for o in items(operands[0]) if isinstance(o, Register))
    needed = 64 * columns * tensor_core.result_dtype(kind).itemsize // 512
    if len(registers) != needed:
        raise UnsupportedInstruction(f"`{instruction.text}`: {len(registers)} registers, the accumulator has {needed}")
    return Form(columns, kind, registers, left, right, reader(operands[3], PREDICATE), "satfinite" in modifiers)


def _multiply(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """D = A·B, or + D; the result is there when its group is waited for."""
    form = _form(instruction, reader)

    def act(machine: Machine, mask: Mask) -> None:
        for first in _firsts(machine, mask):
            _start(machine, form, first, instruction)

    return act


def _start(machine: Machine, form: Form, first: int, instruction: Instruction) -> None:
    group = _of(machine, first)
    if not group.fenced:
        raise EmulationError(first, "no wgmma.fence before the first product of the warpgroup")
    a, at_a = _matrix(machine, form.a, 64, first)
    b, at_b = _matrix(machine, form.b, form.columns, first)
    total = (-a if form.a.negative else a) @ (-b if form.b.negative else b).T
    threads, layout = slice(first, first + 128), fragments.result(16, form.columns)
    store = tensor_core.result_dtype(form.kind)
    if np.broadcast_to(form.keep(machine), (machine.size,))[first]:
        indices = [r.index for r in form.registers]
        held = np.stack([group.values.get(k, machine.registers[k][threads]) for k in indices], -1)
        before = tensor_core.unpacked(held.reshape(4, 32, -1), store)
        total = total + fragments.assemble(tensor_core.sums(form.kind, before), layout).reshape(64, -1)
    parts = fragments.distribute(total.reshape(4, 16, -1), layout)
    bits = np.ascontiguousarray(tensor_core.result_bits(form.kind, parts, finite=form.finite))
    registers = bits.astype(store).view(np.uint32).reshape(128, -1)
    for k, register in enumerate(form.registers):
        group.values[register.index] = registers[:, k]
        machine.registers[register.index][threads] = _UNREAD
    chunks = np.concatenate([at_a, at_b])
    machine.flight.start_read(chunks[:, None] + np.arange(16), machine.flight.name(instruction))
    group.open.append(Product(tuple(r.index for r in form.registers), chunks))


# ---- fence, commit, wait
def _each_group(act: Callable[[Machine, Warpgroup, int], None]) -> Step:
    def step(machine: Machine, mask: Mask) -> None:
        for first in _firsts(machine, mask):
            act(machine, _of(machine, first), first)

    return step


def _fence(machine: Machine, group: Warpgroup, first: int) -> None:
    group.fenced = True


def _commit(machine: Machine, group: Warpgroup, first: int) -> None:
    group.closed.append(group.open)
    group.open = []


def _wait(newest: int) -> Callable[[Machine, Warpgroup, int], None]:
    def act(machine: Machine, group: Warpgroup, first: int) -> None:
        done = group.closed[: max(len(group.closed) - newest, 0)]
        group.closed = group.closed[len(done) :]
        running = {r for products in (*group.closed, group.open) for p in products for r in p.registers}
        for product in (p for products in done for p in products):
            machine.flight.end_read(product.chunks[:, None] + np.arange(16))
            for warp in range(4):
                machine.note_shared_read(product.chunks, first + 32 * warp)
        for register in [r for r in group.values if r not in running]:
            machine.registers[register][first : first + 128] = group.values.pop(register)

    return act


def _wgmma(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    match instruction.modifiers[0]:
        case "fence":
            return _each_group(_fence)
        case "commit_group":
            return _each_group(_commit)
        case "wait_group":
            newest = instruction.operands[0]
            assert isinstance(newest, Constant)
            return _each_group(_wait(int(newest.text, 0)))
        case _:
            return _multiply(instruction, reader, writer)


STEPS: dict[str, MakeStep] = {"wgmma": _wgmma}
