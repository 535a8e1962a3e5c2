"""Weights, and how long things live: nothing is copied, nothing goes early, nothing stays.

| promise | test |
|---|---|
| NumPy, DLPack and array-interface weights are not copied | test_weights_are_read_where_they_lie |
| read-only ones neither | test_read_only_weights_are_read_where_they_lie |
| torch tensors | test_torch_weights_are_read_where_they_lie |
| weights are held by the model, and by it alone | test_a_model_holds_its_weights |
| a DLPack producer is told when its memory is free | test_a_producer_is_told_when_it_is_done |
| packed once | test_weights_are_packed_once |
| two models may share weights | test_models_share_weights |
| outputs outlive the model | test_outputs_outlive_the_model |
| a model lives while it runs | test_a_model_goes_while_another_thread_runs_it |
| nothing is freed early, nothing leaks | test_short_soaks, test_a_leak_of_machine_code_is_noticed |
"""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.tests.support.process import fresh

F32, CPU = DType.float32, DeviceRef.CPU()
ONES = np.ones((2, 8), np.float32)


class Array(np.ndarray[Any, Any]):
    """An array that weak references can watch."""


class Interface:
    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Foreign:
    """Another library's tensor, which knows DLPack and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.fixture(scope="module")
def added() -> CompiledModel:
    """x + w: the kernel reads `w` where it lies."""
    return InferenceSession().compile(
        Graph("added", lambda x: x + Weight("w", F32, [8], CPU), [TensorType(F32, ["n", 8], CPU)])
    )


@pytest.fixture(scope="module")
def packed() -> CompiledModel:
    """x @ w: `w` is packed."""
    return InferenceSession().compile(
        Graph("packed", lambda x: x @ Weight("w", F32, [8, 4], CPU), [TensorType(F32, ["n", 8], CPU)])
    )


def init(compiled: CompiledModel, weight: Any) -> Model:
    return InferenceSession().init(compiled, weights_registry={"w": weight})


def first(model: Model) -> float:
    return float(model.execute(ONES)[0].to_numpy()[0, 0])


@pytest.mark.parametrize("wrap", [np.asarray, Foreign, Interface], ids=lambda w: w.__name__)
def test_weights_are_read_where_they_lie(wrap: Any, added: CompiledModel) -> None:
    """A change is seen by the next call: there is no copy."""
    weight = np.zeros(8, np.float32)
    model = init(added, wrap(weight))
    assert first(model) == 1
    weight[:] = 5
    assert first(model) == 6


def test_read_only_weights_are_read_where_they_lie(added: CompiledModel, tmp_path: Path) -> None:
    """A file that is mapped for reading, say."""
    (tmp_path / "w").write_bytes(np.full(8, 2, np.float32).tobytes())
    weight = np.memmap(tmp_path / "w", np.float32, "r", shape=(8,))
    assert not weight.flags.writeable
    model = init(added, weight)
    assert first(model) == 3
    with open(tmp_path / "w", "r+b") as file:
        file.write(np.full(8, 4, np.float32).tobytes())
    assert first(model) == 5


def test_torch_weights_are_read_where_they_lie(added: CompiledModel) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed; any DLPack producer is tested above")
    weight = torch.zeros(8)
    model = init(added, weight)
    assert first(model) == 1
    weight += 5
    assert first(model) == 6
    assert float(torch.from_dlpack(model.execute(torch.ones(2, 8))[0])[0, 0]) == 6


@pytest.mark.parametrize("way", ["read", "packed"])
def test_a_model_holds_its_weights(way: str, added: CompiledModel, packed: CompiledModel) -> None:
    weight = np.ones((8, 4) if way == "packed" else (8,), np.float32).view(Array)
    alive = weakref.ref(weight)
    model = init(packed if way == "packed" else added, weight)
    del weight
    gc.collect()
    assert alive() is not None
    assert first(model) == (8 if way == "packed" else 2)
    del model
    gc.collect()
    assert alive() is None


def test_a_producer_is_told_when_it_is_done(added: CompiledModel) -> None:
    """As a weight, and as an input once the call is over."""
    for use in ("weight", "input"):
        array = np.ones(8 if use == "weight" else (2, 8), np.float32).view(Array)
        alive = weakref.ref(array)
        producer = Foreign(array)
        model = init(added, producer if use == "weight" else np.ones(8, np.float32))
        outputs = model.execute(ONES if use == "weight" else producer)
        del array, producer
        if use == "weight":
            assert alive() is not None
            del model
        gc.collect()
        assert alive() is None and outputs[0].to_numpy()[0, 0] == 2


def test_weights_are_packed_once(
    packed: CompiledModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is measured while it runs shows when it does."""
    monkeypatch.setenv("PELTON_DEBUG", "2")
    model = init(packed, np.ones((8, 4), np.float32))
    loading = capsys.readouterr().err
    assert loading.count("init of packed") == 1 and "main of packed" not in loading
    first(model)
    first(model)
    running = capsys.readouterr().err
    assert running.count("main of packed") == 2 and "init of" not in running


