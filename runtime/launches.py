"""What a run launches, as data. Enters: the words of a program and the values of one call. Leaves: `LaunchRecord`s.

A record serves every target: on a CPU the items of a grid are its blocks. Addresses do not occur: what points into
memory is named by what it points to. A `Recording` is a run that can be made again. Next: `capture.py` keeps such runs,
and compares their launches with those of others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from pelton.program import Arena, Op, Program, instructions
from pelton.runtime.buffer import Buffer
from pelton.support.errors import PeltonError

Grid = tuple[int, int, int]
INPUT, BOUND, OUTPUT, SCRATCH, NUMBER = "input", "bound", "output", "scratch", "number"
COPY = "copy"
"""How the record of a copy of bytes is called: its grid counts them, its arguments are target, source and size."""


class Argument(NamedTuple):
    """One argument of a launch: memory, by what it belongs to and how many bytes after its start, or a number."""

    kind: str
    """INPUT, BOUND (weights, constants, what `init` made), OUTPUT, SCRATCH, or NUMBER."""
    which: int
    """The position among its kind; 0 for SCRATCH and NUMBER."""
    value: int
    """Bytes from the start; of a number, itself."""

    def __str__(self) -> str:
        if self.kind == NUMBER:
            return str(self.value)
        name = self.kind if self.kind == SCRATCH else f"{self.kind} {self.which}"
        return f"{name} + {self.value} bytes" if self.value else name


class LaunchRecord(NamedTuple):
    """A kernel that was started: its name, how many blocks (on a CPU: items) of which size, and with what."""

    kernel: str
    grid: Grid
    arguments: tuple[Argument, ...]
    block: Grid = (1, 1, 1)
    shared_memory: int = 0
    """Bytes per block."""

    def __str__(self) -> str:
        return f"{self.kernel}[{'x'.join(map(str, self.grid))}]({', '.join(map(str, self.arguments))})"


class Recording(NamedTuple):
    """A run that can be made again, on the same memory. It holds outputs and scratch, others hold the inputs.

    Not to be walked by two threads at once.
    """

    outputs: list[Buffer]
    walk: Callable[[], int]
    """Run, and rewrite the outputs: 0, or what `failure` takes."""
    failure: Callable[[int], PeltonError]
    """Why a run stopped. Leaves the recording fit for the next."""
    launches: Callable[[], tuple[LaunchRecord, ...]]
    """What the last run launched."""


class Difference(NamedTuple):
    """Where two traces differ first, and what stands there."""

    place: str
    first: str
    second: str


def launches_of(program: Program, words: Sequence[int], values: Sequence[int], given: int) -> tuple[LaunchRecord, ...]:
    """What walking `words` (the body) launched, from the values it left; the first `given` arguments are inputs."""
    origins = _origins(program, given)

    def argument(slot: int) -> Argument:
        if slot not in origins:
            return Argument(NUMBER, 0, values[slot])
        kind, which, start = origins[slot]
        return Argument(kind, which, values[slot] - values[start])

    records: list[LaunchRecord] = []
    for _, op, operands in instructions(words):
        match op, operands:
            case Op.LAUNCH, (kernel, _, items, _, _, *slots):
                arguments = tuple(argument(slot) for slot in slots)
                records.append(LaunchRecord(program.kernels[kernel], (values[items], 1, 1), arguments))
            case Op.DEVICE_LAUNCH, (_, kernel, _, items, _, *slots):
                arguments = tuple(argument(slot) for slot in slots)
                records.append(LaunchRecord(program.kernels[kernel], (values[items], 1, 1), arguments))
            case (Op.COPY, (target, source, size)) | (Op.TRANSFER, (_, target, _, source, size)):
                arguments = (argument(target), argument(source), argument(size))
                records.append(LaunchRecord(COPY, (values[size], 1, 1), arguments))
            case Op.ADD | Op.SUB, (result, a, b) if a in origins or b in origins:
                origins[result] = origins[a if a in origins else b]
            case _:
                pass
    return tuple(records)


def _origins(program: Program, given: int) -> dict[int, tuple[str, int, int]]:
    """By slot of an address: what it points to, and the slot of where that starts."""
    origins: dict[int, tuple[str, int, int]] = {}
    for number, slot in enumerate(program.arguments):
        origins[slot] = (INPUT, number, slot) if number < given else (BOUND, number - given, slot)
    for number, output in enumerate(program.outputs):
        origins[output.pointer] = (OUTPUT, number, output.pointer)
    if program.arena is not None:
        origins[program.arena.pointer] = (SCRATCH, 0, program.arena.pointer)
    for arena in program.elsewhere:
        if isinstance(arena, Arena):
            origins[arena.pointer] = (SCRATCH, arena.device, arena.pointer)
    return origins


def first_difference(first: Sequence[LaunchRecord], second: Sequence[LaunchRecord]) -> Difference | None:
    """Where two traces part; None where they are equal."""
    for number, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None:
            texts = ("nothing" if record is None else str(record) for record in (one, other))
            return Difference(f"launch {number}", *texts)
        if one != other:
            return _within(f"launch {number} ({one.kernel})", one, other)
    return None


def _within(place: str, one: LaunchRecord, other: LaunchRecord) -> Difference:
    """The first field, or the first argument, in which two records differ."""
    for field, mine, others in zip(one._fields, one, other, strict=True):
        if mine == others:
            continue
        if field != "arguments" or len(one.arguments) != len(other.arguments):
            shown = (len(one.arguments), len(other.arguments)) if field == "arguments" else (mine, others)
            name = "number of arguments" if field == "arguments" else field.replace("_", " ")
            return Difference(f"{place}, {name}", *map(str, shown))
        for number, (left, right) in enumerate(zip(one.arguments, other.arguments, strict=True)):
            if left != right:
                return Difference(f"{place}, argument {number}", str(left), str(right))
    return Difference(place, str(one), str(other))
