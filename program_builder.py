"""The builder the compiler writes a plan with.

Enters: sizes, buffers and launches in program order, as calls. Leaves: a checked `Program` (`program.py`), with equal
constants and expressions shared and every size computed in the prologue. Next: `artifact.py` stores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pelton.dtype import DType
from pelton.program import (
    HIGHEST,
    LOWEST,
    Arena,
    Cost,
    Op,
    Output,
    Program,
    Reports,
    Site,
    SizeOf,
    check_program,
    compute,
    instructions,
)

M = TypeVar("M", Arena, Reports)
COMMUTE = frozenset({Op.ADD, Op.MUL, Op.MIN, Op.MAX})
BINARY = COMMUTE | {Op.SUB, Op.FLOORDIV}
NEUTRAL = {Op.ADD: 0, Op.SUB: 0, Op.MUL: 1, Op.FLOORDIV: 1}


@dataclass
class ProgramBuilder:
    """Writes a `Program`. Slots are ints; equal constants and expressions share one.

    An expression goes to the prologue unless it needs an address, which is known only afterwards.

        b = ProgramBuilder()
        x, y = b.argument(), b.argument()
        n = b.dim(0, 0)
        out = b.output(DType.float32, [n])
        b.launch("add", items=n, args=[x, y, out, n])
        program = b.finish()
    """

    _prologue: list[int] = field(default_factory=list[int])
    _body: list[int] = field(default_factory=list[int])
    _arguments: list[int] = field(default_factory=list[int])
    _outputs: list[Output] = field(default_factory=list[Output])
    _dims: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _known: dict[tuple[Op, int, int], int] = field(default_factory=dict[tuple[Op, int, int], int])
    _constants: dict[int, int] = field(default_factory=dict[int, int])
    _kernels: dict[str, int] = field(default_factory=dict[str, int])
    _sites: list[Site] = field(default_factory=list[Site])
    _costs: list[Cost] = field(default_factory=list[Cost])
    _late: set[int] = field(default_factory=set[int])
    _required: set[tuple[Op, int, int]] = field(default_factory=set[tuple[Op, int, int]])
    _ring: int | None = None
    _devices: list[str] = field(default_factory=lambda: ["cpu:0"])
    _memory: list[Arena | Reports] = field(default_factory=list[Arena | Reports])
    _slots: int = 0
    _frame: int = 0

    def argument(self) -> int:
        """The pointer slot of the next argument; `Artifact` says which arguments `init` and `main` have."""
        self._arguments.append(self._address())
        return self._arguments[-1]

    def dim(self, argument: int, axis: int) -> int:
        """The slot that will hold the size of that argument (by position) along that axis."""
        if not 0 <= argument < len(self._arguments):
            raise ValueError(f"argument {argument} of {len(self._arguments)} does not exist")
        if (argument, axis) not in self._dims:
            self._dims[argument, axis] = self._slot()
        return self._dims[argument, axis]

    def const(self, value: int) -> int:
        """The slot of a number."""
        if not LOWEST <= value <= HIGHEST:
            raise OverflowError(f"the constant {value} does not fit in 64 bits")
        slot = self._known.get((Op.CONST, value, 0))
        if slot is None:
            slot = self._known[Op.CONST, value, 0] = self._slot()
            self._constants[slot] = value
            self._prologue += (Op.CONST, slot, value)
        return slot

    def binary(self, op: Op, a: int, b: int) -> int:
        """The slot of `a op b`. Constants fold; their overflow or division by zero raises here, at compile time."""
        if op not in BINARY:
            raise ValueError(f"{op.name} is not a binary opcode")
        if a in self._constants and b in self._constants:
            return self.const(compute(op, self._constants[a], self._constants[b]))
        if op in COMMUTE:
            a, b = sorted((a, b), key=lambda slot: (slot in self._constants, slot))
        if (op in NEUTRAL and self._constants.get(b) == NEUTRAL[op]) or (a == b and op in (Op.MIN, Op.MAX)):
            return a
        if (slot := self._known.get((op, a, b))) is None:
            slot = self._known[op, a, b] = self._slot()
            self._words_for(slot, a, b).extend((op, slot, a, b))
        return slot

    def add(self, a: int, b: int) -> int:
        """The slot of a + b; with an address, the way to point into the arena or into a view."""
        return self.binary(Op.ADD, a, b)

    def mul(self, a: int, b: int) -> int:
        """The slot of a * b."""
        return self.binary(Op.MUL, a, b)

    def sub(self, a: int, b: int) -> int:
        """The slot of a - b."""
        return self.binary(Op.SUB, a, b)

    def floordiv(self, a: int, b: int) -> int:
        """The slot of a // b, rounded down."""
        return self.binary(Op.FLOORDIV, a, b)

    def require_equal(self, a: int, b: int, message: Site | str) -> None:
        """Stop with a RuntimeError (message, then both values) where the slots differ."""
        self._require(Op.REQUIRE_EQ, a, b, message)

    def require_at_most(self, a: int, b: int, message: Site | str) -> None:
        """Stop with a RuntimeError (message, then both values) unless a <= b."""
        self._require(Op.REQUIRE_LE, a, b, message)

    def device(self, name: str) -> int:
        """The number of a device; the host is 0."""
        if name not in self._devices:
            self._devices.append(name)
        return self._devices.index(name)

    def arena(self, size: int, device: int = 0) -> int:
        """Ask for `size` bytes of scratch, 64-byte aligned; the slot of its address. At most once a device."""
        if self._memory_of(Arena, device) is not None:
            raise ValueError("a program has one arena on a device")
        self._early(size)
        self._memory.append(Arena(size, self._address(), device))
        return self._memory[-1].pointer

    def output(self, dtype: DType, dims: Sequence[int], device: int = 0) -> int:
        """The pointer slot of the next output, of these sizes, 64-byte aligned and not initialised."""
        for slot in dims:
            self._early(slot)
        self._outputs.append(Output(self._address(), dtype, tuple(dims), device))
        return self._outputs[-1].pointer

    def reports(self, words: int, device: int = 0) -> int:
        """Ask for so many words of reports; the slot of their address. At most once a device."""
        if self._memory_of(Reports, device) is not None:
            raise ValueError("a program has its reports on a device in one place")
        self._memory.append(Reports(words, self._address(), device))
        return self._memory[-1].pointer

    def launch(
        self,
        kernel: str,
        items: int,
        args: Sequence[int],
        messages: Sequence[Site | str] = (),
        cost: Cost | None = None,
        device: int = 0,
    ) -> None:
        """Run items [0, items) of a kernel. args: buffers' addresses, then dims; messages[i] tells of check i + 1."""
        self._costs.append(cost or Cost())
        index = self._kernels.setdefault(kernel, len(self._kernels))
        site = len(self._sites)
        self._sites += map(_site, messages)
        if device:
            self._body += (Op.DEVICE_LAUNCH, device, index, site, items, len(args), *args)
            return
        self._frame = max(self._frame, len(args))
        self._body += (Op.LAUNCH, index, site, items, -1, len(args), *args)

    def copy(self, destination: int, source: int, size: int, devices: tuple[int, int] = (0, 0)) -> None:
        """Copy `size` bytes between addresses that do not overlap; `devices` are those of destination and source."""
        if devices == (0, 0):
            self._body += (Op.COPY, destination, source, size)
        else:
            self._body += (Op.TRANSFER, devices[0], destination, devices[1], source, size)

    def trace(self, site: Site, address: int | None = None, size: int | None = None) -> None:
        """Say `site` when this place is reached, with the value of so many bytes that stands there, if any."""
        if self._ring is None:
            self._ring = self._address()
        nothing = self.const(0)
        known = [nothing if slot is None else slot for slot in (address, size)]
        self._body += (Op.TRACE, self._ring, len(self._sites), *known)
        self._sites.append(site)

    def begin(self, name: str) -> int:
        """Note when this place is reached; give what comes back to `end`."""
        self._sites.append(Site(name))
        self._mark(len(self._sites) - 1, 0)
        return len(self._sites) - 1

    def end(self, site: int) -> None:
        """Note when this place is reached, as the end of what `begin` began."""
        self._mark(site, 1)

    def _mark(self, site: int, edge: int) -> None:
        self._slots += 2
        self._body += (Op.MARK, self._slots - 2, site, edge)

    def finish(self) -> Program:
        """The program; every address operand is in place."""
        body = [*self._body, Op.END]
        for at, op, _ in instructions(body):
            if op is Op.LAUNCH:
                body[at + 4] = self._slots
        program = Program(
            self._slots + self._frame,
            (*map(int, self._prologue), 0),
            tuple(map(int, body)),
            tuple(self._arguments),
            tuple(SizeOf(argument, axis, slot) for (argument, axis), slot in self._dims.items()),
            tuple(self._outputs),
            self._memory_of(Arena),
            tuple(self._kernels),
            tuple(self._sites),
            tuple(self._costs),
            self._memory_of(Reports),
            self._ring,
            tuple(self._devices),
            tuple(each for each in self._memory if each.device),
        )
        check_program(program)
        return program

    def _memory_of(self, kind: type[M], device: int = 0) -> M | None:
        """What was asked for of that kind on a device."""
        return next((m for m in self._memory if isinstance(m, kind) and m.device == device), None)

    def _slot(self) -> int:
        self._slots += 1
        return self._slots - 1

    def _address(self) -> int:
        slot = self._slot()
        self._late.add(slot)
        return slot

    def _early(self, slot: int) -> None:
        if slot in self._late:
            raise ValueError(f"slot {slot} holds an address: a size must not depend on it")

    def _words_for(self, result: int | None, a: int, b: int) -> list[int]:
        if a not in self._late and b not in self._late:
            return self._prologue
        if result is not None:
            self._late.add(result)
        return self._body

    def _require(self, op: Op, a: int, b: int, message: Site | str) -> None:
        low, high = self._constants.get(a), self._constants.get(b)
        holds = a == b or (op is Op.REQUIRE_LE and low is not None and high is not None and low <= high)
        if holds or (op, a, b) in self._required:
            return
        self._required.add((op, a, b))
        self._words_for(None, a, b).extend((op, len(self._sites), a, b))
        self._sites.append(_site(message))


def _site(message: Site | str) -> Site:
    return Site(message) if isinstance(message, str) else message
