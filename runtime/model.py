"""A loaded model. Enters: an `Executable`. Leaves: `Model`, which checks what users pass, runs it, returns buffers."""

from __future__ import annotations

import inspect
import keyword
import re
from typing import Any

from pelton.artifact import TensorInfo
from pelton.runtime.arguments import check_overlap, check_shapes, expected_of, locate
from pelton.runtime.buffer import Buffer
from pelton.runtime.executable import Executable
from pelton.runtime.metadata import TensorSpec
from pelton.runtime.plan import Shapes
from pelton.support.errors import ArgumentError

MOST_SHAPES = 1024


class Model:
    """Runs a compiled (or interpreted) graph. Immutable; any number of threads may execute it at once."""

    def __init__(self, executable: Executable) -> None:
        self._executable = executable
        self._inputs = executable.inputs
        self._expected = [expected_of(position, info) for position, info in enumerate(self._inputs)]
        self._mutable = any(info.mutable for info in self._inputs)
        self._run = executable.run
        self._last: Shapes | None = None
        self._accepted: set[Shapes] = set()
        self._signature: inspect.Signature | None = None

    @property
    def input_metadata(self) -> list[TensorSpec]:
        """What `execute` takes, in order."""
        return [TensorSpec.of(info) for info in self._inputs]

    @property
    def output_metadata(self) -> list[TensorSpec]:
        """What `execute` returns, in order."""
        return [TensorSpec.of(info) for info in self._executable.outputs]

    @property
    def signature(self) -> inspect.Signature:
        """The parameters of `__call__`: the inputs, in order and by name."""
        if self._signature is None:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            self._signature = inspect.Signature([inspect.Parameter(name, kind) for name in _parameters(self._inputs)])
        return self._signature

    def execute(self, *args: Any) -> list[Buffer]:
        """Run the model. One argument per input: a Buffer, a NumPy array, an object with `__dlpack__`, or a scalar.

        Arrays are used where they lie and must be C-contiguous, of the input's exact type and shape. The outputs are
        in new memory. Raises ArgumentError (ValueError) or ArgumentTypeError (TypeError) on what does not fit, before
        anything runs, and AssertionFailed (RuntimeError) where a check inside fails; the model can be used again.
        """
        expected = self._expected
        if len(args) != len(expected):
            raise self._wrong_number(len(args))
        kept: list[Buffer] = []
        addresses, shapes = locate(args, expected, kept)
        if shapes != self._last:
            self._accept(shapes)
        if self._mutable:
            check_overlap(self._inputs, addresses, shapes)
        return self._run(addresses, shapes)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Buffer]:
        """As `execute`, with inputs by position or name.

        Raises TypeError where they do not match `signature`, and as `execute` does.
        """
        return self.execute(*self.signature.bind(*args, **kwargs).args)

    def _accept(self, shapes: Shapes) -> None:
        """Check shapes unless they have been, and remember them."""
        if shapes not in self._accepted:
            check_shapes(self._inputs, shapes)
            if len(self._accepted) >= MOST_SHAPES:
                self._accepted.clear()
            self._accepted.add(shapes)
        self._last = shapes

    def _wrong_number(self, given: int) -> ArgumentError:
        names = ", ".join(info.name for info in self._inputs) or "none"
        wanted = f"{len(self._inputs)} ({names})"
        return ArgumentError("wrong number of inputs", expected=wanted, got=str(given))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{info.name}: {info}" for info in self._inputs)
        return f"Model({self._executable.name!r}, inputs=({inputs}))"


def _parameters(infos: tuple[TensorInfo, ...]) -> list[str]:
    """The inputs' names, made identifiers where they are none ("input.1" becomes "input_1"), each once."""
    names: list[str] = []
    for info in infos:
        name = re.sub(r"\W", "_", info.name)
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"_{name}"
        while name in names:
            name += "_"
        names.append(name)
    return names
