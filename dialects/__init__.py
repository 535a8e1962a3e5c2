"""The three dialects: `nn` (what users mean), `kernel` (what a core or thread block does), `plan` (what a run does)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def _nn() -> Dialect:
    from pelton.dialects.nn import NN

    return NN


def _kernel() -> Dialect:
    from pelton.dialects.kernel import KERNEL

    return KERNEL


def _plan() -> Dialect:
    from pelton.dialects.plan import PLAN

    return PLAN


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Our dialects by name, each loaded when it is first asked for."""
    return {"nn": _nn, "kernel": _kernel, "plan": _plan}
