"""How our commands run and end: what a tool does enters, a text on stderr and an exit code leave.

0: done. 1: it failed: a file, a model, a run, or what it prints cannot be written. 2: the command line, or a variable
of the environment, is wrong. 130: Ctrl-C. No input ends in a Python traceback; `PELTON_DEBUG=1` asks for one where
pelton itself is at fault.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from pelton.support import knobs
from pelton.support.errors import InternalError, KnobError, PeltonError, diagnostic

DONE, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The command line asks for something that does not exist, or leaves out what is needed."""


class OutputError(Exception):
    """What the tool prints cannot be written: the disk is full, or nobody opened it."""


class Output:
    """stdout, for as long as a tool runs: what cannot be written is an OutputError, what cannot be encoded is escaped.

    A reader that has gone stays a BrokenPipeError.
    """

    def __init__(self, to: TextIO | None) -> None:
        self.to = to

    def write(self, text: str) -> int:
        """The text, escaped where the encoding has no characters for it."""
        with _writing():
            if self.to is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            encoding = getattr(self.to, "encoding", None) or "utf-8"
            return self.to.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        """What is still on the way."""
        with _writing():
            if self.to is not None:
                self.to.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.to, name)


@contextmanager
def _writing() -> Generator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:  # a file that was closed is a ValueError
        raise OutputError(str(getattr(error, "strerror", None) or error)) from error


def conducted(tool: str, work: Callable[[], int]) -> int:
    """The exit code of a tool that does `work`, in an environment that is as it should be."""
    stdout = sys.stdout
    sys.stdout = Output(stdout)
    try:
        try:
            code = work()
        except SystemExit as stop:  # how argparse ends, after help or a complaint
            code = stop.code if isinstance(stop.code, int) else DONE
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return ended_by(error, tool)
    finally:
        sys.stdout = stdout
    return code


def check_environment() -> None:
    """Raises KnobError for a variable with a value that it cannot have, whether or not the tool will ask for it."""
    for knob in knobs.knobs.values():
        knob.value()


def complain(text: str) -> None:
    """Say it on stderr, if there is anybody to hear it."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text.encode("utf-8", "backslashreplace").decode())
        sys.stderr.flush()


def ended_by(error: BaseException, tool: str) -> int:
    """Say what stopped the tool and choose the exit code."""
    match error:
        case UsageError():
            complain(f"{tool}: {str(error).rstrip()}\n")
        case PeltonError():
            complain(diagnostic(error, tool) + "\n")
        case BrokenPipeError():  # whoever read our output has gone, and knows
            _abandon_stdout()
        case OutputError():
            complain(f"{tool}: error: cannot write to standard output: {error}\n")
            _abandon_stdout()
        case MemoryError():
            complain(f"{tool}: error: out of memory{f': {error}' if str(error) else ''}\n")
        case Exception():
            complain(diagnostic(internal_error(error, ""), tool) + "\n")
        case _:
            return INTERRUPTED
    return BAD_USAGE if isinstance(error, UsageError | KnobError) else FAILED


def _abandon_stdout() -> None:
    """What is left in its buffer goes nowhere, so that Python does not fail over it when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def internal_error(error: Exception, stage: str) -> InternalError:
    """A bug in pelton, in words; with `PELTON_DEBUG=1` the traceback is shown as well."""
    if knobs.DEBUG.value() >= 1:
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return InternalError(
        f"internal error: {type(error).__name__}: {error}",
        stage=stage,
        got=f"raised at {Path(where.filename).name}:{where.lineno}, in {where.name}",
        remedy="this is a bug in pelton: please report it with the input; PELTON_DEBUG=1 shows the traceback",
    )


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """Words for a name that does not exist: the one that was meant, or all there are."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f", did you mean '{near[0]}'?" if near else f" (known: {', '.join(sorted(known)) or 'none'})"
    return f"unknown {what} '{name}'{hint}"
