"""The thread pool: the same results however many threads share a launch; processes fork, end and fail as ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.dtype import DType
from pelton.engine import InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.program import Cost
from pelton.runtime import pool
from pelton.support.pool_words import MOST_CHUNKS
from pelton.tests.support.compiled import difference
from pelton.tests.support.process import fresh

F32, I64, CPU = DType.float32, DType.int64, DeviceRef.CPU()
COUNTS = (1, 2, 3, 8)
X = np.random.default_rng(0).standard_normal((257, 64)).astype(np.float32)


@pytest.fixture
def everything_shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Launches are cut into as many chunks as they have items, whatever they cost."""
    monkeypatch.setattr(pool, "WORTH_NS", 0)
    monkeypatch.setattr(pool, "CHUNK_NS", 1)
    yield


def layers() -> Graph:
    """Row, column and product kernels, and a transpose."""

    def build(x: Any) -> Any:
        y = ops.softmax(x) @ ops.transpose(x, 0, 1)
        return ops.gelu(y), ops.sum(x, axis=0), ops.transpose(ops.tanh(x), 0, 1)

    return Graph("layers", build, [TensorType(F32, ["n", 64], CPU)])


def gathering() -> Graph:
    kinds = [TensorType(F32, ["n", 4], CPU), TensorType(I64, ["k"], CPU)]
    return Graph("gathering", lambda x, i: ops.gather(x, i, 0), kinds)


def loaded(graph: Graph, threads: int) -> Model:
    return InferenceSession(num_threads=threads).load(graph)


@pytest.mark.usefixtures("everything_shared")
def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    models = {count: loaded(layers(), count) for count in COUNTS}
    for rows in (0, 1, 2, 33, 257):
        found = {count: [y.to_numpy() for y in model.execute(X[:rows])] for count, model in models.items()}
        assert all(not difference(got, found[1]) for got in found.values()), rows


@pytest.mark.usefixtures("everything_shared")
def test_the_lowest_index_fails_whoever_finds_it() -> None:
    indices = np.arange(5000, dtype=np.int64) % 257
    indices[[77, 78, 4000, 4999]] = 300, 301, -900, 999
    wanted = None
    for count in COUNTS:
        model = loaded(gathering(), count)
        for _ in range(20):
            with pytest.raises(RuntimeError) as caught:
                model.execute(X[:, :4].copy(), indices)
            wanted = wanted or str(caught.value)
            assert str(caught.value) == wanted and "300" in wanted
        (fine,) = model.execute(X[:, :4].copy(), indices[:77])
        assert np.array_equal(fine.to_numpy(), X[indices[:77], :4])


def test_work_is_cut_by_what_it_costs_alone() -> None:
    """Little work is not shared; much of it is cut into at most MOST_CHUNKS pieces, which cover it."""
    cost = Cost(bytes=((1, 0),))
    assert pool.step_for(1000, cost, [100]) == 0 and pool.step_for(1, cost, [10**9]) == 0
    step = pool.step_for(10**6, cost, [10**9])
    assert 1 <= -(-(10**6) // step) <= MOST_CHUNKS
    assert pool.step_for(7, cost, [10**9]) == 1


def test_python_threads_share_models_and_the_pool() -> None:
    """Eight threads, each with a model of its own and one of all: whoever finds the pool taken runs alone."""
    shared = loaded(layers(), 2)
    wanted = [y.to_numpy() for y in shared.execute(X)]
    wrong: list[str] = []

    def work(number: int) -> None:
        own = loaded(layers(), 1 + number % 3)
        for _ in range(10):
            for model in (own, shared):
                if found := difference([y.to_numpy() for y in model.execute(X)], wanted):
                    wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not wrong


SCRIPT = """
import multiprocessing, sys, zlib
import numpy as np
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
X = np.random.default_rng(0).standard_normal((512, 1024)).astype(np.float32)
def load():
    kind = TensorType(DType.float32, ["n", 1024], DeviceRef.CPU())
    return InferenceSession(num_threads=2).load(Graph("rows", lambda x: ops.softmax(ops.gelu(x)), [kind]))
def total(model):
    return zlib.crc32(model.execute(X)[0].to_numpy().tobytes())
def child(queue, model):
    queue.put(total(model or load()))
if __name__ == "__main__":
    model = load()
    sums = [total(model) for _ in range(3)]
    for way in sys.argv[1:]:
        context = multiprocessing.get_context(way)
        queue = context.Queue()
        workers = [context.Process(target=child, args=(queue, model if way == "fork" else None)) for _ in range(2)]
        for worker in workers:
            worker.start()
        sums += [queue.get(timeout=100) for _ in workers]
        for worker in workers:
            worker.join(100)
            assert worker.exitcode == 0
        sums.append(total(model))
    print(len(set(sums)), len(sums))
"""


def outcome(tmp_path: Path, script: str, *ways: str) -> str:
    """The last line that the script prints."""
    file = tmp_path / "script.py"
    file.write_text(script)
    return fresh(file, *ways, PELTON_CACHE_DIR=tmp_path / "cache").splitlines()[-1]


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_made_after_the_pool_was_used(way: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, SCRIPT, way) == "1 6"


def test_the_process_ends_while_workers_look_for_work(tmp_path: Path) -> None:
    assert outcome(tmp_path, f"{SCRIPT}    total(model)\n") == "1 3"


@pytest.mark.parametrize(("threads", "workers"), [(1, 0), (2, 1), (4, 3)])
def test_how_many_workers_there_are(threads: int, workers: int, tmp_path: Path) -> None:
    """One fewer than a session may use, since the thread that calls takes part; none before something is shared."""
    script = SCRIPT.replace("num_threads=2", f"num_threads={threads}")
    script = script.replace("    sums =", "    before = tasks()\n    sums =")
    script += "    print(tasks() - before)\n"
    tasks = "import os\ndef tasks():\n    return len(os.listdir('/proc/self/task'))\n"
    assert outcome(tmp_path, tasks + script) == str(workers)
