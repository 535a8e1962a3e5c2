"""`FakeCuda` behind C's calling convention: addresses of functions that the real binding calls.

Enters: a fake, the name of a function. Leaves: its address. Each row says how C passes what the fake takes and returns;
the ones that pass records or arrays are written out.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.types import CUmemPoolProps, CUresult, Handle

_TYPES: dict[str, Any] = {
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "z": ctypes.c_size_t,
    "s": ctypes.c_char_p,
    **dict.fromkeys("haPIF", ctypes.c_void_p),
}
_STORED = {"P": "<Q", "I": "<i", "F": "<f"}
_ROWS = """cuInit u
cuDeviceGetCount I
cuDeviceGet Ii
cuDeviceGetAttribute Iii
cuDevicePrimaryCtxRetain Pi
cuDevicePrimaryCtxRelease i
cuCtxSetCurrent h
cuMemGetInfo PP
cuStreamCreate Pu
cuStreamDestroy h
cuStreamSynchronize h
cuEventCreate Pu
cuEventDestroy h
cuEventRecord hh
cuEventSynchronize h
cuEventElapsedTime Fhh
cuMemPoolDestroy h
cuMemPoolTrimTo hz
cuMemAllocFromPoolAsync Pzhh
cuMemFreeAsync hh
cuMemAlloc Pz
cuMemFree h
cuMemHostAlloc Pzu
cuMemFreeHost a
cuMemcpyHtoDAsync hazh
cuMemcpyDtoHAsync ahzh
cuMemcpyDtoDAsync hhzh
cuModuleUnload h
cuModuleGetFunction Phs
cuFuncGetParamInfo hzPP
cuFuncGetAttribute Iih
cuFuncSetAttribute hii
cuFuncLoad h
cuLaunchKernel huuuuuuuhaa
cuStreamBeginCapture hi
cuStreamEndCapture hP
cuGraphInstantiate Phz
cuGraphLaunch hh
cuGraphNodeGetType hI
cuGraphExecDestroy h
cuGraphDestroy h"""
"""By function, its arguments in C's order. Read: int, unsigned, size, string, handle, address; written: Pointer (or
size), Int, Float."""
ROWS = {words[0]: words[1] for words in map(str.split, _ROWS.splitlines())}
CALLED = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}
"""Names in the library that differ from the binding's."""


