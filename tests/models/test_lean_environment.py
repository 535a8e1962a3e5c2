"""A saved MiniLM where only NumPy and llvmlite are: it runs, gives the same bits, and imports nothing else. One that is
all on a GPU, which is emulated here, needs NumPy alone.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.driver import Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.examples import checkpoint, minilm
from pelton.graph import DeviceRef, Graph, TensorType
from pelton.tests.models.minilm_reference import random_weights
from pelton.tests.models.test_minilm import FILES, SMALL, needs_weights
from pelton.tests.support.lean import FOR_GPUS, lean_python, run_there


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lean_python(tmp_path_factory.mktemp("lean"))


@pytest.fixture(scope="module")
def leanest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lean_python(tmp_path_factory.mktemp("leanest"), FOR_GPUS)


LOADED = """
import sys
own = set(sys.stdlib_module_names)
print(*sorted({name.partition(".")[0] for name in sys.modules if not name.startswith(("_", "sitecustomize"))} - own))
"""
RUN = f"""
import sys, zlib
import numpy as np
from pelton.engine import InferenceSession
given = np.load(sys.argv[2])
weights = {{name: given[name] for name in given.files}}
inputs = [weights.pop("ids"), weights.pop("mask")]
session = InferenceSession()
model = session.load(sys.argv[1], weights_registry=weights)
again = session.init(session.compile(sys.argv[1]), weights_registry=weights)
for each in (model, again):
    print(zlib.crc32(each(*inputs)[0].to_numpy().tobytes()))
{LOADED}
"""


def test_the_environments_have_nothing_else(lean: Path, leanest: Path) -> None:
    """The question is not vain: what must not be imported cannot be."""
    code = "import importlib.util as u\nprint(*[u.find_spec(n) is not None for n in ('{}')])".format(
        "', '".join(("numpy", "pelton", "llvmlite", "numba", "xdsl", "ml_dtypes", "pytest", "pip", "setuptools"))
    )
    assert run_there(lean, code).split() == ["True"] * 3 + ["False"] * 6
    assert run_there(leanest, code).split() == ["True"] * 2 + ["False"] * 7


@pytest.mark.parametrize("size", ["small", pytest.param("real", marks=needs_weights)])
def test_minilm_runs_there(size: str, lean: Path, tmp_path: Path) -> None:
    if size == "small":
        config, weights = SMALL, random_weights(SMALL)
    else:
        assert FILES is not None
        config, weights = minilm.Config(), dict(checkpoint.read_safetensors(FILES / "model.safetensors"))
    session, graph = InferenceSession(), minilm.sentence_encoder(config)
    session.compile(graph).save(tmp_path / "minilm.pelton")
    ids = np.random.default_rng(0).integers(1, config.vocabulary, (3, 17))
    mask = (np.arange(17) < np.array([[17], [5], [1]])).astype(np.int64)
    want = session.load(graph, weights_registry=weights).execute(ids, mask)[0].to_numpy()
    np.savez(tmp_path / "given.npz", allow_pickle=False, ids=ids, mask=mask, **weights)
    first, again, loaded = run_there(lean, RUN, tmp_path / "minilm.pelton", tmp_path / "given.npz").splitlines()
    assert loaded.split() == ["llvmlite", "numpy", "pelton"]
    assert first == again == str(zlib.crc32(want.tobytes()))


RUN_ON_GPU = f"""
import sys, zlib
import numpy as np
from pelton.driver import Accelerator, Buffer
from pelton.engine import InferenceSession
given = np.load(sys.argv[2])
weights = {{name: given[name] for name in given.files}}
gpu = Accelerator.emulated()
inputs = [Buffer.from_numpy(weights.pop(name)).to(gpu) for name in ("ids", "mask")]
session = InferenceSession([gpu])
model = session.load(sys.argv[1], weights_registry=weights)
print(zlib.crc32(model.execute(*inputs)[0].to_numpy().tobytes()))
(out,) = model.capture(1, *inputs)
model.replay(1, *inputs)
print(zlib.crc32(out.to_numpy().tobytes()))
{LOADED}
"""


def test_minilm_on_a_gpu_runs_where_only_numpy_is(
    leanest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled where no GPU is either; the sums, and so the bits, are those of the environment that compiled it."""
    monkeypatch.setenv("PELTON_TARGET", "sm_90")
    weights, gpu = random_weights(SMALL), Accelerator.emulated()
    graph = minilm.sentence_encoder(replace(SMALL, device=DeviceRef.GPU(0)))
    compiled = InferenceSession().compile(graph)
    compiled.save(tmp_path / "minilm.pelton")
    ids = np.random.default_rng(0).integers(1, SMALL.vocabulary, (2, 9))
    mask = (np.arange(9) < np.array([[9], [4]])).astype(np.int64)
    inputs = [Buffer.from_numpy(array).to(gpu) for array in (ids, mask)]
    want = InferenceSession([gpu]).init(compiled, weights_registry=weights).execute(*inputs)[0].to_numpy()
    np.savez(tmp_path / "given.npz", allow_pickle=False, ids=ids, mask=mask, **weights)
    printed = run_there(leanest, RUN_ON_GPU, tmp_path / "minilm.pelton", tmp_path / "given.npz")
    first, replayed, loaded = printed.splitlines()
    assert loaded.split() == ["numpy", "pelton"]
    assert first == replayed == str(zlib.crc32(want.tobytes()))


