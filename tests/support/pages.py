"""Pages of documentation as programs: a page enters, runs from top to bottom, and leaves with what its commands print.

| block | what becomes of it |
|---|---|
| `python` | runs; the blocks of a page share their names |
| `console` | each `$ command` runs in a shell; what follows it is what it prints, `…` stands for anything |
| `diff` | is applied to the page's own copy of the repository, in which its commands then run |
| with a file name, as `python program.py` | becomes that file |
| any other | is only shown |

A command that shows no output has to succeed, and may print what it likes. A diff needs no line numbers: each hunk
names its place by the lines it keeps or removes, which have to occur once in the file. A file that does not exist yet
has `--- /dev/null`.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from pelton.tools.opt import main

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)(?: ([\w.]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
PLAIN = re.compile(r"pelton-opt [^|;&<>$`]*")
"""A command of our tool alone, which needs no process of its own."""


COMMANDS = {
    "python": "",
    "pelton": "-m pelton",
    "pelton-opt": "-m pelton.tools.opt",
    "pytest": "-m pytest",
    "ruff": "-m ruff",
}
"""What an activated environment has, as arguments of Python."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its file name if it has one, its text, and where the text stands in the page."""

    language: str
    file: str
    text: str
    start: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page that name a language, in order."""
    return [Block(match[1], match[2] or "", match[3], match.start(3)) for match in BLOCK.finditer(page)]


@dataclass
class Reader:
    """Somebody who does what a page says, in `folder`; `copy` where the page changes the repository."""

    folder: Path
    copy: bool = False
    names: dict[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        if self.copy:
            copy_repository(self.folder)

    def read(self, page: str, file_name: str) -> str:
        """The page as it should be: the outputs of its commands put in where they differ."""
        result, end = "", 0
        for block in blocks(page):
            result += page[end : block.start]
            end = block.start + len(block.text)
            result += self.follow(block, page.count("\n", 0, block.start), file_name)
        return result + page[end:]

    def follow(self, block: Block, lines_before: int, file_name: str) -> str:
        match block.language:
            case _ if block.file:
                (self.folder / block.file).write_text(block.text)
            case "console":
                return COMMAND.sub(lambda m: f"$ {m[1]}\n{self.output(m[1], m[2])}", block.text)
            case "diff":
                apply_diff(block.text, self.folder)
            case "python" if self.copy:
                self.succeed([sys.executable, "-c", block.text])
            case "python":
                exec(compile("\n" * lines_before + block.text, file_name, "exec"), self.names)
            case _:
                pass
        return block.text

    def output(self, command: str, shown: str) -> str:
        """What the command prints; `shown` where that agrees with it."""
        if not shown:
            self.succeed(["bash", "-c", command])
            return shown
        printed = self.shell(command)
        return shown if agrees(shown, printed) else printed

    def shell(self, command: str) -> str:
        """Standard output and error of a command line, blank lines at both ends left out."""
        text, left = "", command
        first, _, rest = command.partition(" | ")
        if not self.copy and PLAIN.fullmatch(first):
            text, left = own_tool(shlex.split(first)[1:]), rest
        if left:
            done = subprocess.run(
                ["bash", "-c", left], input=text, cwd=self.folder, env=self.environment(), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
            text = done.stdout
        return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"

    def succeed(self, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command[-1]}\nexited with {done.returncode}\n{done.stdout}{done.stderr}"

    def environment(self) -> dict[str, str]:
        """The commands of the package and of its tests, as an activated environment has them."""
        bin_folder = self.folder.parent / f"{self.folder.name}-bin"
        if not bin_folder.exists():
            bin_folder.mkdir()
            for name, words in COMMANDS.items():
                script = bin_folder / name
                script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
                script.chmod(0o755)
        outside = {key: value for key, value in os.environ.items() if not key.startswith(("PELTON_", "PYTEST_"))}
        return outside | {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str((self.folder if self.copy else ROOT) / ".typing"),
            "PELTON_CACHE_DIR": str(self.folder.parent / f"{self.folder.name}-cache"),
        }


def own_tool(arguments: list[str]) -> str:
    """What `pelton-opt` prints, run in this process and folder."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        main(arguments)
    return out.getvalue()


def agrees(shown: str, printed: str) -> bool:
    """Whether the page shows what is printed; `…` stands for any text, lines included."""
    pattern = re.escape(shown).replace(re.escape("…"), "(?:.|\n)*?")
    return re.fullmatch(pattern, printed) is not None


def copy_repository(folder: Path) -> None:
    """The repository's files, in `folder`, with the bytecode of those that stay as they are; environments, caches and
    history stay behind.
    """

    def left_out(_: str, names: list[str]) -> set[str]:
        hidden = {name for name in names if name.startswith(".") and name not in (".typing", ".gitignore")}
        return hidden | ({"build", "dist", "Output"} & set(names))

    shutil.copytree(ROOT, folder, symlinks=True, ignore=left_out, dirs_exist_ok=True)


def apply_diff(text: str, folder: Path) -> None:
    """Change the files under `folder` as a diff says. Raises ValueError for a hunk that has no place, or several."""
    for old, new, hunks in _files(text):
        path = folder / new.removeprefix("b/")
        if old == "/dev/null":
            if path.exists():
                raise ValueError(f"{path} exists already")
            path.write_text("".join(added for _, added in hunks))
            continue
        content = path.read_text()
        for before, after in hunks:
            place = re.compile(f"^{re.escape(before)}", re.MULTILINE)
            if (count := len(place.findall(content))) != 1:
                raise ValueError(f"{new}: these lines occur {count} times, not once:\n{before}")
            content = place.sub(lambda _, lines=after: lines, content)
        path.write_text(content)


def _files(text: str) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Per file of a diff: its old name, its new name, and its hunks as (lines before, lines after)."""
    for part in re.split(r"^(?=--- )", text, flags=re.MULTILINE)[1:]:
        names, *hunks = re.split(r"^@@.*\n", part, flags=re.MULTILINE)
        old, new = (line.split(maxsplit=1)[1] for line in names.splitlines())
        yield old, new, [(_side(hunk, "-"), _side(hunk, "+")) for hunk in hunks]


def _side(hunk: str, mark: str) -> str:
    """The lines of a hunk that stand on one side. An empty line is a kept one."""
    lines = hunk.splitlines()
    return "".join(f"{line[1:]}\n" for line in lines if not line or line[0] in (" ", mark))
