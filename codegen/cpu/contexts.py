"""Numba's frontend over the vocabulary alone: typing context, target context, lowering. A Python function enters;
LLVM IR leaves.

None of Numba's registries is loaded: what a text may say is the vocabulary, everything else is an error, and the
first compilation costs milliseconds. Bytecode analysis, type inference and control flow are Numba's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from pelton.codegen.cpu.elements import F64, I64, MASK
from pelton.codegen.cpu.emitter import Emitter, constant
from pelton.codegen.cpu.kernel_types import (
    SCALAR_I64,
    SCALAR_MASK,
    Call,
    FloatLiteral,
    Word,
    shape_of,
    types,
)
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.target import CpuTarget

base: Any = import_module("numba.core.base")
callconv: Any = import_module("numba.core.callconv")
compiler: Any = import_module("numba.core.compiler")
funcdesc: Any = import_module("numba.core.funcdesc")
interpreter: Any = import_module("numba.core.interpreter")
bytecode: Any = import_module("numba.core.bytecode")
lowering: Any = import_module("numba.core.lowering")
targetconfig: Any = import_module("numba.core.targetconfig")
typed_passes: Any = import_module("numba.core.typed_passes")
typing_context: Any = import_module("numba.core.typing.context")

BODY = "body"
"""The name of a kernel's function before its ABI shim takes it in."""


class KernelTyping(typing_context.BaseContext):
    """Knows the words of the vocabulary, by the Python object that names each in a text."""

    def __init__(self, words: Mapping[Any, Word]) -> None:
        typing_context.BaseContext.__init__(self)
        self.words = words
        self.lanes = 0
        """Logical lanes of the function being typed."""

    def refresh(self) -> None:
        """Nothing is loaded from Numba's registries."""

    def resolve_value_type(self, val: Any) -> Any:
        """The type of a global or a constant."""
        if isinstance(val, bool):
            return SCALAR_MASK
        if isinstance(val, int):
            return SCALAR_I64
        if isinstance(val, float):
            return FloatLiteral(val)
        if val is None:
            return types.none
        if isinstance(val, Word):
            return val
        try:
            return self.words[val]
        except (KeyError, TypeError):
            raise ValueError(f"{val!r} is not in the vocabulary of kernels") from None

    def resolve_value_type_prefer_literal(self, value: Any) -> Any:
        """A global integer, such as W, is a literal too."""
        literal = types.maybe_literal(value) if isinstance(value, int) else None
        return literal or self.resolve_value_type(value)

    def resolve_function_type(self, func: Any, args: Sequence[Any], kws: Any) -> Any:
        """The signature of a call; None where the caller has another way to try."""
        word = func if isinstance(func, Word) else self.words.get(func)
        return word.get_call_type(self, tuple(args), kws) if word else None


class KernelCallConv(callconv.MinimalCallConv):
    """`void body(arguments…)`: a kernel returns nothing and raises nothing."""

    def get_function_type(self, restype: Any, argtypes: Sequence[Any]) -> Any:
        """The LLVM type of the function."""
        return ir.FunctionType(ir.VoidType(), list(self._get_arg_packer(argtypes).argument_types))

    def decorate_function(self, fn: Any, args: Sequence[str], fe_argtypes: Any, noalias: bool = False) -> None:
        """Parameters keep their names; none is `noalias`, since outputs may be written in place."""
        for argument, name in zip(fn.args, args, strict=True):
            argument.name = name

    def get_arguments(self, func: Any) -> Any:
        """Every LLVM argument is one of the text's."""
        return func.args

    def return_value(self, builder: Any, retval: Any) -> None:
        """The end of the function."""
        builder.ret_void()


