"""Random calls with arguments of the wrong kind, number, shape, type, order or place. Enters: how many calls.

Each has to end in an exception that the docstring of what was called lists, or in a result, which for models is
compared with NumPy's; and the process has to live. The number of a call is the seed of its arguments, so a failure can
be had again with `call(number)`.
"""

from __future__ import annotations

import builtins
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from pelton.driver import CPU, Accelerator, Buffer, Device
from pelton.dtype import DType, finfo
from pelton.engine import CompiledModel, InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.runtime.executable import NativeExecutable
from pelton.support import errors
from pelton.tests.support import oddities, small_artifacts

BOOL, F32, I32, I64, HOST = DType.bool, DType.float32, DType.int32, DType.int64, DeviceRef.CPU()
NAME = re.compile(r"\b([A-Z]\w*(?:Error|Failed))\b")
AS = re.compile(r"\bas\s+`(\w+)` (?:does|for)")
OWNERS: tuple[Any, ...] = (Buffer, InferenceSession, Model, CompiledModel)


class Outcome(NamedTuple):
    """What was called, what its docstring promises, what came of it, and what was wrong with that."""

    name: str
    raised: bool
    wrong: str


class Call(NamedTuple):
    """A call to try: whose docstring says what it may raise, what to do, and whether a result is right."""

    promise: Any
    run: Callable[[], Any]
    right: Callable[[Any], bool] = lambda result: True


@cache
def documented(promise: Any) -> tuple[type[BaseException], ...]:
    """The exceptions that a docstring lists, and those of what it refers to: "Raises as `Buffer` does"."""
    text = promise.__doc__ or ""
    found: set[type[BaseException]] = set()
    for name in NAME.findall(text):
        kind = getattr(errors, name, None) or getattr(builtins, name, None)
        assert kind is not None, f"the docstring of {promise.__qualname__} lists {name}, which does not exist"
        found.add(kind)
    for name in AS.findall(text):
        owners = [owner for owner in OWNERS if owner.__name__ == name]
        others = [getattr(owner, name) for owner in OWNERS if hasattr(owner, name)]
        found.update(documented((owners + others)[0]))
    return tuple(found)


