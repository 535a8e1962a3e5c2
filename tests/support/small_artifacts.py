"""Artifacts made by hand, so that the runtime is tested without the compiler: four kernels, some programs over them."""

from __future__ import annotations

from functools import cache

from pelton.artifact import Artifact, Constant, KernelCode, TensorInfo
from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.target import CpuTarget, host_target
from pelton.codegen.cpu.walker import NAME, compile_walker
from pelton.codegen.source import Source
from pelton.dtype import DType
from pelton.program import Program
from pelton.program_builder import ProgramBuilder

F32, I64 = DType.float32, DType.int64
HEAD = "(x, y, out, n, lo, hi, ctx):\n    for i in range(lo, hi):\n"
TWO = (("x", "f32"), ("y", "f32"), ("out", "f32"))
SOURCES = (
    Source("add", f"def add{HEAD}        out[i] = x[i] + y[i]\n", TWO, ("n",)),
    Source("mul", f"def mul{HEAD}        out[i] = x[i] * y[i]\n", TWO, ("n",)),
    Source(
        "take",
        f"def take{HEAD}        at = y[i]\n"
        "        ok = (at >= 0) & (at < n)\n"
        "        if ok:\n"
        "            out[i] = x[at]\n"
        "        else:\n"
        "            out[i] = x[0]\n"
        "            if ctx[0] == 0:\n"
        "                ctx[0] = 1\n                ctx[1] = i\n                ctx[2] = at\n",
        (("x", "f32"), ("y", "i64"), ("out", "f32")),
        ("n",),
    ),
    Source(
        "count",
        "def count(x, one, n, lo, hi, ctx):\n    for i in range(lo, hi):\n        x[i] = x[i] + one[0]\n",
        (("x", "f32"), ("one", "f32")),
        ("n",),
    ),
)


@cache
def codes(target: CpuTarget | None = None) -> tuple[KernelCode, tuple[KernelCode, ...]]:
    """(walker, kernels) for a target, by default the host's."""
    target = target or host_target()
    kernels = compile_sources(SOURCES, target)
    return KernelCode(NAME, compile_walker(target)), tuple(KernelCode(name, code) for name, code in kernels.items())


def artifact(
    main: Program,
    inputs: tuple[TensorInfo, ...],
    outputs: tuple[TensorInfo, ...],
    *,
    init: Program | None = None,
    weights: tuple[TensorInfo, ...] = (),
    constants: tuple[Constant, ...] = (),
    name: str = "small",
) -> Artifact:
    """An artifact for the host around these programs."""
    walker, kernels = codes()
    required = tuple(sorted(host_target().required))
    init = init or nothing(len(weights) + len(constants))
    versions = ("0.50", "0.51")
    parts = (inputs, outputs, weights, constants, init, main, kernels, walker)
    return Artifact(name, host_target().name, required, versions, *parts)


def nothing(arguments: int) -> Program:
    """A program that ignores its arguments and makes nothing."""
    builder = ProgramBuilder()
    for _ in range(arguments):
        builder.argument()
    return builder.finish()


def add() -> Artifact:
    """z[n] = x[n] + y[n]"""
    b = ProgramBuilder()
    x, y = b.argument(), b.argument()
    n = b.dim(0, 0)
    b.launch("add", n, [x, y, b.output(F32, [n]), n])
    return artifact(
        b.finish(), (TensorInfo("x", F32, ("n",)), TensorInfo("y", F32, ("n",))), (TensorInfo("z", F32, ("n",)),)
    )


def square_sum() -> Artifact:
    """z[m, n] = x * x + y * y, both products in the arena, and a second output w[m + n] = x[:m + n] + y[:m + n]."""
    b = ProgramBuilder()
    x, y = b.argument(), b.argument()
    m, n = b.dim(0, 0), b.dim(0, 1)
    items = b.mul(m, n)
    size = b.mul(items, b.const(4))
    room = b.mul(b.floordiv(b.add(size, b.const(63)), b.const(64)), b.const(64))
    first = b.arena(b.mul(room, b.const(2)))
    second = b.add(first, room)
    b.launch("mul", items, [x, x, first, items])
    b.launch("mul", items, [y, y, second, items])
    b.launch("add", items, [first, second, b.output(F32, [m, n]), items])
    total = b.add(m, n)
    b.launch("add", total, [x, y, b.output(F32, [total]), total])
    infos = (TensorInfo("x", F32, ("m", "n")), TensorInfo("y", F32, ("m", "n")))
    return artifact(b.finish(), infos, (TensorInfo("z", F32, ("m", "n")), TensorInfo("w", F32, ("m + n",))))


def scaled() -> Artifact:
    """init: scale = w[4] * c[4] (a constant); z[4] = x[4] * scale"""
    four = TensorInfo("w", F32, (4,))
    b = ProgramBuilder()
    w, c = b.argument(), b.argument()
    n = b.const(4)
    b.launch("mul", n, [w, c, b.output(F32, [n]), n])
    init = b.finish()
    b = ProgramBuilder()
    x, _, _, scale = b.argument(), b.argument(), b.argument(), b.argument()
    n = b.const(4)
    b.launch("mul", n, [x, scale, b.output(F32, [n]), n])
    data = b"".join(value.to_bytes(4, "little") for value in (0x3F800000, 0x40000000, 0x40400000, 0x40800000))
    constants = (Constant(TensorInfo("c", F32, (4,)), data),)
    shape = (TensorInfo("x", F32, (4,)),), (TensorInfo("z", F32, (4,)),)
    return artifact(b.finish(), *shape, init=init, weights=(four,), constants=constants)


def take() -> Artifact:
    """z[k] = x[i[k]], checked."""
    b = ProgramBuilder()
    x, i = b.argument(), b.argument()
    n, k = b.dim(0, 0), b.dim(1, 0)
    b.launch("take", k, [x, i, b.output(F32, [k]), n], ["index out of range in take"])
    infos = (TensorInfo("x", F32, ("n",)), TensorInfo("i", I64, ("k",)))
    return artifact(b.finish(), infos, (TensorInfo("z", F32, ("k",)),))


def counter() -> Artifact:
    """state[n] += one[1] in place; the output is a copy of the state."""
    b = ProgramBuilder()
    state, one = b.argument(), b.argument()
    n = b.dim(0, 0)
    b.launch("count", n, [state, one, n])
    b.copy(b.output(F32, [n]), state, b.mul(n, b.const(4)))
    infos = (TensorInfo("state", F32, ("n",), mutable=True), TensorInfo("one", F32, (1,)))
    return artifact(b.finish(), infos, (TensorInfo("z", F32, ("n",)),))
