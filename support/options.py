"""What a session decides about compiling: levels and choices, as values that passes take.

Enters: names from users and the environment, through `engine.py`. Leaves: `Options`, which `compiler.py` hands to the
passes and which is part of a model's cache key. No option is looked at while a model runs: each is a pass that leaves
or removes code.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from operator import index
from typing import Any, NamedTuple, TypeVar, cast

from pelton.support import knobs
from pelton.support.errors import ArgumentError, ArgumentTypeError, KnobError, shown
from pelton.support.levels import PROFILING_MODES, AssertLevel, LogLevel

E = TypeVar("E", bound=Enum)


class SplitKReductionPrecision(IntEnum):
    """How partial sums of a long matrix product are kept: in the accumulator's type, or rounded to the result's."""

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


def from_environment() -> Options:
    """The defaults, and what environment variables say instead. Raises ArgumentTypeError (TypeError) on a bad value."""
    try:
        return Options(
            assert_level=AssertLevel[knobs.ASSERT_LEVEL.value()],
            log_level=LogLevel[knobs.LOG_LEVEL.value()],
            old_top_k=knobs.USE_OLD_TOP_K_KERNEL.value(),
            profiling=knobs.ENABLE_PROFILING.value(),
        )
    except KnobError as error:
        raise ArgumentTypeError(error.message, **error.details._asdict()) from error.__cause__


def level(kind: type[E], value: object) -> E:
    """A level: a member of `kind`, or its name or value as text in any case. Raises TypeError listing the names."""
    if isinstance(value, kind):
        return value
    found = kind.__members__.get(value.upper()) if isinstance(value, str) else None
    return _unknown(kind, value) if found is None else found


def precision(value: object) -> SplitKReductionPrecision:
    """A member, or its name exactly. Raises TypeError listing the names."""
    kind = SplitKReductionPrecision
    if isinstance(value, kind):
        return value
    found = kind.__members__.get(value) if isinstance(value, str) else None
    return _unknown(kind, value) if found is None else found


def _unknown(kind: type[E], value: object) -> E:
    names = ", ".join(kind.__members__)
    raise ArgumentTypeError(
        f"{shown(value)} is no {kind.__name__}", expected=f"a {kind.__name__}, or one of {names}"
    ) from KeyError(value)


def profiling_mode(value: object) -> str:
    """One of the modes, as it is. Raises ValueError listing them."""
    if not isinstance(value, str) or value not in PROFILING_MODES:
        modes = ", ".join(map(repr, PROFILING_MODES))
        raise ArgumentError(f"{shown(value)} is no mode of profiling", expected=f"one of {modes}")
    return value


def chooses_old_top_k(mode: object) -> bool:
    """Whether the text chooses the old kernel: any does but "false", "off", "no" and "0". Raises TypeError."""
    if not isinstance(mode, str):
        raise ArgumentTypeError(f"use_old_top_k_kernel takes a str, got {type(mode).__name__}")
    return knobs.USE_OLD_TOP_K_KERNEL.parse(mode)


def thread_count(number: object) -> int | None:
    """A number of threads; for None that of PELTON_NUM_THREADS, and None where that is not set either.

    Raises TypeError on what is no int (a bool is none), ValueError on one that is no possible number of threads.
    """
    if number is None:
        return knobs.NUM_THREADS.value()
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise ArgumentTypeError(f"num_threads is an int or None, got {type(number).__name__}")
    found = index(cast(Any, number))
    if not 1 <= found <= knobs.MAX_THREADS:
        raise ArgumentError(f"num_threads cannot be {found}", expected=knobs.NUM_THREADS.expected)
    return found
