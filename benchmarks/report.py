"""What a run found: figures enter, a table is printed, and one JSON line is appended to `results/history.jsonl`."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pelton.benchmarks.timing import Ratio

HERE = Path(__file__).resolve().parent
HISTORY = HERE / "results" / "history.jsonl"
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- figures: make bench ARGS=--publish -->", "<!-- end of figures -->"
HEADER = "| | pelton | target | time / torch | time / NumPy |\n|---|---|---|---|---|"
PACKAGES = ("numpy", "numba", "llvmlite", "xdsl", "torch", "onnxruntime")


@dataclass(frozen=True)
class Figure:
    """One line of the table: what was measured, its value, the largest value wanted, its ratios to others, a note."""

    name: str
    value: float
    unit: str
    target: float | None = None
    ratios: Mapping[str, Ratio] = field(default_factory=dict[str, Ratio])
    note: str = ""

    @property
    def verdict(self) -> str:
        """The target and whether it is met; empty without a target."""
        if self.target is None:
            return ""
        return f"≤ {self.target:g} {'met' if self.value <= self.target else 'MISSED'}"

    @property
    def shown(self) -> str:
        """The value, without digits that mean nothing."""
        return f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3g}"

    def __str__(self) -> str:
        ratios = "".join(f"   / {other} {ratio!s:18}" for other, ratio in self.ratios.items())
        return f"{self.name:34}{self.shown:>10} {self.unit:8}{self.verdict:14}{self.note:18}{ratios}".rstrip()

    def row(self) -> str:
        """A row of `HEADER`."""
        ratios = (str(self.ratios.get(other, "")) for other in ("torch", "numpy"))
        target = "" if self.target is None else f"≤ {self.target:g}"
        return f"| {' | '.join((self.name, f'{self.shown} {self.unit}', target, *ratios))} |"


@dataclass
class Report:
    """The figures of one run, printed as they come."""

    figures: list[Figure] = field(default_factory=list[Figure])

    def add(self, figure: Figure) -> None:
        self.figures.append(figure)
        print(figure, flush=True)

    def heading(self, text: str) -> None:
        print(f"\n{text}", flush=True)

    def save(self, path: Path = HISTORY) -> None:
        """Append the run, with what must be known to compare it with another."""
        path.parent.mkdir(exist_ok=True)
        line = {**circumstances(), "figures": [asdict(figure) for figure in self.figures]}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print(f"\nappended to {path}")

    def publish(self, page: Path = PAGE) -> None:
        """Put the figures between the marks of a page, in place of those that stand there."""
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        facts = circumstances()
        where = (
            f"{facts['time']}, commit {facts['commit']}, {facts['cpu']}, {facts['cores']} cores, load {facts['load']}:"
        )
        table = "\n".join((HEADER, *(figure.row() for figure in self.figures)))
        page.write_text(f"{before}{BEGIN}\n{where}\n\n{table}\n{END}{after}", encoding="utf-8")
        print(f"written to {page}")


def circumstances() -> dict[str, object]:
    """When, what and where: the commit, the versions, the machine and how busy it was."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _git("describe", "--always", "--dirty", "--abbrev=12"),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
    }


def _git(*arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu_name() -> str:
    """The model, and the vector instruction sets that matter here."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in values.items()}
    flags = fields.get("flags", "").split()
    sets = [name for name in ("avx2", "avx512f", "amx_tile") if name in flags]
    return " ".join((fields.get("model name", "unknown"), *sets))