class Native:
    """The functions of a fake, by address, as long as this object lives."""

    def __init__(self, fake: FakeCuda) -> None:
        self._fake = fake
        self._held: dict[str, Any] = {}
        self._texts: list[Any] = []

    def address(self, name: str) -> int:
        """Where C finds a function; 0 for one that the fake has not."""
        name = CALLED.get(name, name)
        if name not in self._held:
            if name in ROWS:
                self._held[name] = self._row(name, ROWS[name])
            elif (special := getattr(self, f"_{name}", None)) is not None:
                code = special.__doc__.split("\n")[0]
                self._held[name] = self._function(code, self._guarded(special))
            else:
                return 0
        return ctypes.cast(self._held[name], ctypes.c_void_p).value or 0

    def _row(self, name: str, codes: str) -> Any:
        function = getattr(self._fake, name)

        def call(*given: Any) -> int:
            pairs = list(zip(codes, given, strict=True))
            read = [_read(code, value) for code, value in pairs if code not in _STORED]
            result, *values = function(*read)
            if not result:
                places = [(code, place) for code, place in pairs if code in _STORED]
                for (code, place), value in zip(places, values, strict=True):
                    _store(place, _STORED[code], float(value) if code == "F" else int(value))
            return int(result)

        return self._function(codes, self._guarded(call))

    def _function(self, codes: str, call: Callable[..., int]) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_int, *(_TYPES[code] for code in codes))(call)

    @staticmethod
    def _guarded(call: Callable[..., int]) -> Callable[..., int]:
        """What goes wrong in a callback would be lost otherwise."""

        def guarded(*given: Any) -> int:
            try:
                return call(*given)
            except Exception as error:
                print("within the fake driver:", repr(error))
                return 999

        return guarded

    # ---- records and arrays; the first line of each says what C passes
    def _cuGetErrorString(self, code: int, place: int) -> int:
        """ia"""
        result, text = self._fake.cuGetErrorString(CUresult(code))
        self._texts.append(ctypes.create_string_buffer(text))
        _store(place, "<Q", ctypes.addressof(self._texts[-1]))
        return int(result)

    def _cuMemPoolCreate(self, place: int, record: int) -> int:
        """aa"""
        props = CUmemPoolProps()
        props.allocType, props.handleTypes, props.location.type, props.location.id = struct.unpack(
            "<4i", ctypes.string_at(record, 16)
        )
        result, pool = self._fake.cuMemPoolCreate(props)
        return _stored(result, place, "<Q", pool)

    def _cuMemPoolSetAttribute(self, pool: int, attribute: int, place: int) -> int:
        """hia"""
        (value,) = struct.unpack("<Q", ctypes.string_at(place, 8))
        return int(self._fake.cuMemPoolSetAttribute(Handle(pool), attribute, Handle(value))[0])

    def _cuMemPoolGetAttribute(self, pool: int, attribute: int, place: int) -> int:
        """hia"""
        result, value = self._fake.cuMemPoolGetAttribute(Handle(pool), attribute)
        return _stored(result, place, "<Q", value)

    def _cuModuleLoadData(self, place: int, image: int) -> int:
        """aa"""
        result, module = self._fake.cuModuleLoadData(_image(image))
        return _stored(result, place, "<Q", module)

    def _cuModuleLoadDataEx(self, place: int, image: int, count: int, options: int, values: int) -> int:
        """aauaa"""
        names = struct.unpack(f"<{count}i", ctypes.string_at(options, 4 * count))
        log, size = struct.unpack(f"<{count}Q", ctypes.string_at(values, 8 * count))
        held = bytearray(size)
        result, module = self._fake.cuModuleLoadDataEx(_image(image), count, names, [held, size])
        ctypes.memmove(log, bytes(held), size)
        return _stored(result, place, "<Q", module)

    def _cuGraphGetNodes(self, graph: int, nodes: int, count: int) -> int:
        """haa"""
        (room,) = struct.unpack("<Q", ctypes.string_at(count, 8))
        result, found, number = self._fake.cuGraphGetNodes(Handle(graph), room if nodes else 1 << 20)
        for position, node in enumerate(found if nodes else ()):
            _store(nodes + 8 * position, "<Q", int(node))
        return _stored(result, count, "<Q", number)

    def _cuGraphGetEdges(self, graph: int, before: int, after: int, data: int, count: int) -> int:
        """haaaa"""
        (room,) = struct.unpack("<Q", ctypes.string_at(count, 8))
        result, firsts, seconds, _, number = self._fake.cuGraphGetEdges(Handle(graph), room if before else 1 << 20)
        for position, pair in enumerate(zip(firsts, seconds, strict=True) if before else ()):
            for start, node in zip((before, after), pair, strict=True):
                _store(start + 8 * position, "<Q", int(node))
        return _stored(result, count, "<Q", number)

    def _cuGraphKernelNodeGetParams(self, node: int, record: int) -> int:
        """ha"""
        result, given = self._fake.cuGraphKernelNodeGetParams(Handle(node))
        sizes = (getattr(given, f"{kind}Dim{axis}") for kind in ("grid", "block") for axis in "XYZ")
        packed = struct.pack("<Q7I4xQQQQ", int(given.func), *sizes, given.sharedMemBytes, given.kernelParams, 0, 0, 0)
        ctypes.memmove(record, packed, len(packed))
        return int(result)

    def _cuGraphMemcpyNodeGetParams(self, node: int, record: int) -> int:
        """ha"""
        result, given = self._fake.cuGraphMemcpyNodeGetParams(Handle(node))
        source, target = (
            struct.pack("<4Qi4x6Q", 0, 0, 0, 0, 2, 0, int(place), 0, 0, 0, 0)
            for place in (given.srcDevice, given.dstDevice)
        )
        packed = source + target + struct.pack("<3Q", given.WidthInBytes, 1, 1)
        ctypes.memmove(record, packed, len(packed))
        return int(result)


def _read(code: str, value: Any) -> Any:
    """What the fake takes: handles are boxes, addresses are numbers."""
    return Handle(value or 0) if code == "h" else value or 0 if code == "a" else value


def _store(place: int, code: str, value: Any) -> None:
    ctypes.memmove(place, struct.pack(code, value), struct.calcsize(code))


def _stored(result: Any, place: int, code: str, value: Any) -> int:
    if not result:
        _store(place, code, int(value))
    return int(result)


def _image(address: int) -> bytes:
    """A text with its end; the driver finds the end of a cubin in it."""
    return ctypes.string_at(address) + b"\0"
