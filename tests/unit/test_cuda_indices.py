"""`//` and `%` of a CUDA text divide indices, as numbers without a sign."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.source import Source
from pelton.support.errors import CompileError
from pelton.tests.support.cuda import launch

TEXT = """\
def places(y, n, m, lo, hi, ctx):
    for lane in range(i64(cuda.threadIdx.x), n, T):
        y[lane] = (lane // m * 100 + lane % m) * 1000 + (n + 6 - lane) // 7 * 10 + lane % 4
"""


def test_indices_are_divided_without_a_sign() -> None:
    source = Source("places", TEXT, (("y", "i64"),), ("n", "m"), 32)
    ptx = compile_ptx(source)
    assert not re.search(r"(div|rem)\.s", ptx)
    assert re.search(r"div\.u64", ptx)
    y = np.zeros(90, np.int64)
    launch(source, ptx, 1, [y], [90, 11])
    lane = np.arange(90)
    np.testing.assert_array_equal(y, (lane // 11 * 100 + lane % 11) * 1000 + (96 - lane) // 7 * 10 + lane % 4)


def test_nothing_else_is_divided_so() -> None:
    text = TEXT.replace("lane % 4", "f32(lane) % f32(4)")
    with pytest.raises((CompileError, TypeError), match="takes indices"):
        compile_ptx(Source("places", text, (("y", "i64"),), ("n", "m"), 32))
