"""`import pelton`: which names there are, that each resolves, and that none is loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pelton

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", dir(pelton))
def test_each_public_name_resolves(name: str) -> None:
    assert getattr(pelton, name) is getattr(pelton, name)


def test_type_checkers_see_what_is_loaded_lazily() -> None:
    modules = {"custom", "driver", "dtype", "engine", "graph", "__version__"}
    assert set(pelton.__all__) | modules == set(dir(pelton))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pelton.nothing  # noqa: B018  (the access is the test)


def test_importing_loads_nothing_else() -> None:
    code = "import pelton, sys; print(*[name for name in sys.modules if name.startswith(('pelton.', 'numpy', 'xdsl'))])"
    environ = {"PYTHONPATH": str(ROOT / ".typing")}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
