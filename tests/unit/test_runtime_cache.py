"""The object cache: right, or empty; never in the way. Alone, beside other processes, and after one was killed."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pelton.runtime import cache as module
from pelton.runtime.cache import ObjectCache
from pelton.support import files

KEY, OTHER = "ab12" * 16, "cd34" * 16


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_put_and_get(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "deep" / "cache"
    cache = ObjectCache(folder)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    cache.put(OTHER, b"")
    assert (cache.get(KEY), cache.get(OTHER)) == (b"code", b"")
    cache.put(KEY, b"newer")
    assert ObjectCache(folder).get(KEY) == b"newer"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not warnings_in(caplog)


@pytest.mark.parametrize("damage", ["flip", "short", "empty", "longer", "swap", "text"])
def test_a_damaged_entry_is_deleted_and_a_miss(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = ObjectCache(tmp_path)
    cache.put(KEY, b"code" * 100)
    cache.put(OTHER, b"other")
    path = tmp_path / KEY
    data = path.read_bytes()
    path.write_bytes(
        {
            "flip": data[:-1] + bytes([data[-1] ^ 1]),
            "short": data[:100],
            "empty": b"",
            "longer": data + b"x",
            "swap": (tmp_path / OTHER).read_bytes(),
            "text": b"hello",
        }[damage]
    )
    assert cache.get(KEY) is None
    assert not path.exists()
    assert "does not match its hash" in warnings_in(caplog)[0]
    cache.put(KEY, b"again")
    assert cache.get(KEY) == b"again" and cache.get(OTHER) == b"other"


def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    for folder in (file, file / "below", Path("/proc/nowhere")):
        caplog.clear()
        cache = ObjectCache(folder)
        cache.put(KEY, b"code")
        cache.put(KEY, b"code")
        assert cache.get(KEY) is None
        (text,) = warnings_in(caplog)
        assert "working without" in text and str(folder) in text


def test_a_folder_others_may_write_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o777)
    cache = ObjectCache(tmp_path)
    cache.put(KEY, b"code")
    assert cache.get(KEY) is None and not list(tmp_path.iterdir())
    assert "chmod 700" in warnings_in(caplog)[0]


def test_another_users_folder_or_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = ObjectCache(tmp_path)
    mine.put(KEY, b"code")
    monkeypatch.setattr(module.os, "geteuid", lambda: os.getuid() + 1)
    assert mine.get(KEY) is None
    assert ObjectCache(tmp_path).get(KEY) is None
    texts = warnings_in(caplog)
    assert len(texts) == 2 and all("another user" in text for text in texts)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_full_or_read_only_disk(
    code: int, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path)
    cache.put(KEY, b"code")
    attempts = 0

    def fail(*_: object) -> None:
        nonlocal attempts
        attempts += 1
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "replace", fail)
    cache.put(OTHER, b"code")
    cache.put(OTHER, b"code")
    assert attempts == 1 and cache.get(KEY) == b"code" and cache.get(OTHER) is None
    assert [path.name for path in tmp_path.iterdir()] == [KEY]
    (text,) = warnings_in(caplog)
    assert os.strerror(code) in text


def test_a_folder_that_vanishes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "cache"
    cache = ObjectCache(folder)
    cache.put(KEY, b"code")
    (folder / KEY).unlink()
    folder.rmdir()
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) is None and len(warnings_in(caplog)) == 1


def test_keys_cannot_leave_the_folder(tmp_path: Path) -> None:
    for key in ("../evil", "a/b", "", ".hidden"):
        with pytest.raises(ValueError, match="digest"):
            ObjectCache(tmp_path).put(key, b"")


WRITER = """
import sys
from pathlib import Path
from pelton.runtime.cache import ObjectCache
from pelton.support import files
cache = ObjectCache(Path(sys.argv[1]))
print("ready", flush=True)
for round in range(int(sys.argv[2])):
    for number in range(8):
        key = f"{number:064d}"
        found = cache.get(key)
        assert found is None or found == key.encode() * 5000, "a reader saw a part of an entry"
        cache.put(key, key.encode() * 5000)
"""


def start(folder: Path, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(rounds)], stdout=subprocess.PIPE, text=True)


def test_processes_share_a_folder(tmp_path: Path) -> None:
    writers = [start(tmp_path, 20) for _ in range(4)]
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 8


def test_a_killed_writer_leaves_nothing_that_is_read(tmp_path: Path) -> None:
    writer = start(tmp_path, 10**6)
    assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    deadline = time.monotonic() + 30
    while not (tmp_path / f"{7:064d}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    cache = ObjectCache(tmp_path)
    for number in range(8):
        key = f"{number:064d}"
        assert cache.get(key) in (None, key.encode() * 5000)


def test_what_a_killed_writer_left_is_cleared_once_it_is_old(tmp_path: Path) -> None:
    old, young = tmp_path / ".old.1.tmp", tmp_path / ".young.2.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    ObjectCache(tmp_path).get(KEY)
    assert not old.exists() and young.exists()
