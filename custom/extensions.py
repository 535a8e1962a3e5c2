"""Custom extensions: a `.py` file, a directory of them, a module or a registered function enters, its ops leave.

A file is run once per content; running it also registers its ops in the process, as importing it would.
"""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, cast

from pelton.custom.bodies import keep
from pelton.custom.closure import text_of
from pelton.custom.registry import MARK, CustomOp, collecting
from pelton.support.errors import GraphTypeError, ReadError
from pelton.support.files import read_file

Ops = Mapping[str, CustomOp]

_LOADED: dict[tuple[str, str], Ops] = {}
_lock = RLock()  # an extension may load another
KINDS = "a .py file, a directory of them, a module, or a function given to pelton.register"


def load_extensions(extensions: Any, empty: bool = False) -> dict[str, CustomOp]:
    """The ops of one extension or several, by name. Raises ReadError (a RuntimeError) for a path that is none, or has
    none where that is not allowed, TypeError for an object that is none.
    """
    several = isinstance(extensions, Iterable) and not isinstance(extensions, str | bytes | os.PathLike)
    found: dict[str, CustomOp] = {}
    every: list[Any] = list(cast("Iterable[Any]", extensions)) if several else [extensions]
    for each in every:
        found.update(_load(each, empty))
    return found


def provide(extensions: Any, empty: bool = False) -> None:
    """Load extensions and keep the bodies of their kernels, for a text that names them by digest. Raises as above."""
    for op in load_extensions(extensions, empty).values() if extensions is not None else ():
        if not op.scalar:
            keep(text_of(op))


def _load(extension: Any, empty: bool) -> Ops:
    if isinstance(extension, str | os.PathLike):
        return _of_path(Path(cast("os.PathLike[str]", extension)), empty)
    if isinstance(extension, ModuleType):
        ops = [op for value in vars(extension).values() for op in _marked(value)]
        return _named(ops, f"the module {extension.__name__}")
    if ops := _marked(extension):
        return _named(ops, "the function")
    got = f"{extension!r} ({type(extension).__name__})"
    raise GraphTypeError("custom_extensions: this is no extension", expected=KINDS, got=got)


def _marked(value: Any) -> tuple[CustomOp, ...]:
    found: Any = getattr(value, "__dict__", {}).get(MARK, ())
    return found if isinstance(found, tuple) else ()  # pyright: ignore[reportUnknownVariableType]


def _named(ops: Iterable[CustomOp], source: str) -> Ops:
    """The ops by name. Raises ReadError where there is none, or two of one name."""
    found: dict[str, CustomOp] = {}
    for op in ops:
        if (known := found.setdefault(op.name, op)) is not op:
            raise ReadError(f"{source} registers the custom op {op.name!r} twice", got=f"{known.place} and {op.place}")
    if not found:
        raise ReadError(f"{source} registers no custom op", expected='@pelton.register("name") on a function')
    return found


def _of_path(path: Path, empty: bool) -> Ops:
    if path.suffix in (".mojopkg", ".mojoc"):
        raise ReadError(
            f"{path} holds Mojo kernels, which cannot be loaded",
            expected=KINDS,
            remedy='write the kernel as a Python function under @pelton.register("name"), and give its file',
        )
    if path.is_dir():
        if (path / "__init__.py").is_file():
            return _of_file(path / "__init__.py", package=True)
        ops = [op for file in sorted(path.glob("*.py")) for op in _of_file(file, empty=True).values()]
        return _named(ops, str(path))
    if path.suffix != ".py":
        raise ReadError(f"{path} is no custom extension", expected=KINDS, got=path.suffix or "no suffix")
    return _of_file(path, empty=empty)


def _of_file(path: Path, package: bool = False, empty: bool = False) -> Ops:
    """The ops that a file registers; it runs only where its content is new."""
    data = read_file(path)
    path = path.resolve()
    key = str(path), hashlib.blake2b(data, digest_size=8).hexdigest()
    with _lock:
        if key not in _LOADED:
            _LOADED[key] = _run(path, data, f"pelton_extension_{path.stem}_{key[1]}", package)
    ops = _LOADED[key]
    return ops if empty or ops else _named((), str(path))


def _run(path: Path, data: bytes, name: str, package: bool) -> Ops:
    """Run a file as a module of that name and collect what it registers.

    What runs, and what `inspect` shows of it, is the content that was read: bytecode and lines that Python keeps of a
    file go by its time and size, and would be those before an edit.
    """
    folders = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        lines = importlib.util.decode_source(data).splitlines(keepends=True)
        linecache.cache[str(path)] = (len(data), None, lines, str(path))
        with collecting() as ops:
            exec(compile(data, str(path), "exec"), vars(module))  # an extension is code that the user runs
        return _named(ops, str(path)) if ops else {}
    except BaseException as error:  # an extension that calls sys.exit would end whoever loads it
        sys.modules.pop(name, None)
        if isinstance(error, ReadError | KeyboardInterrupt):
            raise
        raise ReadError(f"the custom extension {path} fails: {type(error).__name__}: {error}") from error