class KernelTarget(base.BaseContext):
    """Writes words as LLVM instructions for one CPU target."""

    def __init__(self, typing: KernelTyping, cpu: CpuTarget) -> None:
        base.BaseContext.__init__(self, typing, "cpu")
        self.cpu = cpu

    def refresh(self) -> None:
        """Nothing is loaded from Numba's registries."""

    def codegen(self) -> None:
        """There is no Numba code generator behind this context."""

    @property
    def call_conv(self) -> KernelCallConv:
        """See KernelCallConv."""
        return KernelCallConv(self)

    def mangler(self, name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        """The same name in every process."""
        return BODY

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Callable[..., Any]:
        """How a call of `fn` is written."""
        word = fn if isinstance(fn, Word) else self.typing_context.words.get(fn)
        if word is None:
            raise NotImplementedError(str(fn))  # how a context tells Numba that it has no such function

        def write(builder: Any, args: Sequence[Any], loc: Any = None) -> Any:
            emitter = Emitter(builder, self.cpu, self.typing_context.lanes)
            return word.emit(Call(emitter, sig.return_type, sig.args, args))

        return write

    def get_constant_generic(self, builder: Any, ty: Any, val: Any) -> Any:
        """A constant or a global; words have no value at run time."""
        if isinstance(val, bool | int | float):
            return self.cast(builder, None, FloatLiteral(val) if isinstance(val, float) else types.literal(val), ty)
        return self.get_dummy_value()

    def pair_first(self, builder: Any, val: Any, ty: Any) -> Any:
        """The loop index out of what `iternext` gave."""
        return builder.extract_value(val, 0)

    def pair_second(self, builder: Any, val: Any, ty: Any) -> Any:
        """Whether there was a next index."""
        return builder.extract_value(val, 1)

    def cast(self, builder: Any, val: Any, fromty: Any, toty: Any) -> Any:
        """Literals become constants of the type asked for; everything else must have its type already."""
        if isinstance(fromty, FloatLiteral):
            element = F64 if isinstance(toty, FloatLiteral) else shape_of(toty)[0] or F64
            return constant(element, 0, fromty.value)
        if isinstance(fromty, types.Literal):
            element = MASK if isinstance(fromty.literal_value, bool) else shape_of(toty)[0] or I64
            return constant(element, 0, fromty.literal_value)
        if fromty == toty or shape_of(fromty) == shape_of(toty):
            return val
        raise NotImplementedError(f"{fromty} where {toty} is needed")  # and no such cast; it becomes a CompileError


class KernelInterpreter(interpreter.Interpreter):
    """Bytecode to Numba's IR without the rewrites for `with`, `try`, star-calls and dicts, none of which a text has."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        """The IR as it is."""
        return func_ir


class KernelLower(lowering.Lower):
    """Numba's lowering without Python objects, reference counts and exceptions."""

    def emit_environment_object(self) -> None:
        """No Python object is touched."""

    def pre_block(self, block: Any) -> None:
        """No try blocks, no early slots: a variable's slot is made at its first store, in the order of the text."""

    def post_block(self, block: Any) -> None:
        """Nothing was set up."""

    def getvar(self, name: str) -> Any:
        """The stack slot of a variable that lives across blocks; LLVM turns it into a register."""
        slot = self.varmap.get(name)
        if slot is None:
            with self.builder.goto_entry_block():
                slot = self.varmap[name] = self.builder.alloca(
                    self.context.get_value_type(self.typeof(name)), name=name
                )
        return slot

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Keep `value` as what `name` now holds."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
            return
        self.builder.store(value, self.getvar(name))


class Library:
    """Stands where Numba expects a code library; receives the LLVM module of one function."""

    def __init__(self) -> None:
        self.module: Any = None

    def create_ir_module(self, name: str) -> Any:
        """An empty module."""
        return ir.Module(BODY)

    def add_ir_module(self, module: Any) -> None:
        """Called once, when the function is complete."""
        self.module = module


def llvm_module(function: Any, parameters: Sequence[Any], typing: KernelTyping, target: KernelTarget) -> Any:
    """The unoptimised LLVM module whose one function, `body`, is the Python `function`."""
    identity = bytecode.FunctionIdentity.from_function(function)
    func_ir = KernelInterpreter(identity).interpret(bytecode.ByteCode(func_id=identity))
    flags = compiler.Flags()
    flags.error_model = "numpy"
    with targetconfig.ConfigStack().enter(flags):
        typemap, result, calltypes, _ = typed_passes.type_inference_stage(
            typing, target, func_ir, tuple(parameters), None
        )
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            func_ir, typemap, result, calltypes, mangler=target.mangler, inline=False, noalias=False, abi_tags=()
        )
        library = Library()
        KernelLower(target, library, descriptor, func_ir).lower()
    return library.module
