"""Captured runs of a model, by key. Enters: keys and buffers as users give them. Leaves: `Captured`, ready to replay.

Next: `model.py` walks it. What is recorded is an executable's matter (`Recording`); here is which buffers it belongs
to, and whether another run launches the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import islice
from threading import Lock, RLock
from typing import Any, NamedTuple, cast
from weakref import WeakSet

from pelton.artifact import TensorInfo
from pelton.runtime.arguments import place
from pelton.runtime.buffer import Buffer
from pelton.runtime.launches import Difference, Recording, first_difference
from pelton.support.errors import ArgumentError, ArgumentTypeError, CaptureError

LARGEST_KEY = 2**64 - 1
Key = int | tuple[int, ...]
"""A checked key: one number where it is the same for every device."""


class Obstacle(NamedTuple):
    """Why no run of an executable can be recorded: the op, what it does, and the user's line."""

    op: str
    reason: str
    location: str = ""


class Captured(NamedTuple):
    """A recording and the inputs it belongs to. `lock` is held while it runs: one thread after the other."""

    inputs: tuple[Buffer, ...]
    recording: Recording
    walk: Callable[[], int]
    lock: RLock
    """Reentrant: a signal handler or a finalizer may replay what it interrupts."""


class Captures:
    """The captured runs of one model. Safe from any thread."""

    def __init__(self, infos: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> None:
        self.exact: dict[tuple[type, int, tuple[Buffer, ...]], Captured] = {}
        """By type and value of a key and the very objects: `replay` looks here first. The type, because True is 1."""
        self._infos = infos
        self._devices = len({info.device for info in (*infos, *outputs)}) or 1
        self._known: dict[Key, Captured | None] = {}
        self._lock = Lock()
        _EVERY.add(self)

    def begin_anew(self) -> None:
        """In a forked child: whoever held a lock, or was recording, is not here."""
        self._lock = Lock()
        known = {key: each._replace(lock=RLock()) for key, each in self._known.items() if each is not None}
        self._known = {**known}
        self.exact.clear()
        self.exact.update({(int, key, each.inputs): each for key, each in known.items() if isinstance(key, int)})

    def key(self, graph_key: Any, inputs: Sequence[Any], call: str) -> Key:
        """The checked key of a call that takes the inputs too. Raises as `Model.capture` says."""
        if not self._infos:
            raise ArgumentError(
                f"{call} got no inputs: the model has none, so no run differs from another", remedy="use execute"
            )
        if not inputs:
            names = ", ".join(info.name for info in self._infos)
            raise ArgumentError(f"{call} got no inputs", expected=f"{len(self._infos)} ({names})", got="0")
        return checked_key(graph_key, self._devices)

    def add(self, key: Key, inputs: tuple[Buffer, ...], record: Callable[[], Recording]) -> Recording:
        """Record a run and keep it under a key. Raises CaptureError where the key is in use, and what `record` does."""
        with self._lock:
            if key in self._known:
                raise CaptureError(f"key {key} is captured already", remedy="call release_captured_graph(key) first")
            self._known[key] = None  # another thread cannot take it meanwhile
        captured: Captured | None = None
        try:
            recording = record()
            captured = Captured(inputs, recording, recording.walk, RLock())
        finally:
            with self._lock:
                if captured is None:
                    del self._known[key]
                else:
                    self._known[key] = captured
                    if isinstance(key, int):
                        self.exact[int, key, inputs] = captured
        return recording

    def find(self, graph_key: Any, inputs: Sequence[Any], call: str) -> Captured:
        """What was captured under a key. Raises CaptureError where nothing was."""
        key = self.key(graph_key, inputs, call)
        captured = self._known.get(key)
        if captured is None:
            known = ", ".join(str(key) for key, value in list(self._known.items()) if value) or "no key"
            raise CaptureError(f"key {key} is not captured", expected=f"one of the captured: {known}")
        return captured

    def same(self, graph_key: Any, inputs: Sequence[Any]) -> Captured:
        """The same for the very buffers that were captured, maybe as other objects. Raises CaptureError on others."""
        captured = self.find(graph_key, inputs, "replay")
        require_buffers(inputs, self._infos, "replay")
        for position, (info, was, now) in enumerate(zip(self._infos, captured.inputs, inputs, strict=True)):
            if differing := [name for name, of in PARTS if of(was) != of(now)]:
                raise CaptureError(
                    f"{place(position, info)} is not what was captured: it has another {' and '.join(differing)}",
                    expected=f"{was.type} at {was.address:#x}",
                    got=f"{now.type} at {now.address:#x}" + ("" if now.is_contiguous else f", strides {now.strides}"),
                    remedy="copy into the captured buffer (inplace_copy_from), or capture under another key",
                )
            if info.mutable and not now.writable:
                raise CaptureError(f"{place(position, info)} is written by the model, and what was passed is read-only")
        return captured

    def release(self, graph_key: Any) -> None:
        """Forget a key. Raises as `checked_key` does; a key that is not captured is no mistake."""
        key = checked_key(graph_key, self._devices)
        with self._lock:
            captured = self._known.get(key)
            if captured is not None:
                del self._known[key]
                if isinstance(key, int):
                    del self.exact[int, key, captured.inputs]


_EVERY: WeakSet[Captures] = WeakSet()


def _begin_anew() -> None:
    for captures in list(_EVERY):
        captures.begin_anew()


os.register_at_fork(after_in_child=_begin_anew)


PARTS: tuple[tuple[str, Callable[[Buffer], object]], ...] = (
    ("address", lambda buffer: buffer.address),
    ("shape", lambda buffer: buffer.shape),
    ("dtype", lambda buffer: buffer.dtype),
    ("order in memory", lambda buffer: buffer.is_contiguous),
)
"""What makes two buffers the same, each with its name in errors."""


def checked_key(graph_key: Any, devices: int) -> Key:
    """A key as it is kept: an int, or one int per device.

    Raises ArgumentTypeError for anything else, bool included, ArgumentError for a number below 0 or above 2**64 - 1
    and for another number of keys than of devices.
    """
    parts: list[Any] = [graph_key]
    if isinstance(graph_key, Sequence) and not isinstance(graph_key, str | bytes | bytearray):
        parts = list(islice(cast("Sequence[Any]", graph_key), devices + 1))
        if len(parts) != devices:
            got = f"more than {devices}" if len(parts) > devices else str(len(parts))
            raise ArgumentError("a sequence of graph keys has one per device", expected=str(devices), got=got)
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, int):
            kind = type(part).__name__
            raise ArgumentTypeError("a graph key is an int, or a sequence of ints, one per device", got=kind)
    for part in parts:
        if not 0 <= part <= LARGEST_KEY:
            got = str(part) if part.bit_length() <= 128 else f"an int of {part.bit_length()} bits"
            raise ArgumentError("a graph key lies out of range", expected="0 <= key <= 2**64 - 1", got=got)
    numbers = tuple(int(part) for part in parts)
    return numbers[0] if len(set(numbers)) == 1 else numbers


