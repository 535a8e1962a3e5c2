"""How long each kernel took, told after each walk: what `PELTON_DEBUG=2` puts in the place of the native walker.

Enters: the kernels of a program, and what their launches have to do. Leaves: the same results, and a table on stderr:
per kernel its time, the bytes it moved and the operations of products per second. A time holds the call from Python,
one or two microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pelton.program import Program, evaluated
from pelton.runtime.walker import Code, Frame, Kernel, OnMark, PythonWalker
from pelton.support import knobs, trace


@dataclass
class Total:
    """All launches of one kernel in one walk."""

    launches: int = 0
    nanoseconds: int = 0
    bytes: int = 0
    flops: int = 0


@dataclass
class Stopwatch:
    """Kernels that note how long they ran, in the order of their launches."""

    kernels: Sequence[Kernel]
    times: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def timed(self, number: int) -> Kernel:
        """Kernel `number`."""
        kernel = self.kernels[number]

        def call(args: Sequence[int], lo: int, hi: int, ctx: memoryview) -> int:
            begun = time.perf_counter_ns()
            status = kernel(args, lo, hi, ctx)
            self.times.append((number, time.perf_counter_ns() - begun))
            return status

        return call


@dataclass(frozen=True)
class TimedWalker:
    """Walks in Python over compiled kernels; safe from any thread."""

    title: str
    program: Program
    kernels: Sequence[Kernel]
    on_mark: OnMark | None = None

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        return partial(self.walk, code, frame)

    def walk(self, code: Code, frame: Frame) -> int:
        """Run the words once, and tell."""
        watch = Stopwatch(self.kernels)
        timed = [watch.timed(number) for number in range(len(self.kernels))]
        stopped = PythonWalker(timed, self.on_mark).walk(code, frame)
        if watch.times:
            trace.tell(knobs.KERNELS, self.title, table(self.program, watch.times, frame.values))
        return stopped


def table(program: Program, times: Sequence[tuple[int, int]], values: Sequence[int]) -> str:
    """What is told of the launches of a walk, in their order: kernel and nanoseconds of each."""
    totals: dict[str, Total] = {}
    for place, (number, nanoseconds) in enumerate(times):
        total = totals.setdefault(program.kernels[number], Total())
        total.launches += 1
        total.nanoseconds += nanoseconds
        if program.costs:
            total.bytes += evaluated(program.costs[place].bytes, values)
            total.flops += evaluated(program.costs[place].flops, values)
    together = sum(nanoseconds for _, nanoseconds in times)
    rows = sorted(totals.items(), key=lambda item: -item[1].nanoseconds)
    head = f"{'ms':>10} {'share':>6} {'launches':>9} {'GB/s':>8} {'GFLOP/s':>8}  kernel"
    lines = [_line(name, total, together) for name, total in rows]
    return "\n".join([head, *lines, f"{together / 1e6:10.3f}   100% {len(times):9}{'':20}all kernels"])


def _line(name: str, total: Total, together: int) -> str:
    spent = max(total.nanoseconds, 1)
    rates = [f"{amount / spent:8.1f}" if amount else f"{'-':>8}" for amount in (total.bytes, total.flops)]
    return f"{spent / 1e6:10.3f} {spent / max(together, 1):6.0%} {total.launches:9} {' '.join(rates)}  {name}"
