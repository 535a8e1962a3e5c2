"""`InferenceSession`: where the compiler and the runtime meet.

Enters: a `Graph`, a `.mlir` text or a `.pelton` artifact, and the weights. Leaves: a `Model`, ready to run. Importing
this file loads neither xDSL nor Numba: the compiler is imported when something must be compiled, Numba when the
object cache lacks a kernel, so that a process that only runs saved models starts as quickly as NumPy does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

from pelton.artifact import Artifact, ArtifactError, TensorInfo
from pelton.driver import CPU, Device
from pelton.runtime.buffer import Buffer
from pelton.runtime.cache import ObjectCache
from pelton.runtime.device import CUDA
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.loader import host_features
from pelton.runtime.metadata import TensorSpec
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
from pelton.support import knobs, options
from pelton.support.cores import physical_cores
from pelton.support.errors import ArgumentTypeError, CompileError, GraphError, ReadError, shown
from pelton.support.files import no_model
from pelton.support.options import AssertLevel, LogLevel, Options, SplitKReductionPrecision
from pelton.support.texts import escaped

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pelton.graph import Graph
    from pelton.interpreted import InterpretedModel

PathLike = str | os.PathLike[str]
Weights = Mapping[str, Any]


__all__ = [
    "AssertLevel",
    "CompiledModel",
    "InferenceSession",
    "LogLevel",
    "Model",
    "SplitKReductionPrecision",
    "TensorSpec",
]


class CompiledModel:
    """A compiled graph without its weights: initialise it as often as you like, or save it and do so elsewhere.

    Made by `InferenceSession.compile`; `InferenceSession.init` and `InferenceSession.load` make models of it.
    """

    def __init__(self, artifact: Artifact) -> None:
        if not isinstance(artifact, Artifact):  # pyright: ignore[reportUnnecessaryIsInstance]
            got = shown(cast(object, artifact))
            raise ArgumentTypeError(f"a CompiledModel is made by InferenceSession.compile, not of {got}")
        self.artifact = artifact

    def save(self, path: PathLike) -> None:
        """Write one `.pelton` file, whole or not at all.

        Raises OSError where that fails, ValueError for a text that can name no file, TypeError for what is no path.
        """
        self.artifact.save(path)

    def __repr__(self) -> str:
        return f"CompiledModel({self.artifact.name!r}, target={self.artifact.target!r})"


class InferenceSession:
    """Compiles and loads models. Sessions share nothing but the object cache; threads may use one at the same time.

    `devices`: any iterable of `Device`; duplicates go, the host `CPU()` is appended where it is missing. A model that
    uses `gpu:0` runs on the `Accelerator` of that id among them; its code is made for the least of them.
    `num_threads`: worker threads for CPU kernels, 1 to 4096; by default what `PELTON_NUM_THREADS` says, else the
    physical cores that the process may use. `custom_extensions`: where the kernels of custom ops are, for every load.

    Levels and choices start as SAFE asserts, messages from WARNING on, split sums kept as ACCUM, the new top-k kernel
    and no profiling. The environment variables `PELTON_ASSERT_LEVEL`, `PELTON_LOG_LEVEL`,
    `PELTON_USE_OLD_TOP_K_KERNEL` and `PELTON_ENABLE_PROFILING`, read here, start them otherwise. The methods that set
    them return None, override the environment, and affect later calls of `load` and `compile` only.

    Raises TypeError for devices that are not an iterable of Device, a number of threads that is no int, an object that
    is no extension, and an environment variable of a level that names none (listing the names); ValueError for an
    impossible number of threads; RuntimeError for an extension that cannot be loaded.
    """

    def __init__(
        self, devices: Iterable[Device] = (), num_threads: int | None = None, *, custom_extensions: Any = None
    ) -> None:
        self._devices = list(dict.fromkeys([*_checked(devices), CPU()]))
        self._threads = options.thread_count(num_threads) or physical_cores()
        _provide(custom_extensions)
        self._extensions = custom_extensions
        self._options = options.from_environment()

    @property
    def devices(self) -> list[Device]:
        """The session's devices, in the order given, each once; the host is always there, last unless it was given.

        A new list: changing it changes nothing.
        """
        return list(self._devices)

    @property
    def num_threads(self) -> int:
        """How many threads run the CPU kernels of this session's models."""
        return self._threads

    def gpu_profiling(self, mode: str) -> None:
        """Marks for a profiler: "off", "on" (around launches) or "detailed". Raises ValueError for anything else."""
        self._options = self._options._replace(profiling=options.profiling_mode(mode))

    def set_log_level(self, level: str | LogLevel) -> None:
        """Keep messages at this level or above; NOTSET keeps none. A member, or its name as text in any case.

        Raises TypeError, listing the names, for anything else.
        """
        self._options = self._options._replace(log_level=options.level(LogLevel, level))

    def set_assert_level(self, level: str | AssertLevel) -> None:
        """Which asserts are compiled in: a member, or its name as text in any case.

        NONE removes all; WARN keeps all, and they report instead of failing; SAFE keeps those that guard memory or
        cost O(1) per op; ALL keeps all. Memory is safe at every level. Raises TypeError, listing the names, for
        anything else.
        """
        self._options = self._options._replace(assert_level=options.level(AssertLevel, level))

    set_mojo_log_level = set_log_level
    set_mojo_assert_level = set_assert_level

    def set_split_k_reduction_precision(self, precision: str | SplitKReductionPrecision) -> None:
        """How partial sums of a long matrix product are kept: in the accumulator's type, or rounded to the result's.

        A member, or its name. Raises TypeError, listing the names, for anything else.
        """
        self._options = self._options._replace(split_k=options.precision(precision))

    def use_old_top_k_kernel(self, mode: str) -> None:
        """Choose the old top-k kernel, or the new one with "false", "off", "no" or "0", in any case.

        Raises TypeError for anything but a text.
        """
        self._options = self._options._replace(old_top_k=options.chooses_old_top_k(mode))

    def load(
        self, model: Graph | PathLike, *, custom_extensions: Any = None, weights_registry: Weights | None = None
    ) -> Model:
        """Compile `model` where needed, bind its weights, and return it ready to run.

        `model`: a `Graph`, or the path of a `.mlir` or `.pelton` file. `weights_registry`: name → array (anything
        with `__dlpack__` or the array interface, on the host, or a Buffer); extra names are ignored. Arrays are not
        copied, but for those of weights on a GPU, which are moved there, once.

        Raises RuntimeError for a path that cannot be read, a file of another format, another type of model or a
        failed compile (which names op, user line and pass, and a script that shows it again), and for a GPU that the
        session does not have or that cannot run the code; MemoryError where its memory does not suffice for the
        weights; ValueError for a weight that is missing (before compiling) or has the wrong shape or dtype, and for an
        environment variable that has a value it cannot have; TypeError for a weight that is no array.
        """
        if _is_artifact(model):
            return self.init(model, weights_registry=weights_registry)
        bound: list[Buffer] = []
        with _compiler():
            _provide(self._extensions, custom_extensions)
            source = _source(model)
            if knobs.INTERPRET.value():
                return Model(_interpreted(source, self._options, weights_registry))
            bind = partial(_bind, bound, weights_registry)
            artifact = _compiled(source, self._options, self._gpus(), bind)
        return self._model(artifact, bound)

    def compile(self, model: Graph | PathLike) -> CompiledModel:
        """Compile without weights. A `.pelton` file is read: it is compiled. Raises RuntimeError as `load` does."""
        if _is_artifact(model):
            return CompiledModel(Artifact.load(model))
        with _compiler():
            _provide(self._extensions)
            return CompiledModel(
                _compiled(
                    _source(model), self._options, self._gpus()._replace(cubins=True, traced=False), lambda infos: None
                )
            )

    def init(self, compiled: CompiledModel | PathLike, *, weights_registry: Weights | None = None) -> Model:
        """A model from a compiled graph, or the path of a `.pelton` file, and its weights; as often as you like.

        Needs no compiler: neither xDSL nor Numba is imported. Raises RuntimeError for a file that cannot be read, is
        damaged, of another version, made for another machine or a later GPU, or for a GPU that the session does not
        have; MemoryError where that lacks the memory for the weights; TypeError for anything but a compiled graph; and
        as `load` does for weights.
        """
        if _is_artifact(compiled):
            compiled = CompiledModel(Artifact.load(compiled))
        if not isinstance(compiled, CompiledModel):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentTypeError(
                f"init takes a CompiledModel, got {shown(cast(object, compiled))}", remedy="call compile or load"
            )
        artifact = compiled.artifact
        weights = bind_weights(artifact.weights, weights_registry)
        return self._model(artifact, weights)

    def _model(self, artifact: Artifact, weights: list[Buffer]) -> Model:
        if len(artifact.devices) == 1:
            return Model(NativeExecutable(artifact, weights, threads=self._threads))
        from pelton.runtime.device_executable import DeviceExecutable  # where there is a device other than the host

        return Model(DeviceExecutable(artifact, weights, {device.name: device for device in self._devices}))

    def _gpus(self) -> _Gpus:
        """The least of the session's GPUs, whether one runs machine code and whether one is emulated, which tells of
        lines; without any what PELTON_TARGET says.
        """
        there = [device for device in self._devices if not device.is_host]
        known = sorted((device.architecture_name for device in there), key=lambda name: int(name[3:]))
        apis = {device.api for device in there}
        return _Gpus(known[0] if known else knobs.gpu_target(), CUDA in apis, bool(apis - {CUDA}))

    def __repr__(self) -> str:
        return f"InferenceSession(devices={self._devices})"


