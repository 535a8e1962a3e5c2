"""Knobs: defaults, parsing, aliases, and the error for a bad value."""

from __future__ import annotations

from pathlib import Path

import pytest

from pelton.support import knobs
from pelton.support.errors import KnobError, PeltonError

GOOD = [
    (knobs.DEBUG, "3", 3),
    (knobs.DEBUG, " 0 ", 0),
    (knobs.NUM_THREADS, "8", 8),
    (knobs.TARGET, "AVX2", "avx2"),
    (knobs.LOG_LEVEL, "debug", "DEBUG"),
    (knobs.ASSERT_LEVEL, "All", "ALL"),
    (knobs.ENABLE_PROFILING, "Detailed", "detailed"),
    (knobs.INTERPRET, "1", True),
    (knobs.INTERPRET, "off", False),
    (knobs.USE_OLD_TOP_K_KERNEL, "False", False),
    (knobs.USE_OLD_TOP_K_KERNEL, "please", True),
    (knobs.DUMP, "/somewhere", Path("/somewhere")),
]
BAD = [
    (knobs.DEBUG, "7"),
    (knobs.DEBUG, "-1"),
    (knobs.DEBUG, "much"),
    (knobs.NUM_THREADS, "0"),
    (knobs.NUM_THREADS, "1e3"),
    (knobs.NUM_THREADS, "9" * 400),
    (knobs.TARGET, "sse9"),
    (knobs.LOG_LEVEL, "loud"),
    (knobs.ASSERT_LEVEL, "most"),
    (knobs.ENABLE_PROFILING, "yes"),
    (knobs.INTERPRET, "maybe"),
    (knobs.CACHE_DIR, "~nobody_of_that_name/cache"),
]


@pytest.mark.parametrize("knob", knobs.knobs.values(), ids=lambda knob: knob.name)
def test_unset_and_empty_give_the_default(knob: knobs.Knob[object]) -> None:
    assert knob.value({}) == knob.default
    assert knob.value({knob.name: "  "}) == knob.default


@pytest.mark.parametrize(("knob", "text", "expected"), GOOD)
def test_values(knob: knobs.Knob[object], text: str, expected: object) -> None:
    assert knob.value({knob.name: text}) == expected


@pytest.mark.parametrize(("knob", "text"), BAD)
def test_a_bad_value_names_variable_expected_and_got(knob: knobs.Knob[object], text: str) -> None:
    with pytest.raises(KnobError) as caught:
        knob.value({knob.name: text})
    message = str(caught.value)
    assert knob.name in message and repr(text) in message and knob.expected in message
    assert isinstance(caught.value, PeltonError) and isinstance(caught.value, ValueError)


def test_the_first_name_wins_over_its_alias() -> None:
    alias = {"MODULAR_ENABLE_PROFILING": "on"}
    assert knobs.ENABLE_PROFILING.value(alias) == "on"
    assert knobs.ENABLE_PROFILING.value(alias | {"PELTON_ENABLE_PROFILING": "detailed"}) == "detailed"
    with pytest.raises(KnobError, match="MODULAR_ENABLE_PROFILING"):
        knobs.ENABLE_PROFILING.value({"MODULAR_ENABLE_PROFILING": "perhaps"})


def test_a_knob_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_DEBUG", "2")
    assert knobs.DEBUG.value() == 2
    monkeypatch.delenv("PELTON_DEBUG")
    assert knobs.DEBUG.value() == 0


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path))
    assert knobs.cache_folder() == tmp_path
    monkeypatch.delenv("PELTON_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert knobs.cache_folder() == tmp_path / "xdg" / "pelton"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert knobs.cache_folder() == tmp_path / ".cache" / "pelton"


def test_the_table_describes_every_knob() -> None:
    text = knobs.describe()
    assert all(name in text and knob.description in text for name, knob in knobs.knobs.items())
    assert all(name == knob.name and name.startswith("PELTON_") for name, knob in knobs.knobs.items())
