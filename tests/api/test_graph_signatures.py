"""The pinned call signatures of pelton.graph: names, order and defaults of parameters."""

from __future__ import annotations

import inspect
import re

import pytest

from pelton.graph import BufferType, DeviceRef, Dim, Graph, Shape, TensorType, TensorValue, Weight, ops

SIGNATURES = """
abs(x)
acos(x)
custom(name, device, values, out_types, parameters=None)
add(lhs, rhs)
argmax(x, axis=-1)
argmin(x, axis=-1)
argsort(x, ascending=True)
asin(x)
assert_(condition, message, *values)
atan(x)
atanh(x)
top_k(input, k, axis=-1)
bottom_k(input, k, axis=-1)
broadcast_to(x, shape, out_dims=None)
buffer_create(type, init_value=None)
buffer_load(x)
buffer_store(destination, source)
buffer_store_slice(destination, source, indices)
cast(x, dtype)
ceil(x)
chunk(x, chunks, axis=0)
concat(original_vals, axis=0)
constant(value, dtype=None, device=None)
cos(x)
custom(name, device, values, out_types, parameters=None)
div(lhs, rhs)
equal(lhs, rhs)
erf(x)
exp(x)
flatten(x, start_dim=0, end_dim=-1)
floor(x)
floor_div(lhs, rhs)
gather(input, indices, axis)
gelu(x, approximate='none')
greater(lhs, rhs)
greater_equal(lhs, rhs)
inplace_custom(name, device, values, out_types=None, parameters=None)
is_inf(x)
is_nan(x)
layer_norm(input, gamma, beta, epsilon)
log(x)
log1p(x)
logical_and(lhs, rhs)
logical_not(x)
logical_or(lhs, rhs)
logical_xor(lhs, rhs)
logsoftmax(value, axis=-1)
matmul(lhs, rhs)
max(x, y=None, axis=None)
mean(x, axis=-1)
min(x, y=None, axis=None)
mod(lhs, rhs)
mul(lhs, rhs)
negate(x)
not_equal(lhs, rhs)
outer(lhs, rhs)
permute(x, dims)
pow(lhs, rhs)
print(value, label='debug_tensor')
prod(x, axis=-1)
range(start, stop, step=1, out_dim=None, *, dtype, device)
rebind(x, shape, message='', layout=None)
relu(x)
reshape(x, shape)
rms_norm(input, weight, epsilon, weight_offset=0.0, multiply_before_cast=False)
round(x)
rsqrt(x)
shape_to_tensor(shape)
sigmoid(x)
silu(x)
sin(x)
slice_tensor(x, indices)
softmax(value, axis=-1)
split(x, split_sizes, axis=0)
sqrt(x)
squeeze(x, axis)
stack(values, axis=0)
sub(lhs, rhs)
sum(x, axis=-1)
tan(x)
tanh(x)
trace(level, message, *values)
transfer_to(x, device)
transpose(x, axis_1, axis_2)
trunc(x)
unsqueeze(x, axis)
where(condition, x, y)
"""
OTHERS = {
    Graph: "(name, forward=None, input_types=(), path=None, *args, custom_extensions=[], **kwargs)",
    TensorType: "(dtype, shape, device)",
    BufferType: "(dtype, shape, device)",
    Weight: "(name, dtype, shape, device, quantization_encoding=None, align=None)",
    Dim: "(value)",
    Shape: "(dims=())",
    DeviceRef.CPU: "(id=0)",
    DeviceRef.GPU: "(id=0)",
    DeviceRef.from_device: "(device)",
    TensorValue.argmax: "(self, axis=-1)",
    TensorValue.broadcast_to: "(self, shape)",
    TensorValue.cast: "(self, dtype)",
    TensorValue.flatten: "(self, start_dim=0, end_dim=-1)",
    TensorValue.max: "(self, axis=-1)",
    TensorValue.mean: "(self, axis=-1)",
    TensorValue.min: "(self, axis=-1)",
    TensorValue.permute: "(self, dims)",
    TensorValue.rebind: "(self, shape, message='')",
    TensorValue.reshape: "(self, shape)",
    TensorValue.stdev: "(self, axis=-1)",
    TensorValue.sum: "(self, axis=-1)",
    TensorValue.to: "(self, device)",
    TensorValue.transpose: "(self, dim_1, dim_2)",
    TensorValue.var: "(self, axis=-1)",
}
BEYOND = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}


def signature_text(function: object) -> str:
    """`(x, axis=-1)`: the signature without annotations."""
    assert callable(function)
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize("row", SIGNATURES.split("\n")[1:-1])
def test_op_has_its_pinned_signature(row: str) -> None:
    name, _, parameters = row.partition("(")
    assert signature_text(getattr(ops, name)) == f"({parameters}"


@pytest.mark.parametrize(("function", "expected"), OTHERS.items(), ids=lambda v: getattr(v, "__qualname__", ""))
def test_class_or_method_has_its_pinned_signature(function: object, expected: str) -> None:
    assert signature_text(function) == expected


def test_every_op_is_pinned_and_documented() -> None:
    pinned = set(re.findall(r"^(\w+)\(", SIGNATURES, re.MULTILINE))
    assert set(ops.__all__) == pinned | BEYOND
    assert not [name for name in ops.__all__ if not getattr(ops, name).__doc__]
