"""The compiled model: the one value that crosses from compiler to runtime, and its file format.

Enters: what the compiler made (two programs, object code, constants, descriptions of tensors). Leaves: an `Artifact`,
or one `.pelton` file of it. Next: `runtime/loader.py` maps the code, `runtime/model.py` runs it.

A file is a 64-byte prelude (magic, format version, ABI version, size and hash of the header, size of the file), a JSON
header (everything readable, and a table of sections), then the sections (words, code, constants), each hashed. The
hashes detect damage, not malice: an artifact is code, to be trusted like a shared library.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pelton.dtype import DType
from pelton.program import Arena, Cost, Output, Polynomial, Program, Reports, Site, SizeOf, check_program
from pelton.support.errors import ArtifactError
from pelton.support.files import read_file, write_atomically

MAGIC = b"\x93PELTON\n"
FORMAT_VERSION = 2
ABI_VERSION = 3
PRELUDE = struct.Struct("<8sIIQQ32s")
ALIGNMENT = 64
T = TypeVar("T")


class TensorInfo(NamedTuple):
    """An input, output, weight or constant: a dim is a size, a symbol, or (outputs only) an expression over symbols."""

    name: str
    dtype: DType
    shape: tuple[int | str, ...]
    device: str = "cpu:0"
    mutable: bool = False

    def __str__(self) -> str:
        return f"[({', '.join(map(str, self.shape))}), {self.dtype.mlir}]"


class Constant(NamedTuple):
    """A named constant of the model: its bytes in C order."""

    info: TensorInfo
    data: bytes


class KernelCode(NamedTuple):
    """Code of one function, `name`: object code, or PTX to be launched with blocks of `threads` threads."""

    name: str
    code: bytes
    threads: int = 0
    """0 for object code."""
    pointers: int = 0
    """How many of the PTX's parameters are addresses; they come first."""
    cubin: bytes = b""
    """The same as machine code for the architecture that the PTX names; empty where the GPU's driver makes it."""

    @property
    def is_ptx(self) -> bool:
        """Whether a GPU runs it."""
        return self.threads > 0


class Artifact(NamedTuple):
    """A compiled model without its weights.

    Arguments of `init`: weights, constants. Arguments of `main`: inputs, weights, constants, init's outputs.
    `target` is for people; `cpu_features` (LLVM's names) are what the code needs; `llvmlite` is the range of versions,
    first included, last not, that may map it. `architecture` ("sm_90") is the least that the PTX needs, empty where
    there is none. `walker` walks programs that are the host's alone; those that use other devices have none. `text` is
    the plan as IR, for people. `places` tells the user's line of the ops that a run can have something to say about, by
    their numbers.
    """

    name: str
    target: str
    cpu_features: tuple[str, ...]
    llvmlite: tuple[str, str]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    weights: tuple[TensorInfo, ...]
    constants: tuple[Constant, ...]
    init: Program
    main: Program
    kernels: tuple[KernelCode, ...]
    walker: KernelCode | None
    text: str = ""
    places: tuple[tuple[int, str], ...] = ()
    architecture: str = ""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices it runs on, the host first."""
        infos = (*self.inputs, *self.outputs, *self.weights, *(c.info for c in self.constants))
        used = ("cpu:0", *self.init.devices, *self.main.devices, *(info.device for info in infos))
        return tuple(dict.fromkeys(used))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all. Raises OSError where it cannot be written."""
        write_atomically(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Artifact:
        """Read a file. Raises ArtifactError naming the path and what was wrong."""
        try:
            file = Path(path)
        except TypeError as error:  # a path of bytes
            raise ArtifactError(f"a path is a text: {error}") from error
        return cls.from_bytes(read_file(file, ArtifactError), str(file))

    def to_bytes(self) -> bytes:
        """The content of the file."""
        verify(self)
        sections = _sections(self)
        padded = [section + bytes(-len(section) % ALIGNMENT) for section in sections]
        table: list[dict[str, Any]] = []
        offset = 0
        for section, block in zip(sections, padded, strict=True):
            table.append({"offset": offset, "size": len(section), "hash": _hash(block).hex()})
            offset += len(block)
        import json  # here for start-up: only saving and loading need it

        header = json.dumps(_header(self) | {"sections": table}).encode()
        header += b" " * (-len(header) % ALIGNMENT)
        size = PRELUDE.size + len(header) + offset
        prelude = PRELUDE.pack(MAGIC, FORMAT_VERSION, ABI_VERSION, len(header), size, _hash(header))
        return b"".join([prelude, header, *padded])

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "artifact") -> Artifact:
        """Parse a file's content; `source` names it in errors."""
        header, start = _read_header(data, source)
        try:
            sections = [_section(data, start, entry) for entry in header["sections"]]
            artifact = _artifact(header, sections)
            verify(artifact)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ArtifactError(f"{source} is damaged: {error}") from error
        return artifact


