"""Programs, their builder, and the artifact's file: round trips, and an error for every kind of damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from pelton import artifact as module
from pelton.artifact import Artifact, KernelCode, verify
from pelton.dtype import DType
from pelton.program import HIGHEST, LOWEST, Op, Program, Site, SizeOf, check_program, compute, instructions
from pelton.program_builder import ProgramBuilder
from pelton.support.errors import ArtifactError
from pelton.tests.support import small_artifacts as small


def test_the_builder_shares_constants_and_expressions() -> None:
    b = ProgramBuilder()
    x = b.argument()
    n = b.dim(x, 0)
    assert b.dim(0, 0) == n and b.const(4) == b.const(4)
    assert b.mul(n, b.const(4)) == b.mul(b.const(4), n)
    assert b.sub(n, b.const(3)) != b.sub(b.const(3), n)
    assert b.add(n, b.const(0)) == n and b.mul(b.const(1), n) == n and b.floordiv(n, b.const(1)) == n
    assert b.binary(Op.MAX, n, n) == n
    assert b.add(b.const(3), b.const(4)) == b.const(7)
    b.require_equal(n, n, "never written")
    b.require_at_most(b.const(1), b.const(2), "never written")
    b.require_equal(n, b.const(4), "once")
    b.require_equal(n, b.const(4), "once")
    assert b.finish().sites == (Site("once"),)


def test_sizes_go_to_the_prologue_and_addresses_to_the_body() -> None:
    program = small.square_sum().main
    prologue = {op for _, op, _ in instructions(program.prologue)}
    body = [op for _, op, _ in instructions(program.body)]
    assert Op.MUL in prologue and Op.FLOORDIV in prologue
    assert body == [Op.ADD, Op.LAUNCH, Op.LAUNCH, Op.LAUNCH, Op.LAUNCH, Op.END]
    assert program.kernels == ("mul", "add")


def test_frames_of_launches_lie_behind_the_values() -> None:
    program = small.add().main
    (launch,) = [operands for _, op, operands in instructions(program.body) if op is Op.LAUNCH]
    _, _, _, frame, count, *args = launch
    assert frame + count == program.slots and max(args) < frame


MISUSES: list[tuple[Callable[[ProgramBuilder], object], type[Exception]]] = [
    (lambda b: b.dim(3, 0), ValueError),
    (lambda b: b.const(2**63), OverflowError),
    (lambda b: b.mul(b.const(2**40), b.const(2**40)), OverflowError),
    (lambda b: b.floordiv(b.const(1), b.const(0)), ZeroDivisionError),
    (lambda b: b.binary(Op.LAUNCH, 0, 0), ValueError),
    (lambda b: b.output(DType.float32, [b.argument()]), ValueError),
    (lambda b: b.arena(b.add(b.argument(), b.argument())), ValueError),
    (lambda b: (b.arena(b.const(1)), b.arena(b.const(1))), ValueError),
]


@pytest.mark.parametrize(("misuse", "error"), MISUSES)
def test_misuse_of_the_builder(misuse: Callable[[ProgramBuilder], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        misuse(ProgramBuilder())


def test_compute_stays_in_64_bits() -> None:
    assert compute(Op.FLOORDIV, -7, 2) == -4
    for op, a, b in [(Op.ADD, HIGHEST, 1), (Op.SUB, LOWEST, 1), (Op.MUL, LOWEST, -1), (Op.FLOORDIV, LOWEST, -1)]:
        with pytest.raises(OverflowError):
            compute(op, a, b)
    with pytest.raises(ZeroDivisionError):
        compute(Op.FLOORDIV, 1, 0)


GOOD = Program(4, (Op.CONST, 0, 7, Op.END), (Op.LAUNCH, 0, 0, 0, 3, 1, 1, Op.END), (1,), kernels=("k",))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"prologue": (Op.CONST, 4, 7, Op.END)}, "dst 4"),
        ({"prologue": (Op.ADD, 0, 1, -1, Op.END)}, "slot -1"),
        ({"prologue": (99, Op.END)}, "no opcode"),
        ({"prologue": (Op.CONST, 0)}, "cut off"),
        ({"prologue": (Op.CONST, 0, 7)}, "END"),
        ({"prologue": ()}, "END"),
        ({"prologue": (Op.COPY, 0, 0, 0, Op.END)}, "only stand in the body"),
        ({"prologue": (Op.REQUIRE_EQ, 0, 0, 0, Op.END)}, "site 0"),
        ({"body": (Op.LAUNCH, 1, 0, 0, 3, 1, 1, Op.END)}, "kernel 1"),
        ({"body": (Op.LAUNCH, 0, 0, 0, 3, 2, 1, 1, Op.END)}, "frame"),
        ({"body": (Op.LAUNCH, 0, 0, 0, 3, 9, 1, Op.END)}, "cut off"),
        ({"body": (Op.LAUNCH, 0, 0, 0, 3, -1, Op.END)}, "frame"),
        ({"arguments": (9,)}, "lies outside"),
        ({"dims": (SizeOf(1, 0, 0),)}, "argument"),
    ],
)
def test_check_program_finds_what_would_leave_the_table(change: dict[str, Any], text: str) -> None:
    check_program(GOOD)
    with pytest.raises(ValueError, match=text):
        check_program(GOOD._replace(**change))


ALL = (small.add, small.square_sum, small.scaled, small.take, small.counter)


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_round_trip(make: Any, tmp_path: Path) -> None:
    original = make()._replace(text="plan.func @main\n")
    path = tmp_path / "model.pelton"
    original.save(path)
    assert Artifact.load(path) == original and Artifact.load(str(path)) == original
    assert path.read_bytes() == original.to_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["model.pelton"]


def test_every_single_bit_of_damage_is_found() -> None:
    data = small.scaled().to_bytes()
    for position in [*range(400), *range(400, len(data), 41)]:
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(ArtifactError):
            Artifact.from_bytes(bytes(damaged))


@pytest.mark.parametrize("keep", [0, 1, 8, 63, 64, 500, -1])
def test_a_file_cut_off(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "short.pelton"
    path.write_bytes(small.add().to_bytes()[:keep])
    with pytest.raises(RuntimeError, match=r"short\.pelton") as caught:
        Artifact.load(path)
    assert "cut off" in str(caught.value) or "not a pelton artifact" in str(caught.value)


def patched(field: int, value: object) -> bytes:
    data = small.add().to_bytes()
    prelude = list(module.PRELUDE.unpack_from(data))
    prelude[field] = value
    return module.PRELUDE.pack(*prelude) + data[module.PRELUDE.size :]


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", ("is empty",)),
        (b"\x7fELF\2\1\1\0 and so on", ("not a pelton artifact", "ELF")),
        (b"module {}", ("not a pelton artifact", "module")),
        (patched(1, module.FORMAT_VERSION + 1), (f"format version {module.FORMAT_VERSION + 1}", "update pelton")),
        (patched(2, module.ABI_VERSION + 1), (f"ABI version {module.ABI_VERSION + 1}", "update pelton")),
        (patched(2, 0), ("ABI version 0", "compile the model again")),
        (patched(5, bytes(32)), ("damaged", "header")),
        (small.add().to_bytes() + b"x", ("too long",)),
    ],
)
def test_foreign_and_newer_files(data: bytes, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "foreign.pelton"
    path.write_bytes(data)
    with pytest.raises(RuntimeError) as caught:
        Artifact.load(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in a JSON value something stands."""
    rows: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in rows:
        yield (*path, key)
        yield from places(part, (*path, key))


