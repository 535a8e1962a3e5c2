"""`pelton.register` and `ops.custom`: bodies that fuse and bodies with a kernel, and where extensions come from."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.codegen.cpu.target import target_for
from pelton.compiler import Compilation
from pelton.dtype import DType
from pelton.engine import InferenceSession, Model
from pelton.graph import BufferType, DeviceRef, Graph, TensorType, TensorValue, ops
from pelton.runtime.cache import ObjectCache
from pelton.runtime.loader import host_features
from pelton.support import trace
from pelton.tests.support.process import fresh

F32, CPU = DType.float32, DeviceRef.CPU()
X = np.array([[0.5, -1.0, 2.0, 4.0], [1.0, 0.0, -3.0, 8.0]], np.float32)
STEP = 0.25


def tensor(shape: list[int | str], dtype: DType = F32) -> TensorType:
    return TensorType(dtype, shape, CPU)


def graph(build: Callable[..., Any], *types: TensorType, extensions: Any = ()) -> Graph:
    return Graph("g", build, types or [tensor(["b", "n"])], custom_extensions=extensions)


def both(g: Graph, monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """The compiled model, and the interpreted one."""
    with monkeypatch.context() as patch:
        patch.setenv("PELTON_INTERPRET", "1")
        interpreted = InferenceSession().load(g)
    return [InferenceSession().load(g), interpreted]


def run(model: Model, *inputs: Any) -> list[Any]:
    return [b.to_numpy() for b in model.execute(*inputs)]


def helper(x: float) -> float:
    return math.tanh(x) if x < 1 else x + STEP


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    from pelton.custom import registry

    monkeypatch.setattr(registry, "REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)


# scalar bodies


def snake(x: Any, *, alpha: float = 1.0) -> Any:
    return x + math.sin(alpha * x) ** 2 / alpha


def test_scalar_body_is_what_its_python_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pelton.register("snake", scalar=True)(snake)
    g = graph(lambda x: ops.custom("snake", CPU, [x], [x.type], {"alpha": 0.5}))
    wanted = np.vectorize(lambda x: snake(float(x), alpha=0.5))(X)
    for model in both(g, monkeypatch):
        np.testing.assert_allclose(run(model, X)[0], wanted, rtol=1e-6)


def test_scalar_body_fuses_with_its_neighbours(tmp_path: Path) -> None:
    pelton.register("snake", scalar=True)(snake)
    g = graph(lambda x: ops.relu(ops.custom("snake", CPU, [x * 2], [x.type])[0] + 1))
    store = ObjectCache(tmp_path)
    compiled = Compilation(g.module, target_for(host_features(), None), store, g.constants).run()
    assert len(compiled.sources) == 1


def test_scalar_body_with_choices_helpers_and_several_results(monkeypatch: pytest.MonkeyPatch) -> None:
    @pelton.register("both", scalar=True)
    def both_of(x: Any, y: Any, *, mode: str, kind: DType = DType.float32) -> Any:
        if mode == "shift" and kind == DType.float32:
            x += STEP
        low = min(x, y)
        if x > y or not 0 <= x < 3:
            low = -low
        elif math.isnan(x):
            return 0.0, x
        return low, helper(x)

    g = graph(lambda x: ops.custom("both", CPU, [x, x * 2], [x.type, x.type], {"mode": "shift"}))
    wanted = [[both_of(float(x), float(x * 2), mode="shift")[k] for x in X.flat] for k in range(2)]
    for model in both(g, monkeypatch):
        for got, want in zip(run(model, X), wanted, strict=True):
            np.testing.assert_allclose(got.ravel(), want, rtol=1e-6)


def test_values_of_a_scalar_body_broadcast() -> None:
    @pelton.register("plus", scalar=True)
    def plus(x: Any, y: Any) -> Any:
        return x + y

    g = graph(lambda x, y: ops.custom("plus", CPU, [x, y], None), tensor(["b", 4]), tensor([4], F32))
    np.testing.assert_array_equal(run(InferenceSession().load(g), X, X[0])[0], X + X[0])


UNSUPPORTED = {
    "a for loop": "    for i in range(3):\n        x = x + i\n    return x\n",
    "a while loop": "    while x > 0:\n        x = x - 1\n    return x\n",
    "a subscript": "    return x[0]\n",
    "a raise": "    raise ValueError(x)\n",
    "a call of print": "    return print(x)\n",
    "a call of math.gamma": "    return math.gamma(x)\n",
    "y, which has no value here": "    if x > 0:\n        y = x\n    return y\n",
    "a way through it without a return": "    y = x\n",
    "an if after which one way has no return": "    if x > 0:\n        return x\n",
    "returns of different numbers of results": "    if x > 0:\n        return x, x\n    return x\n",
    "arguments that are not given by position": "    return abs(x=x)\n",
    "1 / 0, which has no value": "    return x * (1 / 0)\n",
}


@pytest.mark.parametrize("construct", UNSUPPORTED)
def test_what_a_scalar_body_cannot_hold_is_named_with_its_line(construct: str, tmp_path: Path) -> None:
    text = f"import math\nimport pelton\n\n@pelton.register('f', scalar=True)\ndef f(x):\n{UNSUPPORTED[construct]}"
    (tmp_path / "ops.py").write_text(text)
    with pytest.raises(ValueError, match="scalar body cannot hold") as raised:
        graph(lambda x: ops.custom("f", CPU, [x], None), extensions=[tmp_path / "ops.py"])
    assert construct in str(raised.value)
    assert f"{tmp_path / 'ops.py'}:" in str(raised.value)


# kernel bodies


def register_scan() -> None:
    @pelton.register("scan", types="T[..., n], T[..., n] -> T[..., n], T[...]")
    def scan(out: Any, total: Any, x: Any, y: Any, *, scale: float, power: int = 2, mode: str = "plain") -> None:
        s = 0.0
        for i in range(x.shape[0]):
            if x[i] > 100:
                raise ValueError("too large")
            s += helper(x[i]) * scale + y[i] ** power + np.sin(x[i]) + x[i] % 0.375
            if mode == "twice":
                s *= 2
            out[i] = s
        total[()] = s


@pytest.mark.parametrize("mode", ["plain", "twice"])
@pytest.mark.parametrize("shape", [(2, 4), (0, 4), (3, 0), (1, 1)])
def test_kernel_body(mode: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours on both sides, two results, sizes that are symbols, one item per row."""
    register_scan()

    def build(x: TensorValue) -> Any:
        y, total = ops.custom("scan", CPU, [x + 1, x * 2], None, {"scale": 0.5, "mode": mode})
        return ops.relu(y) + 1, total

    x = np.resize(X, shape)
    compiled, interpreted = both(graph(build), monkeypatch)
    for got, want in zip(run(compiled, x), run(interpreted, x), strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4)


