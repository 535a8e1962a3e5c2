"""`pelton-opt`: reads `.mlir`, runs passes and pipelines by name, prints the result for a target.

    pelton-opt model.mlir -p simplify,expand-ops                passes, with options as in -p 'split-lanes{tile=1024}'
    pelton-opt model.mlir -p cpu-avx2 -t numba-cpu              a named pipeline, printed as source

Text enters through `dialects.reader`, is checked by `dialects.check` after reading and after each pass, and leaves on
stdout; timings and the IR between passes go to stderr. Exit code: 0 done, 1 the input is wrong, 2 the command line is
wrong. No input ends in a Python traceback; `PELTON_DEBUG=1` asks for one where pelton itself is at fault.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.frontend import get_all_frontends
from xdsl.ir import Attribute
from xdsl.passes import ModulePass, PassPipeline
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import VersionAction, xDSLOptMain

from pelton.dialects.check import check_module
from pelton.dialects.reader import read_module
from pelton.support.dump import Dump
from pelton.support.errors import CompileError, InternalError, PeltonError, ReadError, diagnostic
from pelton.support.files import write_atomically
from pelton.tools import universe
from pelton.tools.exits import DONE, FAILED, UsageError, check_environment, complain, conducted, internal_error, unknown

TOOL = "pelton-opt"


PASSES_HELP = "passes and pipelines to run, separated by commas; options follow in braces: 'name{size=16,8 fast=true}'"
EXTENSION_HELP = "a file with the bodies of custom ops, which is run; may stand several times"
SWITCHES = {
    "--split-input-file": "treat the pieces between lines `// -----` as inputs of their own",
    "--verify-diagnostics": "print each error in place of its input's result, and exit with 0",
    "--parsing-diagnostics": "the same for errors of reading only",
    "--disable-verify": "do not check the IR before, between and after passes",
    "--allow-unregistered-dialect": "accept ops of unknown dialects in their generic form",
    "--print-between-passes": "print the IR between passes on stderr",
    "--time-passes": "print the CPU time of each pass on stderr",
    "--print-op-generic": "print ops in their generic form",
    "--print-no-properties": "print properties as attributes",
    "--print-debuginfo": "print the location of each op",
    "--syntax-highlight": "colour the printed IR",
}
"""Flags of xDSL's driver that mean the same here; the base class reads some of them."""


