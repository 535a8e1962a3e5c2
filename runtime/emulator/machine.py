"""All threads of a batch of blocks at once: their registers, where each stands, and the memory they see.

Enters: what a launch has in common, and which of its blocks these are. Leaves: state that steps (blocks.py,
access.py) act on under a mask and schedule.py moves forward. Every access is checked here; a refusal names the
instruction and the thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pelton.runtime.emulator.errors import EmulationError, Race
from pelton.runtime.emulator.link import Instruction, Program
from pelton.runtime.emulator.memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    Global,
    Private,
    check_aligned,
    gather,
    scatter,
    window_of,
)
from pelton.runtime.emulator.races import Tracker
from pelton.runtime.emulator.values import UNSIGNED, Array, Type


@dataclass(frozen=True, slots=True)
class Launch:
    """What is the same for every batch."""

    program: Program
    memory: Global
    parameters: Array
    grid: int
    threads: int
    shared: int
    races: Tracker | None


class Machine:
    """The threads of blocks `first` … `first + count - 1` of a launch."""

    def __init__(self, launch: Launch, first: int, count: int) -> None:
        self.launch, self.first, program = launch, first, launch.program
        self.size = size = launch.threads * count
        self.block = np.zeros(size, np.int64)
        self.waiting, self.asleep = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        self.registers = [np.zeros(size, np.bool_ if r.predicate else UNSIGNED[r.size]) for r in program.registers]
        self.thread = np.tile(np.arange(launch.threads), count)
        self.cta = np.repeat(np.arange(count), launch.threads)
        self.lane, self.warp = (self.thread % 32).astype(np.uint32), np.arange(size) // 32
        self.special = self._special(first, program.shared.size + launch.shared)
        self.shared = Private("shared", program.shared.size + launch.shared, count)
        self.local = Private("local", program.local.size, size)
        self.epoch = np.zeros(count, np.int64)
        self.shared_races = Tracker(self.shared.bytes.size) if launch.races else None

    def _special(self, first: int, shared: int) -> dict[str, Array]:
        launch, size = self.launch, self.size
        values = {
            "%tid.x": self.thread,
            "%ctaid.x": self.cta + first,
            "%ntid.x": launch.threads,
            "%nctaid.x": launch.grid,
        }
        values |= {f"%{n}.{axis}": 0 for n in ("tid", "ctaid") for axis in "yz"}
        values |= {f"%{n}.{axis}": 1 for n in ("ntid", "nctaid") for axis in "yz"}
        values |= {"%laneid": self.lane, "%warpid": self.thread // 32, "%nwarpid": -(-launch.threads // 32)}
        values |= {"%dynamic_smem_size": launch.shared, "%total_smem_size": shared}
        return {name: np.full(size, v, np.uint32) for name, v in values.items()}

    # ---- memory
    def load(self, space: str, address: Array, type: Type, mask: Array, total: int, strong: bool) -> Array:
        """Every masked thread's value; `total` bytes must be aligned and inside (a vector access checks them all at
        first)."""
        out = np.zeros(self.size, type.dtype)
        if space == "param":
            out[:] = gather(self.launch.parameters, address, type.dtype)
            return out
        for where, threads, at in self._places(space, address, mask):
            arena, offset = self._place(where, at, total, threads)
            if isinstance(arena, Private):
                arena.require_written(offset, type.size, threads)
            self._note(where, offset, type.size, threads, strong, write=False)
            out[threads] = gather(arena.bytes, offset, type.dtype)
        return out

    def store(self, space: str, address: Array, values: Array, mask: Array, total: int, strong: bool) -> None:
        """Stores every masked thread's value."""
        values = np.broadcast_to(values, mask.shape)
        size = values.dtype.itemsize
        for where, threads, at in self._places(space, address, mask):
            arena, offset = self._place(where, at, total, threads)
            self._note(where, offset, size, threads, strong, write=True)
            scatter(arena.bytes, offset, values[threads])
            if isinstance(arena, Private):
                for k in range(size):
                    arena.written[offset + k] = True

    def _places(self, space: str, address: Array, mask: Array) -> list[tuple[str, Array, Array]]:
        """(space, threads, addresses in it); a generic access may go to several."""
        threads = np.flatnonzero(mask)
        at = np.broadcast_to(address, mask.shape)[threads]
        if space != "generic":
            return [(space, threads, at)] if threads.size else []
        windows = window_of(at)
        bases = (("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW))
        return [
            (n, threads[windows == k], at[windows == k] - b) for k, (n, b) in enumerate(bases) if (windows == k).any()
        ]

    def _place(self, space: str, at: Array, size: int, threads: Array) -> tuple[Global | Private, Array]:
        check_aligned(at, size, threads)
        if space == "global":
            return self.launch.memory, self.launch.memory.place(at, size, threads)
        private, copy = (self.shared, self.cta) if space == "shared" else (self.local, np.arange(self.size))
        return private, private.place(at, size, threads, copy[threads])

    def _note(self, space: str, offset: Array, size: int, threads: Array, strong: bool, *, write: bool) -> None:
        tracker = {"global": self.launch.races, "shared": self.shared_races}.get(space)
        if tracker is None or strong:
            return
        note = tracker.write if write else tracker.read
        ids = threads + self.first * self.launch.threads
        note(offset, size, ids, self.cta[threads] + self.first, self.epoch[self.cta[threads]])

    # ---- errors
    def name(self, thread: int) -> str:
        """`thread 5 of block 2`, of a thread of this batch."""
        return self.global_name(thread + self.first * self.launch.threads)

    def global_name(self, thread: int) -> str:
        """The same by its number in the whole launch."""
        return f"thread {thread % self.launch.threads} of block {thread // self.launch.threads}"

    def located(self, error: EmulationError, instruction: Instruction) -> EmulationError:
        """The error with the instruction and the thread in its message. (Raised as error(thread, text) deeper down.)"""
        if len(error.args) != 2:
            return error
        thread, text = error.args
        name = self.global_name(thread) if isinstance(error, Race) else self.name(thread)
        text = re.sub(r"#(\d+)", lambda m: self.global_name(int(m[1])), text)
        return type(error)(f"{instruction.where()}, {name}: {text}")
