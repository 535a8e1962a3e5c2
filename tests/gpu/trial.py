"""What `check.py` runs its parts with: the device, the compiled models, and results compared with NumPy's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pelton.artifact import Artifact
from pelton.driver import Accelerator, Buffer
from pelton.engine import CompiledModel, InferenceSession, Model
from pelton.tests.gpu.cases import CASES, Array, arrays, error


class Wrong(Exception):
    """A result that is not what it should be."""


class Trial:
    """A device and the folder of models that `prepare.py` wrote."""

    def __init__(self, device: Accelerator, models: Path, size: str) -> None:
        self.device, self.models, self.size = device, models, size
        self.session = InferenceSession([device])

    def artifact(self, name: str) -> Artifact:
        """A compiled model."""
        return Artifact.load(self.models / f"{name}.pelton")

    def model(self, name: str, *, text: bool = False) -> Model:
        """A loaded model: from machine code where it has it; with `text` from its PTX, which the driver compiles."""
        artifact = self.artifact(name)
        if text:
            artifact = artifact._replace(kernels=tuple(k._replace(cubin=b"") for k in artifact.kernels))
        return self.session.init(CompiledModel(artifact))

    def buffers(self, given: list[Array]) -> list[Buffer]:
        """Arrays on the device."""
        return [Buffer.from_numpy(a).to(self.device) for a in given]

    def compare(self, name: str, model: Model) -> float:
        """Runs a case for all its sizes; the largest error as a part of what is allowed. Raises Wrong."""
        return max(self.difference(name, sizes, model) for sizes in CASES[name].sizes[self.size])

    def difference(self, name: str, sizes: Mapping[str, int], model: Model) -> float:
        """One run against NumPy in float64."""
        given = arrays(name, sizes)
        got = [b.to_numpy() for b in model.execute(*self.buffers(given))]
        return self.judge(name, sizes, given, got)

    def judge(self, name: str, sizes: Mapping[str, int], given: list[Array], got: list[Array]) -> float:
        """How far results are off, as a part of what is allowed. Raises Wrong where that is too far."""
        case = CASES[name]
        want = case.expect(*(a.astype("float64") if a.dtype.kind == "f" else a for a in given))
        worst = max(error(g, w) for g, w in zip(got, want, strict=True))
        if not worst <= case.tolerance:
            raise Wrong(f"{name} {dict(sizes)}: error {worst:.2e}, allowed {case.tolerance:.0e}")
        return worst / case.tolerance if case.tolerance else 0.0


def expect(error: type[BaseException] | tuple[type[BaseException], ...], call: Any) -> str:
    """What a call raises, which it must. Raises Wrong where it does not."""
    try:
        call()
    except error as raised:
        return str(raised).splitlines()[0]
    raise Wrong(f"nothing was raised; {error} was expected")
