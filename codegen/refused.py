"""Why Numba does not compile a user's body: its error enters, one that names the op, the line and what to do leaves."""

from __future__ import annotations

import re

from pelton.codegen.source import Source
from pelton.support.errors import CompileError


def refused(source: Source, error: BaseException, path: str = "", body: str = "body") -> CompileError:
    """The error for a text that stands in the file `path`, `<name>` without one; `body` is what its body is called."""
    reason = f"{error}"
    place = re.findall(rf" at {re.escape(path or f'<{source.name}>')} \((\d+)\)", reason)
    lines = source.text.splitlines()
    number = int(place[0]) if place else 0
    allocates = "NRT" in reason
    said = [line.strip() for line in reason.splitlines() if line.strip() and not line.startswith(("Failed in", "-"))]
    specific = re.search(r"(?:Numba|Cuda)\w+Error: (.+)", reason)
    return CompileError(
        f"the {body} of the custom op {source.name} " + ("allocates memory" if allocates else "does not compile"),
        op=source.name,
        location=f"line {number}: {lines[number - 1].strip()}" if 0 < number <= len(lines) else "",
        got="" if allocates else specific[1] if specific else " ".join(said[:2]),
        remedy="write into the results element by element; another result of the op can serve as scratch"
        if allocates
        else "see docs/custom_ops.md for what a body may do",
    )
