"""`pelton` as a program: what it prints and writes, its exit codes, and that no file gives a traceback."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.artifact import TensorInfo
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import BufferType, DeviceRef, Graph, TensorType, ops
from pelton.tests.support.command_line import AT, RUN, W, X, failing, safetensors, save
from pelton.tests.support.process import ROOT, fresh
from pelton.tests.unit.test_support_chrome import check_document
from pelton.tools.arrays import random_array, read_npy, write_npy
from pelton.tools.cli import main


def nanoseconds(shown: tuple[str, str]) -> float:
    return float(shown[0]) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[shown[1]]


def test_run_prints_and_writes_the_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--output", "out/deep"]) == 0
    printed = capsys.readouterr().out.splitlines()
    (rows, sums) = InferenceSession().load("layer.mlir", weights_registry={"w": W}).execute(X, AT)
    np.testing.assert_array_equal(np.load("out/deep/output0.npy"), rows.to_numpy())
    np.testing.assert_array_equal(np.load("out/deep/output1.npy"), sums.to_numpy())
    assert printed[0].split() == ["output", "type", "min", "max", "mean"]
    assert printed[2].split() == ["output1", "[(3,", "1),", "f32]", "6", "38", "22"]
    assert printed[3] == "wrote 2 files to out/deep"
    assert sorted(os.listdir("out/deep")) == ["output0.npy", "output1.npy"]


def test_what_was_compiled_gives_the_same_results(folder: Path) -> None:
    assert main(["compile", "layer.mlir"]) == 0
    assert main([*RUN, "--output", "a"]) == 0
    assert main(["run", "layer.pelton", *RUN[2:], "--output", "b", "--threads", "1"]) == 0
    for name in ("output0.npy", "output1.npy"):
        assert Path(f"a/{name}").read_bytes() == Path(f"b/{name}").read_bytes()


def test_an_artifact_explains_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "layer.mlir", "-o", "made.pelton", "--target", "baseline"]) == 0
    assert "wrote made.pelton: " in (said := capsys.readouterr().out) and "for baseline" in said
    assert main(["run", "made.pelton", *RUN[2:]]) == 0
    capsys.readouterr()
    assert main(["explain", "made.pelton"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("layer for baseline: compiled, ") and "  weight w: [(4, 4), f32]\n" in said
    assert "is compiled already" in failing(capsys, "compile", "made.pelton", code=2)


def test_a_trace_shows_stages_and_launches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--trace", "plain.json"]) == 0
    assert main([*RUN, "--trace", "detailed.json", "--profiling", "detailed"]) == 0
    assert main([*RUN, "--trace", "off.json", "--profiling", "off"]) == 0
    plain, detailed, off = (
        check_document(json.loads(Path(f"{n}.json").read_text())) for n in ("plain", "detailed", "off")
    )
    kinds = [{event["cat"] for event in events} for events in (plain, detailed, off)]
    assert kinds == [{"stage", "launch"}, {"stage", "launch", "walk", "call"}, {"stage"}]
    names = {event["name"] for event in plain}
    assert names >= {"read the model", "load", "passes", "fuse-groups", "object code", "execute"}
    (execute,) = (event for event in plain if event["name"] == "execute")
    inside = [e for e in plain if e["cat"] == "launch" and e["args"]["model"] == "main of layer"]
    end = execute["ts"] + execute["dur"]
    assert inside and all(execute["ts"] <= e["ts"] and e["ts"] + e["dur"] <= end for e in inside)


def test_levels_reach_the_compiler(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compile", "layer.mlir", "-o"]
    assert main([*words, "a.pelton", "--profiling", "off"]) == 0
    assert main([*words, "b.pelton", "--profiling", "on"]) == 0
    assert "plan.mark" in Path("b.pelton").read_bytes().decode("latin1")
    assert "plan.mark" not in Path("a.pelton").read_bytes().decode("latin1")


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "columns first": np.asfortranarray,
    "bytes swapped": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "a view": lambda a: np.repeat(a, 2, axis=0)[::2],
}


def test_messages_of_the_chosen_level_are_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("pelton.model")
    numbers = {"trace": 5, "debug": 10, "info": 20}
    for level, shown in (("trace", list(numbers)), ("debug", ["debug", "info"]), ("info", ["info"]), ("warning", [])):
        assert main([*RUN, "--log-level", level]) == 0
        capsys.readouterr()
        for name, number in numbers.items():
            logger.log(number, "%s is %d", name, number)
        assert capsys.readouterr().err.splitlines() == [f"pelton.model {n}: {n} is {numbers[n]}" for n in shown]


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_layout_of_an_array_will_do(name: str, folder: Path) -> None:
    laid_out = LAYOUTS[name]
    assert main([*RUN, "--output", "plain"]) == 0
    np.save("x.npy", laid_out(X))
    np.save("at.npy", laid_out(AT))
    np.savez("w.npz", w=laid_out(W))
    assert main([*RUN, "--output", "other"]) == 0
    assert Path("plain/output0.npy").read_bytes() == Path("other/output0.npy").read_bytes()


def test_a_type_that_numpy_does_not_know_goes_through_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = "!nn.tensor<[n], bf16>"
    body = f"%y = nn.negate %x : ({t}) -> {t}\n  func.return %y : {t}"
    Path("same.mlir").write_text(f'func.func @main(%x: {t} {{nn.name = "x"}}) -> {t} {{\n  {body}\n}}\n')
    values: Any = np.array([0.5, -2, 3], ml_dtypes.bfloat16)
    np.save("x.npy", values.view("V2"))
    assert main(["run", "same.mlir", "--input", "x=x.npy", "--output", "out"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["output0", "[(3),", "bf16]", "-3", "2", "-0.5"]
    np.testing.assert_array_equal(np.load("out/output0.npy").view(ml_dtypes.bfloat16), -values)


@pytest.mark.parametrize("dtype", DType)
def test_every_type_goes_through_a_file(dtype: DType, folder: Path) -> None:
    """Nothing but the bits of random arrays, of all shapes, comes back."""
    for shape in ((), (0, 3), (2, 3)):
        array = random_array(dtype, shape, 0)
        write_npy(Path("a.npy"), array)
        again = read_npy(Path("a.npy"), TensorInfo("x", dtype, shape))
        assert again.dtype == dtype.to_numpy() and again.shape == shape and again.tobytes() == array.tobytes()


def test_weights_out_of_safetensors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"dtype": "F32", "shape": [4, 4], "data_offsets": [3, 67]}  # of any alignment
    safetensors(folder / "w.safetensors", {"__metadata__": {}, "w": entry}, b"pad" + W.tobytes())
    assert main([*RUN, "--output", "a"]) == 0
    assert main([*RUN[:3], "w.safetensors", *RUN[4:], "--output", "b"]) == 0
    assert Path("a/output0.npy").read_bytes() == Path("b/output0.npy").read_bytes()
    capsys.readouterr()
    assert "weight 'w' is in two files" in failing(capsys, *RUN, "--weights", "w.safetensors")


def test_inputs_that_are_written_are_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cpu = DeviceRef.CPU()
    types = [BufferType(DType.float32, ["n", 4], cpu), TensorType(DType.float32, ["n", 4], cpu)]
    with Graph("add", input_types=types) as graph:
        state, x = graph.inputs
        ops.buffer_store(state.buffer, ops.buffer_load(state.buffer) + x)
        graph.output()
    Path("add.mlir").write_text(str(graph))
    before = Path("x.npy").read_bytes()
    assert main(["run", "add.mlir", "--input", "input0=x.npy", "--input", "input1=x.npy", "--output", "out"]) == 0
    np.testing.assert_array_equal(np.load("out/input0.npy"), X + X)
    assert os.listdir("out") == ["input0.npy"] and Path("x.npy").read_bytes() == before


MAKE_CUSTOM = """
from pathlib import Path
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, ops
rows = TensorType(DType.float32, ["n"], DeviceRef.CPU())
graph = Graph("g", lambda x: ops.custom("triple", DeviceRef.CPU(), [x], None), [rows], custom_extensions=["my_ops.py"])
Path("custom.mlir").write_text(str(graph))
"""


def test_custom_ops_come_out_of_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "def triple(out, x):\n    for i in range(x.shape[0]):\n        out[i] = x[i] * 3.0\n"
    Path("my_ops.py").write_text(f'import pelton\n\n@pelton.register("triple", types="T[n] -> T[n]")\n{body}')
    fresh(MAKE_CUSTOM)  # this process has not seen the op before the command loads it
    save(Path("v.npy"), X[0])
    words = ["run", "custom.mlir", "--input", "input0=v.npy", "--output", "out"]
    assert "triple" in failing(capsys, *words)
    assert main([*words, "--extension", "my_ops.py"]) == 0
    np.testing.assert_array_equal(np.load("out/output0.npy"), X[0] * 3)
    assert "cannot read" in failing(capsys, *words, "--extension", "none.py")


def test_bench_measures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--dim", "n=3", "--input", "at=at.npy", "--weights", "w.npz")
    assert main(["bench", "layer.mlir", *given, "--runs", "3", "--warmup", "0"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("layer, ") and "random weights" not in said[0]
    assert [line.split()[-1] for line in said[2:4]] == ["random", "at.npy"]
    assert said[4].startswith("3 samples of ")
    for line in said[6:9]:
        low, median, high = map(nanoseconds, re.findall(r"([0-9.]+) (ns|µs|ms|s)\b", line))
        assert 0 < low <= median <= high
    assert main(["bench", "layer.mlir", "--dim", "n=0", "--dim", "k=0", "--runs", "1"]) == 0
    assert "x      [(0, 4), f32]  random" in capsys.readouterr().out


def process(*words: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PYTHONPATH": str(ROOT / ".typing")}
    command = [sys.executable, "-W", "error", "-m", "pelton", *words]
    return subprocess.run(command, env=environ, text=True, check=False, **streams)


def test_the_module_is_the_command(folder: Path) -> None:
    done = process("--version", capture_output=True)
    assert (done.returncode, done.stdout) == (0, "pelton 0.1.0\n")


def test_help_loads_nothing_heavy() -> None:
    heavy = "print(*[n for n in ('xdsl', 'numba', 'llvmlite', 'numpy', 'pelton.engine', 'json') if n in sys.modules])"
    assert fresh(f"import sys\nfrom pelton.tools import cli\ncli.main(['--help'])\n{heavy}").splitlines()[-1] == ""


def test_a_compiled_model_runs_without_the_compiler(folder: Path) -> None:
    main(["compile", "layer.mlir"])
    words = ["run", "layer.pelton", *RUN[2:]]
    loaded = "print(*[n for n in ('xdsl', 'numba') if n in sys.modules])"
    assert fresh(f"import sys\nfrom pelton.tools import cli\ncli.main({words})\n{loaded}").splitlines()[-1] == ""


def test_a_gpu_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compiled for one, run on an emulated one: from the artifact and from the graph."""
    assert main(["compile", "layer.mlir", "--target", "sm_80"]) == 0
    assert "for sm_80" in capsys.readouterr().out
    assert main(["explain", "layer.pelton"]) == 0
    assert "needs: sm_80 or later as gpu:0\n" in capsys.readouterr().out
    assert main([*RUN, "--output", "host"]) == 0
    for model, out in (("layer.pelton", "a"), ("layer.mlir", "b")):
        assert main(["run", model, *RUN[2:], "--output", out, "--device", "emulated"]) == 0
        for name in ("output0.npy", "output1.npy"):
            np.testing.assert_allclose(np.load(f"{out}/{name}"), np.load(f"host/{name}"), 1e-6)
    capsys.readouterr()
    assert "--device gpu" in failing(capsys, "run", "layer.pelton", *RUN[2:])
    assert main(["explain", "layer.mlir", "--target", "sm_90"]) == 0
    assert "layer for sm_90: " in capsys.readouterr().out
