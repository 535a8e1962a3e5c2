"""Random graphs through the whole compiler, and the small graphs on which it once failed.

Each seed is a graph of 3 to 25 ops, run with four tuples of sizes through one model; how it is judged stands in
`tests/support/recipes.py`. A longer run, which shrinks what fails and prints it as a recipe:

    python -m pelton.tests.support.hunt 1000 2000
"""

from __future__ import annotations

import time

import pytest

from pelton.tests.support.random_graphs import Recipe, Sizes, Step
from pelton.tests.support.random_steps import generate, sizes_of
from pelton.tests.support.recipes import faults

SEEDS = range(34)
"""test_guarded_memory.py, test_same_bits.py and test_threads.py run some of them again, whose kernels they find."""
SIZES: tuple[Sizes, ...] = ({"n": 3, "m": 5, "k": 4}, {"n": 33, "m": 40, "k": 7}, {"n": 0, "m": 1, "k": 0})


@pytest.mark.parametrize("seed", SEEDS)
def test_random_graph(seed: int) -> None:
    wrong = faults(generate(seed), sizes_of(seed, 4), special=seed % 5 == 0)
    assert not wrong, "\n".join([str(generate(seed)), *wrong])


def given(*shape: int | str, dtype: str = "float32", kind: str = "input") -> Step:
    return Step(kind, (), (dtype, shape))


def step(kind: str, *operands: int, parameters: tuple[object, ...] = ()) -> Step:
    return Step(kind, operands, parameters)


FLIP = (slice(None), slice(None, None, -1))
LINEAR = (given("n", "k"), given("k", "m"), step("matmul", 0, 1), step("number", 2, parameters=("add", 1.5)))
FOUND = {
    "a product read backwards is no epilogue": Recipe((*LINEAR, step("index", 3, parameters=(FLIP,))), (4,)),
    "nor where something follows": Recipe(
        (*LINEAR, step("index", 3, parameters=(FLIP[::-1],)), step("binary", 4, 4, parameters=("add",))), (5,)
    ),
    "nor with its matrices exchanged": Recipe(
        (
            given("n", "n", "m", "k"),
            given("k", "m"),
            step("matmul", 0, 1),
            step("unary", 2, parameters=("tanh",)),
            step("permute", 3, parameters=((1, 0, 2, 3),)),
        ),
        (4,),
    ),
    "constants fold": Recipe((given(3, dtype="float64", kind="constant"), step("unary", 0, parameters=("abs",))), (1,)),
    "sizes become a tensor": Recipe((given(3, "n"), step("shape", 0)), (1,)),
    "a negative zero stays negative": Recipe(
        (given("n", "m"), step("number", 0, parameters=("mul", -0.0)), step("number", 0, parameters=("mul", 0.0))),
        (1, 2),
    ),
    "nobody finds the largest of nothing": Recipe((given("n", "k"), step("reduce", 0, parameters=("argmax", 1))), (1,)),
    "nothing is gathered from nothing": Recipe(
        (given(3, dtype="int64"), given("n", "n"), step("gather", 1, 0, parameters=(1,))), (2,)
    ),
    "one value is returned twice, and an input": Recipe(
        (given("n", "m"), step("unary", 0, parameters=("exp",))), (1, 1, 0)
    ),
    "outputs are views of inputs and of each other": Recipe(
        (
            given("n", 4),
            step("unary", 0, parameters=("exp",)),
            step("reshape", 1, parameters=("flat", 0)),
            step("reshape", 0, parameters=("flat", 0)),
            step("reshape", 1, parameters=("unsqueeze", 0)),
        ),
        (2, 1, 3, 4),
    ),
    "numbers of rank 0": Recipe(
        (
            given(),
            given("n"),
            step("unary", 0, parameters=("exp",)),
            step("binary", 2, 0, parameters=("mul",)),
            step("binary", 3, 1, parameters=("add",)),
            step("reduce", 4, parameters=("sum", 0)),
            step("binary", 5, 2, parameters=("mul",)),
        ),
        (3, 4, 6, 2),
    ),
}


@pytest.mark.parametrize("recipe", FOUND.values(), ids=FOUND.keys())
def test_what_once_failed(recipe: Recipe) -> None:
    assert not faults(recipe, SIZES)


def test_a_long_chain_of_values_per_row_is_looked_at_once() -> None:
    """Every link uses the one before it twice: 2 ** 40 paths."""
    links = [step("binary", k, k, parameters=("max",)) for k in range(2, 42)]
    half = step("number", 0, parameters=("mul", 0.5))
    recipe = Recipe((given("n", 1), given("n", "m"), half, *links, step("binary", 42, 1, parameters=("add",))), (43,))
    begin = time.process_time()
    assert not faults(recipe, SIZES[:1])
    assert time.process_time() - begin < 30


def test_wrong_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is no formality: a lowering that reads a product at the wrong place fails."""
    from pelton.passes import fuse_groups

    monkeypatch.setattr(fuse_groups, "_in_place", lambda users, cluster: True)
    assert faults(next(iter(FOUND.values())), SIZES)
