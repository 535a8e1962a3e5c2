"""What a GPU can give to a kernel: numbers, and the error for more. Next: `driver.py` asks before it launches."""

from __future__ import annotations

from pelton.support.errors import DeviceError

WARP = 32
LARGEST_VARIABLES = {"shared": 48 << 10, "local": 512 << 10}
"""The most bytes of variables in a text: per block, and per thread. What shared memory a launch adds is dynamic."""
_SHARED_KIB = {
    (7, 0): 96,
    (7, 2): 96,
    (7, 5): 64,
    (8, 0): 163,
    (8, 7): 163,
    (9, 0): 227,
    (10, 0): 227,
    (10, 3): 227,
    (11, 0): 227,
}
"""By compute capability: the most shared memory of a block, in KiB (CUDA C++ Programming Guide, Technical
Specifications); 99 for all others."""


def largest_shared(cc: tuple[int, int]) -> int:
    """The most shared memory of a block, in bytes."""
    return _SHARED_KIB.get(cc, 99) << 10


def beyond(entry: str, what: str, number: int, high: int, low: int = 0) -> DeviceError:
    """The error for a launch that asks for more, or less, than there is."""
    return DeviceError(f"launch of {entry}: {what} of {number}", expected=f"{low} to {high}")
