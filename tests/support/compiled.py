"""Modules compiled in the ways that have to agree, and what they compute: for tests of passes and of whole models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from pelton.artifact import Artifact
from pelton.codegen.cpu.target import CpuTarget, host_target
from pelton.compiler import Compilation
from pelton.dialects.nn import WeightOp
from pelton.dialects.op import NnOp
from pelton.runtime.cache import ObjectCache
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
from pelton.support import knobs
from pelton.support.options import DEFAULTS, Options

Arrays = Mapping[str, Any]


class KeptCode:
    """An object store in memory, over that of the whole suite where there is one: no kernel is compiled twice."""

    def __init__(self, folder: Path | None) -> None:
        self.codes: dict[str, bytes] = {}
        self.shared = None if folder is None else ObjectCache(folder)

    def get(self, key: str) -> bytes | None:
        if key not in self.codes and self.shared is not None and (found := self.shared.get(key)) is not None:
            self.codes[key] = found
        return self.codes.get(key)

    def put(self, key: str, content: bytes) -> None:
        self.codes[key] = content
        if self.shared is not None:
            self.shared.put(key, content)


STORE = KeptCode(knobs.CACHE_DIR.value())


def artifact_of(
    module: ModuleOp,
    constants: Arrays | None = None,
    *,
    target: CpuTarget | None = None,
    separate: bool = False,
    options: Options = DEFAULTS,
) -> Artifact:
    """The artifact of a module, for this machine if no target is named."""
    return (
        Compilation(
            module, target or host_target(), STORE, constants or {}, "test", options._replace(separate=separate)
        )
        .run()
        .artifact
    )


def compiled(
    module: ModuleOp,
    constants: Arrays | None = None,
    weights: Arrays | None = None,
    *,
    separate: bool = False,
    options: Options = DEFAULTS,
) -> Model:
    """A loaded model of a module."""
    artifact = artifact_of(module, constants, separate=separate, options=options)
    return Model(NativeExecutable(artifact, bind_weights(artifact.weights, weights)))


def results(model: Model, arrays: Sequence[Any]) -> list[Any]:
    """The outputs as arrays."""
    return [b.to_numpy() for b in model.execute(*arrays)]


def exposed(module: ModuleOp) -> ModuleOp:
    """A copy whose function returns what each of its ops computes, in their order."""
    copy = module.clone()
    (main,) = (op for op in copy.body.block.ops if isinstance(op, FuncOp))
    returned = main.get_return_op()
    assert returned is not None
    values = [r for op in tensor_ops(copy) for r in op.results]
    main.body.block.insert_op_before(ReturnOp(*values), returned)
    returned.detach()
    returned.erase()
    main.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in main.body.block.args], [v.type for v in values]
    )
    return copy


def tensor_ops(module: ModuleOp) -> list[NnOp]:
    """The ops of the module's function whose value is computed, in order."""
    return [op for op in module.walk() if isinstance(op, NnOp) and not isinstance(op, WeightOp)]


def bits(array: Any) -> bytes:
    """The bits of an array, of shape and dtype too; every NaN is the same."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind in "fV" or array.dtype.name == "bfloat16":
        array = np.where(np.isnan(array), np.full((), np.nan, array.dtype), array)
    return repr((array.shape, array.dtype.name)).encode() + array.tobytes()


def difference(got: Sequence[Any], want: Sequence[Any]) -> str:
    """Where two lists of results differ in bits; empty where they do not."""
    if len(got) != len(want):
        return f"{len(got)} results for {len(want)}"
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if bits(g) != bits(w):
            same = g.shape == w.shape and g.dtype == w.dtype
            differ = np.argwhere(~((g == w) | ((g != g) & (w != w)))) if same else []
            at = tuple(int(i) for i in differ[0]) if len(differ) else None
            words = (
                f"{len(differ)} of {g.size} differ; at {at} {g[at]!r}, not {w[at]!r}"
                if at is not None
                else "signs of zero"
            )
            return f"result {k}: {words if same else f'{g.dtype}{g.shape} for {w.dtype}{w.shape}'}"
    return ""
