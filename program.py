"""A plan as a table of numbers.

Enters: the compiler's decisions, through `ProgramBuilder` of `program_builder.py`.
Leaves: a `Program`: two lists of int64 words over one array of int64 values (sizes, addresses, whatever is computed).
Next: `artifact.py` stores it; `runtime/plan.py` runs it, natively by the walker of `codegen/cpu/walker.py`.

The prologue computes every size from the sizes of the arguments. Then the caller allocates arena and outputs and writes
their addresses into the value array, and the body computes addresses and launches kernels. A word list is a sequence of
instructions, each an opcode followed by its operands (`LAYOUT`); unless said otherwise an operand is an index into the
value array, a "slot".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from math import prod
from typing import NamedTuple

from pelton.dtype import DType

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Op(IntEnum):
    """Opcodes. Their numbers are part of the artifact's ABI: append, never renumber."""

    END = 0
    CONST = 1
    ADD = 2
    SUB = 3
    MUL = 4
    FLOORDIV = 5
    MIN = 6
    MAX = 7
    REQUIRE_EQ = 8
    REQUIRE_LE = 9
    LAUNCH = 10
    COPY = 11
    MARK = 12
    TRACE = 13
    DEVICE_LAUNCH = 14
    TRANSFER = 15


# Operands after the opcode. `imm`: the number itself; `site`: index of a message; `kernel`: index of a kernel name;
# `frame`: first of `count` slots where the walker lays out a kernel's arguments; then come `count` more slots. `pair`:
# first of two slots, for seconds and nanoseconds of the monotonic clock; `edge`: 0 begins what `site` names, 1 ends it;
# `device`: index of a device. LAUNCH, COPY and TRACE are the host's. TRANSFER copies between devices, or within one.
LAYOUT: dict[Op, tuple[str, ...]] = {
    Op.END: (),
    Op.CONST: ("dst", "imm"),
    Op.ADD: ("dst", "slot", "slot"),
    Op.SUB: ("dst", "slot", "slot"),
    Op.MUL: ("dst", "slot", "slot"),
    Op.FLOORDIV: ("dst", "slot", "slot"),
    Op.MIN: ("dst", "slot", "slot"),
    Op.MAX: ("dst", "slot", "slot"),
    Op.REQUIRE_EQ: ("site", "slot", "slot"),
    Op.REQUIRE_LE: ("site", "slot", "slot"),
    Op.LAUNCH: ("kernel", "site", "slot", "frame", "count"),
    Op.COPY: ("slot", "slot", "slot"),
    Op.MARK: ("pair", "site", "edge"),
    Op.TRACE: ("slot", "site", "slot", "slot"),
    Op.DEVICE_LAUNCH: ("device", "kernel", "site", "slot", "count"),
    Op.TRANSFER: ("device", "slot", "device", "slot", "slot"),
}
LAUNCHES = (Op.LAUNCH, Op.DEVICE_LAUNCH)


class Output(NamedTuple):
    """A result, allocated between prologue and body: where its address goes, which slots hold its shape, and the device
    whose memory it is in.
    """

    pointer: int
    dtype: DType
    dims: tuple[int, ...]
    device: int = 0


class SizeOf(NamedTuple):
    """Before the prologue, the size of `argument` along `axis` is written to `slot`."""

    argument: int
    axis: int
    slot: int


class Arena(NamedTuple):
    """Scratch memory of the whole program on a device: the prologue computes `size` (bytes), the caller writes
    `pointer`.
    """

    size: int
    pointer: int
    device: int = 0


class Site(NamedTuple):
    """Where a run can have something to say: `message`, about an op of the user's.

    `ordinal` is that op's number in the user's module, by which its line is found; `dtypes` are those of the values
    shown. A check has in `row` the first word of its row of reports (whether a lane failed, the index, the values), -1
    for none. What a TRACE says has a `level` and, for its one value, the slots of its `dims`; one of several values has
    a site for each, whose `part` counts from 0.
    """

    message: str
    op: str = ""
    ordinal: int = -1
    dtypes: tuple[str, ...] = ()
    row: int = -1
    level: str = ""
    dims: tuple[int, ...] = ()
    part: int = 0


NOTHING = ("none",)
"""The `dtypes` of a site that shows no value, only where it is; without any, a value is shown as the word it is."""


WHOLE, HEAD = 8192, 256
"""Of a value that is traced, all bytes are kept up to `WHOLE`; of a larger one the first `HEAD`."""
RING_WORDS, RING_BYTES = 3, 1 << 18
"""What TRACE writes to: three words (bytes used, entries that did not fit, bytes there are) and so much room. An entry
is two words, the number of its site and how many bytes follow, and these bytes, up to a whole word.
"""


class Reports(NamedTuple):
    """Rows that kernels of a device fill: so many `words`, zeroed by the caller, who writes their address to `pointer`.

    Those of several devices are numbered together: each device has room for all.
    """

    words: int
    pointer: int
    device: int = 0


Polynomial = tuple[tuple[int, ...], ...]
"""Terms, to be added: a coefficient, then the slots it is multiplied by."""


class Cost(NamedTuple):
    """What a launch has to do, for whoever measures it: bytes read and written, operations of a product."""

    bytes: Polynomial = ()
    flops: Polynomial = ()


def evaluated(polynomial: Polynomial, values: Sequence[int]) -> int:
    """The number, over the value array of a call."""
    return sum(coefficient * prod(values[slot] for slot in slots) for coefficient, *slots in polynomial)


