"""What the documents show is run: the blocks of the pages, page by page, and the examples in docstrings.

Where a page shows what a command prints, the text is compared; `pytest tests/test_documents.py --update` rewrites it.
"""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import numpy
import pytest

import pelton
from pelton.tests.support.pages import Reader, agrees, apply_diff, blocks

ROOT = Path(__file__).resolve().parents[1]
RUN = frozenset({"python", "console", "diff"})
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def pages() -> list[Path]:
    """Every page of the repository."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def languages(page: Path) -> set[str]:
    return {block.language for block in blocks(page.read_text())}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def modules_with_examples() -> list[str]:
    """Modules of the package whose docstrings hold examples."""
    skipped = ("tests", "examples", "benchmarks", "docs", "build", "dist")
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if ".typing" not in path.parts]
    ours = [path for path in paths if path.parts[0] not in skipped and not path.parts[0].startswith(".")]
    shown = [path for path in sorted(ours) if ">>> " in (ROOT / path).read_text()]
    return [".".join(("pelton", *path.with_suffix("").parts)).removesuffix(".__init__") for path in shown]


@pytest.mark.parametrize("page", [page for page in pages() if languages(page) & RUN], ids=name_of)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """The blocks of a page run in order, in an empty folder, or in a copy of the repository where it changes that."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PELTON_CACHE_DIR", str(tmp_path / "cache"))
    text = page.read_text()
    reader = Reader(folder, copy="diff" in languages(page), names={"__name__": page.stem})
    now = reader.read(text, str(page))
    if pytestconfig.getoption("--update"):
        page.write_text(now)
    else:
        assert text == now, f"run pytest tests/test_documents.py -k {page.stem} --update, and look at what changed"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not broken, f"{name_of(page)} links to {broken}"


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name: str) -> None:
    """Examples need not import what `import pelton` offers, nor NumPy."""
    known = {public: getattr(pelton, public) for public in dir(pelton)} | {"np": numpy, "pelton": pelton}
    results = doctest.testmod(importlib.import_module(name), extraglobs=known)
    assert results.attempted > 0 and results.failed == 0


def test_a_page_that_shows_another_output_is_noticed(tmp_path: Path) -> None:
    page = "```console\n$ echo one\ntwo\n$ echo three; echo four\nthree\n…\n$ true\n```\n"
    assert Reader(tmp_path).read(page, "page") == page.replace("two", "one")
    with pytest.raises(AssertionError, match="exited with 1"):
        Reader(tmp_path).read("```console\n$ false\n```\n", "page")


def test_an_ellipsis_stands_for_any_text() -> None:
    assert agrees("a … c\n…\nd\n", "a b c\nx\ny\nd\n")
    assert not agrees("a … c\n", "a b d\n")


DIFF = """--- a/f.py
+++ b/f.py
@@
 one
-two
+2
@@
 four
+five
--- /dev/null
+++ b/new.py
@@
+x = 1
"""


def test_a_diff_is_applied_where_its_lines_stand(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("zero\none\ntwo\nthree\nfour\n")
    apply_diff(DIFF, tmp_path)
    assert (tmp_path / "f.py").read_text() == "zero\none\n2\nthree\nfour\nfive\n"
    assert (tmp_path / "new.py").read_text() == "x = 1\n"


def test_a_diff_without_a_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("zero\n")
    with pytest.raises(ValueError, match="occur 0 times"):
        apply_diff(DIFF, tmp_path)
