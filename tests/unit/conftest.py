"""What unit tests share: a folder to run the command line in, GPUs that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pelton.runtime.cuda import binding, staging
from pelton.runtime.cuda.driver import CudaDriver
from pelton.tests.support.command_line import write_files
from pelton.tests.support.fake_cuda import shared
from pelton.tests.support.fake_cuda.driver import FakeCuda


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path / "cache"))
    write_files(tmp_path)
    return tmp_path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """A machine with two GPUs, and small pinned buffers."""
    monkeypatch.setattr(staging, "HALF", shared.HALF)
    found = FakeCuda((9, 0), (8, 0))
    found.kernels["add"] = shared.add
    monkeypatch.setattr(binding, "load", lambda: found)
    return found


@pytest.fixture
def driver(fake: FakeCuda) -> CudaDriver:
    """The first of them, with no calls on record."""
    found = CudaDriver()
    fake.calls.clear()
    return found
