"""docs/architecture.md names every file of the package: its tables are compared with the tree."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE_THE_PACKAGE = ("tests", "examples", "benchmarks", "docs", "build", "dist")
ROW = re.compile(r"^\| (`.*?) \|", re.MULTILINE)
NAME = re.compile(r"`([\w/]+\.py)`")


def named() -> list[str]:
    """The files of the tables, in order; a name without a folder stands in that of the name before it."""
    files: list[str] = []
    for row in ROW.findall((ROOT / "docs" / "architecture.md").read_text()):
        folder = Path()
        for name in NAME.findall(row):
            path = Path(name)
            if len(path.parts) > 1:
                folder = path.parent
            files.append(str(path if len(path.parts) > 1 else folder / path))
    return files


def in_tree() -> set[str]:
    """The package's files, but for those that only say what a folder is."""
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if ".typing" not in path.parts]
    return {
        str(path)
        for path in paths
        if path.name != "__init__.py"
        and path.parts[0] not in OUTSIDE_THE_PACKAGE
        and not any(part.startswith(".") for part in path.parts)
    }


def test_tables_name_every_file_once() -> None:
    files, tree = named(), in_tree()
    twice = sorted({file for file in files if files.count(file) > 1})
    missing, gone = sorted(tree - set(files)), sorted(set(files) - tree)
    assert not twice + missing + gone, f"named twice: {twice}; not named: {missing}; not in the tree: {gone}"
