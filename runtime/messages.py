"""What a run has to say: failed checks as errors, reported ones and traces to Python's `logging` or on the screen.

Enters: a program's sites, the user's lines, and what native code left: the context of the call, rows of reports, a ring
of traces. Leaves: an AssertionFailed for `plan.py` to raise; records of the logger `pelton`; lines on the standard
output. Native code only ever writes words into memory of its call: everything here happens after the plan, on the
thread that called `execute`. Next: `shown.py` turns values into text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pelton.program import NOTHING, RING_BYTES, RING_WORDS, Program, Reports, Site
from pelton.support.errors import AssertionFailed
from pelton.support.levels import LOGGING

if TYPE_CHECKING:
    from pelton.runtime.shown import Shown
    from pelton.runtime.walker import Frame

Places = Mapping[int, str]
"""The user's line (`file:line:column`) of an op, by its number in the user's module."""


class Messages:
    """A program's sites and the user's lines: says what a call left in its frame."""

    def __init__(self, program: Program, places: Places) -> None:
        self._sites, self._places = program.sites, places
        self._reports, self._ring = program.reports, program.ring
        rows = [each.words for each in (program.reports, *program.elsewhere) if isinstance(each, Reports)]
        self._words = max(rows, default=0)
        self._rows = [(number, site) for number, site in enumerate(program.sites) if site.row >= 0]
        self.needed = self._words > 0 or program.ring is not None
        """Whether there is anything to prepare before a call and to read after it."""

    def prepare(self, frame: Frame) -> None:
        """Give a call the memory that its kernels and traces write to."""
        if self._words and frame.reports is None:
            frame.reports = array("q", bytes(8 * self._words))
        if self._reports is not None and frame.reports is not None:
            frame.values[self._reports.pointer], _ = frame.reports.buffer_info()
        if self._ring is not None:
            if frame.ring is None:
                frame.ring = array("q", bytes(8 * RING_WORDS + RING_BYTES))
                frame.ring[2] = RING_BYTES
            frame.values[self._ring], _ = frame.ring.buffer_info()

    def drain(self, frame: Frame, failed: Site | None = None) -> None:
        """Say what the call left, in the order of the program, and clean the frame. `failed` is raised instead."""
        reports, traces = frame.reports, frame.ring
        found = [*self._reported(reports, failed)] if reports is not None else []
        lost = traces[1] if traces is not None else 0
        found += self._traced(traces, frame.values) if traces is not None and traces[0] else []
        for number, what in sorted(found, key=lambda pair: pair[0]):
            site = self._sites[number]
            if isinstance(what, Failed):
                report(site, self.place(site), *what)
            else:
                say(site, self.place(site), what)
        if traces is not None:
            traces[0] = traces[1] = 0
        if lost:
            warn(f"{lost} values of this run's messages did not fit and are lost")

    def _reported(self, rows: array[int], failed: Site | None) -> Iterator[tuple[int, Failed | list[Shown]]]:
        for number, site in self._rows:
            if rows[site.row]:
                rows[site.row] = 0
                index, *words = rows[site.row + 1 : site.row + 2 + len(site.dtypes)]
                if site is not failed:
                    yield number, Failed(index, texts(site, words))

    def _traced(self, ring: array[int], values: Sequence[int]) -> list[tuple[int, Failed | list[Shown]]]:
        """The messages in the ring; the values of one follow each other."""
        from pelton.runtime.shown import Shown

        found: list[tuple[int, Failed | list[Shown]]] = []
        content, at = memoryview(ring).cast("B")[8 * RING_WORDS :], 0
        open_message: list[Shown] = []
        while at < ring[0]:
            number, size = (ring[RING_WORDS + at // 8 + k] for k in (0, 1))
            site = self._sites[number]
            if site.part == 0 or not open_message:
                open_message = []
                found.append((number, open_message))
            if site.dtypes:
                shape = tuple(values[slot] for slot in site.dims)
                open_message.append(Shown.copied(site.dtypes[0], shape, content[at + 16 : at + 16 + size]))
            at += 16 + (size + 7 & -8)
        return found

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


class Failed(NamedTuple):
    """A failed check that is reported: the lowest index, and the values there as text."""

    place: int
    values: list[str]


def failure(site: Site, place: str, index: int, values: Sequence[str]) -> AssertionFailed:
    """The error of a check that failed first at linear index `index`, with these values there."""
    return AssertionFailed(site.message, op=site.op, location=place, got=_element(index, values))


def requirement(site: Site, place: str, equal: bool, lhs: int, rhs: int) -> AssertionFailed:
    """The error of two sizes that are not equal, or of one that is larger than it may be."""
    if not equal:
        return AssertionFailed(site.message, op=site.op, location=place, got=f"{lhs} > {rhs}")
    return AssertionFailed(site.message, op=site.op, location=place, expected=f"a size equal to {rhs}", got=str(lhs))


def report(site: Site, place: str, index: int, values: Sequence[str]) -> None:
    """Log a failed check of a model that goes on."""
    warn(f"{_head(site, place)}: {_element(index, values)}")


def say(site: Site, place: str, values: Sequence[Shown]) -> None:
    """Log a message with its values; print what `ops.print` made."""
    if site.level == "print":
        print(values[0].as_tensor(site.message) if values else site.message)
        return
    import logging  # here for start-up: few models have anything to say

    shown = [value.as_text() for value in values]
    between, first = (", ", ": ") if not any("\n" in text for text in shown) else ("\n", "\n")
    text = _head(site, place) + (first + between.join(shown) if shown else "")
    logging.getLogger("pelton").log(LOGGING[site.level], "%s", text)


def warn(text: str) -> None:
    """A warning of the logger `pelton`."""
    import logging  # see `say`

    logging.getLogger("pelton").warning("%s", text)


def _head(site: Site, place: str) -> str:
    """`scores (nn.trace at model.py:12:5)`."""
    return f"{site.message} ({f'{site.op} at {place}' if place else site.op})"


def _element(index: int, values: Sequence[str]) -> str:
    return f"{', '.join(values)} at element {index}" if values else f"element {index}"


def texts(site: Site, words: Sequence[int]) -> list[str]:
    """The values of a site out of their words, as NumPy prints them."""
    if site.dtypes == NOTHING:
        return []
    if not site.dtypes:
        return [str(word) for word in words]
    from pelton.runtime.shown import decoded

    return [str(decoded(dtype, word)) for dtype, word in zip(site.dtypes, words, strict=False)]
