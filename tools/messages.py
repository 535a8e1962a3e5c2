"""Messages on the command line: records of Python's logger `pelton` enter, lines on stderr leave.

Without this, Python shows warnings and worse; a level that a user asks for, below that, would be compiled in and not be
seen.
"""

from __future__ import annotations

import logging

from pelton.support.levels import LOGGING
from pelton.tools.exits import complain


class _Lines(logging.Handler):
    """A line per record on what is stderr at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        names = {number: name for name, number in LOGGING.items()}
        complain(f"{record.name} {names.get(record.levelno, record.levelname.lower())}: {record.getMessage()}\n")


LINES = _Lines()


def show_from(level: str) -> None:
    """Show messages of this level and above; of `notset`, which a model compiles none for, those that are left."""
    logger = logging.getLogger("pelton")
    logger.setLevel(LOGGING.get(level, LOGGING["warning"]))
    if LINES not in logger.handlers:
        logger.addHandler(LINES)
