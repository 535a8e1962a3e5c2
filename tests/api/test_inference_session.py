"""InferenceSession: what it is made of, its setters, and what they are set to, one test per promise.

| promise | test |
|---|---|
| `devices` | test_devices… |
| `num_threads` | test_num_threads… |
| unknown keyword | test_an_unknown_keyword |
| environment | test_environment… |
| defaults | test_defaults |
| `gpu_profiling` | test_gpu_profiling |
| `set_mojo_log_level`, `set_log_level` | test_set_log_level |
| `set_mojo_assert_level`, `set_assert_level` | test_set_assert_level |
| `set_split_k_reduction_precision` | test_set_split_k_reduction_precision |
| `use_old_top_k_kernel` | test_use_old_top_k_kernel |
| setters affect later loads only | test_setters_affect_later_loads_only |
| `load` | test_engine_errors.py (what it refuses), test_lifetimes.py (weights), test_wrong_calls.py |
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton import engine
from pelton.driver import CPU, Device
from pelton.dtype import DType
from pelton.engine import AssertLevel, InferenceSession, LogLevel, SplitKReductionPrecision
from pelton.graph import DeviceRef, Graph, TensorType
from pelton.support import cores
from pelton.support.errors import KnobError
from pelton.support.options import Options

VARIABLES = (
    "PELTON_LOG_LEVEL",
    "PELTON_ASSERT_LEVEL",
    "PELTON_USE_OLD_TOP_K_KERNEL",
    "PELTON_ENABLE_PROFILING",
    "MODULAR_ENABLE_PROFILING",
    "PELTON_NUM_THREADS",
)
LOG_NAMES = "NOTSET, TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL"
ASSERT_NAMES = "NONE, WARN, SAFE, ALL"


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def options(session: InferenceSession) -> Options:
    return session._options


# the constructor
@pytest.mark.parametrize("given", [(), [], [CPU()], (CPU(), CPU(0), CPU(-1)), iter([CPU()]), {CPU(): 1}, {CPU()}])
def test_devices_are_deduplicated_and_hold_the_host(given: Any) -> None:
    assert InferenceSession(given).devices == InferenceSession(devices=given).devices == [CPU()]


def test_devices_keep_their_order() -> None:
    first, second = Device("gpu", 1), Device("gpu", 0)
    assert InferenceSession([first, second, first]).devices == [first, second, CPU()]
    assert InferenceSession([first, CPU(), second]).devices == [first, CPU(), second]


def test_devices_is_read_only() -> None:
    session = InferenceSession()
    session.devices.append(Device("gpu", 0))
    assert session.devices == [CPU()]
    with pytest.raises(AttributeError):
        session.devices = []  # type: ignore[misc]


@pytest.mark.parametrize("bad", [None, CPU(), "cpu", ["cpu"], [None], 0, [[CPU()]], object()])
def test_devices_that_are_none(bad: Any) -> None:
    with pytest.raises(TypeError, match="devices"):
        InferenceSession(bad)


def test_num_threads_as_given() -> None:
    assert InferenceSession([], 3).num_threads == InferenceSession(num_threads=3).num_threads == 3
    assert InferenceSession(num_threads=np.int64(4)).num_threads == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, 4097, 10**30])
def test_num_threads_that_cannot_be(bad: int) -> None:
    with pytest.raises(ValueError, match=r"num_threads(.*\n)*.*from 1 to 4096"):
        InferenceSession(num_threads=bad)


@pytest.mark.parametrize("bad", [True, False, 2.0, "2", [2], np.float32(2)])
def test_num_threads_that_are_no_int(bad: Any) -> None:
    with pytest.raises(TypeError, match="num_threads"):
        InferenceSession(num_threads=bad)


def test_num_threads_by_default_are_the_physical_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of which each may have several logical CPUs, and of those only what the process may use."""
    for cpu, siblings in enumerate(("0,4", "1,5", "2,6", "3,7") * 2):
        (tmp_path / str(cpu)).write_text(siblings + "\n")
    monkeypatch.setattr(cores, "TOPOLOGY", str(tmp_path / "{}"))
    monkeypatch.setattr(cores, "QUOTAS", ())
    for usable, count in ((range(8), 4), ([0, 4], 1), ([0, 1, 5], 2), ([3], 1), ([8, 9], 2)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, usable=usable: set(usable))
        assert InferenceSession().num_threads == count


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({}, 64),
        ({"max": "max 100000"}, 64),
        ({"max": "200000 100000"}, 2),
        ({"max": "250000 100000"}, 3),
        ({"max": "20000 100000"}, 1),
        ({"max": "9900000 100000"}, 64),
        ({"quota": "-1", "period": "100000"}, 64),
        ({"quota": "400000", "period": "100000"}, 4),
        ({"max": "damaged", "quota": "400000", "period": "100000"}, 4),
    ],
)
def test_num_threads_in_a_container_with_a_quota(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], count: int
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content + "\n")
    monkeypatch.setattr(cores, "TOPOLOGY", "/nowhere/{}")
    monkeypatch.setattr(
        cores, "QUOTAS", ((str(tmp_path / "max"),), (str(tmp_path / "quota"), str(tmp_path / "period")))
    )
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    assert InferenceSession().num_threads == count