class Program(NamedTuple):
    """A runnable plan. `slots` is the length of the value array, `arguments` the slots of the arguments' addresses;
    `costs` has an entry per launch, in their order, or none. `arena` and `reports` are the host's; what other devices
    have stands in `elsewhere`. `devices` are their names, the host's first.
    """

    slots: int
    prologue: tuple[int, ...]
    body: tuple[int, ...]
    arguments: tuple[int, ...] = ()
    dims: tuple[SizeOf, ...] = ()
    outputs: tuple[Output, ...] = ()
    arena: Arena | None = None
    kernels: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()
    costs: tuple[Cost, ...] = ()
    reports: Reports | None = None
    ring: int | None = None
    """The slot to which the caller writes the address of a ring, where the program has a TRACE."""
    devices: tuple[str, ...] = ("cpu:0",)
    elsewhere: tuple[Arena | Reports, ...] = ()


def instruction_at(words: Sequence[int], at: int) -> tuple[Op, tuple[int, ...]]:
    """The opcode and operands at a position; raises ValueError on anything malformed."""
    try:
        op = Op(words[at])
    except ValueError:
        raise ValueError(f"word {at}: {words[at]} is no opcode") from None
    end = at + 1 + len(LAYOUT[op])
    if op in LAUNCHES and end <= len(words):
        end += max(int(words[end - 1]), 0)
    if end > len(words):
        raise ValueError(f"word {at}: {op.name} is cut off")
    return op, tuple(map(int, words[at + 1 : end]))


def instructions(words: Sequence[int]) -> Iterator[tuple[int, Op, tuple[int, ...]]]:
    """Yield (position, opcode, operands) up to and including END; raises ValueError on anything malformed."""
    at = 0
    while at < len(words):
        op, operands = instruction_at(words, at)
        yield at, op, operands
        if op is Op.END:
            return
        at += 1 + len(operands)
    raise ValueError("the words do not finish with END")


def has_marks(program: Program) -> bool:
    """Whether a walk of this program reads the clock."""
    return any(op is Op.MARK for _, op, _ in instructions(program.body))


def check_program(program: Program) -> None:
    """Raise ValueError unless every slot, kernel and message that the program names exists."""
    launches = 0
    limits = {"dst": program.slots, "slot": program.slots, "kernel": len(program.kernels), "site": len(program.sites)}
    limits |= {"pair": program.slots - 1, "edge": 2, "device": len(program.devices)}
    for part, words in (("prologue", program.prologue), ("body", program.body)):
        for at, op, operands in instructions(words):
            kinds = (*LAYOUT[op], *["slot"] * (len(operands) - len(LAYOUT[op])))
            for kind, operand in zip(kinds, operands, strict=True):
                limit = len(program.sites) + 1 if op in LAUNCHES and kind == "site" else limits.get(kind)
                if limit is not None and not 0 <= operand < limit:
                    raise ValueError(f"{part} word {at}: {op.name} names {kind} {operand} of {limit}")
            launches += op in LAUNCHES
            if op is Op.LAUNCH and not 0 <= operands[3] <= operands[3] + operands[4] <= program.slots:
                raise ValueError(f"{part} word {at}: the argument frame lies outside the {program.slots} slots")
            if part == "prologue" and op in (*LAUNCHES, Op.COPY, Op.TRACE, Op.TRANSFER):
                raise ValueError(f"prologue word {at}: {op.name} may only stand in the body")
    named = [*program.arguments, *(d.slot for d in program.dims)]
    named += [slot for out in program.outputs for slot in (out.pointer, *out.dims)]
    memory = [each for each in (program.arena, program.reports, *program.elsewhere) if each is not None]
    named += [each.pointer for each in memory] + [each.size for each in memory if isinstance(each, Arena)]
    named += [program.ring] if program.ring is not None else []
    named += [slot for site in program.sites for slot in site.dims]
    named += [slot for c in program.costs for _, *slots in (*c.bytes, *c.flops) for slot in slots]
    if any(not 0 <= slot < program.slots for slot in named):
        raise ValueError(f"an argument, output, arena or cost lies outside the {program.slots} slots")
    if not all(0 <= each.device < len(program.devices) for each in (*memory, *program.outputs)):
        raise ValueError(f"an output or scratch memory is on a device that is none of {', '.join(program.devices)}")
    words = min((each.words for each in memory if isinstance(each, Reports)), default=0)
    if any(site.row >= 0 and site.row + 2 + len(site.dtypes) > words for site in program.sites):
        raise ValueError(f"a row lies outside the {words} words of reports")
    if len(program.costs) not in (0, launches):
        raise ValueError(f"there are {launches} launches and the costs of {len(program.costs)}")
    if any(not 0 <= d.argument < len(program.arguments) or d.axis < 0 for d in program.dims):
        raise ValueError("a size is read from an argument that does not exist")


def compute(op: Op, a: int, b: int) -> int:
    """The value of a binary opcode on int64; OverflowError or ZeroDivisionError where the walker stops."""
    match op:
        case Op.ADD:
            value = a + b
        case Op.SUB:
            value = a - b
        case Op.MUL:
            value = a * b
        case Op.FLOORDIV:
            value = a // b
        case Op.MIN:
            value = min(a, b)
        case Op.MAX:
            value = max(a, b)
        case _:
            raise ValueError(f"{op.name} is not a binary opcode")
    if not LOWEST <= value <= HIGHEST:
        raise OverflowError(f"{a} {op.name} {b} does not fit in 64 bits")
    return value
