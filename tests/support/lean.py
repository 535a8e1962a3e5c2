"""An environment with a few distributions alone, as one that runs saved models. Enters: a folder, their names. Leaves:
its Python, and how to run code there.

`pip install --no-deps numpy llvmlite` would put the same files there, from the network. Tests have to run without one,
so the installed distributions are linked into a new virtual environment, file tree by file tree.
"""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Sequence
from importlib.metadata import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOR_CPUS = ("numpy", "llvmlite")
"""What models on the host need."""
FOR_GPUS = ("numpy",)
"""What models that are all on a GPU need, but for the binding of a real one."""


def lean_python(folder: Path, distributions: Sequence[str] = FOR_CPUS) -> Path:
    """Make the environment; its interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "pelton").symlink_to(ROOT)
    for distribution in distributions:
        installed = files(distribution)
        assert installed, f"{distribution} does not say what it has installed"
        folder_of = Path(str(installed[0].locate())).parents[len(installed[0].parts) - 1]
        for top in {file.parts[0] for file in installed} - {".."}:
            (packages / top).symlink_to(folder_of / top)
    return folder / "bin" / "python"


def run_there(python: Path, code: str, *arguments: object, **environ: object) -> str:
    """What `code` prints there; nothing of this environment's variables but where programs are goes with it."""
    command = [str(python), "-I", "-W", "error", "-c", code, *map(str, arguments)]
    variables = {"PATH": os.environ.get("PATH", ""), **{name: str(value) for name, value in environ.items()}}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}:\n{done.stderr}"
    return done.stdout
