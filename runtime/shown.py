"""Values as text, as NumPy prints them: a word that a check recorded, or the bytes of a tensor, whole or its beginning.

Enters: dtypes, shapes, words and bytes. Leaves: NumPy scalars and text, to `messages.py`. Imported only by who has
something to say.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from pelton.dtype import DType
from pelton.program import HEAD, WHOLE


def decoded(dtype: str, word: int) -> Any:
    """The NumPy scalar of a word: a float by its bits, halves by those of an f32, others by their value."""
    kind, bits = DType(dtype).to_numpy(), np.int64(word)
    match dtype:
        case "f64":
            return bits.view(np.float64)
        case "f16" | "bf16" | "f32":
            return bits.astype(np.uint32).view(np.float32).astype(kind)
        case _:
            return bits.astype(kind)


class Shown(NamedTuple):
    """A value to be shown: all of its elements, or where `begins` is set the first ones, in one row."""

    dtype: str
    shape: tuple[int, ...]
    array: Any
    begins: bool = False

    @classmethod
    def of(cls, dtype: str, array: Any) -> Shown:
        """A NumPy array, of which as much is shown as of a tensor that a run copies."""
        if array.nbytes <= WHOLE:
            return cls(dtype, array.shape, array)
        return cls(dtype, array.shape, array.reshape(-1)[: HEAD // array.itemsize], begins=True)

    @classmethod
    def copied(cls, dtype: str, shape: tuple[int, ...], content: bytes | memoryview) -> Shown:
        """The elements that a run copied, in C order."""
        array = np.frombuffer(bytes(content), DType(dtype).to_numpy())
        whole = prod(shape) == array.size
        return cls(dtype, shape, array.reshape(shape) if whole else array, not whole)

    def _numbers(self, prefix: str = "") -> str:
        """The elements, which stand behind `prefix`; large arrays are shortened."""
        text = np.array2string(self.array, prefix=prefix)
        return f"{text[:-1]} ...]" if self.begins else text

    def as_text(self) -> str:
        """`f32[2] [1. 2.]`, from rank 2 on in several lines."""
        numbers = self._numbers()
        return f"{self.dtype}{list(self.shape)}" + ("\n" if "\n" in numbers else " ") + numbers

    def as_tensor(self, label: str) -> str:
        """`label = tensor([1. 2.], dtype=f32, shape=[2])`."""
        head = f"{label} = tensor("
        return f"{head}{self._numbers(head)}, dtype={self.dtype}, shape={list(self.shape)})"
