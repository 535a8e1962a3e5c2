"""Python in a process of its own, for what concerns the process: which modules it loads, whether it lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = "PELTON_CACHE_DIR"


def fresh(code: str | Path, *arguments: object, **environ: object) -> str:
    """What code, or a file of it, prints in a new interpreter with warnings as errors; fails where it ends badly.

    Of pelton's variables it has those that are named here, and the suite's folder of object code.
    """
    program = ["-c", code] if isinstance(code, str) else [str(code)]
    command = [sys.executable, "-W", "error", *program, *map(str, arguments)]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PELTON_") or name == KEPT}
    variables |= {"PYTHONPATH": str(ROOT / ".typing"), **{name: str(value) for name, value in environ.items()}}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command line that may call `pelton-opt`, run by sh in `folder`."""
    tool = f'pelton-opt() {{ "{sys.executable}" -m pelton.tools.opt "$@"; }}'
    environ = {**os.environ, "PYTHONPATH": str(ROOT / ".typing")}
    environ = {name: value for name, value in environ.items() if name not in ("PELTON_DUMP", "PELTON_DEBUG")}
    return subprocess.run(
        ["bash", "-c", f"{tool}; {command}"], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
