"""A CUDA driver that is not there: what `cuda.bindings.driver` has, over a simulation that records every call.

    fake = FakeCuda()
    monkeypatch.setattr(binding, "load", lambda: fake)
    driver = CudaDriver()
    assert fake.names()[-1] == "cuMemPoolSetAttribute"

Devices do their work late, when somebody waits; kernels are Python functions by name. Objects that were given back are
refused, what was never given back is counted, and any call can be made to fail. The rules of captures are the strictest
that CUDA could have: whatever a capturing thread calls besides launches and copies ends its capture.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pelton.tests.support.fake_cuda import code, devices
from pelton.tests.support.fake_cuda.state import Context, Memory, Refused
from pelton.tests.support.fake_cuda.types import ENUMS, CUgraphNodeType, CUmemPoolProps, CUresult, Handle

Kernel = Callable[[Memory, int, int, Sequence[bytes]], None]
IN_CAPTURE = {"cuCtxSetCurrent", "cuLaunchKernel", "cuMemcpyDtoDAsync", "cuStreamEndCapture", "cuGetErrorString"}
WITHOUT_CONTEXT = {"cuInit", "cuGetErrorString", "cuCtxSetCurrent", "cuDeviceGetAttribute", "cuDeviceGetCount"} | {
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease",
}


class Call(NamedTuple):
    """A call that was made."""

    name: str
    arguments: tuple[Any, ...]
    result: CUresult


class FakeCuda:
    """The driver of `len(ccs)` devices. `fails(number, name)` may return the result that a call has instead."""

    CUmemPoolProps = CUmemPoolProps
    CUgraphNodeType = CUgraphNodeType
    cuuint64_t = Handle

    def __init__(self, *ccs: tuple[int, int], pools: bool = True) -> None:
        self.devices = [Context(number, cc, pools) for number, cc in enumerate(ccs or ((9, 0),))]
        self.calls: list[Call] = []
        self.fails: Callable[[int, str], CUresult | None] = lambda number, name: None
        self.kernels: dict[str, Kernel] = {}
        self.emulates = False
        """Whether other kernels run on the emulator, from their texts; else they do nothing."""
        self.threads = 512
        """The largest block of any function."""
        self.memory = Memory()
        self.shift = 0
        """How far the handles of functions in nodes are from those that were launched."""
        self.objects: dict[int, tuple[str, Context, Any]] = {}
        self.leaked: list[str] = []
        self._next = 0x1000
        self._here = threading.local()
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        if name in ENUMS:
            return ENUMS[name]
        implementation = getattr(devices, name, None) or getattr(code, name)

        def call(*arguments: Any) -> tuple[Any, ...]:
            with self._lock:
                result, values = self._made(name, implementation, arguments)
                self.calls.append(Call(name, arguments, result))
                return result, *values

        setattr(self, name, call)
        return call

    def names(self) -> list[str]:
        """The calls that were made, but for those that make a context current."""
        return [call.name for call in self.calls if call.name != "cuCtxSetCurrent"]

    def live(self) -> Counter[str]:
        """How many objects of each kind were not given back."""
        kinds = Counter(kind for kind, _, _ in self.objects.values() if kind not in PARTS)
        return kinds + Counter({"context": sum(context.users for context in self.devices)})

    def forget_current(self) -> None:
        """The calling thread has no context current."""
        del self._here.context

    # ---- for what the functions do
    def add(self, kind: str, value: Any, number: int = 0) -> Handle:
        """An object of the current context, and its handle."""
        if not number:
            self._next += 0x10
            number = self._next
        self.objects[number] = kind, self.current, value
        return Handle(number)

    def get(self, kind: str, handle: Any, *, pop: bool = False) -> Any:
        found = self.objects.get(int(handle))
        if found is None or found[0] != kind:
            raise Refused("INVALID_HANDLE")
        if pop:
            del self.objects[int(handle)]
        return found[2]

    def pinned(self, address: int, size: int) -> int:
        """A place in pinned memory of the host."""
        for start, (kind, _, block) in self.objects.items():
            if kind == "pinned" and start <= address and address + size <= start + len(block):
                return address
        raise Refused("INVALID_VALUE")

    @property
    def current(self) -> Context:
        """The calling thread's context."""
        context: Context | None = getattr(self._here, "context", None)
        if context is None or not context.users:
            raise Refused("INVALID_CONTEXT")
        return context

    @current.setter
    def current(self, context: Context) -> None:
        self._here.context = context

    def _made(self, name: str, implementation: Any, arguments: tuple[Any, ...]) -> tuple[CUresult, tuple[Any, ...]]:
        nothing = (None,) * _VALUES.get(name, 1)
        if (failure := self.fails(len(self.calls), name)) is not None:
            if failure in STICKY and name not in WITHOUT_CONTEXT:
                self.current.sticky = failure
            return failure, nothing
        try:
            if name not in WITHOUT_CONTEXT:
                if self.current.sticky is not None:
                    return self.current.sticky, nothing
                self._check_captures(name)
            values = implementation(self, *arguments)
        except Refused as error:
            return error.code, nothing
        return CUresult.CUDA_SUCCESS, () if values is None else values if isinstance(values, tuple) else (values,)

    def _check_captures(self, name: str) -> None:
        """Ends the calling thread's captures where it calls what no capture allows."""
        if name not in IN_CAPTURE:
            for kind, _, stream in self.objects.values():
                if kind == "stream" and stream.capture is not None and stream.thread == threading.get_ident():
                    stream.invalid = True
                    raise Refused("STREAM_CAPTURE_UNSUPPORTED")


STICKY = {CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, CUresult.CUDA_ERROR_LAUNCH_FAILED, CUresult.CUDA_ERROR_ECC_UNCORRECTABLE}
PARTS = {"function", "node"}
"""Kinds that go with what they are part of."""
_NONE = """cuInit cuCtxSetCurrent cuDevicePrimaryCtxRelease cuStreamDestroy cuStreamSynchronize cuStreamBeginCapture
cuMemPoolDestroy cuMemPoolSetAttribute cuMemPoolTrimTo cuMemFreeAsync cuMemFree cuMemFreeHost cuMemcpyHtoDAsync
cuMemcpyDtoHAsync cuMemcpyDtoDAsync cuModuleUnload cuFuncLoad cuFuncSetAttribute cuLaunchKernel cuEventRecord
cuEventSynchronize cuEventDestroy cuGraphLaunch cuGraphExecDestroy cuGraphDestroy"""
_VALUES = {
    **dict.fromkeys(_NONE.split(), 0),
    "cuMemGetInfo": 2,
    "cuFuncGetParamInfo": 2,
    "cuGraphGetNodes": 2,
    "cuGraphGetEdges": 4,
}
"""How many values a call returns after its result, where it is not one."""
