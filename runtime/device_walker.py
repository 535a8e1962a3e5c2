"""Walking programs that use devices other than the host. Enters: a `Program`, its code, the devices. Leaves: work given
to drivers, and where a walk stopped.

Next: `device_plan.py` gives it memory. A program is walked in Python: what the host computes is done at once, what a
device computes is given to its driver, in order. What the kernels of a device found wrong is asked for once, after the
last of them, and only where one of them checks something.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pelton.artifact import KernelCode
from pelton.dtype import DType
from pelton.program import Op, Program, instructions
from pelton.runtime.device import CUDA, Accelerator
from pelton.runtime.device_memory import DeviceMemory
from pelton.runtime.driver import Address, Driver
from pelton.runtime.memory import array_over
from pelton.runtime.walker import Code, Frame, Kernel, OnMark, PythonWalker

STATUS_WORDS = 3
"""What a kernel says of a check that failed: its number, the lane, the value."""
Function = tuple[object, KernelCode]
"""A kernel on a device, as its driver knows it, and what the artifact says of it."""


HOST_WORK = (Op.LAUNCH, Op.COPY, Op.TRACE, Op.MARK)


def _crosses(op: Op, operands: tuple[int, ...]) -> bool:
    """Whether an instruction moves bytes to another device."""
    return op is Op.TRANSFER and operands[0] != operands[2]


class Work(NamedTuple):
    """One device of a program, and what is known of its launches before any run."""

    number: int
    device: Accelerator
    functions: dict[int, Function]
    """By the number of a kernel."""
    rows: dict[int, int]
    """Where in the body its launches stand, and the row of status words of each; empty where none of them checks."""


def works_of(program: Program, devices: Sequence[Accelerator | None], codes: Sequence[KernelCode]) -> list[Work]:
    """The work of each device but the host: `devices` in the program's order, `codes` in that of its kernels."""
    checks = _launches_check(program)
    works: list[Work] = []
    for number, device in enumerate(devices):
        if device is None:
            continue
        functions, rows = dict[int, Function](), dict[int, int]()
        for at, op, operands in instructions(program.body):
            if op is Op.DEVICE_LAUNCH and operands[0] == number:
                code = codes[operands[1]]
                if operands[1] not in functions:
                    functions[operands[1]] = device.driver.function(code_for(device, code), code.name), code
                if checks:
                    rows[at] = len(rows)
        works.append(Work(number, device, functions, rows))
    return works


def code_for(device: Accelerator, kernel: KernelCode) -> str | bytes:
    """The cubin of a kernel where the device runs it as it is: of its own major capability, and no later one."""
    ptx = kernel.code.decode()
    target = ptx.partition(".target ")[2].split()
    made, here = _capability(target[0] if target else ""), _capability(device.architecture_name)
    fits = device.api == CUDA and made[0] == here[0] and made[1] <= here[1]
    return kernel.cubin if kernel.cubin and fits else ptx


def _capability(architecture: str) -> tuple[int, int]:
    """ "sm_103" → (10, 3); those with a letter run nowhere else than there."""
    digits = architecture.removeprefix("sm_").rstrip(",")
    return (int(digits[:-1]), int(digits[-1])) if digits.isdigit() else (0, 0)


def _launches_check(program: Program) -> bool:
    """Whether any site is that of a launch: all others stand in the instruction that they belong to."""
    own = {Op.REQUIRE_EQ: 0, Op.REQUIRE_LE: 0, Op.MARK: 1, Op.TRACE: 1}
    words = (*instructions(program.prologue), *instructions(program.body))
    return len(program.sites) > len({operands[own[op]] for _, op, operands in words if op in own})


class DeviceFrame(Frame):
    """A frame, and what one call has on devices."""

    __slots__ = ("arenas", "reported", "status", "timed", "zeros")

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.arenas: dict[int, DeviceMemory] = {}
        self.status: dict[int, DeviceMemory] = {}
        self.reported: dict[int, DeviceMemory] = {}
        self.zeros: dict[int, DeviceMemory] = {}
        """By the number of a device: scratch, status words, rows of reports, and what the latter two are at first."""
        self.timed: list[Any] = []
        """What was measured of the launches of this walk, where that is: `device_timing.py`."""