class Calls:
    """Models, sessions and files to call, and the calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session = InferenceSession()
        self.weighty = Graph(
            "weighty", lambda x: x @ Weight("w", F32, [3, 2], HOST), [TensorType(F32, ["n", 3], HOST)]
        )  # fmt: skip
        self.compiled = self.session.compile(self.weighty)
        self.artifact = self.compiled.artifact.to_bytes()
        self.text = str(self.weighty.module).encode()
        self.models: list[tuple[Model, tuple[DType, ...], Callable[..., Any] | None]] = [
            self.made(lambda x, y: x + y, lambda x, y: x + y, (F32, ["n", 3]), (F32, [3])),
            self.made(lambda x, y: x + y, lambda x, y: x + y, (F32, ["n"]), (F32, ["n"])),
            self.made(lambda c, x: ops.where(c, x, x + x), lambda c, x: np.where(c, x, x + x), (BOOL, []), (I32, [])),
            self.made(lambda x, i: ops.gather(x, i, 0), lambda x, i: x[i], (F32, ["n", 3]), (I64, ["k"])),
            self.made(ops.sum, lambda x: x.sum(-1, keepdims=True), (I64, ["n", "n"])),
            self.made(lambda: ops.constant(np.float32(3), F32, HOST), lambda: np.float32(3)),
            (Model(NativeExecutable(small_artifacts.counter(), [])), (F32, F32), None),
        ]
        self.kinds: tuple[Callable[[Random], Call], ...] = (
            *[self.execute] * 8, *[self.call] * 2, *[self.buffer] * 12, *[self.made_of_nothing] * 4,
            *[self.setters] * 2, *[self.sessions] * 2, self.load, self.init, self.save,
            *[self.captured] * 4,
        )  # fmt: skip

    def made(
        self, function: Any, truth: Callable[..., Any], *types: tuple[DType, list[Any]]
    ) -> tuple[Model, tuple[DType, ...], Callable[..., Any]]:
        graph = Graph("g", function, [TensorType(dtype, dims, HOST) for dtype, dims in types])
        return self.session.load(graph), tuple(dtype for dtype, _ in types), truth

    def arguments(self, rng: Random, dtypes: tuple[DType, ...]) -> list[Any]:
        """Sometimes too few or too many; mostly of the right dtype, so that shapes get their turn."""
        count = len(dtypes) if rng.random() < 0.9 else rng.randrange(4)
        rows = rng.choice((0, 1, 2, 3))
        found: list[Any] = []
        for position in range(count):
            if position < len(dtypes) and rng.random() < 0.7:
                shape = rng.choice(((rows, 3), (rows,), (3,), (), (rows, rows), *oddities.SHAPES))
                made = np.zeros(shape, dtypes[position].to_numpy()) + rng.choice((0, 1, 1, 9))
                found.append(np.asarray(made, dtypes[position].to_numpy()))
            else:
                found.append(oddities.anything(rng))
        return found

    # models
    def execute(self, rng: Random) -> Call:
        model, dtypes, truth = rng.choice(self.models)
        given = self.arguments(rng, dtypes)
        return Call(Model.execute, lambda: model.execute(*given), lambda out: agrees(truth, given, dtypes, out))

    def call(self, rng: Random) -> Call:
        model, dtypes, truth = rng.choice(self.models)
        given = self.arguments(rng, dtypes)
        names = [rng.choice(("input0", "input1", "x", "state", "one", "self")) for _ in range(rng.randrange(3))]
        named = {name: oddities.anything(rng) for name in names}
        return Call(
            Model.__call__, lambda: model(*given, **named), lambda out: bool(named) or agrees(truth, given, dtypes, out)
        )

    def captured(self, rng: Random) -> Call:
        model, dtypes, _ = rng.choice(self.models)
        given = self.arguments(rng, dtypes)
        if rng.random() < 0.5:
            given = [Buffer.from_numpy(a) if oddities.usual(a) else a for a in given]
        key = rng.choice((0, 1, 2, 3)) if rng.random() < 0.7 else oddities.anything(rng)
        name = rng.choice(("capture", "replay", "debug_verify_replay", "release_captured_graph"))
        promise: Any = getattr(Model, name)
        if name == "release_captured_graph":
            given = []
        return Call(promise, lambda: getattr(model, name)(key, *given))

    # buffers
    def buffer(self, rng: Random) -> Call:
        b, other = oddities.buffer(rng), oddities.anything(rng)
        index, dtype, shape = oddities.index(rng), oddities.dtype(rng), oddities.shape(rng)
        device: Any = rng.choice((CPU(), CPU(), None, Device("gpu", 0), other))
        return rng.choice(
            (
                Call(Buffer.__getitem__, lambda: b[index]),
                Call(Buffer.__setitem__, lambda: b.__setitem__(index, other)),
                Call(Buffer.__setitem__, lambda: b.__setitem__(index, oddities.number(rng))),
                Call(Buffer.inplace_copy_from, lambda: b.inplace_copy_from(other)),
                Call(Buffer.view, lambda: b.view(dtype, shape), lambda v: v.nbytes == b.nbytes),
                Call(Buffer.view, lambda: b.view(dtype), lambda v: v.nbytes == b.nbytes),
                Call(Buffer.to, lambda: b.to(device), lambda moved: moved is b),
                Call(Buffer.copy, lambda: b.copy(device), lambda c: c.shape == b.shape and c.address != b.address),
                Call(Buffer.item, b.item),
                Call(Buffer.__dlpack__, lambda: b.__dlpack__(dl_device=rng.choice(((1, 0), (2, 0), None, other)))),
                Call(Buffer.__dlpack__, lambda: b.__dlpack__(copy=rng.choice((None, True, False)))),
                Call(Buffer.__array__, lambda: np.asarray(b, rng.choice((None, "f4", "i8", other)))),
            )
        )  # fmt: skip

    def made_of_nothing(self, rng: Random) -> Call:
        other, dtype, shape = oddities.anything(rng), oddities.dtype(rng), oddities.shape(rng)
        number = oddities.number(rng) if rng.random() < 0.5 else other
        device = rng.choice((CPU(), None, Device("gpu", 0), other))
        return rng.choice(
            (
                Call(Buffer, lambda: Buffer(dtype, shape, device), lambda b: b.dtype is DType(dtype)),
                Call(
                    Buffer.zeros,
                    lambda: Buffer.zeros(shape, dtype, device),
                    lambda b: not b.view(DType.uint8, [b.nbytes]).to_numpy().any(),
                ),
                Call(Buffer.scalar, lambda: Buffer.scalar(number, dtype, device), lambda b: b.shape == ()),
                Call(Buffer.from_numpy, lambda: Buffer.from_numpy(other)),
                Call(Buffer.from_dlpack, lambda: Buffer.from_dlpack(other, copy=rng.choice((None, True, False)))),
                Call(DType, lambda: DType(other)),
                Call(DType.from_numpy, lambda: DType.from_numpy(other)),
                Call(finfo, lambda: finfo(dtype)),
                Call(CPU, lambda: CPU(number)),
                Call(Accelerator, lambda: Accelerator(number)),
                Call(Device.can_access, lambda: CPU().can_access(other)),
            )
        )

    # sessions
    def setters(self, rng: Random) -> Call:
        session, value = InferenceSession(), oddities.thing(rng) if rng.random() < 0.5 else oddities.number(rng)
        value = rng.choice(("SAFE", "debug", "ACCUM", "off", "no", value, value, value))
        names = (
            "gpu_profiling",
            "set_log_level",
            "set_assert_level",
            "set_split_k_reduction_precision",
            "use_old_top_k_kernel",
        )
        name = rng.choice(names)
        return Call(getattr(InferenceSession, name), lambda: getattr(session, name)(value), lambda none: none is None)

    def sessions(self, rng: Random) -> Call:
        devices, threads = (
            rng.choice(((), [CPU()], oddities.anything(rng))),
            rng.choice((None, 2, oddities.number(rng))),
        )
        extensions = rng.choice((None, None, oddities.thing(rng)))
        return Call(
            InferenceSession,
            lambda: InferenceSession(devices, threads, custom_extensions=extensions),
            lambda session: session.devices[-1:] == [CPU()] or CPU() in session.devices,
        )

    def weights(self, rng: Random) -> Any:
        good = np.ones((3, 2), np.float32)
        return rng.choice(({"w": good}, {"w": oddities.anything(rng)}, {"w": oddities.array(rng)}, oddities.thing(rng)))

    def source(self, rng: Random) -> Any:
        """A graph, a file with damage, or no model."""
        suffix = rng.choice((".mlir", ".pelton", ".pelton", ".onnx", ""))
        path = self.folder / f"model{suffix}"
        data = bytearray(self.artifact if suffix == ".pelton" else self.text)
        for _ in range(rng.randrange(3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randrange(len(data))] if rng.random() < 0.2 else data)
        return rng.choice((self.weighty, path, str(path), path, self.folder, oddities.anything(rng)))

    def load(self, rng: Random) -> Call:
        source, weights = self.source(rng), self.weights(rng)
        if rng.random() < 0.2:
            return Call(InferenceSession.compile, lambda: self.session.compile(source))
        return Call(InferenceSession.load, lambda: self.session.load(source, weights_registry=weights))

    def init(self, rng: Random) -> Call:
        source = self.compiled if rng.random() < 0.5 else self.source(rng)
        weights = self.weights(rng)
        return Call(InferenceSession.init, lambda: self.session.init(source, weights_registry=weights))

    def save(self, rng: Random) -> Call:
        path = rng.choice((self.folder / "saved.pelton", self.folder, self.folder / "none" / "x", "\ud800", "a\0b", ""))
        given: Any = path if rng.random() < 0.7 else rng.choice((None, 3, b"x", 1.5, []))
        return Call(CompiledModel.save, lambda: self.compiled.save(given))

    def outcome(self, number: int) -> Outcome:
        """Make call `number`."""
        rng = Random(number)
        call = rng.choice(self.kinds)(rng)
        name = getattr(call.promise, "__qualname__", repr(call.promise))
        try:
            result = call.run()
        except Exception as error:
            if isinstance(error, documented(call.promise)):
                return Outcome(name, True, "")
            return Outcome(name, True, f"{type(error).__name__} is not documented: {error}")
        return Outcome(name, False, "" if call.right(result) else f"the result is wrong: {result!r}")


def agrees(
    truth: Callable[..., Any] | None, given: list[Any], dtypes: tuple[DType, ...], outputs: list[Buffer]
) -> bool:
    """Whether a model that took these arguments gave what NumPy gives."""
    if truth is None:
        return len(outputs) == 1
    with np.errstate(all="ignore"):
        want = truth(*(_as_array(a, dtype.to_numpy()) for a, dtype in zip(given, dtypes, strict=True)))
    got = outputs[0].to_numpy()
    return got.shape == np.shape(want) and np.array_equal(got, want, equal_nan=got.dtype.kind == "f")


def _as_array(argument: Any, dtype: Any) -> Any:
    if isinstance(argument, oddities.Producer):
        return np.from_dlpack(argument)  # pyright: ignore[reportArgumentType]
    if isinstance(argument, bool | int | float | np.generic):
        return Buffer.scalar(argument, DType.from_numpy(dtype)).to_numpy()
    return np.asarray(argument)


def call(number: int) -> Outcome:
    """One call alone."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about what is assigned to what
        return Calls(Path(folder)).outcome(number)


def wrong_calls(rounds: int) -> str:
    """Calls 0 to `rounds`."""
    raised: dict[str, int] = {}
    fine: dict[str, int] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = Calls(Path(folder))
        for number in range(rounds):
            name, failed, fault = calls.outcome(number)
            count = raised if failed else fine
            count[name] = count.get(name, 0) + 1
            if fault:
                wrong.append(f"call {number}, {name}: {fault}")
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong[:40])
    never = sorted((raised.keys() | fine.keys()) - raised.keys())
    assert rounds < 5000 or not never, f"never refused anything: {never}"
    names = len(raised.keys() | fine.keys())
    return f"{sum(raised.values()):,} exceptions, {sum(fine.values()):,} results, of {names} kinds of calls"
