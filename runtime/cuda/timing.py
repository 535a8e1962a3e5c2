"""When work on a device is done. Enters: calls between launches. Leaves: seconds, as the device counts them."""

from __future__ import annotations

from typing import Any

from pelton.runtime.cuda.context import Context


class Event:
    """A moment in a device's work."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle: Any = handle
        """None once forgotten."""


class Events:
    """The events of a device, used again and again. Safe from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: list[Any] = []
        self._idle: list[Any] = []

    def record(self) -> Event:
        """The moment when all that was begun before is done."""
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = self._context.call("cuEventCreate", int(self._context.api.CUevent_flags.CU_EVENT_DEFAULT))
            self._made.append(handle)
        try:
            self._context.call("cuEventRecord", handle, self._context.stream)
        except BaseException:
            self._idle.append(handle)
            raise
        return Event(handle)

    def between(self, first: Event, second: Event) -> float:
        """Seconds from one moment to another; waits for the second, and forgets both. ValueError for forgotten ones."""
        handles = first.handle, second.handle
        if None in handles:
            raise ValueError("a moment serves for one duration")
        first.handle = second.handle = None
        try:
            self._context.call("cuEventSynchronize", handles[1])
            return float(self._context.call("cuEventElapsedTime", *handles)) / 1000
        finally:
            self._idle.extend(handles)

    def close(self) -> None:
        """Gives the events back. Never raises."""
        for handle in self._made:
            self._context.attempt("cuEventDestroy", handle)
        self._made.clear()
        self._idle.clear()
