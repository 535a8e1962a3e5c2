"""Where the time went: stages of work enter as `with stage("fuse"):`, a list of names and milliseconds leaves.

Whoever wants the list opens `recording()` around the work, with a function if it wants to hear of each stage as it
begins; `PELTON_DEBUG=1` prints each stage on stderr as it ends. With neither, a stage costs a few microseconds.
What the higher levels of `PELTON_DEBUG` show goes through `tell`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pelton.support import knobs


@dataclass(frozen=True)
class Stage:
    """One finished stage: CPU and wall milliseconds of its thread, inner stages included; `depth` 0 is outermost."""

    name: str
    cpu_ms: float
    wall_ms: float
    depth: int = 0


@dataclass
class Recording:
    """The stages finished so far, in the order in which they ended."""

    stages: list[Stage] = field(default_factory=list[Stage])
    watch: Callable[[str], object] | None = None

    def totals(self) -> dict[str, float]:
        """CPU milliseconds per name, stages of one name added up, in order of first end."""
        sums: dict[str, float] = {}
        for stage in self.stages:
            sums[stage.name] = sums.get(stage.name, 0.0) + stage.cpu_ms
        return sums

    def table(self) -> str:
        """One line per name: milliseconds of CPU time, then the name."""
        return "\n".join(f"{cpu_ms:9.1f} ms  {name}" for name, cpu_ms in self.totals().items())


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("_recordings", default=())
_depth: ContextVar[int] = ContextVar("_depth", default=0)


@contextmanager
def recording(watch: Callable[[str], object] | None = None) -> Generator[Recording]:
    """Collect the stages that end in this block, in this thread and in threads that run in copies of its context.

    `watch` is called with the name of each stage as it begins, in the thread of that stage: for a progress line.
    """
    record = Recording(watch=watch)
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
    cpu, wall = time.thread_time(), time.perf_counter()
    try:
        yield
    finally:
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        _depth.reset(token)
        note(name, cpu * 1e3, wall * 1e3)


def note(name: str, cpu_ms: float, wall_ms: float) -> None:
    """Record a stage that was measured elsewhere, in another process for example."""
    done = Stage(name, cpu_ms, wall_ms, _depth.get())
    for record in _recordings.get():
        record.stages.append(done)
    tell(knobs.STAGES, f"{cpu_ms:9.1f} ms  {'  ' * done.depth}{name}")


def telling(level: int) -> bool:
    """Whether `PELTON_DEBUG` asks for what `level` shows."""
    return knobs.DEBUG.value() >= level


def tell(level: int, title: str, text: str = "") -> None:
    """Show a line, and the text under it, on stderr if `PELTON_DEBUG` asks for this level, all in one piece."""
    if telling(level):
        body = text if not text or text.endswith("\n") else f"{text}\n"
        sys.stderr.write(f"pelton {title}\n{body}")
