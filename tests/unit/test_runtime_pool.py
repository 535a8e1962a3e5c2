"""The thread pool: which launches it shares and how, and how it lives with forks, few cores, the end of a process."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.program import Cost
from pelton.program_builder import ProgramBuilder
from pelton.runtime import pool
from pelton.runtime.pool import ALONE, Sharing, Threads, step_for
from pelton.support.pool_words import LINE, MOST_CHUNKS, SIZE, PoolWord
from pelton.tests.support.process import fresh
from pelton.tests.support.threads import finely_shared

F32, I64, CPU = DType.float32, DType.int64, DeviceRef.CPU()
LARGE = Cost(bytes=((1 << 30,),))


@pytest.mark.parametrize(
    ("items", "cost", "step"),
    [
        (1, LARGE, 0),  # nothing to share
        (0, LARGE, 0),
        (2, LARGE, 1),
        (1000, LARGE, 1),
        (MOST_CHUNKS + 1, LARGE, 2),
        (100, Cost(), 0),  # nobody knows what it costs
        (100, Cost(bytes=((pool.WORTH_NS * pool.BYTES_PER_NS - 1,),)), 0),
        (100, Cost(bytes=((pool.WORTH_NS * pool.BYTES_PER_NS,),)), 34),
        (100, Cost(flops=((10 * pool.CHUNK_NS * pool.FLOPS_PER_NS,),)), 10),
        (100, Cost(bytes=((7, 1),)), 0),  # 7 × 3 bytes
        (100, Cost(bytes=((1 << 28, 1),)), 1),
    ],
)
def test_steps_follow_from_sizes(items: int, cost: Cost, step: int) -> None:
    assert step_for(items, cost, [items, 3]) == step


def test_no_number_of_threads_changes_a_step() -> None:
    b = ProgramBuilder()
    x = b.argument()
    b.launch("large", b.const(1000), [x], cost=LARGE)
    b.launch("small", b.const(1000), [x], cost=Cost(bytes=((8,),)))
    program = b.finish()
    values = [0] * program.slots
    values[program.body[3]] = 1000
    assert {tuple(Sharing(program, Threads(n, 0)).steps(values)) for n in (2, 3, 64)} == {(1, 0)}
    assert not any(Sharing(program, ALONE).steps(values))


def test_words_that_threads_contend_for_have_lines_of_their_own() -> None:
    lines = [word // LINE for word in (PoolWord.LOCK, PoolWord.KERNEL, PoolWord.TICKET, PoolWord.DONE, PoolWord.WAKES)]
    assert len(set(lines)) == len(lines) and max(PoolWord) < SIZE and len(set(PoolWord)) == len(PoolWord)


def softmax(threads: int | None) -> Model:
    with Graph("softmax", input_types=[TensorType(F32, ["m", "n"], CPU)]) as graph:
        graph.output(ops.softmax(graph.inputs[0].tensor))
    return InferenceSession(num_threads=threads).load(graph)


def pick(threads: int) -> Model:
    with Graph("pick", input_types=[TensorType(F32, ["m", "n"], CPU), TensorType(I64, ["k"], CPU)]) as graph:
        table, rows = (value.tensor for value in graph.inputs)
        graph.output(ops.gather(table, rows, axis=0) * 2.0)
    return InferenceSession(num_threads=threads).load(graph)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_the_lowest_index_is_told_whoever_fails_first(threads: int) -> None:
    table, rng = np.ones((7, 300), np.float32), np.random.default_rng(threads)
    with finely_shared():
        model = pick(threads)
        model.execute(table, np.zeros(900, np.int64))
    for _ in range(30):
        rows = np.zeros(900, np.int64)
        bad = np.sort(rng.choice(900, 40, replace=False))
        rows[bad] = rng.integers(7, 1000, 40)
        with pytest.raises(RuntimeError) as caught:
            model.execute(table, rows)
        assert f"{rows[bad[0]]} at element {bad[0]}" in str(caught.value)
        assert (model.execute(table, rows * 0)[0].to_numpy() == 2).all()


def test_callers_that_find_the_pool_taken_run_alone() -> None:
    """Eight threads of Python execute one model that shares all its launches, and one of each's own."""
    inputs = [np.random.default_rng(k).standard_normal((64, 100 + k), np.float32) for k in range(8)]
    alone = softmax(1)
    want = [alone.execute(x)[0].to_numpy().tobytes() for x in inputs]
    wrong: list[int] = []
    with finely_shared():
        shared = softmax(3)
        own = [softmax(k % 3 + 2) for k in range(8)]

        def work(k: int) -> None:
            buffer = Buffer.from_numpy(inputs[k])
            for _ in range(150):
                wrong.extend(k for m in (shared, own[k]) if m.execute(buffer)[0].to_numpy().tobytes() != want[k])

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


HEAD = """
import os, sys, warnings
import numpy as np
from pelton.tests.unit.test_runtime_pool import softmax
from pelton.tests.support.threads import threads_here
warnings.simplefilter("ignore", DeprecationWarning)  # Python does not like forks of processes with threads; we do
x = np.random.default_rng(0).standard_normal((512, 1000), np.float32)
"""


def test_threads_start_with_the_first_launch_that_is_worth_them() -> None:
    printed = fresh(
        HEAD + "before = threads_here()\n"
        "small, model, more = x[:2], softmax(3), softmax(4)\n"
        "for m, a in ((model, small), (model, x), (model, x), (more, x), (softmax(2), x), (softmax(1), x)):\n"
        "    m.execute(a); print(threads_here() - before)"
    )
    assert printed.split() == ["0", "2", "2", "3", "3", "3"]


