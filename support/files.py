"""Files, whole or not at all. Enters: a path, and bytes to write. Leaves: bytes. Artifacts, cache and dumps use it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path) -> bytes:
    """The content of a regular file: a pipe or a device could keep a reader waiting, or never end. Raises OSError."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return file.read()


def write_atomically(path: Path, data: bytes) -> None:
    """Readers see the whole file or none, even when the writer is killed: write beside it, then rename.

    What a killed writer leaves is called `.NAME.*.tmp`. Permissions are those of any new file. A device or a pipe is
    not replaced but written to. Raises OSError.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with open(path, "wb") as file:
            file.write(data)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
