"""How our commands end: an exception enters, a text on stderr and an exit code leave.

0: done. 1: it failed: a file, a model or a run. 2: the command line, or a variable of the environment, is wrong.
130: Ctrl-C. No input ends in a Python traceback; `PELTON_DEBUG=1` asks for one where pelton itself is at fault.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from pelton.support import knobs
from pelton.support.errors import InternalError, KnobError, PeltonError, diagnostic

DONE, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The command line asks for something that does not exist, or leaves out what is needed."""


def complain(text: str) -> None:
    """Say it on stderr."""
    sys.stderr.write(text)


def ended_by(error: BaseException, tool: str) -> int:
    """Say what stopped the tool and choose the exit code."""
    match error:
        case UsageError():
            complain(f"{tool}: {str(error).rstrip()}\n")
        case PeltonError():
            complain(diagnostic(error, tool) + "\n")
        case BrokenPipeError():  # whoever read our output has gone: neither a message nor a second failure at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        case MemoryError():
            complain(f"{tool}: error: out of memory{f': {error}' if str(error) else ''}\n")
        case Exception():
            complain(diagnostic(internal_error(error, ""), tool) + "\n")
        case _:
            return INTERRUPTED
    return BAD_USAGE if isinstance(error, UsageError | KnobError) else FAILED


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
