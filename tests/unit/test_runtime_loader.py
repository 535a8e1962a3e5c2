"""The loader: refuses what would kill the process, frees what it mapped, needs neither Numba nor xDSL."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pelton.artifact import KernelCode
from pelton.codegen.cpu.compile import machine_for
from pelton.codegen.cpu.seam import binding
from pelton.codegen.cpu.target import host_target
from pelton.codegen.cpu.walker import NAME
from pelton.runtime.loader import load_code, map_objects
from pelton.support.elf import read_symbols
from pelton.support.errors import ArtifactError
from pelton.tests.support import small_artifacts as small

WALKER, KERNELS = small.codes()


def assemble(text: str) -> bytes:
    return bytes(machine_for(host_target()).machine.emit_object(binding.parse_assembly(text)))


def test_symbols_of_an_object() -> None:
    symbols = read_symbols(WALKER.code)
    assert NAME in symbols.defined and not symbols.undefined


@pytest.mark.parametrize("keep", [0, 3, 40, 64, 200, -1, -30])
def test_objects_cut_off(keep: int) -> None:
    with pytest.raises(ArtifactError, match=r"function walk: the object code is (damaged|no 64-bit ELF)"):
        map_objects([KernelCode(NAME, WALKER.code[:keep])])


def test_objects_for_another_machine_or_of_another_kind() -> None:
    code = bytearray(WALKER.code)
    code[18:20] = (183 if code[18] == 62 else 62).to_bytes(2, "little")
    with pytest.raises(ArtifactError, match="this machine is"):
        map_objects([KernelCode(NAME, bytes(code))])
    code = bytearray(WALKER.code)
    code[16] = 3  # a shared library
    with pytest.raises(ArtifactError, match="no 64-bit ELF relocatable"):
        map_objects([KernelCode(NAME, bytes(code))])


def test_unknown_symbols_are_refused_before_they_can_crash() -> None:
    text = """
    declare i16 @__truncsfhf2(float)
    define i16 @half(float %x) {
      %r = call i16 @__truncsfhf2(float %x)
      ret i16 %r
    }"""
    with pytest.raises(ArtifactError, match=r"fake: function half: its code is not whole: it calls __truncsfhf2"):
        map_objects([KernelCode("half", assemble(text))], "fake")
    text = """
    declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
    define void @fill(ptr %x, i64 %n) {
      call void @llvm.memset.p0.i64(ptr %x, i8 0, i64 %n, i1 false)
      ret void
    }"""
    with pytest.raises(ArtifactError, match=r"function fill: its code is not whole: it calls memset"):
        map_objects([KernelCode("fill", assemble(text))])


def test_names_must_be_there_and_once() -> None:
    with pytest.raises(ArtifactError, match="function other: its code does not define it"):
        map_objects([KernelCode("other", WALKER.code)])
    with pytest.raises(ArtifactError, match="twice"):
        map_objects([WALKER, WALKER])


def test_features_and_versions_must_fit() -> None:
    good = small.add()
    with pytest.raises(ArtifactError, match="CPU features") as caught:
        load_code(good._replace(cpu_features=(*good.cpu_features, "avx1024f")))
    assert "avx1024f" in str(caught.value) and "PELTON_TARGET" in str(caught.value)
    for versions in (("0.99", "1.0"), ("0.1", "0.2"), ("0.1", "0.50")):
        with pytest.raises(ArtifactError, match="llvmlite") as caught:
            load_code(good._replace(llvmlite=versions))
        assert versions[1] in str(caught.value)
    assert "add" in load_code(good)


def resident_kib() -> int:
    fields = Path("/proc/self/status").read_text().split("VmRSS:")[1]
    return int(fields.split()[0])


def test_unloading_frees_the_code() -> None:
    big = assemble("""
    @data = constant [1000000 x i64] zeroinitializer
    define i64 @big() {
      ret i64 ptrtoint ([1000000 x i64]* @data to i64)
    }""")
    for _ in range(3):
        map_objects([KernelCode("big", big)])
    gc.collect()
    before = resident_kib()
    for _ in range(20):
        map_objects([KernelCode("big", big)])
    gc.collect()
    assert resident_kib() - before < 40_000  # 160,000 if nothing were freed


def test_threads_map_and_call_at_once() -> None:
    results: list[int] = []

    def work() -> None:
        for number in range(20):
            code = map_objects([KernelCode("f", assemble(f"define i64 @f() {{\n ret i64 {number} }}"))])
            results.append(ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("f"))() - number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0] * 80


ALONE = """
import sys
import numpy as np
from pelton.artifact import Artifact
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
import pelton.driver
imported = {name.partition(".")[0] for name in sys.modules}
assert not imported & {"numba", "xdsl", "llvmlite", "ml_dtypes"}, imported
artifact = Artifact.load(sys.argv[1])
weights = bind_weights(artifact.weights, {"w": np.ones(4, np.float32)})
print(Model(NativeExecutable(artifact, weights)).execute(np.ones(4, np.float32))[0].to_numpy().tolist())
imported = {name.partition(".")[0] for name in sys.modules}
assert "llvmlite" in imported and not imported & {"numba", "xdsl", "ml_dtypes"}, imported
"""


def test_a_saved_model_runs_without_numba_and_xdsl(tmp_path: Path) -> None:
    path = tmp_path / "scaled.pelton"
    small.scaled().save(path)
    command = [sys.executable, "-W", "error", "-c", ALONE, path]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[1.0, 2.0, 3.0, 4.0]\n", "")
