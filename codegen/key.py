"""What object code depends on, as a digest: the key of the object cache.

A kernel's text hides the intrinsics behind its words, so the key holds, beside text and target, the files that define them and the
versions of what compiles them. Nothing here imports Numba: a process that finds all its code in the cache never does.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.source import Source

ROOT = Path(__file__).parents[1]
COMPILERS = ("numba", "llvmlite", "numpy")


@cache
def toolchain() -> bytes:
    """Digest of the files under `codegen/` and `kernels/` and of the compilers' versions."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in ("codegen", "kernels"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    for package in COMPILERS:
        digest.update(f"{package}=={version(package)}".encode())
    return digest.digest()


def object_key(source: Source, target: CpuTarget) -> str:
    """The name under which the object code of `source` for `target` is kept."""
    digest = hashlib.blake2b(toolchain(), digest_size=24)
    for part in (repr(source), target.name):  # what the name stands for is in the toolchain's files
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def walker_key(target: CpuTarget) -> str:
    """The name under which the plan walker's object code for `target` is kept."""
    return hashlib.blake2b(toolchain() + b"walker" + target.name.encode(), digest_size=24).hexdigest()
