"""How the tools end: variables that are wrong, output that nobody can take."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pelton.support.knobs import knobs
from pelton.tests.support.command_line import RUN, failing
from pelton.tests.support.process import ROOT
from pelton.tools.cli import main
from pelton.tools.opt import main as opt


@pytest.mark.parametrize("name", sorted(set(knobs) - {"PELTON_USE_OLD_TOP_K_KERNEL", "PELTON_CACHE_DIR"}))
def test_a_wrong_variable_is_a_matter_of_usage(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the two that are left out one takes any text, and one is what this test keeps its files in."""
    monkeypatch.setenv(name, "~nobody-of-that-name/avx3")
    for command in ("run", "explain", "compile", "bench"):
        assert f"environment variable {name}" in failing(capsys, command, "layer.mlir", code=2)
    assert opt(["layer.mlir"]) == 2
    assert f"environment variable {name}" in capsys.readouterr().err


class Failing(io.StringIO):
    """A stdout that takes nothing."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


@pytest.mark.parametrize("words", [["explain", "layer.mlir"], ["--help"], ["compile", "layer.mlir"], [*RUN]])
def test_output_that_cannot_be_written(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, told in ((OSError(errno.ENOSPC, "it is full"), "it is full"), (ValueError("it is closed"),) * 2):
        monkeypatch.setattr("sys.stdout", Failing(error))
        assert main(words) == 1
        assert capsys.readouterr().err == f"pelton: error: cannot write to standard output: {told}\n"
    monkeypatch.setattr("sys.stdout", Failing(BrokenPipeError()))
    assert main(words) == (0 if words == ["--help"] else 1)  # argparse passes over it
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stdout", None)
    assert main(words) == 1
    assert capsys.readouterr().err == "pelton: error: cannot write to standard output: Bad file descriptor\n"


def test_nothing_fails_once_more_when_python_ends(folder: Path) -> None:
    """Python writes what is left in its buffers, and complains where it cannot."""
    environ = os.environ | {"PYTHONPATH": str(ROOT / ".typing")}
    for tool in ("pelton.tools.opt layer.mlir", "pelton explain layer.mlir", "pelton --help"):
        for to, said in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            done = subprocess.run(
                f"{sys.executable} -m {tool} {to}", shell=True, env=environ, text=True, check=False, capture_output=True
            )
            assert done.returncode == 1 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr
