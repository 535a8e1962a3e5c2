"""A text with a user's body → LLVM IR, by the whole of Numba: its types, its NumPy, its exceptions.

Enters: a `Source` whose text a user wrote in part; its last function runs one grid item. Leaves: a module that defines
the kernel by the common ABI and calls nothing outside itself, to `compile.py`. Memory is never allocated: Numba's
runtime is switched off, so a body that needs it does not compile.

A body that raises stops its item; the kernel records the item and which of the text's `raise` statements or divisions
it was, the way a failed check is recorded.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

from pelton.codegen.cpu import check, user_calls
from pelton.codegen.cpu.elements import I64
from pelton.codegen.cpu.emitter import Emitter
from pelton.codegen.cpu.seam import binding, ir
from pelton.codegen.refused import refused
from pelton.codegen.source import Source
from pelton.codegen.user_arrays import Toolkit, array_words
from pelton.custom import division
from pelton.custom.raises import messages, raising

OPTIONS = {"_nrt": False, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
EXCEPTION = re.compile(r'^@"?\.const\.pickledata\.(\w+)"? = .* c"(.*)"', re.MULTILINE)
SHARED = re.compile(r'^(@"?\.const\.picklebuf\.\w+"? = )internal constant', re.MULTILINE)
ESCAPE = re.compile(r"\\(\\|[0-9A-Fa-f]{2})")
TYPES = {
    "i1": "boolean", "f32": "float32", "f64": "float64",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}, **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Numba's names of the elements that a body can take."""
WORD = I64.llvm
WORDS = WORD.as_pointer()


def llvm_text(source: Source, target: Any, triple: str, data_layout: str) -> str:
    """The module as text. Raises CompileError naming what a body may not do."""
    body, name = _compiled(source)
    module = ir.Module(source.name)
    module.triple, module.data_layout = triple, data_layout
    body = user_calls.replaced(body, module, target)
    sites = {digest: _site(data, source) for digest, data in EXCEPTION.findall(body)}
    _add_shim(module, source, name, sites, target)
    body = SHARED.sub(r"\1constant", body)
    linked = binding.parse_assembly(str(module))
    linked.link_in(binding.parse_assembly(body))
    for value in (*linked.functions, *linked.global_variables):
        if not value.is_declaration and value.name != source.name:
            value.linkage = "internal"
    return str(linked)


def _compiled(source: Source) -> tuple[str, str]:
    """The IR of the text's last function and all it calls, and its name there."""
    numba: Any = import_module("numba")
    tree, file = ast.parse(source.text), f"<{source.name}>"
    divisions = {word: _division(*stands_for) for word, stands_for in division.with_words(tree).items()}
    namespace: dict[str, Any] = {"nan": float("nan"), "inf": float("inf"), **array_words(source, _kit()), **divisions}
    exec(compile(tree, file, "exec"), namespace)  # an extension is code that the user runs
    functions = [(k, v) for k, v in namespace.items() if isinstance(v, FunctionType) and v.__code__.co_filename == file]
    for key, function in functions:
        checked = source.bounds_checked and key != functions[-1][0]
        namespace[key] = numba.njit(boundscheck=checked, **OPTIONS)(function)
    item = namespace[functions[-1][0]]
    signature = (numba.types.int64,) * (len(source.buffers) + len(source.symbols) + 1)
    try:
        item.compile(signature)
    except Exception as error:
        raise refused(source, error) from error
    return item.inspect_llvm(signature), item.overloads[signature].fndesc.llvm_func_name


def _kit() -> Toolkit:
    types: Any = import_module("numba.core.types")

    def element(kind: str) -> Any:
        return getattr(types, TYPES[kind])

    def buffer(dtype: Any) -> Any:
        return types.int64  # its address

    return Toolkit(
        types,
        import_module("numba.core.cgutils"),
        import_module("numba.np.arrayobj"),
        import_module("numba.core.extending").intrinsic,
        element,
        buffer,
        _place,
    )


def _place(builder: Any, address: Any, element: Any, size: Any, pointer: Any) -> Any:
    return builder.inttoptr(builder.add(address, builder.mul(element, size)), pointer)


