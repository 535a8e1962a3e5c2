"""A long search with random graphs: seeds enter, recipes that go wrong leave, shrunk.

    python -m pelton.tests.support.hunt 1000 2000

compiles the graphs of seeds 1000 to 1999, about one a second, and prints each that fails, made as small as it gets.
What is found becomes a named recipe in `tests/models/test_random_graphs.py`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pelton.tests.support import compiled
from pelton.tests.support.random_graphs import SOURCES, Recipe, Sizes, Step, build, pruned
from pelton.tests.support.random_steps import generate, sizes_of
from pelton.tests.support.recipes import faults


def reasons(recipe: Recipe, sizes: Sequence[Sizes], special: bool) -> list[str]:
    """What is wrong, a crash included."""
    try:
        return faults(recipe, sizes, special)
    except Exception as error:  # whatever it is, it is what was looked for
        return [f"crash: {type(error).__name__}: {error}"]


def sort_of(wrong: Sequence[str]) -> str:
    """What kind of fault it is, so that shrinking does not end at another one."""
    return re.sub(r"[^a-z]", "", wrong[0].split("}: ", 1)[-1][:20]) if wrong else ""


def smaller(recipe: Recipe) -> Iterator[Recipe]:
    """Recipes with an output less, an operand for its user, an input for what made a value."""
    for k in range(len(recipe.outputs) if len(recipe.outputs) > 1 else 0):
        yield pruned(replace(recipe, outputs=recipe.outputs[:k] + recipe.outputs[k + 1 :]))
    for k in recipe.outputs:
        for operand in recipe.steps[k].operands:
            yield pruned(replace(recipe, outputs=(operand,)))
    graph = build(replace(recipe, outputs=tuple(range(len(recipe.steps)))))
    for k, (step, t) in enumerate(zip(recipe.steps, graph.output_types, strict=True)):
        shape = t.shape.raw
        if step.kind not in SOURCES and all(isinstance(d, int | str) for d in shape):
            given = Step("input", (), (t.dtype.name, shape))
            yield pruned(replace(recipe, steps=(*recipe.steps[:k], given, *recipe.steps[k + 1 :])))


def shrunk(recipe: Recipe, sizes: Sequence[Sizes], special: bool) -> Recipe:
    """As small as it gets with the same sort of fault."""
    sort = sort_of(reasons(recipe, sizes, special))
    while True:
        for candidate in smaller(recipe):
            if sort_of(reasons(candidate, sizes, special)) == sort:
                recipe = candidate
                break
        else:
            return recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("last", type=int, help="the seed to stop before")
    chosen = parser.parse_args()
    for seed in range(chosen.first, chosen.last):
        sizes, special = sizes_of(seed, 4), seed % 5 == 0
        if reasons(generate(seed), sizes, special):
            small = shrunk(generate(seed), sizes, special)
            print(f"seed {seed}", small, *reasons(small, sizes, special), "", sep="\n", flush=True)
        if len(compiled.STORE.codes) > 20_000:
            compiled.STORE.codes.clear()
    print(f"{chosen.last - chosen.first} graphs")


if __name__ == "__main__":
    main()
