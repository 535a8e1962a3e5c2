"""The register tile of a matrix product, per CPU target and element type: `TILE[target][dtype]` = (rows, columns).

Columns are the width of a packed panel and the lanes of the product's epilogue. Rows × columns accumulators, one
row of the panel and one broadcast element fit the target's vector registers: 16 on `baseline` (128 bits) and `avx2`
(256 bits), 32 on `avx512` (512 bits). Read by `passes/choose_kernels.py`, which packs, and by
`codegen/kernels/matmul_cpu.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

TILE: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "baseline": {"f32": (4, 8), "f64": (4, 4)},
    "avx2": {"f32": (6, 16), "f64": (6, 8)},
    "avx512": {"f32": (12, 32), "f64": (12, 16)},
}
