"""What code of Numba's calls, from our own words: the IR of a body enters, definitions of its functions leave.

Numba leaves `sin` or `memset` to libm and libc; no kernel may call them. Mathematical functions become the words that
all kernels use, for scalars and for the vectors that LLVM makes, so a model needs no library and has the same bits
everywhere. A function there is no word for stays undefined, and the compiler refuses it by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pelton.codegen.cpu.elements import F32, F64
from pelton.codegen.cpu.emitter import Emitter, Value, vector_type
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.cpu.vocabulary import FUNCTIONS

WORDS = {
    **{name: name for name in ("exp", "log", "log1p", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atanh",
                               "tanh", "erf", "floor", "ceil", "trunc")},
    "rint": "roundeven", "nearbyint": "roundeven", "roundeven": "roundeven", "fmod": "truncmod",
}  # fmt: skip
"""The functions of libm that a body may call, and the word behind each."""

NAMES = ", ".join(sorted({*WORDS, "sqrt", "fabs", "copysign", "min", "max"} - {"nearbyint", "roundeven"}))
"""What a body may call, for errors."""

BYTE, WORD, BLOCK = ir.IntType(8), ir.IntType(64), 32

INTRINSIC = re.compile(r"llvm\.(\w+)\.(?:v(\d+))?(f32|f64)")
DECLARED = re.compile(r"^declare [^@]*@\"?([\w.]+)\"?\(", re.MULTILINE)
MEMORY = re.compile(r"llvm\.(memset|memcpy|memmove)\.")
OPERAND = r"((?:[^,(<\n]|\([^()]*\)|<[^<>]*>)+)"
"""An operand: a name, a number, `splat (float 2.0)`, or `<float 1.0, float 2.0>`."""
REMAINDER = re.compile(rf"= frem (?:<(\d+) x )?(float|double)>? {OPERAND}, {OPERAND}$", re.MULTILINE)


def replaced(text: str, module: Any, target: CpuTarget) -> str:
    """The IR with calls of our own functions, whose definitions `module` gets."""
    remainders = {(m[1], m[2]) for m in REMAINDER.finditer(text)}
    text = REMAINDER.sub(_remainder, text)
    for lanes, kind in sorted(remainders, key=str):
        name, t = _remainder_of(lanes, kind)
        _define(module, name, "truncmod", F32 if kind == "float" else F64, int(lanes or 0), target)
        text += f"\ndeclare {t} @{name}({t}, {t})\n"
    for name in dict.fromkeys(DECLARED.findall(text)):
        if MEMORY.match(name):
            new = name.replace("llvm.", "pelton.")
            _define_memory(module, new)
        elif (found := _word(name)) is not None:
            word, element, lanes = found
            new = f"pelton.{name.removeprefix('llvm.')}"
            _define(module, new, word, element, lanes, target)
        else:
            continue
        text = re.sub(rf'@"?{re.escape(name)}"?\(', f"@{new}(", text)
    return text.replace("immarg", "")  # which only intrinsics may have


def _remainder_of(lanes: str | None, kind: str) -> tuple[str, str]:
    """(name of the function, LLVM type) of a remainder of `lanes` floats."""
    return (f"fmod_{kind}_{lanes}", f"<{lanes} x {kind}>") if lanes else (f"fmod_{kind}", kind)


def _remainder(found: re.Match[str]) -> str:
    name, t = _remainder_of(found[1], found[2])
    return f"= call {t} @{name}({t} {found[3]}, {t} {found[4]})"


def _word(name: str) -> tuple[str, Any, int] | None:
    """(word, element, lanes) of a function of libm, or of the intrinsic that stands for it."""
    if (match := INTRINSIC.fullmatch(name)) is not None:
        if match[1] in WORDS:
            return WORDS[match[1]], F32 if match[3] == "f32" else F64, int(match[2] or 0)
        return None
    if name in WORDS:
        return WORDS[name], F64, 0
    return (WORDS[name[:-1]], F32, 0) if name.endswith("f") and name[:-1] in WORDS else None


def _define(module: Any, name: str, word: str, element: Any, lanes: int, target: CpuTarget) -> None:
    count, _, write, _ = FUNCTIONS[word]
    kind = vector_type(element, lanes)
    function = ir.Function(module, ir.FunctionType(kind, [kind] * count), name)
    e = Emitter(ir.IRBuilder(function.append_basic_block("entry")), target, lanes)
    e.builder.ret(write(e, *(Value(e, argument, element, lanes) for argument in function.args)).llvm)


def _define_memory(module: Any, name: str) -> None:
    """`memset`, `memcpy` or `memmove`: 32 bytes at a time, then the rest."""
    pointer, size = BYTE.as_pointer(), ir.IntType(32) if name.endswith("i32") else WORD
    sets = "memset" in name
    signature = ir.FunctionType(ir.VoidType(), [pointer, BYTE if sets else pointer, size, ir.IntType(1)])
    function = ir.Function(module, signature, name)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    to, source, count, _ = function.args
    count = b.zext(count, WORD) if size is not WORD else count
    if sets:
        _forward(b, to, lambda kind, _: _splat(b, source, kind), count)
    elif "memmove" in name:
        distance = b.sub(b.ptrtoint(to, WORD), b.ptrtoint(source, WORD))
        with b.if_else(b.icmp_unsigned("<", distance, count)) as (inside, apart):
            with inside:
                _backward(b, to, source, count)
            with apart:
                _forward(b, to, lambda kind, at: _load(b, source, kind, at), count)
    else:
        _forward(b, to, lambda kind, at: _load(b, source, kind, at), count)
    b.ret_void()


def _splat(b: Any, byte: Any, kind: Any) -> Any:
    if kind is BYTE:
        return byte
    first = b.insert_element(ir.Constant(kind, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), None)
    return b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), lanes)


def _load(b: Any, source: Any, kind: Any, at: Any) -> Any:
    return b.load(b.bitcast(b.gep(source, [at]), kind.as_pointer()), align=1)


def _forward(b: Any, to: Any, value: Callable[[Any, Any], Any], count: Any) -> None:
    """Blocks of bytes, then bytes, from the first to the last."""
    at = ir.Constant(WORD, 0)
    for kind, step in ((ir.VectorType(BYTE, BLOCK), BLOCK), (BYTE, 1)):
        before, head, body, after = b.block, *(b.append_basic_block("copy") for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        offset = b.phi(WORD)
        end = b.add(offset, ir.Constant(WORD, step))
        b.cbranch(b.icmp_unsigned("<=", end, count), body, after)
        b.position_at_end(body)
        b.store(value(kind, offset), b.bitcast(b.gep(to, [offset]), kind.as_pointer()), align=1)
        b.branch(head)
        offset.add_incoming(at, before)
        offset.add_incoming(end, body)
        b.position_at_end(after)
        at = offset


def _backward(b: Any, to: Any, source: Any, count: Any) -> None:
    """Bytes from the last to the first, where the target starts inside the source."""
    before, head, body, after = b.block, *(b.append_basic_block("copy") for _ in range(3))
    b.branch(head)
    b.position_at_end(head)
    left = b.phi(WORD)
    b.cbranch(b.icmp_unsigned("==", left, ir.Constant(WORD, 0)), after, body)
    b.position_at_end(body)
    at = b.sub(left, ir.Constant(WORD, 1))
    b.store(_load(b, source, BYTE, at), b.gep(to, [at]), align=1)
    b.branch(head)
    left.add_incoming(count, before)
    left.add_incoming(at, body)
    b.position_at_end(after)
