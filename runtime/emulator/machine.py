"""All threads of a batch of blocks at once: their registers, where each stands, and the memory they see.

Enters: what a launch has in common, and which of its blocks these are. Leaves: state that steps (blocks.py,
access.py) act on under a mask and schedule.py moves forward. Every access is checked here; a refusal names the
instruction and the thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from pelton.runtime.emulator import special
from pelton.runtime.emulator.barriers import Barriers
from pelton.runtime.emulator.clocks import Clocks, SharedTracker
from pelton.runtime.emulator.copy_groups import CopyGroups
from pelton.runtime.emulator.errors import EmulationError, OutOfBounds, Race, Uninitialised, place
from pelton.runtime.emulator.flight import Flight
from pelton.runtime.emulator.heap import Allocation, Global
from pelton.runtime.emulator.mbarriers import Mbarrier, Mbarriers
from pelton.runtime.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    Private,
    check,
    check_aligned,
    gather,
    scatter,
    window_of,
)
from pelton.runtime.emulator.program import Instruction, Program
from pelton.runtime.emulator.races import Tracker
from pelton.runtime.emulator.under_way import Stores, Warpgroup
from pelton.runtime.emulator.values import UNSIGNED, Array, Type


@dataclass(frozen=True, slots=True)
class Checks:
    """What is looked for beside bounds and alignment, which always are."""

    races: bool = True
    uninitialized: bool = True


ALL_CHECKS = Checks()


@dataclass(frozen=True, slots=True)
class Launch:
    """What is the same for every batch."""

    program: Program
    memory: Global
    parameters: Array
    grid: int
    threads: int
    shared: int
    checks: Checks
    races: dict[Allocation, Tracker] = field(default_factory=dict["Allocation", "Tracker"])
    """Of global memory: of the allocations that were touched."""


Place: TypeAlias = tuple[Allocation | Private, Array, Array]
"""Memory, how far into it each access goes, and the threads that make them."""


class Machine:
    """The threads of blocks `first` … `first + count - 1` of a launch."""

    def __init__(self, launch: Launch, first: int, count: int) -> None:
        self.launch, self.first, program = launch, first, launch.program
        self.size = size = launch.threads * count
        self.block = np.zeros(size, np.int64)
        self.waiting, self.asleep = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        self.registers = [np.zeros(size, np.bool_ if r.predicate else UNSIGNED[r.size]) for r in program.registers]
        self.assigned: dict[int, Array] = {}
        """Of the registers that assigned.py watches: which threads have written them."""
        self.thread = np.tile(np.arange(launch.threads), count)
        self.cta = np.repeat(np.arange(count), launch.threads)
        self.lane, self.warp = (self.thread % 32).astype(np.uint32), np.arange(size) // 32
        total = program.shared.size + launch.shared
        self.special = special.fixed(
            special.Position(self.thread, self.cta + first, launch.threads, launch.grid, launch.shared, total)
        )
        self.clocks = Clocks(launch.threads, count)
        self.barriers = Barriers(self.cta, self.clocks, count)
        self.time = 0
        """Basic blocks that were run."""
        self.events, self.events_at_wake = 0, -1
        """How often something happened that a thread may be waiting for."""
        self.awaited: dict[int, tuple[Instruction, str]] = {}
        """What sleeping threads wait for."""
        marked = launch.checks.uninitialized
        self.shared = Private("shared", total, count, marked=marked)
        self.local = Private("local", program.local.size, size, marked=marked)
        self.epoch = np.zeros(count, np.int64)
        self.shared_races = SharedTracker(self.shared.bytes.size, self.clocks)
        self.flight, self.mbarriers = Flight(self.shared), Mbarriers(self.clocks)
        self.stores: dict[int, Stores] = {}
        """Bulk copies to global memory, by the thread that started them."""
        self.warpgroups: dict[int, Warpgroup] = {}
        """Products of four warps, by their first thread."""
        if any(i.stem == "wgmma" or "bulk" in i.modifiers for i in program.instructions):
            self.flight.watch_stores()
        self.groups = CopyGroups(self.flight, self.cta, self.shared_races, launch.checks.races)

    # ---- memory
    def load(self, space: str, address: Array, type: Type, mask: Array, total: int, strong: bool) -> Array:
        """Every masked thread's value; `total` bytes must be aligned and inside (a vector access checks them all at
        first)."""
        out = np.zeros(self.size, type.dtype)
        if space == "param":
            given, at = self.launch.parameters, np.broadcast_to(address, mask.shape)
            inside = ~mask | ((at >= 0) & (at + total <= given.size) & (at % type.size == 0))
            check(OutOfBounds, inside, np.arange(self.size), lambda k: f"byte {int(at[k])} of the parameters")
            out[mask] = gather(given, at[mask], type.dtype)
            return out
        for arena, offset, threads in self.read_places(space, address, mask, type.size, total=total, strong=strong):
            out[threads] = gather(arena.bytes, offset, type.dtype)
        return out

    def store(self, space: str, address: Array, values: Array, mask: Array, total: int, strong: bool) -> None:
        """Stores every masked thread's value."""
        values = np.broadcast_to(values, mask.shape)
        size = values.dtype.itemsize
        for arena, offset, threads in self.write_places(space, address, mask, size, total=total, strong=strong):
            scatter(arena.bytes, offset, values[threads])

    def read_places(
        self, space: str, address: Array, mask: Array, size: int, *, total: int = 0, strong: bool = False
    ) -> list[Place]:
        """Where `size` bytes (at offsets that are multiples of their elements) are read, every check made; `total`: how
        many must be inside and aligned."""
        found = self.places(space, address, mask, total or size)
        for arena, offset, threads in found:
            self._check_flight(arena, offset, size, threads, write=False)
            for part in range(0, size, 8):
                _require_written(arena, offset + part, min(size, 8), threads)
            self.note(arena, offset, size, threads, write=False, strong=strong)
        return found

    def write_places(
        self, space: str, address: Array, mask: Array, size: int, *, total: int = 0, strong: bool = False
    ) -> list[Place]:
        """The same for a write; the bytes count as written from now on."""
        self.events += 1
        found = self.places(space, address, mask, total or size)
        for arena, offset, threads in found:
            self._check_flight(arena, offset, size, threads, write=True)
            self.note(arena, offset, size, threads, write=True, strong=strong)
            for part in range(0, size, 8):
                arena.mark(offset + part, min(size, 8))
            if arena is self.shared:
                self.flight.note_store(offset, size, threads, self.clocks.now[self.cta[threads]])
        return found

    def places(self, space: str, address: Array, mask: Array, size: int) -> list[Place]:
        """Where an access of `size` bytes goes; a generic one may go to several spaces, a global one to several
        allocations."""
        threads = np.flatnonzero(mask)
        if not threads.size:
            return []
        at = np.broadcast_to(address, mask.shape)[threads]
        if space != "generic":
            return self._within(space, at, size, threads)
        windows, found = window_of(at), list[Place]()
        for k, (name, base) in enumerate((("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW))):
            if (here := windows == k).any():
                found += self._within(name, at[here] - base, size, threads[here])
        return found

    def _within(self, space: str, at: Array, size: int, threads: Array) -> list[Place]:
        check_aligned(at, size, threads)
        if space == "global":
            parts = self.launch.memory.parts(at, size, threads)
            return [(part.allocation, part.offsets, threads[part.chosen]) for part in parts]
        private, copy = (self.shared, self.cta) if space == "shared" else (self.local, np.arange(self.size))
        return [(private, private.place(at, size, threads, copy[threads]), threads)]

    def _check_flight(
        self, arena: Allocation | Private, offset: Array, size: int, threads: Array, *, write: bool
    ) -> None:
        if arena is self.shared:
            self.flight.check(offset, size, threads, write=write)

    def note(
        self,
        arena: Allocation | Private,
        offset: Array,
        size: int,
        threads: Array,
        *,
        write: bool,
        strong: bool = False,
    ) -> None:
        """Tells the race detector."""
        if strong or not self.launch.checks.races or arena is self.local:
            return
        if isinstance(arena, Private):
            access = self.shared_races.write if write else self.shared_races.read
            access(offset, size, threads, self.cta[threads])
            return
        if (tracker := self.launch.races.get(arena)) is None:
            tracker = self.launch.races[arena] = Tracker(arena.size, self.launch.threads)
        note, home = tracker.write if write else tracker.read, self.cta[threads]
        note(offset, size, threads + self.first * self.launch.threads, home + self.first, self.epoch[home])

    # ---- threads that meet
    def meet(self, mask: Array) -> None:
        """Threads pass a numbered barrier together (barriers.py has told their warps)."""
        self.epoch[np.unique(self.cta[mask])] += 1

    def arrive(self, mask: Array, number: Array, count: Array) -> None:
        """Threads come to a barrier and go on."""
        self.events += 1
        self.barriers.arrive(mask, number, count)

    def arrive_at(self, one: Mbarrier, thread: int, count: int) -> None:
        """A thread arrives at an mbarrier."""
        block, warp = self.cta[thread : thread + 1], self.thread[thread : thread + 1] // 32
        phase = one.phase
        one.arrive(thread, count, self.clocks.publish(block, warp)[0])
        self.clocks.now[block] += 1
        self._settled(one, thread, phase)

    def is_done(self, one: Mbarrier, thread: int, phase: int, *, parity: bool) -> bool:
        """Whether a phase of an mbarrier is complete; if so the thread's warp knows what was before its arrivals."""
        before, under_way = one.phase, len(one.under_way)
        done = one.is_done(phase, parity=parity)
        if len(one.under_way) != under_way:
            self._settled(one, thread, before)
        if done:
            block, warp = self.cta[thread : thread + 1], self.thread[thread : thread + 1] // 32
            self.clocks.learn(block, warp, one.done[None])
        return done

    def _settled(self, one: Mbarrier, thread: int, before: int) -> None:
        self.events += 1
        if one.phase != before:
            self.epoch[self.cta[thread]] += 1

    def fence_copies(self, mask: Array) -> None:
        """A fence makes what threads wrote, and what they know that others wrote, known to asynchronous operations."""
        self.mbarriers.fence()
        self.flight.fence(np.flatnonzero(mask), self.clocks, self.cta)

    # ---- asynchronous operations that read
    def require_known_to_copies(self, chunks: Array, thread: int) -> None:
        """16-byte pieces of shared memory may be read by an operation that a thread starts."""
        threads, block = np.full(chunks.size, thread), np.full(chunks.size, self.cta[thread])
        self.flight.check(chunks, 16, threads, write=False)
        for part in (0, 8):
            _require_written(self.shared, chunks + part, 8, threads)
        if self.launch.checks.races:
            self.shared_races.after_write(chunks, 16, threads, block)
            self.flight.require_fence(chunks, 16, threads)

    def note_shared_read(self, chunks: Array, thread: int) -> None:
        """Such an operation has read them, and the thread has waited for it."""
        if self.launch.checks.races:
            threads, block = np.full(chunks.size, thread), np.full(chunks.size, self.cta[thread])
            self.shared_races.read(chunks, 16, threads, block)

    def meet_in_warps(self, mask: Array) -> None:
        """Lanes pass `bar.warp.sync` together."""
        first = np.flatnonzero(mask.reshape(-1, 32).any(1)) * 32
        self.clocks.meet_in_warps(self.cta[first], self.thread[first] // 32)

    # ---- errors
    def name(self, thread: int) -> str:
        """`thread 5 of block 2`, of a thread of this batch."""
        return self.global_name(thread + self.first * self.launch.threads)

    def global_name(self, thread: int) -> str:
        """The same by its number in the whole launch."""
        return f"thread {thread % self.launch.threads} of block {thread // self.launch.threads}"

    def located(self, error: EmulationError, instruction: Instruction | None) -> EmulationError:
        """The error with kernel, instruction and thread, and the line that the instruction was made from."""
        text, known = error.message, {"op": f"kernel {self.launch.program.name}"}
        if instruction is not None:
            known |= place(instruction.source)
            if error.thread is not None:
                name = self.global_name(error.thread) if isinstance(error, Race) else self.name(error.thread)
                text = re.sub(r"#(\d+)", lambda m: self.global_name(int(m[1])), text)
                text = f"{instruction.where()}, {name}: {text}"
        return type(error)(text, **(error.details._asdict() | known))


def _require_written(arena: Allocation | Private, offset: Array, size: int, threads: Array) -> None:
    if (known := arena.known(offset, size)) is not None:
        check(Uninitialised, known, threads, lambda k: f"nobody wrote {arena.describe(int(offset[k]))}")
