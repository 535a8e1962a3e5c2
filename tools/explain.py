"""`pelton explain`: a model file enters; what becomes a kernel, and why, leaves as a table.

A `.mlir` file goes through all passes, and no machine code is made. Rows are kinds of launches: equal kernels at equal
sizes. A `.pelton` artifact knows its kernels and launches, not the graph they came from. Bytes are the least that a
launch moves, flops the multiplications and additions of a product.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pelton.program import Op, instructions
from pelton.tools.run import options_of
from pelton.tools.subject import Subject, chosen_target, open_model
from pelton.tools.tables import amount, counted, table

if TYPE_CHECKING:
    from pelton.artifact import Artifact
    from pelton.explain import Row


def explain(args: Namespace) -> None:
    """Print the table."""
    subject = open_model(Path(args.model), args.extension)
    print(_of_artifact(subject.artifact) if subject.artifact is not None else _of_graph(args, subject))


def _of_graph(args: Namespace, subject: Subject) -> str:
    """What the passes decide: a row per kind of launch, then the reasons."""
    from pelton.explain import explain as rows_of

    cpu, gpu = chosen_target(args.target)
    target = gpu or cpu.name
    module = (subject.on_gpu() if gpu else subject).source.module
    launches = rows_of(module, cpu.name, options_of(args))
    kinds: dict[tuple[str, ...], list[Row]] = {}
    for row in launches:
        key = (row.function, row.kernel, row.result, str(row.bytes), str(row.flops), *row.fused)
        kinds.setdefault(key, []).append(row)
    lines = [("in", "kernel", "loops", "launches", "result", "bytes", "flops", "made at", "computes")]
    for row, *others in kinds.values():
        flops = "-" if row.flops == 0 else str(row.flops)
        computes = " ".join(name.removeprefix("nn.") for name in row.fused)
        head = (f"@{row.function}", row.kernel, row.kind, f"{1 + len(others)}", row.result)
        lines.append((*head, str(row.bytes), flops, _short(row.line), computes))
    kernels = counted(len({row.kernel for row in launches}), "kernel")
    head = f"{subject.name} for {target}: {kernels}, {counted(len(launches), 'launch')}"
    reasons = "\n".join(_reasons({row.kernel: row for row in launches}.values()))
    return f"{head}\n{table(lines, right=(3,))}\n\nwhy\n{reasons}"


def _reasons(rows: Iterable[Row]) -> Iterator[str]:
    """A line per reason; where there was a choice, a line for what it costs, and one for each that lost."""
    together: dict[object, list[Row]] = {}
    for row in rows:
        together.setdefault((row.reason, row.choice), []).append(row)
    for alike in together.values():
        row = alike[0]
        yield f"  {', '.join(each.kernel for each in alike)}: {row.reason}"
        if row.choice is not None:
            yield f"    {row.choice.kernel} for {row.choice.op}: {row.choice.cost}"
            for loser in row.choice.lost:
                yield f"    not {loser.kernel}: {loser.why} ({loser.cost})"


def _of_artifact(artifact: Artifact) -> str:
    """What a compiled model says about itself."""
    lines = [f"{artifact.name} for {artifact.target}: compiled, {counted(len(artifact.kernels), 'kernel')}"]
    lines.append(f"  needs: {'; '.join(_needs(artifact))}")
    for title, infos in (("input", artifact.inputs), ("weight", artifact.weights), ("output", artifact.outputs)):
        lines += [f"  {title} {info.name}: {info}" for info in infos]
    if artifact.constants:
        size = amount(sum(len(c.data) for c in artifact.constants), "B")
        lines.append(f"  {counted(len(artifact.constants), 'constant')}, {size}")
    launches = {
        part: Counter(program.kernels[o[LAUNCHED[op]]] for _, op, o in instructions(program.body) if op in LAUNCHED)
        for part, program in (("init", artifact.init), ("main", artifact.main))
    }
    rows = [("kernel", "in @init", "in @main", "code")]
    for kernel in artifact.kernels:
        init, main = (f"{launches[part][kernel.name] or '-'}" for part in ("init", "main"))
        rows.append((kernel.name, init, main, amount(len(kernel.code), "B")))
    return "\n".join([*lines, table(rows, right=(1, 2, 3))])


LAUNCHED = {Op.LAUNCH: 0, Op.DEVICE_LAUNCH: 1}
"""Which operand of an instruction is the kernel that it launches."""


def _needs(artifact: Artifact) -> Iterator[str]:
    if not all(kernel.is_ptx for kernel in artifact.kernels) or not artifact.architecture:
        yield " ".join(artifact.cpu_features) or "any x86-64 CPU"
        yield f"llvmlite {artifact.llvmlite[0]}"
    if artifact.architecture:
        yield f"{artifact.architecture} or later as {', '.join(artifact.devices[1:])}"


def _short(place: str) -> str:
    """A place by the file's name alone; the first of several."""
    return place.partition(", ")[0].rpartition("/")[2]
