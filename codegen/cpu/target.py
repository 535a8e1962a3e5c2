"""Instruction sets code can be generated for. A name, or the host, enters; a `CpuTarget` leaves, to everything in
codegen/cpu.

Each target names an LLVM processor of its own and nothing of the host, so the same source gives the same bytes
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pelton.support.errors import CompileError


@dataclass(frozen=True)
class CpuTarget:
    """One instruction set, and what the emitters ask about it."""

    name: str
    llvm_cpu: str
    llvm_features: str
    vector_bits: int
    has_fma: bool
    has_f16c: bool
    has_rounding: bool
    """floor, ceil, trunc and roundeven are single instructions (SSE4.1)."""
    masked_bits: tuple[int, ...]
    """Element widths that a masked load or store takes without branches."""
    gather_bits: tuple[int, ...]
    """Element widths worth a hardware gather or scatter."""
    required: frozenset[str]
    """Features, in LLVM's spelling, that a machine must have to run the code."""


AVX2_FEATURES = frozenset({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.1", "sse4.2"})
AVX512_FEATURES = AVX2_FEATURES | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

BASELINE = CpuTarget("baseline", "x86-64", "", 128, False, False, False, (), (), frozenset())
AVX2 = CpuTarget("avx2", "x86-64-v3", "", 256, True, True, True, (32, 64), (), AVX2_FEATURES)
AVX512 = CpuTarget("avx512", "x86-64-v4", "", 512, True, True, True, (8, 16, 32, 64), (32, 64), AVX512_FEATURES)

TARGETS = (BASELINE, AVX2, AVX512)
"""From the least to the most capable."""


def target_named(name: str) -> CpuTarget:
    """The target called `name`. Raises CompileError for any other word."""
    for target in TARGETS:
        if target.name == name:
            return target
    expected = ", ".join(target.name for target in TARGETS)
    raise CompileError("there is no such CPU target", expected=expected, got=repr(name))


def target_for(features: Iterable[str], cap: str | None = None) -> CpuTarget:
    """The most capable target that a machine with `features` can run, no better than the target named `cap`."""
    have = frozenset(features)
    limit = TARGETS.index(target_named(cap)) if cap else len(TARGETS) - 1
    return max((t for t in TARGETS[: limit + 1] if t.required <= have), key=TARGETS.index)


def host_target(cap: str | None = None) -> CpuTarget:
    """The most capable target of this machine, no better than the target named `cap`."""
    binding: Any = import_module("llvmlite.binding")
    flags: dict[str, bool] = binding.get_host_cpu_features()
    return target_for((name for name, present in flags.items() if present), cap)
