"""Marks: the times that a walk noted, and what becomes of them.

Enters: a program with MARK instructions (`passes/insert_marks.py`), and the walker that runs it. Leaves: a span per
pair of marks, in every recording that is open around the call (`support/trace.py`); with a launch, how many bytes it
moves and how many operations its product takes. Where a plan is walked in Python, marks are ranges of NVTX as well, if
the package `nvtx` is installed: a compiled walk calls no Python, and a CPU has no timeline that NVTX would add to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

from pelton.program import LAUNCHES, Cost, Op, Program, evaluated, has_marks, instructions
from pelton.runtime.launches import Recording
from pelton.runtime.walker import NS, Code, Frame, Walker
from pelton.support import trace
from pelton.support.chrome import Span

T = TypeVar("T")


class Mark(NamedTuple):
    """A pair of marks: what lies between them, where both times are kept, what the launch between them costs."""

    name: str
    kind: str
    begin: int
    end: int
    cost: Cost | None


def is_detailed(program: Program) -> bool:
    """Whether the whole of it is marked, and so should be the call around it."""
    return any(mark.kind == "walk" for mark in marks_of(program))


def marks_of(program: Program) -> list[Mark]:
    """The pairs, in the order in which they end."""
    found: list[Mark] = []
    open_marks: dict[int, tuple[int, int, int]] = {}
    launches = copies = 0
    for _, op, operands in instructions(program.body):
        launches += op in LAUNCHES
        copies += op in (Op.COPY, Op.TRANSFER)
        match op, operands:
            case Op.MARK, (pair, site, 0):
                open_marks[site] = pair, launches, copies
            case Op.MARK, (pair, site, _):
                begin, before, copied = open_marks.pop(site)
                kind = KINDS.get((launches - before, copies - copied), "walk")
                cost = program.costs[before] if kind == "launch" and program.costs else None
                found.append(Mark(program.sites[site].message, kind, begin, pair, cost))
            case _:
                pass
    return found


KINDS = {(1, 0): "launch", (0, 1): "copy"}
"""What a pair of marks is about, by the launches and copies between them."""


class MarkedWalker:
    """Lets `walker` run the program, and hands on what it noted; safe from any thread."""

    def __init__(self, walker: Walker, program: Program, title: str, ranges: NvtxRanges | None = None) -> None:
        self._walker = walker
        self._title = title
        self._marks = marks_of(program)
        self._ranges = ranges

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        return partial(self._walk, self._walker.bind(code, frame), frame)

    def _walk(self, run: Callable[[], int], frame: Frame) -> int:
        begun = time.perf_counter_ns()
        try:
            return run()
        finally:
            if self._ranges is not None:
                self._ranges.close()
            if trace.listening():
                trace.add_spans(self._spans(frame.values, begun))

    def _spans(self, values: Sequence[int], begun: int) -> Iterator[Span]:
        """Of marks that this walk reached; the other slots hold what an earlier one noted."""
        thread = threading.get_native_id()
        for mark in self._marks:
            begin, end = (values[slot] * NS + values[slot + 1] for slot in (mark.begin, mark.end))
            if begun <= begin <= end:
                facts: dict[str, object] = {"model": self._title}
                if mark.cost is not None:
                    facts |= _amounts(mark.cost, values)
                yield Span(mark.name, mark.kind, begin, end, thread, facts)


def _amounts(cost: Cost, values: Sequence[int]) -> dict[str, object]:
    """No rates, which follow from the duration: viewers take launches together whose facts are equal."""
    amounts = {"bytes": evaluated(cost.bytes, values), "flops": evaluated(cost.flops, values)}
    return {name: amount for name, amount in amounts.items() if amount}


def with_calls(
    program: Program, name: str, run: Callable[..., T], record: Callable[..., Recording]
) -> tuple[Callable[..., T], Callable[..., Recording]]:
    """`run` and `record` of a model, with a span around each call where the whole of its program is marked."""
    if not is_detailed(program):
        return run, record
    return spanned(run, f"execute {name}"), spanned_replays(record, f"replay {name}")


def spanned(run: Callable[..., T], name: str) -> Callable[..., T]:
    """`run`, with a span around each call."""

    def call(*args: Any) -> T:
        begun = time.perf_counter_ns()
        try:
            return run(*args)
        finally:
            trace.add_spans([Span(name, "call", begun, time.perf_counter_ns(), threading.get_native_id(), {})])

    return call


def spanned_replays(record: Callable[..., Recording], name: str) -> Callable[..., Recording]:
    """`record`, with a span around each walk of what it gives."""

    def call(*args: Any) -> Recording:
        recording = record(*args)
        return recording._replace(walk=spanned(recording.walk, name))

    return call


class NvtxRanges:
    """Marks of a Python walk as nested ranges of the thread, in the domain `pelton`."""

    def __init__(self, names: Sequence[str], nvtx: Any) -> None:
        self._names = names
        self._nvtx = nvtx
        self._open = threading.local()

    @classmethod
    def of(cls, program: Program) -> NvtxRanges | None:
        """None where the package is not installed, or there is nothing to tell."""
        if not has_marks(program) or find_spec("nvtx") is None:
            return None
        return cls([site.message for site in program.sites], import_module("nvtx"))

    def at(self, site: int, edge: int) -> None:
        """A mark was reached."""
        depth = getattr(self._open, "depth", 0)
        if edge == 0:
            self._nvtx.push_range(self._names[site], domain="pelton")
        else:
            self._nvtx.pop_range(domain="pelton")
        self._open.depth = depth + (1 if edge == 0 else -1)

    def close(self) -> None:
        """End what a walk that stopped early left open."""
        for _ in range(getattr(self._open, "depth", 0)):
            self._nvtx.pop_range(domain="pelton")
        self._open.depth = 0