def verify(artifact: Artifact) -> None:
    """Raise ValueError where the parts of an artifact do not fit each other."""
    known = {kernel.name for kernel in artifact.kernels}
    stored = len(artifact.weights) + len(artifact.constants)
    arguments = {"init": stored, "main": len(artifact.inputs) + stored + len(artifact.init.outputs)}
    for part, program in (("init", artifact.init), ("main", artifact.main)):
        check_program(program)
        if len(program.arguments) != arguments[part]:
            raise ValueError(
                f"{part} takes {len(program.arguments)} arguments; the artifact has {arguments[part]} for it"
            )
        if missing := [name for name in program.kernels if name not in known]:
            raise ValueError(f"{part} launches {', '.join(missing)}, for which there is no code")
    if (artifact.walker is None) != (len(artifact.devices) > 1):
        raise ValueError("it has a walker and uses other devices than the host, or neither")
    if any(kernel.is_ptx for kernel in artifact.kernels) and not artifact.architecture:
        raise ValueError("it has PTX, and does not say for which architecture")
    if len(artifact.main.outputs) != len(artifact.outputs):
        raise ValueError(f"main has {len(artifact.main.outputs)} outputs, {len(artifact.outputs)} are described")
    for given, info in zip(artifact.main.outputs, artifact.outputs, strict=True):
        if given.dtype is not info.dtype or len(given.dims) != len(info.shape):
            raise ValueError(f"output {info.name} is described as {info}, main makes {given}")


def _hash(data: bytes | memoryview) -> bytes:
    import hashlib  # here for start-up: it loads OpenSSL

    return hashlib.blake2b(data, digest_size=32).digest()


def _plain(value: Any) -> Any:
    """A record as JSON has it."""
    if isinstance(value, DType):
        return value.mlir
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(part) for part in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value


def _words(program: Program) -> list[bytes]:
    return [array("q", words).tobytes() for words in (program.prologue, program.body)]


def _sections(artifact: Artifact) -> list[bytes]:
    walker = artifact.walker.code if artifact.walker is not None else b""
    codes = [walker, *(kernel.code for kernel in artifact.kernels)]
    codes += [kernel.cubin for kernel in artifact.kernels]
    return [*_words(artifact.init), *_words(artifact.main), *codes, *(c.data for c in artifact.constants)]


def _header(artifact: Artifact) -> dict[str, Any]:
    """Everything but the bytes of the sections, which stand in the order of `_sections`."""
    bare = artifact._replace(
        init=artifact.init._replace(prologue=(), body=()),
        main=artifact.main._replace(prologue=(), body=()),
        walker=None,
        kernels=(),
        constants=(),
    )
    return _plain(bare) | {
        "walker": artifact.walker.name if artifact.walker is not None else None,
        "kernels": [[kernel.name, kernel.threads, kernel.pointers] for kernel in artifact.kernels],
        "constants": [_plain(constant.info) for constant in artifact.constants],
    }


