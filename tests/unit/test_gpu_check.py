"""The prepared check of a GPU, without one: on the emulated accelerator, where NumPy is all that there is."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pelton.tests.gpu.prepare import prepare
from pelton.tests.support.lean import lean_python

MOST_BYTES = 50e6


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu") / "check"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELTON_TARGET", "")
        prepare(folder, "sm_80")
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with NumPy alone; pelton's files are those of the folder."""
    found = lean_python(tmp_path_factory.mktemp("python"), ("numpy",))
    next(found.parents[1].glob("lib/python*/site-packages/pelton")).unlink()
    return found


def check(python: Path, folder: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, output and what was written."""
    command = [python, "-m", "pelton.tests.gpu.check", "--device", "emulated", "--small", *options]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout, json.loads((folder / "check.json").read_text())


def test_it_passes(prepared: Path, python: Path) -> None:
    assert sum(file.stat().st_size for file in prepared.rglob("*") if file.is_file()) < MOST_BYTES
    status, output, found = check(python, prepared)
    assert status == 0, output
    assert {row["result"] for row in found["parts"]} == {"ok"}
    measured = {row["figure"] for row in found["figures"]}
    assert {"copy", "add", "softmax", "layer_norm", "matmul", "host cost"} <= measured
    assert "not right" not in output


def test_a_wrong_kernel_fails_it(prepared: Path, python: Path, tmp_path: Path) -> None:
    """Another model in the place of one: of the same types, with other results."""
    folder = tmp_path / "check"
    folder.mkdir()
    (folder / "pelton").symlink_to(prepared / "pelton")
    shutil.copytree(prepared / "models", folder / "models")
    shutil.copy(prepared / "models" / "add.pelton", folder / "models" / "where.pelton")
    status, output, found = check(python, folder, "--only", "elementwise")
    wrong = [row["part"] for row in found["parts"] if row["result"] == "WRONG"]
    assert (status, wrong) == (1, ["elementwise: where"])
    assert "not right: elementwise: where" in output


def test_what_was_not_tried_is_said(prepared: Path, python: Path) -> None:
    status, output, found = check(python, prepared, "--seconds", "0")
    assert status == 2
    assert {row["result"] for row in found["parts"]} == {"not tried"}
    assert "0 of" in output
