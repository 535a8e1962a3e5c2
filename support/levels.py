"""The names of levels and modes: sessions, environment variables, passes and messages take them from here."""

from __future__ import annotations

from enum import Enum


class LogLevel(str, Enum):  # noqa: UP042  (a StrEnum's str() is another)
    """Messages at or above a session's level are compiled in. NOTSET removes all of them."""

    NOTSET = "notset"
    TRACE = "trace"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class AssertLevel(Enum):
    """Which asserts are compiled in: NONE none; WARN all, reporting instead of failing; SAFE those that guard memory or
    cost O(1) per op; ALL all of them.
    """

    NONE = "none"
    WARN = "warn"
    SAFE = "safe"
    ALL = "all"


LOGGING = {"trace": 5, "debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""The levels of messages from the lowest to the highest, with the numbers of Python's `logging`, which has no name for
the first.
"""
PROFILING_MODES = ("off", "on", "detailed")
