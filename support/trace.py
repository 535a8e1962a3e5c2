"""Where the time went: stages of work enter as `with stage("fuse"):`, a list of names and milliseconds leaves.

Whoever wants the list opens `recording()` around the work, with a function if it wants to hear of each stage as it
begins; `PELTON_DEBUG=1` prints each stage on stderr as it ends. With neither, a stage costs a few microseconds.
A recording also takes what a running model says of itself (`spans`), and is saved as a file for trace viewers.
What the higher levels of `PELTON_DEBUG` show goes through `tell`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from pelton.support import knobs
from pelton.support.chrome import Span, document

if TYPE_CHECKING:
    import os


class Stage(NamedTuple):
    """One finished stage: CPU and wall milliseconds of its thread, inner stages included; `depth` 0 is outermost."""

    name: str
    cpu_ms: float
    wall_ms: float
    depth: int = 0


class Recording:
    """The stages finished so far, in the order in which they ended, and the spans of stages and of running models."""

    def __init__(self, watch: Callable[[str], object] | None = None) -> None:
        self.stages: list[Stage] = []
        self.spans: list[Span] = []
        self.watch = watch

    def totals(self) -> dict[str, float]:
        """CPU milliseconds per name, stages of one name added up, in order of first end."""
        sums: dict[str, float] = {}
        for stage in self.stages:
            sums[stage.name] = sums.get(stage.name, 0.0) + stage.cpu_ms
        return sums

    def table(self) -> str:
        """One line per name: milliseconds of CPU time, then the name."""
        return "\n".join(f"{cpu_ms:9.1f} ms  {name}" for name, cpu_ms in self.totals().items())

    def to_chrome(self) -> dict[str, Any]:
        """The spans in the Trace Event Format, which Perfetto and chrome://tracing show; times in microseconds."""
        return document(self.spans)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_chrome` as JSON, whole or not at all. Raises OSError where that fails."""
        import json
        from pathlib import Path

        from pelton.support.files import write_atomically

        write_atomically(Path(path), json.dumps(self.to_chrome()).encode())


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("_recordings", default=())
_depth: ContextVar[int] = ContextVar("_depth", default=0)


@contextmanager
def recording(watch: Callable[[str], object] | None = None) -> Generator[Recording]:
    """Collect the stages that end in this block, in this thread and in threads that run in copies of its context.

    `watch` is called with the name of each stage as it begins, in the thread of that stage: for a progress line.
    """
    record = Recording(watch)
    token = _recordings.set((*_recordings.get(), record))
    try:
        yield record
    finally:
        _recordings.reset(token)


@contextmanager
def stage(name: str) -> Generator[None]:
    """Time the block as one stage of this thread. A stage that raises is recorded too."""
    for record in _recordings.get():
        if record.watch is not None:
            record.watch(name)
    token = _depth.set(_depth.get() + 1)
    cpu, begin = time.thread_time(), time.perf_counter_ns()
    try:
        yield
    finally:
        end, cpu = time.perf_counter_ns(), time.thread_time() - cpu
        _depth.reset(token)
        _ended(name, cpu * 1e3, begin, end)


def note(name: str, cpu_ms: float, wall_ms: float) -> None:
    """Record a stage that was measured elsewhere, in another process for example, and ended just now."""
    end = time.perf_counter_ns()
    _ended(name, cpu_ms, end - round(wall_ms * 1e6), end)


def _ended(name: str, cpu_ms: float, begin_ns: int, end_ns: int) -> None:
    depth = _depth.get()
    if records := _recordings.get():
        done = Stage(name, cpu_ms, (end_ns - begin_ns) / 1e6, depth)
        span = Span(name, "stage", begin_ns, end_ns, threading.get_native_id(), {"cpu_ms": round(cpu_ms, 3)})
        for record in records:
            record.stages.append(done)
            record.spans.append(span)
    tell(knobs.STAGES, f"{cpu_ms:9.1f} ms  {'  ' * depth}{name}")


def listening() -> bool:
    """Whether anybody records what this thread does."""
    return bool(_recordings.get())


def add_spans(spans: Iterable[Span]) -> None:
    """Record what was timed elsewhere, in this process."""
    found = tuple(spans)
    for record in _recordings.get():
        record.spans.extend(found)


def telling(level: int) -> bool:
    """Whether `PELTON_DEBUG` asks for what `level` shows."""
    return knobs.DEBUG.value() >= level


def tell(level: int, title: str, text: str = "") -> None:
    """Show a line, and the text under it, on stderr if `PELTON_DEBUG` asks for this level, all in one piece."""
    if telling(level):
        body = text if not text or text.endswith("\n") else f"{text}\n"
        sys.stderr.write(f"pelton {title}\n{body}")
