"""The model that a command works on: a path enters, what it takes and returns leaves, and whatever comes of it.

A `.mlir` file is read, checked and described without compiling, so that what is missing is told at once; a `.pelton`
artifact says the same about itself. Next: `run.py`, `bench.py` and `explain.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pelton.runtime.device import HOST
from pelton.support.files import no_model
from pelton.support.texts import escaped
from pelton.tools.exits import UsageError, unknown

if TYPE_CHECKING:
    from pelton.artifact import Artifact, TensorInfo
    from pelton.codegen.cpu.target import CpuTarget
    from pelton.compiler import Compilation
    from pelton.engine import InferenceSession, Model
    from pelton.graph import Graph
    from pelton.support.options import Options


@dataclass(frozen=True)
class Subject:
    """A model file; either `graph` or `artifact` is there."""

    path: Path
    inputs: tuple[TensorInfo, ...]
    weights: tuple[TensorInfo, ...]
    graph: Graph | None = None
    artifact: Artifact | None = None

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.artifact.name if self.artifact is not None else escaped(self.path.stem)

    @property
    def source(self) -> Graph:
        """The graph. UsageError for what is compiled already."""
        if self.graph is None:
            raise UsageError(f"{self.path} is compiled already; give the .mlir file it was made from")
        return self.graph

    def load(self, session: InferenceSession, weights: dict[str, Any]) -> Model:
        """The model, ready to run."""
        if self.graph is not None:
            return session.load(self.graph, weights_registry=weights)
        from pelton.engine import CompiledModel

        assert self.artifact is not None
        return session.init(CompiledModel(self.artifact), weights_registry=weights)

    def compilation(self, target: str | None, options: Options) -> Compilation:
        """The path that makes an artifact of it. UsageError for what is compiled already."""
        from pelton.compiler import Compilation
        from pelton.runtime.cache import ObjectCache
        from pelton.support.knobs import cache_folder

        cpu, gpu = chosen_target(target)
        graph, store = (self.on_gpu() if gpu else self).source, ObjectCache(cache_folder())
        return Compilation(graph.module, cpu, store, graph.constants, self.name, options, gpu, cubins=True)

    def on_gpu(self) -> Subject:
        """The model for `gpu:0`, where it is made for the host alone; else itself."""
        from pelton.dialects.signature import describe, devices_of

        if self.graph is None or devices_of(self.graph.module) != (HOST.name,):
            return self
        from pelton.dialects.context import new_context
        from pelton.passes.place_on import PlaceOn

        PlaceOn().apply(new_context(), self.graph.module)  # nobody else has what was read from a file
        signature = describe(self.graph.module, self.graph.constants)
        return Subject(self.path, signature.inputs, signature.weights, graph=self.graph)


def chosen_target(name: str | None) -> tuple[CpuTarget, str]:
    """What code is made for: the CPU target of that name, else the best of this machine that PELTON_TARGET allows; and
    the GPU of that name, else what PELTON_TARGET names, else none ("").
    """
    from pelton.codegen.cpu.target import target_for, target_named
    from pelton.runtime.loader import host_features
    from pelton.support import knobs

    if name in knobs.CPU_CAPS:
        return target_named(name), ""
    best = target_for(host_features(), knobs.cpu_target())
    return best, name if name is not None else knobs.gpu_target()


def open_model(path: Path, extensions: Sequence[str] = ()) -> Subject:
    """Read a model file; `extensions` are run first, and have the kernels of its custom ops.

    Raises ReadError, VerifyError or ArtifactError, each naming the path and what is wrong.
    """
    if extensions:
        from pelton.custom.extensions import provide

        provide(list(extensions))
    match path.suffix:
        case ".pelton":
            from pelton.artifact import Artifact

            artifact = Artifact.load(path)
            return Subject(path, artifact.inputs, artifact.weights, artifact=artifact)
        case ".mlir":
            from pelton.dialects.signature import describe
            from pelton.graph import Graph

            graph = Graph(escaped(path.stem) or "model", path=path)
            signature = describe(graph.module, graph.constants)
            return Subject(path, signature.inputs, signature.weights, graph=graph)
        case _:
            raise no_model(path)


def named_pairs(texts: Sequence[str], flag: str, form: str) -> dict[str, str]:
    """`name=value` texts as a mapping. UsageError for one that has no `=`, and for a name given twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{flag} {text}: expected {form}")
        if name in found:
            raise UsageError(f"{flag} {text}: {name} is given twice")
        found[name] = value
    return found


def require_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """UsageError for a name that the model does not have."""
    for name in names:
        if name not in known:
            raise UsageError(unknown(what, name, known))


def missing(what: str, infos: Sequence[TensorInfo], remedy: str) -> UsageError:
    """The error for things that the command line leaves out, with their types."""
    lines = [f"  {info.name}: {info}" for info in infos]
    many = f"{len(infos)} {what}s are" if len(infos) != 1 else f"one {what} is"
    return UsageError("\n".join([f"{many} missing:", *lines, remedy]))
