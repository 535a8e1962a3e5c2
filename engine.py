"""`InferenceSession`: where the compiler and the runtime meet.

Enters: a `Graph`, a `.mlir` text or a `.pelton` artifact, and the weights. Leaves: a `Model`, ready to run. Importing this file loads neither
xDSL nor Numba: the compiler is imported when something must be compiled, Numba when the object cache lacks a kernel, so that a process
that only runs saved models starts as quickly as NumPy does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pelton.artifact import Artifact, ArtifactError
from pelton.driver import CPU, Device
from pelton.runtime.buffer import Buffer
from pelton.runtime.cache import ObjectCache
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
from pelton.support import knobs
from pelton.support.errors import PeltonError

if TYPE_CHECKING:
    from pelton.compiler import Compilation
    from pelton.graph import Graph
    from pelton.interpreted import InterpretedModel

PathLike = str | os.PathLike[str]
Weights = Mapping[str, Any]


class CompiledModel:
    """A compiled graph without its weights: initialise it as often as you like, or save it and do so elsewhere."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact

    def save(self, path: PathLike) -> None:
        """Write one `.pelton` file, whole or not at all. Raises OSError where that fails."""
        self.artifact.save(path)

    def __repr__(self) -> str:
        return f"CompiledModel({self.artifact.name!r}, target={self.artifact.target!r})"


class InferenceSession:
    """Compiles and loads models. Sessions share nothing but the object cache; threads may use one at the same time.

    `devices`: any iterable of `Device`; duplicates go, the host `CPU()` is appended where it is missing. Raises TypeError for anything
    else. Kernels run on the thread that calls `execute`.
    """

    def __init__(self, devices: Iterable[Device] = ()) -> None:
        if isinstance(devices, Device) or not isinstance(devices, Iterable):
            raise TypeError(f"devices: expected an iterable of Device, got {type(devices).__name__}")
        found = dict.fromkeys(devices)
        for device in found:
            if not isinstance(device, Device):
                raise TypeError(f"devices: expected only Device objects, got {type(device).__name__}")
        self._devices = list(dict.fromkeys([*found, CPU()]))

    @property
    def devices(self) -> list[Device]:
        """The session's devices, the host included."""
        return list(self._devices)

    def load(self, model: Graph | PathLike, *, weights_registry: Weights | None = None) -> Model:
        """Compile `model` where needed, bind its weights, and return it ready to run.

        `model`: a `Graph`, or the path of a `.mlir` or `.pelton` file. `weights_registry`: name → array (anything with `__dlpack__` or the
        array interface, on the host); extra names are ignored, arrays are not copied.

        Raises RuntimeError for a path that cannot be read, a file of another format, another type of model or a failed compile (which
        names op, user line and pass); ValueError for a weight that is missing (before compiling) or has the wrong shape or dtype;
        TypeError for a weight that is no array.
        """
        if isinstance(model, str | os.PathLike) and Path(model).suffix == ".pelton":
            return self.init(CompiledModel(_load_artifact(Path(model))), weights_registry=weights_registry)
        compilation = _compilation(model)
        weights = bind_weights(compilation.describe().weights, weights_registry)
        if knobs.INTERPRET.value():
            return Model(_interpreted(compilation, weights))
        return Model(NativeExecutable(compilation.run().artifact, weights))

    def compile(self, model: Graph | PathLike) -> CompiledModel:
        """Compile without weights. Raises RuntimeError as `load` does."""
        return CompiledModel(_compilation(model).run().artifact)

    def init(self, compiled: CompiledModel, *, weights_registry: Weights | None = None) -> Model:
        """A model from a compiled graph and its weights. Raises as `load` does for weights."""
        artifact = compiled.artifact
        return Model(NativeExecutable(artifact, bind_weights(artifact.weights, weights_registry)))

    def __repr__(self) -> str:
        return f"InferenceSession(devices={self._devices})"


def _interpreted(compilation: Compilation, weights: Sequence[Buffer]) -> InterpretedModel:
    from pelton.interpreted import InterpretedModel

    signature = compilation.describe()
    named = {i.name: w.to_numpy() for i, w in zip(signature.weights, weights, strict=True)}
    module = compilation.module
    return InterpretedModel(compilation.name, signature.inputs, signature.outputs, module, named | dict(compilation.constants))


def _load_artifact(path: Path) -> Artifact:
    try:
        return Artifact.load(path)
    except ArtifactError as error:
        raise RuntimeError(str(error)) from error


def _compilation(model: Graph | PathLike) -> Compilation:
    """The compiler, imported now, set up for `model`."""
    from pelton.codegen.cpu.target import host_target
    from pelton.compiler import Compilation

    if isinstance(model, str | os.PathLike):
        module, constants, name = _read(Path(model)), dict[str, Any](), Path(model).stem
    else:
        from pelton.graph import Graph

        if not isinstance(model, Graph):
            raise RuntimeError(f"cannot load a {type(model).__name__}: expected a Graph, or the path of a .mlir or .pelton file")
        module, constants, name = model.module.clone(), model.constants, model.name
    store = ObjectCache(knobs.cache_folder())
    return Compilation(module, host_target(knobs.TARGET.value()), store, constants, name)


def _read(path: Path) -> Any:
    """The module in a `.mlir` file."""
    if path.suffix != ".mlir":
        readers = "a .mlir or a .pelton file"
        hint = "; a reader for ONNX does not exist yet" if path.suffix == ".onnx" else ""
        raise RuntimeError(f"{path}: expected {readers}, got {path.suffix or 'no suffix'}{hint}")
    from pelton.dialects.context import new_context
    from pelton.dialects.reader import read_module

    try:
        return read_module(new_context(), path.read_bytes(), str(path))
    except OSError as error:
        raise RuntimeError(f"cannot read {path}: {error.strerror or error}") from error
    except PeltonError as error:
        raise RuntimeError(str(error)) from error
