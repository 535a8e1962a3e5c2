"""What an error of the emulator says: kernel, instruction, thread, and the line that the instruction was made from."""

from __future__ import annotations

import os
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pelton.codegen.cuda.compile import assemble, compile_ptx, find_ptxas
from pelton.runtime.emulator import DidNotFinish, DivergentBarrier, EmulationError, OutOfBounds, Race, emulate
from pelton.support.errors import DeviceError
from pelton.tests.support import cuda

TEXT = """.version 9.0
.target sm_90
.address_size 64
.visible .entry bad(.param .u64 y)
{
    .reg .b64 %rd<4>;
    .loc 1 2 0
    ld.param.u64 %rd0, [y];
    .loc 1 3 5, function_name $L__info_string0, inlined_at 1 9 0
    st.global.u32 [%rd0+64], 1;
    .loc 1 0 0
    st.global.u32 [%rd0+128], 1;
}
    .file 1 "PATH", 1234, 56
"""


def fails(path: object, size: int = 4) -> OutOfBounds:
    with pytest.raises(OutOfBounds) as caught:
        emulate(TEXT.replace("PATH", str(path)), "bad", 1, 32, [np.zeros(size, np.uint32)], check_races=False)
    return caught.value


def test_an_error_shows_the_line_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def bad(y):\n    t = 0\n    y[16] = 1\n")
    error = fails(path)
    assert str(error).splitlines() == [
        "`st.global.u32 [%rd0+64], 1;` (PTX line 10), thread 0 of block 0: byte 64 of argument 0, which has 16 bytes",
        "  op:       kernel bad",
        f"  at:       {path}:3",
        "  source:   y[16] = 1",
    ]
    assert isinstance(error, DeviceError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_source_that_cannot_be_read_is_named_all_the_same(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "short.py").write_text("one line\n")
    for path in (tmp_path / "none.py", tmp_path, tmp_path / "pipe", tmp_path / "short.py", "a\0b"):
        assert str(fails(path)).endswith(f"at:       {path}:3")


def test_texts_in_one_file_number_their_sources_each_for_itself(tmp_path: Path) -> None:
    others = "".join(TEXT.replace("bad", name).replace("PATH", f"{name}.py") for name in ("first", "second"))
    for name in ("first", "second", "bad"):
        with pytest.raises(OutOfBounds) as caught:
            emulate(others + TEXT.replace("PATH", "bad.py"), name, 1, 32, [np.zeros(4, np.uint32)], check_races=False)
        assert caught.value.details.location == f"{name}.py:3"


def test_instructions_of_no_line_name_none(tmp_path: Path) -> None:
    assert not fails(tmp_path / "none.py", size=17).details.location


def test_threads_that_do_not_meet_or_never_end_are_placed_too() -> None:
    head = TEXT[: TEXT.index("    ld.param")].replace("PATH", "k.py")
    tail = '}\n.file 1 "k.py"\n'
    leave = "    .reg .pred %p<2>;\n    .reg .b32 %r<2>;\n    mov.u32 %r0, %tid.x;\n    setp.lt.u32 %p0, %r0, 9;\n"
    half = head + leave + "    @%p0 ret;\n    .loc 1 7 0\n    bar.sync 0;\n" + tail
    with pytest.raises(DivergentBarrier) as caught:
        emulate(half, "bad", 1, 32, [0])
    assert caught.value.details.location == "k.py:7" and caught.value.details.op == "kernel bad"
    loop = "    @%p0 ret;\n$a:\n    .loc 1 8 0\n    add.u32 %r0, %r0, 1;\n    bra $a;\n"
    with pytest.raises(DidNotFinish) as endless:
        emulate(head + leave + loop + tail, "bad", 1, 32, [0], limit=9)
    assert endless.value.details.location == "k.py:8"
    assert endless.value.details.got == "thread 9 of block 0 still runs"


# ---- lines that our own compiler writes
@pytest.mark.parametrize("name", ["softmax", "gather", "linear"])
def test_lines_do_not_change_code(name: str, tmp_path: Path) -> None:
    source = cuda.source(name)
    text = compile_ptx(source, lines=tmp_path)
    assert re.sub(r"^\s*\.(loc|file)\s.*\n", "", text, flags=re.MULTILINE) == cuda.ptx(name)
    (file,) = tmp_path.glob("*/*.py")
    assert f'.file\t1 "{file}"' in text and file.read_text() == source.text
    assert compile_ptx(source, lines=tmp_path) == text
    if find_ptxas() is not None:
        assert assemble(text)[:4] == b"\x7fELF"


def emulated(was: str, now: str, folder: Path, *, check_races: bool = True) -> EmulationError:
    """What a softmax with a mistake in its text ends with."""
    right = cuda.source("softmax")
    assert was in right.text
    wrong = replace(right, text=right.text.replace(was, now))
    x, y = np.ones((2, 200), np.float32), np.zeros((2, 200), np.float32)
    with pytest.raises(EmulationError) as caught:
        cuda.launch(wrong, compile_ptx(wrong, lines=folder), 2, [x, y], [2, 200], check_races=check_races)
    return caught.value


def test_errors_point_into_our_own_text(tmp_path: Path) -> None:
    beyond = emulated("y[r * n + j] = p", "y[r * n + j + 1] = p", tmp_path, check_races=False)
    assert isinstance(beyond, OutOfBounds) and beyond.details.source == "y[r * n + j + 1] = p"
    race = emulated("e1 = y[r * n + j]", "e1 = y[r * n + n - 1 - j]", tmp_path)
    assert isinstance(race, Race) and race.details.source == "y[r * n + j] = p"
