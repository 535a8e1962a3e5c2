"""A compilation that failed, explained: an exception of a pass or a printer enters, one short CompileError leaves.

It names the op, the user's line, what was expected and got, the pass, and a script that shows the failure again. Where
a pass leaves IR that is wrong and something later stumbles over it, the passes run again on a copy of the input, with
a check after each, so that the error names the pass at fault.
"""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from pelton.custom.bodies import find
from pelton.dialects.check import check_module, location_text, op_text
from pelton.dialects.context import new_context
from pelton.dialects.nn import CustomOp
from pelton.support.dump import write_reproducer
from pelton.support.errors import CompileError, InternalError, KnobError, shortened

LONGEST = 300
"""Characters of another library's message that are worth reading."""


@dataclass(frozen=True)
class Attempt:
    """What was tried: `module` is the input, as it was before any pass."""

    name: str
    module: ModuleOp
    passes: Sequence[ModulePass]

    def careful(self) -> tuple[str, Exception] | None:
        """Run the passes on a copy, with a check after each: the first pass that fails or leaves wrong IR, and how."""
        module, context = self.module.clone(), new_context()
        for each in self.passes:
            try:
                each.apply(context, module)
                check_module(module, each.name)
            except Exception as error:
                return each.name, error
        return None

    def in_pass(self, stage: str, error: Exception) -> CompileError:
        """The error to raise, from `error`, which came up in or after the pass called `stage`."""
        guilty, cause = self.careful() or (stage, error)
        names = [each.name for each in self.passes]
        last = self.passes[: names.index(guilty) + 1] if guilty in names else self.passes
        return self._told(cause, guilty, f"-p {shlex.quote(','.join(map(str, last)))}")

    def in_print(self, stage: str, target: str, place: str, error: Exception) -> CompileError:
        """The error to raise, from `error`, which came up when a kernel was printed as `target` after all passes."""
        pipeline = ",".join(map(str, self.passes))
        found = self._told(error, stage, f"-p {shlex.quote(pipeline)} -t {shlex.quote(target)}")
        own = found.details.location
        joined = ", ".join(part for part in (own, place) if part)
        return type(found)(found.message, **{**found.details._asdict(), "location": joined}) if own != place else found

    def _told(self, error: Exception, stage: str, options: str) -> CompileError:
        found = error if isinstance(error, CompileError) else _translated(error)
        op = guilty_op(error)
        place = {"op": op_text(op), "location": location_text(op)} if op is not None else {}
        return found.with_details(**place, stage=stage, replay=self._replay(options))

    def _replay(self, options: str) -> str:
        try:
            files = {"input.mlir": f"{self.module!s}\n"}
            if bodies := _bodies(self.module):
                files["bodies.py"] = bodies
                options = f"--extension bodies.py {options}"
            return str(write_reproducer(self.name, files, f"pelton-opt input.mlir {options}") / "run.sh")
        except (OSError, KnobError):  # the failure matters more
            return ""


def _bodies(module: ModuleOp) -> str:
    """Python that knows the bodies of the module's custom ops; empty where it has none."""
    digests = dict.fromkeys(op.body.data for op in module.walk() if isinstance(op, CustomOp))
    known = [body for digest in digests if (body := find(digest)) is not None]
    lines = ["from pelton.custom.bodies import BodyText, keep", *(f"keep({body!r})" for body in known), ""]
    return "\n".join(lines) if known else ""


def _translated(error: Exception) -> CompileError:
    """Any other exception in our words."""
    text = shortened(str(error), LONGEST)
    if isinstance(error, RecursionError):
        return CompileError("the program nests too deeply", got=text)
    if isinstance(error, ArithmeticError):
        return CompileError("the sizes of this model leave 64 bits", got=text)
    if isinstance(error, DiagnosticException):
        return CompileError(text)
    frames = traceback.extract_tb(error.__traceback__)
    where = f", raised at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return InternalError(
        "pelton cannot compile this, through a fault of its own",
        got=f"{type(error).__name__}: {text}{where}",
        remedy="please report it with the folder of the replay",
    )


def guilty_op(error: Exception) -> Operation | None:
    """The op that was worked on when `error` came up: of the innermost frame that has one, rather one with a place."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    seen: list[Operation] = []
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            if isinstance(value, Operation) and not isinstance(value, ModuleOp):
                if location_text(value):
                    return value
                seen.append(value)
    return seen[0] if seen else None
