"""Faults that a compiler, or whoever writes a kernel, could make: PTX text enters; `faults_in` leaves each place where
one of `KINDS` can be planted. A fault changes, removes or replaces one instruction; the text stays well-formed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Change = Callable[[re.Match[str]], list[str]]


class Fault(NamedTuple):
    """A kind, the number of the line it changes, what stands there and what will, and what stands in front of it."""

    kind: str
    line: int
    old: str
    new: str
    before: str = ""

    def planted(self, text: str) -> str:
        """The text with the fault."""
        lines = text.splitlines()
        assert lines[self.line].strip() == self.old
        lines[self.line] = self.new
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return f"{self.old}  →  {self.new or 'nothing'}"

    @property
    def shown(self) -> str:
        """The same, behind the line in front of it, without the numbers of registers and labels, which change with
        every other kernel text.
        """
        text = re.sub(r"(%[a-z]+)\d+|(\$L__BB\d+_)\d+", r"\1\2", f"{self.before} | {self}")
        return re.sub(r"\s+", " ", text)


def _gone(_: re.Match[str]) -> list[str]:
    return [""]


def _moved(m: re.Match[str]) -> list[str]:
    """Accesses one element before and behind."""
    size, at = int(m["bits"]) // 8, int(m["at"] or 0)
    return [f"{m['head']}[{m['base']}{offset:+d}]{m['tail']}" for offset in (at - size, at + size)]


def _swapped(m: re.Match[str]) -> list[str]:
    same = m["a"] == m["b"] or m["head"].startswith(("setp.eq", "setp.ne"))
    return [] if same else [f"{m['head']}{m['b']}, {m['a']}{m['tail']}"]


def _other_constant(m: re.Match[str]) -> list[str]:
    """A shift by one more or less; any other constant one more or less, and twice."""
    value = int(m["n"])
    values = (value - 1, value + 1) if m["op"].startswith(("shl", "shr")) else (value - 1, value + 1, 2 * value)
    return [f"{m['head']}{v};" for v in values if v != value and (v > 0 or value < 1)]


PAIRS = {"add": "sub", "sub": "add", "max": "min", "min": "max", "and": "or", "or": "and", "div": "mul"}


def _replaced(m: re.Match[str]) -> list[str]:
    """Another operator, of the same type where it has that."""
    if m["op"] == "div":
        return [f"mul{'.rn' if '.rn' in m['rest'] else '.lo'}{m['rest'].replace('.rn', '')}"]
    return [f"{PAIRS[m['op']]}{m['rest']}"]


OPPOSITES = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq", "neu": "eq", "ltu": "geu"}


def _opposite(m: re.Match[str]) -> list[str]:
    return [f"setp.{OPPOSITES[m['how']]}{m['rest']}"] if m["how"] in OPPOSITES else []


def _other_start(m: re.Match[str]) -> list[str]:
    value = m["n"]
    if value.startswith(("0f", "0d")):
        one = {"0f": "0f3F800000", "0d": "0d3FF0000000000000"}[value[:2]]
        return [f"{m['head']}{one};"] if value != one else []
    return [f"{m['head']}{int(value) + 1};"]


_A, _OP = r"[^,;]+", r"(?P<op>[a-z]+)"
KINDS: dict[str, tuple[re.Pattern[str], Change]] = {
    "barrier removed": (re.compile(r"bar\.(warp\.)?sync\b.*"), _gone),
    "wait removed": (re.compile(r"(cp\.async\.(bulk\.)?wait|mbarrier\.(try_|test_)?wait|membar|fence).*"), _gone),
    "guard dropped": (re.compile(r"@!?%p\d+ (?P<rest>.*)"), lambda m: [m["rest"]]),
    "guard negated": (re.compile(r"@(?P<p>%p\d+ .*)"), lambda m: [f"@!{m['p']}"]),
    "guarded dropped": (re.compile(r"@!?%p\d+ .*"), _gone),
    "offset ± 1": (
        re.compile(
            r"(?P<head>(?:ld|st|atom)(?:\.volatile)?\.(?:global|shared|local)\S*\.[a-z](?P<bits>\d+) .*?)"
            r"\[(?P<base>[^\]+]+)(?:\+(?P<at>-?\d+))?\](?P<tail>.*)"
        ),
        _moved,
    ),
    "operands swapped": (
        re.compile(rf"(?P<head>(?:sub|div|setp|selp|shl|shr|rem)\S* *\t?{_A}, )(?P<a>{_A}), (?P<b>{_A})(?P<tail>.*;)"),
        _swapped,
    ),
    "factors swapped": (
        re.compile(rf"(?P<head>(?:fma|mad)\S* *\t?{_A}, {_A}, )(?P<a>{_A}), (?P<b>{_A})(?P<tail>;)"),
        _swapped,
    ),
    "constant changed": (
        re.compile(rf"(?P<head>{_OP}\.\S*[bus]\d\d *\t?{_A}, {_A}, )(?P<n>-?\d+);"),
        _other_constant,
    ),
    "exchange distance": (
        re.compile(r"(?P<head>shfl\.sync\.\w+\.b32 \S+ \S+ )(?P<n>\d+)(?P<tail>,.*)"),
        lambda m: [f"{m['head']}{n}{m['tail']}" for n in (int(m["n"]) // 2, 2 * int(m["n"])) if n < 32],
    ),
    "exchange dropped": (
        re.compile(r"shfl\.sync\.\w+\.b32 \t?(?P<to>%r\d+)(?:\|%p\d+)?, (?P<of>%r\d+),.*"),
        lambda m: [f"mov.b32 {m['to']}, {m['of']};"],
    ),
    "start removed": (re.compile(r"mov\.[a-z]\d+ \s*%\w+, (?:0[fd][0-9A-F]+|-?\d+);"), _gone),
    "start changed": (
        re.compile(r"(?P<head>mov\.[a-z]\d+ \s*%\w+, )(?P<n>0[fd][0-9A-F]+|-?\d+);"),
        _other_start,
    ),
    "operator replaced": (
        re.compile(r"(?P<op>add|sub|max|min|and|or|div)(?P<rest>\.\S+ .*)"),
        _replaced,
    ),
    "comparison turned": (re.compile(r"setp\.(?P<how>\w+)(?P<rest>\.\S+ .*)"), _opposite),
    "store removed": (re.compile(r"st\.(?:volatile\.)?(?:global|shared|local)\S* .*"), _gone),
    "not atomic": (
        re.compile(r"atom\.(?P<space>global\.|shared\.)?\w+\.[a-z](?P<bits>\d+) \s*(?P<to>%\w+), (?P<at>\[\S+\]),.*"),
        lambda m: [f"ld.{m['space'] or ''}u{m['bits']} {m['to']}, {m['at']};"],
    ),
    "argument exchanged": (
        re.compile(r"(?P<head>ld\.param\.u64 .*_param_)(?P<n>\d+)(?P<tail>\];)"),
        lambda m: [f"{m['head']}{int(m['n']) ^ 1}{m['tail']}"],
    ),
}


def faults_in(text: str) -> Iterator[Fault]:
    """Every fault that can be planted in the text, line by line."""
    lines = [line.strip() for line in text.splitlines()]
    parameters = text.count(".param .u64")
    for number, line in enumerate(lines):
        for kind, (pattern, change) in KINDS.items():
            if found := pattern.fullmatch(line):
                wrong = [new for new in change(found) if f"_param_{parameters}]" not in new]
                yield from (Fault(kind, number, line, new, lines[number - 1]) for new in wrong)
