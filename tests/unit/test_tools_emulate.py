"""`pelton emulate`: what it prints and writes, and its words for mistakes of the text, the arguments, the kernel."""

from __future__ import annotations

import os
import random
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pelton.tests.support.command_line import failing
from pelton.tools.cli import main

SCALE = """.version 9.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 by, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    ld.param.f32 %f1, [by];
    ld.param.u32 %r2, [n];
    mov.u32 %r0, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r0, %r3, %r4, %r0;
    setp.ge.u32 %p1, %r0, %r2;
    @%p1 ret;
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
    .loc 1 2 0
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%rd4], %f2;
}
.file 1 "scale.py"
"""
X = np.arange(100, dtype=np.float32)
BASE = ("emulate", "scale.ptx", "--grid", "2", "--block", "64")


def given(*arguments: str) -> list[str]:
    return [word for argument in arguments for word in ("--arg", argument)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scale.ptx").write_text(SCALE)
    np.save("x.npy", X)
    return tmp_path


def test_the_arrays_are_shown_and_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*BASE, *given("x.npy", "empty:f32:100", "f32:0.5", "u32:100")]
    assert main([*words, "--output", "out/deep"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "scale: 2 blocks of 64 threads"
    assert [line.split() for line in said[1:4]] == [
        ["argument", "given", "type", "min", "max", "mean"],
        ["x", "x.npy", "[(100),", "f32]", "0", "99", "49.5", "as", "before"],
        ["y", "empty:f32:100", "[(100),", "f32]", "0", "49.5", "24.75", "changed"],
    ]
    assert said[4:] == ["wrote 2 files to out/deep"] and sorted(os.listdir("out/deep")) == ["arg0.npy", "arg1.npy"]
    np.testing.assert_array_equal(np.load("out/deep/arg1.npy"), X / 2)
    np.testing.assert_array_equal(np.load("x.npy"), X)


def test_values_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BASE, *given("x.npy", "zeros:f32:2x3", "f32:inf", "u32:2"), "--entry", "scale", "--print"]) == 0
    assert capsys.readouterr().out.endswith("y =\n[[nan inf  0.]\n [ 0.  0.  0.]]\n")


def test_arrays_of_any_type_and_layout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.asfortranarray(X.reshape(4, 25).astype(">f4")))
    assert main([*BASE, *given("x.npy", "zeros:f32:100", "f32:1", "u32:100"), "--output", "."]) == 0
    np.testing.assert_array_equal(np.load("arg0.npy"), X.reshape(4, 25))
    np.testing.assert_array_equal(np.load("arg1.npy"), X)
    half = np.ones(3, ml_dtypes.bfloat16)
    np.save("x.npy", half.view("V2"))
    for spelled in ("x.npy", "zeros:bf16:0", "random:i1:3", "zeros:u64:3"):
        assert main([*BASE, *given(spelled, "zeros:f32:1", "f32:1", "i32:0")]) == 0
    assert np.load("x.npy").tobytes() == half.tobytes()


def test_nothing_runs_in_no_blocks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = given("x.npy", "zeros:f32:1", "f32:1", "u32:100")
    assert main(["emulate", "scale.ptx", "--grid", "0", *words]) == 0
    assert "changed" not in capsys.readouterr().out


# ---- faults of the kernel
def test_a_fault_names_kernel_thread_and_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("scale.py").write_text("def scale():\n    y[i] = x[i] * by\n")
    assert failing(capsys, *BASE, *given("x.npy", "empty:f32:100", "f32:1", "u32:101")).splitlines() == [
        "scale.py:2: error: `ld.global.f32 %f2, [%rd3];` (PTX line 24), thread 36 of block 1: "
        "byte 400 of the memory of argument 0, which has 400 bytes",
        "  op:       kernel scale",
        "  source:   y[i] = x[i] * by",
    ]


def test_checks_can_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*BASE, *given("empty:f32:100", "empty:f32:100", "f32:1", "u32:99")]
    assert "nobody wrote byte 0 of the memory of argument 0" in failing(capsys, *words)
    assert main([*words, "--unchecked", "uninitialized", "--unchecked", "races"]) == 0
    words[words.index("empty:f32:100")] = "x.npy"
    said = failing(capsys, *words)
    assert "argument 1 (empty:f32:100) was not filled: nobody wrote byte 396\n" in said and "zeros:" in said


