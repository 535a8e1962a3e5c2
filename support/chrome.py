"""The Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing show: spans enter (through
`trace.py`), a document leaves.

Every span becomes a complete event (`"ph": "X"`) with begin and duration in microseconds, on the row of its thread.
Rows are named by metadata events (`"ph": "M"`). A viewer draws what lies within a span under it, so spans of a thread
have to nest: readings of one clock do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Span(NamedTuple):
    """Something that a thread did, between two readings of `time.perf_counter_ns`; `facts` are shown beside it."""

    name: str
    kind: str
    begin_ns: int
    end_ns: int
    thread: int
    facts: Mapping[str, object]


def document(spans: Sequence[Span]) -> dict[str, Any]:
    """The file as JSON has it; times count from the first span."""
    process = os.getpid()
    origin = min((span.begin_ns for span in spans), default=0)
    threads = dict.fromkeys(span.thread for span in spans)
    rows = [_named("process_name", process, process, "pelton")]
    rows += [
        _named("thread_name", process, thread, "main thread" if thread == process else f"thread {thread}")
        for thread in threads
    ]
    return {"traceEvents": [*rows, *(_event(span, process, origin) for span in spans)], "displayTimeUnit": "ms"}


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _event(span: Span, process: int, origin: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": span.name,
        "cat": span.kind,
        "ts": (span.begin_ns - origin) / 1e3,
        "dur": max(span.end_ns - span.begin_ns, 0) / 1e3,
        "pid": process,
        "tid": span.thread,
        "args": dict(span.facts),
    }
