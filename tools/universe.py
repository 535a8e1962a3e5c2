"""What there is to run: dialects, passes, pipelines and targets by name, each imported only when it is used.

A pass is found by its file: `passes/fuse_groups.py` holds the class `FuseGroups`, named `fuse-groups`.
`opt.py` reads these tables; upstream's `xdsl-opt` reads `UNIVERSE` through the `xdsl.universe` entry point.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.target import Target

from pelton.codegen.targets import TARGETS, load_target
from pelton.dialects import all_dialects
from pelton.dialects.context import UPSTREAM

UPSTREAM_DIALECTS = (*UPSTREAM, "cf", "test")
"""What pelton's IR takes from xDSL, and what tests of the driver are written in."""
UPSTREAM_PASSES = ("canonicalize", "cse", "dce", "licm")
PIPELINES = ("graph", "cpu-avx512", "cpu-avx2", "cpu-baseline", "cuda")
"""Names of `compiler.PIPELINES`, here because `--help` must not import the compiler; a test compares them."""
PASSES = Path(__file__).parents[1] / "passes"


def pass_names() -> dict[str, str]:
    """Name of each of our passes → its module, from the file names alone."""
    modules = [
        info.name for info in pkgutil.iter_modules([str(PASSES)]) if not (info.ispkg or info.name.startswith("_"))
    ]
    return {name.replace("_", "-"): f"pelton.passes.{name}" for name in modules}


def class_name(pass_name: str) -> str:
    """`fuse-groups` → `FuseGroups`."""
    return "".join(word.capitalize() for word in pass_name.split("-"))


def _pass_loader(name: str, module: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        found: type[ModulePass] = getattr(importlib.import_module(module), class_name(name))
        return found

    return load


def our_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Our passes by name; calling an entry imports it."""
    return {name: _pass_loader(name, module) for name, module in sorted(pass_names().items())}


@dataclass(frozen=True)
class PrintedTarget(Target):
    """One of `codegen.targets` in the form xDSL asks for; `options` go to its function as keywords."""

    name: ClassVar[str] = ""
    options: tuple[tuple[str, str | int | float | bool], ...] = ()

    @classmethod
    def from_spec(cls, spec: ArgSpec) -> PrintedTarget:
        """Check the options against the function's keyword parameters. Raises ValueError for one it does not have."""
        known = [p for p in inspect.signature(load_target(cls.name)).parameters.values() if p.kind is p.KEYWORD_ONLY]
        options = {name.replace("-", "_"): _single(name, values) for name, values in spec.parameters.items()}
        if unknown := sorted(set(options) - {p.name for p in known}):
            names = ", ".join(p.name.replace("_", "-") for p in known) or "none"
            raise ValueError(f"target {cls.name} has no option {', '.join(unknown)} (it has: {names})")
        return cls(tuple(sorted(options.items())))

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        load_target(self.name)(module, output, **dict(self.options))


def _single(name: str, values: tuple[str | int | float | bool, ...]) -> str | int | float | bool:
    if len(values) != 1:
        raise ValueError(f"option {name} takes one value, got {len(values)}")
    return values[0]


def _target_loader(name: str) -> Callable[[], type[Target]]:
    return lambda: type(f"{class_name(name)}Target", (PrintedTarget,), {"name": name})


def our_targets() -> dict[str, Callable[[], type[Target]]]:
    """Our targets by name."""
    return {name: _target_loader(name) for name in TARGETS}


def opt_dialects() -> dict[str, Callable[[], Dialect]]:
    """What `pelton-opt` reads."""
    upstream = get_all_dialects()
    return {name: upstream[name] for name in UPSTREAM_DIALECTS} | all_dialects()


def opt_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """What `pelton-opt` runs."""
    upstream = get_all_passes()
    return {name: upstream[name] for name in UPSTREAM_PASSES} | our_passes()


def pipelines() -> dict[str, str]:
    """Named pipelines: name → passes as `-p` takes them. Imports every pass; `PIPELINES` has the names alone."""
    table: dict[str, str] = importlib.import_module("pelton.compiler").PIPELINES
    return dict(table)


UNIVERSE = Universe(all_dialects=all_dialects(), all_passes=our_passes(), all_targets=our_targets())