def test_whole_arrays_without_leading_dims(monkeypatch: pytest.MonkeyPatch) -> None:
    @pelton.register("cross", types="f64[m, k], f64[k, n] -> f64[m, n]")
    def cross(out: Any, a: Any, b: Any) -> None:
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * b[k, j]
                out[i, j] = s

    t = tensor(["m", 3], DType.float64), tensor([3, "n"], DType.float64)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for model in both(graph(lambda a, b: ops.custom("cross", CPU, [a, b], None), *t), monkeypatch):
        np.testing.assert_array_equal(run(model, a, b)[0], a @ b)


INTEGERS = [DType.bool, DType.int8, DType.int32, DType.int64, DType.uint8, DType.uint32, DType.float32, DType.float64]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_dtype_of_a_kernel_body(dtype: DType, monkeypatch: pytest.MonkeyPatch) -> None:
    @pelton.register("back", types="T[n] -> T[n]")
    def back(out: Any, x: Any) -> None:
        for i in range(x.shape[0]):
            out[i] = x[x.shape[0] - 1 - i]

    g = graph(lambda x: ops.custom("back", CPU, [x], None), tensor(["n"], dtype))
    x = np.array([0, 1, 1, 0, 1]).astype(dtype.to_numpy())
    for model in both(g, monkeypatch):
        np.testing.assert_array_equal(run(model, x)[0], x[::-1])


