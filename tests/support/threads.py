"""What tests of the thread pool share: launches cut as finely as they can be, whatever they cost, and a model's worth.

with finely_shared(): model = …; model.execute(…)
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pelton.runtime import pool


@contextmanager
def finely_shared() -> Generator[None]:
    """Every launch of two items or more is shared, an item at a time where that does not make too many chunks.

    It concerns the sizes that a model meets for the first time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "WORTH_NS", 1)
        patch.setattr(pool, "CHUNK_NS", 1)
        patch.setattr(pool, "BYTES_PER_NS", 1)
        yield


def threads_here() -> int:
    """The threads of this process, Python's or not."""
    return len(list(Path("/proc/self/task").iterdir()))
