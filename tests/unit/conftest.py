"""What tests of the command line share: a folder to run it in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pelton.tests.support.command_line import write_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path / "cache"))
    write_files(tmp_path)
    return tmp_path
