"""pelton.driver: devices. Buffers have a file of their own.

| promise | test |
|---|---|
| `CPU(id=0)` | test_the_host, test_ids_that_are_none |
| `Accelerator(id=-1)`, `accelerator_count()`, `accelerator_api()` | test_accelerators_say_what_was_looked_for |
| `Device` is hashable | test_hash |
| `Device` is comparable | test_comparison |
| `id`, `label`, `api` | test_the_host |
| `architecture_name` | test_architecture_name |
| `is_host` | test_is_host |
| `stats` | test_stats |
| `can_access` | test_can_access |
| `synchronize()` | test_synchronize |
| no import fails or is slow | test_importing_costs_no_compiler |
"""

from __future__ import annotations

import copy
import pickle
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pelton import driver
from pelton.driver import CPU, Accelerator, Device, accelerator_api, accelerator_count
from pelton.runtime.cuda import binding


def test_the_host() -> None:
    cpu = CPU()
    assert (cpu.id, cpu.label, cpu.api, cpu.is_host) == (0, "cpu", "cpu", True)
    assert isinstance(cpu, Device) and isinstance(cpu, CPU)
    assert cpu == CPU(0) == CPU(-1)
    assert (str(cpu), repr(cpu)) == ("cpu:0", "Device(type=cpu,id=0)")


DEVICES = [CPU(), Device("gpu", 0), Device("gpu", 1)]


def test_hash() -> None:
    assert {CPU(), CPU(0), Device("cpu", 0), Device("gpu", 1), Device("gpu", 1)} == {CPU(), Device("gpu", 1)}
    assert hash(CPU()) == hash(Device("cpu", 0)) and len(set(DEVICES)) == 3


def test_comparison() -> None:
    assert CPU() == Device("cpu", 0) and CPU() != Device("gpu", 0) and CPU() != "cpu:0"
    assert (
        sorted([DEVICES[2], DEVICES[0], DEVICES[1]]) == DEVICES
        and CPU() <= CPU()
        and not CPU() < CPU()
        and CPU() >= CPU()
    )
    with pytest.raises(TypeError, match="not supported between"):
        assert CPU() < "cpu:0"


def test_copies_and_pickles_are_equal() -> None:
    for device in DEVICES:
        for other in (pickle.loads(pickle.dumps(device)), copy.deepcopy(device), copy.copy(device)):
            assert other == device and type(other) is type(device)


def test_architecture_name() -> None:
    assert CPU().architecture_name == platform.machine()


def test_is_host() -> None:
    assert [device.is_host for device in DEVICES] == [True, False, False]


def test_stats() -> None:
    """Bytes: what the system says of its memory, within what it rounds and what changes meanwhile."""
    stats = CPU().stats
    lines = Path("/proc/meminfo").read_text().splitlines()
    total = next(int(line.split()[1]) for line in lines if line.startswith("MemTotal:"))
    assert stats["total_memory"] == total * 1024
    assert stats["total_memory"] >= stats["free_memory"] > 0


def test_can_access() -> None:
    assert [[a.can_access(b) for b in DEVICES] for a in DEVICES] == [[a is b for b in DEVICES] for a in DEVICES]
    with pytest.raises(TypeError, match="takes a Device, got str"):
        CPU().can_access("cpu")  # type: ignore[arg-type]


def test_synchronize() -> None:
    assert CPU().synchronize() is None


@pytest.mark.parametrize(
    ("bad", "error"), [(1, ValueError), (-2, ValueError), ("0", TypeError), (True, TypeError), (None, TypeError)]
)
def test_ids_that_are_none(bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        CPU(bad)


def test_devices_do_not_change() -> None:
    with pytest.raises(AttributeError):
        CPU().id = 3


def test_accelerators_say_what_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "LIBRARY", "libcuda_that_is_not_there.so.1")
    with pytest.raises(RuntimeError, match=r"libcuda_that_is_not_there\.so\.1"):
        Accelerator()
    with pytest.raises(RuntimeError, match="CPU"):
        Accelerator(0)
    with pytest.raises(TypeError):
        Accelerator("0")  # pyright: ignore[reportArgumentType]
    assert accelerator_count() == 0 and accelerator_api() == "cpu"


def test_importing_costs_no_compiler() -> None:
    code = (
        "import sys, pelton.driver;"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'numba', 'llvmlite', 'xdsl', 'ml_dtypes'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
    assert set(driver.__all__) >= {"Buffer", "CPU"}
