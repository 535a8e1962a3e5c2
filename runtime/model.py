"""A loaded model. Enters: an `Executable`. Leaves: `Model`, which checks what users pass, runs it, returns buffers."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from pelton.artifact import TensorInfo
from pelton.runtime.arguments import check_overlap, check_shapes, expected_of, locate, place
from pelton.runtime.buffer import Buffer
from pelton.runtime.capture import Captures, compare, require_buffers
from pelton.runtime.executable import Executable
from pelton.runtime.launches import LaunchRecord, Recording
from pelton.runtime.metadata import TensorSpec
from pelton.runtime.plan import Shapes
from pelton.support.errors import ArgumentError, CaptureError

MOST_SHAPES = 1024


class Model:
    """Runs a compiled (or interpreted) graph. Any number of threads may execute, capture and replay at once."""

    def __init__(self, executable: Executable) -> None:
        self._executable = executable
        self._inputs = executable.inputs
        self._expected = [
            expected_of(position, info, executable.devices[info.device]) for position, info in enumerate(self._inputs)
        ]
        self._mutable = any(info.mutable for info in self._inputs)
        self._run = executable.run
        self._last: Shapes | None = None
        self._accepted: set[Shapes] = set()
        self._signature: inspect.Signature | None = None
        self._captures = Captures(self._inputs, executable.outputs)
        self._exact = self._captures.exact

    def __reduce__(self) -> NoReturn:
        """A TypeError: what is loaded belongs to its process."""
        raise TypeError(
            "a loaded model cannot be copied or pickled: pickle or save what session.compile(graph) makes, load that"
        )

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

        Arrays are used where they lie and must be C-contiguous, of the input's exact type and shape. A scalar becomes
        a value of that type, as by `Buffer.scalar`: floats round, nothing is cut off. The outputs are in new memory.
        Raises ArgumentError (ValueError) or ArgumentTypeError (TypeError) on what does not fit, before anything runs,
        and AssertionFailed (RuntimeError) where a check inside fails; the model can be used again.
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

    def capture(self, graph_key: int | Sequence[int], *inputs: Buffer) -> list[Buffer]:
        """Run the model once on these buffers, and keep the bound launches under a key, for `replay`.

        `graph_key`: an int in [0, 2**64 - 1], or a sequence of such ints, one per device of the model. `inputs`: one
        Buffer per input, contiguous and aligned, of the input's type and shape. The outputs returned are what each
        replay rewrites; they stay valid as long as you or the model hold them. The model holds the inputs, the outputs
        and the scratch memory of this run until `release_captured_graph`. Inputs that the model writes are written.

        Raises, in this order: ArgumentError (ValueError) without inputs; ArgumentTypeError (TypeError) for a key that
        is no int (a bool is none), ArgumentError for one out of range; CaptureError (RuntimeError) for a key that is
        captured already, and naming the op where the graph cannot be captured; ArgumentTypeError for an input that is
        no Buffer; for buffers that do not fit, what `execute` raises; AssertionFailed (RuntimeError) where a check
        inside fails. Then nothing is captured.
        """
        key = self._captures.key(graph_key, inputs, "capture")
        return list(self._captures.add(key, inputs, lambda: self._record(inputs, "capture")).outputs)

    def replay(self, graph_key: int | Sequence[int], *inputs: Buffer) -> None:
        """Make the captured run again: it reads what the captured inputs hold now and rewrites the captured outputs.

        `inputs`: the buffers that were captured, or others over the same memory, of the same shape and dtype. Replays
        of one key take turns, in whatever thread they are called; those of different keys run side by side.

        Raises as `capture` for the key; CaptureError (RuntimeError) for a key that is not captured, and for other
        buffers than the captured ones, saying which differs and how; AssertionFailed (RuntimeError) where a check
        inside fails, after which the capture can be replayed again.
        """
        try:
            captured = self._exact[type(graph_key), graph_key, inputs]  # pyright: ignore[reportArgumentType]
        except (KeyError, TypeError):  # no int, other objects, or a mistake
            captured = self._captures.same(graph_key, inputs)
        with captured.lock:
            if stopped := captured.walk():
                raise captured.recording.failure(stopped)

    def debug_verify_replay(self, graph_key: int | Sequence[int], *inputs: Buffer) -> None:
        """Run the model on these buffers, without a replay, and compare what it launches with what was captured.

        `inputs`: as for `capture`; their addresses may be others than the captured ones. Compared are, launch by
        launch, the kernel, the grid, the block, the shared memory and the arguments: which input, output or place in
        the scratch memory each is, or which number; then the types of the outputs. The captured outputs are not
        touched; inputs that the model writes are written.

        Raises as `capture` for key and buffers; CaptureError (RuntimeError) for a key that is not captured, and showing
        the first difference. The capture can be replayed in any case.
        """
        captured = self._captures.find(graph_key, inputs, "debug_verify_replay")
        eager = self._record(inputs, "debug_verify_replay")
        with captured.lock:
            compare(captured.recording, eager, graph_key)

    def release_captured_graph(self, graph_key: int | Sequence[int]) -> None:
        """Forget a captured run: its scratch memory is free, and its inputs and outputs are their holders' alone.

        A key that is not captured is no mistake. A replay that is running ends first. Raises as `capture` for the key.
        """
        self._captures.release(graph_key)

    def launches(self, *inputs: Buffer) -> tuple[LaunchRecord, ...]:
        """What a run on these buffers launches, in order. The model runs once, and nothing is kept.

        Raises as `capture` for the buffers.
        """
        return self._record(inputs, "launches").launches()

    def _record(self, inputs: tuple[Any, ...], call: str) -> Recording:
        """Run once on these very buffers, and keep what it takes to do so again."""
        if (obstacle := self._executable.obstacle) is not None:
            raise CaptureError(
                f"{self._executable.name!r} cannot be captured: {obstacle.reason}",
                op=obstacle.op,
                location=obstacle.location,
                remedy="use execute",
            )
        require_buffers(inputs, self._inputs, call)
        addresses, shapes = locate(inputs, self._expected, [])
        for position, (info, given, address) in enumerate(zip(self._inputs, inputs, addresses, strict=True)):
            if address != given.address:
                raise ArgumentError(
                    f"{place(position, info)} lies at an address that kernels cannot use, and a copy would not be seen",
                    expected=f"a multiple of {given.element_size}",
                    got=f"{given.address:#x}",
                )
        check_shapes(self._inputs, shapes)
        check_overlap(self._inputs, addresses, shapes)
        return self._executable.record(addresses, shapes)

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
