"""Files of what each stage made: texts enter, a folder one can read top to bottom leaves.

`PELTON_DUMP=dir` makes `dir/<model>/00-input.mlir`, `01-simplify.mlir`, …, and beside them the source and the assembly
of each kernel by its name: `softmax.py`, `softmax.s`. The first line of each file is, as a comment, the command that
makes it from the file before it. `PELTON_OVERRIDE=dir` goes the other way: an edited `softmax.py` found there takes
the place of the generated one. Failures leave a reproducer by the same means.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pelton.support import knobs
from pelton.support.errors import KnobError
from pelton.support.files import write_atomically

COMMENT = {".mlir": "//", ".ptx": "//", ".cu": "//", ".py": "#", ".s": "#", ".txt": "#", ".ll": ";"}
"""How a comment starts in a file of this suffix; other files get no first line."""


@dataclass
class Dump:
    """One compilation's folder and the number of its next file; without a folder nothing is written."""

    folder: Path | None
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @classmethod
    def begin(cls, name: str) -> Dump:
        """The folder for a compilation called `name`: a fresh one, `name-2`, `name-3`, … if it was compiled before.

        Raises KnobError where it cannot be made.
        """
        root = knobs.DUMP.value()
        if root is None:
            return cls(None)
        for attempt in itertools.count(1):
            folder = root / (safe_name(name) + (f"-{attempt}" if attempt > 1 else ""))
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                if folder.is_dir():
                    continue
                raise _unusable(folder, "a file is in its place") from None
            except OSError as error:
                raise _unusable(folder, error.strerror or str(error)) from error
            return cls(folder)
        raise AssertionError("counting never ends")

    def write(self, stage: str, suffix: str, text: str | bytes, command: str = "") -> Path | None:
        """Write the next numbered file, `command` first as a comment. Returns its path, None when dumping is off."""
        return None if self.folder is None else self.beside(f"{next(self.numbers):02d}-{stage}", suffix, text, command)

    def beside(self, name: str, suffix: str, text: str | bytes, command: str = "") -> Path | None:
        """Write a file that has a name of its own, as `write` does. Raises KnobError where it cannot be written."""
        if self.folder is None:
            return None
        path = self.folder / f"{safe_name(name)}{suffix}"
        try:
            write_atomically(path, _with_command(text, suffix, command))
        except OSError as error:
            raise _unusable(path, error.strerror or str(error)) from error
        return path

    def last(self, suffix: str = ".mlir") -> str:
        """File name of the newest dump of this kind, which the next command reads; empty when there is none."""
        if self.folder is None:
            return ""
        return max((path.name for path in self.folder.glob(f"*{suffix}")), default="")


def _unusable(path: Path, reason: str) -> KnobError:
    return KnobError(f"cannot write {path}", got=reason, remedy=f"unset {knobs.DUMP.name} or choose another folder")


def _with_command(text: str | bytes, suffix: str, command: str) -> bytes:
    body = text.encode() if isinstance(text, str) else text
    mark = COMMENT.get(suffix)
    return f"{mark} {command}\n".encode() + body if command and mark else body


def safe_name(name: str) -> str:
    """`name` as a file name: other characters than letters, digits, dot, dash and underscore become underscores."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".")[:100] or "unnamed"


def edited(file_name: str) -> tuple[Path, str] | None:
    """The edited source that `PELTON_OVERRIDE` offers for a generated file, and where it stands, or None.

    Raises KnobError where the folder, or a file of that name in it, cannot be read.
    """
    folder = knobs.OVERRIDE.value()
    if folder is None:
        return None
    path = folder / file_name
    try:
        if not folder.is_dir():
            raise NotADirectoryError(None, "it is no folder")
        return (path, path.read_text()) if path.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        got = error.strerror if isinstance(error, OSError) else "it is no text"
        place = folder if isinstance(error, NotADirectoryError) else path
        raise KnobError(f"{knobs.OVERRIDE.name} names {place}, which cannot be read", got=got or str(error)) from error


def write_reproducer(name: str, files: Mapping[str, str | bytes], command: str) -> Path:
    """A folder with everything that shows a failure again: `files`, and `command` in `run.sh`.

    It lies under `PELTON_DUMP`, else under the system's folder for temporary files; the same failure, the same folder.
    Raises OSError where it cannot be written.
    """
    contents = {key: data.encode() if isinstance(data, str) else data for key, data in files.items()}
    contents["run.sh"] = f'#!/bin/sh\ncd "$(dirname "$0")" && {command}\n'.encode()
    digest = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:12]
    folder = (knobs.DUMP.value() or _private_temporary()) / f"reproducer-{safe_name(name)}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    for key, data in contents.items():
        write_atomically(folder / key, data)
    return folder


def _private_temporary() -> Path:
    """A folder for temporary files that no other user can have prepared."""
    folder = Path(tempfile.gettempdir()) / f"pelton-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder if folder.lstat().st_uid == os.getuid() and not folder.is_symlink() else Path(tempfile.mkdtemp())
