"""Models that run on GPUs, and on the host beside them. Enters: an artifact, its weights, the devices. Leaves: an
`Executable`. Next: `model.py` calls it. Weights are moved to their devices once, here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pelton.artifact import Artifact, TensorInfo
from pelton.program import Program, has_marks
from pelton.runtime.buffer import Buffer
from pelton.runtime.capture import Obstacle
from pelton.runtime.device import HOST, Accelerator, Device
from pelton.runtime.device_plan import DeviceRunner
from pelton.runtime.device_walker import DeviceWalker, Work, works_of
from pelton.runtime.executable import over_bytes
from pelton.runtime.loader import NativeCode, load_code
from pelton.runtime.walker import Kernel, Walker, native_kernel
from pelton.support import knobs
from pelton.support.errors import ArtifactError, DeviceError


class DeviceExecutable:
    """An artifact whose code is loaded on its devices and whose `init` program has run on the weights."""

    obstacle: Obstacle | None = None

    def __init__(self, artifact: Artifact, weights: Sequence[Buffer], devices: Mapping[str, Device]) -> None:
        """`weights` in the order of `artifact.weights`; `devices` by the names that the artifact has for them.

        Raises DeviceError where one is missing, ArtifactError where one cannot run the code, AssertionFailed where a
        check on the weights fails.
        """
        self.name, self.inputs, self.outputs = artifact.name, artifact.inputs, artifact.outputs
        self.devices = {name: _device(artifact, name, devices) for name in artifact.devices}
        native = any(not kernel.is_ptx for kernel in artifact.kernels)
        self._code = load_code(artifact) if native else None
        self._artifact, self._places = artifact, dict(artifact.places)
        constants = [over_bytes(constant.info, constant.data) for constant in artifact.constants]
        infos = [*artifact.weights, *(constant.info for constant in artifact.constants)]
        stored = [self._moved(info, value) for info, value in zip(infos, [*weights, *constants], strict=True)]
        made = self._runner("init", artifact.init, stored)((), ())
        self.run = self._runner("main", artifact.main, [*stored, *made])
        self.record = self.run.record
        if has_marks(artifact.main):
            from pelton.runtime.marks import with_calls

            self.run, self.record = with_calls(artifact.main, self.name, self.run, self.record)

    def _moved(self, info: TensorInfo, value: Buffer) -> Buffer:
        return value.to(self.devices[info.device])

    def _runner(self, part: str, program: Program, bound: Sequence[Buffer]) -> DeviceRunner:
        codes = {kernel.name: kernel for kernel in self._artifact.kernels}
        here = [codes[name] for name in program.kernels]
        devices = [d if isinstance(d := self.devices[name], Accelerator) else None for name in program.devices]
        kernels = [_host_kernel(self._code, code.name) if not code.is_ptx else _elsewhere for code in here]
        works = works_of(program, devices, here)
        walker, marked = self._walker(f"{part} of {self.name}", program, kernels, works)
        return DeviceRunner(program, walker, devices, bound, self._places, marked)

    @staticmethod
    def _walker(
        title: str, program: Program, kernels: Sequence[Kernel], works: Sequence[Work]
    ) -> tuple[DeviceWalker, Walker]:
        """What walks the program, and the same with what else is told of each walk; that measures only where it is
        asked to, for start-up.
        """
        if not has_marks(program) and knobs.DEBUG.value() < knobs.KERNELS:
            walker = DeviceWalker(program, kernels, works)
            return walker, walker
        from pelton.runtime.device_timing import TimedDeviceWalker
        from pelton.runtime.marks import MarkedWalker, NvtxRanges

        ranges = NvtxRanges.of(program)
        walker = TimedDeviceWalker(title, program, kernels, works, ranges and ranges.at)
        return walker, MarkedWalker(walker, program, title, ranges) if has_marks(program) else walker


def _host_kernel(code: NativeCode | None, name: str) -> Kernel:
    assert code is not None
    return native_kernel(code.address(name))


def _elsewhere(args: Sequence[int], lo: int, hi: int, ctx: memoryview) -> int:
    """What stands for the kernels of other devices, which the host never calls."""
    raise AssertionError("a kernel of another device")


def _device(artifact: Artifact, name: str, devices: Mapping[str, Device]) -> Device:
    """The device that an artifact calls `name`. Raises as `DeviceExecutable` does."""
    if name == HOST.name:
        return HOST
    device = devices.get(name)
    if not isinstance(device, Accelerator):
        have = ", ".join(sorted(devices)) or "none"
        raise DeviceError(
            f"{artifact.name} runs on {name}, which the session does not have",
            expected=name,
            got=have,
            remedy="InferenceSession(devices=[Accelerator()]), or Accelerator.emulated() where there is no GPU; on the "
            "command line --device gpu, or emulated",
        )
    here = device.architecture_name
    if _number(here) < _number(artifact.architecture):
        raise ArtifactError(
            f"artifact {artifact.name} is for a later GPU than {name}",
            expected=f"{artifact.architecture} or later",
            got=here,
            remedy=f"compile the model for this one: PELTON_TARGET={here}",
        )
    return device


def _number(architecture: str) -> int:
    """ "sm_90" → 90; 0 for nothing."""
    digits = architecture.removeprefix("sm_")
    return int(digits) if digits.isdigit() else 0
