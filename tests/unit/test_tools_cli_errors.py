"""`pelton` on files that are missing, damaged or do not fit, and on wrong command lines: words and an exit code."""

from __future__ import annotations

import os
import random
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.artifact import TensorInfo
from pelton.dtype import DType
from pelton.support.errors import ReadError
from pelton.tests.support.command_line import LAYER, RUN, W, X, failing, safetensors, save
from pelton.tools.arrays import read_npy, read_weights
from pelton.tools.cli import main


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 68]}, "lies at 0:68"),
        ({"dtype": "F32", "shape": [4, 4], "data_offsets": [-64, 0]}, "lies at -64:0"),
        ({"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 64]}, "has 64 bytes"),
        ({"dtype": "F33", "shape": [4, 4], "data_offsets": [0, 64]}, "the unknown type 'F33'"),
        ({"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 64]}, "does not fit the model"),
        ({"dtype": "F32", "shape": 4, "data_offsets": [0, 64]}, "is damaged"),
        ([], "is damaged"),
        ({"dtype": "F32", "shape": [4, 4]}, "is damaged"),
    ],
)
def test_damaged_safetensors(entry: Any, told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    safetensors(folder / "w.safetensors", {"w": entry}, bytes(64))
    assert told in failing(capsys, *RUN[:3], "w.safetensors", *RUN[4:])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x02\0\0", "it has 3 bytes"),
        ((2**62).to_bytes(8, "little") + b"{}", "should have 4611686018427387904 bytes, and the whole file has 10"),
        ((2**64 - 1).to_bytes(8, "little") + b"{}", "should have 18446744073709551615 bytes"),
        ((3).to_bytes(8, "little") + b"{}", "should have 3 bytes"),
        ((2).to_bytes(8, "little") + b"[]", "is list in JSON"),
        ((4).to_bytes(8, "little") + b'"aw"', "is str in JSON"),
        ((2).to_bytes(8, "little") + b"\xff\xfe", "is damaged"),
        ((7).to_bytes(8, "little") + b'{"a":1}', "says of a no more than 1"),
        ((15).to_bytes(8, "little") + b'{"a":{},"a":{}}', "says a twice"),
        ((4).to_bytes(8, "little") + b"{}x ", "is damaged"),
    ],
)
def test_headers_of_safetensors_that_are_none(
    content: bytes, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "w.safetensors").write_bytes(content)
    said = failing(capsys, *RUN[:3], "w.safetensors", *RUN[4:])
    assert told in said and "w.safetensors is damaged" in said


def object_array(path: Path) -> None:
    save(path, np.array([print, {}], object), allow_pickle=True)


def huge(path: Path) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4), }".ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def cut(path: Path) -> None:
    save(path, X)
    path.write_bytes(path.read_bytes()[:-5])


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "cannot read bad: No such file"),
    "folder": (lambda path: path.mkdir(), "cannot read bad: Is a directory"),
    "pipe": (os.mkfifo, "cannot read bad: it is no regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "cannot read bad: it is no regular file"),
    "empty": (lambda path: path.write_bytes(b""), "is no .npy file"),
    "text": (lambda path: path.write_text("1 2 3"), "is no .npy file"),
    "pickle": (lambda path: path.write_bytes(b"cos\nsystem\n(S'touch hacked'\ntR."), "is no .npy file"),
    "objects": (object_array, "holds Python objects, which are not read"),
    "header": (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00\x04\x00{1+}"), "is damaged"),
    "version": (lambda path: path.write_bytes(b"\x93NUMPY\x09\x00\x04\x00{1+}"), "is damaged"),
    "huge": (huge, "is damaged"),
    "cut": (cut, "is damaged"),
    "shape": (lambda path: save(path, X[:, :3]), "has the wrong shape"),
    "rank": (lambda path: save(path, X[0]), "has the wrong shape"),
    "dtype": (lambda path: save(path, X.astype("f8")), "has the wrong type"),
    "structure": (lambda path: save(path, np.zeros((3, 4), "i2,i2")), "cannot be used"),
    "text elements": (lambda path: save(path, np.array([["a"] * 4])), "cannot be used"),
}


@pytest.mark.parametrize("name", FILES)
def test_an_input_that_cannot_be_used(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, told = FILES[name]
    with np.errstate(all="raise"):
        make(folder / "bad")
    assert told in failing(capsys, *RUN[:-1], "x=bad")
    assert not (folder / "hacked").exists()


def test_weights_that_cannot_be_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(path: str) -> str:
        return failing(capsys, *RUN[:3], path, *RUN[4:])

    assert "cannot read none.npz: No such file" in told("none.npz")
    assert "cannot read none.safetensors: No such file" in told("none.safetensors")
    assert "is of no kind that weights are read from" in told("x.npy")
    Path("text.npz").write_text("no zip")
    assert "is no .npz file" in told("text.npz")
    for suffix in ("npz", "safetensors"):
        Path(f"empty.{suffix}").write_bytes(b"")
        assert f"empty.{suffix}" in told(f"empty.{suffix}")
        os.mkfifo(f"pipe.{suffix}")
        assert f"cannot read pipe.{suffix}: it is no regular file" in told(f"pipe.{suffix}")
    np.savez("objects.npz", w=np.array([{}], object), allow_pickle=True)
    assert "objects.npz: w.npy holds Python objects" in told("objects.npz")
    with zipfile.ZipFile("odd.npz", "w") as archive:
        archive.writestr("w.npy", "no array")
    assert "odd.npz: w.npy is damaged" in told("odd.npz")
    np.savez("wrong.npz", w=W[:2])
    assert "weight 'w' does not fit the model" in told("wrong.npz")
    data = Path("w.npz").read_bytes()
    for end in range(0, len(data), 97):
        Path("cut.npz").write_bytes(data[:end])
        assert "cut.npz is no .npz file" in told("cut.npz")


def test_models_that_cannot_be_loaded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "none.mlir" in failing(capsys, "run", "none.mlir")
    assert "none.pelton: No such file" in failing(capsys, "explain", "none.pelton")
    assert "an ONNX reader does not exist yet" in failing(capsys, "run", "model.onnx")
    assert "got:      no suffix" in failing(capsys, "explain", str(folder))
    Path("folder.mlir").mkdir()
    assert "Is a directory" in failing(capsys, "bench", "folder.mlir")
    for name, words in {"pipe.mlir": ("explain",), "pipe.pelton": ("run",), "pipe.py": (*RUN, "--extension")}.items():
        os.mkfifo(name)
        assert f"{name}: it is no regular file" in failing(capsys, *words, name)
    Path("bad.mlir").write_text(LAYER.replace("nn.gather", "nn.gathr"))
    assert failing(capsys, "explain", "bad.mlir").startswith("bad.mlir:5:")
    Path("bad.pelton").write_bytes(b"\x93PELTON\n")
    assert "is cut off" in failing(capsys, "run", "bad.pelton")


def test_a_run_that_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("at.npy", np.array([3]))
    said = failing(capsys, *RUN)
    assert "gather" in said and "got:" in said


@pytest.mark.parametrize("path", ["none/out.pelton", "file/out.pelton", "folder.pelton"])
def test_artifacts_that_cannot_be_written(path: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    Path("folder.pelton").mkdir()
    assert f"error: cannot write {path}: " in failing(capsys, "compile", "layer.mlir", "-o", path)
    assert sorted(p.suffix for p in folder.rglob(".*.tmp")) == []


def test_results_that_cannot_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    for words, told in (
        (("--output", "file"), "cannot write file: File exists"),
        (("--output", "file/deeper"), "cannot write file/deeper: Not a directory"),
        (("--trace", "none/trace.json"), "cannot write none/trace.json: No such file"),
        (("--trace", "/dev/full"), "cannot write /dev/full: No space left on device"),
    ):
        assert main([*RUN, *words]) == 1
        assert told in capsys.readouterr().err
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)  # a device is written to, not replaced
    Path("full").mkdir()
    Path("full/output0.npy").symlink_to("/dev/full")
    assert main([*RUN, "--output", "full"]) == 1
    assert "cannot write full/output0.npy: No space left on device" in capsys.readouterr().err


def test_arrays_as_a_user_without_rights(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read and write everything")
    Path("x.npy").chmod(0)
    assert "cannot read x.npy: Permission denied" in failing(capsys, *RUN)
    Path("x.npy").chmod(0o600)
    folder.chmod(0o500)
    try:
        assert main([*RUN, "--output", "out"]) == 1
    finally:
        folder.chmod(0o700)
    assert "Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("walk", "layer.mlir"), "invalid choice: 'walk'"),
        (("run", "layer.mlir", "--thread", "1"), "unrecognized arguments: --thread"),
        (("run", "layer.mlir", "--threads", "0"), "'0' is no whole number from 1 to 4096"),
        (("run", "layer.mlir", "--assert-level", "some"), "invalid choice: 'some'"),
        (("bench", "layer.mlir", "--dim", "n=-1"), "--dim n=-1: '-1' is no size"),
        (("bench", "layer.mlir", "--dim", "n=99999999999999999999"), "is no size"),
        (("bench", "layer.mlir", "--shape", "y=1"), "unknown input 'y'"),
    ],
)
def test_usage(words: tuple[str, ...], told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in failing(capsys, *words, code=2)


def test_too_much_memory_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("bench", "layer.mlir", "--dim", "n=1000000000000000", "--dim", "k=1")
    assert "out of memory" in failing(capsys, *words)


@pytest.mark.parametrize("seed", range(4))
def test_files_with_random_damage(seed: int, folder: Path) -> None:
    """Every byte of a file may be any other: it is read, or refused in words."""
    rng = random.Random(seed)
    entry = {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}
    safetensors(folder / "w.safetensors", {"w": entry}, W.tobytes())
    x, w = TensorInfo("x", DType.float32, ("n", 4)), TensorInfo("w", DType.float32, (4, 4))
    refused = 0
    for name in ("x.npy", "w.npz", "w.safetensors") * 60:
        data = bytearray(Path(name).read_bytes())
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(min(len(data), 160))] = rng.randrange(256)
        bad = Path(f"bad{Path(name).suffix}")
        bad.write_bytes(data)
        try:
            array = read_npy(bad, x) if name == "x.npy" else read_weights([bad], [w]).get("w")
            assert array is None or array.dtype.kind != "O"
        except ReadError:
            refused += 1
    assert refused > 30