# ---- mistakes of the command line
MISTAKES = {
    "no arguments": ((), "scale takes 4 arguments, got 0:\n  x: 8 bytes\n"),
    "size": (("x.npy", "x.npy", "f64:1", "u32:1"), "argument 2: f64:1 has 8 bytes, by takes 4"),
    "address": (("x.npy", "x.npy", "x.npy", "u32:1"), "argument 2: an address has 8 bytes, by takes 4"),
    "form": (("x", "x.npy", "f32:1", "u32:1"), "argument 0: 'x' is none; expected FILE.npy, zeros:f32:3x200"),
    "form of memory": (("zeros:f32", "x.npy", "f32:1", "u32:1"), "unknown element type 'zeros'"),
    "too many parts": (("f32:1:2", "x.npy", "f32:1", "u32:1"), "argument 0: 'f32:1:2' is none"),
    "type": (("x.npy", "zeros:f33:1", "f32:1", "u32:1"), "argument 1: unknown element type 'f33', did you mean"),
    "shape": (("x.npy", "zeros:f32:3y", "f32:1", "u32:1"), "argument 1: '3y' is no shape such as 1024 or 3x200"),
    "large": (("x.npy", "zeros:f32:9999999x9999999", "f32:1", "u32:1"), "elements is too large"),
    "number": (("x.npy", "x.npy", "f32:one", "u32:1"), "argument 2: 'one' is no f32"),
    "range": (("x.npy", "x.npy", "f32:1", "u32:-1"), "argument 3: '-1' is no ui32"),
    "bool": (("x.npy", "x.npy", "f32:1", "i1:2"), "argument 3: '2' is no i1"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_arguments_that_do_not_fit(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, told = MISTAKES[name]
    assert told in failing(capsys, *BASE, *given(*arguments), code=2)


def test_entries_are_chosen_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown entry 'scales', did you mean 'scale'?" in failing(capsys, *BASE, "--entry", "scales", code=2)
    Path("scale.ptx").write_text(SCALE + ".visible .entry other() { ret; }\n")
    assert "choose one of the text's entries with --entry: scale, other" in failing(capsys, *BASE, code=2)
    assert main([*BASE, "--entry", "other"]) == 0
    Path("scale.ptx").write_text(".version 9.0\n.func other() { ret; }\n")
    assert "the text has no .entry" in failing(capsys, *BASE, code=2)


def test_limits_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*BASE[:2], *given("x.npy", "zeros:f32:9", "f32:1", "u32:9")]
    assert "block of 33\n  expected: a multiple of 32" in failing(capsys, *words, "--block", "33")
    assert "expected: 0 to 166912" in failing(capsys, *words, "--shared", "166913")
    loop = SCALE.replace("    @%p1 ret;", "$a:\n    bra $a;")
    Path("scale.ptx").write_text(loop)
    assert "scale: more than 50 basic blocks" in failing(capsys, *words, "--limit", "50")


# ---- files
def test_files_that_are_no_text_or_no_array(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot read none.ptx: No such file" in failing(capsys, "emulate", "none.ptx")
    Path("scale.ptx").write_bytes(b"\x7fELF\xff\xfe")
    assert "scale.ptx is no PTX text" in failing(capsys, *BASE)
    Path("scale.ptx").write_text(SCALE)
    Path("x.npy").write_text("text")
    assert "x.npy is no .npy file" in failing(capsys, *BASE, *given("x.npy", "x.npy", "f32:1", "u32:1"))


ABSURD = {
    "registers": ("%r<5>", "%r<999999999>", "too many registers"),
    "alignment": ("    .reg .pred", "    .shared .align 0 .b8 t[4];\n    .reg .pred", "an alignment is a power of two"),
    "shared": (
        "    .reg .pred",
        "    .shared .b8 t[99999999999999];\n    .reg .pred",
        "shared variables of 1000",
    ),
    "local": ("    .reg .pred", "    .local .b8 t[99999999999999999];\n    .reg .pred", "local variables of"),
    "global": (".visible", ".global .b8 t[99999999999999999];\n.visible", ""),
    "offset": ("[%rd3]", "[%rd3+99999999999999999999]", "not understood"),
    "constant": ("mov.u32 %r0, %tid.x", "mov.u32 %r0, 99999999999999999999", ""),
    "nesting": ("    ld.param.u64 %rd0", "{" * 9999 + "    ld.param.u64 %rd0", "not understood"),
    "digits": (".loc 1 2 0", ".loc 1 " + "9" * 9999 + " 0", "not understood"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_texts_end_in_words(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    was, now, told = ABSURD[name]
    assert was in SCALE
    Path("scale.ptx").write_text(SCALE.replace(was, now, 1))
    words = [*BASE, *given("x.npy", "zeros:f32:100", "f32:2", "u32:100")]
    if told:
        assert told in failing(capsys, *words)
    elif main(words):
        assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(30))
def test_damaged_texts_end_in_words(seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Characters lost, doubled or changed anywhere: it runs, or says why not."""
    rng = random.Random(seed)
    text = list(SCALE)
    for _ in range(rng.randint(1, 3)):
        k = rng.randrange(len(text))
        text[k : k + rng.randint(0, 3)] = rng.choice(["", "%", "9", ".", ",", "}", "\n", "u", text[k] * 2])
    Path("scale.ptx").write_text("".join(text))
    words = [*BASE, *given("x.npy", "zeros:f32:100", "f32:2", "u32:100"), "--limit", "500"]
    if main(words):
        said = capsys.readouterr().err
        assert "Traceback" not in said and "internal error" not in said and said
