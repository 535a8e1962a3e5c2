"""What it costs to start: fresh processes run in turns, their CPU time and peak memory leave as figures.

Time is that of whole processes, interpreter and imports included. Each kind runs several times, in turns; the least is
kept, since a program's work is the same each time and other work on the machine only adds to it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pelton.benchmarks.report import Figure, Report
from pelton.examples.checkpoint import model_files

PROGRAM = Path(__file__).with_name("first_result.py")
IMPORTS = {"numpy": "import numpy", "engine": "import pelton.engine"}
HELP = "import sys; sys.argv = ['pelton-opt', '--help']; from pelton.tools.opt import main; main()"


def run(report: Report, colds: int, warms: int) -> None:
    """Add the figures of starting, from `colds` processes that find no cache and `warms` of every other kind."""
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder, "minilm.pelton"))
        cold = [_first_result(Path(folder, f"cold{k}"), "graph") for k in range(colds)]
        cache = Path(folder, "cold0")
        _first_result(cache, "save", saved)
        ways = {"graph": ("graph",), "saved": ("saved", saved)}
        warm: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
        for _ in range(warms):
            for way, arguments in ways.items():
                warm[way].append(_first_result(cache, *arguments))
    _add_results(report, cold, warm)
    _add_imports(report, warms)


def _first_result(cache: Path, *arguments: str) -> dict[str, Any]:
    """What a fresh process tells of its costs."""
    environment = {**os.environ, "PELTON_CACHE_DIR": str(cache)}
    done = subprocess.run(
        (sys.executable, str(PROGRAM), *arguments), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{PROGRAM.name} {' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout) if arguments[0] != "save" else {}


def _add_results(report: Report, cold: Sequence[dict[str, Any]], warm: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    folder = model_files()
    assert folder is not None
    weights_mb = (folder / "model.safetensors").stat().st_size / 1e6
    peak_limit = round(2 * weights_mb + 250)
    for name, runs, key, target in (
        ("cold load", cold, "load", 8.0),
        ("cold process, first result", cold, "total", None),
        ("second process, graph built", warm["graph"], "total", 0.8),
        ("process with saved artifact", warm["saved"], "total", 0.4),
    ):
        values = sorted(run[key] for run in runs)
        numba = "with Numba" if any(run["numba"] for run in runs) else "without Numba"
        note = f"{values[0]:.2f}–{values[-1]:.2f} in {len(values)} runs, {numba}{_longest(runs[0])}"
        report.add(Figure(name, values[0], "CPU s", target, note=note))
    for name, runs in (("cold", cold), ("graph built", warm["graph"]), ("saved artifact", warm["saved"])):
        report.add(Figure(f"peak memory, {name}", max(run["peak_mb"] for run in runs), "MB", peak_limit))


def _longest(run: Mapping[str, Any], count: int = 3) -> str:
    """The stages that took most, as the end of a sentence."""
    stages = sorted(run["stages"].items(), key=lambda item: -item[1])[:count]
    return "".join(f", {name} {cpu_ms:.0f} ms" for name, cpu_ms in stages)


def _add_imports(report: Report, runs: int) -> None:
    """Importing the engine beside importing NumPy, in turns; and the help of the command."""
    seconds: dict[str, list[float]] = {name: [] for name in (*IMPORTS, "help")}
    for _ in range(3 * runs):
        for name, statement in {**IMPORTS, "help": HELP}.items():
            seconds[name].append(_cpu_of(statement))
    least = {name: min(values) * 1e3 for name, values in seconds.items()}
    pairs = sorted(engine - numpy for engine, numpy in zip(seconds["engine"], seconds["numpy"], strict=True))
    note = f"NumPy's own {least['numpy']:.0f}; middle pair {pairs[len(pairs) // 2] * 1e3:.0f}"
    report.add(Figure("import pelton.engine over NumPy's", least["engine"] - least["numpy"], "CPU ms", 40, note=note))
    report.add(Figure("pelton-opt --help", least["help"] / 1e3, "CPU s", 0.5))


def _cpu_of(statement: str) -> float:
    """CPU seconds of a fresh interpreter that runs `statement`.

    NumPy's OpenBLAS starts threads that wait by spinning; a process that lives longer than NumPy's import would be
    charged for them. So both sides run without them.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run((sys.executable, "-c", statement), capture_output=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
