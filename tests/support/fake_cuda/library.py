"""A `libcuda.so.1` made of bytes, so that the real binding can be called where there is no driver and no C compiler.

Enters: a folder. Leaves: a shared object with two functions: `cuGetProcAddress_v2`, which jumps where its slot says,
and `nothing`, which returns 0. Layout: the System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pelton.support.elf import FILE_HEADER, MACHINES, SYMBOL

_PAGE = 0x10000
_CODE = {
    "x86_64": (b"\xff\x25" + struct.pack("<i", _PAGE - 0x200 - 6), b"\x31\xc0\xc3"),  # jmp [slot]; xor eax, eax; ret
    "aarch64": (
        struct.pack("<III", 0x90000090, 0xF9400210, 0xD61F0200),  # adrp x16, slot; ldr x16, [x16]; br x16
        struct.pack("<II", 0x52800000, 0xD65F03C0),  # mov w0, 0; ret
    ),
}
"""By machine: the jump, which stands at 0x200, and `nothing`, at 0x240. The slot is the first word of the next page."""
_SEGMENT = struct.Struct("<IIQQQQQQ")
LOOK_UP = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
)


def write_library(path: Path) -> None:
    """Writes the shared object."""
    jump, nothing = _CODE[platform.machine()]
    names = b"\0libcuda.so.1\0cuGetProcAddress_v2\0nothing\0"
    symbols = bytes(24)
    for name, place in ((b"cuGetProcAddress_v2", 0x200), (b"nothing", 0x240)):
        symbols += SYMBOL.pack(names.index(name), 0x12, 0, 1, place, 16)
    places = {5: 0x140, 6: 0x180, 4: 0x1D0}  # names, symbols, hash
    words = [*places.items(), (10, len(names)), (11, 24), (14, names.index(b"libcuda.so.1")), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *word) for word in words)
    image = bytearray(_PAGE + 0x100)
    kind, machine = (2, 1, 1, 0, 3), MACHINES[platform.machine()]
    parts = {
        0: FILE_HEADER.pack(b"\x7fELF", *kind, machine, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0),
        64: _SEGMENT.pack(1, 5, 0, 0, 0, 0x300, 0x300, _PAGE)
        + _SEGMENT.pack(1, 6, _PAGE, _PAGE, _PAGE, 0x100, 0x100, _PAGE)
        + _SEGMENT.pack(2, 6, _PAGE + 16, _PAGE + 16, _PAGE + 16, len(dynamic), len(dynamic), 8),
        0x140: names,
        0x180: symbols,
        0x1D0: struct.pack("<7I", 1, 3, 1, 0, 2, 0, 0),  # one bucket, which chains 1 to 2
        0x200: jump,
        0x240: nothing,
        _PAGE + 16: dynamic,
    }
    for place, part in parts.items():
        image[place : place + len(part)] = part
    path.write_bytes(image)


def load_library(path: Path, look_up: Callable[[str], int]) -> Any:
    """Loads it under its name: whoever then asks for a function gets the address that `look_up` returns, if not 0."""
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)

    def found(name: bytes, place: Any, version: int, flags: int, status: Any) -> int:
        place[0] = look_up(name.decode())
        return 0 if place[0] else 500

    held = LOOK_UP(found)
    setattr(library, "held", held)  # noqa: B010  (as long as the library)
    start = ctypes.cast(library.cuGetProcAddress_v2, ctypes.c_void_p).value or 0
    slot = ctypes.c_uint64.from_address(start - 0x200 + _PAGE)
    slot.value = ctypes.cast(held, ctypes.c_void_p).value or 0
    return library
