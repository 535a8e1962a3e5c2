"""Weights to buffers. Enters: what the model wants, and the user's mapping from names. Leaves: buffers, in order.

Next: `executable.py` runs `init` on them. Nothing is copied: an owner keeps its memory alive, and so does the buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pelton.artifact import TensorInfo
from pelton.runtime.buffer import Buffer, alias_any, alias_array
from pelton.support.errors import ArgumentTypeError, WeightError


def bind_weights(infos: Sequence[TensorInfo], registry: Mapping[str, Any] | None) -> list[Buffer]:
    """The buffer of each weight. Names the model does not know are ignored.

    Raises WeightError (ValueError) where a weight is missing, has another shape or type, or is not C-contiguous, and
    ArgumentTypeError (TypeError) where it offers neither DLPack nor the array interface.
    """
    given: Mapping[str, Any] = {} if registry is None else registry
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentTypeError(f"weights_registry is a mapping from names to arrays, got {type(given).__name__}")
    if missing := [info.name for info in infos if info.name not in given]:
        raise WeightError(
            f"the model needs {_count(missing)} that weights_registry lacks: {', '.join(map(repr, missing))}",
            remedy="load(model, weights_registry={name: array, ...})",
        )
    return [_bound(info, given[info.name]) for info in infos]


def _count(names: Sequence[str]) -> str:
    return "a weight" if len(names) == 1 else f"{len(names)} weights"


def _bound(info: TensorInfo, value: Any) -> Buffer:
    """The buffer over one weight's memory, checked."""
    buffer = _alias(info, value)
    if (buffer.shape, buffer.dtype) != (info.shape, info.dtype):
        raise WeightError(f"weight {info.name!r} does not fit the model", expected=str(info), got=buffer.type)
    if not buffer.is_contiguous:
        raise WeightError(
            f"weight {info.name!r} is not C-contiguous",
            got=f"strides {buffer.strides} for shape {buffer.shape}",
            remedy="pass numpy.ascontiguousarray(weight)",
        )
    if buffer.address % buffer.element_size:
        return buffer.copy()
    return buffer


def _alias(info: TensorInfo, value: Any) -> Buffer:
    try:
        if (buffer := alias_any(value)) is not None:
            return buffer
        if hasattr(value, "__array_interface__"):
            return alias_array(np.asarray(value))
    except Exception as error:  # an object's own __dlpack__ may raise anything
        raise WeightError(f"weight {info.name!r} cannot be read: {error}", expected=str(info)) from error
    raise ArgumentTypeError(
        f"weight {info.name!r} is a {type(value).__name__}, which has neither __dlpack__ nor __array_interface__",
        expected=f"{info}, as a NumPy array, a Buffer or another object that offers its memory",
    )
