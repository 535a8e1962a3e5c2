"""pelton-opt as a program: exit codes, streams, start-up time, and that no input gives a traceback."""

from __future__ import annotations

import importlib
import os
import resource
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from pelton.tools import opt, universe

ROOT = Path(__file__).resolve().parents[2]
GOOD = """\
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
"""


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return str(path)


def run(*arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A process of its own, for what concerns the process."""
    command = [sys.executable, "-m", "pelton.tools.opt", *arguments]
    environ = os.environ | {"PYTHONPATH": str(ROOT / ".typing")}
    return subprocess.run(command, input=data, capture_output=True, env=environ, check=False)


def install(monkeypatch: pytest.MonkeyPatch, *passes: type[ModulePass]) -> None:
    """Offer these passes besides the real ones."""

    def offered(kind: type[ModulePass]) -> Callable[[], type[ModulePass]]:
        return lambda: kind

    table = universe.opt_passes() | {kind.name: offered(kind) for kind in passes}
    monkeypatch.setattr(universe, "opt_passes", lambda: table)


class Breaks(ModulePass):
    name = "breaks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("lost")


class Refuses(ModulePass):
    name = "refuses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("cannot do this")


class Spoils(ModulePass):
    name = "spoils"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = next(inner for inner in op.walk() if inner.name == "arith.addi")
        last = next(inner for inner in op.walk() if inner.name == "arith.muli")
        first.operands[0] = last.results[0]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("-p", "csee"), 2, "unknown pass or pipeline 'csee', did you mean 'cse'?"),
        (("-p", "cse{"), 2, "Expected argument name here"),
        (("-p", "cse{deep=1}"), 2, "pass 'cse'"),
        (("-p", "cse,,dce"), 2, "Expected pass name here"),
        (("-t", "cobol"), 2, "invalid choice: 'cobol'"),
        (("-t", "mlir{"), 2, "Expected argument name here"),
        (("-t", "mlir{colour=1}"), 2, "target 'mlir'"),
        (("--no-such-flag",), 2, "unrecognized arguments"),
        (("-o", "/nowhere/at/all"), 1, "/nowhere/at/all: error: cannot write the file"),
        (("-p", "cse"), 0, ""),
    ],
)
def test_exit_codes(
    good: str, arguments: tuple[str, ...], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opt.main([good, *arguments]) == code
    printed = capsys.readouterr()
    assert text in printed.err
    assert bool(printed.out) == (code == 0)


@pytest.mark.parametrize("path", ["/nowhere/x.mlir", "/"])
def test_unreadable_files(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main([path]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: error: cannot read the file: ")


HOSTILE = {
    "empty": b"",
    "binary": bytes(range(256)) * 10,
    "not text": b'"test.op"() : () -> ()\n\xff\xfe',
    "nul": b"\x00" * 100,
    "deep regions": b'"test.op"() ({' * 5000,
    "deep types": b'"test.op"() : () -> (' + b"tuple<" * 5000,
    "deep dims": b'"test.op"() {a = ' + b"[" * 5000,
    "endless string": b'"' + b"a" * 100_000,
    "huge number": b'"test.op"() {a = ' + b"9" * 5000 + b" : i32} : () -> ()",
    "bad attribute": b'"test.op"() {a = #builtin.nothing<1>} : () -> ()',
    "undefined block": b'"test.op"()[^bb7] : () -> ()',
    "redefined value": b'%a = "test.op"() : () -> i32\n%a = "test.op"() : () -> i32',
    "wrong results": b'%a:3 = "test.op"() : () -> i32',
    "unfinished": b"func.func @f(",
    "cycle": b'%a = "test.op"(%b) : (i32) -> i32\n%b = "test.op"(%a) : (i32) -> i32',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_an_error_with_a_place(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hostile.mlir"
    path.write_bytes(HOSTILE[name])
    assert opt.main([str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{path}:") and "error: " in printed.err
    assert "Traceback" not in printed.err and "internal error" not in printed.err and printed.out == ""


def test_a_reader_that_goes_away() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "pelton.tools.opt"]
    environ = os.environ | {"PYTHONPATH": str(ROOT / ".typing")}
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(
            command, input=GOOD.encode(), stdout=pipe, stderr=subprocess.PIPE, env=environ, check=False
        )
    assert done.returncode == 1 and done.stderr == b""


def test_a_broken_pass_is_named_and_called_a_bug(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, Breaks)
    assert opt.main([good, "-p", "cse,breaks"]) == 1
    text = capsys.readouterr().err
    assert "internal error: KeyError: 'lost'" in text and "pass:     breaks" in text and "Traceback" not in text
    assert opt.main([good, "-p", "breaks", "--verify-diagnostics"]) == 1
    capsys.readouterr()
    monkeypatch.setenv("PELTON_DEBUG", "1")
    assert opt.main([good, "-p", "cse,breaks"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_pass_that_refuses(good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, Refuses)
    assert opt.main([good, "-p", "refuses"]) == 1
    text = capsys.readouterr().err
    assert "error: cannot do this" in text and "pass:     refuses" in text


def test_a_pass_that_spoils_the_ir_is_named(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, Spoils)
    assert opt.main([good, "-p", "spoils,cse"]) == 1
    text = capsys.readouterr().err
    assert text.startswith(f"{good}:2:3: error: value %c is used before it is defined")
    assert "pass:     spoils" in text


def test_timings_and_ir_between_passes_go_to_stderr(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main([good, "-p", "cse,dce", "--time-passes", "--print-between-passes"]) == 0
    printed = capsys.readouterr()
    assert "ms  cse" in printed.err and "ms  dce" in printed.err and "// IR after cse" in printed.err
    assert printed.out.startswith("builtin.module")


def test_every_piece_is_tried_and_one_failure_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pieces.mlir"
    path.write_text('"test.op"() : () -> ()\n// -----\n)\n// -----\n"test.op"() {last} : () -> ()\n')
    assert opt.main([str(path), "--split-input-file"]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{path}:3:1: error: ") and "{last}" in printed.out
    assert opt.main([str(path), "--split-input-file", "--verify-diagnostics"]) == 0
    assert f"{path}:3:1: error: " in capsys.readouterr().out


def test_output_file_is_written_only_on_success(good: str, tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    assert opt.main([good, "-o", str(target), "-p", "simplify", "-t", "numba-cpu{nothing=1}"]) == 2
    assert opt.main([str(tmp_path / "absent.mlir"), "-o", str(target)]) == 1
    (tmp_path / "bad.mlir").write_text(")")
    assert opt.main([str(tmp_path / "bad.mlir"), "-o", str(target)]) == 1
    assert not target.exists()
    assert opt.main([good, "-o", str(target)]) == 0
    assert target.read_text().startswith("builtin.module")


def test_dump(good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Running the first line of a dumped file gives that file again."""
    monkeypatch.setenv("PELTON_DUMP", str(tmp_path / "dump"))
    assert opt.main([good, "-p", "cse,dce"]) == 0
    folder = tmp_path / "dump" / "good"
    assert sorted(p.name for p in folder.iterdir()) == ["00-input.mlir", "01-cse.mlir", "02-dce.mlir"]
    command, _, body = (folder / "01-cse.mlir").read_text().partition("\n")
    assert command == "// pelton-opt 00-input.mlir -p cse"
    capsys.readouterr()
    monkeypatch.delenv("PELTON_DUMP")
    monkeypatch.chdir(folder)
    assert opt.main(command.split()[2:]) == 0
    assert capsys.readouterr().out.strip() == body.strip()


def test_pipelines(good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = {"clean": "cse,dce", "all": "clean,canonicalize", "loop": "cse,loop"}
    monkeypatch.setattr(universe, "pipelines", lambda: table)
    assert opt.main([good, "-p", "all"]) == 0
    by_pipeline = capsys.readouterr().out
    assert opt.main([good, "-p", "cse,dce,canonicalize"]) == 0
    assert capsys.readouterr().out == by_pipeline
    assert opt.main([good, "-p", "loop"]) == 2 and "contains itself" in capsys.readouterr().err
    assert opt.main([good, "-p", "clean{x=1}"]) == 2 and "has no options" in capsys.readouterr().err


def test_targets_and_their_options(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def print_target(module: ModuleOp, out: object, *, cpu: str = "host", unroll_by: int = 1) -> None:
        print(f"{len(list(module.walk()))} ops for {cpu}, {unroll_by}", file=out)  # pyright: ignore[reportArgumentType, reportCallIssue]

    module = types.ModuleType("pelton_test_target")
    module.print_target = print_target  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "pelton_test_target", module)
    monkeypatch.setitem(universe.TARGETS, "listing", "pelton_test_target:print_target")
    assert opt.main([good, "-t", "listing"]) == 0
    assert capsys.readouterr().out == "6 ops for host, 1\n"
    assert opt.main([good, "-t", "listing{cpu=avx2 unroll-by=4}"]) == 0
    assert capsys.readouterr().out == "6 ops for avx2, 4\n"
    assert opt.main([good, "-t", "listing{gpu=1}"]) == 2
    assert "has no option gpu (it has: cpu, unroll-by)" in capsys.readouterr().err


def test_help_lists_the_pipelines_there_are() -> None:
    assert set(universe.PIPELINES) == set(universe.pipelines())


@pytest.mark.parametrize("name", sorted(universe.TARGETS))
def test_every_target_can_be_loaded(name: str) -> None:
    module, _, function = universe.TARGETS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    """At most 0.5 s of CPU time, the best of three runs."""
    times: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0 and b"canonicalize" in done.stdout
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) <= 0.5, times
    code = "import sys, pelton.tools.opt as o; o.main(['--help']); print(set(sys.argv[1:]) & set(sys.modules))"
    environ = os.environ | {"PYTHONPATH": str(ROOT / ".typing")}
    command = [sys.executable, "-c", code, "numpy", "numba", "llvmlite", "pelton.compiler"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_disable_verify_does_not_outlive_the_run(good: str) -> None:
    assert opt.main([good, "--disable-verify"]) == 0
    assert opt.Attribute.__post_init__.__name__ == "__post_init__"


def test_upstream_tool_sees_our_dialects_and_passes() -> None:
    if "pelton" not in {plugin.name for plugin in entry_points(group="xdsl.universe")}:
        pytest.skip("pelton is on the path but not installed: its entry points do not exist")
    tool = Path(sys.executable).parent / "xdsl-opt"
    done = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True)
    names = "".join(done.stdout.split())
    assert all(name.replace(" ", "") in names for name in universe.our_passes())
    assert all(name in names for name in universe.TARGETS)
