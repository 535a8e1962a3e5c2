"""Steps of `cp.async.bulk`, `cp.async.bulk.tensor` and `cp.reduce.async.bulk`.

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step, which starts copies (bulk.py)
or waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pelton.runtime.emulator import bulk as engine
from pelton.runtime.emulator.conversions import GRIDS
from pelton.runtime.emulator.errors import EmulationError, Misaligned, OutOfBounds, UnsupportedInstruction
from pelton.runtime.emulator.half_rules import HALVES, half_of
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.memory import PARAM_WINDOW
from pelton.runtime.emulator.program import Constant, Instruction
from pelton.runtime.emulator.step import MakeReader, MakeWriter, Mask, Reader, Step, address_of, memory_of
from pelton.runtime.emulator.tensor_map import SIZE, TensorMap, box_at, decode, swizzled
from pelton.runtime.emulator.under_way import Piece
from pelton.runtime.emulator.values import TYPES, Array

S32, U32, U64 = TYPES["s32"], TYPES["u32"], TYPES["u64"]
_JOINS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_ONE_BLOCK = 1
"""The mask of blocks in a cluster that there are."""


def bulk(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """The step of any of them."""
    modifiers = instruction.modifiers
    if "prefetch" in modifiers:
        return lambda machine, mask: None
    if "commit_group" in modifiers:
        return _each(engine.commit)
    if "wait_group" in modifiers:
        return _wait(instruction)
    return _tensor(instruction, reader) if "tensor" in modifiers else _linear(instruction, reader)


def _wait(instruction: Instruction) -> Step:
    newest, reads_only = instruction.operands[0], "read" in instruction.modifiers
    assert isinstance(newest, Constant)
    count = int(newest.text, 0)
    return _each(lambda machine, thread: engine.wait(machine, thread, count, reads_only=reads_only))


def _target(instruction: Instruction) -> str:
    """`shared` or `global`: where the data goes."""
    spaces = [m.split("_")[0] for m in instruction.modifiers if m.split("_")[0] in ("shared", "global")]
    if len(spaces) != 2 or spaces == ["global", "global"]:
        raise UnsupportedInstruction(f"`{instruction.text}`: copies go between shared and global memory")
    return spaces[0] if spaces[0] != spaces[1] else "both"


def _multicast(instruction: Instruction, reader: MakeReader, position: int) -> Reader | None:
    if "multicast_cluster" not in instruction.modifiers:
        return None
    return reader(instruction.operands[position], TYPES["u16"])


def _check_blocks(machine: Machine, blocks: Reader | None, thread: int) -> None:
    if blocks is not None and int(_one(machine, blocks, thread)) != _ONE_BLOCK:
        raise EmulationError(thread, "a copy to several blocks of a cluster; here a cluster has one block")


def _one(machine: Machine, read: Reader, thread: int) -> Any:
    return np.broadcast_to(read(machine), (machine.size,))[thread]


def _shared(machine: Machine, address: int, size: int, thread: int, align: int) -> int:
    """The arena offset of a piece of shared memory."""
    if address % align:
        raise Misaligned(thread, f"address {address:#x} of shared memory is no multiple of {align}")
    if not 0 <= address <= machine.shared.size - size:
        raise OutOfBounds(
            thread, f"bytes {address} to {address + size} of {machine.shared.size} bytes of shared memory"
        )
    return int(machine.cta[thread]) * machine.shared.stride


def _each(act: Callable[[Machine, int], None]) -> Step:
    """A step that threads do one after another."""

    def step(machine: Machine, mask: Mask) -> None:
        for thread in np.flatnonzero(mask).tolist():
            act(machine, thread)

    return step


# ---- contiguous pieces
def _linear(instruction: Instruction, reader: MakeReader) -> Step:
    """`cp.async.bulk` of a multiple of 16 bytes."""
    to, of = (address_of(memory_of(instruction, k), reader) for k in (0, 1))
    size, target = reader(instruction.operands[2], U32), _target(instruction)
    if target == "both":
        raise UnsupportedInstruction(f"`{instruction.text}`: between blocks of a cluster")
    barrier = address_of(memory_of(instruction, 3), reader) if target == "shared" else None
    blocks, change = _multicast(instruction, reader, 4), _change(instruction)

    def act(machine: Machine, thread: int) -> None:
        _check_blocks(machine, blocks, thread)
        count, ends = int(_one(machine, size, thread)), [int(_one(machine, a, thread)) for a in (to, of)]
        inner, outer = ends if barrier else reversed(ends)
        if count % 16 or outer % 16:
            raise Misaligned(thread, f"a bulk copy of {count} bytes at address {outer:#x}: both are multiples of 16")
        base = _shared(machine, inner, count, thread, 16)
        place = base + inner + np.arange(count).reshape(-1, 16)
        piece = Piece(outer + 16 * np.arange(count // 16), np.ones(count // 16, np.bool_), place)
        if barrier is None:
            engine.store(machine, _narrowed(piece, 8), thread, instruction, change)
        else:
            at = base + int(_one(machine, barrier, thread))
            engine.load(machine, _narrowed(piece, 8), np.zeros(1, np.uint8), at, thread, instruction)

    return _each(act)


def _narrowed(piece: Piece, size: int) -> Piece:
    """The same piece in smaller elements."""
    parts = piece.size // size
    address = (piece.address[:, None] + size * np.arange(parts)).reshape(-1)
    return Piece(address, np.repeat(piece.inside, parts), piece.at.reshape(-1, size))


# ---- boxes of tensors
def _tensor(instruction: Instruction, reader: MakeReader) -> Step:
    """`cp.async.bulk.tensor`, in tiled mode."""
    modifiers = instruction.modifiers
    if any(m.startswith(("im2col", "tile_")) for m in modifiers):
        raise UnsupportedInstruction(f"`{instruction.text}`: only .tile is emulated")
    loads = _target(instruction) == "shared"
    map_at, other = (memory_of(instruction, k) for k in ((1, 0) if loads else (0, 1)))
    map_address, shared = address_of(map_at, reader), address_of(other, reader)
    coordinates = [reader(c, S32) for c in map_at.coordinates]
    barrier = address_of(memory_of(instruction, 2), reader) if loads else None
    blocks, change = _multicast(instruction, reader, 3), _change(instruction)
    rank = next(int(m[0]) for m in modifiers if m in ("1d", "2d", "3d", "4d", "5d"))

    def act(machine: Machine, thread: int) -> None:
        _check_blocks(machine, blocks, thread)
        map = decode(_tensor_map(machine, int(_one(machine, map_address, thread)), thread), thread)
        if not rank == len(map.sizes) == len(coordinates):
            raise EmulationError(thread, f"a tensor map of {len(map.sizes)} dimensions in a copy of {rank}")
        inner = int(_one(machine, shared, thread))
        piece, base = _box(machine, map, [int(_one(machine, c, thread)) for c in coordinates], inner, thread)
        if barrier is None:
            engine.store(machine, piece, thread, instruction, change)
        else:
            at = base + int(_one(machine, barrier, thread))
            engine.load(machine, piece, _fill(map), at, thread, instruction)

    return _each(act)


def _tensor_map(machine: Machine, address: int, thread: int) -> bytes:
    """The 128 bytes of a tensor map, in global memory or among the parameters."""
    if address % 64:
        raise Misaligned(thread, f"a tensor map at {address:#x}, which is no multiple of 64")
    given = machine.launch.parameters
    if 0 <= (offset := address - PARAM_WINDOW) <= given.size - SIZE:
        return given[offset : offset + SIZE].tobytes()
    part = machine.launch.memory.parts(np.full(1, address), SIZE, np.full(1, thread))[0]
    return part.allocation.bytes[part.offsets[0] : part.offsets[0] + SIZE].tobytes()


def _box(machine: Machine, map: TensorMap, first: list[int], address: int, thread: int) -> tuple[Piece, int]:
    """A box and its place in shared memory, swizzled."""
    box = box_at(map, first)
    count = box.address.size * map.element
    base = _shared(machine, address, count, thread, 128)
    plain = address + np.arange(count).reshape(-1, map.element)
    place = swizzled(plain, map.swizzle)
    if int(place.max()) >= machine.shared.size:
        raise OutOfBounds(thread, f"the swizzle of a box at {address} leaves shared memory")
    return Piece(box.address, box.inside, base + place), base


def _fill(map: TensorMap) -> Array:
    """What stands in place of elements outside the tensor."""
    nan = GRIDS["f16"].nan if map.element == 2 else 0x7FFF_FFFF
    return np.frombuffer((nan if map.nan else 0).to_bytes(map.element, "little"), np.uint8)


# ---- reductions
def _change(instruction: Instruction) -> Callable[[Array, Array], Array] | None:
    """How `cp.reduce.async.bulk` joins bytes; None for plain copies."""
    modifiers = instruction.modifiers
    if modifiers[0] != "reduce":
        return None
    name = next((m for m in modifiers if m in _JOINS), None)
    half = half_of(modifiers)
    if name is None or (half is None and modifiers[-1] not in TYPES and "tensor" not in modifiers):
        raise UnsupportedInstruction(f"`{instruction.text}`")
    if "tensor" in modifiers:
        raise UnsupportedInstruction(f"`{instruction.text}`: the type is the tensor map's, which has none here")
    if half is not None:
        compute: Callable[..., Any] = HALVES[name](("rn", modifiers[-1])).compute
        return lambda old, new: _as(compute(_as(old, np.uint16), _as(new, np.uint16)), np.uint8)
    dtype, join = TYPES[modifiers[-1]].dtype, _JOINS[name]
    return lambda old, new: _as(join(_as(old, dtype), _as(new, dtype)), np.uint8)


def _as(content: Array, dtype: Any) -> Array:
    return np.ascontiguousarray(content).view(dtype)
