"""Special registers: `%tid.x` and the like, what of them can be known before a kernel runs, and the clocks.

Enters: where the threads of a batch stand. Leaves: an array per register; link.py takes the names from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pelton.runtime.emulator.values import Array

_PROCESSORS = 132


class Position(NamedTuple):
    """Threads and blocks of a batch: arrays by thread, then sizes."""

    thread: Array
    cta: Array
    threads: int
    grid: int
    dynamic: int
    shared: int


def _lane(at: Position) -> Array:
    return (at.thread % 32).astype(np.uint64)


def _below(at: Position) -> Array:
    return (np.uint64(1) << _lane(at)) - np.uint64(1)


_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFF_FFFF)
_FIXED: dict[str, Callable[[Position], Any]] = {
    "%tid.x": lambda at: at.thread,
    "%ctaid.x": lambda at: at.cta,
    "%clusterid.x": lambda at: at.cta,
    "%ntid.x": lambda at: at.threads,
    "%nctaid.x": lambda at: at.grid,
    "%nclusterid.x": lambda at: at.grid,
    "%laneid": _lane,
    "%warpid": lambda at: at.thread // 32,
    "%nwarpid": lambda at: -(-at.threads // 32),
    "%smid": lambda at: at.cta % _PROCESSORS,
    "%nsmid": lambda at: _PROCESSORS,
    "%gridid": lambda at: 1,
    "%lanemask_eq": lambda at: _ONE << _lane(at),
    "%lanemask_lt": _below,
    "%lanemask_le": lambda at: _below(at) | _ONE << _lane(at),
    "%lanemask_ge": lambda at: _ALL & ~_below(at),
    "%lanemask_gt": lambda at: _ALL & ~_below(at) & ~(_ONE << _lane(at)),
    "%dynamic_smem_size": lambda at: at.dynamic,
    "%total_smem_size": lambda at: at.shared,
    "%aggr_smem_size": lambda at: at.shared,
    "%cluster_ctarank": lambda at: 0,
    "%cluster_nctarank": lambda at: 1,
    "%is_explicit_cluster": lambda at: 0,
    **{f"%{n}.{axis}": lambda at: 0 for n in ("tid", "ctaid", "clusterid") for axis in "yz"},
    **{f"%{n}.{axis}": lambda at: 1 for n in ("ntid", "nctaid", "nclusterid") for axis in "yz"},
    **{f"%cluster_ctaid.{axis}": lambda at: 0 for axis in "xyz"},
    **{f"%cluster_nctaid.{axis}": lambda at: 1 for axis in "xyz"},
}
CLOCKS: dict[str, tuple[int, np.dtype[Any]]] = {
    "%clock": (0, np.dtype(np.uint32)),
    "%clock_hi": (32, np.dtype(np.uint32)),
    "%clock64": (0, np.dtype(np.uint64)),
    "%globaltimer": (0, np.dtype(np.uint64)),
    "%globaltimer_lo": (0, np.dtype(np.uint32)),
    "%globaltimer_hi": (32, np.dtype(np.uint32)),
}
"""Which bits of the time a clock shows."""
NAMES = frozenset(_FIXED) | frozenset(CLOCKS)


def fixed(at: Position) -> dict[str, Array]:
    """The registers that never change while a batch runs."""
    return {name: np.full(at.thread.size, value(at), np.uint32) for name, value in _FIXED.items()}


def clock(name: str, time: int) -> Array:
    """What a clock shows: a tick for each basic block that was run."""
    shift, dtype = CLOCKS[name]
    return np.full(1, time >> shift, np.uint64).astype(dtype)