def _path(model: Any) -> Path | None:
    """The path that `model` is, if it is one. Raises ReadError for one that is no text."""
    if not isinstance(model, str | os.PathLike):
        return None
    try:
        return Path(cast("PathLike", model))
    except TypeError as error:  # a path of bytes
        raise ReadError(f"a path is a text: {error}") from error


def _is_artifact(model: Any) -> TypeGuard[PathLike]:
    """Whether it is the path of a compiled model."""
    path = _path(model)
    return path is not None and path.suffix == ".pelton"


@contextmanager
def _compiler() -> Generator[None]:
    """Where xDSL or Numba is not installed, an error that says so. Saved models need neither."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("xdsl", "numba"):
            raise
        message = f"only a .pelton file can be loaded here: {error.name} is not installed"
        remedy = (
            "install pelton with all it depends on, or save the model where that is: session.compile(model).save(path)"
        )
        raise CompileError(message, remedy=remedy) from error


def _provide(*extensions: Any) -> None:
    """Load custom extensions where there are any."""
    given = [each for each in extensions if each is not None]
    if given:
        from pelton.custom.extensions import provide

        for each in given:
            provide(each)


def _checked(devices: Any) -> list[Device]:
    """What a caller gave as devices. Raises TypeError where it is anything but an iterable of them."""
    if isinstance(devices, Device) or not isinstance(devices, Iterable):
        raise ArgumentTypeError(f"devices: expected an iterable of Device, got {type(devices).__name__}")
    found: list[Any] = list(cast("Iterable[Any]", devices))
    for device in found:
        if not isinstance(device, Device):
            raise ArgumentTypeError(f"devices: expected only Device objects, got {type(device).__name__}")
    return found


class _Gpus(NamedTuple):
    """What code for GPUs is made for: the architecture that all can run, whether machine code is to be made too, and
    whether code says which lines it comes from.
    """

    architecture: str
    cubins: bool
    traced: bool


class _Source(NamedTuple):
    """What is to be compiled: a module, the arrays too large for it, a name, the file it was read from."""

    module: ModuleOp
    constants: Mapping[str, Any]
    name: str
    path: str = ""


def _bind(bound: list[Buffer], registry: Weights | None, infos: tuple[TensorInfo, ...]) -> None:
    bound.extend(bind_weights(infos, registry))


def _compiled(
    source: _Source, options: Options, gpus: _Gpus, bind: Callable[[tuple[TensorInfo, ...]], None]
) -> Artifact:
    """The artifact, from the cache or compiled now; `bind` sees the model's weights before anything is compiled."""
    from pelton.codegen.cpu.target import target_for
    from pelton.codegen.key import model_key
    from pelton.dialects.nn.custom import require_bodies

    with _naming(source.path):
        require_bodies(source.module)  # kept code does not need them, but what runs must not depend on the cache
    target = target_for(host_features(), knobs.cpu_target())
    store = ObjectCache(knobs.cache_folder())
    edited = knobs.OVERRIDE.value() is not None
    watched = knobs.DEBUG.value() > 0 or knobs.DUMP.value() is not None or edited
    key = model_key(str(source.module), source.constants, (target.name, str(gpus)), options)
    kept = None if watched else _kept(store, key)
    if kept is not None:
        from pelton.dialects.places import placed

        bind(kept.weights)
        return placed(kept._replace(name=source.name), source.module)
    from pelton.compiler import Compilation

    compilation = Compilation(source.module, target, store, source.constants, source.name, options, *gpus)
    with _naming(source.path):
        bind(compilation.signature.weights)
        artifact = compilation.run().artifact
    if not edited:
        store.put(key, artifact._replace(places=()).to_bytes())  # the lines are the graph's, not the code's
    return artifact


