"""Every exception pelton raises on purpose: what went wrong enters as fields, a text with place and remedy leaves.

    Exception
    └─ PeltonError                     catches all of them
       ├─ KnobError          ValueError    an environment variable holds a value it cannot have
       ├─ CompileError       RuntimeError  a graph or a module that cannot be compiled
       │  ├─ ReadError                     a text or a file that is not what it claims to be
       │  ├─ VerifyError                   IR that breaks a rule of its dialect
       │  └─ InternalError                 a bug in pelton, not in the input
       ├─ ArtifactError      RuntimeError  a compiled file that is damaged or does not fit this machine
       ├─ WeightError        ValueError    a weight that is missing or has the wrong shape or dtype
       ├─ GraphError         ValueError    a graph built with shapes, dtypes or values that do not fit
       │  └─ GraphIndexError IndexError    an axis or an index out of range (a ValueError too)
       ├─ GraphTypeError     TypeError     a graph built with an object of the wrong kind
       ├─ NoGraphError       LookupError   an operation called where no graph is being built
       ├─ ArgumentError      ValueError    a value given to a model or a session that it cannot take
       ├─ ArgumentTypeError  TypeError     an argument of the wrong kind or on the wrong device
       ├─ CaptureError       RuntimeError  a key or buffers that are not those of a captured run
       ├─ DeviceError        RuntimeError  a GPU that is not there, or a call that its driver refuses
       │  ├─ DeviceMemoryError MemoryError  not enough memory on it
       │  ├─ DeviceCodeError               code it cannot run (an ArtifactError too)
       │  └─ DeviceLost                    a fault after which this process cannot use it any more
       └─ AssertionFailed    RuntimeError  an assert inside a running model did not hold

Each also derives from the built-in exception beside it, which is what the API promises.
"""

from __future__ import annotations

from typing import NamedTuple, Self


class Details(NamedTuple):
    """The parts of an error; the ones left empty are not printed. Field order is print order.

    `location` is the user's line where it is known, `source` what stands there, `replay` a script that shows the
    failure again.
    """

    op: str = ""
    location: str = ""
    source: str = ""
    expected: str = ""
    got: str = ""
    stage: str = ""
    remedy: str = ""
    replay: str = ""


LABELS = {
    "op": "op",
    "location": "at",
    "source": "source",
    "expected": "expected",
    "got": "got",
    "stage": "pass",
    "remedy": "remedy",
    "replay": "replay",
}


def format_error(message: str, details: Details) -> str:
    """`message`, then one aligned line per part that is known.

    >>> print(format_error("axis out of range", Details(op="nn.softmax", got="3", expected="-2 <= axis < 2")))
    axis out of range
      op:       nn.softmax
      expected: -2 <= axis < 2
      got:      3
    """
    known = [(LABELS[name] + ":", str(text)) for name, text in details._asdict().items()]
    lines = [f"  {label:<9} {_indent(text)}" for label, text in known if text]
    return "\n".join([message, *lines])


def _indent(text: str) -> str:
    """Continuation lines stand under the first one."""
    return text.rstrip().replace("\n", "\n" + " " * 12)


class PeltonError(Exception):
    """Base of every error raised on purpose: `message` says what is wrong, `details` where and what would be right."""

    def __init__(
        self,
        message: str,
        *,
        op: str = "",
        location: str = "",
        source: str = "",
        expected: str = "",
        got: str = "",
        stage: str = "",
        remedy: str = "",
        replay: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = Details(op, location, source, expected, got, stage, remedy, replay)

    def with_details(self, **known: str) -> Self:
        """An equal error with more details; the ones it has already stay."""
        own = {name: text for name, text in self.details._asdict().items() if text}
        return type(self)(self.message, **{**known, **own})

    def __str__(self) -> str:
        return format_error(self.message, self.details)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.details)


def _rebuild(kind: type[PeltonError], message: str, details: Details) -> PeltonError:
    """Unpickle: exceptions are rebuilt from positional arguments, which ours do not take."""
    return kind(message, **details._asdict())


def shortened(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shown(value: object) -> str:
    """A short text or number as it is; of anything else, whose text may be of any length, the type."""
    if isinstance(value, str):
        return repr(shortened(value, 80))
    short = isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64)
    kind = type(value).__name__
    return repr(value) if short else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


class KnobError(PeltonError, ValueError):
    """An environment variable holds a value it cannot have."""


class CompileError(PeltonError, RuntimeError):
    """A graph or a module cannot be compiled; `stage` names the pass that found out."""


class ReadError(CompileError):
    """A text or a file is not what it claims to be; `location` is `file:line:column`."""


class VerifyError(CompileError):
    """The IR breaks a rule of its dialect."""


class InternalError(CompileError):
    """A bug in pelton: no input should lead here."""


class ArtifactError(PeltonError, RuntimeError):
    """A compiled file is damaged, too new, or made for another machine."""


class WeightError(PeltonError, ValueError):
    """A weight is missing, or has the wrong shape or dtype."""


class GraphError(PeltonError, ValueError):
    """Shapes, dtypes or values given while a graph is built do not fit; `op` is the operation the user called."""


class GraphIndexError(GraphError, IndexError):
    """An axis or an index is out of range."""


class GraphTypeError(PeltonError, TypeError):
    """An object given while a graph is built is of a kind that does not serve there."""


class NoGraphError(PeltonError, LookupError):
    """No graph is being built where one is needed."""


class ArgumentError(PeltonError, ValueError):
    """The number, shape, dtype or contents of what was given to a model, or a value given to a session, do not fit."""


class ArgumentTypeError(PeltonError, TypeError):
    """An argument is of a kind the model or the session cannot take, or lives on another device."""


class CaptureError(PeltonError, RuntimeError):
    """A run that cannot be captured, is not captured, or was captured with other buffers or other launches."""


class DeviceError(PeltonError, RuntimeError):
    """A GPU is not there, or its driver refuses a call: the text names call, code and device."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A GPU has too little memory left."""


class DeviceCodeError(DeviceError, ArtifactError):
    """Code is damaged, or made for another GPU or a newer driver."""


class DeviceLost(DeviceError):
    """A fault, a kernel's for example, after which this process cannot use the GPU any more; others go on."""


class AssertionFailed(PeltonError, RuntimeError):
    """An assert inside a running model did not hold."""


def diagnostic(error: PeltonError, tool: str) -> str:
    """The error as compilers print it: `file:line:column: error: message`, or `tool: error: …` with no place known."""
    return (
        f"{error.details.location or tool}: error: {format_error(error.message, error.details._replace(location=''))}"
    )
