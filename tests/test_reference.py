"""docs/api is what the docstrings say now, and no name of the API lacks one.

`pytest tests/test_reference.py --update` writes the pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pelton
from pelton.tests.support import reference

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "api"


@pytest.mark.parametrize("module", reference.PAGES)
def test_page_says_what_docstrings_say(module: str, pytestconfig: pytest.Config) -> None:
    path, now = FOLDER / f"{module}.md", reference.page(module)
    if pytestconfig.getoption("--update"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(now)
    assert path.read_text() == now, f"run pytest tests/test_reference.py --update, and look at what changed in {path}"


@pytest.mark.parametrize("module", reference.PAGES)
def test_no_name_lacks_a_docstring(module: str) -> None:
    assert [name for entry in reference.entries(module) for name in entry.gaps()] == []


def test_every_public_name_of_these_modules_has_an_entry() -> None:
    named = {entry.name for module in reference.PAGES for entry in reference.entries(module)}
    assert {name for home in reference.PAGES for name in pelton._HOMES[home]} <= named


def test_pages_hold_what_they_should() -> None:
    """A signature, a property, a second name, an attribute, members of an enum, a base class."""
    engine, driver, dtype = (reference.page(module) for module in reference.PAGES)
    assert "InferenceSession(devices: Iterable[Device]=(), num_threads: int | None=None, *, custom_extensions" in engine
    assert "**`input_metadata: list[TensorSpec]`**" in engine and "Another name of `set_log_level`." in engine
    assert "**`label: str`**" in driver and driver.count("everything of [`Device`](#device)") == 2
    assert "`bfloat16` = 'bf16'" in dtype and "**`is_float() -> bool`**" in dtype


def test_a_gap_is_found() -> None:
    whole = reference.Entry("C", "C()", "A class.", [reference.Entry("f", "f()", ""), reference.Entry("g", "g()", "x")])
    assert list(whole.gaps()) == ["C.f"]