def test_mathematics_of_a_kernel_body_is_ours() -> None:
    """Nothing is left to libm: what the loader would refuse; and what it computes is what the ops compute."""

    @pelton.register("many", types="T[n] -> T[n]")
    def many(out: Any, x: Any) -> None:
        for i in range(x.shape[0]):
            v = abs(x[i])
            out[i] = math.exp(-v) + math.log(v + 1) + math.sin(v) + math.cos(v) + math.sqrt(v) + math.tanh(v)
            out[i] += math.erf(v) + math.atan(v) + math.floor(v) + math.pow(v, 1.5) + np.log1p(v) + np.fmod(v, 0.7)

    g = graph(lambda x: ops.custom("many", CPU, [x], None), tensor(["n"], DType.float64))
    x = np.linspace(-20, 20, 101)
    v = np.abs(x)
    wanted = np.exp(-v) + np.log(v + 1) + np.sin(v) + np.cos(v) + np.sqrt(v) + np.tanh(v)
    wanted += np.vectorize(math.erf)(v) + np.arctan(v) + np.floor(v) + v**1.5 + np.log1p(v) + np.fmod(v, 0.7)
    np.testing.assert_allclose(run(InferenceSession().load(g), x)[0], wanted, rtol=1e-13)


def test_filling_and_copying_need_no_library() -> None:
    @pelton.register("fill", types="T[n] -> T[n], T[n]")
    def fill(zeros: Any, copied: Any, x: Any) -> None:
        for i in range(x.shape[0]):
            zeros[i] = 0
        for i in range(x.shape[0]):
            copied[i] = x[i]

    g = graph(lambda x: ops.custom("fill", CPU, [x], None), tensor(["n"]))
    x = np.arange(1000, dtype=np.float32)
    zeros, copied = run(InferenceSession().load(g), x)
    assert not zeros.any()
    np.testing.assert_array_equal(copied, x)


def test_what_a_body_raises_is_an_error_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    register_scan()
    g = graph(lambda x: ops.custom("scan", CPU, [x, x], None, {"scale": 1.0}))
    bad = X.copy()
    bad[1, 2] = 1000
    for model in both(g, monkeypatch):
        with pytest.raises(RuntimeError, match="custom op 'scan': ValueError: too large"):
            model.execute(bad)
        assert len(model.execute(X)) == 2  # it stays usable


def test_an_index_out_of_bounds_is_an_error_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    @pelton.register("beyond", types="T[n] -> T[n]")
    def beyond(out: Any, x: Any, *, at: int) -> None:
        out[at] = x[0]

    for model in both(graph(lambda x: ops.custom("beyond", CPU, [x], None, {"at": 7}), tensor(["n"])), monkeypatch):
        with pytest.raises(RuntimeError, match=r"custom op 'beyond': .*out of bounds"):
            model.execute(X[0])


def test_a_saved_model_needs_neither_numba_nor_the_extension(tmp_path: Path) -> None:
    register_scan()
    g = graph(lambda x: ops.custom("scan", CPU, [x, x], None, {"scale": 1.0}))
    InferenceSession().compile(g).save(tmp_path / "m.pelton")
    np.save(tmp_path / "x.npy", X)
    wanted = run(InferenceSession().load(g), X)
    code = (
        "import os, sys, numpy as np\n"
        "from pelton.engine import InferenceSession\n"
        "os.chdir(sys.argv[1])\n"
        "model = InferenceSession().load('m.pelton')\n"
        "np.save('y.npy', model.execute(np.load('x.npy'))[0].to_numpy())\n"
        "assert not {'numba', 'xdsl', 'pelton.custom'} & set(sys.modules)\n"
    )
    fresh(code, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), wanted[0])