class PeltonOpt(xDSLOptMain):
    """xDSL's driver with our tables, located errors, and a check after every pass."""

    version_format = "pelton-opt (xdsl {xdsl_version})"
    targets: dict[str, Callable[[], type[Target]]]
    target: Target
    dump: Dump
    stage: str = ""
    started: float = 0.0

    def register_all_dialects(self) -> None:
        for name, factory in universe.opt_dialects().items():
            self.ctx.register_dialect(name, factory)

    def register_all_frontends(self) -> None:
        self.available_frontends["mlir"] = get_all_frontends()["mlir"]

    def register_all_passes(self) -> None:
        self.available_passes.update(universe.opt_passes())

    def register_all_targets(self) -> None:
        self.targets = {"mlir": lambda: MLIRTarget} | universe.our_targets()
        self.available_targets.update(self.targets)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        arg_parser.prog = TOOL
        arg_parser.add_argument("input_file", nargs="?", help="the .mlir file; standard input when left out")
        arg_parser.add_argument("-o", "--output-file", help="where the result goes; standard output when left out")
        arg_parser.add_argument("-p", "--passes", default="", help=PASSES_HELP)
        arg_parser.add_argument("-t", "--target", default="mlir", help="what to print, with options as for passes")
        arg_parser.add_argument("-v", "--version", action=VersionAction, version_format=self.version_format)
        arg_parser.add_argument("--extension", action="append", default=[], metavar="FILE.py", help=EXTENSION_HELP)
        for flag, meaning in SWITCHES.items():
            arg_parser.add_argument(flag, action="store_true", help=meaning)
        arg_parser.set_defaults(frontend=None)
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        tables = {"passes": self.available_passes, "pipelines": universe.PIPELINES, "targets": self.targets}
        arg_parser.epilog = "\n".join(f"{title}: {', '.join(names)}" for title, names in tables.items())

    def setup_pipeline(self) -> None:
        """Build every pass that is asked for, and the target with its options, before anything is read."""
        try:
            self.pipeline = PassPipeline(tuple(map(self._build, self._expanded(self.args.passes))), self._between)
            self.target = self._target(parse_spec(self.args.target))
        except ArgSpecParseError as error:
            raise UsageError(str(error).rstrip()) from error

    def _expanded(self, text: str, inside: tuple[str, ...] = ()) -> Iterator[ArgSpec]:
        """The passes that `text` names, pipelines replaced by what they stand for."""
        for spec in parse_pipeline(text):
            if spec.name in self.available_passes:
                yield spec
                continue
            pipelines = universe.pipelines()
            if spec.name not in pipelines:
                raise UsageError(unknown("pass or pipeline", spec.name, [*self.available_passes, *pipelines]))
            if spec.parameters or spec.name in inside:
                raise UsageError(
                    f"pipeline '{spec.name}' " + ("has no options" if spec.parameters else "contains itself")
                )
            yield from self._expanded(pipelines[spec.name], (*inside, spec.name))

    def _build(self, spec: ArgSpec) -> ModulePass:
        kind = self.available_passes[spec.name]()
        try:
            return kind.from_spec(spec)
        except Exception as error:
            raise UsageError(f"pass '{spec.name}': {error}") from error

    def _target(self, spec: ArgSpec) -> Target:
        try:
            if spec.name == "mlir":
                return replace(
                    MLIRTarget.from_spec(spec),
                    print_generic_format=self.args.print_op_generic,
                    print_properties_as_attributes=self.args.print_no_properties,
                    print_debuginfo=self.args.print_debuginfo,
                    syntax_highlight=self.args.syntax_highlight,
                )
            return self.targets[spec.name]().from_spec(spec)
        except ValueError as error:
            raise UsageError(f"target '{spec.name}': {error}") from error

    def _between(self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
        """After each pass, and before the first: time, check, show, dump."""
        if previous is not None and self.args.time_passes:
            print(f"{(time.process_time() - self.started) * 1e3:9.1f} ms  {previous.name}", file=sys.stderr)
        if not self.args.disable_verify:
            check_module(module, self.stage)
        if previous is not None and following is not None and self.args.print_between_passes:
            print(f"// IR after {previous.name}", str(module), sep="\n", file=sys.stderr)
        if self.dump.folder is not None:
            source = self.dump.last()
            command = (
                f"{TOOL} {source} -p {shlex.quote(str(previous))}" if previous else f"{TOOL} {self.get_input_name()}"
            )
            self.dump.write(previous.name if previous else "input", ".mlir", str(module) + "\n", command)
        self.stage = following.name if following is not None else ""
        self.started = time.process_time()

    def execute(self) -> int:
        """Read, transform and print every chunk of the input; the exit code."""
        name = self.get_input_name()
        self.dump = Dump.begin(Path(name).stem)
        if self.args.extension:
            from pelton.custom.extensions import provide  # what runs files of users is loaded where there are some

            provide(self.args.extension, empty=True)
        failed = False
        texts: list[str] = []
        for text, offset in self._chunks(self._read_input(name)):
            try:
                texts.append(self._process(text, name, offset))
            except PeltonError as error:
                expected = self._expected(error)
                failed = failed or not expected
                (texts.append if expected else complain)(diagnostic(error, TOOL) + "\n")
        if not (failed and self.args.output_file):
            self._write("// -----\n".join(texts))
        return FAILED if failed else DONE

    def _expected(self, error: PeltonError) -> bool:
        """Whether the command line asked for this error. Nobody asks for a bug."""
        if self.args.verify_diagnostics:
            return not isinstance(error, InternalError)
        return self.args.parsing_diagnostics and isinstance(error, ReadError)

    def _read_input(self, name: str) -> bytes:
        if not self.args.input_file and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise ReadError("standard input is closed", remedy="name the file")
        try:
            return Path(name).read_bytes() if self.args.input_file else sys.stdin.buffer.read()
        except OSError as error:
            raise ReadError(f"cannot read the file: {error.strerror}", location=name) from error

    def _chunks(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        """The pieces between `// -----` lines, each with the number of lines before it."""
        pieces = data.split(b"// -----") if self.args.split_input_file else [data]
        offset = 0
        for piece in pieces:
            yield piece, offset
            offset += piece.count(b"\n")

    def _process(self, data: bytes, name: str, offset: int) -> str:
        """One chunk from text to text. Raises PeltonError, and nothing else, for whatever goes wrong."""
        self.stage = ""
        try:
            module = read_module(self.ctx, data, name, offset)
            self.pipeline.apply(self.ctx, module)
            self.stage = f"-t {self.target.name}"
            out = StringIO()
            self.target.emit(self.ctx, module, out)
            return f"{text}\n" if (text := out.getvalue().rstrip("\n")) else ""
        except PeltonError:
            raise
        except RecursionError as error:
            raise CompileError("the program nests too deeply", stage=self.stage) from error
        except DiagnosticException as error:
            raise CompileError(str(error), stage=self.stage) from error
        except Exception as error:
            raise internal_error(error, self.stage) from error

    def _write(self, text: str) -> None:
        path = self.args.output_file
        if path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        try:
            write_atomically(Path(path).absolute(), text.encode())
        except OSError as error:
            raise CompileError(f"cannot write the file: {error.strerror}", location=path) from error


@contextmanager
def _verification_restored() -> Generator[None]:
    """`--disable-verify` switches a check of xDSL off for the whole process; tests run many tools in one."""
    check = Attribute.__post_init__
    try:
        yield
    finally:
        Attribute.__post_init__ = check


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the command line's by default) and return the exit code."""
    return conducted(TOOL, lambda: _executed(argv))


def _executed(argv: Sequence[str] | None) -> int:
    try:
        with _verification_restored():
            tool = PeltonOpt(description="Run pelton's passes on .mlir text.", args=argv)
            check_environment()
            return tool.execute()
    except ArgSpecParseError as error:
        raise UsageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
