"""The user's source line behind an op: the running Python stack enters, a location leaves, and is kept on the op.

The line is that of the nearest frame outside this package, so that an op made by a helper of ours still points at the
user's code.
"""

from __future__ import annotations

import sys
from itertools import islice
from os.path import dirname
from types import FrameType

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from pelton.support.texts import escaped

_OWN = dirname(__file__)
"""Frames of files in here are ours."""
_KNOWN: dict[tuple[str, int, int, int], FileLineColLoc] = {}
_KNOWN_LIMIT = 10_000


def here() -> FileLineColLoc:
    """The place of the nearest frame outside `pelton.graph`; one object per place, as most ops are made in loops."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    code = frame.f_code
    key = (code.co_filename, code.co_firstlineno, frame.f_lineno, frame.f_lasti)
    if (known := _KNOWN.get(key)) is None:
        if len(_KNOWN) >= _KNOWN_LIMIT:
            _KNOWN.clear()
        known = FileLineColLoc(StringAttr(escaped(code.co_filename)), IntAttr(frame.f_lineno), IntAttr(_column(frame)))
        _KNOWN[key] = known
    return known


def place() -> str:
    """`file.py:12:5` of the user's line, for an error raised before there is an op."""
    location = here()
    return f"{location.filename.data}:{location.line.data}:{location.column.data}"


def _column(frame: FrameType) -> int:
    """The column, from 1, of the call that is running in `frame`; 0 where Python kept none."""
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    column = positions[2] if positions else None
    return 0 if column is None else column + 1
