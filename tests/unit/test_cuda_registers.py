"""What every kernel takes of a GPU: registers, shared memory, and no memory for registers that do not suffice.

`tests/golden/cuda_registers.json` has the figures of ptxas 13.0 per architecture: registers of a thread and bytes of
shared memory of a block. `pytest tests/unit/test_cuda_registers.py --update` writes it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cuda.compile import Usage, compile_for_each, find_ptxas, ptxas, usage_of
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.source import Source
from pelton.dialects.kernel import FuncOp
from pelton.examples import minilm
from pelton.graph import Graph, ops
from pelton.tests.support import cuda
from pelton.tests.support.cuda_plans import lowered
from pelton.tests.support.graphs import graph_of

TABLE = Path(__file__).parents[1] / "golden" / "cuda_registers.json"
ARCHITECTURES = {"sm_80": (8, 0), "sm_90": (9, 0), "sm_100": (10, 0)}
Figures = dict[str, dict[str, list[int]]]


def products(dtype: Any, *rows: int) -> Graph:
    """A product of each number of rows, with an epilogue."""
    arrays = [np.zeros((m, 4096), dtype) for m in rows]
    return graph_of(lambda w, *xs: [ops.gelu(x @ w) for x in xs], np.zeros((4096, 512), dtype), *arrays)


def ranks() -> Graph:
    return graph_of(lambda x: [*ops.top_k(x, 40), ops.argsort(x)], np.zeros((4, 50000), np.float32), symbolic=True)


GRAPHS = {
    "minilm": lambda: minilm.sentence_encoder(minilm.Config()),
    "products": lambda: products(np.float32, 1, 64, 8192),
    "wide_products": lambda: products(np.float64, 1, 8192),
    "ranks": ranks,
}


@cache
def sources() -> dict[str, Source]:
    """Every kernel there is, by a name that says where it comes from."""
    texts = {f"kernels.{name}": cuda.source(name) for name in cuda.functions(cuda.KERNELS.read_text())}
    return texts | {f"{graph}.{source.name}": source for graph in GRAPHS for source in kernels_of(graph)}


def kernels_of(graph: str) -> Iterator[Source]:
    for op in lowered(GRAPHS[graph]().module).body.block.ops:
        if isinstance(op, FuncOp):
            yield cuda_source(op)


@cache
def texts() -> dict[str, dict[str, str]]:
    """The PTX of every kernel for every architecture."""
    each = list(ARCHITECTURES.values())
    return {name: dict(zip(ARCHITECTURES, compile_for_each(each, s), strict=True)) for name, s in sources().items()}


def measured(architecture: str) -> dict[str, Usage]:
    return {name: usage_of(ptx[architecture]) for name, ptx in texts().items()}


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_registers_suffice_and_are_as_many_as_noted(architecture: str, pytestconfig: pytest.Config) -> None:
    found = measured(architecture)
    assert {name: usage.spilled for name, usage in found.items() if usage.spilled} == {}
    figures = {name: [usage.registers, usage.shared] for name, usage in found.items()}
    table: Figures = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if pytestconfig.getoption("--update"):
        rows = (f'  "{a}": {{\n{_rows(t)}\n  }}' for a, t in sorted({**table, architecture: figures}.items()))
        TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    elif "release 13.0" in subprocess.run([ptxas(), "--version"], capture_output=True, text=True, check=True).stdout:
        assert figures == table[architecture], f"run pytest {Path(__file__).name} --update, and look at what changed"


def _rows(figures: dict[str, list[int]]) -> str:
    return ",\n".join(f'    "{name}": {figures[name]}' for name in sorted(figures))


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
def test_a_kernel_that_needs_more_registers_than_there_are_is_noticed() -> None:
    ptx = texts()["products.matmul_gelu_3"]["sm_90"].replace(".maxntid", ".minnctapersm 8\n.maxntid")
    assert usage_of(ptx).spilled > 0
