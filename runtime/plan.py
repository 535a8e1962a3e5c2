"""Running programs. Enters: a `Program` and what walks its words. Leaves: output buffers, per call.

Next: `executable.py`. A `Runner` keeps between calls what calls need: a `Layout` per combination of input sizes (the
result of the prologue), and frames (the numbers and the scratch memory of one call), one per call in flight.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from ctypes import addressof
from functools import partial

from pelton.program import Op, Program, Site, instruction_at
from pelton.runtime.buffer import Buffer
from pelton.runtime.launches import LaunchRecord, Recording, launches_of
from pelton.runtime.layout import bytes_of
from pelton.runtime.memory import ALIGNMENT, pool, rounded
from pelton.runtime.messages import Messages, Places, requirement
from pelton.runtime.pool import ALONE, Sharing, Threads
from pelton.runtime.walker import EMPTY, Code, Frame, Layout, OutputPlace, Shapes, Walker
from pelton.support.errors import ArgumentError, AssertionFailed, PeltonError

MOST_LAYOUTS = 256
PADDING = ALIGNMENT - 1
NO_PLACES: Places = {}


class Runner:
    """A program with its last arguments (weights and the like) bound. Call it with the others, from any thread."""

    def __init__(
        self,
        program: Program,
        walker: Walker,
        bound: Sequence[Buffer] = (),
        places: Places = NO_PLACES,
        threads: Threads = ALONE,
    ) -> None:
        """`places` tells the user's lines of what the program may say something about."""
        self._messages = Messages(program, places)
        self._says = self._messages.needed
        self._program = program
        self._walker = walker
        self._sharing = Sharing(program, threads)
        self._bound = tuple(bound)
        self._given = tuple(enumerate(program.arguments[: len(program.arguments) - len(bound)]))
        self._prologue, self._body = Code(program.prologue), Code(program.body)
        self._layouts: dict[Shapes, Layout] = {}
        self._frames: list[Frame] = []

    def __call__(self, addresses: Sequence[int], shapes: Shapes) -> list[Buffer]:
        """The outputs, in new memory, for arguments at these addresses, of these shapes, in C order.

        Raises AssertionFailed (RuntimeError) where a check fails, ArgumentError where the sizes make no sense.
        """
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._frame()
        try:
            layout = frame.layout
            if layout.shapes != shapes:
                layout = self._prepare(frame, shapes)
            values = frame.values
            for number, slot in self._given:
                values[slot] = addresses[number]
            outputs: list[Buffer] = []
            for slot, dtype, shape, size, small in layout.outputs:
                if small is None:
                    memory = pool.take_block(size)
                    address = memory.address
                else:
                    memory = small()
                    address = (addressof(memory) + PADDING) & -ALIGNMENT
                values[slot] = address
                outputs.append(Buffer.over(memory, address, dtype, shape))
            if stopped := frame.run():
                raise self._failure(self._body, stopped - 1, frame)
            if self._says:
                self._messages.drain(frame)
        finally:
            self._frames.append(frame)
        return outputs

    def record(self, addresses: Sequence[int], shapes: Shapes) -> Recording:
        """As a call, in a frame of its own, which the result holds, to be walked again. Raises the same."""
        frame = self._frame()
        layout, values = self._prepare(frame, shapes), frame.values
        for number, slot in self._given:
            values[slot] = addresses[number]
        outputs = self._outputs(layout, values)
        walk = partial(self._walk_and_say, frame) if self._says else frame.run
        if stopped := walk():
            raise self._failed(frame, stopped)
        return Recording(outputs, walk, partial(self._failed, frame), partial(self._launches, frame))

    def _frame(self) -> Frame:
        return Frame(self._program.slots)

    def _outputs(self, layout: Layout, values: memoryview) -> list[Buffer]:
        """New outputs, their addresses written to their slots."""
        outputs = [Buffer(dtype, shape) for _, dtype, shape, *_ in layout.outputs]
        for (slot, *_), output in zip(layout.outputs, outputs, strict=True):
            values[slot] = output.address
        return outputs

    def _walk_and_say(self, frame: Frame) -> int:
        """Walk the body; where it ends well, log what it had to say (where not, `_failure` does)."""
        stopped = frame.run()
        if not stopped:
            self._messages.drain(frame)
        return stopped

    def _failed(self, frame: Frame, stopped: int) -> PeltonError:
        return self._failure(self._body, stopped - 1, frame)

    def _launches(self, frame: Frame) -> tuple[LaunchRecord, ...]:
        return launches_of(self._program, self._body.words, frame.values, len(self._given))

    def _prepare(self, frame: Frame, shapes: Shapes) -> Layout:
        """Fill the frame with what these shapes need."""
        frame.layout = EMPTY
        layout = self._layouts.get(shapes)
        if layout is None:
            layout = self._lay_out(frame, shapes)
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            self._layouts[shapes] = layout
        frame.values[:] = layout.values
        if (arena := self._program.arena) is not None:
            if frame.arena is None or frame.arena.size < layout.arena:
                frame.arena = None
                frame.arena = pool.take(layout.arena)
            frame.values[arena.pointer] = frame.arena.address
        if self._says:
            self._messages.prepare(frame)
        frame.share(layout.steps, self._sharing.threads)
        frame.run = self._walker.bind(self._body, frame)
        frame.layout = layout
        return layout

    def _lay_out(self, frame: Frame, shapes: Shapes) -> Layout:
        """Run the prologue."""
        program, values = self._program, frame.values
        every = (*shapes, *(buffer.shape for buffer in self._bound))
        for size in program.dims:
            values[size.slot] = every[size.argument][size.axis]
        for slot, buffer in zip(program.arguments[len(self._given) :], self._bound, strict=True):
            values[slot] = buffer.address
        if stopped := self._walker.bind(self._prologue, frame)():
            raise self._failure(self._prologue, stopped - 1, frame)
        outputs: list[OutputPlace] = []
        for number, output in enumerate(program.outputs):
            shape = tuple(values[slot] for slot in output.dims)
            if any(size < 0 for size in shape):
                raise ArgumentError(f"these inputs give output {number} a negative size", got=str(shape))
            size = rounded(bytes_of(shape, output.dtype))
            outputs.append((output.pointer, output.dtype, shape, size, pool.small(size)))
        arena = values[program.arena.size] if program.arena else 0
        if arena < 0:
            raise ArgumentError("these inputs need a negative amount of scratch memory", got=f"{arena} bytes")
        return Layout(shapes, array("q", values), tuple(outputs), arena, self._sharing.steps(values))

    def _failure(self, code: Code, at: int, frame: Frame) -> PeltonError:
        """Why the walker stopped there. Says what else there is to say, and leaves the frame fit for the next call."""
        op, operands = instruction_at(code.words, at)
        site, error = self._reason(op, operands, frame)
        self._messages.drain(frame, site)
        frame.ctx[: len(NO_FAILURE)] = NO_FAILURE
        return error

    def _reason(self, op: Op, operands: tuple[int, ...], frame: Frame) -> tuple[Site | None, PeltonError]:
        sites, kernels, values = self._program.sites, self._program.kernels, frame.values
        match op, operands:
            case (Op.LAUNCH, (kernel, first, *_)) | (Op.DEVICE_LAUNCH, (_, kernel, first, *_)):
                number, index, word = frame.ctx[0], frame.ctx[1], frame.ctx[2]
                if number == 0:
                    return None, AssertionFailed(f"kernel {kernels[kernel]} stopped without saying why")
                known = self._messages.failure(first + number - 1, index, word, frame)
                return known or (None, AssertionFailed(f"check {number} of kernel {kernels[kernel]} failed"))
            case Op.REQUIRE_EQ | Op.REQUIRE_LE, (first, a, b):
                site = sites[first]
                place = self._messages.place(site)
                return site, requirement(site, place, op is Op.REQUIRE_EQ, values[a], values[b])
            case Op.COPY, (_, _, size):
                error = ArgumentError("these inputs need a copy of a negative size", got=f"{values[size]} bytes")
                return None, error
            case _, (_, a, b):
                return None, ArgumentError(
                    "the arithmetic of sizes leaves 64 bits or divides by zero for these inputs",
                    got=f"{values[a]} {op.name} {values[b]}",
                )
            case _:
                return None, AssertionFailed("the plan is damaged")


NO_FAILURE = array("q", (0, 0, 0))
