"""Object code to addresses. Enters: the object files of an artifact. Leaves: `NativeCode`, which holds them mapped.

Next: `executable.py` calls the addresses. Everything is checked before it is mapped: an object that calls what is not
in it, and one for another machine, would end the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

from pelton.artifact import Artifact, KernelCode
from pelton.support.elf import read_symbols
from pelton.support.errors import ArtifactError

_lock = Lock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@cache
def _binding() -> Any:
    """llvmlite, ready to map code for this machine. The typed seam: everything of it is Any.

    Raises ArtifactError where it is not installed: a model that is all on a GPU does without.
    """
    try:
        binding: Any = import_module("llvmlite.binding")
    except ModuleNotFoundError as error:
        raise ArtifactError(
            "code for the host is mapped by llvmlite, which is not installed",
            got=str(error),
            remedy="pip install llvmlite; a model that is all on a GPU runs without it",
        ) from error
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def host_features() -> frozenset[str]:
    """The instruction sets of this CPU, in LLVM's names."""
    features: dict[str, bool] = _binding().get_host_cpu_features()
    return frozenset(name for name, present in features.items() if present)


class NativeCode:
    """Mapped object files. Addresses are good for as long as this object lives."""

    def __init__(self, engine: Any, addresses: dict[str, int]) -> None:
        self._engine = engine
        self._addresses = addresses

    def address(self, name: str) -> int:
        """Where the function starts."""
        return self._addresses[name]

    def __contains__(self, name: str) -> bool:
        return name in self._addresses


def map_objects(objects: Iterable[KernelCode], source: str = "the object code") -> NativeCode:
    """Check and map object files; every function that they define has an address.

    Raises ArtifactError naming `source` and the function. Safe from any thread.
    """
    objects = tuple(objects)
    names = _check_objects(objects, source)
    with _lock:
        binding = _binding()
        machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        # This memory manager keeps the sections of an object together: code reaches its constants by 32-bit distances.
        # It has no room for calls out of the object, and aborts the process; _check_objects has refused them.
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine, use_lmm=True)
        for item in objects:
            engine.add_object_file(binding.ObjectFileRef.from_data(item.code))
        engine.finalize_object()
        addresses = {name: engine.get_function_address(name) for name in names}
    if missing := [name for name, address in addresses.items() if not address]:
        raise ArtifactError(f"{source}: LLVM gave no address to {', '.join(missing)}")
    return NativeCode(engine, addresses)


def load_code(artifact: Artifact) -> NativeCode:
    """Map the walker and the kernels of an artifact. Raises ArtifactError where this machine cannot run them."""
    source = f"artifact {artifact.name}"
    if missing := set(artifact.cpu_features) - host_features():
        raise ArtifactError(
            f"{source} needs CPU features this machine lacks",
            expected=", ".join(sorted(artifact.cpu_features)),
            got=f"a CPU without {', '.join(sorted(missing))}",
            remedy="compile the model on this machine, or for a lower target with PELTON_TARGET",
        )
    version: str = import_module("llvmlite").__version__
    first, beyond = artifact.llvmlite
    if not _numbers(first) <= _numbers(version) < _numbers(beyond):
        raise ArtifactError(
            f"{source} was compiled with another llvmlite",
            expected=f"{first} or later, before {beyond}",
            got=version,
            remedy="install such a version, or compile the model again",
        )
    native = [kernel for kernel in (artifact.walker, *artifact.kernels) if kernel is not None and not kernel.is_ptx]
    return map_objects(native, source)


def _numbers(version: str) -> tuple[int, ...]:
    """ "0.50.1" → (0, 50, 1); what follows the first part that is not a number is left out."""
    numbers: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _check_objects(objects: tuple[KernelCode, ...], source: str) -> set[str]:
    """The names of all functions. Raises ArtifactError for code that is not whole, or has one twice."""
    seen = set[str]()

    def refuse(name: str, why: str) -> ArtifactError:
        return ArtifactError(f"{source}: function {name}: {why}")

    for item in objects:
        try:
            symbols = read_symbols(item.code)
        except ValueError as error:
            raise refuse(item.name, str(error)) from error
        if symbols.undefined:
            raise refuse(item.name, f"its code is not whole: it calls {', '.join(sorted(symbols.undefined))}")
        if item.name not in symbols.defined:
            raise refuse(item.name, "its code does not define it")
        if twice := symbols.defined & seen:
            raise refuse(sorted(twice)[0], "it is there twice")
        seen |= symbols.defined
    return seen
