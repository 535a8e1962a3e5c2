"""Bulk copies: large pieces between global and shared memory that a copy engine moves, started by one thread.

Enters: pieces as (global address per element, place in shared memory), and who started them. Leaves: memory, when
somebody waits: of copies to shared memory at their mbarrier, of copies to global memory in the thread's bulk groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pelton.runtime.emulator.errors import InFlight, Uninitialised
from pelton.runtime.emulator.heap import Allocation
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.mbarriers import Mbarrier
from pelton.runtime.emulator.memory import Index, check
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.under_way import Piece, Store, Stores
from pelton.runtime.emulator.values import Array


# ---- to shared memory
def load(machine: Machine, piece: Piece, fill: Array, barrier: int, thread: int, instruction: Instruction) -> None:
    """Starts a copy to shared memory; it counts at the mbarrier with all its bytes."""
    one = machine.mbarriers.for_copy(barrier, thread)
    data = np.broadcast_to(fill, piece.at.shape).copy()
    data[piece.inside] = _read(machine, piece.address[piece.inside], piece.size, thread)
    chunks = piece.chunks()
    threads, block = np.full(chunks.size, thread), np.full(chunks.size, machine.cta[thread])
    number = machine.flight.name(instruction)
    machine.flight.check(chunks, 16, threads, write=True)
    if machine.launch.checks.races:
        machine.shared_races.begin_copy(chunks, 16, threads, block)
    machine.flight.start_write(piece.at, number)

    def happen(one: Mbarrier) -> None:
        machine.shared.bytes[piece.at] = data
        machine.flight.end_write(piece.at)
        for part in (0, 8):
            machine.shared.mark(chunks + part, 8)
        if machine.launch.checks.races:
            machine.shared_races.end_copy(chunks, 16, block)
        one.told[-1] = machine.clocks.now[block[0]]
        machine.clocks.tick(block[:1])
        one.bytes -= piece.at.size
        one.settle()

    one.under_way.append(happen)
    machine.events += 1


def _read(machine: Machine, address: Index, size: int, thread: int) -> Array:
    """Elements of global memory, every check made."""
    data = np.zeros((address.size, size), np.uint8)
    for arena, offset, chosen in _parts(machine, address, size, thread):
        who = np.full(offset.size, thread)
        if (known := arena.known(offset, size)) is not None:
            check(Uninitialised, known, who, lambda k, a=arena, o=offset: f"nobody wrote {a.describe(int(o[k]))}")
        machine.note(arena, offset, size, who, write=False)
        data[chosen] = arena.bytes[offset[:, None] + np.arange(size)]
    return data


def _parts(machine: Machine, address: Index, size: int, thread: int) -> list[tuple[Allocation, Index, Any]]:
    if not address.size:
        return []
    parts = machine.launch.memory.parts(address, size, np.full(address.size, thread))
    return [(part.allocation, part.offsets, part.chosen) for part in parts]


# ---- to global memory
def store(machine: Machine, piece: Piece, thread: int, instruction: Instruction, change: Any = None) -> None:
    """Starts a copy to global memory; with `change` a reduction."""
    machine.require_known_to_copies(piece.chunks(), thread)
    machine.flight.start_read(piece.at, machine.flight.name(instruction))
    _parts(machine, piece.address[piece.inside], piece.size, thread)
    one = Store(thread, piece, machine.shared.bytes[piece.at], instruction, change)
    _of(machine, thread).open.append(one)


def _of(machine: Machine, thread: int) -> Stores:
    return machine.stores.setdefault(thread, Stores())


def commit(machine: Machine, thread: int) -> None:
    """What a thread started is a group."""
    stores = _of(machine, thread)
    stores.closed.append(stores.open)
    stores.open = []


def wait(machine: Machine, thread: int, newest: int, *, reads_only: bool) -> None:
    """A thread waits for all groups but so many of the newest, or for their reads of shared memory."""
    stores = _of(machine, thread)
    waited = stores.closed[: max(len(stores.closed) - newest, 0)]
    for one in (s for group in waited for s in group):
        _end_read(machine, one)
        if not reads_only:
            _write(machine, one)
    if not reads_only:
        stores.closed = stores.closed[len(waited) :]


def _end_read(machine: Machine, one: Store) -> None:
    if one.reading:
        one.reading = False
        machine.flight.end_read(one.piece.at)
        machine.note_shared_read(one.piece.chunks(), one.thread)


def _write(machine: Machine, one: Store) -> None:
    piece, data, joins = one.piece, one.data[one.piece.inside], one.change is not None
    machine.events += 1
    for arena, offset, chosen in _parts(machine, piece.address[piece.inside], piece.size, one.thread):
        machine.note(arena, offset, piece.size, np.full(offset.size, one.thread), write=True, strong=joins)
        at = offset[:, None] + np.arange(piece.size)
        arena.bytes[at] = one.change(arena.bytes[at], data[chosen]) if joins else data[chosen]
        arena.mark(offset, piece.size)


# ---- the end
def finish(machine: Machine) -> None:
    """All threads have ended: no copy may still use their block's memory."""
    for one in machine.mbarriers.left():
        count = len(one.under_way)
        raise InFlight(f"a block ends while {count} copies or arrivals are under way at an mbarrier: nobody waits")
    for stores in machine.stores.values():
        for one in (s for group in (*stores.closed, stores.open) for s in group):
            if one.reading:
                name = machine.name(one.thread)
                raise InFlight(f"{one.instruction.where()}: {name} ends while its copy still reads shared memory")
            _write(machine, one)
