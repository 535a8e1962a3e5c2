"""Looking at a compilation: dumps and the commands in them, edited kernels, and each level of PELTON_DEBUG."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu.target import host_target
from pelton.compiler import passes_for
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.graph.value import TensorValue
from pelton.runtime.model import Model
from pelton.support.errors import KnobError
from pelton.tools import opt

F32, CPU = DType.float32, DeviceRef.CPU()
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
W = {"w": np.linspace(0, 1, 32, dtype=np.float32).reshape(8, 4)}


def perceptron() -> Graph:
    """A product with a weight, a bias, and a softmax."""
    bias = np.arange(4, dtype=np.float32)

    def layer(x: TensorValue) -> TensorValue:
        return ops.softmax(ops.relu(x @ Weight("w", F32, [8, 4], CPU) + ops.constant(bias, F32, CPU)))

    return Graph("per ceptron", layer, [TensorType(F32, ["n", 8], CPU)])


def load() -> Model:
    return InferenceSession().load(perceptron(), weights_registry=W)


def run(model: Model) -> Any:
    return model.execute(X)[0].to_numpy()


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELTON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a dump."""
    root = tmp_path_factory.mktemp("dump")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELTON_DUMP", str(root))
        load()
    return root / "per_ceptron"


def kernels(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.py"))


# PELTON_DUMP
def test_every_stage_has_a_file(dumped: Path) -> None:
    passes = ["input", *(p.name for p in passes_for(host_target().name))]
    expected = [f"{number:02d}-{name}.mlir" for number, name in enumerate(passes)]
    assert sorted(path.name for path in dumped.glob("*.mlir")) == expected
    assert len(kernels(dumped)) >= 2 and kernels(dumped) == sorted(path.stem for path in dumped.glob("*.s"))


def test_the_first_line_makes_the_file_again(
    dumped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command line, run in the folder, prints the rest of its file."""
    monkeypatch.chdir(dumped)
    for path in sorted(dumped.iterdir()):
        if not path.name.startswith("00-"):
            first, _, rest = path.read_text().partition("\n")
            mark, tool, *arguments = shlex.split(first)
            assert (mark, tool) == ("//" if path.suffix == ".mlir" else "#", "pelton-opt")
            assert opt.main(arguments) == 0, first
            assert capsys.readouterr().out == rest, first


def test_without_the_knob_nothing_is_dumped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load()
    assert list(tmp_path.iterdir()) == []


# PELTON_OVERRIDE
def edit(folder: Path, into: Path) -> str:
    """A copy of the dump in which the softmax does not subtract the maximum but twice that; its name."""
    shutil.copytree(folder, into, dirs_exist_ok=True)
    (name,) = (kernel for kernel in kernels(into) if "exp" in kernel or "div" in kernel)
    text = (into / f"{name}.py").read_text()
    changed = re.sub(r"/ (\w+)", r"/ (\1 + \1)", text)
    assert changed != text, text
    (into / f"{name}.py").write_text(changed)
    return name


def test_an_edited_kernel_takes_the_place_of_the_generated_one(
    dumped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(load())
    edit(dumped, tmp_path / "edited")
    monkeypatch.setenv("PELTON_OVERRIDE", str(tmp_path / "edited"))
    np.testing.assert_array_equal(run(load()), plain / 2)
    monkeypatch.delenv("PELTON_OVERRIDE")
    np.testing.assert_array_equal(run(load()), plain)  # the cache was not told of the edited one


def test_what_is_dumped_is_what_runs(dumped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = edit(dumped, tmp_path / "edited")
    monkeypatch.setenv("PELTON_OVERRIDE", str(tmp_path / "edited"))
    monkeypatch.setenv("PELTON_DUMP", str(tmp_path / "again"))
    load()
    folder = tmp_path / "again" / "per_ceptron"
    assert (folder / f"{name}.py").read_text() == (tmp_path / "edited" / f"{name}.py").read_text()
    assert not (folder / f"{name}.s").read_text().startswith("# pelton-opt")  # no command makes it from the IR


def test_a_mistake_in_an_edited_kernel_names_its_file(
    dumped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = edit(dumped, tmp_path)
    path = tmp_path / f"{name}.py"
    path.write_text(path.read_text() + "    unheard_of(1)\n")
    monkeypatch.setenv("PELTON_OVERRIDE", str(tmp_path))
    with pytest.raises(RuntimeError, match="unheard_of") as caught:
        load()
    assert str(path) in str(caught.value)


def test_an_override_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_OVERRIDE", str(tmp_path / "nowhere"))
    with pytest.raises(KnobError, match=r"PELTON_OVERRIDE names .*nowhere"):
        load()


# PELTON_DEBUG
def told(level: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What loading and executing prints at that level, on stderr alone."""
    monkeypatch.setenv("PELTON_DEBUG", str(level))
    run(load())
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


MARKS = {
    1: r"pelton +[\d.]+ ms  passes\n",
    2: r"pelton main of per ceptron\n +ms  share  launches     GB/s  GFLOP/s  kernel\n",
    3: r"pelton choices for \w+\n  in +kernel +loops +groups +ops +result +made at +computes\n",
    4: r"pelton source of packed_matmul\ndef packed_matmul\(",
    5: r"pelton IR after fuse-groups\nbuiltin.module \{\n",
    6: r"pelton assembly of packed_matmul for \w+\n\t\.(text|file)",
}


@pytest.mark.parametrize("level", range(7))
def test_each_level_shows_what_is_below_it_too(
    level: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(level, monkeypatch, capsys)
    assert [bool(re.search(mark, text)) for mark in MARKS.values()] == [number <= level for number in MARKS]


def test_rates_of_kernels(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a product has operations; the whole is the sum of its kernels; init is told too."""
    text = told(2, monkeypatch, capsys)
    assert "pelton init of per ceptron\n" in text
    table = text.rpartition("pelton main of per ceptron\n")[2].splitlines()[1:]
    rows = [line.split() for line in table]
    flops = {row[-1]: row[4] for row in rows[:-1]}
    assert flops.pop("packed_matmul") != "-" and set(flops.values()) == {"-"}
    assert sum(float(row[0]) for row in rows[:-1]) == pytest.approx(float(rows[-1][0]), abs=0.001 * len(rows))
    assert sum(int(row[2]) for row in rows[:-1]) == int(rows[-1][2])


def test_choices_name_kernel_size_and_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(3, monkeypatch, capsys)
    line = next(line for line in text.splitlines() if re.search(r"@main +packed_matmul", line))
    assert re.search(r"@main +packed_matmul +matmul +1 +\d+ +<\[n, 4\], f32> +\S+test_compiler_sight.py:\d+ +\S", line)


def test_debugging_changes_no_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(load())
    monkeypatch.setenv("PELTON_DEBUG", "2")
    assert run(load()).tobytes() == plain.tobytes()
