"""A family of kernels on trial: its cases run once as they are, then with a planted fault, until one of them fails.

Enters: a family's name and how many faults to plant. Leaves: a `Verdict` for each: what caught it, or nothing.
"""

from __future__ import annotations

import random
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from pelton.runtime.emulator import EmulationError, PtxSyntaxError, UnsupportedInstruction
from pelton.tests.mutations.coverage import reached_lines
from pelton.tests.mutations.families import FAMILIES, Case
from pelton.tests.mutations.faults import Fault, faults_in
from pelton.tests.support import cuda

LIMIT = 20_000
"""Basic blocks a launch may execute: many times what any case needs; a fault that ends no loop should not take long."""
WRONG_VALUE, FAILED_CHECK, SURVIVED = "wrong value", "other error", "survived"


class Verdict(NamedTuple):
    """A fault in a kernel of a family, what noticed it, and in which case."""

    family: str
    kernel: str
    fault: Fault
    by: str
    case: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What names the fault, whatever its registers are called: kernel, kind, change."""
        return self.kernel, self.fault.kind, self.fault.shown


class Family:
    """The cases of a family, and the kernels that they run, by PTX."""

    def __init__(self, name: str, cases: Sequence[Case] | None = None) -> None:
        self.name = name
        self.runs = defaultdict[str, list[Case]](list)
        self.entries: dict[str, str] = {}
        self.reached = defaultdict[str, set[int]](set)
        for case in FAMILIES[name]() if cases is None else cases:
            with _emulating({}) as seen, reached_lines() as reached:
                case()
            for text, entry in seen.items():
                self.runs[text].append(case)
                self.entries[text] = entry
                self.reached[text] |= reached[text]

    @property
    def share_reached(self) -> float:
        """The part of all instructions that some case runs."""
        lines = [[line.strip() for line in text.splitlines()] for text in self.entries]
        all_of_them = sum(line.endswith(";") and not line.startswith(".") for text in lines for line in text)
        return sum(map(len, self.reached.values())) / max(all_of_them, 1)

    def faults(self, count: int, seed: int) -> Iterator[tuple[str, Fault]]:
        """As many faults of all kinds in turn, each at a place drawn by lot: (PTX, fault), without end.

        The lot depends on the texts of the family's kernels alone, in the order of their content.
        """
        chance, kinds = random.Random(f"{self.name} {seed}"), defaultdict[str, list[tuple[str, Fault]]](list)
        for text in sorted(self.runs):
            for fault in faults_in(text):
                if fault.line in self.reached[text]:
                    kinds[fault.kind].append((text, fault))
        for found in kinds.values():
            chance.shuffle(found)
        while kinds and count:
            for kind in list(kinds):
                yield kinds[kind].pop()
                if not kinds[kind]:
                    del kinds[kind]

    def verdicts(self, count: int, seed: int) -> Iterator[Verdict]:
        """The verdicts on so many faults that leave PTX which a GPU would run."""
        for text, fault in self.faults(count, seed):
            by, case = self.judged(text, fault)
            if by in (PtxSyntaxError.__name__, UnsupportedInstruction.__name__):
                continue
            yield Verdict(self.name, self.entries[text], fault, by, case)
            if not (count := count - 1):
                return

    def judged(self, text: str, fault: Fault) -> tuple[str, str]:
        """What notices the fault, and in which case; a case that noticed one is asked first about the next."""
        cases = self.runs[text]
        for case in cases:
            if by := _failure(case, {text: fault.planted(text)}):
                cases.remove(case)
                cases.insert(0, case)
                return by, str(case)
        return SURVIVED, ""


def _failure(case: Case, planted: dict[str, str]) -> str:
    """How a case fails with the texts put in the place of others; empty where it passes."""
    try:
        with _emulating(planted), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case()
    except EmulationError as error:
        return type(error).__name__
    except AssertionError:
        return WRONG_VALUE
    except (ValueError, ArithmeticError, LookupError):
        return FAILED_CHECK
    return ""


@contextmanager
def _emulating(planted: dict[str, str]) -> Generator[dict[str, str]]:
    """Launches run the planted texts; in what it gives stand the texts that were launched, with their entries."""
    seen, emulate = dict[str, str](), cuda.emulate

    def launch(ptx: str, entry: str, *args: Any, **more: Any) -> None:
        seen[ptx] = entry
        emulate(planted.get(ptx, ptx), entry, *args, limit=LIMIT, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda, "emulate", launch)
        yield seen
