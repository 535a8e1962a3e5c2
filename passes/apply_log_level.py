"""`apply-log-level`: which messages of a model are compiled.

A message stays where its level is at or above the pass's: trace, debug, info, warning, error, critical. What
`ops.print` makes is above all of them. `notset` removes every message. What is computed for a removed message alone
goes with it, so that nothing tells afterwards that it was there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from pelton.dialects.nn import TraceOp
from pelton.dialects.nn.messages import LEVELS
from pelton.dialects.removal import remove
from pelton.passes import expect_option
from pelton.support.levels import LogLevel

KNOWN = tuple(level.value for level in LogLevel)


@dataclass(frozen=True)
class ApplyLogLevel(ModulePass):
    """Running it twice is running it once."""

    name = "apply-log-level"
    level: str = "warning"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_option(self.name, "there is no such log level", self.level, KNOWN)
        lowest = len(LEVELS) if self.level == LogLevel.NOTSET.value else LEVELS.index(self.level)
        traces = [o for o in op.walk() if isinstance(o, TraceOp)]
        remove([o for o in traces if LEVELS.index(o.level.data) < lowest])
