"""What a run has to say: failed checks as errors, reported ones to Python's `logging`.

Enters: a program's sites, the user's lines, and what native code left (the context of the call, rows of reports).
Leaves: an AssertionFailed for `plan.py` to raise, records of the logger `pelton`. Native code only ever writes words
into memory of its call; everything here happens after the plan, on the thread that called `execute`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pelton.program import NOTHING, Program, Site
from pelton.support.errors import AssertionFailed

if TYPE_CHECKING:
    from pelton.runtime.walker import Frame

Places = Mapping[int, str]
"""The user's line (`file:line:column`) of an op, by its number in the user's module."""


class Messages:
    """A program's sites and the user's lines: says what a call left in its frame."""

    def __init__(self, program: Program, places: Places) -> None:
        self._sites, self._places, self._reports = program.sites, places, program.reports
        self._rows = [site for site in program.sites if site.row >= 0]
        self.needed = program.reports is not None
        """Whether there is anything to prepare before a call and to read after it."""

    def prepare(self, frame: Frame) -> None:
        """Give a call the memory that its kernels write to."""
        if self._reports is not None:
            if frame.reports is None:
                frame.reports = array("q", bytes(8 * self._reports.words))
            frame.values[self._reports.pointer], _ = frame.reports.buffer_info()

    def drain(self, frame: Frame, failed: Site | None = None) -> None:
        """Log what the call left, in the order of the program, and clean the frame. `failed` is raised instead."""
        if (rows := frame.reports) is None:
            return
        for site in self._rows:
            if rows[site.row]:
                rows[site.row] = 0
                index, *words = rows[site.row + 1 : site.row + 2 + len(site.dtypes)]
                if site is not failed:
                    report(site, self._places.get(site.ordinal, ""), index, texts(site, words))

    def failure(self, number: int, index: int, word: int, frame: Frame) -> tuple[Site, AssertionFailed] | None:
        """What check `number` of the program says about a lane; None where there is no such check."""
        if not 0 <= number < len(self._sites):
            return None
        site = self._sites[number]
        words = [word]
        if site.row >= 0 and frame.reports is not None:
            words = list(frame.reports[site.row + 2 : site.row + 2 + len(site.dtypes)])
        return site, failure(site, self.place(site), index, texts(site, words))

    def place(self, site: Site) -> str:
        """The user's line of a site, empty where it is not known."""
        return self._places.get(site.ordinal, "")


def failure(site: Site, place: str, index: int, values: Sequence[str]) -> AssertionFailed:
    """The error of a check that failed first at linear index `index`, with these values there."""
    return AssertionFailed(site.message, op=site.op, location=place, got=_element(index, values))


def requirement(site: Site, place: str, equal: bool, lhs: int, rhs: int) -> AssertionFailed:
    """The error of two sizes that are not equal, or of one that is larger than it may be."""
    wanted = f"a size {'equal to' if equal else 'at most'} {rhs}"
    return AssertionFailed(site.message, op=site.op, location=place, expected=wanted, got=str(lhs))


def report(site: Site, place: str, index: int, values: Sequence[str]) -> None:
    """Log a failed check of a model that goes on."""
    import logging  # here for start-up: few models have anything to say

    logging.getLogger("pelton").warning("%s (%s): %s", site.message, described(site.op, place), _element(index, values))


def described(op: str, place: str) -> str:
    """`nn.gather at model.py:12:5`."""
    return f"{op} at {place}" if place else op


def _element(index: int, values: Sequence[str]) -> str:
    return f"{', '.join(values)} at element {index}" if values else f"element {index}"


def texts(site: Site, words: Sequence[int]) -> list[str]:
    """The values of a site out of their words, as NumPy prints them."""
    if site.dtypes == NOTHING:
        return []
    if not site.dtypes:
        return [str(word) for word in words]
    return [str(decoded(dtype, word)) for dtype, word in zip(site.dtypes, words, strict=False)]


def decoded(dtype: str, word: int) -> Any:
    """The NumPy scalar of a word: a float by its bits, halves by those of an f32, others by their value."""
    import numpy as np

    from pelton.dtype import DType

    kind, bits = DType(dtype).to_numpy(), np.int64(word)
    match dtype:
        case "f64":
            return bits.view(np.float64)
        case "f16" | "bf16" | "f32":
            return bits.astype(np.uint32).view(np.float32).astype(kind)
        case _:
            return bits.astype(kind)
