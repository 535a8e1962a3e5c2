"""How the threads of a warp hold a matrix in registers, for `mma` and `wgmma`.

Enters: a shape and the bits of an element. Leaves: the row and column of each element of each thread, as index arrays
[32 threads, elements]. One rule gives all layouts that the instructions here use: a thread is in group `lane / 4` and
has place `lane % 4` in it; a register holds as many neighbours as fit; further registers go 8 rows down first, then to
the right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator.values import Array

_GROUP, _PLACE = np.arange(32)[:, None] // 4, np.arange(32)[:, None] % 4


class Fragment(NamedTuple):
    """Rows and columns of a thread's elements: [32, elements] each; how many rows and columns there are."""

    row: Array
    column: Array
    shape: tuple[int, int]


def first(rows: int, depth: int, bits: int) -> Fragment:
    """Multiplicand A, rows × depth, of elements of so many bits."""
    per, count = max(32 // bits, 1), rows * depth // 32
    element = np.arange(count)
    register, within = element // per, element % per
    down, right = (register & 1, register >> 1) if rows == 16 else (0 * register, register)
    return Fragment(_GROUP + 8 * down, _PLACE * per + within + 4 * per * right, (rows, depth))


def second(depth: int, columns: int, bits: int) -> Fragment:
    """Multiplicand B, depth × columns (8), stored by columns."""
    per = max(32 // bits, 1)
    element = np.arange(depth * columns // 32)
    return Fragment(_PLACE * per + element % per + 4 * per * (element // per), _GROUP + 0 * element, (depth, columns))


def result(rows: int, columns: int) -> Fragment:
    """Accumulators C and D: two neighbours, below them two more, then 8 columns to the right."""
    element = np.arange(rows * columns // 32)
    pair = element // 2
    down, right = (pair & 1, pair >> 1) if rows == 16 else (0 * pair, pair)
    return Fragment(_GROUP + 8 * down, _PLACE * 2 + element % 2 + 8 * right, (rows, columns))


def assemble(elements: Array, fragment: Fragment) -> Array:
    """[warps, 32, elements] → [warps, rows, columns]."""
    matrix = np.zeros((elements.shape[0], *fragment.shape), elements.dtype)
    matrix[:, fragment.row, fragment.column] = elements
    return matrix


def distribute(matrix: Array, fragment: Fragment) -> Array:
    """[warps, rows, columns] → [warps, 32, elements]."""
    return matrix[:, fragment.row, fragment.column]
