"""`make bench`: measures the model, a call, kernels and starting up; prints figures beside targets, keeps them all.

    python benchmarks/run.py                       everything, about ten minutes
    python benchmarks/run.py --only minilm         one part (minilm, calls, launches, kernels, startup)
    python benchmarks/run.py --only kernels --match softmax --seconds 5

How figures are taken, and how to read them: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import os
import sys

THREADS = ("PELTON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
TUNING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # would slow NumPy down, or speed it up, where a site sets them
for _name in TUNING:
    os.environ.pop(_name, None)
os.environ.update(dict.fromkeys(THREADS, "1"))  # read when NumPy and torch are imported, so before them

from pelton.benchmarks import calls, kernels, latency, launches, startup  # noqa: E402  after the environment
from pelton.benchmarks.report import Report  # noqa: E402  after the environment

PARTS = ("minilm", "calls", "launches", "kernels", "startup")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure pelton beside torch and NumPy, one thread each.")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part; may be given again")
    parser.add_argument("--match", default="", help="of the kernels, only those with this in their name")
    parser.add_argument("--seconds", type=float, default=4.0, help="CPU seconds per workload (%(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="fresh processes of each kind (%(default)s)")
    parser.add_argument("--unsaved", action="store_true", help="print only, add nothing to the history")
    parser.add_argument("--publish", action="store_true", help="also write the table into docs/performance.md")
    options = parser.parse_args(arguments)
    report, parts = Report(), options.only or PARTS
    if "startup" in parts:
        report.heading("Starting MiniLM-L6-v2 in a fresh process")
        startup.run(report, colds=max(1, options.runs // 2), warms=options.runs)
    if "minilm" in parts:
        report.heading("MiniLM-L6-v2, one thread")
        latency.run(report, options.seconds * 3)
    if "calls" in parts:
        report.heading("One call")
        calls.run(report, options.seconds)
    if "launches" in parts:
        report.heading("One launch on a GPU, the driver's own time left out")
        launches.run(report, options.seconds)
    if "kernels" in parts:
        report.heading("Single operations, one thread, float32")
        kernels.run(report, options.match, options.seconds)
    if not options.unsaved:
        report.save()
    if options.publish:
        report.publish()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
