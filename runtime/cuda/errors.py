"""What a call that the CUDA driver refuses means. Enters: call, result code, device. Leaves: the exception to raise.

Codes are known by name, so that nothing here needs the driver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pelton.runtime.cuda.binding import described
from pelton.support.errors import (
    CaptureError,
    DeviceCodeError,
    DeviceError,
    DeviceLost,
    DeviceMemoryError,
    PeltonError,
)


class Meaning(NamedTuple):
    """The class of exception for a code, and what a user can do."""

    error: type[PeltonError]
    remedy: str


_CODE = Meaning(DeviceCodeError, "compile the model for this device, from its graph")
_LOST = Meaning(
    DeviceLost,
    "restart the process to use this device again; others, and the CPU, go on. CUDA_LAUNCH_BLOCKING=1 shows which "
    "launch it was, Accelerator.emulated() which instruction",
)
_BROKEN = Meaning(DeviceLost, "the device itself failed: nvidia-smi tells its state; other devices, and the CPU, go on")
_CAPTURE = Meaning(CaptureError, "a capture may only launch and copy on its own device; allocate and read outside it")

MEANINGS: dict[str, Meaning] = {
    "CUDA_ERROR_OUT_OF_MEMORY": Meaning(DeviceMemoryError, "free buffers or models, or run smaller batches"),
    "CUDA_ERROR_NOT_INITIALIZED": Meaning(
        DeviceError, "CUDA does not survive a fork: start worker processes with multiprocessing's 'spawn'"
    ),
    "CUDA_ERROR_INVALID_DEVICE": Meaning(DeviceError, "accelerator_count() tells how many there are"),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": Meaning(DeviceError, "compile the kernel for fewer threads per block"),
    "CUDA_ERROR_NOT_SUPPORTED": Meaning(DeviceError, "a newer driver, of CUDA 13.0 or later, may support it"),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": Meaning(DeviceError, "restart the machine after a driver's update"),
    # Code that does not fit, or is damaged.
    "CUDA_ERROR_INVALID_IMAGE": _CODE,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": _CODE,
    "CUDA_ERROR_INVALID_PTX": _CODE,
    "CUDA_ERROR_INVALID_SOURCE": _CODE,
    "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC": _CODE,
    "CUDA_ERROR_NOT_FOUND": _CODE,
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": Meaning(DeviceCodeError, "install a driver of CUDA 13.0 or later"),
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": Meaning(DeviceCodeError, "install the whole driver"),
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": Meaning(DeviceCodeError, "unset CUDA_DISABLE_PTX_JIT"),
    # Faults that stay: every later call in the context returns them again.
    "CUDA_ERROR_ILLEGAL_ADDRESS": _LOST,
    "CUDA_ERROR_MISALIGNED_ADDRESS": _LOST,
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": _LOST,
    "CUDA_ERROR_INVALID_PC": _LOST,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": _LOST,
    "CUDA_ERROR_HARDWARE_STACK_ERROR": _LOST,
    "CUDA_ERROR_LAUNCH_FAILED": _LOST,
    "CUDA_ERROR_LAUNCH_TIMEOUT": _LOST,
    "CUDA_ERROR_ASSERT": _LOST,
    "CUDA_ERROR_TENSOR_MEMORY_LEAK": _LOST,
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": _LOST,
    "CUDA_ERROR_DEINITIALIZED": _LOST,
    "CUDA_ERROR_ECC_UNCORRECTABLE": _BROKEN,
    "CUDA_ERROR_NVLINK_UNCORRECTABLE": _BROKEN,
    "CUDA_ERROR_CONTAINED": _BROKEN,
    "CUDA_ERROR_EXTERNAL_DEVICE": _BROKEN,
    "CUDA_ERROR_DEVICE_UNAVAILABLE": _BROKEN,
    "CUDA_ERROR_MPS_CLIENT_TERMINATED": _BROKEN,
    # Captures.
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_MERGE": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": _CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": _CAPTURE,
    "CUDA_ERROR_CAPTURED_EVENT": _CAPTURE,
}
_OTHER = Meaning(DeviceError, "")


def meaning_of(status: Any) -> Meaning:
    """What a result code stands for."""
    return MEANINGS.get(getattr(status, "name", ""), _OTHER)


def refusal(api: Any, call: str, status: Any, device: str, got: str = "", remedy: str = "") -> PeltonError:
    """The exception for a call on a device that returned `status`; `got` and `remedy` where the caller knows more."""
    meaning = meaning_of(status)
    message = f"{call} failed on {device}: {described(api, status)}"
    return meaning.error(message, got=got, remedy=remedy or meaning.remedy)


def lost(call: str, device: str, first: PeltonError) -> DeviceLost:
    """The exception for a call that is not even made, since an earlier one found the device lost."""
    return DeviceLost(
        f"{call} on {device}: the device is lost since an earlier fault",
        got=first.message,
        remedy=first.details.remedy,
    )
