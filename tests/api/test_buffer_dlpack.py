"""DLPack at its edges: devices that are none, strides that lead nowhere. What is usual stands in test_buffer.py."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.runtime.buffer import alias_array
from pelton.tests.api.test_buffer import F32, Foreign, numbers


@pytest.mark.parametrize("device", ["cpu", None, 1, (1,), ("a", "b"), (1, 0, 0)])
def test_no_device_of_dlpack(device: Any) -> None:
    odd = type("Odd", (Foreign,), {"__dlpack_device__": lambda self: device})
    with pytest.raises(BufferError, match=r"of a Odd gave .*, not the numbers of a device's type and id"):
        Buffer.from_dlpack(odd(Buffer.zeros((2,), F32)))


def test_dlpack_of_a_stride_that_leads_nowhere() -> None:
    """Of axes with one element or none it is no matter; consumers may look at it all the same."""
    array = numbers(3, 4)
    for view in (array[::-1][:1], array[:, ::-1][:, 1:2], array[::-1, ::2][:1], array[::-1][:0], array[:0, ::-1]):
        buffer = alias_array(view)
        again = np.from_dlpack(cast(Any, buffer))
        assert again.tolist() == view.tolist() and min(again.strides) >= 0
        again = np.from_dlpack(cast(Any, Buffer.from_numpy(array)[::-1][:1]))
        assert again.tolist() == array[2:].tolist() and min(again.strides) >= 0