def _read_header(data: bytes, source: str) -> tuple[dict[str, Any], int]:
    """(header, where the sections start), the prelude and the header's hash checked."""
    if not data.startswith(MAGIC):
        what = "is empty" if not data else f"starts with {data[:8]!r}"
        raise ArtifactError(f"{source} is not a pelton artifact: it {what}, not with {MAGIC!r}")
    if len(data) < PRELUDE.size:
        raise ArtifactError(f"{source} is cut off: {len(data)} bytes, its prelude alone has {PRELUDE.size}")
    _, version, abi, length, size, digest = PRELUDE.unpack_from(data)
    for what, found, known in (("format", version, FORMAT_VERSION), ("ABI", abi, ABI_VERSION)):
        if found != known:
            remedy = "update pelton" if found > known else "compile the model again"
            raise ArtifactError(f"{source} has {what} version {found}, this pelton reads version {known}: {remedy}")
    if len(data) != size:
        state = "cut off" if len(data) < size else "too long"
        raise ArtifactError(f"{source} is {state}: {len(data)} bytes, expected {size}")
    header = data[PRELUDE.size : PRELUDE.size + length]
    if _hash(header) != digest:
        raise ArtifactError(f"{source} is damaged: its header does not match its hash")
    import json  # see to_bytes

    return json.loads(header), PRELUDE.size + length


def _section(data: bytes, start: int, entry: Mapping[str, Any]) -> bytes:
    begin, size = start + entry["offset"], entry["size"]
    block = data[begin : begin + size + -size % ALIGNMENT]
    if _hash(block).hex() != entry["hash"]:
        raise ValueError(f"the section at byte {begin} ({size} bytes) does not match its hash")
    return block[:size]


def _each(items: list[Any], read: Callable[[Any], T]) -> tuple[T, ...]:
    return tuple(read(item) for item in items)


def _tensor(row: Mapping[str, Any]) -> TensorInfo:
    return TensorInfo(row["name"], DType(row["dtype"]), tuple(row["shape"]), row["device"], row["mutable"])


def _program(row: Mapping[str, Any], prologue: bytes, body: bytes) -> Program:
    return Program(
        row["slots"],
        tuple(array("q", prologue)),
        tuple(array("q", body)),
        tuple(row["arguments"]),
        _each(row["dims"], lambda dim: SizeOf(**dim)),
        _each(
            row["outputs"], lambda out: Output(out["pointer"], DType(out["dtype"]), tuple(out["dims"]), out["device"])
        ),
        Arena(**row["arena"]) if row["arena"] else None,
        tuple(row["kernels"]),
        _each(row["sites"], _site),
        _each(row["costs"], lambda cost: Cost(_polynomial(cost["bytes"]), _polynomial(cost["flops"]))),
        Reports(**row["reports"]) if row["reports"] else None,
        row["ring"],
        tuple(row["devices"]),
        _each(row["elsewhere"], lambda each: Arena(**each) if "size" in each else Reports(**each)),
    )


def _site(row: Mapping[str, Any]) -> Site:
    dtypes, dims = tuple(row["dtypes"]), tuple(row["dims"])
    return Site(row["message"], row["op"], row["ordinal"], dtypes, row["row"], row["level"], dims, row["part"])


def _polynomial(rows: list[list[int]]) -> Polynomial:
    return tuple(tuple(row) for row in rows)


def _artifact(header: Mapping[str, Any], sections: list[bytes]) -> Artifact:
    kernels, constants = header["kernels"], header["constants"]
    count = len(kernels)
    codes, cubins, datas = sections[5 : 5 + count], sections[5 + count : 5 + 2 * count], sections[5 + 2 * count :]
    return Artifact(
        name=header["name"],
        target=header["target"],
        cpu_features=tuple(header["cpu_features"]),
        llvmlite=(header["llvmlite"][0], header["llvmlite"][1]),
        inputs=_each(header["inputs"], _tensor),
        outputs=_each(header["outputs"], _tensor),
        weights=_each(header["weights"], _tensor),
        constants=tuple(Constant(_tensor(row), data) for row, data in zip(constants, datas, strict=True)),
        init=_program(header["init"], sections[0], sections[1]),
        main=_program(header["main"], sections[2], sections[3]),
        kernels=tuple(
            KernelCode(name, code, threads, pointers, cubin)
            for (name, threads, pointers), code, cubin in zip(kernels, codes, cubins, strict=True)
        ),
        walker=None if header["walker"] is None else KernelCode(header["walker"], sections[4]),
        text=header["text"],
        places=tuple((number, place) for number, place in header["places"]),
        architecture=header["architecture"],
    )
