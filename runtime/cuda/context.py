"""A device's primary context, and every call made in it. Enters: an API, an ordinal. Leaves: values, or exceptions.

The primary context is the one that other libraries of the process use too, so memory and streams can be shared with
them. Which context is current is a matter of each thread: calls set it, since any library may set another. Next:
`memory.py`, `code.py`, `graphs.py` and `driver.py` say what to call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from pelton.runtime.cuda.errors import lost, refusal
from pelton.support.errors import CaptureError, DeviceError, DeviceLost, PeltonError


class Here(threading.local):
    """What holds for the calling thread: whose context is current, and on which stream its work goes."""

    current: object = None
    """The `mark` of the context that `enter` made current last."""
    stream: Any = None
    owner: Context | None = None
    """The context itself, whatever became of it."""

    def __init__(self) -> None:
        self.captures: dict[Context, Any] = {}
        """The stream that this thread captures, by context."""


HERE = Here()
_ATTRIBUTE = "CU_DEVICE_ATTRIBUTE_"
_FOREIGN = ("CUDA_ERROR_INVALID_CONTEXT", "CUDA_ERROR_INVALID_HANDLE")
"""What calls return that found another library's context current; nothing was begun then."""


class Context:
    """The primary context of one device, retained until `close`, and the main stream in it."""

    def __init__(self, api: Any, ordinal: int) -> None:
        self.api = api
        self.launch: Callable[..., tuple[Any, ...]] = api.cuLaunchKernel
        self.ordinal = ordinal
        self.name = f"gpu:{ordinal}"
        self.mark = object()
        """Stands for the context as long as calls may be made in it: a new one makes every thread `enter` again."""
        self._fault: PeltonError | None = None
        self._handle: Any = None
        self.stream: Any = None
        """Where work goes that no thread is capturing."""
        self.device = self._outside("cuDeviceGet", ordinal)
        self._handle = self._outside("cuDevicePrimaryCtxRetain", self.device)
        try:
            self.stream = self.new_stream()
        except BaseException:
            self.close()
            raise

    def call(self, name: str, *arguments: Any, got: str = "", remedy: str = "") -> Any:
        """Makes one call: its value, a tuple of several, or None. Raises what `errors.py` says."""
        status, *values = self.ask(name, *arguments)
        if status:
            raise self.failure(name, status, got, remedy)
        return values[0] if len(values) == 1 else tuple(values) or None

    def ask(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        """Makes one call: its status, then its values, as the binding gives them."""
        self.enter(name)
        return self._made(name, arguments)

    def attempt(self, name: str, *arguments: Any) -> None:
        """Makes one call whatever comes of it: for giving back, which must not stop half-way."""
        with suppress(PeltonError):
            self.call(name, *arguments)

    def attribute(self, name: str) -> int:
        """A number that describes the device, by the end of its name in CUdevice_attribute."""
        number = getattr(self.api.CUdevice_attribute, _ATTRIBUTE + name)
        return int(self.call("cuDeviceGetAttribute", number, self.device))

    def new_stream(self) -> Any:
        """A stream that waits for no other."""
        return self.call("cuStreamCreate", int(self.api.CUstream_flags.CU_STREAM_NON_BLOCKING))

    def refuse_in_capture(self, call: str) -> None:
        """Raise CaptureError where the calling thread captures work of this device."""
        if self in HERE.captures:
            raise CaptureError(
                f"{call}: this thread has a capture open on {self.name}, which records launches and copies alone",
                remedy=f"{call} before begin_capture or after end_capture",
            )

    def enter(self, name: str) -> None:
        """Makes the context current in this thread. Raises DeviceLost where the device is lost, DeviceError after
        `close`."""
        if self._fault is not None:
            raise lost(name, self.name, self._fault)
        if self._handle is None:
            raise DeviceError(f"{name} on {self.name}: its driver is closed")
        (status,) = self.api.cuCtxSetCurrent(self._handle)
        if status:
            raise self.failure("cuCtxSetCurrent", status)
        HERE.owner = self
        HERE.current = self.mark
        HERE.stream = HERE.captures.get(self, self.stream)

    @contextmanager
    def visited(self) -> Generator[None]:
        """Leaves the thread's context as it was: for what a finalizer may call, between any two steps of others."""
        before = HERE.owner
        try:
            yield
        finally:
            if before is not None and before is not self:
                with suppress(PeltonError):
                    before.enter("cuCtxSetCurrent")

    def again(self, name: str, status: Any, make: Callable[[], tuple[Any, ...]], got: str = "") -> None:
        """For a call made without `enter` that failed: once more if another library's context was current."""
        if getattr(status, "name", "") in _FOREIGN:
            self.enter(name)
            (status,) = make()
        if status:
            raise self.failure(name, status, got)

    def failure(self, name: str, status: Any, got: str = "", remedy: str = "") -> PeltonError:
        """The exception for a status; a fault that stays is remembered."""
        error = refusal(self.api, name, status, self.name, got, remedy)
        if isinstance(error, DeviceLost) and self._fault is None:
            self._fault = error
            self.mark = object()
        return error

    @property
    def is_lost(self) -> bool:
        """Whether an earlier fault makes every call useless."""
        return self._fault is not None

    @property
    def is_closed(self) -> bool:
        """Whether `close` gave everything back."""
        return self._handle is None

    def close(self) -> None:
        """Gives the stream and the context back; nothing the second time. Never raises."""
        if self._handle is None:
            return
        if self.stream is not None:
            self.attempt("cuStreamDestroy", self.stream)
        self._handle = self.stream = None
        self.mark = object()
        self.api.cuDevicePrimaryCtxRelease(self.device)

    def _made(self, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return getattr(self.api, name)(*arguments)
        except (RuntimeError, ValueError) as error:  # a function the library lacks; a code the binding does not know
            remedy = "install a driver of CUDA 13.0 or later"
            raise DeviceError(f"{name} on {self.name}: {error}", remedy=remedy) from None

    def _outside(self, name: str, *arguments: Any) -> Any:
        """A call that needs no context."""
        status, *values = self._made(name, arguments)
        if status:
            raise self.failure(name, status)
        return values[0]
