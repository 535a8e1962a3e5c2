"""Makes the folder that a machine with a GPU needs for `check.py`, on a machine that needs none.

    python -m pelton.tests.gpu.prepare build/gpu-check --target sm_90

In it lie pelton's own files and `models/`: every case of `cases.py`, compiled for that architecture (machine code where
nvJitLink is installed, and PTX). Copy it to the other machine, go into it, and run `python -m pelton.tests.gpu.check`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from dataclasses import fields, replace
from pathlib import Path

from pelton.engine import InferenceSession
from pelton.examples import minilm
from pelton.graph import DeviceRef
from pelton.tests.gpu.cases import CASES, LARGE, SMALL, graph
from pelton.tests.models import test_minilm

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".*", "__pycache__", "*.egg-info", "build", "dist", "docs", "golden", "lit", "benchmarks")


def prepare(folder: Path, target: str) -> None:
    """Fill a folder, which must not be there yet, for GPUs of an architecture such as "sm_90" and later ones."""
    models = folder / "models"
    shutil.copytree(ROOT, folder / "pelton", ignore=shutil.ignore_patterns(*LEFT_OUT))
    models.mkdir()
    os.environ["PELTON_TARGET"] = target
    for name, case in CASES.items():
        session = InferenceSession()
        for option, value in case.options.items():
            getattr(session, option)(value)
        session.compile(graph(name)).save(models / f"{name}.pelton")
    for size, config in {LARGE: minilm.Config(), SMALL: test_minilm.SMALL}.items():
        there = replace(config, device=DeviceRef.GPU(0))
        InferenceSession().compile(minilm.sentence_encoder(there)).save(models / f"minilm_{size}.pelton")
        sizes = {field.name: getattr(config, field.name) for field in fields(config) if field.name != "device"}
        (models / f"minilm_{size}.json").write_text(json.dumps(sizes))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m pelton.tests.gpu.prepare", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/gpu-check"), help="(%(default)s)")
    parser.add_argument("--target", default="sm_90", help="architecture of the GPU, or an older one (%(default)s)")
    options = parser.parse_args()
    prepare(options.folder, options.target)
    size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
    print(f"wrote {options.folder}: {size / 1e6:.1f} MB; there: python -m pelton.tests.gpu.check")


if __name__ == "__main__":
    main()