def test_a_model_with_code_for_the_host_says_what_it_needs(leanest: Path, tmp_path: Path) -> None:
    graph = Graph("twice", lambda x: x + x, [TensorType(DType.float32, ["n"], DeviceRef.CPU())])
    InferenceSession().compile(graph).save(tmp_path / "twice.pelton")
    code = """
import sys
from pelton.engine import InferenceSession
try:
    InferenceSession().load(sys.argv[1])
except RuntimeError as error:
    print(error.message, error.details.remedy, sep="\\n")
"""
    message, remedy = run_there(leanest, code, tmp_path / "twice.pelton").splitlines()
    assert message == "code for the host is mapped by llvmlite, which is not installed"
    assert remedy.startswith("pip install llvmlite")


ERRORS = """
import sys
from pathlib import Path
from pelton.engine import InferenceSession
session = InferenceSession()
Path("model.mlir").write_text("module {}")
for model in ("model.mlir", 3, None):
    for call in (session.load, session.compile):
        try:
            call(model)
        except RuntimeError as error:
            print(str(error).splitlines()[0])
"""


def test_what_must_be_compiled_says_what_is_missing(
    lean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = run_there(lean, ERRORS).splitlines()
    assert len(lines) == 6 and set(lines) == {"only a .pelton file can be loaded here: xdsl is not installed"}


def test_only_low_precision_arrays_need_ml_dtypes(lean: Path, tmp_path: Path) -> None:
    """A model of bfloat16 runs; its results as arrays are ml_dtypes'."""
    graph = Graph("low", lambda x: x + x, [TensorType(DType.bfloat16, ["n"], DeviceRef.CPU())])
    InferenceSession().compile(graph).save(tmp_path / "low.pelton")
    code = """
import sys, numpy as np
from pelton.engine import InferenceSession
from pelton.driver import Buffer
from pelton.dtype import DType
model = InferenceSession().load(sys.argv[1])
x = Buffer.from_numpy(np.array([0x3FC0, 0x4000], np.uint16)).view(DType.bfloat16)
out = model.execute(x)[0]
print(*out.view(DType.uint16).to_numpy())
try:
    out.to_numpy()
except ImportError as error:
    print(error)
"""
    numbers, message = run_there(lean, code, tmp_path / "low.pelton").splitlines()
    doubled: Any = np.array([3.0, 4.0], ml_dtypes.bfloat16).view(np.uint16)
    assert numbers.split() == [str(word) for word in doubled] and "ml_dtypes" in message