FILE = """
import pelton

SCALE = {scale}

@pelton.register("scaled", types="T[n] -> T[n]")
def scaled(out, x, *, by: float = 1.0):
    for i in range(x.shape[0]):
        out[i] = x[i] * SCALE * by
"""


def test_an_edited_body_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is one whose constant or parameter changed, however old its file; one that did not is in the cache."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path, compiled = tmp_path / "ops.py", list[bool]()
    for scale, by in ((2, 1.0), (3, 1.0), (3, 1.0), (3, 2.0)):
        path.write_text(FILE.format(scale=scale))
        os.utime(path, (10**9, 10**9))  # as long and as old as before
        g = graph(lambda x, by=by: ops.custom("scaled", CPU, [x], None, {"by": by}), tensor(["n"]), extensions=path)
        with trace.recording() as recorded:
            model = InferenceSession().load(g)
        compiled.append(any(name.startswith("compile ") for name in recorded.totals()))
        np.testing.assert_array_equal(run(model, X[0])[0], X[0] * scale * by)
    assert compiled == [True, True, False, True]


# in place


def register_append() -> None:
    @pelton.register("append", types="T[..., m, d], T[..., d], i64[] -> T[...]")
    def append(last: Any, cache: Any, row: Any, at: Any) -> None:
        """A row into a cache; gives the sum of what stood there."""
        total = 0.0
        for j in range(row.shape[0]):
            total += cache[at[()], j]
            cache[at[()], j] = row[j]
        last[()] = total


@pytest.mark.parametrize("interpreted", [False, True])
def test_in_place_changes_a_buffer_in_program_order(interpreted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    register_append()
    monkeypatch.setenv("PELTON_INTERPRET", str(int(interpreted)))
    cache = BufferType(F32, [2, 3, 4], CPU)

    def build(b: Any, x: TensorValue, at: TensorValue) -> Any:
        before = b[...]
        (first,) = ops.inplace_custom("append", CPU, [b, x, at])
        (second,) = ops.inplace_custom("append", CPU, [b, x * 2, at])
        return before, first, second, b[...]

    memory = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    old = memory.copy()
    model = InferenceSession().load(Graph("g", build, [cache, tensor([2, 4]), tensor([], DType.int64)]))
    before, first, second, after = run(model, memory, X, np.int64(1))
    np.testing.assert_array_equal(before, old)
    np.testing.assert_array_equal(first, old[:, 1].sum(-1))
    np.testing.assert_array_equal(second, X.sum(-1))
    np.testing.assert_array_equal(after, memory)
    np.testing.assert_array_equal(memory[:, 1], X * 2)
    np.testing.assert_array_equal(memory[:, ::2], old[:, ::2])


def test_indices_are_checked_but_at_level_none() -> None:
    @pelton.register("first", types="T[n], i64[] -> T[n]")
    def first(out: Any, x: Any, last: Any) -> None:
        for i in range(last[()]):
            out[i] = x[i]

    g = graph(lambda x, n: ops.custom("first", CPU, [x, n], None), tensor(["n"]), tensor([], DType.int64))
    codes: dict[str, bytes] = {}
    for level in ("NONE", "WARN", "SAFE", "ALL"):
        session = InferenceSession()
        session.set_assert_level(level)
        codes[level] = (compiled := session.compile(g)).artifact.kernels[0].code
        model = session.init(compiled)
        np.testing.assert_array_equal(run(model, X[0], 4)[0], X[0])
        if level != "NONE":
            with pytest.raises(RuntimeError, match="out of bounds"):
                model.execute(X[0], 5)
    assert codes["NONE"] != codes["WARN"] == codes["SAFE"] == codes["ALL"]
