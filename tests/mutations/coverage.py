"""Which lines of a PTX text the emulator runs: what the tests do not reach they cannot judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from pelton.runtime.emulator import launch, schedule
from pelton.runtime.emulator.blocks import block_starts


@contextmanager
def reached_lines() -> Generator[dict[str, set[int]]]:
    """By text: the numbers (from 0) of lines whose instruction some thread came to while this lasted."""
    reached, texts = defaultdict[str, set[int]](set), dict[int, str]()
    ran = defaultdict[int, set[int]](set)
    programs = dict[int, Any]()
    prepare, execute = launch._code, schedule._execute  # pyright: ignore[reportPrivateUsage]

    def prepared(text: str, entry: str) -> Any:
        code = prepare(text, entry)
        texts[id(code.program)], programs[id(code.program)] = text, code.program
        return code

    def executed(machine: Any, block: Any, mask: Any) -> None:
        ran[id(machine.launch.program)].add(int(machine.block[mask][0]))
        execute(machine, block, mask)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "_code", prepared)
        patch.setattr(schedule, "_execute", executed)
        yield reached
    for key, blocks in ran.items():
        program = programs[key]
        starts = block_starts(program)
        for number in blocks:
            if number + 1 < len(starts):
                reached[texts[key]] |= {i.line - 1 for i in program.instructions[starts[number] : starts[number + 1]]}
