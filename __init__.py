"""pelton, an inference engine written wholly in Python. Public names load on first touch; this imports nothing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pelton.custom import register
    from pelton.driver import CPU, Accelerator, Buffer, Device, accelerator_api, accelerator_count
    from pelton.dtype import DType
    from pelton.engine import (
        AssertLevel,
        CompiledModel,
        InferenceSession,
        LogLevel,
        Model,
        SplitKReductionPrecision,
        TensorSpec,
    )
    from pelton.graph import BufferType, BufferValue, DeviceRef, Dim, Graph, TensorType, TensorValue, Weight, ops

__version__ = "0.1.0"

__all__ = [
    "CPU",
    "Accelerator",
    "AssertLevel",
    "Buffer",
    "BufferType",
    "BufferValue",
    "CompiledModel",
    "DType",
    "Device",
    "DeviceRef",
    "Dim",
    "Graph",
    "InferenceSession",
    "LogLevel",
    "Model",
    "SplitKReductionPrecision",
    "TensorSpec",
    "TensorType",
    "TensorValue",
    "Weight",
    "accelerator_api",
    "accelerator_count",
    "ops",
    "register",
]

_HOMES = {
    "custom": ("register",),
    "driver": ("CPU", "Accelerator", "Buffer", "Device", "accelerator_api", "accelerator_count"),
    "dtype": ("DType",),
    "engine": (
        "AssertLevel",
        "CompiledModel",
        "InferenceSession",
        "LogLevel",
        "Model",
        "SplitKReductionPrecision",
        "TensorSpec",
    ),
    "graph": ("BufferType", "BufferValue", "DeviceRef", "Dim", "Graph", "TensorType", "TensorValue", "Weight", "ops"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import the module that a public name lives in, or the public module of that name."""
    if name in _HOMES:
        return importlib.import_module(f"pelton.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'pelton' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"pelton.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, *_HOMES, "__version__"])
