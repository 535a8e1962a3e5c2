"""No kernel touches a byte outside its buffers: random graphs between forbidden pages.

They run in a process of their own, which dies of a wrong access. A longer run:

    python -m pelton.tests.support.guarded 100 1000
"""

from __future__ import annotations

import sys

import pytest

from pelton.tests.support.process import fresh

STARTS = (0, 28)
COUNT = 6
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are forbidden as Linux does it")


@pytest.mark.parametrize("first", STARTS)
def test_random_graphs_keep_to_their_buffers(first: int) -> None:
    """Seed 31 once read a register beyond the end: a masked load of which LLVM knew that half of the mask is false."""
    printed = fresh("from pelton.tests.support.guarded import main; main()", first, first + COUNT)
    assert printed.split() == [str(seed) for seed in range(first, first + COUNT)]


@pytest.mark.parametrize(("at_end", "place"), [(True, 100), (False, -1)])
def test_a_byte_too_many_is_noticed(at_end: bool, place: int) -> None:
    code = (
        "import ctypes; from pelton.tests.support.guarded import Guarded\n"
        f"memory = Guarded(100, {at_end}); assert ctypes.string_at(memory.address, 100) == 100 * bytes([0xA5])\n"
        f"ctypes.string_at(memory.address + {place}, 1)"
    )
    with pytest.raises(AssertionError, match="ended with -"):
        fresh(code)
