"""What object code and artifacts depend on, as digests: the keys of the cache.

A kernel's text hides the intrinsics behind its words, so the key holds, beside text and target, the files that define
them and the versions of what compiles them. Nothing here imports Numba: a process that finds all its code in the
cache never does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.source import Source
from pelton.support.options import Options

ROOT = Path(__file__).parents[1]
MODEL_FILES = (
    "compiler.py", "artifact.py", "program.py", "program_builder.py", "support/levels.py", "support/options.py",
)  # fmt: skip
"""What an artifact depends on beside the folders of the compiler."""
COMPILERS = ("numba", "llvmlite", "numpy")
PTX_COMPILERS = ("numba-cuda", "nvidia-nvvm")


@cache
def toolchain(*folders: str) -> bytes:
    """Digest of the files under `codegen/`, `kernels/`, `custom/` and more folders, and of the compilers' versions."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in ("codegen", "kernels", "custom", *folders):
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


def ptx_key(source: Source, architecture: str) -> str:
    """The name under which the PTX of `source` for `architecture` is kept."""
    digest = hashlib.blake2b(toolchain(), digest_size=24)
    versions = [f"{package}=={_version(package)}" for package in PTX_COMPILERS]
    for part in (repr(source), architecture, *versions):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def cubin_key(key: str) -> str:
    """The name under which the machine code is kept of the PTX that is kept under `key`."""
    return hashlib.blake2b(f"cubin of {key}".encode(), digest_size=24).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def walker_key(target: CpuTarget) -> str:
    """The name under which the plan walker's object code for `target` is kept."""
    return hashlib.blake2b(toolchain() + b"walker" + target.name.encode(), digest_size=24).hexdigest()


def model_key(text: str, constants: Mapping[str, Any], targets: Sequence[str], options: Options) -> str:
    """The name under which the artifact of a whole model is kept: what the graph says, and all of the compiler.

    `constants`: name → NumPy array. `targets`: the names of what code is made for.
    """
    digest = hashlib.blake2b(toolchain("dialects", "passes"), digest_size=24)
    for file in MODEL_FILES:
        digest.update((ROOT / file).read_bytes())
    for part in (text, *targets, repr(options)):
        digest.update(part.encode() + b"\0")
    for name, value in constants.items():
        digest.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
    return digest.hexdigest()
