"""Checking a recipe: a graph compiled in all ways that have to agree, against `evaluate` and against each other.

Every value of the graph becomes a result of one model. Each op is then judged by itself: what it gave, against its
`evaluate` on the operands that the model itself computed, within the op's own tolerance. So no error piles up, and no
tolerance has to be guessed. The graph as it is, with every op in a kernel of its own, with known sizes, must give the
same bits as that model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from pelton.dialects.check import check_module
from pelton.dialects.interpreter import InterpreterError
from pelton.dialects.interpreter import run as interpret
from pelton.dialects.nn import WeightOp
from pelton.dialects.nn.reference import disagreement
from pelton.runtime.model import Model
from pelton.support.errors import PeltonError
from pelton.tests.support.compiled import compiled, difference, exposed, results, tensor_ops
from pelton.tests.support.random_graphs import Recipe, Sizes, arrays, build, weights

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Checked:
    """One recipe and the models made of it."""

    recipe: Recipe
    special: bool = False

    @cached_property
    def module(self) -> ModuleOp:
        module = build(self.recipe).module
        check_module(module)
        return module

    @cached_property
    def constants(self) -> Arrays:
        return build(self.recipe).constants

    @cached_property
    def weights(self) -> Arrays:
        return weights(self.recipe)

    @cached_property
    def whole(self) -> ModuleOp:
        return exposed(self.module)

    @cached_property
    def models(self) -> Mapping[str, Model]:
        """By what is special about them; the first one returns every value."""
        return {
            "every value returned": compiled(self.whole, self.constants, self.weights),
            "fused": compiled(self.module, self.constants, self.weights),
            "unfused": compiled(self.module, self.constants, self.weights, separate=True),
        }

    def faults(self, sizes: Sizes, static: bool) -> list[str]:
        """What is wrong for these sizes, in words."""
        inputs = arrays(self.recipe, sizes, self.special)
        try:
            interpret(self.whole, inputs, {**self.weights, **self.constants})
        except InterpreterError as refusal:
            return self.refused(inputs, str(refusal))
        every, *others = self.models.items()
        values = self.values(inputs, results(every[1], inputs))
        wrong = self.wrong_ops(values, sizes)
        expected = [values[v] for v in self.function.get_return_op().arguments]  # pyright: ignore[reportOptionalMemberAccess]
        if static:
            graph = build(self.recipe, sizes)
            others.append(("static", compiled(graph.module, graph.constants, self.weights)))
        for name, model in others:
            if apart := difference(results(model, inputs), expected):
                wrong.append(f"{name}: {apart}")
        return [f"{dict(sizes)}: {w}" for w in wrong]

    def refused(self, inputs: Sequence[Any], reason: str) -> list[str]:
        """Sizes that the interpreter refuses, compiled code refuses too."""
        try:
            self.models["every value returned"].execute(*inputs)
        except PeltonError:
            return []
        return [f"runs where the interpreter says {reason}"]

    @property
    def function(self) -> FuncOp:
        (main,) = (op for op in self.module.body.block.ops if isinstance(op, FuncOp))
        return main

    def values(self, inputs: Sequence[Any], computed: Sequence[Any]) -> dict[SSAValue, Any]:
        """What each value of the graph was in a run."""
        known: dict[SSAValue, Any] = dict(zip(self.function.body.block.args, inputs, strict=True))
        given = {**self.weights, **self.constants}
        known.update((op.result, given[op.key.data]) for op in self.module.walk() if isinstance(op, WeightOp))
        known.update(zip((r for op in tensor_ops(self.module) for r in op.results), computed, strict=True))
        return known

    def wrong_ops(self, values: Mapping[SSAValue, Any], sizes: Sizes) -> list[str]:
        """Ops whose results are not what they mean."""
        wrong: list[str] = []
        for op in tensor_ops(self.module):
            operands = [values[v] for v in op.operands]
            expected = op.evaluate(sizes, *operands)
            tolerances = op.tolerance(expected, sizes, *operands)
            for result, want, tolerance in zip(op.results, expected, tolerances, strict=True):
                if reason := disagreement(values[result], want, tolerance):
                    wrong.append(f"{op}: {reason}")
        return wrong


def faults(recipe: Recipe, all_sizes: Sequence[Sizes], special: bool = False) -> list[str]:
    """What is wrong with a recipe; for one of the sizes it is compiled with them known, too."""
    checked, known = Checked(recipe, special), len(recipe.steps) % len(all_sizes)
    return [fault for k, sizes in enumerate(all_sizes) for fault in checked.faults(sizes, k == known)]