def test_one_cpu_means_no_workers() -> None:
    printed = fresh(
        "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + HEAD + "before = threads_here()\n"
        "model = softmax(None)\nmodel.execute(x)\nprint(threads_here() - before)"
    )
    assert printed.split() == ["0"]


def test_a_forked_child_makes_workers_of_its_own() -> None:
    """Parents fork while their workers run; children of children too; no result is another."""
    code = (
        "from threading import Thread\n"
        "model = softmax(3)\n"
        "want = model.execute(x)[0].to_numpy().tobytes()\n"
        "def check(): assert model.execute(x)[0].to_numpy().tobytes() == want\n"
        "busy = [Thread(target=lambda: [check() for _ in range(60)]) for _ in range(2)]\n"
        "for thread in busy: thread.start()\n"
        "for generation in range(6):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        assert threads_here() == 1\n"
        "        check(); check()\n"
        "        assert threads_here() == 3\n"
        "        grandchild = os.fork()\n"
        "        if grandchild == 0:\n"
        "            check(); os._exit(7)\n"
        "        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "    check()\n"
        "for thread in busy: thread.join()\n"
    )
    assert fresh(HEAD + code).split() == ["7"] * 6


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing(method: str) -> None:
    code = (
        "import multiprocessing, pelton.tests.unit.test_runtime_pool as here\n"
        "model = softmax(3); model.execute(x)\n"
        f"with multiprocessing.get_context('{method}').Pool(2) as workers:\n"
        "    for got in workers.map(here.result_of, range(4)): print(got == here.result_of(0))\n"
    )
    assert fresh(HEAD + code).split() == ["True"] * 4


def result_of(_: int) -> bytes:
    """What a worker of multiprocessing computes with three threads."""
    x = np.random.default_rng(0).standard_normal((512, 1000), np.float32)
    return softmax(3).execute(x)[0].to_numpy().tobytes()


@pytest.mark.parametrize("end", ["", "sys.exit()", "import threading; threading.Thread(target=lambda: None).start()"])
def test_a_process_ends_while_its_workers_look_for_work(end: str) -> None:
    code = f"model = softmax(8)\nfor _ in range(20): model.execute(x)\nprint(threads_here() > 7)\n{end}"
    for _ in range(2):
        assert fresh(HEAD + code).split() == ["True"]


def test_workers_sleep_and_are_woken() -> None:
    code = (
        "import time\nfrom pelton.runtime.pool import _pool\nfrom pelton.support.pool_words import PoolWord\n"
        "model = softmax(4)\nwant = model.execute(x)[0].to_numpy().tobytes()\n"
        "for _ in range(10):\n"
        "    while _pool[0][PoolWord.SLEEPING] != 3: time.sleep(0.001)\n"
        "    wakes = _pool[0][PoolWord.WAKES]\n"
        "    assert model.execute(x)[0].to_numpy().tobytes() == want\n"
        "    print(_pool[0][PoolWord.WAKES] - wakes)\n"
    )
    assert fresh(HEAD + code).split() == ["1"] * 10


def test_workers_compute_in_the_modes_of_the_thread_that_launches() -> None:
    """Another library may let a thread flush subnormal numbers to zero, or round in another way, at any time."""
    code = (
        "import ctypes\n"
        "FLUSH, DOWN = 0x8040, 0x2000\n"
        "class Modes(ctypes.Structure): _fields_ = [('x87', ctypes.c_byte * 28), ('mxcsr', ctypes.c_uint32)]\n"
        "libm, modes = ctypes.CDLL('libm.so.6'), Modes()\n"
        "libm.fegetenv(ctypes.byref(modes)); usual = modes.mxcsr\n"
        "def results(m):\n"
        "    got = set()\n"
        "    for added in (0, FLUSH, DOWN):\n"
        "        modes.mxcsr = usual | added; libm.fesetenv(ctypes.byref(modes))\n"
        "        got |= {(added, m.execute(x)[0].to_numpy().tobytes()) for _ in range(5)}\n"
        "    modes.mxcsr = usual; libm.fesetenv(ctypes.byref(modes))\n"
        "    return got\n"
        "x[:, ::2] = -90\n"
        "alone, shared = softmax(1), softmax(3)\n"
        "shared.execute(x)\n"
        "want = results(alone)\n"
        "print(len(want), len({bits for _, bits in want}), results(shared) == want)\n"
    )
    assert fresh(HEAD + code).split() == ["3", "3", "True"]


def test_workers_leave_signals_to_the_program() -> None:
    """A signal that the program blocks to wait for it stays pending; a change of user reaches all threads."""
    code = (
        "import signal, time\nfrom pathlib import Path\n"
        "from pelton.runtime.pool import _pool\nfrom pelton.support.pool_words import PoolWord\n"
        "def masks(): return {int(t.name): int((t / 'status').read_text().split('SigBlk:')[1].split()[0], 16)\n"
        "                     for t in Path('/proc/self/task').iterdir()}\n"
        "before = masks()\n"
        "softmax(4).execute(x)\n"
        "while _pool[0][PoolWord.SLEEPING] != 3: time.sleep(0.001)\n"
        "blocked = [{n for n in range(1, 65) if mask >> n - 1 & 1} for t, mask in masks().items() if t not in before]\n"
        "print(len(blocked))\n"
        "signals = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM, signal.SIGPROF}\n"
        "print(all(signals <= mask and signal.SIGSEGV not in mask for mask in blocked))\n"
        "os.setuid(os.getuid())\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
        "print(masks() and signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, ()))\n"
    )
    assert fresh(HEAD + code).split() == ["3", "True", "True"]
