"""Copies between host and device. Enters: arrays and addresses. Leaves: bytes on the other side.

A device reads and writes only memory of the host that is pinned, and pinning takes long. So bytes go through pinned
buffers that are made once: while the device copies one half of a pair, the host fills or empties the other. A write
returns when its last bytes are in such a buffer; each buffer waits for the device before it is used again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.cuda.context import Context

HALF = 4 << 20
"""Bytes of half a pair: large enough that calls cost little beside the copy."""
PAIRS = 4
"""So many threads copy side by side; others wait."""
Bytes = NDArray[np.uint8]


class Half(NamedTuple):
    """Pinned memory, as address and as array, and an event that the device passes when it is done with it."""

    address: int
    view: Bytes
    event: Any


Pair = tuple[Half, Half]


class Staging:
    """The pinned buffers of a device. Safe from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._idle: SimpleQueue[Pair] = SimpleQueue()
        self._made: list[Pair] = []

    def write(self, target: int, source: Bytes) -> None:
        """Host to device, after what was launched before."""
        call, stream = self._context.call, self._context.stream
        with self._pair() as pair:
            for number, begin in enumerate(range(0, source.size, HALF)):
                part, half = source[begin : begin + HALF], pair[number % 2]
                call("cuEventSynchronize", half.event)
                half.view[: part.size] = part
                call("cuMemcpyHtoDAsync", target + begin, half.address, part.size, stream)
                call("cuEventRecord", half.event, stream)

    def read(self, source: int, target: Bytes) -> None:
        """Device to host; waits for what was launched before."""
        with self._pair() as pair:
            for number, begin in enumerate(range(0, target.size, HALF)):
                if number > 1:
                    self._empty(pair[number % 2], target[begin - 2 * HALF : begin - HALF])
                self._fetch(source + begin, pair[number % 2], min(HALF, target.size - begin))
            parts = -(-target.size // HALF)
            for number in range(max(parts - 2, 0), parts):
                self._empty(pair[number % 2], target[number * HALF : (number + 1) * HALF])

    def _fetch(self, source: int, half: Half, size: int) -> None:
        call, stream = self._context.call, self._context.stream
        call("cuEventSynchronize", half.event)
        call("cuMemcpyDtoHAsync", half.address, source, size, stream)
        call("cuEventRecord", half.event, stream)

    def _empty(self, half: Half, target: Bytes) -> None:
        self._context.call("cuEventSynchronize", half.event)
        target[:] = half.view[: target.size]

    @contextmanager
    def _pair(self) -> Generator[Pair]:
        """A pair that nobody else uses meanwhile."""
        pair = self._taken()
        try:
            yield pair
        except BaseException:
            self._context.attempt("cuStreamSynchronize", self._context.stream)  # a copy may be on its way, unmarked
            raise
        finally:
            self._idle.put(pair)

    def _taken(self) -> Pair:
        try:
            return self._idle.get_nowait()
        except Empty:
            return self._make() if len(self._made) < PAIRS else self._idle.get()

    def _make(self) -> Pair:
        first = self._half()
        try:
            pair = first, self._half()
        except BaseException:
            self._release(first)
            raise
        self._made.append(pair)
        return pair

    def _half(self) -> Half:
        api, call = self._context.api, self._context.call
        event = call("cuEventCreate", int(api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        try:
            address = int(call("cuMemHostAlloc", HALF, 0))
        except BaseException:
            self._context.attempt("cuEventDestroy", event)
            raise
        view = np.frombuffer(memoryview((ctypes.c_uint8 * HALF).from_address(address)), np.uint8)
        return Half(address, view, event)

    def _release(self, half: Half) -> None:
        self._context.attempt("cuMemFreeHost", half.address)
        self._context.attempt("cuEventDestroy", half.event)

    def close(self) -> None:
        """Gives the buffers back. Never raises."""
        for pair in self._made:
            for half in pair:
                self._release(half)
        self._made.clear()
        self._idle = SimpleQueue()
