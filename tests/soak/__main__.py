"""Long runs of what has to hold however often it happens: rounds enter, a line per soak leaves, or what went wrong.

    python -m pelton.tests.soak                         # all of them, each with its usual number of rounds: minutes
    python -m pelton.tests.soak loads=500 executes=9999 # some, with other numbers
    python -m pelton.tests.soak --list

A soak is a function `(rounds) -> summary` that raises AssertionError; it gets a line in `SOAKS`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from pelton.tests.soak import lifetimes, memory, threads, wrong_calls


class Soak(NamedTuple):
    """A function, how often it does its thing when nothing is said, and what that thing is."""

    run: Callable[[int], str]
    rounds: int
    what: str


SOAKS: dict[str, Soak] = {
    "loads": Soak(memory.loads, 10_000, "load, run and drop a small model; resident memory stays flat"),
    "executes": Soak(memory.executes, 1_000_000, "run a small model; resident memory stays flat"),
    "captures": Soak(memory.captures, 10_000, "capture, replay and release; resident memory stays flat"),
    "lifetimes": Soak(
        lifetimes.stress, 2_000, "drop weights, inputs, models while threads run them; nothing goes early"
    ),
    "threads": Soak(threads.seconds, 120, "eight threads load and run own models and one of all, for so many seconds"),
    "wrong_calls": Soak(wrong_calls.wrong_calls, 300_000, "call with wrong arguments; only documented exceptions"),
}


def chosen(arguments: list[str]) -> list[tuple[str, int]]:
    """(name, rounds) of each argument `name` or `name=rounds`; all of them where there is none."""
    pairs = [argument.partition("=")[::2] for argument in arguments or SOAKS]
    for name, rounds in pairs:
        if name not in SOAKS or (rounds and not rounds.isdigit()):
            raise SystemExit(f"no such soak: {name}={rounds}; known: {', '.join(SOAKS)}")
    return [(name, int(rounds or SOAKS[name].rounds)) for name, rounds in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pelton.tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("soaks", nargs="*", metavar="name[=rounds]", help=", ".join(SOAKS))
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args()
    if options.list:
        print(*[f"{name:12}{soak.rounds:>9,}  {soak.what}" for name, soak in SOAKS.items()], sep="\n")
        return
    failed = 0
    for name, rounds in chosen(options.soaks):
        begun = time.monotonic()
        try:
            summary = f"ok      {SOAKS[name].run(rounds)}"
        except AssertionError as error:
            failed += 1
            summary = f"FAILED  {error}"
        print(f"{name:12}{rounds:>9,} rounds {time.monotonic() - begun:7.1f} s  {summary}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
