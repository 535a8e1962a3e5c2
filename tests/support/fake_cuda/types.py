"""The enumerations and records of the CUDA driver that pelton uses, for `fake_cuda.py`.

tests/unit/test_cuda_binding.py compares every number with those of cuda-bindings.
"""

from __future__ import annotations

from enum import IntEnum
from types import SimpleNamespace
from typing import Any


class CUresult(IntEnum):
    """What calls return."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_ECC_UNCORRECTABLE = 214
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_FUNCTION_NOT_LOADED = 913
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908
    CUDA_ERROR_UNKNOWN = 999


class CUgraphNodeType(IntEnum):
    """What the nodes of a graph do."""

    CU_GRAPH_NODE_TYPE_KERNEL = 0
    CU_GRAPH_NODE_TYPE_MEMCPY = 1
    CU_GRAPH_NODE_TYPE_EMPTY = 5


_ENUMS: dict[str, dict[str, int]] = {
    "CUdevice_attribute": {
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": 75,
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": 76,
        "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 97,
        "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED": 115,
    },
    "CUfunction_attribute": {
        "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": 0,
        "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES": 1,
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 8,
    },
    "CUstream_flags": {"CU_STREAM_NON_BLOCKING": 1},
    "CUevent_flags": {"CU_EVENT_DEFAULT": 0, "CU_EVENT_DISABLE_TIMING": 2},
    "CUstreamCaptureMode": {"CU_STREAM_CAPTURE_MODE_THREAD_LOCAL": 1},
    "CUmemAllocationType": {"CU_MEM_ALLOCATION_TYPE_PINNED": 1},
    "CUmemAllocationHandleType": {"CU_MEM_HANDLE_TYPE_NONE": 0},
    "CUmemLocationType": {"CU_MEM_LOCATION_TYPE_DEVICE": 1},
    "CUmemPool_attribute": {
        "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD": 4,
        "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT": 5,
        "CU_MEMPOOL_ATTR_USED_MEM_CURRENT": 7,
    },
    "CUjit_option": {"CU_JIT_ERROR_LOG_BUFFER": 5, "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES": 6},
}
ENUMS: dict[str, Any] = {name: IntEnum(name, members) for name, members in _ENUMS.items()}


class CUmemPoolProps(SimpleNamespace):
    """Which memory a pool has."""

    def __init__(self) -> None:
        super().__init__(allocType=0, handleTypes=0, location=SimpleNamespace(type=0, id=-1))


class Handle:
    """What the driver returns for an object, and for an address: a number in a box, as the binding has it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __int__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"{self.number:#x}"
