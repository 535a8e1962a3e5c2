"""`pelton explain`: a model file enters; what becomes a kernel, and why, leaves as a table.

A `.mlir` file goes through all passes, and no machine code is made. Rows are kinds of launches: equal kernels at equal
sizes. A `.pelton` artifact knows its kernels and launches, not the graph they came from. Bytes are the least that a
launch moves, flops the multiplications and additions of a product.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pelton.program import Op, instructions
from pelton.tools.run import options_of
from pelton.tools.subject import Subject, open_model
from pelton.tools.tables import amount, counted, table

if TYPE_CHECKING:
    from pelton.artifact import Artifact


def explain(args: Namespace) -> None:
    """Print the table."""
    subject = open_model(Path(args.model))
    print(_of_artifact(subject.artifact) if subject.artifact is not None else _of_graph(args, subject))


def _of_graph(args: Namespace, subject: Subject) -> str:
    """What the passes decide."""
    from pelton.sight import launches_of

    compilation = subject.compilation(args.target, options_of(args))
    compilation.sight.keep = True
    module = compilation.passes()
    launches = launches_of(compilation.sight.groups, module)
    found: dict[tuple[str, ...], list[str]] = {}
    for launch in launches:
        g = launch.group
        key = (f"@{g.function}", launch.kernel, g.kind, g.result, launch.bytes, launch.flops, " ".join(g.ops))
        found.setdefault(key, []).append(_short(g.place))
    rows = [("in", "kernel", "loops", "launches", "result", "bytes", "flops", "made at", "computes")]
    rows += [(*key[:3], f"{len(places)}", *key[3:6], places[0], key[6]) for key, places in found.items()]
    kernels = len({launch.kernel for launch in launches})
    counts = f"{counted(kernels, 'kernel')}, {counted(len(launches), 'launch')}"
    return f"{subject.name} for {compilation.target.name}: {counts}\n{table(rows, right=(3,))}"


def _of_artifact(artifact: Artifact) -> str:
    """What a compiled model says about itself."""
    lines = [f"{artifact.name} for {artifact.target}: compiled, {counted(len(artifact.kernels), 'kernel')}"]
    lines.append(f"  needs: {' '.join(artifact.cpu_features) or 'any x86-64 CPU'}; llvmlite {artifact.llvmlite[0]}")
    for title, infos in (("input", artifact.inputs), ("weight", artifact.weights), ("output", artifact.outputs)):
        lines += [f"  {title} {info.name}: {info}" for info in infos]
    if artifact.constants:
        size = amount(sum(len(c.data) for c in artifact.constants), "B")
        lines.append(f"  {counted(len(artifact.constants), 'constant')}, {size}")
    launches = {
        part: Counter(program.kernels[o[0]] for _, op, o in instructions(program.body) if op is Op.LAUNCH)
        for part, program in (("init", artifact.init), ("main", artifact.main))
    }
    rows = [("kernel", "in @init", "in @main", "code")]
    for kernel in artifact.kernels:
        init, main = (f"{launches[part][kernel.name] or '-'}" for part in ("init", "main"))
        rows.append((kernel.name, init, main, amount(len(kernel.code), "B")))
    return "\n".join([*lines, table(rows, right=(1, 2, 3))])


def _short(place: str) -> str:
    """A place by the file's name alone; the first of several."""
    return place.partition(", ")[0].rpartition("/")[2]
