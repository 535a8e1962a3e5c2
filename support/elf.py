"""Which symbols an object file defines and which it wants. Enters: an ELF64 relocatable. Leaves: `Symbols`.

Next: `loader.py` refuses what it cannot resolve before anything is mapped. Layout: the System V ABI, chapter 4
(https://www.sco.com/developers/gabi/latest/ch4.eheader.html).
"""

from __future__ import annotations

import platform
import struct
from typing import NamedTuple

FILE_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATABLE, SYMBOL_TABLE, UNDEFINED = 1, 2, 0
MACHINES = {"x86_64": 62, "aarch64": 183}


class Symbols(NamedTuple):
    """Names an object file defines for others, and names it leaves to others."""

    defined: frozenset[str]
    undefined: frozenset[str]


def read_symbols(code: bytes) -> Symbols:
    """The symbols of an object file for this machine. Raises ValueError saying what is wrong with it."""
    try:
        return _read(code)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"the object code is damaged: {error}") from error


def _read(code: bytes) -> Symbols:
    magic, bits, order, _, _, kind, machine, *_ = FILE_HEADER.unpack_from(code)
    if magic != b"\x7fELF" or (bits, order, kind) != (2, 1, RELOCATABLE):
        raise ValueError("the object code is no 64-bit ELF relocatable")
    here = platform.machine()
    if machine != MACHINES.get(here):
        built = next((name for name, number in MACHINES.items() if number == machine), f"ELF machine {machine}")
        raise ValueError(f"the object code is for {built}, this machine is {here}")
    fields = FILE_HEADER.unpack_from(code)
    start, size, count = fields[10], fields[15], fields[16]
    headers = (SECTION_HEADER.unpack_from(code, start + number * size) for number in range(count))
    sections: list[tuple[int, ...]] = list(headers)
    defined, undefined = set[str](), set[str]()
    for table in sections:
        if table[1] != SYMBOL_TABLE:
            continue
        offset, length = table[4], table[5]
        names = sections[table[6]][4]
        for name, info, _, section, _, _ in SYMBOL.iter_unpack(code[offset : offset + length]):
            text = _text(code, names + name)
            if section == UNDEFINED and text:
                undefined.add(text)
            elif info >> 4:  # local symbols are nobody else's
                defined.add(text)
    return Symbols(frozenset(defined), frozenset(undefined))


def _text(code: bytes, start: int) -> str:
    end = code.find(b"\0", start)
    if end < 0:
        raise IndexError("a name is not terminated")
    return code[start:end].decode()
