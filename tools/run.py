"""`pelton run` and `pelton compile`: a model file and arrays enter; results leave as a table, `.npy` files, a trace.

The results that are printed are those of one execute. Next: `bench.py` measures many.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pelton.support import knobs
from pelton.support.errors import CompileError
from pelton.tools.exits import UsageError
from pelton.tools.subject import Subject, missing, named_pairs, open_model, require_known
from pelton.tools.tables import amount, counted, duration, table

if TYPE_CHECKING:
    from pelton.driver import Device
    from pelton.engine import InferenceSession
    from pelton.support.options import Options


def run(args: Namespace) -> None:
    """Execute the model once on the arrays of files."""
    from pelton.support import trace

    with trace.recording() as record:
        results = _results(args)
    _print_results(results)
    if args.output is not None:
        _save_results(Path(args.output), results)
    if args.trace is not None:
        with writing(args.trace):
            record.save(args.trace)
        print(f"wrote {args.trace}")


def _results(args: Namespace) -> dict[str, Any]:
    """The model's outputs by name, then the inputs that it writes."""
    from pelton.support.trace import stage
    from pelton.tools.arrays import read_npy

    with stage("read the model"):
        subject = opened(args)
    files = named_pairs(args.input, "--input", "NAME=FILE.npy")
    require_known("input", list(files), [info.name for info in subject.inputs])
    if lacking := [info for info in subject.inputs if info.name not in files]:
        raise missing("input", lacking, "give each as --input NAME=FILE.npy")
    with stage("read arrays"):
        weights = given_weights(args, subject)
        arrays = [read_npy(Path(files[info.name]), info) for info in subject.inputs]
    with stage("load"):
        session = session_of(args)
        model = subject.load(session, weights)
    with stage("execute"):
        inputs = placed(arrays, subject, session)
        buffers = model.execute(*inputs)
        outputs = {spec.name: b.to_numpy() for spec, b in zip(model.output_metadata, buffers, strict=True)}
    written = {i.name: np_of(given) for i, given in zip(subject.inputs, inputs, strict=True) if i.mutable}
    return outputs | written


def opened(args: Namespace) -> Subject:
    """The model, put on a GPU where the command line says so and the model says nothing of one."""
    subject = open_model(Path(args.model), args.extension)
    return subject if args.device == "cpu" else subject.on_gpu()


def placed(arrays: Sequence[Any], subject: Subject, session: InferenceSession) -> list[Any]:
    """The arrays, those that the model wants elsewhere as buffers of its device."""
    from pelton.driver import Buffer

    devices = {device.name: device for device in session.devices}
    wanted = [devices.get(info.device) for info in subject.inputs]
    return [
        Buffer.from_numpy(array).to(device) if device is not None and not device.is_host else array
        for array, device in zip(arrays, wanted, strict=True)
    ]


def np_of(given: Any) -> Any:
    """The elements of an array or a buffer."""
    return given.to_numpy() if hasattr(given, "to_numpy") else given


def given_weights(args: Namespace, subject: Subject) -> dict[str, Any]:
    """The model's weights out of the files of `--weights`. UsageError where some are in none."""
    from pelton.tools.arrays import read_weights

    weights = read_weights(map(Path, args.weights), subject.weights)
    if lacking := [info for info in subject.weights if info.name not in weights]:
        raise missing("weight", lacking, "give the file that has them as --weights FILE.safetensors (or .npz)")
    return weights


def session_of(args: Namespace) -> InferenceSession:
    """A session with the levels that the command line chooses; the environment says the others."""
    from pelton.engine import InferenceSession
    from pelton.tools.messages import show_from

    session = InferenceSession(_devices(args.device), num_threads=args.threads)
    show_from(args.log_level or knobs.LOG_LEVEL.value().lower())
    if args.assert_level is not None:
        session.set_assert_level(args.assert_level)
    if args.log_level is not None:
        session.set_log_level(args.log_level)
    if args.profiling is not None:
        session.gpu_profiling(args.profiling)
    elif getattr(args, "trace", None) is not None:
        session.gpu_profiling("on")
    return session


def _devices(name: str) -> list[Device]:
    from pelton.driver import Accelerator

    match name:
        case "gpu":
            return [Accelerator()]
        case "emulated":
            return [Accelerator.emulated()]
        case _:
            return []


def options_of(args: Namespace) -> Options:
    """The same choices for a command that compiles and runs nothing."""
    from pelton.support import options

    chosen = options.from_environment()
    if args.assert_level is not None:
        chosen = chosen._replace(assert_level=options.level(options.AssertLevel, args.assert_level))
    if args.log_level is not None:
        chosen = chosen._replace(log_level=options.level(options.LogLevel, args.log_level))
    if args.profiling is not None:
        chosen = chosen._replace(profiling=options.profiling_mode(args.profiling))
    return chosen


def _print_results(results: dict[str, Any]) -> None:
    from pelton.dtype import DType
    from pelton.tools.arrays import summary

    rows = [("output", "type", "min", "max", "mean")]
    for name, array in results.items():
        kind = f"[({', '.join(map(str, array.shape))}), {DType.from_numpy(array.dtype).mlir}]"
        rows.append((name, kind, *summary(array)))
    print(table(rows, right=(2, 3, 4), indent=""))


def _save_results(folder: Path, results: dict[str, Any]) -> None:
    from pelton.tools.arrays import write_npy

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, array in results.items():
        path = folder / f"{name.replace(os.sep, '_')}.npy"
        with writing(path):
            write_npy(path, array)
    print(f"wrote {counted(len(results), 'file')} to {folder}")


def compile_model(args: Namespace) -> None:
    """Write the artifact."""
    from pelton.engine import CompiledModel
    from pelton.support import trace

    subject = open_model(Path(args.model), args.extension)
    path = Path(args.output) if args.output is not None else Path(f"{subject.path.stem}.pelton")
    if path.suffix != ".pelton":
        raise UsageError(f"-o {path}: an artifact is called NAME.pelton; load goes by the suffix")
    with trace.recording() as record, trace.stage("compile"):
        artifact = subject.compilation(args.target, options_of(args)).run().artifact
    with writing(path):
        CompiledModel(artifact).save(path)
    size, time = amount(path.stat().st_size, "B"), duration(record.totals()["compile"] * 1e6)
    print(f"wrote {path}: {counted(len(artifact.kernels), 'kernel')} for {artifact.target}, {size}, compiled in {time}")


@contextmanager
def writing(path: Path | str) -> Generator[None]:
    """What goes wrong in this block is that `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise CompileError(f"cannot write {path}: {error.strerror or error}") from error
