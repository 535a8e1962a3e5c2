"""Bulk copies and products that are under way: plain data. bulk.py and warpgroups.py act on it.

Enters and leaves: pieces of memory, and per thread or warpgroup what it started, committed and has not waited for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pelton.runtime.emulator.memory import Index
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.values import Array


class Piece(NamedTuple):
    """Elements in global memory and the bytes [elements, size] in shared memory (arena offsets) that are theirs.
    Elements that are not `inside` are filled, or not stored."""

    address: Index
    inside: Array
    at: Array

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.at.shape[1]

    def chunks(self) -> Index:
        """The 16-byte pieces of shared memory it covers, by their first bytes."""
        return np.unique(self.at.reshape(-1) // 16) * 16


@dataclass(slots=True)
class Store:
    """A copy to global memory: its data, how it joins what is there, and whether shared memory is still read."""

    thread: int
    piece: Piece
    data: Array
    instruction: Instruction
    change: Any
    reading: bool = True


@dataclass(slots=True)
class Stores:
    """A thread's copies to global memory: those in no group yet, then the groups, oldest first."""

    open: list[Store] = field(default_factory=list[Store])
    closed: list[list[Store]] = field(default_factory=list[list[Store]])


@dataclass(slots=True)
class Product:
    """A product under way: the registers it writes, the pieces of shared memory it reads."""

    registers: tuple[int, ...]
    chunks: Array


@dataclass(slots=True)
class Warpgroup:
    """What runs for four warps: products in no group yet, the groups, and the values of accumulators to come."""

    open: list[Product] = field(default_factory=list[Product])
    closed: list[list[Product]] = field(default_factory=list[list[Product]])
    values: dict[int, Array] = field(default_factory=dict[int, Array])
    fenced: bool = False
