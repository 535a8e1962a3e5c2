"""The tests of CUDA kernels by the family of kernels that they test: what planted faults have to be caught by.

Enters: test functions with the parameters that pytest gives them. Leaves: `FAMILIES`, name → cases, each a test with
one set of arguments; to call it is to run the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest

from pelton.kernels import top_k
from pelton.tests.unit import test_cuda_by_four as by_four
from pelton.tests.unit import test_cuda_graphs as graphs
from pelton.tests.unit import test_cuda_kernels as kernels
from pelton.tests.unit import test_cuda_matmul as matmul
from pelton.tests.unit import test_cuda_top_k as ranking
from pelton.tests.unit import test_kernel_reports as reports

Test = Callable[..., None]
SHORT = 64
"""Elements in shared memory: what the fixture `short_chunks` of test_cuda_top_k.py sets."""


class Case(NamedTuple):
    """One test with its arguments."""

    test: Test
    arguments: Mapping[str, Any]

    def __call__(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            given = dict(self.arguments)
            if "monkeypatch" in given:
                given["monkeypatch"] = patch
            if "short_chunks" in given:
                patch.setattr(top_k, "CHUNK", given["short_chunks"])
            self.test(**given)

    def __str__(self) -> str:
        return f"{self.test.__name__}[{', '.join(map(str, self.arguments.values()))}]"


def cases(test: Test) -> Iterator[Case]:
    """A test with all arguments that its marks name."""
    rows: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
            values = [v if len(names) > 1 else (v,) for v in mark.args[1]]
            rows.append([dict(zip(names, v, strict=True)) for v in values])
    code = test.__code__
    fixtures = {"monkeypatch": None, "short_chunks": SHORT}
    needed = {n: v for n, v in fixtures.items() if n in code.co_varnames[: code.co_argcount]}
    for chosen in product(*rows):
        yield Case(test, {**needed, **{name: value for row in chosen for name, value in row.items()}})


def _only(test: Test, *rows: Mapping[str, Any]) -> Sequence[Case]:
    """Some of the cases of a test that has many and slow ones."""
    found = [c for c in cases(test) if any(all(c.arguments[k] == v for k, v in row.items()) for row in rows)]
    assert found, f"{test.__name__} has no such cases: {rows}"
    return found


def _all(*tests: Test) -> Sequence[Case]:
    return [case for test in tests for case in cases(test)]


def _graphs(*names: str) -> Sequence[Case]:
    """A size of 0 or 1 is known, so the kernels are others, of one element: little can go wrong in them."""
    found = _only(graphs.test_float_graphs, *({"name": name} for name in names))
    return [case for case in found if case.arguments["m"] > 1]


FAMILIES: dict[str, Callable[[], Sequence[Case]]] = {
    "elementwise": lambda: [
        *_all(kernels.test_elementwise, kernels.test_conversions_and_guarded_division, kernels.test_strided_views),
        *_graphs("add_relu", "where"),
    ],
    "by four": lambda: [
        *_all(by_four.test_every_place_and_every_number),
        *_only(graphs.test_long_rows_are_cut_and_short_ones_joined, {"symbolic": True}),
    ],
    "rows": lambda: [
        *_all(kernels.test_softmax, kernels.test_halves_in_memory),
        *_only(graphs.test_norms, {"n": 1100}, {"n": 1103}),
    ],
    "reductions": lambda: [
        *_all(kernels.test_reductions_of_floats, kernels.test_reductions_keep_nan_and_order_zeros),
        *_all(kernels.test_reductions_of_integers, kernels.test_reductions_within_a_warp),
        *_all(kernels.test_reductions_of_bools, kernels.test_argmax),
        *_all(kernels.test_argmax_finds_an_extreme_in_every_round_of_every_thread),
        *_all(kernels.test_reductions_see_every_round_of_every_thread),
    ],
    "columns": lambda: [
        *_all(kernels.test_sequential_reduction, graphs.test_long_columns),
        *_graphs("columns", "softmax0"),
    ],
    "transposes": lambda: [
        *_all(kernels.test_transpose, graphs.test_transposes_of_whole_tiles),
        *_graphs("transpose"),
    ],
    "indexing": lambda: _all(
        kernels.test_gather,
        kernels.test_a_bad_index_is_reported_and_clamped,
        kernels.test_the_lowest_of_many_bad_indices_is_reported,
        graphs.test_movement_and_indexing,
    ),
    "stores": lambda: [*_only(graphs.test_graphs_that_store, {"seed": 0}, {"seed": 1}), *_graphs("concat")],
    "exchange": lambda: _all(kernels.test_lanes_exchange_data_in_a_loop),
    "checks": lambda: _all(reports.test_ptx_rows),
    "products": lambda: [
        *_all(kernels.test_matmul, kernels.test_a_long_product_is_the_sum_of_its_parts),
        *_all(matmul.test_every_tile_gives_the_bits_of_one_chain),
    ],
    "batches": lambda: _all(
        kernels.test_batched_matmul_of_packed_halves, matmul.test_batches_of_transposed_operands_with_an_epilogue
    ),
    "top_k select": lambda: [
        *_only(ranking.test_rows_of_every_length, {"old": False, "n": 65}, {"old": False, "n": 300}),
        *_all(ranking.test_rising_rows_fill_the_room_between_two_sorts),
        *_only(ranking.test_chunks_as_they_are, {"old": False}),
    ],
    "top_k sort": lambda: [
        *_only(ranking.test_rows_of_every_length, {"old": True, "n": 65}, {"old": True, "n": 300}),
        *_only(ranking.test_chunks_as_they_are, {"old": True}),
    ],
}
"""Which cases test a family of kernels."""
