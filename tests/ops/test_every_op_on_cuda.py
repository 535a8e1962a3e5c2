"""One test for every op, on a GPU: emulated accelerators of two capabilities against `evaluate`, within the op's own
tolerance.

The calls are those of `cases.py`, in few models, as for the CPU targets (`test_every_op.py`). Each kernel's text is
read once and becomes PTX for each capability.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.cpu.target import host_target
from pelton.codegen.cuda.compile import compile_for_each
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.key import ptx_key
from pelton.compiler import Compilation, cuda_passes
from pelton.dialects.check import check_module
from pelton.dialects.context import new_context
from pelton.dialects.interpreter import run
from pelton.dialects.kernel import FuncOp
from pelton.driver import Accelerator, Buffer
from pelton.passes.place_on import PlaceOn
from pelton.runtime.device_executable import DeviceExecutable
from pelton.runtime.model import Model
from pelton.tests.ops.test_every_op import GROUPS, calls_of, check, module_of

SIZES = {(9, 0): ({"n": 3, "m": 130}, {"n": 0, "m": 7}), (8, 0): ({"n": 2, "m": 33}, {"n": 2, "m": 0})}
"""More than the threads of a block, fewer, and none."""


class Prepared:
    """An object store that has the PTX of a module's kernels for every capability, and takes nothing else."""

    def __init__(self, module: ModuleOp) -> None:
        lowered = module.clone()
        for step in cuda_passes():
            step.apply(new_context(), lowered)
        self._kept: dict[str, bytes] = {}
        for function in lowered.body.block.ops:
            if isinstance(function, FuncOp):
                source = cuda_source(function)
                for (major, minor), ptx in zip(SIZES, compile_for_each(list(SIZES), source), strict=True):
                    self._kept[ptx_key(source, f"sm_{major}{minor}")] = ptx.encode()

    def get(self, key: str) -> bytes:
        return self._kept[key]

    def put(self, key: str, content: bytes) -> None:
        raise AssertionError("everything is there")


@pytest.mark.parametrize("dtype", GROUPS)
def test_ptx_is_what_evaluate_says(dtype: str) -> None:
    group = calls_of(dtype)
    module, ops = module_of(group, {})
    check_module(module)
    there = module.clone()
    PlaceOn("gpu:0").apply(new_context(), there)
    store = Prepared(module)
    seed = 0
    for cc, all_sizes in SIZES.items():
        gpu = Accelerator.emulated(cc)
        architecture = gpu.architecture_name
        artifact = Compilation(there.clone(), host_target(), store, architecture=architecture).run().artifact
        assert artifact.architecture == architecture and all(kernel.is_ptx for kernel in artifact.kernels)
        model = Model(DeviceExecutable(artifact, [], {gpu.name: gpu}))
        for sizes in all_sizes:
            seed += 1
            arrays = [call.arrays(sizes, 10 * seed + k) for k, call in enumerate(group)]
            flat = [x for xs in arrays for x in xs]
            with np.errstate(all="ignore"):
                want = run(module, flat)
            got = [b.to_numpy() for b in model.execute(*(Buffer.from_numpy(x).to(gpu) for x in flat))]
            check(group, ops, got, want, (sizes, arrays))