def require_buffers(inputs: Sequence[Any], infos: Sequence[TensorInfo], call: str) -> None:
    """Raise ArgumentError on another number of inputs, ArgumentTypeError on anything but a Buffer."""
    if len(inputs) != len(infos):
        names = ", ".join(info.name for info in infos)
        raise ArgumentError("wrong number of inputs", expected=f"{len(infos)} ({names})", got=str(len(inputs)))
    for position, (info, given) in enumerate(zip(infos, inputs, strict=True)):
        if not isinstance(given, Buffer):
            raise ArgumentTypeError(
                f"{place(position, info)} of {call} is a {type(given).__name__}",
                expected="a Buffer: its memory is what is captured",
                remedy="keep a Buffer.from_numpy(array) or Buffer.from_dlpack(array), and pass that each time",
            )


def compare(captured: Recording, eager: Recording, key: object) -> None:
    """Raise CaptureError, showing the first difference, where two runs launched or returned something else."""
    found = first_difference(captured.launches(), eager.launches())
    for number, (was, now) in enumerate(zip(captured.outputs, eager.outputs, strict=True)):
        if found is None and was.type != now.type:
            found = Difference(f"output {number}", was.type, now.type)
    if found is not None:
        raise CaptureError(
            f"an eager run launches something else than was captured under key {key}: {found.place}",
            expected=f"{found.first}, as captured",
            got=found.second,
        )