def with_header(header: Any, data: bytes) -> bytes:
    """The file with another header, whose hash and length are right: what no damage is, but a bug or malice."""
    prelude = list(module.PRELUDE.unpack_from(data))
    body = data[module.PRELUDE.size + prelude[3] :]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % module.ALIGNMENT)
    prelude[3:] = [
        len(text),
        module.PRELUDE.size + len(text) + len(body),
        hashlib.blake2b(text, digest_size=32).digest(),
    ]
    return module.PRELUDE.pack(*prelude) + text + body


@pytest.mark.parametrize("other", [None, "", "text", -1, 2**70, 1.5, [], {}, [[]], True], ids=repr)
def test_a_header_of_another_structure(other: Any) -> None:
    """Each part of it in turn is something else, or gone: an ArtifactError, or an artifact that fits together."""
    data = small.scaled().to_bytes()
    length = module.PRELUDE.unpack_from(data)[3]
    text = data[module.PRELUDE.size : module.PRELUDE.size + length]
    assert Artifact.from_bytes(with_header(json.loads(text), data)) == small.scaled()
    refused = 0
    for path in places(json.loads(text)):
        header = json.loads(text)
        inside = reduce(lambda part, key: part[key], path[:-1], header)
        inside[path[-1]] = other
        try:
            verify(Artifact.from_bytes(with_header(header, data)))
        except ArtifactError as error:
            assert "artifact is" in str(error)
            refused += 1
    assert refused > 10


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.pelton", tmp_path):
        with pytest.raises(RuntimeError, match="cannot read") as caught:
            Artifact.load(path)
        assert str(path) in str(caught.value)


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        small.add().save(tmp_path / "nowhere" / "model.pelton")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        small.add().save(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_verify_finds_parts_that_do_not_fit() -> None:
    good = small.add()
    for bad, text in [
        (good._replace(inputs=good.inputs[:1]), "2 arguments"),
        (good._replace(kernels=(KernelCode("other", b""),)), "add, for which there is no code"),
        (good._replace(outputs=()), "1 outputs"),
        (good._replace(outputs=(good.outputs[0]._replace(dtype=DType.int8),)), "is described as"),
    ]:
        with pytest.raises(ValueError, match=text):
            verify(bad)
