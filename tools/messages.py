"""Messages on the command line: records of Python's logger `pelton` enter, lines on stderr leave.

Without this, Python shows warnings and worse; a level that a user asks for, below that, would be compiled in and not be
seen.
"""

from __future__ import annotations

import logging

from pelton.tools.exits import complain

NUMBERS = {"trace": 5, "debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""Python's numbers of our levels; it has no name for the first."""


class _Lines(logging.Handler):
    """A line per record on what is stderr at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        names = {number: name for name, number in NUMBERS.items()}
        complain(f"{record.name} {names.get(record.levelno, record.levelname.lower())}: {record.getMessage()}\n")


LINES = _Lines()


def show_from(level: str) -> None:
    """Show messages of this level and above; of `notset`, which a model compiles none for, those that are left."""
    logger = logging.getLogger("pelton")
    logger.setLevel(NUMBERS.get(level, NUMBERS["warning"]))
    if LINES not in logger.handlers:
        logger.addHandler(LINES)
