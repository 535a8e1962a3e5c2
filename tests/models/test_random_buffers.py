"""Random graphs that load and store, compiled fused and separately, against the interpreter: bit for bit, twice.

What a graph returns must agree, and what it leaves in the buffers that it was given. It runs twice on the same buffers,
so that state goes from call to call. `tests/support/random_buffers.py` says why nothing is approximate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pelton.dialects import effects
from pelton.dialects.check import check_module
from pelton.dialects.effects import Effects
from pelton.dialects.interpreter import run
from pelton.graph import Graph
from pelton.tests.support.compiled import compiled, difference, results
from pelton.tests.support.random_buffers import BUFFERS, arrays, generate

SEEDS = range(16)
SIZES: tuple[Mapping[str, int], ...] = ({"n": 5, "m": 6}, {"n": 33, "m": 3}, {"n": 1, "m": 1}, {"n": 0, "m": 4})


def faults(graph: Graph, seed: int) -> list[str]:
    """Where compiled code and the interpreter differ."""
    check_module(graph.module)
    models = {
        "fused": compiled(graph.module, graph.constants),
        "separate": compiled(graph.module, graph.constants, separate=True),
    }
    found: list[str] = []
    for sizes in SIZES:
        states = {name: arrays(graph, sizes, seed) for name in ("meant", *models)}
        for turn in range(2):
            wanted: list[Any] = run(graph.module, states["meant"], graph.constants)
            for name, model in models.items():
                apart = difference(results(model, states[name]), wanted) or difference(
                    states[name][:BUFFERS], states["meant"][:BUFFERS]
                )
                found += [f"{name}, {dict(sizes)}, turn {turn}: {apart}"] if apart else []
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_loads_and_stores_in_order(seed: int) -> None:
    graph = generate(seed)
    wrong = faults(graph, seed)
    assert not wrong, "\n".join([*wrong, str(graph)])


def found_with(patch: pytest.MonkeyPatch, rule: Any) -> bool:
    """Whether some seed notices another rule in the place of `may_swap`."""
    from pelton.passes.lowering import memory

    for module in (effects, memory):
        patch.setattr(module, "may_swap", rule)
    return any(faults(generate(seed), seed) for seed in SEEDS)


def test_a_wrong_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is no formality: loads that may pass stores are found, and so are stores that may pass loads."""
    right = effects.may_swap

    def blind_to_reads(one: Effects, other: Effects) -> bool:
        return right(one._replace(reads=()), other._replace(reads=()))

    def blind_to_writes(one: Effects, other: Effects) -> bool:
        return right(one, other._replace(writes=()))

    assert found_with(monkeypatch, blind_to_reads)
    assert found_with(monkeypatch, blind_to_writes)
