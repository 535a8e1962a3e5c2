"""`nn.custom`: an op of the user's, with a kernel of its own. The IR names its body by a digest and holds no code."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from pelton.custom.bodies import BodyText, find
from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.effects import DeclaredEffects, Effects
from pelton.dialects.op import Array, NnOp, Sizes, location_of
from pelton.dialects.types import HOST, BufferType, DimsAttr, ShapedValueType, TensorType, is_bool
from pelton.dtype import DType
from pelton.support.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable


@irdl_op_definition
class CustomOp(NnOp):
    """`nn.custom %x, %y {op = "scan", body = "5d41…", looped = #nn.dims[1, 0, 1], parameters = {n = 3 : i64}}`.

    `looped` says, for each operand and then each result, how many leading dims the body does not see: it is called once
    per index of them. Result types are given, not inferred. An operand may be
    a buffer, whose contents the body reads and changes. `unchecked` lets it index without checks; `apply-assert-level`
    sets it.
    """

    name = "nn.custom"
    inputs = var_operand_def()
    op = prop_def(StringAttr)
    body = prop_def(StringAttr)
    looped = prop_def(DimsAttr)
    parameters = prop_def(DictionaryAttr)
    unchecked = opt_prop_def(UnitAttr)
    outputs = var_result_def(TensorType)
    traits = traits_def(DeclaredEffects())

    FOLDS: ClassVar[bool] = False  # a body runs when the model does

    def infer(self) -> Sequence[TensorType]:
        return [r.type for r in self.results if isinstance(r.type, TensorType)]

    def verify_(self) -> None:
        types, looped = self.shaped, self.looped.data
        if not self.results and not self.changed:
            raise VerifyException("'nn.custom' expects a result or a buffer")
        if len(looped) != len(types):
            raise VerifyException(f"'nn.custom' expects a looped number per operand and result, got {len(looped)}")
        for t, count in zip(types, looped, strict=True):
            if not isinstance(count, int) or not 0 <= count <= t.rank:
                raise VerifyException(f"'nn.custom' expects looped numbers from 0 to the rank, got {count} for {t}")
            if count and t.shape[:count] != self.space:
                raise VerifyException(
                    f"'nn.custom' expects the same looped sizes everywhere, got {t} beside {list(self.space)}"
                )
        if len({t.device for t in types}) != 1:
            raise VerifyException(f"'nn.custom' expects one device, got {', '.join(map(str, types))}")

    @property
    def shaped(self) -> list[ShapedValueType]:
        """The types of operands, then of results."""
        return [v.type for v in (*self.operands, *self.results) if isinstance(v.type, ShapedValueType)]

    @property
    def changed(self) -> tuple[int, ...]:
        """The operands that are buffers."""
        return tuple(k for k, v in enumerate(self.operands) if isinstance(v.type, BufferType))

    def effects(self) -> Effects:
        buffers = tuple(self.operands[k] for k in self.changed)
        return Effects(reads=buffers, writes=buffers)

    @property
    def space(self) -> tuple[Dim, ...]:
        """The sizes of the looped dims."""
        for t, count in zip(self.shaped, self.looped.data, strict=True):
            if isinstance(count, int) and count:
                return t.shape[:count]
        return ()

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn.reference import numpy_dtype

        body = python_body(self.op.data, self.body.data, self.parameters)
        types = [r.type for r in self.results if isinstance(r.type, TensorType)]
        outputs = [np.zeros([dims.evaluate(d, sizes) for d in t.shape], numpy_dtype(t.dtype)) for t in types]
        looped = [n for n in self.looped.data if isinstance(n, int)]
        counts = [*looped[len(inputs) :], *looped[: len(inputs)]]
        space = [dims.evaluate(d, sizes) for d in self.space]
        with np.errstate(all="ignore"):
            for index in np.ndindex(*space):
                views = [a[(*index[:n], ...)] for a, n in zip((*outputs, *inputs), counts, strict=True)]
                for k, view in enumerate(views[len(outputs) :]):
                    view.flags.writeable = k in self.changed
                _call(self.op.data, body, views)
        return outputs


def _call(name: str, body: Callable[..., None], views: list[Array]) -> None:
    try:
        body(*views)
    except (Exception, SystemExit) as error:  # the user's own code
        raise ValueError(f"custom op {name!r}: {type(error).__name__}: {error}") from error


def python_body(op: str, digest: str, parameters: DictionaryAttr) -> Callable[..., None]:
    """The body as plain Python, its parameters put in, with divisions as in compiled code."""
    from pelton.custom import division
    from pelton.custom.specialize import specialize

    tree = ast.parse(specialize(body_of(op, digest).cpu, parameter_values(parameters)))
    words = {word: division.plain(*stands_for) for word, stands_for in division.with_words(tree).items()}
    namespace: dict[str, Any] = {"nan": float("nan"), "inf": float("inf"), **words}
    exec(compile(tree, f"<{op}>", "exec"), namespace)  # what the user gave as an extension
    return list(namespace.values())[-1]


def require_bodies(module: Operation) -> None:
    """Raises CompileError, with the place, where a custom op of the module has a body that nobody has given, or is on a
    GPU and has none for it.
    """
    for op in module.walk():
        if isinstance(op, CustomOp):
            on_host = all(t.device.data == HOST for t in op.shaped)
            try:
                (body_of if on_host else cuda_body_of)(op.op.data, op.body.data)
            except CompileError as error:
                raise error.with_details(op=op.name, location=location_of(op) or "") from None


def body_of(op: str, digest: str) -> BodyText:
    """The body that a digest stands for. Raises CompileError where nobody has given it."""
    found = find(digest)
    if found is None:
        raise CompileError(
            f"the body of the custom op {op!r} is not here",
            expected=f"an extension with the body {digest}",
            remedy="give the file that registers it as custom_extensions; text as it is in the IR holds no code",
        )
    return found


def cuda_body_of(op: str, digest: str) -> str:
    """The text of the body for a GPU. Raises CompileError where there is none."""
    if not (text := body_of(op, digest).cuda):
        raise CompileError(
            f"the custom op {op!r} has no body for a GPU",
            expected="a body given as cuda=, or a scalar body",
            got="a kernel body for the CPU alone",
            remedy="give pelton.register a cuda= body, or keep the op on the CPU: .to(DeviceRef.CPU()) before it",
        )
    return text


def parameter_values(parameters: DictionaryAttr) -> dict[str, Any]:
    """The parameters as Python values."""
    return {name: _value(attribute) for name, attribute in parameters.data.items()}


def _value(attribute: Attribute) -> Any:
    match attribute:
        case IntegerAttr():
            number: int = attribute.value.data
            return bool(number) if is_bool(attribute.type) else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case _:
            return DType(str(attribute))
