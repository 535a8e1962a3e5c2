"""`split-init`: what depends on weights alone is computed once, when a model is bound, not at every execute.

Before: `func.func @main` packs its weights at every call. After: `func.func @init` packs them and returns them;
`@main` takes what
`@init` returns as further arguments, named `prepared0`, `prepared1`, …. Only ops that some weight reaches move:
constants alone are cheaper where they are used. What has effects stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects.effects import NONE, effects_of
from pelton.dialects.nn import BroadcastToOp, RebindOp, ReshapeOp, WeightOp
from pelton.dialects.op import NnOp
from pelton.dialects.types import DimsAttr, ShapedValueType

VIEWS = (ReshapeOp, RebindOp, BroadcastToOp)


@dataclass(frozen=True)
class SplitInit(ModulePass):
    """Adds `@init` before `@main`, empty where nothing can be prepared."""

    name = "split-init"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, func.FuncOp) and not f.is_declaration]
        main = next((f for f in functions if f.sym_name.data != "init"), None)
        if main is not None and not any(f.sym_name.data == "init" for f in functions):
            main.properties["sym_name"] = StringAttr("main")
            _split(op, main)


def _split(module: ModuleOp, main: func.FuncOp) -> None:
    early, weighted = _early(main)
    crossing: list[SSAValue] = [
        value
        for op in early
        for value in op.results
        if value in weighted and not isinstance(op, (WeightOp, *VIEWS)) and _leaves(value, early)
    ]
    needed = _closure(crossing)
    body, names = Block(), dict[SSAValue, SSAValue]()
    for op in [o for o in early if o in needed]:
        clone = op.clone(value_mapper=names)
        clone.location = op.location
        body.add_op(clone)
    body.add_op(func.ReturnOp(*[names[v] for v in crossing]))
    init = func.FuncOp("init", FunctionType.from_lists([], [v.type for v in crossing]), Region(body))
    module.body.block.insert_op_before(init, main)
    _pass_on(main, crossing)


def _early(main: func.FuncOp) -> tuple[dict[Operation, None], set[SSAValue]]:
    """The ops that depend on no input and only compute, in order; and their values that some weight reaches."""
    early: dict[Operation, None] = {}
    weighted: set[SSAValue] = set()
    ready: set[SSAValue] = set()
    for op in main.body.block.ops:
        known = isinstance(op, NnOp) and not _symbolic(op) and effects_of(op) == NONE
        if known and all(v in ready for v in op.operands):
            early[op] = None
            ready.update(op.results)
            if isinstance(op, WeightOp) or any(v in weighted for v in op.operands):
                weighted.update(op.results)
    return early, weighted


def _symbolic(op: NnOp) -> bool:
    """Whether a size known only at run time is in it: in its result's shape, or in what it does, as a dim's value."""
    known = [
        *(r.type.dims for r in op.results if isinstance(r.type, ShapedValueType)),
        *(p for p in op.properties.values() if isinstance(p, DimsAttr)),
    ]
    return not all(isinstance(d, int) for dims in known for d in dims.data)


def _leaves(value: SSAValue, early: dict[Operation, None]) -> bool:
    """Whether what is not early uses it: as it is, or through views, which stay with whoever reads them."""
    users = [use.operation for use in value.uses]
    return any(u not in early or (isinstance(u, VIEWS) and _leaves(u.results[0], early)) for u in users)


def _closure(values: list[SSAValue]) -> set[Operation]:
    found: set[Operation] = set()
    todo = [v.owner for v in values]
    while todo:
        op = todo.pop()
        if isinstance(op, Operation) and op not in found:
            found.add(op)
            todo.extend(v.owner for v in op.operands)
    return found


def _pass_on(main: func.FuncOp, values: list[SSAValue]) -> None:
    """`values` become arguments of `main`; what only they needed is left to dce."""
    block = main.body.block
    attributes = list(main.arg_attrs.data) if main.arg_attrs else [DictionaryAttr({})] * len(block.args)
    for k, value in enumerate(values):
        arg = block.insert_arg(value.type, len(block.args))
        name = value.name_hint
        value.replace_all_uses_with(arg)
        arg.name_hint = name or f"prepared{k}"
        attributes.append(DictionaryAttr({"nn.name": StringAttr(f"prepared{k}")}))
    main.properties["arg_attrs"] = ArrayAttr(attributes)
    main.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in block.args], main.function_type.outputs.data
    )
