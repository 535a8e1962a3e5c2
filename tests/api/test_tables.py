"""The tables on top of the files here name tests that exist, and every promise has one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROW = re.compile(r"^\| (?!promise|---)(.+?) \| (.+?) \|$", re.MULTILINE)
NAMED = re.compile(r"test_\w+(?:\.py)?")
FILES = [path for path in sorted(FOLDER.glob("test_*.py")) if "\n| promise | test |\n" in path.read_text()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_table_names_tests_that_exist(path: Path) -> None:
    """By their full names, or where that ends in "…" by how they begin."""
    module = ast.parse(path.read_text())
    tests = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    rows = ROW.findall(ast.get_docstring(module) or "")
    assert rows
    for promise, named in rows:
        names = NAMED.findall(named)
        assert names, f"no test for {promise}"
        for name in names:
            begins = f"{name}…" in named
            there = any(t.startswith(name) for t in tests) if begins else name in tests
            assert there or (FOLDER / name).is_file(), f"{promise}: there is no {name}"


def test_there_are_tables() -> None:
    assert len(FILES) >= 5
