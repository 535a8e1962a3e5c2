"""Many threads and processes at once: loading and executing side by side, and a fork after loading."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu import contexts
from pelton.codegen.cpu.compile import compile_sources, frontend
from pelton.codegen.cpu.target import host_target
from pelton.codegen.cpu.walker import compile_walker
from pelton.codegen.source import Source
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.tests.support.process import fresh

F32, I64, CPU = DType.float32, DType.int64, DeviceRef.CPU()


def graph(number: int) -> Graph:
    """A model of its own for each number: the constant differs, so does the code."""

    def function(x: Any) -> Any:
        return ops.softmax(x @ Weight("w", F32, [16, 16], CPU) + float(number)) * float(number + 1)

    return Graph(f"g{number}", function, [TensorType(F32, ["n", 16], CPU)])


IDLE = Source("idle", "def idle(x, lo, hi, ctx):\n    x[lo] = x[lo]\n", (("x", "f32"),), ())
W = {"w": np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)}


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Threads take turns a thousand times more often than they would."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(usual)


def test_two_threads_load_and_execute_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session, an empty cache, some models the same and some not: every result is that of a lone thread."""
    session, x = InferenceSession(), np.linspace(0, 1, 80, dtype=np.float32).reshape(5, 16)
    want = [session.load(graph(k), weights_registry=W).execute(x)[0].to_numpy().tobytes() for k in range(4)]
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path))
    together = threading.Barrier(2)

    def work(first: int) -> list[bytes]:
        together.wait(60)
        loaded = [session.load(graph((first + k) % 4), weights_registry=W) for k in range(4)]
        results = [[m.execute(x)[0].to_numpy().tobytes() for m in loaded] for _ in range(20)]
        assert all(result == results[0] for result in results)
        return results[0]

    with ThreadPoolExecutor(2) as pool:
        got = [future.result(120) for future in [pool.submit(work, first) for first in (0, 1)]]
    assert got == [want, [*want[1:], want[0]]]


def test_one_text_is_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's contexts hold state of the function that is being read: whoever reads one has the lock."""
    read, held = contexts.llvm_module, list[bool]()

    def watched(*arguments: Any) -> Any:
        held.append(frontend.locked())
        return read(*arguments)

    monkeypatch.setattr(contexts, "llvm_module", watched)
    compile_walker(host_target())
    compile_sources([IDLE], host_target())
    assert held == [True] * 4  # the walker, the two texts of the thread pool, the kernel


def test_one_graph_is_loaded_by_two_threads() -> None:
    shared, x = graph(7), np.ones((2, 16), np.float32)
    with ThreadPoolExecutor(2) as pool:
        models = list(pool.map(lambda _: InferenceSession().load(shared, weights_registry=W), range(4)))
    assert len({model.execute(x)[0].to_numpy().tobytes() for model in models}) == 1


def test_one_model_in_many_threads_with_sizes_and_failures_mixed() -> None:
    """A failing call in one thread disturbs no other."""
    types = [TensorType(F32, ["n", 4], CPU), TensorType(I64, ["k"], CPU)]
    take = InferenceSession().load(Graph("take", lambda x, i: ops.gather(ops.exp(x), i, 0), types))

    def work(thread: int) -> int:
        failures = 0
        for k in range(60):
            rows = 1 + (k + thread) % 7
            x = np.full((rows, 4), k, np.float32) / 60
            index = np.array([0, rows - 1, rows if k % 5 == 0 else 0])
            try:
                (result,) = take.execute(x, index)
            except RuntimeError as error:
                failures += 1
                assert k % 5 == 0 and f"got:      {rows}" in str(error)
            else:
                np.testing.assert_allclose(result.to_numpy(), np.exp(x)[index], rtol=1e-6)
        return failures

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [12] * 4


FORKED = """
import os, sys
import numpy as np
from pelton.engine import InferenceSession
from pelton.tests.api.test_engine_threads import W, graph

x = np.ones((3, 16), np.float32)
model = InferenceSession().load(graph(1), weights_registry=W)
before = model.execute(x)[0].to_numpy().tobytes()
child = os.fork()
if child == 0:
    same = model.execute(x)[0].to_numpy().tobytes() == before
    other = InferenceSession().load(graph(int(sys.argv[1])), weights_registry=W).execute(x)[0].shape == (3, 16)
    os._exit(0 if same and other else 3)
assert model.execute(x)[0].to_numpy().tobytes() == before
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("second", [1, 2])
def test_a_fork_after_loading(second: int, tmp_path: Path) -> None:
    """The child executes what was loaded, loads it again, and compiles another model."""
    assert fresh(FORKED, second, PELTON_CACHE_DIR=tmp_path, OPENBLAS_NUM_THREADS=1) == "0\n"
