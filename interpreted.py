"""A model that runs on the `nn` interpreter: the same `Model` to users, the slow truth behind it.

Enters: a graph's module, its constants and bound weights. Leaves: an `Executable` for `runtime.model.Model`.
`PELTON_INTERPRET=1` puts it in the place of compiled code, so that a wrong number is found to be the compiler's or
the graph's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from pelton.artifact import TensorInfo
from pelton.dialects.interpreter import InterpreterError, run
from pelton.runtime.buffer import Buffer
from pelton.runtime.memory import array_over
from pelton.runtime.plan import Shapes
from pelton.support.errors import AssertionFailed


@dataclass(frozen=True)
class InterpretedModel:
    """Runs `evaluate` of one op after the other."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    module: ModuleOp
    weights: Mapping[str, Any]

    def run(self, addresses: Sequence[int], shapes: Shapes) -> list[Buffer]:
        """The outputs for arguments at these addresses, in new memory even where the graph returns what it is given.

        Raises AssertionFailed where an op meets what it requires not to happen.
        """
        places = zip(addresses, self.inputs, shapes, strict=True)
        arguments = [array_over(None, address, info.dtype, shape, None, True) for address, info, shape in places]
        try:
            results = run(self.module, arguments, self.weights)
        except InterpreterError as error:
            raise AssertionFailed(str(error)) from error
        return [Buffer.from_numpy(np.array(result, order="C")) for result in results]
