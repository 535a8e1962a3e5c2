"""What tests of the CUDA driver layer share: a text, what its kernel does, bytes up and down.

The fixtures `fake` (a machine with two GPUs) and `driver` (its first) stand in tests/unit/conftest.py.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from threading import Thread

import numpy as np

from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import Address, Driver
from pelton.tests.support.fake_cuda.state import Memory

HALF = 1 << 16
"""The size of a pinned buffer in these tests."""
PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 step)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [step];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r2, %r3, %r4, %r2;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra done;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f2, [%rd1];
    add.f32 %f3, %f2, %f1;
    st.global.f32 [%rd2], %f3;
done:
    ret;
}
.visible .entry bare()
{
    ret;
}
"""


def add(memory: Memory, grid: int, block: int, args: Sequence[bytes]) -> None:
    """y = x + step, for n floats."""
    (x, y), (n,), (step,) = (
        struct.unpack(code, data) for code, data in (("<QQ", args[0] + args[1]), ("<I", args[2]), ("<f", args[3]))
    )
    source, target = ((ctypes.c_float * n).from_address(memory.host(place, 4 * n)) for place in (x, y))
    target[:] = [value + step for value in source]


def uploaded(driver: Driver, array: np.ndarray) -> Address:
    address = driver.allocate(array.nbytes)
    driver.write(address, array)
    return address


def downloaded(driver: Driver, address: Address, size: int) -> list[float]:
    out = np.zeros(size, np.float32)
    driver.read(address, out)
    return out.tolist()


def in_thread(work: Callable[[], object]) -> None:
    """Runs work in a thread of its own; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def work(driver: CudaDriver, text: str = PTX) -> None:
    """Every kind of call there is."""
    x, y = uploaded(driver, np.arange(8, dtype=np.float32)), driver.allocate(32)
    function = driver.function(text, "add")
    driver.launch(function, 1, 32, [x, y, 8, 1.0])
    begun = driver.mark()
    driver.copy(y.at(4), y, 28)
    driver.begin_capture()
    driver.launch(function, 1, 32, [y, x, 8, 1.0])
    driver.copy(y, x, 32)
    graph = driver.end_capture()
    assert len(driver.nodes(graph)) == 2
    driver.replay(graph)
    assert driver.seconds(begun, driver.mark()) > 0
    assert downloaded(driver, y, 8) == [2, 2, 3, 4, 5, 6, 7, 8]
    driver.release(graph)
    assert driver.free_memory
    driver.free(y)
    driver.synchronize()
