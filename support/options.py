"""What a session decides about compiling: levels and choices, as values that passes take.

Enters: names from users and the environment, through `engine.py`. Leaves: `Options`, which `compiler.py` hands to the
passes and which is part of a model's cache key. No option is looked at while a model runs: each is a pass that leaves
or removes code.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple


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


class SplitKReductionPrecision(IntEnum):
    """How partial sums of a split matrix product are kept: in the accumulator's type, or rounded to the result's."""

    ACCUM = 1
    OUTPUT = 2


class Options(NamedTuple):
    """Everything about a compile that is neither in the graph nor in the target."""

    assert_level: AssertLevel = AssertLevel.SAFE
    log_level: LogLevel = LogLevel.WARNING
    split_k: SplitKReductionPrecision = SplitKReductionPrecision.ACCUM
    old_top_k: bool = False
    profiling: str = "off"
    """`off`, `on` (marks around launches) or `detailed` (also around Python calls)."""
    separate: bool = False
    """A kernel per op: slower, and the same bits."""


DEFAULTS = Options()
