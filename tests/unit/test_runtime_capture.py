"""What captures are made of: launches as data, threads, memory that comes back; also of executables made by hand."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from pelton.artifact import Artifact, TensorInfo
from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.program_builder import ProgramBuilder
from pelton.runtime.capture import Captured, Obstacle
from pelton.runtime.executable import ALONE, NativeExecutable
from pelton.runtime.launches import BOUND, INPUT, NUMBER, OUTPUT, SCRATCH, Argument, LaunchRecord, Recording
from pelton.runtime.model import Model
from pelton.runtime.plan import Shapes
from pelton.runtime.walker import Frame
from pelton.support.errors import PeltonError
from pelton.tests.support import small_artifacts as small

F32 = DType.float32


def add() -> Model:
    """z[n] = x[n] + y[n]"""
    return Model(NativeExecutable(small.add(), []))


X, Y = (Buffer.from_numpy(np.array(values, np.float32)) for values in ([1, 2, 3, 4], [10, 20, 30, 40]))


FOUR = TensorInfo("z", F32, (4,))


class HandMade:
    """An executable whose runs are said beforehand: what each launches and returns. The last one repeats."""

    name = "hand made"
    devices = ALONE

    def __init__(
        self,
        *runs: tuple[Sequence[LaunchRecord], Buffer],
        output: TensorInfo = FOUR,
        obstacle: Obstacle | None = None,
        walk: Callable[[], int] = lambda: 0,
    ) -> None:
        self.inputs, self.outputs, self.obstacle = (TensorInfo("x", F32, ("n",)),), (output,), obstacle
        self.runs, self.walk = list(runs), walk

    def run(self, addresses: Sequence[int], shapes: Shapes) -> list[Buffer]:
        return [self.runs[0][1]]

    def record(self, addresses: Sequence[int], shapes: Shapes) -> Recording:
        launches, output = self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]
        self.walk()
        return Recording([output], self.walk, lambda stopped: PeltonError(str(stopped)), lambda: tuple(launches))


# launches
def arg(kind: str, which: int = 0, value: int = 0) -> Argument:
    return Argument(kind, which, value)


def test_launches_are_named_by_what_they_point_to() -> None:
    """Sizes, places in the scratch memory, and one buffer that is two inputs."""
    loaded = Model(NativeExecutable(small.square_sum(), []))
    x = Buffer.zeros((3, 7), F32)
    n, first, second = arg(NUMBER, 0, 21), arg(SCRATCH), arg(SCRATCH, 0, 128)
    assert loaded.launches(x, x) == (
        LaunchRecord("mul", (21, 1, 1), (arg(INPUT), arg(INPUT), first, n)),
        LaunchRecord("mul", (21, 1, 1), (arg(INPUT, 1), arg(INPUT, 1), second, n)),
        LaunchRecord("add", (21, 1, 1), (first, second, arg(OUTPUT), n)),
        LaunchRecord("add", (10, 1, 1), (arg(INPUT), arg(INPUT, 1), arg(OUTPUT, 1), arg(NUMBER, 0, 10))),
    )
    assert [str(launch) for launch in loaded.launches(x, x)][1:3] == [
        "mul[21x1x1](input 1, input 1, scratch + 128 bytes, 21)",
        "add[21x1x1](scratch, scratch + 128 bytes, output 0, 21)",
    ]


def test_launches_with_weights_and_copies() -> None:
    weight = Buffer.from_numpy(np.ones(4, np.float32))
    (scaled,) = Model(NativeExecutable(small.scaled(), [weight])).launches(X)
    assert scaled.arguments[:2] == (arg(INPUT), arg(BOUND, 2))
    counter = Model(NativeExecutable(small.counter(), []))
    count, copy = counter.launches(Buffer.zeros((6,), F32), X[:1])
    assert count == LaunchRecord("count", (6, 1, 1), (arg(INPUT), arg(INPUT, 1), arg(NUMBER, 0, 6)))
    assert copy == LaunchRecord("copy", (24, 1, 1), (arg(OUTPUT), arg(INPUT), arg(NUMBER, 0, 24)))


def test_both_walkers_launch_the_same() -> None:
    x = Buffer.zeros((4, 5), F32)
    native, python = (Model(NativeExecutable(small.square_sum(), [], reference=way)) for way in (False, True))
    assert native.launches(x, x) == python.launches(x, x)
    outputs = python.capture(0, x, x)
    x.to_numpy()[:] = 2
    python.replay(0, x, x)
    assert outputs[0].to_numpy().tolist() == [[8] * 5] * 4


def test_what_a_run_launches_of_a_compiled_graph() -> None:
    """Kernels have the names of their sources, which tell what they compute."""
    graph = Graph("g", lambda x: ops.softmax(x) + 1, [TensorType(F32, ["n", 8], DeviceRef.CPU())])
    loaded = InferenceSession().load(graph)
    (launch,) = loaded.launches(Buffer.zeros((5, 8), F32))
    assert launch.kernel.startswith("max_sub_exp_sum_div") and launch.grid == (5, 1, 1)
    assert launch.arguments == (arg(INPUT), arg(OUTPUT), arg(NUMBER, 0, 5))


# verification
ONE = LaunchRecord("one", (4, 1, 1), (arg(INPUT), arg(SCRATCH, 0, 64), arg(OUTPUT), arg(NUMBER, 0, 4)), (32, 1, 1), 128)
TWO = LaunchRecord("two", (1, 1, 1), ())
PLANTED: dict[str, tuple[Sequence[LaunchRecord], str]] = {
    "kernel": ([ONE, TWO._replace(kernel="tow")], r"launch 1 \(two\), kernel\n.*two, as captured\n.* tow"),
    "grid": ([ONE._replace(grid=(4, 2, 1)), TWO], r"launch 0 \(one\), grid\n.*\(4, 1, 1\).*\n.*\(4, 2, 1\)"),
    "block": ([ONE._replace(block=(64, 1, 1)), TWO], r"launch 0 \(one\), block\n.*\(32, 1, 1\).*\n.*\(64, 1, 1\)"),
    "shared": ([ONE._replace(shared_memory=256), TWO], r"launch 0 \(one\), shared memory\n.*128.*\n.*256"),
    "one less": ([ONE], r"launch 1\n.*two\[1x1x1\]\(\), as captured\n.*nothing"),
    "one more": ([ONE, TWO, ONE], r"launch 2\n.*nothing, as captured\n.*one\[4x1x1\]"),
    "order": ([TWO, ONE], r"launch 0 \(one\), kernel\n.*one, as captured\n.*two"),
    "count": ([ONE._replace(arguments=()), TWO], r"launch 0 \(one\), number of arguments\n.*4, as captured\n.*0"),
}
ARGUMENTS = {
    "another input": (0, arg(INPUT, 1), "input 0, as captured\n.*input 1"),
    "a place in an input": (0, arg(INPUT, 0, 4), r"input 0, as captured\n.*input 0 \+ 4 bytes"),
    "a weight": (0, arg(BOUND), "input 0, as captured\n.*bound 0"),
    "another place": (1, arg(SCRATCH), r"scratch \+ 64 bytes, as captured\n.*scratch$"),
    "another output": (2, arg(OUTPUT, 1), "output 0, as captured\n.*output 1"),
    "another size": (3, arg(NUMBER, 0, 5), "4, as captured\n.*5"),
}
for what, (place, other, text) in ARGUMENTS.items():
    changed = ONE._replace(arguments=(*ONE.arguments[:place], other, *ONE.arguments[place + 1 :]))
    PLANTED[what] = ([changed, TWO], rf"launch 0 \(one\), argument {place}\n.*{text}")


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_difference_is_shown(what: str) -> None:
    """The first run is captured; the second launches something else, the third the same again."""
    launches, message = PLANTED[what]
    loaded = Model(HandMade(([ONE, TWO], X), ([ONE, TWO], X), (launches, X), ([ONE, TWO], X)))
    loaded.capture(8, X)
    loaded.debug_verify_replay(8, Y)
    with pytest.raises(RuntimeError, match="than was captured under key 8: " + message):
        loaded.debug_verify_replay(8, X)
    loaded.debug_verify_replay(8, X)
    loaded.replay(8, X)


def test_outputs_of_another_type_are_shown() -> None:
    loaded = Model(HandMade(([ONE], X), ([ONE], X[:2]), ([ONE], X.view(DType.int32)), ([ONE], Y)))
    loaded.capture(8, X)
    for text in (r"\(2\), f32", r"\(4\), i32"):
        with pytest.raises(RuntimeError, match=rf"output 0\n.*\[\(4\), f32\], as captured\n.*\[{text}\]"):
            loaded.debug_verify_replay(8, X)
    loaded.debug_verify_replay(8, X)


class Exchanged(NativeExecutable):
    """Runs the first artifact when it is captured, the second from then on."""

    def __init__(self, first: Artifact, second: Artifact) -> None:
        super().__init__(first, [])
        self.recorders = [self.record, NativeExecutable(second, []).record]
        self.record = self.next

    def next(self, addresses: Sequence[int], shapes: Shapes) -> Recording:
        return self.recorders.pop(0)(addresses, shapes)


def test_another_kernel_and_another_layout_of_real_programs() -> None:
    b = ProgramBuilder()
    x, y = b.argument(), b.argument()
    n = b.dim(0, 0)
    b.launch("mul", n, [x, y, b.output(F32, [n]), n])
    product = small.add()._replace(main=b.finish())
    b = ProgramBuilder()
    x, y = b.argument(), b.argument()
    n = b.dim(0, 0)
    b.launch("add", n, [y, x, b.output(F32, [n]), n])
    turned = small.add()._replace(main=b.finish())
    for other, text in ((product, "kernel\n.*add, as captured\n.*mul"), (turned, "argument 0\n.*input 0.*\n.*input 1")):
        loaded = Model(Exchanged(small.add(), other))
        (total,) = loaded.capture(1, X, Y)
        with pytest.raises(RuntimeError, match=text):
            loaded.debug_verify_replay(1, Y, X)
        loaded.replay(1, X, Y)
        assert total.to_numpy().tolist() == [11, 22, 33, 44]


# keys, obstacles
def test_one_key_per_device() -> None:
    """A model of two devices, made by hand: one int stands for both."""
    loaded = Model(HandMade(([ONE], X), output=TensorInfo("z", F32, (4,), "gpu:0")))
    loaded.capture([1, 2], X)
    loaded.replay((1, 2), X)
    for other in (1, [2, 1]):
        with pytest.raises(RuntimeError, match=r"not captured\n.*\(1, 2\)"):
            loaded.replay(other, X)
    loaded.capture(4, X)
    loaded.replay([4, 4], X)
    loaded.release_captured_graph([4, 4])
    with pytest.raises(ValueError, match=r"one per device\n.*2\n.*got: +1"):
        loaded.replay([1], X)


def test_what_cannot_be_captured() -> None:
    obstacle = Obstacle("nn.nonzero", "how many indices it finds depends on the data", "program.py:7")
    loaded = Model(HandMade(([], X), obstacle=obstacle))
    with pytest.raises(
        RuntimeError, match=r"'hand made' cannot be captured: how many(.*\n)*.*nn.nonzero\n.*program.py:7"
    ):
        loaded.capture(1, X)
    with pytest.raises(RuntimeError, match="not captured"):
        loaded.replay(1, X)
    assert loaded.execute(X) == [X]


# memory
def living() -> int:
    """How many things there are that a capture is made of."""
    return sum(type(one) in (Captured, Frame, Recording, Buffer) for one in gc.get_objects())


def test_released_memory_is_used_again() -> None:
    """Arena, outputs, frame: nothing of a released capture stays taken."""
    loaded = Model(NativeExecutable(small.square_sum(), []))
    x = Buffer.zeros((700, 300), F32)
    places = set[int]()
    gc.collect()
    objects = 0
    for number in range(200):
        outputs = loaded.capture(number, x, x)
        places |= {output.address for output in outputs}
        del outputs
        loaded.release_captured_graph(number)
        if number == 20:
            gc.collect()
            objects = living()
    gc.collect()
    assert len(places) <= 4, "each capture took new memory"
    assert living() == objects


def test_a_model_that_goes_takes_its_captures_with_it() -> None:
    loaded = add()
    array = np.ones(4, np.float32)
    kept = weakref.ref(array)
    loaded.capture(0, Buffer.from_numpy(array), X)
    del array
    assert kept() is not None
    gc.disable()
    try:
        del loaded
        assert kept() is None, "only the cycle collector would free it"
    finally:
        gc.enable()


# threads
def joined(work: Sequence[Callable[[], None]]) -> None:
    """Run all at once; raise what the first one raised."""
    failures: list[BaseException] = []

    def guarded(part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(part,)) for part in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_threads_capture_replay_execute_and_release_at_once() -> None:
    loaded = Model(NativeExecutable(small.square_sum(), []))

    def work(key: int) -> None:
        rng = np.random.default_rng(key)
        for _ in range(10):
            m, n = rng.integers(2, 40, 2)
            x, y = (Buffer.zeros((int(m), int(n)), F32) for _ in range(2))
            z, _ = loaded.capture(key, x, y)
            for _ in range(20):
                x.to_numpy()[:] = rng.random((m, n), np.float32)
                loaded.replay(key, x, y)
                wanted = x.to_numpy() * x.to_numpy() + y.to_numpy() * y.to_numpy()
                np.testing.assert_array_equal(z.to_numpy(), wanted)
                np.testing.assert_array_equal(loaded.execute(x, y)[0].to_numpy(), wanted)
            loaded.debug_verify_replay(key, x, y)
            loaded.release_captured_graph(key)

    joined([lambda key=key: work(key) for key in range(6)])


def test_replays_of_one_key_take_turns() -> None:
    """The scratch memory of a capture serves one run at a time: no thread sees half of another one's."""
    loaded = Model(NativeExecutable(small.square_sum(), []))
    x = Buffer.from_numpy(np.full((200, 200), 3, np.float32))
    z, _ = loaded.capture(0, x, x)

    def work() -> None:
        for _ in range(100):
            loaded.replay(0, x, x)
            assert set(z.to_numpy().ravel()[::997].tolist()) == {18}

    joined([work] * 4)


