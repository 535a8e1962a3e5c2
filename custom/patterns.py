"""What a custom op says of its values and results: a text such as `"f32[..., n], T[n] -> T[..., n]"` enters, patterns
leave.

A dtype is a name (`f32`), several (`f32|f64`), a class (`float`, `int`, `any`) or a capital letter, which stands for
one dtype throughout. A size is a number or a name, which stands for one size throughout; `...` for any number of
leading dims, the same in all patterns that have it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pelton.dtype import DType
from pelton.support.errors import GraphError

CLASSES = ("float", "int", "any")
ITEM = re.compile(r"\s*([\w|]+)\s*\[([^\[\]]*)\]\s*")
FORM = 'dtype[sizes] for each value, an arrow, and the results: "f32[..., n], f32[n] -> f32[..., n]"'


class Pattern(NamedTuple):
    """The type of one value: what dtypes it may have, whether it has leading dims of any number, its other dims."""

    dtypes: tuple[str, ...]
    leading: bool
    dims: tuple[int | str, ...]

    def __str__(self) -> str:
        sizes = [*(["..."] if self.leading else []), *map(str, self.dims)]
        return f"{'|'.join(self.dtypes)}[{', '.join(sizes)}]"


class Types(NamedTuple):
    """What an op takes and gives."""

    inputs: tuple[Pattern, ...]
    outputs: tuple[Pattern, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"


def is_variable(dtype: str) -> bool:
    """Whether it stands for a dtype that the values decide."""
    return len(dtype) == 1 and dtype.isupper()


def parse_types(name: str, text: str, where: str) -> Types:
    """The patterns in a text. Raises GraphError saying what is wrong with it."""

    def wrong(got: str) -> GraphError:
        return GraphError(f"custom op {name!r}: its types cannot be read", location=where, expected=FORM, got=got)

    sides = text.split("->") if isinstance(text, str) else []  # pyright: ignore[reportUnnecessaryIsInstance]
    if len(sides) != 2:
        raise wrong(repr(text))
    try:
        inputs, outputs = (_side(side) for side in sides)
    except ValueError as error:
        raise wrong(str(error)) from error
    named = {d for p in inputs for d in p.dims if isinstance(d, str)}
    for pattern in outputs:
        if unknown := [d for d in pattern.dims if isinstance(d, str) and d not in named]:
            raise wrong(f"a result with the size {unknown[0]}, which no value has")
        if pattern.leading and not any(p.leading for p in inputs):
            raise wrong("a result with leading dims, where no value has any")
        if not pattern.leading and any(p.leading for p in inputs):
            raise wrong("a result without the leading dims of the values: each call of the body would write all of it")
    return Types(inputs, outputs)


def _side(text: str) -> tuple[Pattern, ...]:
    found: list[Pattern] = []
    at = 0
    while text[at:].strip():
        match = ITEM.match(text, at)
        if match is None:
            raise ValueError(repr(text[at:].strip()))
        found.append(_pattern(match[1], match[2]))
        at = match.end()
        if text[at : at + 1] == ",":
            at += 1
        elif text[at:].strip():
            raise ValueError(f"{text[at:].strip()!r} after {match[0].strip()}")
    return tuple(found)


def _pattern(dtype: str, sizes: str) -> Pattern:
    dtypes = tuple(dtype.split("|"))
    for d in dtypes:
        if not (d in CLASSES or is_variable(d)):
            DType(d)  # a ValueError that lists what there is
    words = [word.strip() for word in sizes.split(",")] if sizes.strip() else []
    leading = words[:1] == ["..."]
    dims = [_size(word) for word in words[leading:]]
    return Pattern(dtypes, leading, tuple(dims))


def _size(word: str) -> int | str:
    if word.isdecimal():
        return int(word)
    if not word.isidentifier():
        raise ValueError(f"the size {word!r}" + (", which has to come first" if word == "..." else ""))
    return word
