"""One check of a machine with a GPU: does everything work there, and how fast is it?

    python -m pelton.tests.gpu.check                                 in the folder that prepare.py made, on the GPU
    python -m pelton.tests.gpu.check --device emulated --small       anywhere, without a GPU

It needs Python 3.11, NumPy and cuda-bindings; where torch is installed, its times stand beside. Every kernel family is
compared with NumPy, from machine code and from PTX; then captures, what goes wrong, MiniLM, and figures. Each part is
tried whatever became of the others. Prints a table, writes JSON, and exits with 1 if anything was wrong, with 2 if time
ran out before all was tried.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pelton.driver import Accelerator
from pelton.tests.gpu import measure
from pelton.tests.gpu.cases import CASES, LARGE, SMALL
from pelton.tests.gpu.parts import parts
from pelton.tests.gpu.trial import Trial

SECONDS = 210
OK, WRONG, LATE = "ok", "WRONG", "not tried"
COLUMNS = ("us", "GB/s", "of copy", "TFLOP/s", "torch us", "/ torch", "execute us", "replay us")


class Check:
    """What was found so far, and when to stop."""

    def __init__(self, seconds: float, only: str = "") -> None:
        self.results: list[dict[str, Any]] = []
        self._only = only
        self._end = time.monotonic() + seconds

    def attempt(self, name: str, call: Callable[[], Any]) -> Any:
        """Tries a part, and says what became of it; what the part returned, or None."""
        if self._only not in name:
            return None
        begun, found = time.monotonic(), None
        row: dict[str, Any] = {"part": name, "result": OK, "note": ""}
        if begun > self._end:
            row |= {"result": LATE, "note": "out of time"}
        else:
            try:
                found = call()
            except Exception as failure:
                text = (str(failure).strip().splitlines() or [""])[0]
                row |= {"result": WRONG, "note": f"{type(failure).__name__}: {text}"}
                row["traceback"] = traceback.format_exc()
        row["note"] = row["note"] or (found if isinstance(found, str) else "")
        row["seconds"] = round(time.monotonic() - begun, 2)
        self.results.append(row)
        print(f"{name:36}{row['result']:10}{row['seconds']:7.2f} s  {row['note']}", flush=True)
        return found

    def figures(self, trial: Trial) -> list[dict[str, Any]]:
        """All that is measured; a figure that fails is a part that is wrong."""
        copied = self.attempt("figure: copy", lambda: measure.copy(trial)) or {"GB/s": float("nan")}
        rows = [copied]
        for name in CASES:
            if CASES[name].moved or CASES[name].flops:
                one = partial(measure.case, trial, name, copied["GB/s"])
                rows.append(self.attempt(f"figure: {name}", one))
        rows.append(self.attempt("figure: host cost", lambda: measure.calls(trial)))
        return [row for row in rows if row and "figure" in row]

    @property
    def status(self) -> int:
        """0: all is right; 1: something is wrong; 2: not all was tried."""
        found = {row["result"] for row in self.results}
        return 1 if WRONG in found else 2 if LATE in found else 0


def show(rows: Sequence[dict[str, Any]]) -> None:
    """The figures as a table."""
    print(f"\n{'':14}" + "".join(f"{c:>12}" for c in COLUMNS))
    for row in rows:
        print(f"{row['figure']:14}" + "".join(f"{row[c]:12.4g}" if c in row else f"{'':12}" for c in COLUMNS))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pelton.tests.gpu.check", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("models", nargs="?", type=Path, default=Path("models"), help="folder of models (%(default)s)")
    parser.add_argument("--device", default="gpu", choices=("gpu", "emulated"), help="what to check (%(default)s)")
    parser.add_argument("--small", action="store_true", help="small sizes, as an emulated GPU needs them")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="begin nothing after so long (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("check.json"), help="where to write it all (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="try only parts with this in their name")
    options = parser.parse_args()
    faulthandler.dump_traceback_later(options.seconds + 25, exit=True)  # what hangs ends, and shows where it stood
    device = Accelerator() if options.device == "gpu" else Accelerator.emulated()
    print(f"{device!r}, {device.architecture_name}, {device.stats['total_memory'] / 2**30:.1f} GiB", flush=True)
    trial, check = (
        Trial(device, options.models, SMALL if options.small else LARGE),
        Check(options.seconds, options.only),
    )
    for part in parts(trial):
        check.attempt(part.name, part.call)
    rows = check.figures(trial)
    show(rows)
    found = {"device": repr(device), "architecture": device.architecture_name, "size": trial.size}
    options.out.write_text(json.dumps({**found, "parts": check.results, "figures": rows}, indent=1) + "\n")
    wrong = [row["part"] for row in check.results if row["result"] != OK]
    print(f"\n{len(check.results) - len(wrong)} of {len(check.results)} parts are right; written to {options.out}")
    print(*(f"not right: {name}" for name in wrong), sep="\n")
    return check.status


if __name__ == "__main__":
    sys.exit(main())
