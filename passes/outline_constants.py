"""`outline-constants`: a constant of many different elements becomes memory.

Before: `nn.constant [0.1, 0.2, …]`. After: `nn.weight {key = "constant:<digest>"}`; the elements stand in the module's
attribute `nn.constants` under that key, from where they go into the artifact. What stays is computed in registers: a
few elements, or many of which few differ from the one before. Equal constants of one device have one key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from pelton.artifact import Constant, TensorInfo
from pelton.dialects.dense import DenseAttr
from pelton.dialects.nn import ConstantOp, WeightOp
from pelton.dialects.types import HOST
from pelton.dtype import DType

ATTRIBUTE = "nn.constants"


@dataclass(frozen=True)
class OutlineConstants(ModulePass):
    """Takes out constants whose elements change more than `changes` times from one to the next."""

    name = "outline-constants"
    changes: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = op.attributes.get(ATTRIBUTE)
        table: dict[str, Attribute] = dict(known.data) if isinstance(known, DictionaryAttr) else {}
        for constant in [o for o in op.walk() if isinstance(o, ConstantOp) and self.is_large(o)]:
            value = constant.value
            digest = hashlib.blake2b(f"{value.dims.data} {value.dtype} ".encode() + value.data.data, digest_size=8)
            device = constant.result_type.device.data
            key = f"constant:{digest.hexdigest()}" + (f"@{device}" if device != HOST else "")
            table[key] = value
            weight = WeightOp.declare(constant.result_type, constant.location, key=StringAttr(key))
            weight.results[0].name_hint = constant.results[0].name_hint
            assert constant.parent is not None
            constant.parent.insert_op_before(weight, constant)
            constant.results[0].replace_all_uses_with(weight.results[0])
            constant.detach()
            constant.erase()
        if table:
            op.attributes[ATTRIBUTE] = DictionaryAttr(table)

    def is_large(self, op: ConstantOp) -> bool:
        """Whether the constant is cheaper to load than to select."""
        values = op.value.values()
        return sum(repr(x) != repr(y) for x, y in pairwise(values)) > self.changes


def outlined(module: ModuleOp) -> Iterator[Constant]:
    """The constants that were taken out of a module, for its artifact."""
    table = module.attributes.get(ATTRIBUTE)
    for key, value in table.data.items() if isinstance(table, DictionaryAttr) else ():
        assert isinstance(value, DenseAttr)
        shape = tuple(d for d in value.dims.data if isinstance(d, int))
        device = key.partition("@")[2] or HOST
        yield Constant(TensorInfo(key, DType(str(value.dtype)), shape, device), value.data.data)
