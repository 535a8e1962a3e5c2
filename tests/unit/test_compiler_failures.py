"""Compilations that fail: errors name op, line, pass and a script that shows them again; nothing half-made is left."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from pelton import compiler
from pelton.codegen.cpu import backend
from pelton.codegen.cpu import compile as object_code
from pelton.dialects.op import NnOp
from pelton.dialects.types import TensorType as IrType
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.runtime.cache import ObjectCache
from pelton.support.errors import CompileError, InternalError, KnobError, VerifyError
from pelton.tools import opt, universe

F32, CPU = DType.float32, DeviceRef.CPU()


def two_kernels() -> Graph:
    with Graph("two", input_types=[TensorType(F32, ["n", 3], CPU)]) as graph:
        x = graph.inputs[0]
        y = ops.relu(x)
        graph.output(y, ops.sum(x, axis=0))
    return graph


RELU_LINE = two_kernels.__code__.co_firstlineno + 3
HERE = f"{__file__}:{RELU_LINE}:"


def relu_of(module: ModuleOp) -> NnOp:
    return next(op for op in module.walk() if isinstance(op, NnOp) and op.name == "nn.relu")


class Stumbles(ModulePass):
    """Has a bug."""

    name = "stumbles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        relu = relu_of(op)
        raise KeyError("lost", relu.name)


class Refuses(ModulePass):
    """Says what it cannot do, at length."""

    name = "refuses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("cannot do this:\n" + str(op) * 50)


class Objects(ModulePass):
    """Raises our own error, which knows all but the pass."""

    name = "objects"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise CompileError("too dark", op="nn.relu", location="own.py:1", expected="light", got="night")


class Spoils(ModulePass):
    """Leaves IR that is wrong, and no pass after it minds."""

    name = "spoils"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        relu_of(op).results[0]._type = IrType((7,), relu_of(op).result_type.dtype)


class Trips(ModulePass):
    """Fails where the IR is wrong."""

    name = "trips"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise AssertionError("this cannot be")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def failure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CompileError]:
    """The error of loading `two_kernels` with these passes before the real ones."""

    def load(*passes: type[ModulePass]) -> CompileError:
        real = compiler.passes_for
        monkeypatch.setattr(compiler, "passes_for", lambda *a: [*(kind() for kind in passes), *real(*a)])
        offered: dict[str, Callable[[], type[ModulePass]]] = {kind.name: lambda kind=kind: kind for kind in passes}
        table = universe.opt_passes() | offered
        monkeypatch.setattr(universe, "opt_passes", lambda: table)
        with pytest.raises(RuntimeError) as caught:
            InferenceSession().load(two_kernels())
        assert isinstance(caught.value, CompileError)
        assert len(str(caught.value)) < 1500
        return caught.value

    return load


def test_a_bug_in_a_pass_names_the_op_and_the_users_line(failure: Callable[..., CompileError]) -> None:
    error = failure(Stumbles)
    assert isinstance(error, InternalError) and isinstance(error.__cause__, KeyError)
    assert error.details.op.startswith("%") and "nn.relu" in error.details.op
    assert error.details.location.startswith(HERE) and error.details.stage == "stumbles"
    assert "KeyError" in error.details.got and "test_compiler_failures.py" in error.details.got


def test_a_long_refusal_is_cut(failure: Callable[..., CompileError]) -> None:
    error = failure(Refuses)
    assert isinstance(error.__cause__, PassFailedException) and error.details.stage == "refuses"
    assert error.message.startswith("cannot do this: builtin.module") and len(error.message) <= 300


def test_our_own_errors_keep_what_they_say(failure: Callable[..., CompileError]) -> None:
    error = failure(Objects)
    known = error.details
    assert (error.message, known.op, known.location) == ("too dark", "nn.relu", "own.py:1")
    assert (known.expected, known.got, known.stage) == ("light", "night", "objects")


@pytest.mark.parametrize("passes", [(Spoils,), (Spoils, Trips), (Spoils, compiler.Simplify, Trips)])
def test_the_pass_that_broke_the_ir_is_named(
    failure: Callable[..., CompileError], passes: tuple[type[ModulePass], ...]
) -> None:
    """Not the one that stumbled over it, nor the check at the end."""
    error = failure(*passes)
    assert isinstance(error, VerifyError) and error.details.stage == "spoils"
    assert "nn.relu" in error.details.op and error.details.location.startswith(HERE)
    assert "infers !nn.tensor<[n, 3], f32>, its results say !nn.tensor<[7], f32>" in error.message


def test_the_replay_shows_the_failure_again(
    failure: Callable[..., CompileError], capsys: pytest.CaptureFixture[str]
) -> None:
    error = failure(compiler.Simplify, Refuses, Stumbles)
    script = Path(error.details.replay)
    assert {path.name for path in script.parent.iterdir()} == {"input.mlir", "run.sh"} and str(script) in str(error)
    change, _, command = script.read_text().splitlines()[1].partition(" && ")
    assert change == 'cd "$(dirname "$0")"'
    tool, file, *options = shlex.split(command)
    assert tool == "pelton-opt" and options == ["-p", "simplify,refuses"]  # no further than needed
    assert opt.main([str(script.parent / file), *options]) == opt.FAILED
    assert "cannot do this" in capsys.readouterr().err


def test_a_replay_that_cannot_be_written_hides_nothing(
    failure: Callable[..., CompileError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    error = failure(Objects)
    assert error.message == "too dark" and not error.details.replay


def test_a_bad_knob_is_no_bug(failure: Callable[..., CompileError], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_DUMP", "/proc/nowhere")
    with pytest.raises(KnobError, match="unset PELTON_DUMP"):
        InferenceSession().load(two_kernels())


def test_sizes_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    """In a text; a graph does not take them."""
    small = Graph("huge", lambda x: ops.broadcast_to(x, [7777, 7777]), [TensorType(F32, [1], CPU)])
    (tmp_path / "huge.mlir").write_text(str(small).replace("7777", str(2**40)))
    with pytest.raises(RuntimeError, match="leave 64 bits") as caught:
        InferenceSession().load(tmp_path / "huge.mlir")
    assert isinstance(caught.value.__cause__, OverflowError) and "broadcast_to" in str(caught.value)


# kernels
def intact(cache: Path) -> list[str]:
    """The keys in a cache folder; fails where there is anything that is no whole entry."""
    names = sorted(path.name for path in cache.iterdir())
    assert all(ObjectCache(cache).get(name) is not None for name in names), names
    return names


def test_a_kernel_that_cannot_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> object:
        raise ValueError("no words for it")

    monkeypatch.setattr(backend, "cpu_source", refuse)
    with pytest.raises(CompileError, match="no words for it") as caught:
        InferenceSession().load(two_kernels())
    text = str(caught.value)
    assert "numba-cpu of kernel relu" in text and HERE in text and isinstance(caught.value.__cause__, ValueError)
    assert "-t 'numba-cpu{cpu=" in Path(caught.value.details.replay).read_text()


def test_a_failed_load_leaves_whole_entries_and_no_model(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """The first kernel is kept, the second fails; once it can be compiled, the rest is."""
    real: Any = object_code.compile_sources
    seen: list[str] = []

    def second_fails(sources: Any, target: Any) -> Any:
        seen.extend(source.name for source in sources)
        if len(seen) == 2:
            raise MemoryError("no room")
        return real(sources, target)

    with monkeypatch.context() as patch:
        patch.setattr(object_code, "compile_sources", second_fails)
        with pytest.raises(RuntimeError, match="no room") as caught:
            InferenceSession().load(two_kernels())
    assert f"asm of kernel {seen[1]}" in str(caught.value) and f"{__file__}:" in str(caught.value)
    assert len(intact(cache)) == 1
    x = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
    outputs = InferenceSession().load(two_kernels()).execute(x)
    np.testing.assert_array_equal(outputs[0].to_numpy(), np.maximum(x, 0))
    np.testing.assert_array_equal(outputs[1].to_numpy(), x.sum(0, keepdims=True))
    assert len(intact(cache)) == 4  # two kernels, the walker, the model


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["replace", "write"])
def test_a_full_disk_costs_the_cache_and_nothing_else(
    step: str, monkeypatch: pytest.MonkeyPatch, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        if step == "replace":
            patch.setattr(os, "replace", full)
        else:
            patch.setattr("pelton.runtime.cache.write_atomically", full)
        model = InferenceSession().load(two_kernels())
    assert model.execute(np.ones((1, 3), np.float32))[0].shape == (1, 3)
    assert list(cache.iterdir()) == []
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "No space left" in caplog.text


@pytest.mark.parametrize("place", ["/proc/nowhere", "file/in/the/way"])
def test_a_cache_folder_that_cannot_be_made(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path / place))
    model = InferenceSession().load(two_kernels())
    assert model.execute(np.ones((1, 3), np.float32))[0].shape == (1, 3)
    assert "working without the object cache" in caplog.text
