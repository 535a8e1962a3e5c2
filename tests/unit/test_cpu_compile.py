"""Compilation of kernel texts: targets, the instructions each may use, the same bytes everywhere, and errors worth
reading.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pelton.codegen.cpu import vocabulary
from pelton.codegen.cpu.compile import assembly, compile_sources, llvm_ir
from pelton.codegen.cpu.target import AVX2, AVX512, BASELINE, TARGETS, CpuTarget, target_for, target_named
from pelton.codegen.source import Source
from pelton.support.elf import read_symbols
from pelton.support.errors import CompileError, InternalError
from pelton.tests.support.words import word_source

ON_TARGETS = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)

FLOATS = (
    "exp(a) + tanh(a) + erf(a)",
    "log(a) + log1p(a) + atanh(a)",
    "sin(a) + cos(a)",
    "tan(a) + asin(a) + acos(a) + atan(a)",
    "sqrt(a) + rsqrt(a) + floor(a) + ceil(a) + trunc(a) + roundeven(a) + absolute(a)",
    "pow(a, b)",
    "truncmod(a, b)",
)
EXPRESSIONS = (
    *((text, [element] * 2, element) for text in FLOATS for element in ("f32", "f64")),
    *(("a // b + truncmod(a, b)", [element] * 2, element) for element in ("i8", "i32", "i64", "u64")),
    *((f"f64_to_{name}(f16_to_f64(a))", ["f16"], name) for name in ("f16", "bf16")),
    *(("to_u64(a) + to_u64(to_i64(a)) + to_u64(to_u8(a))", [source], "u64") for source in ("f32", "f64")),
)


@ON_TARGETS
def test_objects_stand_alone(target: CpuTarget) -> None:
    for text, inputs, output in EXPRESSIONS:
        code = compile_sources([word_source(text, inputs, output, lanes=8)], target)["word"]
        symbols = read_symbols(code)
        assert not symbols.undefined
        assert symbols.defined == {"word"}


@pytest.mark.parametrize("text", FLOATS[:4])
def test_no_target_uses_the_instructions_of_a_better_one(text: str) -> None:
    source = word_source(text, ["f32", "f32"], "f32")
    texts = {target.name: assembly(source, target) for target in TARGETS}
    assert not re.search(r"^\tv[a-z]", texts["baseline"], re.MULTILINE)
    assert not re.search(r"%[yz]mm", texts["baseline"])
    assert "%ymm" in texts["avx2"]
    assert not re.search(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]\b", texts["avx2"])
    assert "%zmm" in texts["avx512"]


@ON_TARGETS
def test_products_and_sums_of_a_text_are_never_contracted(target: CpuTarget) -> None:
    text = assembly(word_source("a * b + a", ["f32", "f32"], "f32"), target)
    assert "fmadd" not in text
    assert "fast" not in llvm_ir(word_source("a * b + a", ["f32", "f32"], "f32"), target)
    assert ("fmadd" in assembly(word_source("exp(a)", ["f32"], "f32"), target)) == target.has_fma


PROGRAM = """
import hashlib
from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.target import TARGETS
from pelton.tests.support.words import word_source
source = word_source("sin(a) + pow(a, b)", ["f32", "f32"], "f32", lanes=8)
for target in TARGETS:
    print(hashlib.sha256(compile_sources([source], target)["word"]).hexdigest())
"""


def test_every_process_makes_the_same_bytes() -> None:
    source = word_source("sin(a) + pow(a, b)", ["f32", "f32"], "f32", lanes=8)
    compile_sources([word_source("a + 1", ["i32"], "i32")], AVX2)
    here = [hashlib.sha256(compile_sources([source], target)["word"]).hexdigest() for target in TARGETS]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.split() == here


SIGNS = """\
from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.target import TARGETS
from pelton.codegen.source import Source

