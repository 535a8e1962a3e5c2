"""What a launch on a GPU costs the CPU: a driver that does nothing stands for the GPU, so no GPU is needed.

Enters: a report. Leaves: a figure for each way to launch. The calls go through the real binding to a library of ours,
in a process of their own; what a real driver takes within a call comes on top.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from pelton.benchmarks.report import Figure, Report
from pelton.benchmarks.timing import measure
from pelton.runtime.cuda.driver import CudaDriver
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.library import load_library, write_library
from pelton.tests.support.fake_cuda.native import Native

ARGUMENTS = 10
TARGETS = {"a prepared launch": 1.5, "replay of a graph": 1.5, "a launch": None}  # µs
HOT = ("cuLaunchKernel", "cuGraphLaunch")
PARAMETERS = ", ".join(f".param .u64 p{number}" for number in range(ARGUMENTS))
PTX = f".version 9.0\n.target sm_90\n.visible .entry k({PARAMETERS})\n{{ ret; }}\n"


def run(report: Report, seconds: float) -> None:
    """Add the figures, or say why there are none."""
    if find_spec("cuda") is None:
        print("no figures: the package cuda-bindings is not installed")
        return
    command = (sys.executable, __file__, str(seconds))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(__file__).name} failed:\n{done.stderr}")
    for name, value in json.loads(done.stdout).items():
        report.add(Figure(f"{name}, {ARGUMENTS} arguments", value * 1e6, "CPU µs", TARGETS[name]))


def main(seconds: float) -> None:
    """Print the CPU seconds of each way to launch."""
    native = Native(FakeCuda())

    def address(name: str) -> int:
        return ctypes.cast(library.nothing, ctypes.c_void_p).value or 0 if name in HOT else native.address(name)

    with tempfile.TemporaryDirectory() as folder:
        write_library(path := Path(folder, "libcuda.so.1"))
        library = load_library(path, address)
        driver = CudaDriver()
    function, arguments = driver.function(PTX, "k"), list(range(ARGUMENTS))
    launch = driver.prepare(function, 100, 128, arguments)
    driver.begin_capture()
    graph = driver.end_capture()
    calls = {
        "a prepared launch": launch.run,
        "replay of a graph": lambda: driver.replay(graph),
        "a launch": lambda: driver.launch(function, 100, 128, arguments),
    }
    times = measure(calls, seconds)
    print(json.dumps({name: times.seconds(name) for name in calls}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
