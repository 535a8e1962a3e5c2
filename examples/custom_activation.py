"""A custom activation that fuses: one Python function of one element, no kernel of its own.

Run it: `python examples/custom_activation.py`. It builds a small layer with the activation snake (Ziyin, Hartwig and
Ueda 2020, https://arxiv.org/abs/2006.08195), compiles it, and shows the one kernel that all of it became.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import pelton
from pelton import DeviceRef, DType, Graph, InferenceSession, TensorType, ops


@pelton.register("snake", types="float[...] -> float[...]", scalar=True)
def snake(x: Any, *, alpha: float = 1.0) -> Any:
    """x + sin²(αx) / α: like the identity, and periodic; near 0 the second term is αx²."""
    if alpha == 0:
        return x
    return x + math.sin(alpha * x) ** 2 / alpha


def layer(alpha: float) -> Graph:
    """snake(x · scale + shift), each row scaled by its largest element."""
    x = TensorType(DType.float32, ["batch", 64], DeviceRef.CPU())
    row = TensorType(DType.float32, [64], DeviceRef.CPU())
    with Graph("layer", input_types=[x, row, row]) as graph:
        values, scale, shift = graph.inputs
        moved = values * scale + shift
        (active,) = ops.custom("snake", x.device, [moved], [moved.type], {"alpha": alpha})
        graph.output(active / ops.max(active))
    return graph


def kernels(graph: Graph) -> list[str]:
    """The names of the kernels that a graph compiles to."""
    return [kernel.name for kernel in InferenceSession().compile(graph).artifact.kernels]


def main() -> None:
    """Run the layer beside NumPy, and say what it was compiled to."""
    alpha = 0.5
    rng = np.random.default_rng(0)
    x, scale, shift = (rng.standard_normal(shape, np.float32) for shape in ((8, 64), 64, 64))
    (result,) = InferenceSession().load(layer(alpha)).execute(x, scale, shift)

    moved = x.astype(np.float64) * scale + shift
    wanted = np.array([[snake(float(v), alpha=alpha) for v in row] for row in moved])
    wanted /= wanted.max(-1, keepdims=True)
    print(f"largest difference from NumPy: {np.abs(result.to_numpy() - wanted).max():.0e}")
    print(f"kernels: {', '.join(kernels(layer(alpha)))}")


if __name__ == "__main__":
    main()
