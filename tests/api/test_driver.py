"""pelton.driver: devices."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest

from pelton import driver
from pelton.driver import CPU, Accelerator, Device, accelerator_api, accelerator_count
from pelton.runtime import device as module


def test_the_host() -> None:
    cpu = CPU()
    assert (cpu.id, cpu.label, cpu.api, cpu.is_host) == (0, "cpu", "cpu", True)
    assert isinstance(cpu, Device) and isinstance(cpu, CPU)
    assert cpu == CPU(0) == CPU(-1) and hash(cpu) == hash(CPU(0)) and len({CPU(), CPU()}) == 1
    assert cpu != "cpu:0" and not cpu < CPU() and cpu <= CPU()
    assert cpu.architecture_name and cpu.can_access(CPU()) and cpu.synchronize() is None
    assert cpu.stats["total_memory"] >= cpu.stats["free_memory"] > 0
    assert (str(cpu), repr(cpu)) == ("cpu:0", "Device(type=cpu,id=0)")
    assert pickle.loads(pickle.dumps(cpu)) == cpu and copy.deepcopy(cpu) == cpu


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
    monkeypatch.setattr(module, "CUDA_DRIVER", "libcuda_that_is_not_there.so.1")
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
