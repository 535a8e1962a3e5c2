"""Running programs that use devices other than the host. Enters: a `Program` and what walks it. Leaves: outputs, in new
memory of their devices, and recordings.

Next: `device_executable.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from pelton.program import Arena, Program, Reports
from pelton.runtime.buffer import Buffer
from pelton.runtime.device import Accelerator
from pelton.runtime.device_graph import DeviceGraph, Span, captured
from pelton.runtime.device_memory import DeviceMemory
from pelton.runtime.device_walker import STATUS_WORDS, DeviceFrame, DeviceWalker, Work
from pelton.runtime.launches import BOUND, INPUT, OUTPUT, SCRATCH, LaunchRecord, Recording
from pelton.runtime.messages import Places
from pelton.runtime.plan import NO_PLACES, Runner
from pelton.runtime.walker import EMPTY, Frame, Layout, Shapes, Walker
from pelton.support.errors import ArgumentError


class DeviceRunner(Runner):
    """A `Runner` whose program uses other devices: `devices` in the program's order, None for the host."""

    def __init__(
        self,
        program: Program,
        walker: DeviceWalker,
        devices: Sequence[Accelerator | None],
        bound: Sequence[Buffer] = (),
        places: Places = NO_PLACES,
        marked: Walker | None = None,
    ) -> None:
        """`marked` walks in the place of `walker` where that is not to be kept as a graph."""
        super().__init__(program, marked or walker, bound, places)
        self._idle: list[DeviceFrame] = []
        self._devices = devices
        self._works = walker.works
        self._walks = walker

    def _frame(self) -> DeviceFrame:
        return DeviceFrame(self._program.slots)

    def __call__(self, addresses: Sequence[int], shapes: Shapes) -> list[Buffer]:
        """As `Runner`. The devices may still be at work when it returns: whoever reads an output waits."""
        try:
            frame = self._idle.pop()
        except IndexError:
            frame = self._frame()
        try:
            layout = frame.layout if frame.layout.shapes == shapes else self._prepare(frame, shapes)
            outputs = self._bound_to(frame, layout, addresses)
            if stopped := frame.run():
                raise self._failed(frame, stopped)
            if self._says:
                self._messages.drain(frame)
        finally:
            self._idle.append(frame)
        return outputs

    def record(self, addresses: Sequence[int], shapes: Shapes) -> Recording:
        """As `Runner`. Where one device does all, what is kept is a graph of its work, which one call repeats."""
        frame = self._frame()
        outputs = self._bound_to(frame, self._prepare(frame, shapes), addresses)
        if stopped := self._walk_and_say(frame):
            raise self._failed(frame, stopped)
        walk, launches = partial(self._walk_and_say, frame), partial(self._launches, frame)
        if self._walks.is_alone:
            (work,) = self._works
            graph = captured(work.device.driver, partial(self._walks.begin, frame))
            walk = partial(self._replay_and_say, frame, graph)
            launches = partial(graph.launches, self._spans(frame, addresses, outputs))
        return Recording(outputs, walk, partial(self._failed, frame), launches)

    def _bound_to(self, frame: DeviceFrame, layout: Layout, addresses: Sequence[int]) -> list[Buffer]:
        """New outputs; their addresses and those of the arguments stand in the frame."""
        for number, slot in self._given:
            frame.values[slot] = addresses[number]
        return self._outputs(layout, frame.values)

    def _replay_and_say(self, frame: DeviceFrame, graph: DeviceGraph) -> int:
        graph.replay()
        stopped = self._walks.finish(frame)
        if not stopped and self._says:
            self._messages.drain(frame)
        return stopped

    def _launches(self, frame: Frame) -> tuple[LaunchRecord, ...]:
        """As `Runner`, where the walk is what is repeated."""
        names = self._program.kernels
        blocks = {names[k]: code.threads for work in self._works for k, (_, code) in work.functions.items()}
        return tuple(r._replace(block=(blocks.get(r.kernel, 1), 1, 1)) for r in super()._launches(frame))

    def _spans(self, frame: DeviceFrame, addresses: Sequence[int], outputs: Sequence[Buffer]) -> list[Span]:
        """What the memory is that launches are given, by address."""
        given = [Span(a, 0, INPUT, k) for k, a in enumerate(addresses)]
        given += [Span(b.address, b.nbytes, BOUND, k) for k, b in enumerate(self._bound)]
        given += [Span(b.address, b.nbytes, OUTPUT, k) for k, b in enumerate(outputs)]
        blocks = [*frame.arenas.values(), *frame.status.values(), *frame.reported.values(), *frame.zeros.values()]
        return given + [Span(m.address, m.size, SCRATCH, k) for k, m in enumerate(blocks)]

    def _outputs(self, layout: Layout, values: memoryview) -> list[Buffer]:
        outputs: list[Buffer] = []
        for output, (slot, dtype, shape, *_) in zip(self._program.outputs, layout.outputs, strict=True):
            buffer = Buffer(dtype, shape, self._devices[output.device])
            values[slot] = buffer.address
            outputs.append(buffer)
        return outputs

    def _prepare(self, frame: Frame, shapes: Shapes) -> Layout:
        """Fill the frame with what these shapes need, on every device."""
        assert isinstance(frame, DeviceFrame)
        layout = super()._prepare(frame, shapes)
        pointers = {each.device: each.pointer for each in self._program.elsewhere if isinstance(each, Reports)}
        for work in self._works:
            if work.number not in frame.status:
                self._equip(frame, work, work.number in pointers)
        for number, pointer in pointers.items():
            frame.values[pointer] = frame.reported[number].address
        for arena in (each for each in self._program.elsewhere if isinstance(each, Arena)):
            size, held = frame.values[arena.size], frame.arenas.get(arena.device)
            if size < 0:
                frame.layout = EMPTY
                raise ArgumentError("these inputs need a negative amount of scratch memory", got=f"{size} bytes")
            if held is None or held.size < size:
                frame.arenas.pop(arena.device, None)
                frame.layout = EMPTY  # until there is memory
                held = frame.arenas[arena.device] = self._memory(arena.device, size)
                frame.layout = layout
            frame.values[arena.pointer] = held.address
        return layout

    def _equip(self, frame: DeviceFrame, work: Work, reports: bool) -> None:
        """What a device needs once per frame, whatever the sizes."""
        words = 0 if frame.reports is None or not reports else len(frame.reports)
        rows = STATUS_WORDS * max(len(work.rows), 1)
        zeros = self._memory(work.number, 8 * max(words, rows))
        work.device.driver.write(zeros.address, np.zeros(max(words, rows), np.int64))
        frame.zeros[work.number] = zeros
        if words:
            frame.reported[work.number] = self._memory(work.number, 8 * words)
        frame.status[work.number] = self._memory(work.number, 8 * rows)

    def _memory(self, number: int, size: int) -> DeviceMemory:
        device = self._devices[number]
        assert device is not None
        return device.pool.take(size)