def test_num_threads_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_NUM_THREADS", "7")
    assert InferenceSession().num_threads == 7 and InferenceSession(num_threads=2).num_threads == 2
    monkeypatch.setenv("PELTON_NUM_THREADS", "none")
    with pytest.raises(KnobError, match=r"PELTON_NUM_THREADS(.*\n)*.*from 1 to 4096"):
        InferenceSession()


def test_an_unknown_keyword() -> None:
    with pytest.raises(TypeError, match="threads"):
        InferenceSession(threads=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        InferenceSession((), 1, None)  # type: ignore[misc]


def test_defaults() -> None:
    assert options(InferenceSession()) == Options(
        AssertLevel.SAFE, LogLevel.WARNING, SplitKReductionPrecision.ACCUM, old_top_k=False, profiling="off"
    )


ENVIRONMENT: list[tuple[str, str, str, object]] = [
    ("PELTON_LOG_LEVEL", "debug", "log_level", LogLevel.DEBUG),
    ("PELTON_LOG_LEVEL", "NOTSET", "log_level", LogLevel.NOTSET),
    ("PELTON_LOG_LEVEL", "", "log_level", LogLevel.WARNING),
    ("PELTON_ASSERT_LEVEL", "All", "assert_level", AssertLevel.ALL),
    ("PELTON_USE_OLD_TOP_K_KERNEL", "1", "old_top_k", True),
    ("PELTON_USE_OLD_TOP_K_KERNEL", "No", "old_top_k", False),
    ("PELTON_ENABLE_PROFILING", "detailed", "profiling", "detailed"),
    ("MODULAR_ENABLE_PROFILING", "on", "profiling", "on"),
]


@pytest.mark.parametrize(("variable", "text", "field", "value"), ENVIRONMENT)
def test_environment_sets_where_a_session_starts(
    variable: str, text: str, field: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = InferenceSession()
    monkeypatch.setenv(variable, text)
    assert options(InferenceSession()) == Options()._replace(**{field: value})
    assert options(before) == Options(), "it is read by the constructor alone"


def test_environment_of_ours_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODULAR_ENABLE_PROFILING", "on")
    monkeypatch.setenv("PELTON_ENABLE_PROFILING", "off")
    assert options(InferenceSession()).profiling == "off"


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        ("PELTON_LOG_LEVEL", LOG_NAMES),
        ("PELTON_ASSERT_LEVEL", ASSERT_NAMES),
        ("PELTON_ENABLE_PROFILING", "off, on, detailed"),
        ("MODULAR_ENABLE_PROFILING", "off, on, detailed"),
    ],
)
def test_environment_with_a_bad_value(variable: str, names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "loud")
    with pytest.raises(TypeError, match=rf"{variable}(.*\n)*.*{names}") as caught:
        InferenceSession()
    assert isinstance(caught.value.__cause__, KeyError)


def test_environment_is_overridden_by_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (
        ("PELTON_LOG_LEVEL", "error"), ("PELTON_ASSERT_LEVEL", "all"), ("PELTON_USE_OLD_TOP_K_KERNEL", "yes"),
        ("PELTON_ENABLE_PROFILING", "on"),
    ):  # fmt: skip
        monkeypatch.setenv(name, text)
    session = InferenceSession()
    assert options(session) == Options(AssertLevel.ALL, LogLevel.ERROR, old_top_k=True, profiling="on")
    session.set_log_level("trace")
    session.set_assert_level("warn")
    session.use_old_top_k_kernel("off")
    session.gpu_profiling("off")
    assert options(session) == Options(AssertLevel.WARN, LogLevel.TRACE)