def _division(function: Callable[..., Any], place: str) -> Any:
    """A word that divides: as Numba does, but integers by 0 raise, and the smallest by -1 wraps as in NumPy."""
    types: Any = import_module("numba.core.types")
    cgutils: Any = import_module("numba.core.cgutils")
    extending: Any = import_module("numba.core.extending")

    def divided(typing: Any, x: Any, y: Any) -> Any:
        signature = typing.resolve_function_type(function, (x, y), {})
        result = getattr(signature.return_type, "dtype", signature.return_type)

        def write(context: Any, b: Any, signature: Any, args: Any) -> Any:
            if not isinstance(result, types.Integer):
                return context.get_function(function, signature)(b, args)
            x, y = (context.cast(b, v, t, result) for v, t in zip(args, signature.args, strict=True))
            with cgutils.if_unlikely(b, b.icmp_unsigned("==", y, y.type(0))):
                context.call_conv.return_user_exc(b, ZeroDivisionError, (division.said(place),))
            got = context.get_function(function, signature)(b, args)
            if not result.signed or function.__name__ in ("mod", "imod"):
                return got
            pair, minus = function is divmod, b.icmp_signed("==", y, y.type(-1))
            quotient = b.select(minus, b.neg(x), b.extract_value(got, 0) if pair else got)
            return b.insert_value(got, quotient, 0) if pair else quotient

        return signature, write

    return extending.intrinsic(divided)


def _site(data: str, source: Source) -> int:
    """The number, from 1, of the message for one of the exceptions that the IR can raise."""
    raw = ESCAPE.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 16)), data).encode("latin-1")
    kind, arguments, place = pickle.loads(raw)  # Numba wrote it a moment ago
    lines, known = [node.lineno for node in raising(source.text)], messages(source.text)
    if place is not None and place[1] == f"<{source.name}>" and place[2] in lines:
        return lines.index(place[2]) + 1
    if kind is ZeroDivisionError and arguments and (said := f"ZeroDivisionError: {arguments[0]}") in known:
        return known.index(said) + 1
    return len(known) - (kind is IndexError and "out of bounds" in str(arguments))


def _add_shim(module: Any, source: Source, name: str, sites: dict[str, int], target: Any) -> None:
    """The kernel's ABI: unpack `args`, run one item after the other, record what it raised."""
    pointer = ir.IntType(8).as_pointer()
    count = len(source.buffers) + len(source.symbols)
    kind = ir.FunctionType(ir.IntType(32), [pointer.as_pointer(), pointer.as_pointer(), *[WORD] * (count + 1)])
    item = ir.Function(module, kind, name)
    shim = ir.Function(module, ir.FunctionType(ir.IntType(32), [WORDS, WORD, WORD, WORDS]), source.name)
    args, lo, hi, ctx = shim.args
    b = ir.IRBuilder(shim.append_basic_block("entry"))
    result, raised = b.alloca(pointer), b.alloca(pointer)
    values = [b.load(b.gep(args, [ir.Constant(WORD, k)])) for k in range(count)]
    before, head, body, after, leave = (
        b.block,
        *(shim.append_basic_block(n) for n in ("head", "item", "failed", "leave")),
    )
    b.branch(head)
    b.position_at_end(head)
    at = b.phi(WORD)
    at.add_incoming(lo, before)
    b.cbranch(b.icmp_signed("<", at, hi), body, leave)
    b.position_at_end(body)
    status = b.call(item, [result, raised, *values, at])
    following = b.add(at, ir.Constant(WORD, 1))
    at.add_incoming(following, body)
    b.cbranch(b.icmp_signed("==", status, ir.Constant(ir.IntType(32), 0)), head, after)
    b.position_at_end(after)
    site = ir.Constant(WORD, len(source.checks))
    thrown = b.load(raised)
    for digest, number in sites.items():
        known = ir.GlobalVariable(module, ir.IntType(8), f".const.picklebuf.{digest}")
        site = b.select(b.icmp_unsigned("==", thrown, known), ir.Constant(WORD, number), site)
    b.call(check.recorder(Emitter(b, target, 0)), [ctx, site, at, at])
    b.branch(leave)
    b.position_at_end(leave)
    b.ret(ir.Constant(ir.IntType(32), 0))
