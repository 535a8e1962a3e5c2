"""The one value a source printer makes and a code generator takes: the text of a kernel and what its parameters are.

Enters: nothing; printers build a `Source`. Leaves: the same value, to codegen/cpu/compile.py or
codegen/cuda/compile.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One kernel as Python text.

    `text` defines one function `def NAME(<buffers>, <symbols>, lo, hi, ctx):`. Its globals are the vocabulary of the
    target.
    """

    name: str
    text: str
    buffers: tuple[tuple[str, str], ...]
    """(parameter name, storage type as in "f32"), in parameter order."""
    symbols: tuple[str, ...]
    """Sizes, by their names in the IR: int64 parameters after the buffers."""
    lanes: int = 32
    """Logical lanes of one vector step; the same on every target, so that reduction trees are."""
    checks: tuple[str, ...] = ()
    """What checks 1, 2, … of a user's body say; those of other kernels are named where they are launched."""
    user_body: bool = False
    """A user wrote the text, for all of Numba; its last function, over `item` in the place of lo, hi and ctx, runs one
    grid item.
    """
    bounds_checked: bool = True
    """Whether a user's body checks its indices."""
