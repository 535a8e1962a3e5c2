"""A model that runs on the `nn` interpreter: the same `Model` to users, the slow truth behind it.

Enters: a graph's module, its constants and bound weights. Leaves: an `Executable` for `runtime.model.Model`.
`PELTON_INTERPRET=1` puts it in the place of compiled code, so that a wrong number is found to be the compiler's or
the graph's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from pelton.artifact import TensorInfo
from pelton.dialects.check import location_text
from pelton.dialects.checks import Checked, Failure
from pelton.dialects.context import new_context
from pelton.dialects.interpreter import InterpreterError, Listener, run
from pelton.dialects.nn import TraceOp
from pelton.dialects.op import NnOp, Requirement
from pelton.dialects.types import TensorType, dtype_name
from pelton.passes.apply_assert_level import ApplyAssertLevel
from pelton.passes.apply_log_level import ApplyLogLevel
from pelton.program import Site
from pelton.runtime import messages
from pelton.runtime.buffer import Buffer
from pelton.runtime.capture import Obstacle
from pelton.runtime.device import Device
from pelton.runtime.executable import ALONE
from pelton.runtime.launches import INPUT, NUMBER, OUTPUT, Argument, LaunchRecord, Recording
from pelton.runtime.memory import array_over
from pelton.runtime.plan import Shapes
from pelton.runtime.shown import Shown
from pelton.support.errors import AssertionFailed, PeltonError
from pelton.support.options import Options


def at_levels(module: ModuleOp, options: Options) -> ModuleOp:
    """A copy of a module with what the levels leave of its asserts and messages, as it would be compiled."""
    module = module.clone()
    for each in (ApplyAssertLevel(options.assert_level.value), ApplyLogLevel(options.log_level.value)):
        each.apply(new_context(), module)
    return module


@dataclass(frozen=True)
class InterpretedModel:
    """Runs `evaluate` of one op after the other."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    module: ModuleOp
    weights: Mapping[str, Any]
    obstacle: Obstacle | None = None
    devices: Mapping[str, Device] = field(default_factory=lambda: ALONE)

    def run(self, addresses: Sequence[int], shapes: Shapes) -> list[Buffer]:
        """The outputs for arguments at these addresses, in new memory even where the graph returns what it is given.

        Raises AssertionFailed where a check fails or an op meets what it requires not to happen.
        """
        places = zip(addresses, self.inputs, shapes, strict=True)
        arguments = [array_over(None, address, info.dtype, shape, None, True) for address, info, shape in places]
        try:
            results = run(self.module, arguments, self.weights, Talking())
        except InterpreterError as error:
            raise AssertionFailed(str(error)) from error
        return [Buffer.from_numpy(np.array(result, order="C")) for result in results]

    def record(self, addresses: Sequence[int], shapes: Shapes) -> Recording:
        """Run, and keep the outputs, to run again. It counts as one launch."""
        outputs, errors = self.run(addresses, shapes), list[AssertionFailed]()

        def walk() -> int:
            try:
                for output, result in zip(outputs, self.run(addresses, shapes), strict=True):
                    output.inplace_copy_from(result)
            except AssertionFailed as error:
                errors[:] = [error]
                return 1
            return 0

        def failure(stopped: int) -> PeltonError:
            return errors.pop()

        whole = LaunchRecord(f"interpreter of {self.name}", (1, 1, 1), _arguments(len(shapes), len(outputs), shapes))
        return Recording(outputs, walk, failure, lambda: (whole,))


class Talking(Listener):
    """Says what compiled models say, in the same words."""

    def failed(self, op: Checked, failure: Failure) -> None:
        site, place, values = Site(op.text, op.name), location_text(op), list(map(str, failure.values))
        if op.mode == "fail":
            raise messages.failure(site, place, failure.place, values)
        messages.report(site, place, failure.place, values)

    def required(self, op: NnOp, rule: Requirement, lhs: int, rhs: int) -> None:
        raise messages.requirement(Site(rule.message, op.name), location_text(op), rule.relation == "eq", lhs, rhs)

    def traced(self, op: TraceOp, arrays: Sequence[Any]) -> None:
        dtypes = [dtype_name(t.dtype) for v in op.operands if isinstance(t := v.type, TensorType)]
        shown = [Shown.of(dtype, array) for dtype, array in zip(dtypes, arrays, strict=True)]
        messages.say(Site(op.message.data, op.name, level=op.level.data), location_text(op), shown)


def _arguments(inputs: int, outputs: int, shapes: Shapes) -> tuple[Argument, ...]:
    """All inputs, all outputs, all sizes of inputs."""
    sizes = [Argument(NUMBER, 0, size) for shape in shapes for size in shape]
    return (
        *(Argument(INPUT, number, 0) for number in range(inputs)),
        *(Argument(OUTPUT, number, 0) for number in range(outputs)),
        *sizes,
    )
