"""The names a CUDA text can use: one thread's scalars, and what its block does together.

Enters: the number of threads in a block. Leaves: the globals of a kernel text. They are the names of the CPU
vocabulary where the meaning is the same for one lane (numeric.py), the block's own words (team.py), Numba's `cuda`,
and `T`, the number of threads.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from pelton.codegen.cuda import four, indices, numeric, team, tile
from pelton.codegen.cuda.seam import cuda, types
from pelton.codegen.cuda.words import word


@cache
def _words(threads: int) -> dict[str, Any]:
    table = {**numeric.WORDS, **team.words(threads), **tile.WORDS, **four.WORDS, **indices.WORDS}
    return {name: word(name, *row) for name, row in table.items()}


def names(threads: int) -> dict[str, Any]:
    """The globals of a text for blocks of `threads` threads."""
    plain = {"cuda": cuda, "inf": math.inf, "nan": math.nan, "T": threads, "i1": types.boolean}
    return {**_words(threads), **plain}
