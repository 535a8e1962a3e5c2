"""What launches have to do: bytes and operations as sizes, compared with counting by hand."""

from __future__ import annotations

from pelton.dialects import kernel, plan
from pelton.dialects.context import new_context
from pelton.dialects.reader import read_module
from pelton.kernels.cost import call_flops, gathered_buffers, launch_bytes
from pelton.passes.choose_kernels import ChooseKernels
from pelton.passes.expand_ops import ExpandOps
from pelton.passes.fuse_groups import FuseGroups
from pelton.passes.lower_groups import LowerGroups


def costs(text: str) -> dict[str, tuple[str, str]]:
    """Kernel → (bytes of its first launch, operations), after lowering for AVX2."""
    context = new_context()
    module = read_module(context, text, "test.mlir")
    for each in (ExpandOps(), ChooseKernels("avx2"), FuseGroups(), LowerGroups()):
        each.apply(context, module)
    functions = {f.sym_name.data: f for f in module.walk() if isinstance(f, kernel.FuncOp)}
    found: dict[str, tuple[str, str]] = {}
    for launch in module.walk():
        if isinstance(launch, plan.LaunchOp):
            function = functions[name := launch.callee.string_value()]
            found[name] = (str(launch_bytes(launch, gathered_buffers(function))), str(call_flops(function)))
    return found


def test_elementwise_counts_every_buffer_once() -> None:
    text = """func.func @main(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
      %s = nn.add %x, %y : !nn.tensor<[n, 4], f32>
      %t = nn.mul %s, %x : !nn.tensor<[n, 4], f32>
      func.return %t : !nn.tensor<[n, 4], f32>
    }"""
    assert costs(text) == {"add_mul": ("48*n", "0")}


def test_what_is_gathered_from_counts_as_much_as_it_gives() -> None:
    text = """func.func @main(%t: !nn.tensor<[30000, 8], f32>, %i: !nn.tensor<[n], i64>) -> !nn.tensor<[n, 8], f32> {
      %r = nn.gather %t, %i {axis = 0} : (!nn.tensor<[30000, 8], f32>, !nn.tensor<[n], i64>) -> !nn.tensor<[n, 8], f32>
      func.return %r : !nn.tensor<[n, 8], f32>
    }"""
    assert costs(text) == {"gather": ("72*n", "0")}  # 32 n read, 8 n of indices, 32 n written


def test_a_product_has_operations() -> None:
    text = """func.func @main(%x: !nn.tensor<[b, n, 8], f32>, %y: !nn.tensor<[b, 8, 32], f32>)
        -> !nn.tensor<[b, n, 32], f32> {
      %r = nn.matmul %x, %y : (!nn.tensor<[b, n, 8], f32>, !nn.tensor<[b, 8, 32], f32>) -> !nn.tensor<[b, n, 32], f32>
      func.return %r : !nn.tensor<[b, n, 32], f32>
    }"""
    found = costs(text)
    (bytes_, flops), = (value for name, value in found.items() if name.startswith("packed_matmul"))  # fmt: skip
    assert bytes_ in ("1024*b + 160*b*n", "160*b*n + 1024*b") and flops == "512*n0*n1"
    assert all(flops == "0" for name, (_, flops) in found.items() if not name.startswith("packed_matmul"))
