"""Work of one device, kept to be repeated by one call. Enters: a driver, and what gives it work. Leaves: a
`DeviceGraph`. Next: `device_plan.py` makes recordings of it, `capture.py` compares what they launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from pelton.runtime.driver import COPY as DEVICE_COPY
from pelton.runtime.driver import Address, Driver
from pelton.runtime.launches import COPY, NUMBER, Argument, LaunchRecord
from pelton.support.errors import PeltonError


class Span(NamedTuple):
    """Memory that launches are given: where it starts, its bytes (0 where nobody knows), and what it is."""

    start: int
    size: int
    kind: str
    which: int


class DeviceGraph:
    """A graph of a driver; goes back to it when nobody holds it any more."""

    __slots__ = ("_driver", "_graph")

    def __init__(self, driver: Driver, graph: object) -> None:
        self._driver, self._graph = driver, graph

    def replay(self) -> None:
        """Do all of it again. Raises DeviceError where the device refuses."""
        self._driver.replay(self._graph)

    def launches(self, spans: Sequence[Span]) -> tuple[LaunchRecord, ...]:
        """What is in it, as the driver has it; addresses are told by the memory they are in."""
        return tuple(
            LaunchRecord(
                COPY if node.kernel == DEVICE_COPY else node.kernel,
                (node.grid, 1, 1),
                tuple(_argument(value, spans) for value in node.args),
                (node.block, 1, 1),
                node.shared,
            )
            for node in self._driver.nodes(self._graph)
        )

    def __del__(self) -> None:
        with suppress(PeltonError):  # of a device that is lost, and its graphs with it
            self._driver.release(self._graph)


def captured(driver: Driver, begin: Callable[[], object]) -> DeviceGraph:
    """What `begin` gives a device to do, which is not done now."""
    driver.begin_capture()
    try:
        begin()
    except BaseException:
        driver.release(driver.end_capture())
        raise
    return DeviceGraph(driver, driver.end_capture())


def _argument(value: Address | int | float, spans: Sequence[Span]) -> Argument:
    if not isinstance(value, Address):
        return Argument(NUMBER, 0, int(value))
    holding = [span for span in spans if span.start <= value <= span.start + span.size]
    if not holding:
        return Argument("unknown memory", 0, 0)
    span = max(holding, key=lambda each: each.start)
    return Argument(span.kind, span.which, value - span.start)