TEXT = '''def signs(x, y, lo, hi, ctx):
    j = 0
    while j + W <= 61:
        inside = ult(iota(j - 8, 1), 8)
        a = load_masked(x, j - 8, inside, 0)
        store(y, j, where(inside, {expression}, iota(j, 1)))
        j += W
    a = load_masked(x, 24, below(29) & ult(iota(24, 1), 8), 0)
    store_masked(y, j, {expression}, below(29))
'''
for target in TARGETS:
    for expression in ("a // a", "a % a", "a // 3", "a % 3"):
        text = TEXT.format(expression=expression)
        compile_sources([Source("signs", text, (("x", "i64"), ("y", "i64")), ())], target)
print("all of them")
"""


def test_the_assembler_of_every_target_ends() -> None:
    """LLVM's for AVX-512 did not: a quotient plus a truth value, in vectors whose upper lanes are known to be 0."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", SIGNS], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout == "all of them\n"


def test_threads_may_compile_at_once() -> None:
    sources = [word_source(f"a * {n}.5 + exp(b)", ["f32", "f32"], "f32") for n in range(6)]
    alone = [compile_sources([s], AVX2)["word"] for s in sources]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda s: compile_sources([s], AVX2)["word"], sources)) == alone


BAD_TEXTS = {
    "store(y, 0, load(x, 0))": ("line 2", "store: got f32x32 where i32 is needed"),
    "store(x, 0, load(x, 0) + to_f64(load(y, 0)))": ("line 2", "arguments of different types meet: f32x32, f64x32"),
    "x[0] = load(x, 0)[0]": ("line 2", "f32x32 is not a buffer or a tile"),
    "frobnicate(x)": ("", "name 'frobnicate' is not defined"),
    "print(n)": ("line 2", "is not in the vocabulary of kernels"),
    "if load(x, 0) > 3.0: x[0] = f32(1)": ("line 2", "a vector is neither true nor false"),
    "store(y, 0, load(y, 0) + 0.5)": ("line 2", "a float literal meets integers"),
    "t = tile_f32(n)": ("line 2", "the size of a tile is an integer literal"),
    "for i in range(0, n, n): x[i] = f32(1)": ("line 2", "the step is a positive literal"),
    "exp(n)": ("line 2", "exp: does not take i64"),
    "exp(load(x, 0), 1)": ("line 2", "exp: takes 1 arguments, got 2"),
    "x[0] = (f32(1)": ("line 2", "was never closed"),
}


@pytest.mark.parametrize("line", BAD_TEXTS)
def test_a_bad_text_is_told_by_its_line(line: str) -> None:
    text = f"def bad(x, y, n, lo, hi, ctx):\n    {line}\n"
    with pytest.raises(CompileError) as caught:
        compile_sources([Source("bad", text, (("x", "f32"), ("y", "i32")), ("n",))], AVX2)
    place, reason = BAD_TEXTS[line]
    assert reason in caught.value.details.got
    assert caught.value.details.location.startswith(place)
    assert "kernel bad" in caught.value.message


def test_lanes_are_a_power_of_two_that_a_mask_can_hold() -> None:
    for lanes in (0, 1, 24, 128):
        with pytest.raises(CompileError, match="kernel word asks for vectors of a length there is none of"):
            compile_sources([word_source("a", ["f32"], "f32", lanes)], AVX2)


def test_an_object_that_calls_a_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_libm = vocabulary.elementwise("cube_root", 1, ("float",), lambda e, x: e.intrinsic("exp10", x))
    monkeypatch.setitem(vocabulary.WORDS, "cube_root", with_libm)
    with pytest.raises(InternalError, match=r"kernel word calls functions that no kernel may call") as caught:
        compile_sources([word_source("cube_root(a)", ["f32"], "f32")], AVX2)
    assert caught.value.details.got == "exp10f"


def test_targets_are_found_by_name_by_features_and_under_a_cap() -> None:
    assert [target_named(t.name) for t in TARGETS] == list(TARGETS)
    assert target_for(()) is BASELINE
    assert target_for(AVX2.required) is AVX2
    assert target_for(AVX512.required | {"avx512_bf16"}) is AVX512
    assert target_for(AVX512.required - {"avx512vl"}) is AVX2
    assert target_for(AVX512.required, cap="avx2") is AVX2
    assert target_for((), cap="avx512") is BASELINE
    with pytest.raises(CompileError, match="there is no such CPU target"):
        target_named("sse9")
