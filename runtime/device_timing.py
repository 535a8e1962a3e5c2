"""How long kernels took on their devices: what `PELTON_DEBUG=2`, and marks for a profiler, put in the place of the
walker of a program that uses devices.

Enters: moments that a driver notes before and after each launch. Leaves: the table of `timing.py`; the times of marks,
so that a trace shows the device's durations, one after the other, and not how long the host took to ask for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from pelton.program import Op, Program, instructions
from pelton.runtime.device_walker import DeviceFrame, DeviceWalker, Work
from pelton.runtime.driver import Driver
from pelton.runtime.timing import table
from pelton.runtime.walker import NS, Code, Frame, Kernel, OnMark
from pelton.support import knobs, trace


class Timed(NamedTuple):
    """A launch of a walk: which in the program's order, which kernel, and when: moments of a driver, or nanoseconds."""

    at: int
    kernel: int
    driver: Driver | None
    first: object
    last: object

    def nanoseconds(self) -> int:
        """How long it took. Waits for its end."""
        if self.driver is not None:
            return int(self.driver.seconds(self.first, self.last) * NS)
        assert isinstance(self.first, int)
        assert isinstance(self.last, int)
        return self.last - self.first


class TimedDeviceWalker(DeviceWalker):
    """Walks as `DeviceWalker`, waits for the end, and tells. Safe from any thread; its walks are kept as no graph."""

    def __init__(
        self,
        title: str,
        program: Program,
        kernels: Sequence[Kernel],
        works: Sequence[Work],
        on_mark: OnMark | None = None,
    ) -> None:
        super().__init__(program, kernels, works, on_mark)
        self.is_alone = False
        self._title, self._program = title, program
        self._pairs = _pairs(program)

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        run = super().bind(code, frame)
        return partial(self._timed, frame) if isinstance(frame, DeviceFrame) and self.is_body(code) else run

    def _timed(self, frame: DeviceFrame) -> int:
        frame.timed = []
        stopped = self.begin(frame)
        times = [(each.at, each.kernel, each.nanoseconds()) for each in frame.timed]
        frame.timed = []
        ended = 0
        for at, _, nanoseconds in times:
            if (pair := self._pairs.get(at)) is not None:
                begin, end = pair
                begun = max(frame.values[begin] * NS + frame.values[begin + 1], ended)
                ended = begun + nanoseconds
                for slot, moment in ((begin, begun), (end, ended)):
                    frame.values[slot], frame.values[slot + 1] = divmod(moment, NS)
        if times and not stopped:
            tell = table(self._program, [row[1:] for row in times], frame.values)
            trace.tell(knobs.KERNELS, self._title, tell)
        return stopped or self.finish(frame)

    def _launch(self, at: int, operands: tuple[int, ...], frame: DeviceFrame) -> None:
        driver = self.driver(operands[0])
        first = driver.mark()
        super()._launch(at, operands, frame)
        frame.timed.append(Timed(at, operands[1], driver, first, driver.mark()))

    def _step_of(self, at: int, op: Op, operands: tuple[int, ...], frame: DeviceFrame) -> bool:
        begun = time.perf_counter_ns()
        succeeded = super()._step_of(at, op, operands, frame)
        if op is Op.LAUNCH:
            frame.timed.append(Timed(at, operands[0], None, begun, time.perf_counter_ns()))
        return succeeded


def _pairs(program: Program) -> dict[int, tuple[int, int]]:
    """Where device launches stand, and the slots of the marks right before and after each, if there are such."""
    found: dict[int, tuple[int, int]] = {}
    body = list(instructions(program.body))
    for before, (at, op, _), after in zip(body, body[1:], body[2:], strict=False):
        if op is Op.DEVICE_LAUNCH and before[1] is Op.MARK and after[1] is Op.MARK:
            found[at] = before[2][0], after[2][0]
    return found
