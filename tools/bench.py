"""`pelton bench`: a model file, and arrays or sizes of inputs, enter; a table of times per execute leaves.

Samples are batches of executes, each long enough for the clocks: wall time, CPU time of the calling thread, and of all
threads of the process. A low decile is what the code takes where nobody disturbs it; the median is what one gets.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from pelton.tools.exits import UsageError
from pelton.tools.run import opened, placed, session_of
from pelton.tools.subject import Subject, missing, named_pairs, require_known
from pelton.tools.tables import counted, duration, table

if TYPE_CHECKING:
    from pelton.artifact import TensorInfo

CLOCKS: dict[str, Callable[[], int]] = {
    "wall": time.perf_counter_ns,
    "CPU, calling thread": time.thread_time_ns,
    "CPU, all threads": time.process_time_ns,
}
SAMPLE_NS = 200_000
"""A batch takes at least so long: reading three clocks twice takes one or two microseconds."""
SECONDS = 1.0
MOST_SAMPLES = 1000
FEWEST_SAMPLES = 10


def bench(args: Namespace) -> None:
    """Measure executes of the model."""
    subject = opened(args)
    arrays, shown = _inputs(args, subject)
    weights, made_up = _weights(args, subject)
    session = session_of(args)
    model = subject.load(session, weights)
    inputs = placed(arrays, subject, session)

    def work() -> None:
        model.execute(*inputs)
        for device in session.devices:
            device.synchronize()

    work()
    batch = _batch(work)
    for _ in range(args.warmup):
        work()
    samples = measure(work, batch, args.runs)
    print(f"{subject.name}, {counted(session.num_threads, 'thread')}{', random weights' if made_up else ''}")
    if shown:
        print(table([("input", "type", "values"), *shown]))
    executes = f"{batch} executes each" if batch > 1 else "one execute each"
    print(f"{len(samples)} samples of {executes}; time per execute:")
    print(table(_rows(samples, batch), right=(1, 2, 3)))


def measure(work: Callable[[], object], batch: int, runs: int | None) -> list[tuple[int, ...]]:
    """Per sample, what each clock of CLOCKS counted for `batch` calls; as many as fit in a second if not told."""
    clocks = tuple(CLOCKS.values())
    samples: list[tuple[int, ...]] = []
    deadline = time.perf_counter() + SECONDS
    while len(samples) < (runs or MOST_SAMPLES):
        before = [clock() for clock in clocks]
        for _ in range(batch):
            work()
        after = [clock() for clock in clocks]
        samples.append(tuple(b - a for a, b in zip(before, after, strict=True)))
        if runs is None and len(samples) >= FEWEST_SAMPLES and time.perf_counter() > deadline:
            break
    return samples


def _batch(work: Callable[[], object]) -> int:
    """How many calls make a sample long enough."""
    batch = 1
    while True:
        begun = time.perf_counter_ns()
        for _ in range(batch):
            work()
        if time.perf_counter_ns() - begun >= SAMPLE_NS:
            return batch
        batch *= 2


def _rows(samples: Sequence[tuple[int, ...]], batch: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "low decile", "median", "high decile")]
    for name, column in zip(CLOCKS, zip(*samples, strict=True), strict=True):
        each = [nanoseconds / batch for nanoseconds in column]
        cuts = quantiles(each, n=10, method="inclusive") if len(each) > 1 else each * 9
        rows.append((name, *(duration(cuts[k]) for k in (0, 4, 8))))
    return rows


def _inputs(args: Namespace, subject: Subject) -> tuple[list[Any], list[tuple[str, str, str]]]:
    """An array per input, and what the table says of it."""
    from pelton.tools.arrays import random_array, read_npy

    files = named_pairs(args.input, "--input", "NAME=FILE.npy")
    shapes = {n: _shape(n, t) for n, t in named_pairs(args.shape, "--shape", "NAME=1x128").items()}
    sizes = {n: _size(f"--dim {n}={t}", t) for n, t in named_pairs(args.dim, "--dim", "SYMBOL=8").items()}
    names = [info.name for info in subject.inputs]
    require_known("input", [*files, *shapes], names)
    symbols = {dim for info in subject.inputs for dim in info.shape if isinstance(dim, str)}
    require_known("symbol", list(sizes), sorted(symbols))
    needed = [info for info in subject.inputs if info.name not in files and info.name not in shapes]
    unbound = [info for info in needed if any(isinstance(dim, str) and dim not in sizes for dim in info.shape)]
    if unbound:
        raise missing("size", unbound, f"give symbols as --dim {_unbound(unbound, sizes)}=8, or --shape NAME=1x128")
    arrays: list[Any] = []
    shown: list[tuple[str, str, str]] = []
    for seed, info in enumerate(subject.inputs):
        if info.name in files:
            arrays.append(read_npy(Path(files[info.name]), info))
        else:
            shape = shapes.get(info.name)
            if shape is None:
                shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in info.shape)
            arrays.append(random_array(info.dtype, shape, seed))
        kind = str(info._replace(shape=tuple(arrays[-1].shape)))
        shown.append((info.name, kind, files.get(info.name, "random")))
    return arrays, shown


def _unbound(infos: Sequence[TensorInfo], sizes: dict[str, int]) -> str:
    return next(dim for info in infos for dim in info.shape if isinstance(dim, str) and dim not in sizes)


def _shape(name: str, text: str) -> tuple[int, ...]:
    return tuple(_size(f"--shape {name}={text}", part) for part in text.split("x"))


def _size(where: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UsageError(f"{where}: {text!r} is no size")
    return int(text)


def _weights(args: Namespace, subject: Subject) -> tuple[dict[str, Any], bool]:
    """The weights from files, or random ones where no file is given; whether they are random."""
    from pelton.tools.arrays import random_array
    from pelton.tools.run import given_weights

    if args.weights or not subject.weights:
        return given_weights(args, subject), False
    infos = subject.weights
    sizes = [tuple(dim for dim in info.shape if isinstance(dim, int)) for info in infos]
    return {i.name: random_array(i.dtype, s, k) for k, (i, s) in enumerate(zip(infos, sizes, strict=True))}, True