# the setters
def refused(call: Callable[[Any], object], values: list[Any], kind: type[Exception], names: str) -> None:
    """Each of `values` raises, the message lists the names, and nothing has changed."""
    session = call.__self__  # type: ignore[attr-defined]
    before = options(session)
    for value in values:
        with pytest.raises(kind) as caught:
            call(value)
        assert names in str(caught.value)
        assert kind is not TypeError or isinstance(caught.value.__cause__, KeyError)
        assert options(session) == before


def test_gpu_profiling() -> None:
    session = InferenceSession()
    for mode in ("detailed", "on", "off"):
        assert session.gpu_profiling(mode) is None and options(session).profiling == mode
    bad = ["", "ON", "yes", " on", 1, True, None, b"on", ["on"], np.array(["on", "off"])]
    refused(session.gpu_profiling, bad, ValueError, "'off', 'on', 'detailed'")


NO_LEVELS: list[Any] = ["", "loud", " info", "LogLevel.INFO", 0, 1, True, None, b"INFO", ["INFO"], 10**6000, object()]


@pytest.mark.parametrize("name", ["set_mojo_log_level", "set_log_level"])
def test_set_log_level(name: str) -> None:
    session = InferenceSession()
    call = getattr(session, name)
    for level in LogLevel:
        for text in (level, level.name, level.value, level.name.title()):
            session._options = Options(log_level=LogLevel.TRACE if level is not LogLevel.TRACE else LogLevel.INFO)
            assert call(text) is None and options(session) == Options(log_level=level)
    refused(call, [*NO_LEVELS, AssertLevel.ALL, "safe"], TypeError, LOG_NAMES)


@pytest.mark.parametrize("name", ["set_mojo_assert_level", "set_assert_level"])
def test_set_assert_level(name: str) -> None:
    session = InferenceSession()
    call = getattr(session, name)
    for level in AssertLevel:
        for text in (level, level.name, level.value, level.name.title()):
            session._options = Options(AssertLevel.ALL if level is not AssertLevel.ALL else AssertLevel.NONE)
            assert call(text) is None and options(session) == Options(level)
    refused(call, [*NO_LEVELS, LogLevel.INFO, "info"], TypeError, ASSERT_NAMES)


def test_set_split_k_reduction_precision() -> None:
    session = InferenceSession()
    for choice in reversed(SplitKReductionPrecision):
        for text in (choice, choice.name):
            session._options = Options()
            assert session.set_split_k_reduction_precision(text) is None
            assert options(session) == Options(split_k=choice)
    refused(
        session.set_split_k_reduction_precision, [*NO_LEVELS, 2, "accum", AssertLevel.ALL], TypeError, "ACCUM, OUTPUT"
    )


def test_use_old_top_k_kernel() -> None:
    session = InferenceSession()
    for text in ("true", "on", "yes", "1", "", "please", "2", "no thanks"):
        session._options = Options()
        assert session.use_old_top_k_kernel(text) is None and options(session) == Options(old_top_k=True)
    for text in ("false", "off", "no", "0", "False", "OFF", "No"):
        session._options = Options(old_top_k=True)
        assert session.use_old_top_k_kernel(text) is None and options(session) == Options()
    for bad in (True, False, 0, 1, None, b"off", ["off"]):
        with pytest.raises(TypeError, match="takes a str"):
            session.use_old_top_k_kernel(bad)  # type: ignore[arg-type]


def test_setters_affect_later_loads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a load takes is what was set before it; a model that is there is not touched."""
    seen: list[Options] = []
    compiled = engine._compiled
    monkeypatch.setattr(engine, "_compiled", lambda s, o, *rest: (seen.append(o), compiled(s, o, *rest))[1])
    session = InferenceSession()
    graph = Graph("g", lambda x: x + 1, [TensorType(DType.float32, ["n"], DeviceRef.CPU())])
    first = session.load(graph)
    session.set_assert_level("ALL")
    session.gpu_profiling("on")
    second = session.load(graph)
    session.compile(graph)
    session.set_split_k_reduction_precision("OUTPUT")
    for model in (first, second):
        assert model.execute(np.ones(2, np.float32))[0].to_numpy().tolist() == [2, 2]
    later = Options(AssertLevel.ALL, profiling="on")
    assert seen == [Options(), later, later]
    assert options(InferenceSession()) == Options(), "sessions share nothing"
