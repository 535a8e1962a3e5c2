"""Models that can run. Enters: an artifact and its weights. Leaves: an `Executable`.

Next: `model.py` checks what users pass and calls it. The interpreter of the nn dialect is an `Executable` too, so that
interpreted and compiled models share `Model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from pelton.artifact import Artifact, TensorInfo
from pelton.program import Program, has_marks
from pelton.runtime.buffer import Buffer
from pelton.runtime.capture import Obstacle
from pelton.runtime.device import HOST, Device
from pelton.runtime.launches import Recording
from pelton.runtime.loader import load_code
from pelton.runtime.memory import address_of
from pelton.runtime.plan import Runner, Shapes
from pelton.runtime.pool import threads_of
from pelton.runtime.walker import NativeWalker, OnMark, PythonWalker, Walker, native_kernel
from pelton.support import knobs

ALONE: Mapping[str, Device] = {HOST.name: HOST}
"""The devices of what runs on the host only."""


class Executable(Protocol):
    """A model with its weights bound."""

    @property
    def name(self) -> str:
        """What the model is called."""
        ...

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """What `run` takes, in order. A symbol that occurs twice is the same size at both places."""
        ...

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """What `run` returns."""
        ...

    def run(self, addresses: Sequence[int], shapes: Shapes) -> list[Buffer]:
        """The outputs, in new memory, for arguments at these addresses, of these shapes, in C order, that fit `inputs`.

        The caller keeps their memory alive until this returns. Safe from any thread.
        """
        ...

    @property
    def devices(self) -> Mapping[str, Device]:
        """The devices it runs on, by their names."""
        ...

    @property
    def obstacle(self) -> Obstacle | None:
        """What keeps its runs from being recorded."""
        ...

    def record(self, addresses: Sequence[int], shapes: Shapes) -> Recording:
        """Run once, as `run` does, and keep what it takes to run again on the same memory. Safe from any thread.

        The caller keeps the arguments' memory alive as long as the recording is walked.
        """
        ...


class NativeExecutable:
    """An artifact whose code is mapped and whose `init` program has run on the weights.

    A program computes all sizes from those of its inputs, before anything runs: so no op is an obstacle to `record`.
    """

    obstacle: Obstacle | None = None
    devices: Mapping[str, Device] = ALONE

    def __init__(
        self, artifact: Artifact, weights: Sequence[Buffer], *, threads: int = 1, reference: bool = False
    ) -> None:
        """`weights` in the order of `artifact.weights`; at most `threads` threads run a kernel. With `reference` the
        plan is walked in Python; where `PELTON_DEBUG` is 2 or more, so it is, and each walk tells what kernels took.

        Raises ArtifactError where this machine cannot run the code, AssertionFailed where a check on the weights fails.
        """
        self.name, self.inputs, self.outputs = artifact.name, artifact.inputs, artifact.outputs
        assert artifact.walker is not None
        self._code = load_code(artifact)
        self._walker_name, self._reference = artifact.walker.name, reference
        stored = [*weights, *(over_bytes(constant.info, constant.data) for constant in artifact.constants)]
        places, sharing = dict(artifact.places), threads_of(threads, artifact.walker)
        made = Runner(artifact.init, self._walker("init", artifact.init), stored, places, sharing)((), ())
        self.run = Runner(artifact.main, self._walker("main", artifact.main), [*stored, *made], places, sharing)
        self.record = self.run.record
        if has_marks(artifact.main):
            from pelton.runtime.marks import with_calls

            self.run, self.record = with_calls(artifact.main, self.name, self.run, self.record)

    def _walker(self, part: str, program: Program) -> Walker:
        """What runs `program`; what measures is imported only where it measures, for start-up."""
        title = f"{part} of {self.name}"
        if not has_marks(program):
            return self._unmarked(title, program)
        from pelton.runtime.marks import MarkedWalker, NvtxRanges

        ranges = NvtxRanges.of(program)
        return MarkedWalker(self._unmarked(title, program, ranges and ranges.at), program, title, ranges)

    def _unmarked(self, title: str, program: Program, on_mark: OnMark | None = None) -> Walker:
        addresses = [self._code.address(name) for name in program.kernels]
        if self._reference:
            return PythonWalker([native_kernel(address) for address in addresses], on_mark)
        if knobs.DEBUG.value() >= knobs.KERNELS:
            from pelton.runtime.timing import TimedWalker

            return TimedWalker(title, program, [native_kernel(address) for address in addresses], on_mark)
        return NativeWalker(self._code.address(self._walker_name), addresses, self._code)


def over_bytes(info: TensorInfo, data: bytes) -> Buffer:
    """A buffer over a constant's bytes."""
    raw = np.frombuffer(data, np.uint8)
    shape = tuple(dim for dim in info.shape if isinstance(dim, int))
    return Buffer.over(raw, address_of(raw), info.dtype, shape, writable=False)
