"""Arrays over the memory of one call of a user's body: what the texts' words `_written_f32` and `_read_f32` make.

Enters: a `Source`, and the parts of Numba that its target has of its own. Leaves: an intrinsic per word, for the
globals of the text. `_written_f32(buffer, offset, shape)` is contiguous memory from an element on; `_read_f32` the
same, and may not be written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pelton.codegen.source import Source


class Toolkit(NamedTuple):
    """Numba's modules for a target, and what differs there."""

    types: Any
    cgutils: Any
    arrays: Any
    intrinsic: Any
    element: Callable[[str], Any]
    """Numba's type of an element in memory, by its name in a `Source`."""
    buffer: Callable[[Any], Any]
    """How a buffer reaches the word: its type, for elements of a type."""
    place: Callable[[Any, Any, Any, Any, Any], Any]
    """(builder, buffer, element, bytes of one, LLVM's pointer type) → a pointer to that element."""


def array_words(source: Source, kit: Toolkit) -> dict[str, Any]:
    """The words for every type of buffer."""
    return {
        f"_{name}_{kind}": _word(kit, kit.element(kind), readonly)
        for kind in {element for _, element in source.buffers}
        for name, readonly in (("written", False), ("read", True))
    }


def _word(kit: Toolkit, dtype: Any, readonly: bool) -> Any:
    types = kit.types

    def view(typing: Any, buffer: Any, offset: Any, shape: Any) -> Any:
        array = types.Array(dtype, shape.count, "C", readonly=readonly)

        def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            start, first, sizes = args
            element = context.get_data_type(dtype)
            size = context.get_constant(types.intp, context.get_abi_sizeof(element))
            dims = kit.cgutils.unpack_tuple(builder, sizes, shape.count)
            strides = [size] * shape.count
            for k in range(shape.count - 2, -1, -1):
                strides[k] = builder.mul(strides[k + 1], dims[k + 1])
            made = context.make_array(array)(context, builder)
            data = kit.place(builder, start, first, size, element.as_pointer())
            kit.arrays.populate_array(made, data, dims, strides, size, None)
            return made._getvalue()

        return array(kit.buffer(dtype), types.int64, types.UniTuple(types.int64, shape.count)), write

    return kit.intrinsic(view)
