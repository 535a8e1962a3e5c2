"""What the documents show is run: Python blocks of the pages, page by page, and the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import numpy
import pytest

import pelton

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Pages with Python blocks."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(page for page in found if BLOCK.search(page.read_text()))


def modules_with_examples() -> list[str]:
    """Modules of the package whose docstrings hold examples."""
    skipped = ("tests", "examples", "benchmarks", "docs", "build", "dist")
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if ".typing" not in path.parts]
    ours = [path for path in paths if path.parts[0] not in skipped and not path.parts[0].startswith(".")]
    shown = [path for path in sorted(ours) if ">>> " in (ROOT / path).read_text()]
    return [".".join(("pelton", *path.with_suffix("").parts)).removesuffix(".__init__") for path in shown]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run in order and share their names, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names: dict[str, object] = {"__name__": page.stem}
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start(1))
        exec(compile("\n" * line + match[1], str(page), "exec"), names)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name: str) -> None:
    """Examples need not import what `import pelton` offers, nor NumPy."""
    known = {public: getattr(pelton, public) for public in dir(pelton)} | {"np": numpy, "pelton": pelton}
    results = doctest.testmod(importlib.import_module(name), extraglobs=known)
    assert results.attempted > 0 and results.failed == 0
