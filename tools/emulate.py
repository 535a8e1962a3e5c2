"""`pelton emulate`: a PTX file, sizes of a launch and arguments enter; what the kernel left in its arrays leaves.

It runs on an emulated device of the architecture that the text names, with all its checks: docs/emulator.md.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pelton.dtype import DType
from pelton.runtime.driver import Address
from pelton.support.errors import ReadError
from pelton.support.files import read_file
from pelton.tools.exits import UsageError, unknown
from pelton.tools.run import writing
from pelton.tools.tables import counted, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pelton.runtime.emulator.driver import EmulatedDriver, Function

_WHOLE = [d for d in DType if d.size_in_bits >= 8 or d is DType.bool]
TYPES = {d.mlir: d for d in _WHOLE} | {d.mlir.replace("ui", "u"): d for d in _WHOLE}
"""Element types by name: as in the IR, and `u32` for `ui32`."""
MEMORY = ("zeros", "empty", "random")
FORMS = "FILE.npy, zeros:f32:3x200, empty:f32:1024, random:f32:64 or a number such as i64:5 or f32:1.5"
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)(\d)", re.MULTILINE)
_LARGEST = 1 << 40


class Given(NamedTuple):
    """An argument of the command line: a number by its bits and its size in bytes, or the memory of an array."""

    spelled: str
    bits: int = 0
    size: int = 8
    array: NDArray[Any] | None = None
    written: bool = True


def emulate(args: Namespace) -> None:
    """Launch the kernel once and show its arrays."""
    from pelton.runtime.emulator.driver import EmulatedDriver

    text = _text(Path(args.ptx))
    entry = _entry(text, args.entry)
    given = [parsed(spelled, number) for number, spelled in enumerate(args.arg)]
    target = _TARGET.search(text)
    driver = EmulatedDriver(
        (int(target[1]), int(target[2])) if target else (9, 0),
        _LARGEST,
        check_races="races" not in args.unchecked,
        check_uninitialized="uninitialized" not in args.unchecked,
        limit=args.limit,
    )
    function = driver.function(text, entry)
    _require_fitting(function, given)
    numbers = [each.bits if each.array is None else _placed(driver, each) for each in given]
    driver.launch(function, args.grid, args.block, numbers, args.shared)
    results = {k: _result(driver, k, each, numbers[k]) for k, each in enumerate(given) if each.array is not None}
    print(f"{entry}: {counted(args.grid, 'block')} of {args.block} threads")
    _show(function, given, results, args.print)
    if args.output is not None:
        _save(Path(args.output), results)


def _text(path: Path) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise ReadError(f"{path} is no PTX text: {error}", remedy="a cubin cannot be emulated: give the .ptx") from None


def _entry(text: str, asked: str | None) -> str:
    """The entry that was asked for, or the only one."""
    from pelton.runtime.emulator.link import entries

    known = entries(text)
    if asked is not None and asked not in known:
        raise UsageError(unknown("entry", asked, known))
    if asked is None and len(known) != 1:
        raise UsageError(
            f"choose one of the text's entries with --entry: {', '.join(known)}" if known else "the text has no .entry"
        )
    return asked or known[0]


# ---- arguments
def parsed(spelled: str, number: int) -> Given:
    """An argument out of its text. UsageError where it is none, ReadError for what is wrong with a file."""
    first, *rest = spelled.split(":")
    if not rest or spelled.endswith(".npy"):
        return _from_file(spelled, number)
    if first in MEMORY and len(rest) == 2:
        return _memory(spelled, first, _type(rest[0], number), _shape(rest[1], number), number)
    if len(rest) != 1:
        raise UsageError(f"argument {number}: {spelled!r} is none; expected {FORMS}")
    bits = _bits(rest[0], _type(first, number), number)
    return Given(spelled, int.from_bytes(bits, "little"), len(bits))


def _from_file(path: str, number: int) -> Given:
    from pelton.tools.arrays import read_any_npy

    if not path.endswith(".npy"):
        raise UsageError(f"argument {number}: {path!r} is none; expected {FORMS}")
    return Given(path, array=read_any_npy(Path(path)))


def _memory(spelled: str, kind: str, dtype: DType, shape: tuple[int, ...], number: int) -> Given:
    import numpy as np

    from pelton.tools.arrays import random_array

    array = random_array(dtype, shape, number) if kind == "random" else np.zeros(shape, dtype.to_numpy())
    return Given(spelled, array=array, written=kind != "empty")


def _type(name: str, number: int) -> DType:
    if name not in TYPES:
        raise UsageError(f"argument {number}: {unknown('element type', name, list(TYPES))}")
    return TYPES[name]


def _shape(text: str, number: int) -> tuple[int, ...]:
    sizes = text.split("x")
    if not all(size.isascii() and size.isdigit() and len(size) < 13 for size in sizes):
        raise UsageError(f"argument {number}: {text!r} is no shape such as 1024 or 3x200")
    shape = tuple(map(int, sizes))
    if prod(shape) > _LARGEST:
        raise UsageError(f"argument {number}: an array of {prod(shape)} elements is too large")
    return shape


def _bits(text: str, dtype: DType, number: int) -> bytes:
    import numpy as np

    try:
        if dtype.is_float():
            with np.errstate(over="ignore"):
                return np.float64(text).astype(dtype.to_numpy()).tobytes()
        value = int(text, 0)
        if dtype is DType.bool and value not in (0, 1):
            raise ValueError(text)
        return np.array(value, dtype.to_numpy()).tobytes()
    except (ValueError, OverflowError):
        raise UsageError(f"argument {number}: {text!r} is no {dtype.mlir}") from None


def _require_fitting(function: Function, given: Sequence[Given]) -> None:
    """UsageError where arguments and parameters differ in number or size."""
    parameters = [variable for variable, _ in function.code.program.parameters]
    if len(parameters) != len(given):
        raise UsageError(
            f"{function.entry} takes {counted(len(parameters), 'argument')}, got {len(given)}:\n"
            + "".join(f"  {v.name}: {counted(v.size, 'byte')}\n" for v in parameters)
            + f"give each, in order, as --arg {FORMS}"
        )
    for number, (variable, each) in enumerate(zip(parameters, given, strict=True)):
        if variable.size != each.size:
            what = "an address" if each.array is not None else each.spelled
            raise UsageError(
                f"argument {number}: {what} has {counted(each.size, 'byte')}, {variable.name} takes {variable.size}"
            )


# ---- memory
def _placed(driver: EmulatedDriver, given: Given) -> Address:
    assert given.array is not None
    address = driver.allocate(given.array.nbytes)
    if given.written:
        driver.write(address, given.array)
    return address


def _result(driver: EmulatedDriver, number: int, given: Given, address: int) -> NDArray[Any]:
    """What the array holds now. Uninitialised where it began empty and the kernel left it so."""
    import numpy as np

    from pelton.runtime.emulator import Uninitialised

    assert given.array is not None
    result = np.empty_like(given.array, order="C")
    try:
        driver.read(Address(address), result)
    except Uninitialised as error:
        which = error.message.removeprefix("read: ").split(" of ")[0]
        raise Uninitialised(
            f"argument {number} ({given.spelled}) was not filled: {which}",
            remedy="zeros: in the place of empty: shows what was stored",
        ) from None
    return result


# ---- results
def _show(function: Function, given: Sequence[Given], results: dict[int, NDArray[Any]], values: bool) -> None:
    import numpy as np

    from pelton.tools.arrays import summary

    rows: list[tuple[str, ...]] = [("argument", "given", "type", "min", "max", "mean", "")]
    for number, array in results.items():
        variable, _ = function.code.program.parameters[number]
        before = given[number].array
        same = given[number].written and before is not None and before.tobytes() == array.tobytes()
        kind = f"[({', '.join(map(str, array.shape))}), {_name(array)}]"
        numbers = summary(array) if array.dtype.kind != "V" else ("-", "-", "-")
        rows.append((variable.name, given[number].spelled, kind, *numbers, "as before" if same else "changed"))
    if results:
        print(table(rows, right=(3, 4, 5)))
    for number, array in results.items() if values else ():
        print(f"{function.code.program.parameters[number][0].name} =")
        print(np.array2string(array, threshold=1000, max_line_width=110))


def _name(array: NDArray[Any]) -> str:
    try:
        return DType.from_numpy(array.dtype).mlir
    except (TypeError, ValueError):
        return str(array.dtype)


def _save(folder: Path, results: dict[int, NDArray[Any]]) -> None:
    from pelton.tools.arrays import write_npy

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number, array in results.items():
        path = folder / f"arg{number}.npy"
        with writing(path):
            write_npy(path, array)
    print(f"wrote {counted(len(results), 'file')} to {folder}")
