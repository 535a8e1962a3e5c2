"""One test for every op, on a GPU: its PTX on the emulator against `evaluate`, within the op's own tolerance.

The calls are those of `cases.py`, in few models, as for the CPU targets (`test_every_op.py`).
"""

from __future__ import annotations

import numpy as np
import pytest

from pelton.dialects.check import check_module
from pelton.dialects.interpreter import run
from pelton.tests.ops.test_every_op import GROUPS, calls_of, check, module_of
from pelton.tests.support.cuda_plans import lowered, run_plan

SIZES = ({"n": 3, "m": 130}, {"n": 0, "m": 7}, {"n": 2, "m": 0})
"""More than the threads of a block, and none."""


@pytest.mark.parametrize("dtype", GROUPS)
def test_ptx_is_what_evaluate_says(dtype: str) -> None:
    group = calls_of(dtype)
    module, ops = module_of(group, {})
    check_module(module)
    kernels = lowered(module)
    for seed, sizes in enumerate(SIZES, 1):
        arrays = [call.arrays(sizes, 10 * seed + k) for k, call in enumerate(group)]
        flat = [x for xs in arrays for x in xs]
        with np.errstate(all="ignore"):
            want = run(module, flat)
        check(group, ops, run_plan(kernels, flat, {}), want, (sizes, arrays))
