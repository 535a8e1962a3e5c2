"""What a model's inputs and outputs look like to users. Enters: the artifact's descriptions. Leaves: `TensorSpec`."""

from __future__ import annotations

from collections.abc import Sequence

from pelton.artifact import TensorInfo
from pelton.dtype import DType


class TensorSpec:
    """What an input or an output of a model is. `str` gives `2x-1xfloat32`."""

    __slots__ = ("dtype", "name", "shape")
    dtype: DType
    """The type of the elements."""
    name: str
    """The name: as in the file that the model came from, else `input0`, `output0` and so on."""
    shape: list[int | None]
    """The sizes, None where one may vary; `[]` for rank 0."""
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # its shape is a list

    def __init__(self, shape: Sequence[int | None], dtype: DType, name: str) -> None:
        self.shape = list(shape)
        self.dtype = dtype
        self.name = name

    @classmethod
    def of(cls, info: TensorInfo) -> TensorSpec:
        """The description as users see it."""
        return cls([dim if isinstance(dim, int) else None for dim in info.shape], info.dtype, info.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __str__(self) -> str:
        return "x".join([*("-1" if size is None else str(size) for size in self.shape), self.dtype.name])
