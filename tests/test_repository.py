"""The rules of the house that a machine can hold: sizes, names, the package list, imports, one test per op and pass."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE

from pelton.dialects import all_dialects
from pelton.tools import universe

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE_THE_PACKAGE = ("tests", "examples", "benchmarks", "docs", "build", "dist")
FILE_LINES, FUNCTION_LINES = 500, 40
HEAVY = ("numpy", "numba", "llvmlite")
PROMISES = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|# noqa(?!: [A-Z]+[0-9]+  \(?\w)")
TYPE_IGNORED = re.compile(r"#\s*type:\s*ignore")


def sources(*, package_only: bool = False) -> list[Path]:
    """Every Python file of the repository, hidden and built folders left out."""
    skipped = OUTSIDE_THE_PACKAGE if package_only else ("build", "dist")
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if ".typing" not in path.parts]
    return sorted(p for p in paths if p.parts[0] not in skipped and not any(part.startswith(".") for part in p.parts))


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=str)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, the docstring not counted."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines


@each(sources())
def test_file_fits_a_reader(path: Path) -> None:
    lines = len((ROOT / path).read_text().splitlines())
    assert lines <= FILE_LINES, f"{path} has {lines} lines; split it by topic"


@each(sources())
def test_functions_fit_a_screen(path: Path) -> None:
    long = [
        f"{path}:{f.lineno} {f.name}: {code_lines(f)} lines" for f in functions(path) if code_lines(f) > FUNCTION_LINES
    ]
    assert not long, f"functions over {FUNCTION_LINES} lines: {long}"


@each(sources())
def test_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree(path)), f"{path} has no module docstring"


def is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.unparse(body[0])


@each([path for path in sources() if path.parts != ("tests", "test_repository.py")])
def test_no_promises(path: Path) -> None:
    """No marks of unfinished work, no function that only says it is not written; a noqa gives its reason."""
    text = (ROOT / path).read_text().splitlines()
    marks = [f"{path}:{i}: {line.strip()}" for i, line in enumerate(text, 1) if PROMISES.search(line)]
    if path.parts[0] != "tests":  # which pass wrong types on purpose
        marks += [f"{path}:{i}: {line.strip()}" for i, line in enumerate(text, 1) if TYPE_IGNORED.search(line)]
    stubs = [f"{path}:{f.lineno}: {f.name}" for f in functions(path) if is_stub(f)]
    assert not marks + stubs


@each([path for path in sources(package_only=True) if path != Path("support/knobs.py")])
def test_environment_is_read_in_one_place(path: Path) -> None:
    found = [
        node.lineno
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "putenv"))
        or (isinstance(node, ast.alias) and node.name in ("environ", "getenv"))
    ]
    assert not found, f"{path}:{found} reads the environment; add a knob to support/knobs.py"


def test_loading_dialects_and_passes_loads_nothing_heavy() -> None:
    """NumPy, Numba and LLVM are imported by what evaluates and what compiles: pelton-opt must start quickly."""
    code = (
        "import sys\n"
        "from pelton.tools import universe\n"
        "for table in (universe.opt_dialects(), universe.opt_passes()):\n"
        "    [load() for load in table.values()]\n"
        "print(*sorted(set(sys.argv[1:]) & set(sys.modules)))\n"
    )
    environ = {"PYTHONPATH": str(ROOT / ".typing")}
    command = [sys.executable, "-c", code, *HEAVY]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def project() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    return table


def test_package_list_is_the_tree() -> None:
    folders = {path.parent for path in sources(package_only=True)}
    in_tree = sorted(".".join(("pelton", *folder.parts)) for folder in folders)
    assert project()["packages"] == in_tree
    assert all((ROOT / folder / "__init__.py").exists() for folder in folders), "a folder has no __init__.py"


def test_type_checkers_find_the_package() -> None:
    assert (ROOT / ".typing" / "pelton").resolve() == ROOT


def pass_files() -> list[Path]:
    return [path for path in sources() if path.parent == Path("passes") and not path.name.startswith("_")]


@each(pass_files())
def test_pass_has_one_name(path: Path) -> None:
    """passes/fuse_groups.py holds FuseGroups, named fuse-groups, tested by fuse_groups.mlir."""
    name = path.stem.replace("_", "-")
    kind: type[ModulePass] = getattr(importlib.import_module(f"pelton.passes.{path.stem}"), universe.class_name(name))
    assert issubclass(kind, ModulePass) and kind.name == name
    assert (ROOT / "tests" / "lit" / "passes" / f"{path.stem}.mlir").exists(), f"no lit test for {name}"


def dialect_names() -> list[str]:
    return sorted(all_dialects())


def lit_text(folder: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "lit" / folder).rglob("*.mlir")))


@pytest.mark.parametrize("name", dialect_names())
def test_every_op_and_attribute_has_a_lit_test(name: str) -> None:
    dialect: Dialect = all_dialects()[name]()
    text = lit_text("dialects")
    ops = [op.name for op in dialect.operations if not re.search(rf"\b{re.escape(op.name)}\b", text)]
    attributes = [attr.name for attr in dialect.attributes if not re.search(rf"[!#]{re.escape(attr.name)}\b", text)]
    assert not ops + attributes, f"no file under tests/lit/dialects shows {ops + attributes}"


def verifier_messages() -> list[tuple[str, str]]:
    """Place and longest fixed part of each message a verifier of a dialect can give."""
    found: list[tuple[str, str]] = []
    for path in (path for path in sources(package_only=True) if path.parts[0] == "dialects"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "VerifyException" and node.args:
                constants = [c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant)]
                fixed = [" ".join(text.split()) for text in constants if isinstance(text, str)]
                found.append((f"{path}:{node.lineno}", max(fixed, key=len, default="")))
    return [(place, text) for place, text in found if text]


def test_every_verifier_message_is_tested() -> None:
    tests = [*(ROOT / "tests").rglob("*.mlir"), *(ROOT / "tests").rglob("*.py")]
    text = " ".join(" ".join(path.read_text().split()) for path in tests)
    assert not [f"{place} {message}" for place, message in verifier_messages() if message not in text]


@pytest.mark.parametrize("name", sorted(universe.pipelines()))
def test_every_pipeline_has_a_lit_test(name: str) -> None:
    runs = [line for line in lit_text(".").splitlines() if "RUN:" in line]
    assert any(re.search(rf"(-p|--passes)[ =]['\"]?([^ ]*,)?{re.escape(name)}\b", line) for line in runs)


@pytest.mark.parametrize("kind", ["all_dialects", "all_passes", "all_targets"])
def test_names_do_not_clash_with_upstream(kind: str) -> None:
    """A clash makes upstream's xdsl-opt refuse to start."""
    assert not set(getattr(XDSL_UNIVERSE, kind)) & set(getattr(universe.UNIVERSE, kind))
