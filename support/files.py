"""Files, whole or not at all. Enters: a path, and bytes to write. Leaves: bytes, or an error that names the path.

Whatever a user names is read through here: models, artifacts, weights, arrays, extensions.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pelton.support.errors import PeltonError, ReadError


@contextmanager
def open_regular(path: Path, error: type[PeltonError] = ReadError) -> Generator[BinaryIO]:
    """A regular file, to be read in the block: a pipe or a device could keep a reader waiting, or never end.

    Raises `error` naming the path and why it cannot be read.
    """
    try:
        with _opened(path) as file:
            yield file
    except OSError as found:
        raise error(f"cannot read {path}: {found.strerror or found}") from found


def _opened(path: Path) -> BinaryIO:
    """Opened without waiting for whoever writes to a pipe. Raises OSError."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError as error:  # a NUL in the path, or what no file system can write
        raise OSError(errno.EINVAL, str(error)) from error
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is no regular file")


def read_file(path: Path, error: type[PeltonError] = ReadError) -> bytes:
    """The content of a regular file. Raises `error` naming the path and why it cannot be read."""
    with open_regular(path, error) as file:
        return file.read()


def no_model(path: Path) -> ReadError:
    """The error for a path of a kind that no model is read from."""
    return ReadError(
        f"{path} is of no kind that can be loaded"
        + ("; an ONNX reader does not exist yet" if path.suffix == ".onnx" else ""),
        expected="a .mlir or a .pelton file",
        got=path.suffix or "no suffix",
    )


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
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
