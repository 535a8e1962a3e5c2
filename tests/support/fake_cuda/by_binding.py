"""A program: the life of a driver by way of the real binding, over the fake driver as a library.

Enters: a folder. Leaves: a line per call that reached the library, on stdout.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pelton.runtime.cuda import binding, staging
from pelton.runtime.cuda.driver import CudaDriver
from pelton.support.errors import DeviceCodeError
from pelton.tests.support.fake_cuda import shared
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.library import load_library, write_library
from pelton.tests.support.fake_cuda.native import Native


def live(fake: FakeCuda) -> list[str]:
    """The calls of a driver's life, a refusal included."""
    driver = CudaDriver()
    shared.work(driver)
    try:
        driver.function(shared.PTX.replace(".target", ".torget"), "add")
    except DeviceCodeError as error:
        assert "ptxas application ptx input, line 3" in str(error), error
    driver.close()
    assert not fake.live() and not fake.leaked
    return [f"{call.name} {call.result.name}" for call in fake.calls]


def main(folder: str) -> None:
    fake = FakeCuda((9, 0), (8, 0))
    fake.kernels["add"] = shared.add
    path, native = Path(folder, "libcuda.so.1"), Native(fake)
    write_library(path)
    library = load_library(path, native.address)
    staging.HALF = shared.HALF
    assert binding.accelerator_count() == 2
    fake.calls.clear()
    live(fake)
    init, *calls = fake.calls
    assert init.name == "cuInit"
    print(*(f"{call.name} {call.result.name}" for call in calls), sep="\n")
    del library


if __name__ == "__main__":
    main(sys.argv[1])
