"""`pelton`: runs, compiles, explains and measures a model from the command line; also as `python -m pelton`.

    pelton run scores.mlir --input x=x.npy --output results
    pelton compile scores.mlir -o scores.pelton
    pelton explain scores.mlir
    pelton bench scores.mlir --dim batch=8
    pelton emulate kernel.ptx --grid 4 --block 128 --arg x.npy

The command line enters; `run.py`, `bench.py`, `explain.py` and `emulate.py` do the work, and are imported when they
have some: help takes no longer than Python and argparse. Exit codes: `exits.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from pelton import __version__
from pelton.support.knobs import ASSERT_LEVELS, CPU_CAPS, GPU_TARGETS, LOG_LEVELS, MAX_THREADS
from pelton.support.levels import PROFILING_MODES
from pelton.tools.exits import DONE, check_environment, conducted

TOOL = "pelton"
FUNCTIONS = {
    "run": ("pelton.tools.run", "run"),
    "compile": ("pelton.tools.run", "compile_model"),
    "explain": ("pelton.tools.explain", "explain"),
    "bench": ("pelton.tools.bench", "bench"),
    "emulate": ("pelton.tools.emulate", "emulate"),
}
"""Module and function of each command."""
MODEL = "a .mlir file, or a .pelton file that `pelton compile` made"
ARGUMENTS = "FILE.npy, zeros:f32:3x200, random:f32:64, empty:f32:1024 (which nobody wrote), or a number i64:5, f32:1.5"
DEVICES = ("cpu", "gpu", "emulated")
EXIT_CODES = "Exit codes: 0 done; 1 a file, a model or a run failed; 2 the command line is wrong."
EXAMPLES = {
    "run": """\
  pelton run scores.mlir --input x=x.npy --input y=y.npy
  pelton run encoder.pelton --weights model.safetensors --input ids=ids.npy --output results
  pelton run scores.mlir --input x=x.npy --trace trace.json      then open the file in ui.perfetto.dev
  pelton run scores.mlir --input x=x.npy --device emulated       on a GPU that is not there""",
    "compile": """\
  pelton compile scores.mlir                                     makes scores.pelton, for this machine
  pelton compile scores.mlir -o out/scores.pelton --target avx2  for any machine that has AVX2
  pelton compile scores.mlir --target sm_90                      PTX for a GPU; there need be none here""",
    "explain": """\
  pelton explain scores.mlir
  pelton explain scores.mlir --target avx512                     needs no machine that has it
  pelton explain scores.pelton""",
    "bench": """\
  pelton bench scores.mlir --dim batch=8                         random inputs
  pelton bench encoder.mlir --shape ids=1x128 --shape mask=1x128 --threads 1
  pelton bench scores.pelton --input x=x.npy --input y=y.npy --runs 200""",
    "emulate": """\
  pelton emulate kernel.ptx --grid 4 --block 128 --arg x.npy --arg zeros:f32:512 --arg i64:512
  pelton emulate kernels.ptx --entry softmax --grid 3 --block 128 --arg x.npy --arg empty:f32:3x200 --output results
  pelton emulate kernel.ptx --block 32 --shared 1024 --arg random:f32:32 --arg f32:1.5 --print""",
}


def parser() -> argparse.ArgumentParser:
    """The command line, with all its help."""
    top = argparse.ArgumentParser(
        prog=TOOL,
        description="Run, compile, explain and measure models; run one kernel of a GPU without a GPU.",
        epilog="examples:\n" + "\n".join(text.splitlines()[0] for text in EXAMPLES.values()) + "\n\n" + EXIT_CODES
        + "\nEnvironment variables (PELTON_DEBUG, PELTON_TARGET, …) are described in support/knobs.py.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"pelton {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (does, configure) in COMMANDS.items():
        each = commands.add_parser(
            name,
            help=does,
            description=f"{does[0].upper()}{does[1:]}.",
            epilog=f"examples:\n{EXAMPLES[name]}\n\n{EXIT_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        configure(each)
    return top


def _model(to: argparse.ArgumentParser) -> None:
    to.add_argument("model", metavar="MODEL", help=MODEL)
    _repeated(to, "--extension", "FILE.py", "a file or a folder of custom ops of the model, which is run")


def _run(to: argparse.ArgumentParser) -> None:
    _model(to)
    _inputs(to)
    to.add_argument("--output", metavar="DIR", help="write each output to DIR/NAME.npy")
    to.add_argument("--trace", metavar="FILE.json", help="write stages and launches, for Perfetto or chrome://tracing")
    _running(to)
    _levels(to)


def _compile(to: argparse.ArgumentParser) -> None:
    to.add_argument("-o", "--output", metavar="FILE.pelton", help="where it goes (MODEL's name, in this folder)")
    _explain(to)


def _explain(to: argparse.ArgumentParser) -> None:
    _model(to)
    to.add_argument(
        "--target", choices=(*CPU_CAPS, *GPU_TARGETS),
        help="the instruction set (the best of this machine), or a GPU; a model that names none is all put there",
    )  # fmt: skip
    _levels(to)


def _bench(to: argparse.ArgumentParser) -> None:
    _model(to)
    _inputs(to)
    _repeated(to, "--shape", "NAME=1x128", "a random input of this shape")
    _repeated(to, "--dim", "SYMBOL=8", "the size that a symbol stands for, in every random input")
    to.add_argument("--runs", metavar="N", type=_number(1, 10**6), help="samples (what fits in a second)")
    to.add_argument("--warmup", metavar="N", type=_number(0, 10**6), default=3, help="executes before that (3)")
    _running(to)
    _levels(to)


def _emulate(to: argparse.ArgumentParser) -> None:
    to.add_argument("ptx", metavar="FILE.ptx", help="the text of one or more kernels")
    to.add_argument("--entry", metavar="NAME", help="the kernel (the only one of the text)")
    to.add_argument("--grid", metavar="N", type=_number(0, 2**31 - 1), default=1, help="blocks (1)")
    to.add_argument("--block", metavar="N", type=_number(1, 1024), default=128, help="threads per block (128)")
    to.add_argument(
        "--shared", metavar="BYTES", type=_number(0, 2**31 - 1), default=0, help="dynamic shared memory (0)"
    )
    _repeated(to, "--arg", "ARG", f"the next argument: {ARGUMENTS}")
    to.add_argument("--print", action="store_true", help="print what the arrays hold at the end")
    to.add_argument("--output", metavar="DIR", help="write each array to DIR/argN.npy, N counting arguments from 0")
    to.add_argument(
        "--unchecked", action="append", default=[], choices=("races", "uninitialized"),
        help="what not to look for; may be given several times",
    )  # fmt: skip
    to.add_argument(
        "--limit", metavar="N", type=_number(1, 10**12), default=1_000_000, help="basic blocks before giving up (10**6)"
    )


def _inputs(to: argparse.ArgumentParser) -> None:
    _repeated(to, "--input", "NAME=FILE.npy", "the array of an input")
    _repeated(to, "--weights", "FILE", "a .safetensors or .npz file that has weights by name")


def _repeated(to: argparse.ArgumentParser, flag: str, form: str, what: str) -> None:
    to.add_argument(flag, metavar=form, action="append", default=[], help=f"{what}; may be given several times")


def _running(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--device", choices=DEVICES, default="cpu",
        help="a GPU, or an emulated one, beside the CPU; a model that names none is all put there (cpu)",
    )  # fmt: skip
    to.add_argument("--threads", metavar="N", type=_number(1, MAX_THREADS), help="that run kernels (physical cores)")


def _levels(to: argparse.ArgumentParser) -> None:
    for flag, names, what in (
        ("--assert-level", ASSERT_LEVELS, "which asserts are compiled in"),
        ("--log-level", LOG_LEVELS, "which messages are compiled in: this level and above"),
        ("--profiling", PROFILING_MODES, "marks for a trace: around launches (on), copies and calls too (detailed)"),
    ):
        to.add_argument(flag, choices=[name.lower() for name in names], type=str.lower, help=what)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("execute a model once on arrays from files", _run),
    "compile": ("compile a graph to one file, which runs without the compiler", _compile),
    "explain": ("show what becomes one kernel, where it comes from, and what it costs", _explain),
    "bench": ("measure how long an execute takes", _bench),
    "emulate": ("run one kernel of a GPU in NumPy and check all it does", _emulate),
}
"""What each command does, in a line, and what it takes."""


def _number(low: int, high: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 19 and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
        return int(text)

    return number


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the command line's by default) and return the exit code."""
    return conducted(TOOL, lambda: _command(argv))


def _command(argv: Sequence[str] | None) -> int:
    args = parser().parse_args(argv)
    check_environment()
    module, function = FUNCTIONS[args.command]
    getattr(import_module(module), function)(args)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