def test_a_key_is_given_once() -> None:
    loaded = add()
    got, refused = list[int](), list[int]()

    def work(number: int) -> None:
        try:
            loaded.capture(1, X, Y)
            got.append(number)
        except RuntimeError as error:
            assert "captured already" in str(error)
            refused.append(number)

    joined([lambda number=number: work(number) for number in range(6)])
    assert (len(got), len(refused)) == (1, 5)
    loaded.replay(1, X, Y)


def test_a_replay_may_interrupt_itself() -> None:
    """As a signal handler does: the thread that replays a key calls it again meanwhile, and is not stuck."""
    depths: list[int] = []

    def walk() -> int:
        depths.append(len(depths))
        if len(depths) == 2:
            loaded.replay(0, X)
        return 0

    loaded = Model(HandMade(([], X), walk=walk))
    loaded.capture(0, X)
    loaded.replay(0, X)
    assert depths == [0, 1, 2]


def test_a_forked_child_replays_what_its_parent_was_replaying() -> None:
    """A lock that another thread holds at the fork, or a recording in the making, stays behind in the parent."""
    begun, end = threading.Event(), threading.Event()
    runs = 0

    def walk() -> int:
        nonlocal runs
        runs += 1
        if runs == 2 and os.getpid() == parent:  # the first is the capture's
            begun.set()
            end.wait(60)
        return 0

    parent, x, y = os.getpid(), Buffer.zeros((4,), F32), Buffer.zeros((4,), F32)
    loaded = Model(HandMade(((), y), walk=walk))
    loaded.capture(0, x)
    thread = threading.Thread(target=loaded.replay, args=(0, x))
    thread.start()
    assert begun.wait(60)
    child = os.fork()
    if child == 0:  # pragma: no cover
        signal.alarm(30)
        loaded.replay(0, x)
        loaded.replay(0, x[:])  # other objects over the same memory
        loaded.release_captured_graph(0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    end.set()
    thread.join(60)
    assert os.waitstatus_to_exitcode(status) == 0 and not thread.is_alive()
    loaded.replay(0, x)
