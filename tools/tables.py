"""Tables as plain text: rows of cells enter, aligned lines leave."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: str = "  ") -> str:
    """The rows under each other, the first one being the head. Columns in `right` end at the same place, others begin
    there; two spaces lie between.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def amount(number: float, unit: str) -> str:
    """A number of things with the prefix that keeps it short: `1.2 MB`."""
    for prefix in ("", "k", "M", "G", "T"):
        if abs(number) < 1000 or prefix == "T":
            break
        number /= 1000
    return f"{number:.3g} {prefix}{unit}" if abs(number) < 1000 else f"{number:.0f} {prefix}{unit}"


def duration(nanoseconds: float) -> str:
    """A time with its unit: `3.21 µs`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            number = nanoseconds / size
            return f"{number:.3g} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{nanoseconds:.0f} ns"


def counted(number: int, thing: str) -> str:
    """`1 kernel`, `2 kernels`, `3 launches`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}{'es' if thing.endswith('ch') else 's'}"
