"""Dumps: numbering, first lines, folders, edited sources and reproducers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pelton.support.dump import Dump, edited, safe_name, write_reproducer
from pelton.support.errors import KnobError
from pelton.support.files import write_atomically


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PELTON_DUMP", str(tmp_path / "dump"))
    return tmp_path / "dump"


def test_without_the_knob_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PELTON_DUMP", raising=False)
    dump = Dump.begin("model")
    assert dump.write("input", ".mlir", "text") is None and dump.last() == ""


def test_files_are_numbered_and_name_their_command(root: Path) -> None:
    dump = Dump.begin("model")
    first = dump.write("input", ".mlir", "a\n")
    second = dump.write("fuse", ".mlir", "b\n", "pelton-opt 00-input.mlir -p fuse")
    dump.write("softmax", ".py", "c\n", "how")
    dump.write("object", ".o", b"\x00", "how")
    dump.beside("softmax", ".s", "ret\n", "how")
    assert sorted(p.name for p in (root / "model").iterdir()) == [
        "00-input.mlir",
        "01-fuse.mlir",
        "02-softmax.py",
        "03-object.o",
        "softmax.s",
    ]
    assert first is not None and first.read_text() == "a\n"
    assert second is not None and second.read_text() == "// pelton-opt 00-input.mlir -p fuse\nb\n"
    assert (root / "model" / "02-softmax.py").read_text() == "# how\nc\n"
    assert (root / "model" / "03-object.o").read_bytes() == b"\x00"
    assert dump.last() == "01-fuse.mlir"


def test_a_second_compilation_gets_its_own_folder(root: Path) -> None:
    folders = [Dump.begin("model").folder for _ in range(3)]
    assert folders == [root / "model", root / "model-2", root / "model-3"]


@pytest.mark.parametrize(
    ("name", "safe"), [("a/b c", "a_b_c"), ("../../etc", "_.._etc"), ("", "unnamed"), ("x" * 300, "x" * 100)]
)
def test_names_become_file_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="full"):
        write_atomically(tmp_path / "file", b"data")
    assert list(tmp_path.iterdir()) == []


def test_edited_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert edited("softmax.py") is None
    monkeypatch.setenv("PELTON_OVERRIDE", str(tmp_path))
    assert edited("softmax.py") is None
    (tmp_path / "softmax.py").write_text("changed")
    assert edited("softmax.py") == (tmp_path / "softmax.py", "changed")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_edited_sources_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    folder = tmp_path / "edited"
    monkeypatch.setenv("PELTON_OVERRIDE", str(folder))
    if content is not None:
        folder.mkdir()
        (folder / "softmax.py").write_bytes(content)
    with pytest.raises(KnobError, match=r"PELTON_OVERRIDE names .*edited"):
        edited("softmax.py")


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", Path("/proc/nowhere")):
        monkeypatch.setenv("PELTON_DUMP", str(place))
        with pytest.raises(KnobError, match="unset PELTON_DUMP"):
            Dump.begin("model")


def test_a_file_in_the_place_of_a_folder(root: Path) -> None:
    root.mkdir()
    (root / "model").write_text("")
    with pytest.raises(KnobError, match="a file is in its place"):
        Dump.begin("model")


def test_a_dump_that_cannot_go_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = Dump.begin("model")
    assert dump.folder is not None
    dump.folder.rmdir()
    with pytest.raises(KnobError, match=r"cannot write .*00-input"):
        dump.write("input", ".mlir", "text")


def test_reproducer(root: Path) -> None:
    files: dict[str, str | bytes] = {"input.mlir": "text", "x.npy": b"\x93"}
    folder = write_reproducer("fuse", files, "pelton-opt input.mlir -p fuse")
    assert folder.parent == root and write_reproducer("fuse", files, "pelton-opt input.mlir -p fuse") == folder
    assert {p.name for p in folder.iterdir()} == {"input.mlir", "x.npy", "run.sh"}
    assert "pelton-opt input.mlir -p fuse" in (folder / "run.sh").read_text()


def test_reproducers_go_to_a_private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PELTON_DUMP", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = write_reproducer("x", {}, "true")
    assert folder.parent.stat().st_mode & 0o077 == 0 and folder.parent.parent == tmp_path
