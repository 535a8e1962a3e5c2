"""Device graphs of the emulator: work that is recorded, to be run again. Next: `driver.py` records and replays."""

from __future__ import annotations

from collections.abc import Callable
from threading import local

from pelton.runtime.driver import Node
from pelton.support.errors import CaptureError


class Graph:
    """Recorded work, to be run again."""

    __slots__ = ("released", "work")

    def __init__(self) -> None:
        self.work: list[tuple[Node, Callable[[], None]]] = []
        self.released = False


class Open(local):
    """The graph that the calling thread is recording."""

    graph: Graph | None = None


def unreleased(graph: object, call: str) -> Graph:
    """The graph; TypeError for anything else, CaptureError for one that was released."""
    if not isinstance(graph, Graph):
        raise TypeError(f"{call} takes what end_capture() returned, got {type(graph).__name__}")
    if graph.released:
        raise CaptureError(f"{call}: the graph was released")
    return graph
