"""What a process loads: nothing of the compiler to run a saved model, nothing of Numba where the cache has the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from pelton.tests.support.process import fresh

LOADED = "print(*[name for name in ('xdsl', 'numba', 'llvmlite', 'numpy', 'pelton.compiler') if name in sys.modules])"
"""Which of the heavy ones a script has loaded, as its last line."""

MODEL = """
import sys, zlib
import numpy as np
from pelton.engine import InferenceSession
W = {"w": np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)}
X = np.linspace(0, 1, 24, dtype=np.float32).reshape(3, 8)
def show(model):
    for rows in (X, X[:1], X[:0]):
        print(zlib.crc32(model.execute(rows)[0].to_numpy().tobytes()), end=" ")
    print()
"""
BUILD = f"""{MODEL}
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
bias = np.random.default_rng(0).standard_normal(4).astype(np.float32)
large = np.random.default_rng(1).standard_normal((1, 4096)).astype(np.float32)
def layer(x):
    cpu = DeviceRef.CPU()
    y = ops.softmax(ops.gelu(x @ Weight("w", DType.float32, [8, 4], cpu) + ops.constant(bias, DType.float32, cpu)))
    return ops.sum(y) + ops.constant(large, DType.float32, cpu)
graph = Graph("layer", layer, [TensorType(DType.float32, ["n", 8], DeviceRef.CPU())])
session = InferenceSession()
"""
SAVE = f"""{BUILD}
session.compile(graph).save(sys.argv[1])
show(session.load(graph, weights_registry=W))
{LOADED}
"""
LOAD_GRAPH = f"""{BUILD}
show(session.load(graph, weights_registry=W))
{LOADED}
"""
LOAD_FILE = f"""{MODEL}
show(InferenceSession().load(sys.argv[1], weights_registry=W))
{LOADED}
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """(artifact, cache folder, the results' checksums) of a model that a process of its own has compiled."""
    folder = tmp_path_factory.mktemp("startup")
    sums, loaded = fresh(SAVE, folder / "layer.pelton", PELTON_CACHE_DIR=folder / "cache").splitlines()
    assert set(loaded.split()) >= {"xdsl", "numba", "llvmlite", "numpy", "pelton.compiler"}  # the question is not vain
    return folder / "layer.pelton", folder / "cache", sums


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("pelton", set()),
        ("pelton.engine", {"numpy"}),
        ("pelton.driver", {"numpy"}),
        ("pelton.graph", {"xdsl", "numpy"}),
    ],
)
def test_importing_loads_no_more_than_it_must(module: str, expected: set[str]) -> None:
    assert set(fresh(f"import sys, {module}\n{LOADED}").split()) <= expected


def test_a_saved_model_needs_no_compiler_and_gives_the_same_bits(saved: tuple[Path, Path, str], tmp_path: Path) -> None:
    """With an empty cache, which it does not touch."""
    artifact, _, sums = saved
    found, loaded = fresh(LOAD_FILE, artifact, PELTON_CACHE_DIR=tmp_path / "none").splitlines()
    assert set(loaded.split()) == {"llvmlite", "numpy"} and found == sums
    assert not (tmp_path / "none").exists()


def test_rates_of_a_saved_model_need_no_compiler(saved: tuple[Path, Path, str]) -> None:
    artifact, _, sums = saved
    found, loaded = fresh(LOAD_FILE, artifact, PELTON_DEBUG=2).splitlines()
    assert set(loaded.split()) == {"llvmlite", "numpy"} and found == sums


def test_a_second_process_builds_the_graph_without_numba(saved: tuple[Path, Path, str]) -> None:
    """The whole model is in the cache: not even the passes run."""
    _, cache, sums = saved
    found, loaded = fresh(LOAD_GRAPH, PELTON_CACHE_DIR=cache).splitlines()
    assert set(loaded.split()) == {"xdsl", "llvmlite", "numpy"} and found == sums


def test_a_second_process_runs_the_passes_without_numba(saved: tuple[Path, Path, str]) -> None:
    """Watched, a model is compiled anew; the code of its kernels is in the cache."""
    _, cache, sums = saved
    found, loaded = fresh(LOAD_GRAPH, PELTON_CACHE_DIR=cache, PELTON_DEBUG=5).splitlines()
    assert set(loaded.split()) == {"xdsl", "llvmlite", "numpy", "pelton.compiler"} and found == sums


def test_an_interpreted_model_needs_no_machine_code(saved: tuple[Path, Path, str]) -> None:
    loaded = fresh(LOAD_GRAPH, PELTON_INTERPRET=1).splitlines()[-1]
    assert set(loaded.split()) == {"xdsl", "numpy"}


def test_help_of_the_tool_loads_nothing_heavy() -> None:
    code = f"import sys\nfrom pelton.tools import opt\nopt.main(['--help'])\n{LOADED}"
    assert fresh(code).splitlines()[-1] == "xdsl"
