"""Lit tests without subprocesses: the RUN lines of a `.mlir` file enter, the text of a failure (or nothing) leaves.

A RUN line of the form `[not] pelton-opt … [2>&1] | … | filecheck %s …` (or `pelton`) is run in this process, which is
some twenty times faster than a shell and an interpreter per command. Any other line makes the whole file run under
lit's own shell.
Both `pytest` (tests/test_lit.py) and plain `lit tests/lit` (tests/lit/lit.cfg.py) come through here.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import lit.Test
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser
from lit.formats import ShTest

from pelton.tools import cli, opt

TOOLS = {"pelton-opt": opt.main, "pelton": cli.main}
RUN = re.compile(r"^\s*//\s*RUN:\s*(.*)$")
SHELL_WORDS = frozenset("<>;&()$`")
LIT_KEYWORDS = re.compile(r"//\s*(REQUIRES|UNSUPPORTED|XFAIL|END|ALLOW_RETRIES)[.:]")


@dataclass(frozen=True)
class Command:
    """One stage of a RUN line; `negated` expects a failure, `merged` sends stderr down the pipe too."""

    words: tuple[str, ...]
    negated: bool = False
    merged: bool = False


def run_lines(path: Path) -> list[str]:
    """The RUN lines of a file, continuations joined and `%s`, `%S` replaced."""
    joined: list[str] = []
    open_line = False
    for line in path.read_text().splitlines():
        if match := RUN.match(line):
            text = match[1].strip()
            joined[-1:] = [joined[-1] + " " + text] if open_line else [*joined[-1:], text]
            open_line = text.endswith("\\")
            joined[-1] = joined[-1].removesuffix("\\").strip()
    return [line.replace("%s", str(path)).replace("%S", str(path.parent)) for line in joined]


def parse_line(line: str) -> list[Command] | None:
    """The pipeline a RUN line spells, or None when it needs a shell."""
    lexer = shlex.shlex(line.replace("2>&1", ""), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    if "%" in line or any(token and set(token) <= SHELL_WORDS for token in lexer):
        return None
    commands: list[Command] = []
    for part in _split_pipes(line):
        merged = part.endswith("2>&1")
        words = shlex.split(part.removesuffix("2>&1"))
        negated = words[:1] == ["not"]
        commands.append(Command(tuple(words[negated:]), negated, merged))
    known = all(c.words and c.words[0] in (*TOOLS, "filecheck") for c in commands)
    return commands if known and all(c.words[0] != "filecheck" for c in commands[:-1]) else None


def _split_pipes(line: str) -> list[str]:
    """Split at `|` outside quotes."""
    return [part.strip() for part in re.split(r"\|(?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)", line)]


@contextmanager
def _stdin(data: bytes) -> Generator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before


def _run(command: Command, data: str) -> tuple[int, str, str]:
    """Run one command on `data`: exit code, what goes down the pipe, what the user would see."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(out if command.merged else err), _stdin(data.encode()):
        tool = TOOLS.get(command.words[0])
        code = tool(list(command.words[1:])) if tool is not None else _filecheck(command, data)
    return code, out.getvalue(), err.getvalue()


def _filecheck(command: Command, data: str) -> int:
    options = parse_argv_options(list(command.words))
    with redirect_stdout(sys.stderr):
        return Matcher(options, FInput("-", data), Parser.from_opts(options)).run()


def run_file(path: Path) -> str | None:
    """Run every RUN line. Returns None when all pass, else what failed; raises NeedsShell for lines this cannot run."""
    lines = run_lines(path)
    if not lines:
        return f"{path}: no RUN line"
    pipelines = [parse_line(line) for line in lines]
    if LIT_KEYWORDS.search(path.read_text()):
        raise NeedsShell(path)
    for line, pipeline in zip(lines, pipelines, strict=True):
        if pipeline is None:
            raise NeedsShell(line)
        data = ""
        for command in pipeline:
            code, passed_on, seen = _run(command, data)
            if (code != 0) != command.negated:
                shown = data if command.words[0] == "filecheck" else passed_on
                return f"RUN: {line}\n{command.words[0]} exited with {code}\n{seen}\n--- its text:\n{shown}"
            data = passed_on
    return None


class NeedsShell(Exception):
    """A RUN line that only a shell can run."""


class InProcess(ShTest):
    """The lit format: in this process where possible, else lit's shell."""

    def execute(self, test: lit.Test.Test, litConfig: object) -> object:
        try:
            failure = run_file(Path(test.getSourcePath()))
        except NeedsShell:
            return super().execute(test, litConfig)
        return (lit.Test.FAIL, failure) if failure else (lit.Test.PASS, "")
