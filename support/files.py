"""Writing files. Enters: a path and bytes. Leaves: the whole file, or nothing. Artifacts, cache and dumps use it."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Readers see the whole file or none, even when the writer is killed: write beside it, then rename.

    What a killed writer leaves is called `.NAME.*.tmp`. Permissions are those of any new file. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