class DeviceWalker(PythonWalker):
    """Every opcode in Python; `works` are the program's devices, but for the host."""

    def __init__(
        self, program: Program, kernels: Sequence[Kernel], works: Sequence[Work], on_mark: OnMark | None = None
    ) -> None:
        super().__init__(kernels, on_mark)
        self.works = works
        self.is_alone = len(works) == 1 and not any(
            op in HOST_WORK or _crosses(op, row) for _, op, row in instructions(program.body)
        )
        """Whether one device does all of the body, so that its driver can keep it as a graph."""
        self._by_number = {work.number: work for work in works}
        self._body = tuple(instructions(program.body))
        self._words = list(program.body)
        self._report_rows = [(s.row, 2 + len(s.dtypes)) for s in program.sites if s.row >= 0]

    def bind(self, code: Code, frame: Frame) -> Callable[[], int]:
        if not isinstance(frame, DeviceFrame) or not self.is_body(code):
            return super().bind(code, frame)  # the prologue
        return partial(self.run, frame)

    def is_body(self, code: Code) -> bool:
        """Whether these words are the body's, and not the prologue's."""
        return list(code.words) == self._words

    def driver(self, number: int) -> Driver:
        """What drives a device of the program."""
        return self._by_number[number].device.driver

    def run(self, frame: DeviceFrame) -> int:
        """Run the body once, and ask the devices what they found."""
        return self.begin(frame) or self.finish(frame)

    def begin(self, frame: DeviceFrame) -> int:
        """Give all devices their work: 0, or 1 + the position of what the host finds wrong before."""
        for work in self.works:
            status = frame.status.get(work.number) if work.rows else None  # which nobody reads where nothing is checked
            for memory in (status, frame.reported.get(work.number)):
                if memory is not None:
                    work.device.driver.copy(memory.address, frame.zeros[work.number].address, memory.size)
        for at, op, operands in self._body:
            match op:
                case Op.DEVICE_LAUNCH:
                    self._launch(at, operands, frame)
                case Op.TRANSFER:
                    self._transfer(operands, frame.values)
                case Op.END:
                    break
                case _ if not self._step_of(at, op, operands, frame):
                    return at + 1
                case _:
                    pass
        return 0

    def _step_of(self, at: int, op: Op, operands: tuple[int, ...], frame: DeviceFrame) -> bool:
        """What the host does itself."""
        return self._step(op, operands, frame.values, frame.ctx)

    def _launch(self, at: int, operands: tuple[int, ...], frame: DeviceFrame) -> None:
        number, kernel, _, items, count, *slots = operands
        work, values = self._by_number[number], frame.values
        function, code = work.functions[kernel]
        args: list[Address | int] = [Address(values[slot]) for slot in slots[: code.pointers]]
        args += [values[slot] for slot in slots[code.pointers : count]]
        status = frame.status[number].address.at(8 * STATUS_WORDS * work.rows.get(at, 0))
        work.device.driver.launch(function, values[items], code.threads, [*args, 0, values[items], status])

    def _transfer(self, operands: tuple[int, ...], values: memoryview) -> None:
        """Copies bytes from one device to another, or within one."""
        to, target, source_device, source, size = operands
        count = values[size]
        if to == source_device:
            self._by_number[to].device.driver.copy(Address(values[target]), Address(values[source]), count)
            return
        if source_device == 0:
            host = array_over(None, values[source], DType.uint8, (count,), None, False)
        else:
            host = array_over(None, values[target], DType.uint8, (count,), None, True) if to == 0 else None
            host = np.empty(count, np.uint8) if host is None else host
            self._by_number[source_device].device.driver.read(Address(values[source]), host)
        if to:
            self._by_number[to].device.driver.write(Address(values[target]), host)

    def finish(self, frame: DeviceFrame) -> int:
        """Wait where a kernel may have something to say: 0, or 1 + the position of the first launch that failed."""
        failed: dict[int, list[int]] = {}
        for work in self.works:
            driver = work.device.driver
            if (memory := frame.reported.get(work.number)) is not None and frame.reports is not None:
                found = array("q", bytes(8 * len(frame.reports)))
                driver.read(memory.address, np.frombuffer(found, np.int64))
                for row, length in self._report_rows:
                    if found[row]:
                        frame.reports[row : row + length] = found[row : row + length]
            if work.rows:
                rows = np.empty((len(work.rows), STATUS_WORDS), np.int64)
                driver.read(frame.status[work.number].address, rows)
                failed |= {at: rows[row].tolist() for at, row in work.rows.items() if rows[row, 0]}
        if not failed:
            return 0
        first = min(failed)
        for word, value in enumerate(failed[first]):
            frame.ctx[word] = value
        return first + 1
