"""Walking the words of a program over the numbers of one call. Enters: `Code` and a `Frame`. Leaves: the values, and
where it stopped. Next: `plan.py` says what a stop means.

`PythonWalker` is the definition of every opcode; `NativeWalker` calls the compiled function of `codegen/cpu/walker.py`.
"""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

from pelton.dtype import DType
from pelton.program import HEAD, RING_WORDS, WHOLE, Op, compute, instruction_at
from pelton.runtime.memory import Memory
from pelton.runtime.pool import Threads

Shapes = tuple[tuple[int, ...], ...]
Kernel = Callable[[Sequence[int], int, int, memoryview], int]
"""`kernel(args, lo, hi, ctx)`: runs items [lo, hi), returns 0. A failed check writes site, index and value to ctx."""

OnMark = Callable[[int, int], object]
"""Told of each mark: its site, and 0 where that begins, 1 where it ends."""
NS = 10**9


def _address_of_clock() -> int:
    """libc's `clock_gettime`, which reads what `time.perf_counter_ns` does, without a system call."""
    return ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0


CLOCK = _address_of_clock()


class Code:
    """A list of words and its address."""

    __slots__ = ("address", "words")

    def __init__(self, words: Sequence[int]) -> None:
        self.words = array("q", words)
        self.address, _ = self.words.buffer_info()


OutputPlace = tuple[int, DType, tuple[int, ...], int, "type[ctypes.Array[ctypes.c_char]] | None"]
"""An output before it has memory: the slot of its address, type, shape, bytes of its block, and what makes the block
where it does not come from the pool. A plain tuple, which Python takes apart faster.
"""


class Layout(NamedTuple):
    """What one combination of input sizes needs: all values before the body, outputs, bytes of scratch."""

    shapes: Shapes
    values: array[int]
    outputs: tuple[OutputPlace, ...]
    arena: int
    steps: array[int]
    """Of each launch, how many items a thread takes at a time; 0: all of them, on the thread that walks."""


EMPTY = Layout(((-1,),), array("q"), (), 0, array("q"))
"""The layout of a frame that has none: no argument has this shape."""


class Frame:
    """The numbers of one call, in one array: header, ctx, values.

    The header: addresses of words, kernels, values, ctx, clock, steps and thread pool, and a number of threads.
    """

    __slots__ = (
        "address",
        "arena",
        "array",
        "code",
        "ctx",
        "header",
        "layout",
        "reports",
        "ring",
        "run",
        "steps",
        "values",
    )
    HEADER: ClassVar[int] = 8
    CTX_WORDS: ClassVar[int] = 8

    def __init__(self, slots: int) -> None:
        begin = self.HEADER + self.CTX_WORDS
        self.array = array("q", bytes(8 * (begin + slots)))
        self.address, _ = self.array.buffer_info()
        words = memoryview(self.array)
        self.header, self.ctx, self.values = words[: self.HEADER], words[self.HEADER : begin], words[begin:]
        self.header[2] = self.address + begin * 8
        self.header[3] = self.address + self.HEADER * 8
        self.header[4] = CLOCK
        self.code: Code | None = None
        """What the header points to."""
        self.layout: Layout = EMPTY
        self.run: Callable[[], int] = int
        """Runs the body on the layout's sizes; bound with it."""
        self.arena: Memory | None = None
        self.reports: array[int] | None = None
        self.ring: array[int] | None = None
        self.steps: array[int] | None = None

    def share(self, steps: array[int], threads: Threads) -> None:
        """Let a native walk share launches with other threads, so many items at a time; no steps: none of them."""
        self.steps = steps
        self.header[5], _ = steps.buffer_info()
        self.header[6], self.header[7] = threads.pool, threads.number if steps else 1


class Walker(Protocol):
    """Runs words over a frame until END."""

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        """A run of `code` over `frame`, as often as it is called, until the frame is bound again. It returns 0, or
        1 + the position of the instruction that failed.
        """
        ...


class PythonWalker:
    """Every opcode in plain Python. Kernels are Python functions, or compiled ones through `native_kernel`."""

    def __init__(self, kernels: Sequence[Kernel], on_mark: OnMark | None = None) -> None:
        self.kernels = kernels
        self.on_mark = on_mark

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        return partial(self.walk, code, frame)

    def walk(self, code: Code, frame: Frame) -> int:
        """Run the words once."""
        at = 0
        while True:
            op, operands = instruction_at(code.words, at)
            if op is Op.END:
                return 0
            if not self._step(op, operands, frame.values, frame.ctx):
                return at + 1
            at += 1 + len(operands)

    def _step(self, op: Op, operands: tuple[int, ...], values: memoryview, ctx: memoryview) -> bool:
        """Carry out one instruction; whether it succeeded."""
        succeeded = True
        match op, operands:
            case Op.CONST, (dst, number):
                values[dst] = number
            case Op.REQUIRE_EQ, (_, a, b):
                succeeded = values[a] == values[b]
            case Op.REQUIRE_LE, (_, a, b):
                succeeded = values[a] <= values[b]
            case Op.LAUNCH, (kernel, _, items, frame, count, *args):
                for number, slot in enumerate(args):
                    values[frame + number] = values[slot]
                status = self.kernels[kernel](list(values[frame : frame + count]), 0, values[items], ctx)
                succeeded = status == 0 and ctx[0] == 0
            case Op.COPY, (destination, source, size):
                succeeded = values[size] >= 0
                if succeeded:
                    ctypes.memmove(values[destination], values[source], values[size])
            case Op.TRACE, (ring, site, source, size):
                succeeded = values[size] >= 0
                if succeeded:
                    note(values[ring], site, values[source], values[size])
            case Op.MARK, (pair, site, edge):
                values[pair], values[pair + 1] = divmod(time.perf_counter_ns(), NS)
                if self.on_mark is not None:
                    self.on_mark(site, edge)
            case _, (dst, a, b):
                try:
                    values[dst] = compute(op, values[a], values[b])
                except ArithmeticError:
                    succeeded = False
            case _:
                succeeded = False
        return succeeded


def note(ring: int, site: int, source: int, size: int) -> None:
    """Write an entry to the ring at that address; where there is no room, count it."""
    head = (ctypes.c_int64 * RING_WORDS).from_address(ring)
    kept = size if size <= WHOLE else HEAD
    used, end = head[0], head[0] + 16 + kept
    if end > head[2]:
        head[1] += 1
        return
    entry = ring + 8 * RING_WORDS + used
    (ctypes.c_int64 * 2).from_address(entry)[:] = (site, kept)
    ctypes.memmove(entry + 16, source, kept)
    head[0] = end + 7 & -8


class NativeWalker:
    """The compiled walker over compiled kernels, by address. `keep` holds the code for as long as this lives."""

    def __init__(self, walker: int, kernels: Sequence[int], keep: object) -> None:
        self._walk: Callable[[ctypes.c_void_p], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(walker)
        self._kernels = Code((*kernels, 0))
        self._keep = keep

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        """One native call, without a step of Python."""
        frame.code = code
        frame.header[0] = code.address
        frame.header[1] = self._kernels.address
        return partial(self._walk, ctypes.c_void_p(frame.address))


def native_kernel(address: int) -> Kernel:
    """A compiled kernel as a Python function. The caller keeps its code alive."""
    function = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
    )(address)  # fmt: skip

    def call(args: Sequence[int], lo: int, hi: int, ctx: memoryview) -> int:
        words = (ctypes.c_int64 * max(len(args), 1))(*args)
        return function(ctypes.addressof(words), lo, hi, ctypes.addressof(ctypes.c_int64.from_buffer(ctx)))

    return call