def test_models_share_weights(added: CompiledModel, packed: CompiledModel) -> None:
    """And one is not touched by the end of the other."""
    weight = np.ones((8, 4), np.float32)
    models = [init(packed, weight) for _ in range(3)] + [init(added, weight.reshape(-1)[:8])]
    del models[0]
    gc.collect()
    assert [first(model) for model in models] == [8, 8, 2]


def test_outputs_outlive_the_model(packed: CompiledModel) -> None:
    model = init(packed, np.ones((8, 4), np.float32))
    (output,) = model.execute(ONES)
    array, view = output.to_numpy(), output[:, 1:3]
    del model, output
    gc.collect()
    for _ in range(50):  # blocks that went early would be given out again here
        init(packed, np.zeros((8, 4), np.float32)).execute(ONES)
    assert (array == 8).all() and (view.to_numpy() == 8).all()


def test_a_model_goes_while_another_thread_runs_it() -> None:
    """The thread holds it only through the call; its machine code has to last that long."""
    compiled = InferenceSession().compile(Graph("long", lambda x: ops.erf(ops.exp(x)), [TensorType(F32, ["n"], CPU)]))
    x = np.linspace(-1, 1, 1 << 21, dtype=np.float32)
    want = InferenceSession().init(compiled).execute(x)[0].to_numpy().tobytes()
    models, wrong = [InferenceSession().init(compiled)], list[str]()
    alive, begun = weakref.ref(models[0]), threading.Event()

    def work() -> None:
        run = models[0].execute
        begun.set()
        for _ in range(3):
            if run(x)[0].to_numpy().tobytes() != want:
                wrong.append("other bits")

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    models.clear()
    while thread.is_alive():
        gc.collect()
    assert not wrong and alive() is None


SOAK = """
import sys, runpy
sys.argv = ["soak", *sys.argv[1:]]
try:
    runpy.run_module("pelton.tests.soak", run_name="__main__")
except SystemExit as end:
    print("ended with", end.code)
"""
LEAK = """
from pelton.runtime import loader
kept, usual = [], loader.NativeCode.__init__
def leaking(self, *parts):
    usual(self, *parts)
    kept.append(parts)
loader.NativeCode.__init__ = leaking
"""


def test_short_soaks() -> None:
    found = fresh(
        SOAK,
        "loads=300",
        "executes=20000",
        "captures=1000",
        "threads=2",
        "lifetimes=60",
    )
    assert found.count(" ok ") == 5 and found.endswith("ended with 0\n"), found


def test_a_leak_of_machine_code_is_noticed() -> None:
    found = fresh(LEAK + SOAK, "loads=100")
    assert "FAILED  memory grows" in found and found.endswith("ended with 1\n"), found
