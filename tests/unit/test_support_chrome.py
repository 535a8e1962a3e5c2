"""The trace file: every rule of the Trace Event Format that viewers rely on."""

from __future__ import annotations

import contextvars
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pelton.support.chrome import Span
from pelton.support.trace import add_spans, listening, recording, stage


def check_document(document: Any) -> list[dict[str, Any]]:
    """The complete events of a trace, after everything that the format asks for was looked at."""
    assert set(document) == {"traceEvents", "displayTimeUnit"} and document["displayTimeUnit"] in ("ms", "ns")
    rows: dict[int, list[dict[str, Any]]] = {}
    named: set[int] = set()
    for event in document["traceEvents"]:
        assert type(event["pid"]) is int and type(event["tid"]) is int and type(event["name"]) is str
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and set(event["args"]) == {"name"}
            named |= {event["tid"]} if event["name"] == "thread_name" else set()
        else:
            assert set(event) == {"ph", "name", "cat", "ts", "dur", "pid", "tid", "args"} and event["ph"] == "X"
            assert event["ts"] >= 0 and event["dur"] >= 0 and type(event["cat"]) is str
            rows.setdefault(event["tid"], []).append(event)
    assert named == set(rows)
    for events in rows.values():
        open_until: list[float] = []
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            end = event["ts"] + event["dur"]
            assert not open_until or end <= open_until[-1] + 1e-3, f"{event} overlaps what it began in"
            open_until.append(end)
    return [event for events in rows.values() for event in events]


def test_stages_of_threads_become_rows_of_nested_events(tmp_path: Path) -> None:
    def work() -> None:
        for number in range(20):
            with stage("outer"), stage(f"inner {number}"):
                pass

    with recording() as record:
        work()
        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
        thread.start()
        thread.join()
    record.save(tmp_path / "trace.json")
    events = check_document(json.loads((tmp_path / "trace.json").read_text()))
    assert len(events) == 80 and len({event["tid"] for event in events}) == 2
    assert {event["cat"] for event in events} == {"stage"} and {event["pid"] for event in events} == {os.getpid()}
    assert min(event["ts"] for event in events) == 0


def test_times_are_microseconds_from_the_first_span() -> None:
    assert not listening()
    with recording() as record:
        assert listening()
        add_spans(
            [Span("b", "launch", 5_000_000, 5_001_500, 7, {"bytes": 3}), Span("a", "call", 4_000_000, 6_000_000, 7, {})]
        )
    second, first = check_document(record.to_chrome())
    assert (first["ts"], first["dur"]) == (0, 2000) and (second["ts"], second["dur"]) == (1000, 1.5)
    assert second["args"] == {"bytes": 3} and second["tid"] == 7


def test_an_empty_recording_is_a_document_too() -> None:
    with recording() as record:
        pass
    assert check_document(record.to_chrome()) == []


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with recording() as record:
        pass
    with pytest.raises(OSError, match="none"):
        record.save(tmp_path / "none" / "trace.json")
