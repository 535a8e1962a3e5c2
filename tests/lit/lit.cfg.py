"""Configuration of `lit tests/lit`: RUN lines are run in lit's own process where they can be (tests/support)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".typing"))

from pelton.tests.support.lit_inprocess import InProcess

config: Any = globals()["config"]  # lit puts it there
config.name = "pelton"
config.test_format = InProcess()
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = str(ROOT / "tests" / "lit")
scratch = ROOT / "build" / "lit"
scratch.mkdir(parents=True, exist_ok=True)
config.test_exec_root = str(scratch)
config.substitutions.append((r"\bpelton-opt\b", f"{sys.executable} -m pelton.tools.opt"))
config.substitutions.append((r"(?<![\w./-])pelton(?![\w./-])", f"{sys.executable} -m pelton"))
config.environment["PYTHONPATH"] = str(ROOT / ".typing")
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), config.environment.get("PATH", "")])
