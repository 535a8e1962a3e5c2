"""Code on a device. Enters: PTX, or a cubin. Leaves: functions, whose parameters the driver tells.

The driver compiles PTX for its device, and keeps the result on disk. A module is loaded once per text and lives as long
as its driver. Next: `launches.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple

from pelton.runtime.cuda.context import Context
from pelton.runtime.cuda.errors import meaning_of
from pelton.runtime.driver import LARGEST_BLOCK
from pelton.support.elf import FILE_HEADER, SECTION_HEADER
from pelton.support.errors import DeviceCodeError, DeviceError, shortened

_CUDA_MACHINE = 190
_NO_BITS = 8
_FRAME = (0, 1, 6, 9, 10, 14, 16)
"""Of an ELF header: magic, class, machine, where the tables of segments and sections stand, and their lengths."""
_SEGMENT_HEADER = struct.Struct("<IIQQQQQQ")
_LOG_BYTES = 8192


class Parameter(NamedTuple):
    """Where a parameter stands in the block of all, and its size."""

    offset: int
    size: int


class Function:
    """An entry of a module, ready to be launched."""

    __slots__ = ("blocks", "dynamic", "entry", "handle", "kinds", "owner", "packers", "parameters", "size", "threads")

    def __init__(
        self, owner: Modules, entry: str, handle: Any, parameters: tuple[Parameter, ...], threads: int, dynamic: int
    ) -> None:
        self.owner = owner
        self.entry = entry
        self.handle = handle
        self.parameters = parameters
        self.threads = threads
        """The largest block, by its registers and by what it was compiled for."""
        self.dynamic = dynamic
        """The most dynamic shared memory per block, in bytes."""
        self.kinds: tuple[type, ...] = (int,) * len(parameters)
        """What the last launch gave for each parameter: Address, int or float. The driver knows sizes alone."""
        self.packers: dict[tuple[type, ...], Callable[..., None]] = {}
        """What puts arguments in place, by their types: `launches.py`."""
        self.blocks: dict[int, Any] = {}
        """By thread: the arguments of its last launch."""
        self.size = parameters[-1].offset + parameters[-1].size if parameters else 0
        """Bytes of the block of all arguments."""


class Modules:
    """The code that a driver has loaded. Safe from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._modules: dict[str | bytes, Any] = {}
        self._functions: dict[tuple[str | bytes, str], Function] = {}
        self._names: dict[int, Function] = {}
        self._lock = RLock()
        self._shared = context.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    def function(self, code: str | bytes, entry: str) -> Function:
        """An entry of a PTX text (str) or a cubin (bytes). Raises DeviceCodeError for what cannot run here."""
        key = code, entry
        with self._lock:
            if (found := self._functions.get(key)) is None:
                if (module := self._modules.get(code)) is None:
                    module = self._modules[code] = self._load(code, entry)
                found = self._functions[key] = self._look_up(module, entry)
                self._names[int(found.handle)] = found
            return found

    def by_handle(self, handle: Any) -> Function:
        """The function that a node of a graph launches: by its handle, or by its name where the driver has another.

        Raises DeviceError for one that was not loaded here, or could be any of several.
        """
        if (found := self._names.get(int(handle))) is not None:
            return found
        name = self._context.call("cuFuncGetName", handle).decode()
        found = {function.parameters: function for function in self._names.values() if function.entry == name}
        if len(found) != 1:
            raise DeviceError(f"nodes on {self._context.name}: {len(found)} functions may be what a node calls {name}")
        return next(iter(found.values()))

    def close(self) -> None:
        """Unloads everything. Never raises."""
        for module in self._modules.values():
            self._context.attempt("cuModuleUnload", module)
        self._modules.clear()
        self._functions.clear()
        self._names.clear()

    def _load(self, code: str | bytes, entry: str) -> Any:
        if isinstance(code, bytes):
            if reason := damage(code):
                raise DeviceCodeError(f"the cubin of {entry} is damaged: {reason}", remedy="compile the model again")
            return self._context.call("cuModuleLoadData", code, got=f"the cubin of {entry}")
        image = code.encode() + b"\0"
        status, *values = self._context.ask("cuModuleLoadData", image)
        if status:
            got = f"the PTX of {entry}"
            if meaning_of(status).error is DeviceCodeError and (said := self._complaint(image)):
                got = f"{got}: {said}"
            raise self._context.failure("cuModuleLoadData", status, got)
        return values[0]

    def _complaint(self, image: bytes) -> str:
        """What the driver's compiler says of a text: it tells only those who ask beforehand, so it is asked again."""
        option, log = self._context.api.CUjit_option, bytearray(_LOG_BYTES)
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        self._context.attempt("cuModuleLoadDataEx", image, len(options), options, [log, _LOG_BYTES])
        return shortened(log.split(b"\0", 1)[0].decode(errors="replace"), 500)

    def _look_up(self, module: Any, entry: str) -> Function:
        call, attributes = self._context.call, self._context.api.CUfunction_attribute
        handle = call("cuModuleGetFunction", module, entry.encode(), got=f"no entry {entry}")
        threads = call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle)
        static = call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle)
        dynamic = self._shared - int(static)
        call("cuFuncLoad", handle)  # else the first launch does, which may be within a capture
        # Without this a kernel may have 48 KiB; what each launch gets is still what it asks for.
        call("cuFuncSetAttribute", handle, attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)
        return Function(self, entry, handle, self._parameters(handle), min(int(threads), LARGEST_BLOCK), dynamic)

    def _parameters(self, handle: Any) -> tuple[Parameter, ...]:
        """All of them: past the last one the driver refuses the number."""
        found: list[Parameter] = []
        while True:
            status, *values = self._context.ask("cuFuncGetParamInfo", handle, len(found))
            if getattr(status, "name", "") == "CUDA_ERROR_INVALID_VALUE":
                return tuple(found)
            if status:
                raise self._context.failure("cuFuncGetParamInfo", status)
            found.append(Parameter(*map(int, values)))


def damage(cubin: bytes) -> str:
    """What is wrong with the frame of a cubin; "" where all its parts are there.

    The driver is told no size: it would read past the end of one that was cut short.
    """
    if len(cubin) < FILE_HEADER.size:
        return f"it has {len(cubin)} bytes"
    fields = FILE_HEADER.unpack_from(cubin)
    magic, bits, machine, segments, sections, segment_count, section_count = (fields[n] for n in _FRAME)
    if magic != b"\x7fELF" or bits != 2 or machine != _CUDA_MACHINE:
        return "it is no 64-bit ELF file for CUDA"
    end = max(segments + segment_count * _SEGMENT_HEADER.size, sections + section_count * SECTION_HEADER.size)
    if end <= len(cubin):
        for number in range(section_count):
            _, kind, _, _, offset, size, *_ = SECTION_HEADER.unpack_from(cubin, sections + number * SECTION_HEADER.size)
            end = max(end, 0 if kind == _NO_BITS else offset + size)
        for number in range(segment_count):
            _, _, offset, _, _, size, *_ = _SEGMENT_HEADER.unpack_from(cubin, segments + number * _SEGMENT_HEADER.size)
            end = max(end, offset + size)
    return f"it has {len(cubin)} of at least {end} bytes" if end > len(cubin) else ""
