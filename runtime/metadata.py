"""What a model's inputs and outputs look like to users. Enters: the artifact's descriptions. Leaves: `TensorSpec`."""

from __future__ import annotations

from dataclasses import dataclass

from pelton.artifact import TensorInfo
from pelton.dtype import DType


@dataclass(frozen=True)
class TensorSpec:
    """Name, type and sizes of a tensor; None is a size that may vary. `str` gives `2x-1xfloat32`."""

    shape: list[int | None]
    dtype: DType
    name: str

    @classmethod
    def of(cls, info: TensorInfo) -> TensorSpec:
        """The description as users see it."""
        return cls([dim if isinstance(dim, int) else None for dim in info.shape], info.dtype, info.name)

    def __str__(self) -> str:
        return "x".join([*("-1" if size is None else str(size) for size in self.shape), self.dtype.name])
