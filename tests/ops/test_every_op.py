"""One test for every op: compiled code of each instruction set against `evaluate`, within the op's own tolerance.

The calls of `cases.py` are put into few models, so that each target compiles one artifact per dtype and form: with
symbolic sizes, run on all of `SIZES`, and with known ones. Code of an instruction set that this machine lacks is
compiled for f32, and not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from pelton.codegen.cpu.target import TARGETS, CpuTarget, host_target
from pelton.compiler import Compilation
from pelton.dialects import dims
from pelton.dialects.check import check_module
from pelton.dialects.interpreter import run
from pelton.dialects.nn import BY_NAME
from pelton.dialects.nn.reference import disagreement
from pelton.dialects.op import NnOp
from pelton.dialects.types import TensorType, dtype_name
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.loader import host_features
from pelton.runtime.model import Model
from pelton.tests.ops.cases import SIZES, STATIC, Call, calls

GROUPS = ("f32", "f64", "f16", "bf16", "i32", "i64", "i1")


class Nowhere:
    """An object store that keeps nothing: the tests compile for themselves."""

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, content: bytes) -> None:
        return


@cache
def calls_of(dtype: str) -> tuple[Call, ...]:
    """The calls whose first operand has that dtype."""
    return tuple(c for c in calls() if dtype_name(c.dtypes[0]) == dtype)


def module_of(group: Sequence[Call], known: Mapping[str, int]) -> tuple[ModuleOp, list[NnOp]]:
    """A function that makes every call on arguments of its own and returns every result."""
    types = [t for call in group for t in call.types(known)]
    block, ops = Block(arg_types=types), list[NnOp]()
    place = 0
    for call in group:
        operands = block.args[place : place + len(call.shapes)]
        place += len(operands)
        ops.append(BY_NAME[call.op].make(*operands, **call.bound(known)))
        block.add_op(ops[-1])
    results = [op.results[0] for op in ops]
    block.add_op(ReturnOp(*results))
    signature = FunctionType.from_lists(types, [r.type for r in results])
    return ModuleOp([FuncOp("main", signature, Region(block))]), ops


def check(group: Sequence[Call], ops: Sequence[NnOp], got: Sequence[Any], want: Sequence[Any], given: Any) -> None:
    """Every result within its op's tolerance; all that are not in one message."""
    sizes, arrays = given
    wrong: list[str] = []
    for call, op, g, w, xs in zip(group, ops, got, want, arrays, strict=True):
        if reason := disagreement(g, w, op.tolerance([w], sizes, *xs)[0]):
            wrong.append(f"nn.{call.op} {[str(t) for t in op.operand_types]} {dict(call.properties)} {sizes}: {reason}")
    assert not wrong, "\n".join(wrong)


RUNS = [
    *((t, "symbolic", d) for t in TARGETS for d in GROUPS),
    *((host_target(), "static", d) for d in GROUPS),
    *((t, "symbolic", "u64") for t in (TARGETS[0], host_target())),
    *((host_target(), form, d) for form, d in (("symbolic", "u8"), ("static", "u16"), ("static", "u32"))),
]
"""Every instruction set with symbolic sizes; known sizes change no arithmetic, so one set is enough for them. Of the
unsigned dtypes the widest is the one that machines have the fewest instructions for.
"""


@pytest.mark.parametrize(("target", "form", "dtype"), RUNS, ids=lambda v: getattr(v, "name", v))
def test_compiled_code_is_what_evaluate_says(target: CpuTarget, form: str, dtype: str) -> None:
    runs_here = target.required <= host_features()
    if not runs_here and dtype != "f32":
        pytest.skip(f"this machine has no {target.name}")
    group, known = calls_of(dtype), (STATIC if form == "static" else {})
    module, ops = module_of(group, known)
    check_module(module)
    artifact = Compilation(module.clone(), target, Nowhere()).run().artifact
    if not runs_here:
        pytest.skip(f"this machine has no {target.name}; its code was compiled")
    model = Model(NativeExecutable(artifact, []))
    for seed, sizes in enumerate([STATIC] if form == "static" else SIZES):
        arrays = [call.arrays(sizes, 10 * seed + k) for k, call in enumerate(group)]
        flat = [x for xs in arrays for x in xs]
        got = [b.to_numpy() for b in model.execute(*flat)]
        check(group, ops, got, run(module, flat), (sizes, arrays))


def test_every_op_has_calls() -> None:
    tested = {call.op for call in calls()}
    unheard = set(BY_NAME) - tested - {"constant", "weight", "iota", "dim", "range", "shape_to_tensor"}
    unheard -= {"buffer_create", "load", "store", "store_slice"}  # no functions: tests/models/test_random_buffers.py
    unheard -= {"assert", "trace"}  # they compute nothing: tests/api/test_engine_levels.py
    assert not unheard, f"no call tests {', '.join(sorted(unheard))}"


def test_the_truth_notices_a_wrong_number() -> None:
    """The comparison is no formality: one element off by more than its tolerance fails."""
    call = next(c for c in calls_of("f32") if c.op == "exp")
    module, ops = module_of([call], STATIC)
    arrays = [call.arrays(STATIC, 0)]
    want = run(module, arrays[0])
    wrong = [w.copy() for w in want]
    finite = np.flatnonzero(np.isfinite(wrong[0]) & (wrong[0] > 1e-30))[0]
    wrong[0].ravel()[finite] *= np.float32(1 + 2**-18)
    with pytest.raises(AssertionError, match=r"nn\.exp"):
        check([call], ops, wrong, want, (STATIC, arrays))


def test_types_of_a_symbolic_call() -> None:
    call = next(c for c in calls_of("f32") if c.op == "sum")
    assert call.types({}) == [TensorType(["n", "m"], call.dtypes[0])]
    assert call.types(STATIC) == [TensorType([5, 33], call.dtypes[0])]
    assert dims.evaluate("n", STATIC) == 5