def _kept(store: ObjectCache, key: str) -> Artifact | None:
    data = store.get(key)
    try:
        return None if data is None else Artifact.from_bytes(data, "the cache")
    except ArtifactError:  # another version of pelton wrote it
        return None


def _interpreted(source: _Source, options: Options, registry: Weights | None) -> InterpretedModel:
    from pelton.dialects.nn.custom import require_bodies
    from pelton.dialects.signature import describe, devices_of
    from pelton.interpreted import InterpretedModel, at_levels

    with _naming(source.path):
        require_bodies(source.module)
        signature = describe(source.module, source.constants)
        if (devices := devices_of(source.module)) != (CPU().name,):
            raise CompileError(
                "the interpreter runs on the host only",
                expected=CPU().name,
                got=", ".join(devices),
                remedy="unset PELTON_INTERPRET",
            )
    weights = bind_weights(signature.weights, registry)
    named = {i.name: w.to_numpy() for i, w in zip(signature.weights, weights, strict=True)} | dict(source.constants)
    return InterpretedModel(source.name, signature.inputs, signature.outputs, at_levels(source.module, options), named)


@contextmanager
def _naming(path: str) -> Generator[None]:
    """An error of a compilation says where in the file, and at least in which file, things are wrong."""
    try:
        yield
    except CompileError as error:
        if error.details.location or not path:
            raise
        raise error.with_details(location=path) from error


def _source(model: Any) -> _Source:
    """What `model` asks to compile. Raises RuntimeError for anything but a graph or a readable file."""
    if (path := _path(model)) is not None:
        return _Source(_read(path), {}, escaped(path.stem), str(path))
    from pelton.graph import Graph

    if not isinstance(model, Graph):
        raise CompileError(
            f"cannot load a {type(model).__name__}: expected a Graph, or the path of a .mlir or .pelton file"
        )
    try:
        return _Source(model.module, model.constants, model.name)
    except GraphError as error:  # it has no outputs yet
        raise CompileError(error.message, **error.details._asdict()) from error


def _read(path: Path) -> ModuleOp:
    """The module in a `.mlir` file, checked. Raises CompileError for no file, and for one that holds no IR."""
    if path.suffix != ".mlir":
        raise no_model(path)
    from pelton.dialects.reader import read_mlir

    return read_mlir(path)
