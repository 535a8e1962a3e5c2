"""Where the CUDA driver's functions come from, what is said without one, what a cubin must have, what codes mean."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pelton.runtime.cuda import binding, errors
from pelton.runtime.cuda.code import damage
from pelton.runtime.cuda.driver import CudaDriver
from pelton.support.errors import DeviceCodeError, DeviceError, PeltonError
from pelton.tests.support.fake_cuda import by_binding, types
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.shared import PTX
from pelton.tests.support.process import fresh


# ---- a driver, or none
def test_nothing_is_loaded_before_it_is_called() -> None:
    code = "import pelton.engine, {}, sys; print(*[name for name in sys.modules if name.startswith({!r})])"
    assert fresh(code.format("pelton.runtime.cuda.driver", "cuda")).strip() == ""
    assert fresh(code.format("pelton.driver", "pelton.runtime.cuda")).strip() == ""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Libraries that can be loaded, by name; the module's functions under "api"."""
    found: dict[str, Any] = {binding.LIBRARY: None, "api": FakeCuda((9, 0), (9, 0))}

    def load(name: str) -> Any:
        if name not in found:
            raise OSError(f"{name}: cannot open shared object file")
        return found[name]

    def imported(name: str) -> Any:
        if "api" not in found:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return found["api"]

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(binding, "import_module", imported)
    return found


def test_devices_are_counted(library: dict[str, Any]) -> None:
    assert binding.accelerator_count() == 2
    assert binding.load() is library["api"]


def test_without_a_library_there_is_no_accelerator(library: dict[str, Any]) -> None:
    del library[binding.LIBRARY]
    assert binding.accelerator_count() == 0
    with pytest.raises(DeviceError, match=r"no accelerator: the NVIDIA driver library libcuda.so.1 cannot be l"):
        CudaDriver()


def test_without_the_package_there_is_no_accelerator(library: dict[str, Any]) -> None:
    del library["api"]
    assert binding.accelerator_count() == 0
    with pytest.raises(DeviceError, match=r"the package cuda-bindings cannot be imported[\s\S]*pip install 'pelton"):
        CudaDriver()


def test_a_driver_that_does_not_start_is_no_accelerator(library: dict[str, Any]) -> None:
    api: FakeCuda = library["api"]
    api.fails = lambda number, name: types.CUresult.CUDA_ERROR_NO_DEVICE if name == "cuInit" else None
    assert binding.accelerator_count() == 0
    with pytest.raises(DeviceError, match=r"cuInit of libcuda.so.1 fails: CUDA_ERROR_NO_DEVICE \(100\): no device"):
        CudaDriver()
    api.fails = lambda number, name: types.CUresult.CUDA_ERROR_UNKNOWN if name == "cuDeviceGetCount" else None
    assert binding.accelerator_count() == 0


def test_a_library_that_is_something_else_is_no_accelerator(library: dict[str, Any]) -> None:
    def other(flags: int) -> None:
        raise RuntimeError("Failed to get __cuGetProcAddress_v2")

    library["api"] = SimpleNamespace(cuInit=other)
    assert binding.accelerator_count() == 0
    with pytest.raises(DeviceError, match=r"libcuda.so.1 cannot be used \(Failed to get"):
        CudaDriver()


# ---- what the fake claims
def test_the_names_and_numbers_are_those_of_the_binding() -> None:
    real = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    for name, members in {"CUresult": types.CUresult, "CUgraphNodeType": types.CUgraphNodeType, **types.ENUMS}.items():
        assert {m.name: int(m) for m in members} == {m.name: int(getattr(getattr(real, name), m.name)) for m in members}
    assert set(errors.MEANINGS) <= set(real.CUresult.__members__)


def test_the_real_binding_makes_the_same_calls(fake: FakeCuda, tmp_path: Path) -> None:
    """In a process where a library of ours stands for the driver, of which the binding knows nothing."""
    pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    assert fresh(Path(by_binding.__file__), tmp_path).splitlines() == by_binding.live(fake)


# ---- codes
@pytest.mark.parametrize(("name", "meaning"), errors.MEANINGS.items())
def test_every_code_has_its_exception_and_remedy(name: str, meaning: errors.Meaning) -> None:
    status = SimpleNamespace(name=name)
    assert errors.meaning_of(status) is meaning
    assert meaning.remedy and issubclass(meaning.error, PeltonError)


# ---- cubins
@pytest.fixture(scope="module")
def cubin() -> bytes:
    """What ptxas makes of the text."""
    return pytest.importorskip("pelton.codegen.cuda.compile", reason="numba-cuda is not installed").assemble(PTX)


def test_a_cubin_that_was_cut_anywhere_is_damaged(cubin: bytes) -> None:
    assert damage(cubin) == ""
    whole = [size for size in range(len(cubin)) if not damage(cubin[:size])]
    assert not whole


def test_what_is_no_cubin_is_damaged(cubin: bytes) -> None:
    other = cubin[:18] + struct.pack("<H", 62) + cubin[20:]
    for code in (b"", b"\x7fELF", b"PK" + cubin[2:], other, PTX.encode()):
        assert damage(code)
    far = cubin[:40] + struct.pack("<Q", 1 << 63) + cubin[48:]
    assert "bytes" in damage(far)


def test_cubins_are_loaded_on_their_own_architecture(fake: FakeCuda, driver: CudaDriver, cubin: bytes) -> None:
    loadable = cubin + PTX.encode()  # the fake driver reads texts
    assert [parameter.size for parameter in driver.function(loadable, "add").parameters] == [8, 8, 4, 4]
    with pytest.raises(DeviceCodeError, match="the cubin of add is damaged: it has") as caught:
        driver.function(cubin[:-1], "add")
    assert "compile the model again" in str(caught.value)
    assert fake.names().count("cuModuleLoadData") == 1
    with pytest.raises(DeviceCodeError, match=r"NO_BINARY_FOR_GPU \(209\)[\s\S]*the cubin of add[\s\S]*compile"):
        CudaDriver(1).function(loadable, "add")
