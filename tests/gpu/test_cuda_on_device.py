"""The tests of CUDA kernels once more, with a real GPU in the emulator's place: `pytest tests/gpu`, about a minute.

Every kernel, word and graph of tests/unit/test_cuda_*.py runs through ptxas and the driver and must give what the
emulator gave, within the same bounds. What only an emulator can show (caught races and stray stores) is left out.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from pelton.tests.support import cuda, device
from pelton.tests.unit import test_cuda_graphs, test_cuda_kernels, test_cuda_vocabulary

pytestmark = pytest.mark.gpu
EMULATOR_ONLY = {
    "test_a_missing_barrier_is_caught",
    "test_a_store_out_of_range_is_caught",
    "test_ptxas_assembles_every_kernel",
    "test_the_same_source_gives_the_same_text_in_every_process",
    "test_a_word_of_wrong_types_is_refused_by_name",
    "test_refusals_say_what_is_wrong",
}


@pytest.fixture(scope="module", autouse=True)
def on_device() -> Generator[None]:
    """Kernels run on the GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda, "emulate", device.launch)
        patch.setattr(test_cuda_vocabulary, "emulate", device.launch)
        yield


FIXTURES = {name: getattr(test_cuda_vocabulary, name) for name in ("unary", "unary_results")}
TESTS = {
    name: value
    for module in (test_cuda_kernels, test_cuda_vocabulary, test_cuda_graphs)
    for name, value in vars(module).items()
    if name.startswith("test_") and name not in EMULATOR_ONLY
}
globals().update(FIXTURES | TESTS)
