"""Words of a CUDA text, one by one: accuracy of functions, conversions, block-wide combination, and what is never
fused."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from pelton.codegen.cuda.compile import assemble, compile_ptx
from pelton.codegen.source import Source
from pelton.runtime.emulator import emulate
from pelton.support.errors import CompileError

Array = np.ndarray
BF16 = np.dtype(ml_dtypes.bfloat16)


def lanewise(name: str, expressions: list[str], sources: str, *targets: str) -> Source:
    """A kernel that computes each expression of x, y (and z) lane by lane into a buffer of its own."""
    inputs = list(zip("xyz", sources.split(), strict=False))
    outputs = [(f"out{k}", t) for k, t in enumerate(targets * len(expressions) if len(targets) == 1 else targets)]
    names = ", ".join(n for n, _ in [*inputs, *outputs])
    lines = [f"def {name}({names}, n, lo, hi, ctx):", "    for j in range(i64(cuda.threadIdx.x), n, T):"]
    lines += [f"        {n} = {n}_[j]" for n, _ in inputs]
    lines += [f"        out{k}[j] = {e}" for k, e in enumerate(expressions)]
    text = "\n".join(lines).replace(
        f"{name}({names}", f"{name}({', '.join([f'{n}_' for n, _ in inputs] + [n for n, _ in outputs])}"
    )
    buffers = tuple((f"{n}_", t) for n, t in inputs) + tuple(outputs)
    return Source(name, text + "\n", buffers, ("n",), lanes=512)


def evaluate(source: Source, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """Runs a lanewise kernel in one block."""
    n, words = len(outputs[0]), [b.view(np.uint16) if b.dtype == BF16 else b for b in [*inputs, *outputs]]
    emulate(compile_ptx(source), source.name, 1, source.lanes, [*words, n, 0, 1, np.zeros(3, np.int64)])
    return outputs


# word → (truth in long double, domain, ulps of f32, ulps of f64): CUDA's documented bounds, plus rounding
Truth = Callable[[Array], Array]
SPREAD = np.concatenate([-np.logspace(-30, 4, 300), np.linspace(-20, 20, 401), np.logspace(-30, 4, 300)])
UNIT = np.concatenate([np.linspace(-1, 1, 401), -np.logspace(-30, -1, 100), np.logspace(-30, -1, 100)])
POSITIVE = np.concatenate([np.logspace(-37, 37, 500), np.linspace(0.5, 2, 300), [0.0]])
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])


def _each(f: Callable[[float], float]) -> Truth:
    return np.vectorize(f, otypes=[np.float64])


UNARY: dict[str, tuple[Truth, Array, float, float]] = {
    "exp": (np.exp, SPREAD, 2.0, 1.5),
    "log": (np.log, POSITIVE, 1.5, 1.5),
    "log1p": (np.log1p, np.concatenate([POSITIVE, UNIT]), 1.5, 1.5),
    "sqrt": (np.sqrt, POSITIVE, 0.5, 0.5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE, 1.5, 1.5),
    "sin": (np.sin, SPREAD, 2.0, 2.0),
    "cos": (np.cos, SPREAD, 2.0, 2.0),
    "tan": (np.tan, SPREAD, 4.0, 2.5),
    "asin": (np.arcsin, UNIT, 2.5, 2.0),
    "acos": (np.arccos, UNIT, 2.0, 2.0),
    "atan": (np.arctan, SPREAD, 2.0, 2.0),
    "atanh": (np.arctanh, UNIT, 3.0, 2.5),
    "tanh": (np.tanh, SPREAD, 2.0, 2.0),
    "erf": (_each(math.erf), SPREAD, 2.0, 3.0),
    "floor": (np.floor, SPREAD, 0, 0),
    "ceil": (np.ceil, SPREAD, 0, 0),
    "roundeven": (np.rint, SPREAD, 0, 0),
    "trunc": (np.trunc, SPREAD, 0, 0),
    "absolute": (np.abs, SPREAD, 0, 0),
}


Results = dict[type, tuple[Array, dict[str, Array]]]


@pytest.fixture(scope="module")
def unary() -> dict[type, Source]:
    calls = [f"{name}(x)" for name in UNARY]
    return {t: lanewise(f"unary_{s}", calls, s, s) for t, s in ((np.float32, "f32"), (np.float64, "f64"))}


@pytest.fixture(scope="module")
def unary_results(unary: dict[type, Source]) -> Results:
    """Every function at every point, once per type."""
    found = {}
    for t, source in unary.items():
        x = np.concatenate([np.unique(np.concatenate([SPREAD, UNIT, POSITIVE])), SPECIAL]).astype(t)
        outputs = evaluate(source, [x], [np.zeros_like(x) for _ in UNARY])
        found[t] = x, dict(zip(UNARY, outputs, strict=True))
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_functions_are_accurate(name: str, dtype: type, unary_results: Results) -> None:
    truth, domain, *bounds = UNARY[name]
    x, results = unary_results[dtype]
    inside = np.isin(x, domain.astype(dtype)) | ~np.isfinite(x)
    got, wide = results[name][inside], x[inside].astype(np.longdouble if name != "erf" else np.float64)
    with np.errstate(all="ignore"):
        want = truth(wide)
        rounded = want.astype(dtype)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(got[~finite], rounded[~finite])
        error = np.abs(got[finite] - want[finite]) / np.spacing(np.abs(rounded[finite]))
    assert float(error.max()) <= max(bounds[dtype is np.float64], 1e-9)


@pytest.mark.parametrize(("dtype", "name"), [(np.float32, "f32"), (np.float64, "f64")])
def test_functions_of_two_floats(dtype: type, name: str) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([np.exp(rng.uniform(-8, 8, 400)), SPECIAL, np.full(5, -2.0), SPECIAL]).astype(dtype)
    y = np.concatenate([rng.uniform(-8, 8, 400), SPECIAL[::-1], [2, 3, 0.5, 0, -1], np.ones(5)]).astype(dtype)
    words = ["pow(x, y)", "copysign(x, y)", "maximum(x, y)", "minimum(x, y)", "maxnum(x, y)", "minnum(x, y)", "x / y"]
    outputs = [np.zeros_like(x) for _ in words]
    power, *rest = evaluate(lanewise(f"binary_{name}", words, f"{name} {name}", name), [x, y], outputs)
    with np.errstate(all="ignore"):
        want = x.astype(np.longdouble) ** y.astype(np.longdouble)
        np.testing.assert_allclose(
            power, want.astype(dtype), rtol=float((9 if dtype is np.float32 else 3) * np.finfo(dtype).eps)
        )
        truths = [np.copysign(x, y), np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y), x / y]
    for got, truth in zip(rest, truths, strict=True):
        np.testing.assert_array_equal(got, truth)


@pytest.mark.parametrize(("dtype", "name"), [(np.float32, "f32"), (np.float64, "f64")])
def test_extremes_order_zeros(dtype: type, name: str) -> None:
    x, y = np.array([0.0, -0.0, 0.0, -0.0], dtype), np.array([-0.0, 0.0, 0.0, -0.0], dtype)
    source = lanewise(f"zeros_{name}", ["maximum(x, y)", "minimum(x, y)"], f"{name} {name}", name)
    top, low = evaluate(source, [x, y], [np.ones_like(x), np.ones_like(x)])
    assert np.signbit(top).tolist() == [False, False, False, True]
    assert np.signbit(low).tolist() == [True, True, False, True]


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
def test_integer_words(name: str) -> None:
    dtype = np.dtype(name.replace("i", "int"))
    limits, rng = np.iinfo(dtype), np.random.default_rng(1)
    edge = np.array([0, 1, -1, 2, -2, 7, limits.min, limits.max], dtype)
    x = np.concatenate([np.repeat(edge, 8), rng.integers(limits.min, limits.max, 60, dtype)])
    y = np.concatenate([np.tile(edge, 8), rng.integers(-5, 6, 60).astype(dtype)])
    words = ["floordiv(x, y)", "floormod(x, y)", "truncdiv(x, y)", "truncmod(x, y)", "maximum(x, y)", "minimum(x, y)"]
    words += ["absolute(x)", f"to_{name}(ult(x, y))", f"to_{name}(ule(x, y))", "where(x < y, x, y)"]
    got = evaluate(lanewise(f"ints_{name}", words, f"{name} {name}", name), [x, y], [np.zeros_like(x) for _ in words])
    a, b = x.astype(object), y.astype(object)
    safe = np.where(y == 0, 1, b)
    toward_zero = np.array(
        [int(abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)) for p, q in zip(a, safe, strict=True)], object
    )
    zero = y == 0
    bits, unsigned = 8 * dtype.itemsize, np.dtype(f"u{dtype.name}")
    want = [np.where(zero, 0, a // safe), np.where(zero, 0, a % safe), np.where(zero, 0, toward_zero),
            np.where(zero, 0, a - toward_zero * safe), np.maximum(x, y), np.minimum(x, y), np.abs(a),
            x.view(unsigned) < y.view(unsigned), x.view(unsigned) <= y.view(unsigned), np.minimum(x, y)]  # fmt: skip
    for word, result, truth in zip(words, got, want, strict=True):
        wrapped = [(int(t) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for t in truth]
        np.testing.assert_array_equal(result, np.array(wrapped, dtype), err_msg=word)


@pytest.mark.parametrize("source", ["f32", "f64"])
def test_float_to_integer_saturates(source: str) -> None:
    x = np.array([0, 0.9, -0.9, 127.5, 128, -128.9, -129, 255.9, 256, 2**31, -(2.0**31) - 1, 2.0**63, -(2.0**63), 1e30,
                  np.nan, np.inf, -np.inf, 2**32, 1.8446744073709552e19], source.replace("f", "float"))  # fmt: skip
    names = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
    dtypes = [np.dtype(n.replace("i", "int").replace("u", "uint")) for n in names]
    kernel = lanewise(f"casts_{source}", [f"to_{n}(x)" for n in names], source, *names)
    for got in evaluate(kernel, [x], [np.zeros(len(x), d) for d in dtypes]):
        limits = np.iinfo(got.dtype)
        want = [0 if v != v else min(max(int(np.clip(float(v), -1e30, 1e30)), limits.min), limits.max) for v in x]
        np.testing.assert_array_equal(got, np.array(want, got.dtype))


def test_conversions_between_widths() -> None:
    x = np.array([0, 1, -1, 127, 128, 255, 2**31, -(2**31) - 1, 2**62 + 1, -(2**63), 2**53 + 1])
    words = [
        "to_i8(x)",
        "to_u8(x)",
        "to_i32(x)",
        "to_i64(to_u32(x))",
        "to_f32(x)",
        "to_f64(x)",
        "to_f32(to_u64(x))",
        "to_f64(x < 0)",
    ]
    targets = ["i8", "u8", "i32", "i64", "f32", "f64", "f32", "f64"]
    dtypes = [np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64, np.float32, np.float64]
    got = evaluate(lanewise("widths", words, "i64", *targets), [x], [np.zeros(len(x), d) for d in dtypes])
    want = [x.astype(np.int8), x.astype(np.uint8), x.astype(np.int32), x.astype(np.uint32), x.astype(np.float32),
            x.astype(np.float64), x.view(np.uint64).astype(np.float32), x < 0]  # fmt: skip
    for word, result, truth in zip(words, got, want, strict=True):
        np.testing.assert_array_equal(result, truth, err_msg=word)


@pytest.mark.parametrize(("source", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_halves_round_once(source: str, dtype: type) -> None:
    bits = np.arange(0, 65536, 7, dtype=np.uint16)
    with np.errstate(all="ignore"):
        exact = np.concatenate([bits.view(np.float16).astype(dtype), bits.view(BF16).astype(dtype)])
        near = np.concatenate([np.nextafter(exact, dtype(0)), exact * dtype(1 + 2.0**-9), exact * dtype(1 + 2.0**-12)])
        x = np.concatenate([exact, near, SPECIAL]).astype(dtype)
        words = [f"{source}_to_f16(x)", f"{source}_to_bf16(x)"]
        kernel = lanewise(f"halves_{source}", words, source, "f16", "bf16")
        half, brain = evaluate(kernel, [x], [np.zeros(len(x), np.float16), np.zeros(len(x), BF16)])
        _same_but_nan(half, x.astype(np.float16))
        _same_but_nan(brain, _brain(x.astype(np.float64)).astype(BF16))
        back = lanewise("back", ["f16_to_f32(x)", "bf16_to_f32(y)"], "f16 bf16", "f32")
        wide = evaluate(back, [half, brain], [np.zeros(len(x), np.float32), np.zeros(len(x), np.float32)])
        np.testing.assert_array_equal(wide[0], half.astype(np.float32))
        np.testing.assert_array_equal(wide[1], brain.astype(np.float32))


def test_a_double_becomes_a_half_in_one_rounding() -> None:
    x = np.array(
        [
            1 + 2.0**-8 + 2.0**-40,
            1 + 3 * 2.0**-8 - 2.0**-40,
            -1 - 2.0**-8 - 2.0**-50,
            3.4e38,
            1e39,
            1 + 2.0**-11 + 2.0**-40,
        ]
    )
    source = lanewise("once", ["f64_to_bf16(x)", "f64_to_f16(x)"], "f64", "bf16", "f16")
    brain, half = evaluate(source, [x], [np.zeros(6, BF16), np.zeros(6, np.float16)])
    assert brain.astype(np.float64).tolist()[:5] == [1 + 2.0**-7, 1 + 2.0**-7, -1 - 2.0**-7, np.inf, np.inf]
    assert half[5] == 1 + 2.0**-10


def _brain(x: Array) -> Array:
    """The nearest bfloat16, even where two are near; NumPy's own cast from float64 goes through float32 and rounds
    twice."""
    scale = np.ldexp(1.0, 8 - np.maximum(np.frexp(x)[1], -125))
    rounded = np.where(np.isfinite(x), np.rint(np.where(np.isfinite(x), x, 0) * scale) / scale, x)
    return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, x), rounded)


def _same_but_nan(got: Array, want: Array) -> None:
    """Bit for bit, except that one NaN is as good as another."""
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    np.testing.assert_array_equal(got.view(np.uint16)[~nan], want.view(np.uint16)[~nan])


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
@pytest.mark.parametrize(
    ("name", "dtype"), [("f32", np.float32), ("f64", np.float64), ("i32", np.int32), ("i64", np.int64)]
)
def test_a_block_combines_by_a_fixed_tree(threads: int, name: str, dtype: type) -> None:
    kinds = ["add", "mul", "max", "min"]
    across = [f"warp_{k}(v)" if threads == 32 else f"across_{k}(v, row)" for k in kinds]
    lines = [
        f"def block(x, y, lo, hi, ctx):\n    row = tile_{name}(32)\n    tid = i64(cuda.threadIdx.x)\n    v = x[tid]"
    ]
    lines += [f"    a{k} = {text}\n    y[tid * 4 + {k}] = a{k}" for k, text in enumerate(across)]
    source = Source("block", "\n".join(lines) + "\n", (("x", name), ("y", name)), (), lanes=threads)
    x = (np.random.default_rng(0).standard_normal(threads) * (3 if dtype in (np.int32, np.int64) else 1)).astype(dtype)
    y = np.zeros((threads, 4), dtype)
    emulate(compile_ptx(source), "block", 1, threads, [x, y, 0, 1, np.zeros(3, np.int64)])
    combine = [np.add, np.multiply, np.maximum, np.minimum]
    want = [_halves(_halves(x.reshape(-1, 32).T, f).ravel(), f) for f in combine]
    np.testing.assert_array_equal(y, np.tile(np.array(want, dtype), (threads, 1)))


def _halves(x: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """Lane i with lane i + half, until one is left."""
    with np.errstate(all="ignore"):
        while len(x) > 1:
            x = combine(x[: len(x) // 2], x[len(x) // 2 :])
    return x[0]


def test_products_and_sums_are_never_fused() -> None:
    source = lanewise("separate", ["x * y + z", "z - x * y", "fma(x, y, z)"], "f32 f32 f32", "f32")
    rng = np.random.default_rng(5)
    x, y, z = (rng.standard_normal(1000).astype(np.float32) for _ in range(3))
    plus, minus, fused = evaluate(source, [x, y, z], [np.zeros_like(x) for _ in range(3)])
    np.testing.assert_array_equal(plus, x * y + z)
    np.testing.assert_array_equal(minus, z - x * y)
    exact = (x.astype(np.float64) * y + z).astype(np.float32)
    assert (fused != plus).any()
    assert (fused == exact).mean() > 0.999  # float64 rounds twice in rare cases
    assert compile_ptx(source).count("fma.rn.f32") == compile_ptx(source).count("add.rn.f32")


def test_the_same_source_gives_the_same_text_in_every_process() -> None:
    code = (
        "from pelton.codegen.source import Source\n"
        "from pelton.codegen.cuda.compile import compile_ptx\n"
        "import hashlib\n"
        "text = 'def other(x, lo, hi, ctx):\\n    t = tile_f32(4)\\n    x[0] = t[0]\\n'\n"
        "other = Source('other', text, (('x', 'f32'),), (), 32)\n"
        "text = 'def one(x, lo, hi, ctx):\\n    row = tile_f32(32)\\n    x[0] = across_add(exp(x[0]), row)\\n'\n"
        "one = Source('one', text, (('x', 'f32'),), (), 64)\n"
    )
    last = "print(hashlib.sha256(compile_ptx(one).encode()).hexdigest())\n"
    runs = [code + last, code + "compile_ptx(other)\n" + last]
    texts = {subprocess.run([sys.executable, "-c", r], capture_output=True, text=True, check=True).stdout for r in runs}
    assert len(texts) == 1 and len(texts.pop()) == 65


def test_a_word_of_wrong_types_is_refused_by_name() -> None:
    with pytest.raises(CompileError, match=r"(?s)@mixed.*maximum\(float32, float64\): the arguments differ in type"):
        compile_ptx(lanewise("mixed", ["maximum(x, y)"], "f32 f64", "f32"))


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(CompileError, match="32, 64, 128, 256, 512 or 1024 threads"):
        compile_ptx(lanewise("odd", ["x"], "f32", "f32"), 48)
    with pytest.raises(CompileError, match=r"no \.target line"):
        assemble("nothing")
