"""Both kernels that rank, on rows that are hard for one of them, in every dtype, against the op's meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import BoolAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from pelton.codegen.kernels.top_k_cpu import AHEAD, FAR, LANES, SHORT, groups_of
from pelton.dialects.interpreter import run
from pelton.dialects.nn import TopKOp, TopKSortOp
from pelton.dialects.nn.reference import DTYPES
from pelton.dialects.types import DimsAttr, TensorType, dtype_name
from pelton.graph.types import ELEMENTS
from pelton.kernels.top_k import MOST
from pelton.tests.support.compiled import bits, compiled, results
from pelton.tests.support.nn_values import special

INTEGERS = ("i8", "i16", "i32", "i64")
Rows = Callable[[int], Any]


def ramp(n: int) -> Any:
    return np.linspace(-50, 60, n)


ROWS: dict[str, Rows] = {
    "rising": ramp,
    "falling": lambda n: ramp(n)[::-1],
    "equal": lambda n: np.full(n, 7.0),
    "two values": lambda n: np.arange(n) % 2 * 3.0,
    "random": lambda n: np.random.default_rng(n).standard_normal(n) * 30,
    "best at the end": lambda n: np.where(np.arange(n) > n - 3, 90.0, 0.0),
    "saw": lambda n: np.arange(n) % LANES * 2.0 + np.arange(n) / n,
    "up and down": lambda n: 40 * np.sin(np.arange(n) / 9),
}
FLOAT_ROWS: dict[str, Rows] = {
    "all nan": lambda n: np.full(n, np.nan),
    "much nan": lambda n: np.where(np.random.default_rng(n).random(n) < 0.7, np.nan, ramp(n)),
    "infinities": lambda n: np.random.default_rng(n).choice([np.inf, -np.inf, np.nan, 0.0, -0.0], n),
}


def ranking(dtype: Attribute, k: int | None, largest: bool) -> ModuleOp:
    """Rows of `n` elements: the first k, or all of them in order."""
    block = Block(arg_types=[TensorType(["rows", "n"], dtype)])
    properties = {"largest": BoolAttr.from_bool(largest)}
    x = block.args[0]
    op = TopKSortOp.make(x, **properties) if k is None else TopKOp.make(x, k=DimsAttr((k,)), **properties)
    block.add_ops([op, ReturnOp(op.results[0])])
    types = FunctionType.from_lists(block.arg_types, [op.results[0].type])
    return ModuleOp([FuncOp("main", types, Region(block))])


def same(module: ModuleOp, arrays: list[Any]) -> None:
    model = compiled(module)
    for x in arrays:
        (got,), (want,) = results(model, [x]), run(module, [x])
        assert bits(got) == bits(want), (x.dtype, x.shape)


def rows_of(name: str, n: int) -> Any:
    """Each kind of row that the dtype can hold, as one tensor of it."""
    dtype = DTYPES[name]
    kinds = [*ROWS.values(), *(() if name in INTEGERS else FLOAT_ROWS.values())]
    return np.stack([np.asarray(make(n), np.float64) for make in kinds]).astype(dtype)


def attribute(name: str) -> Attribute:
    return next(a for a in ELEMENTS.values() if dtype_name(a) == name)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", ["f32", "f64", "f16", "bf16", *INTEGERS])
def test_every_dtype_on_rows_that_are_hard(name: str, largest: bool) -> None:
    arrays = [rows_of(name, n) for n in (5, 3 * AHEAD + 7, 1000)]
    for k in (1, 5):
        same(ranking(attribute(name), k, largest), arrays)
    same(ranking(attribute(name), None, largest), [*arrays, rows_of(name, SHORT), rows_of(name, SHORT + 1)])


@pytest.mark.parametrize("k", [AHEAD - 1, AHEAD, AHEAD + 1, 200, MOST])
def test_every_relation_of_k_to_what_is_kept_at_once(k: int) -> None:
    same(ranking(attribute("f32"), k, True), [rows_of("f32", n) for n in (k, k + 1, k + LANES, 3 * k + 11)])


@pytest.mark.parametrize("k", [1, 5, 33])
def test_rows_long_enough_for_more_groups(k: int) -> None:
    least, most = groups_of(k)
    assert most > least or k == 1
    same(ranking(attribute("f32"), k, True), [rows_of("f32", FAR * most - 1), rows_of("f32", FAR * most + LANES + 5)])


@pytest.mark.parametrize("name", INTEGERS)
def test_the_ends_of_a_type(name: str) -> None:
    low, high = np.iinfo(DTYPES[name]).min, np.iinfo(DTYPES[name]).max
    random = np.random.default_rng(4)
    rows = [np.full(300, low), np.full(300, high), random.choice([low, high], 300), random.choice([low, low + 1], 300)]
    late = np.where(np.arange(300) > 290, high, low)
    for k in (1, 5, 70):
        for largest in (True, False):
            same(ranking(attribute(name), k, largest), [np.stack([*rows, late]).astype(DTYPES[name])])


def test_special_values_among_others() -> None:
    for name in ("f32", "f64", "i64"):
        some = special(attribute(name))
        x = np.resize(some, (2, 150))
        for k in (3, None):
            for largest in (True, False):
                same(ranking(attribute(name), k, largest), [x])


def test_rows_of_no_elements() -> None:
    same(ranking(attribute("f32"), None, True), [np.zeros((3, 0), np.float32), np.zeros((0, 9), np.float32)])
