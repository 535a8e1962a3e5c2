"""Every environment variable pelton reads, typed: a text enters, a checked value leaves to whoever asks.

A knob is read where it is used (`knobs.DEBUG.value()`), so a change of a running process's environment takes effect
at the next read: of levels, choices and threads when the next session is made. No other file touches the environment; a
test holds that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pelton.support.errors import KnobError
from pelton.support.levels import PROFILING_MODES, AssertLevel, LogLevel

T = TypeVar("T", covariant=True)


class Knob(NamedTuple, Generic[T]):
    """One variable: `parse` turns its text into a value or raises ValueError; unset or empty gives `default`."""

    name: str
    description: str
    default: T
    expected: str
    parse: Callable[[str], T]
    aliases: tuple[str, ...] = ()

    def value(self, environ: Mapping[str, str] | None = None) -> T:
        """The value now. Raises KnobError naming the variable, what was got and what was expected."""
        environ = os.environ if environ is None else environ
        for name in (self.name, *self.aliases):
            text = environ.get(name, "").strip()
            if text:
                return self._parsed(name, text)
        return self.default

    def _parsed(self, name: str, text: str) -> T:
        try:
            return self.parse(text)
        except (ValueError, KeyError) as error:
            raise KnobError(
                f"environment variable {name} has a value it cannot have",
                expected=self.expected,
                got=repr(text),
                remedy=f"unset it or choose another value ({self.description})",
            ) from error


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    """A parser for a word from `choices`, in any case."""
    words = {choice.lower(): choice for choice in choices}
    return lambda text: words[text.lower()]


def _number(low: int, high: int) -> Callable[[str], int]:
    """A parser for a whole number between `low` and `high`, both included."""

    def parse(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise ValueError(text)
        return number

    return parse


def _switch(text: str) -> bool:
    return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}[
        text.lower()
    ]


def _not_off(text: str) -> bool:
    """True unless the text is one of the four words for no."""
    return text.lower() not in ("false", "off", "no", "0")


def _folder(text: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # "~name" of a user who is not there
        raise ValueError(text) from error


LOG_LEVELS = tuple(LogLevel.__members__)
ASSERT_LEVELS = tuple(AssertLevel.__members__)
CPU_CAPS = ("baseline", "avx2", "avx512")
GPU_TARGETS = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")
MAX_THREADS = 4096

DUMP: Knob[Path | None] = Knob(
    name="PELTON_DUMP",
    description="folder that receives the IR after every pass, and the source and assembly of each kernel",
    default=None,
    expected="the path of a folder; it is made when missing",
    parse=_folder,
)
DEBUG: Knob[int] = Knob(
    name="PELTON_DEBUG",
    description="what is told on stderr: 1 stages, 2 kernels and their rates, 3 choices, 4 source, 5 IR, 6 assembly",
    default=0,
    expected="a whole number from 0 to 6",
    parse=_number(0, 6),
)
STAGES, KERNELS, CHOICES, SOURCE, IR, ASSEMBLY = 1, 2, 3, 4, 5, 6
"""What `PELTON_DEBUG` tells from which level on."""
OVERRIDE: Knob[Path | None] = Knob(
    name="PELTON_OVERRIDE",
    description="folder of edited kernel sources that take the place of generated ones of the same file name",
    default=None,
    expected="the path of a folder",
    parse=_folder,
)
CACHE_DIR: Knob[Path | None] = Knob(
    name="PELTON_CACHE_DIR",
    description="folder of the object code cache",
    default=None,
    expected="the path of a folder; it is made when missing",
    parse=_folder,
)
NUM_THREADS: Knob[int | None] = Knob(
    name="PELTON_NUM_THREADS",
    description="worker threads for CPU kernels of a new session; by default the physical cores the process may use",
    default=None,
    expected=f"a whole number from 1 to {MAX_THREADS}",
    parse=_number(1, MAX_THREADS),
)
TARGET: Knob[str | None] = Knob(
    name="PELTON_TARGET",
    description="the best CPU instruction set to use (by default the best the host has), or the GPU to compile for "
    "where none is at hand",
    default=None,
    expected="one of " + ", ".join((*CPU_CAPS, *GPU_TARGETS)),
    parse=_one_of((*CPU_CAPS, *GPU_TARGETS)),
)
LOG_LEVEL: Knob[str] = Knob(
    name="PELTON_LOG_LEVEL",
    description="messages below this level are compiled away",
    default="WARNING",
    expected="one of " + ", ".join(LOG_LEVELS),
    parse=_one_of(LOG_LEVELS),
)
ASSERT_LEVEL: Knob[str] = Knob(
    name="PELTON_ASSERT_LEVEL",
    description="which asserts are compiled in, and whether they fail or only report",
    default="SAFE",
    expected="one of " + ", ".join(ASSERT_LEVELS),
    parse=_one_of(ASSERT_LEVELS),
)
USE_OLD_TOP_K_KERNEL: Knob[bool] = Knob(
    name="PELTON_USE_OLD_TOP_K_KERNEL",
    description="choose the old top-k kernel",
    default=False,
    expected="any text; false, off, no and 0 choose the new kernel",
    parse=_not_off,
)
ENABLE_PROFILING: Knob[str] = Knob(
    name="PELTON_ENABLE_PROFILING",
    description="profiling marks: around launches (on), copies and calls too (detailed)",
    default="off",
    expected="one of " + ", ".join(PROFILING_MODES),
    parse=_one_of(PROFILING_MODES),
    aliases=("MODULAR_ENABLE_PROFILING",),
)
INTERPRET: Knob[bool] = Knob(
    name="PELTON_INTERPRET",
    description="run every model on the interpreter of the nn dialect instead of compiled code",
    default=False,
    expected="1 or 0 (also true, false, yes, no, on, off)",
    parse=_switch,
)

knobs: dict[str, Knob[object]] = {
    knob.name: knob
    for knob in (
        DUMP,
        DEBUG,
        OVERRIDE,
        CACHE_DIR,
        NUM_THREADS,
        TARGET,
        LOG_LEVEL,
        ASSERT_LEVEL,
        USE_OLD_TOP_K_KERNEL,
        ENABLE_PROFILING,
        INTERPRET,
    )
}


def cpu_target() -> str | None:
    """The CPU instruction set that `PELTON_TARGET` names."""
    name = TARGET.value()
    return name if name in CPU_CAPS else None


def gpu_target() -> str:
    """The GPU architecture that `PELTON_TARGET` names; empty where it names none."""
    name = TARGET.value()
    return name if name in GPU_TARGETS else ""


def cache_folder() -> Path:
    """Where cached object code lives: `PELTON_CACHE_DIR`, else `pelton` in the user's cache folder."""
    chosen = CACHE_DIR.value()
    if chosen is not None:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(base) if base else Path.home() / ".cache") / "pelton"


def describe() -> str:
    """The table of all knobs as text: name, meaning, default, what is expected."""
    blocks = [
        f"{knob.name}\n  {knob.description}\n  default: {'unset' if knob.default is None else knob.default}"
        f"\n  expected: {knob.expected}"
        for knob in knobs.values()
    ]
    return "\n".join(blocks)
