"""Object code kept on disk. Enters: a key (the digest of all that the code depends on) and bytes. Leaves: the bytes.

Before: `engine.py` asks here before it compiles. The cache can only save time: a damaged entry is a miss, and a folder
that cannot be used turns the cache off with one warning in the log. Any number of processes may use a folder at once:
an entry appears whole, by rename. The content is verified whenever it is read, and only this user's files are read.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from pelton.support.files import write_atomically

MAGIC = b"PELTONC1"
HASH_BYTES = 32
STALE_SECONDS = 3600


class ObjectCache:
    """A folder of entries. Made for `folder` it works whatever the state of that folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._usable: bool | None = None
        self._writable = True

    @property
    def usable(self) -> bool:
        """Whether the folder can be used; finds out, once, and warns in the log where not."""
        if self._usable is None:
            reason = _prepare(self.folder)
            self._usable = reason is None
            if reason is not None:
                _log("warning", "working without the object cache in %s: %s", self.folder, reason)
        return self._usable

    def get(self, key: str) -> bytes | None:
        """The content, or None where there is none that can be trusted."""
        if not self.usable:
            return None
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_uid != os.geteuid():
                    _log("warning", "ignoring %s: it belongs to another user", path)
                    return None
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            _log("warning", "cannot read %s: %s", path, error)
            return None
        content = data[len(MAGIC) + HASH_BYTES :]
        if data[: len(MAGIC) + HASH_BYTES] == MAGIC + _digest(key, content):
            return content
        _log("warning", "deleting %s: its content does not match its hash", path)
        self._delete(path)
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep the content. The first failure, of a full or read-only disk say, is logged and ends writing."""
        if not (self.usable and self._writable):
            return
        try:
            write_atomically(self._path(key), MAGIC + _digest(key, content) + content)
        except OSError as error:
            self._writable = False
            _log("warning", "keeping no more object code in %s: %s", self.folder, error)

    def _path(self, key: str) -> Path:
        if not key.isalnum():
            raise ValueError(f"a cache key is the hexadecimal text of a digest, got {key!r}")
        return self.folder / key

    def _delete(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log("warning", "cannot delete %s: %s", path, error)


def _log(level: str, text: str, *values: object) -> None:
    import logging  # here for start-up: most processes have nothing to say

    getattr(logging.getLogger("pelton.cache"), level)(text, *values)


def _digest(key: str, content: bytes) -> bytes:
    """Covers the key too: an entry under another's name does not pass."""
    import hashlib  # here for start-up: it loads OpenSSL

    return hashlib.blake2b(content, digest_size=HASH_BYTES, key=key.encode()[:64]).digest()


def _prepare(folder: Path) -> str | None:
    """Make the folder, for this user alone, and clear what killed writers left. None, or why it cannot be used."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if found.st_uid != os.geteuid():
            return "it belongs to another user"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write to it (mode {stat.S_IMODE(found.st_mode):o}); chmod 700 it"
        _clear_stale(folder)
    except OSError as error:
        return str(error)
    return None


def _clear_stale(folder: Path) -> None:
    """Delete temporary files that no living writer can own any more."""
    for path in folder.glob(".*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink(missing_ok=True)
        except OSError as error:
            _log("debug", "cannot clear %s: %s", path, error)
