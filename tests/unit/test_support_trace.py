"""Stages: what is recorded, in which order, and what PELTON_DEBUG prints."""

from __future__ import annotations

import contextvars
import threading
import time

import pytest

from pelton.support.knobs import IR, SOURCE
from pelton.support.trace import note, recording, stage, tell, telling


def burn(milliseconds: float) -> None:
    end = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < end:
        pass


def test_stages_nest_and_end_inside_out() -> None:
    with recording() as record, stage("outer"):
        with stage("inner"):
            burn(5)
        burn(5)
    assert [(s.name, s.depth) for s in record.stages] == [("inner", 1), ("outer", 0)]
    inner, outer = record.stages
    assert 5 <= inner.cpu_ms <= outer.cpu_ms - 5


def test_without_a_recording_nothing_is_kept() -> None:
    with stage("before"):
        pass
    with recording() as record:
        pass
    with stage("after"):
        pass
    assert record.stages == []


def test_totals_add_up_equal_names() -> None:
    with recording() as record:
        note("compile", 2.0, 3.0)
        note("link", 1.0, 1.0)
        note("compile", 4.0, 5.0)
    assert record.totals() == {"compile": 6.0, "link": 1.0}
    assert record.table().splitlines() == ["      6.0 ms  compile", "      1.0 ms  link"]


def test_a_failing_stage_is_recorded() -> None:
    with recording() as record, pytest.raises(KeyError), stage("fails"):
        raise KeyError
    assert [s.name for s in record.stages] == ["fails"]


def test_recordings_nest() -> None:
    with recording() as outer:
        with recording() as inner, stage("both"):
            pass
        with stage("outer only"):
            pass
    assert [s.name for s in inner.stages] == ["both"]
    assert [s.name for s in outer.stages] == ["both", "outer only"]


def test_threads_record_where_their_context_comes_from() -> None:
    def work() -> None:
        with stage("in a thread"):
            pass

    with recording() as record:
        own = threading.Thread(target=work)
        shared = threading.Thread(target=contextvars.copy_context().run, args=(work,))
        for thread in (own, shared):
            thread.start()
            thread.join()
    assert [s.name for s in record.stages] == ["in a thread"]


def test_debug_prints_stages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with stage("quiet"):
        pass
    monkeypatch.setenv("PELTON_DEBUG", "1")
    with stage("loud"):
        pass
    printed = capsys.readouterr()
    assert "loud" in printed.err and "quiet" not in printed.err and printed.out == ""


def test_a_watcher_hears_each_stage_as_it_begins() -> None:
    heard: list[str] = []
    with recording(heard.append):
        with stage("outer"):
            assert heard == ["outer"]
            with stage("inner"):
                pass
        with recording(), stage("other"):
            pass
    with stage("after"):
        pass
    assert heard == ["outer", "inner", "other"]


def test_higher_levels_are_told_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PELTON_DEBUG", "4")
    tell(SOURCE, "source of f", "def f():")
    tell(IR, "IR", "builtin.module")
    assert capsys.readouterr().err == "pelton source of f\ndef f():\n"
    assert telling(SOURCE) and not telling(IR)
