"""Every `.mlir` file under tests/lit is one test; plain `lit tests/lit` runs the same files the same way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pelton.tests.support.lit_inprocess import NeedsShell, run_file

LIT = Path(__file__).parent / "lit"
FILES = sorted(path for path in LIT.rglob("*.mlir") if "Inputs" not in path.parts)


def lit(*paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from lit.main import main; main()", "-a", "--no-progress-bar", *map(str, paths)],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LIT)))
def test_lit(path: Path) -> None:
    try:
        failure = run_file(path)
    except NeedsShell:
        done = lit(path)
        failure = done.stdout + done.stderr if done.returncode else None
    assert failure is None, failure


def test_plain_lit_runs_the_same_files() -> None:
    done = lit(LIT / "tools")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Passed: {len(list((LIT / 'tools').rglob('*.mlir')))}" in done.stdout


def test_a_wrong_expectation_fails(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text('// RUN: pelton-opt %s | filecheck %s\n// CHECK: test.absent\n"test.op"() : () -> ()\n')
    failure = run_file(path)
    assert failure is not None and "test.absent" in failure


def test_a_command_that_should_fail_and_does_not(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text('// RUN: not pelton-opt %s\n"test.op"() : () -> ()\n')
    assert "exited with 0" in (run_file(path) or "")


def test_other_commands_go_to_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "shell.mlir"
    path.write_text('// RUN: pelton-opt %s > %t\n"test.op"() : () -> ()\n')
    with pytest.raises(NeedsShell):
        run_file(path)
