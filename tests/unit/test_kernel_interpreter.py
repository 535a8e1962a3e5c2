"""The interpreter of kernels against NumPy written by hand: the truth of its level is checked by itself."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import bf16, f16

from pelton.codegen.interpreter import Failure, run_kernel
from pelton.codegen.scalar_values import round_to
from pelton.support.errors import CompileError, InternalError
from pelton.tests.support.kernels import kernel_functions

Array = np.ndarray[Any, Any]


def run(
    body: str, buffers: list[Array], sizes: dict[str, int], types: str, items: range | None = None
) -> Failure | None:
    """Run a kernel given by the text of its body; its buffers are %a, %b, …."""
    names = "".join(f"%{name} = kernel.dim {name}\n" for name in sizes)
    args = ", ".join(f"%{chr(97 + k)} : !kernel.buf<{t}>" for k, t in enumerate(types.split("; ")))
    text = f"kernel.func @f({args}) sizes [{', '.join(sizes)}] {{\n%c0 = arith.constant 0 : index\n{names}{body}\n}}"
    return run_kernel(kernel_functions(text)["f"], buffers, list(sizes.values()), items)


def scalar(op: str, source: str, target: str, *values: Array) -> Array:
    """One op on arrays; `op` names its operands %x and %y."""
    loads = "".join(
        f"%{'xy'[k]} = kernel.load %{'ab'[k]}[%j] : !kernel.buf<[n], {source}>\n" for k in range(len(values))
    )
    out = "abc"[len(values)]
    body = f"""kernel.grid () in () {{ kernel.lanes (%j) in (%n) {{
      {loads}
      %r = {op}
      kernel.store %r, %{out}[%j] : !kernel.buf<[n], {target}>
    }} }}"""
    dtypes = {"f32": np.float32, "i32": np.int32, "i1": np.bool_, "i8": np.int8, "bf16": ml_dtypes.bfloat16}
    result = np.zeros(len(values[0]), dtypes[target])
    run(body, [*values, result], {"n": len(result)}, "; ".join([f"[n], {source}"] * len(values) + [f"[n], {target}"]))
    return result


X = np.array([7, -7, 7, -7, 5, -(2**31), 0, 2**31 - 1], np.int32)
Y = np.array([2, 2, -2, -2, 0, -1, 3, 1], np.int32)


@pytest.mark.parametrize(
    ("op", "want"),
    [
        ("divsi", [3, -3, -3, 3, 0, -(2**31), 0, 2**31 - 1]),
        ("remsi", [1, -1, 1, -1, 0, 0, 0, 0]),
        ("floordivsi", [3, -4, -4, 3, 0, -(2**31), 0, 2**31 - 1]),
        ("ceildivsi", [4, -3, -3, 4, 0, -(2**31), 0, 2**31 - 1]),
        ("addi", [9, -5, 5, -9, 5, 2**31 - 1, 3, -(2**31)]),
        ("muli", [14, -14, -14, 14, 0, -(2**31), 0, 2**31 - 1]),
    ],
)
def test_integers_never_trap_and_wrap(op: str, want: list[int]) -> None:
    np.testing.assert_array_equal(scalar(f"arith.{op} %x, %y : i32", "i32", "i32", X, Y), want)


@pytest.mark.parametrize(
    ("predicate", "want"),
    [("oeq", [0, 1, 0, 0]), ("une", [1, 0, 1, 1]), ("one", [1, 0, 0, 0]), ("ueq", [0, 1, 1, 1]), ("olt", [1, 0, 0, 0]),
     ("uge", [0, 1, 1, 1]), ("ord", [1, 1, 0, 0]), ("uno", [0, 0, 1, 1]), ("true", [1, 1, 1, 1]),
     ("false", [0, 0, 0, 0])],
)  # fmt: skip
def test_float_comparisons_say_what_they_do_with_nan(predicate: str, want: list[int]) -> None:
    x, y = np.array([1, 2, np.nan, 3], np.float32), np.array([2, 2, 2, np.nan], np.float32)
    np.testing.assert_array_equal(
        scalar(f"arith.cmpf {predicate}, %x, %y : f32", "f32", "i1", x, y), np.array(want, bool)
    )


@pytest.mark.parametrize(("predicate", "want"), [("ult", [0, 1, 0]), ("slt", [1, 0, 0]), ("uge", [1, 0, 1])])
def test_unsigned_comparisons_read_the_same_bits(predicate: str, want: list[int]) -> None:
    x, y = np.array([-1, 1, 4], np.int32), np.array([1, -1, 4], np.int32)
    np.testing.assert_array_equal(
        scalar(f"arith.cmpi {predicate}, %x, %y : i32", "i32", "i1", x, y), np.array(want, bool)
    )


def test_floats_become_integers_by_truncation_saturation_and_zero() -> None:
    x = np.array([1.9, -1.9, 3e9, -3e9, np.inf, -np.inf, np.nan], np.float32)
    want = [1, -1, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0]
    np.testing.assert_array_equal(scalar("arith.fptosi %x : f32 to i32", "f32", "i32", x), want)


def test_bits_are_signless() -> None:
    x = np.array([-1, 5, -128], np.int8)
    np.testing.assert_array_equal(scalar("arith.extui %x : i8 to i32", "i8", "i32", x), [255, 5, 128])
    np.testing.assert_array_equal(scalar("arith.uitofp %x : i8 to f32", "i8", "f32", x), [255, 5, 128])
    np.testing.assert_array_equal(scalar("arith.sitofp %x : i8 to f32", "i8", "f32", x), [-1, 5, -128])
    p = np.array([True, False])
    np.testing.assert_array_equal(scalar("arith.extsi %x : i1 to i32", "i1", "i32", p), [-1, 0])
    np.testing.assert_array_equal(scalar("arith.extui %x : i1 to i32", "i1", "i32", p), [1, 0])


def test_maximum_keeps_nan_and_maxnum_drops_it() -> None:
    x, y = np.array([np.nan, 1, np.nan], np.float32), np.array([1, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(scalar("arith.maximumf %x, %y : f32", "f32", "f32", x, y), [np.nan] * 3)
    np.testing.assert_array_equal(scalar("arith.maxnumf %x, %y : f32", "f32", "f32", x, y), [1, 1, np.nan])


def test_f64_becomes_bf16_in_one_rounding() -> None:
    # Just above half way between two bf16 values; f32 would round it onto half way, then to even, down.
    x = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, -(1 + 2.0**-8 + 2.0**-40), 1e300, np.nan, 2.0**-133])
    got = round_to(x, bf16).astype(np.float64)
    np.testing.assert_array_equal(got, [1 + 2.0**-7, 1, -(1 + 2.0**-7), np.inf, np.nan, 2.0**-133])
    np.testing.assert_array_equal(round_to(np.array([1 + 2.0**-11 + 2.0**-40]), f16).astype(np.float64), [1 + 2.0**-10])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_reductions_of_nothing_give_the_identity(n: int) -> None:
    x = np.arange(n, dtype=np.float32) - 2
    p, out, flags = x > 0, np.zeros(4, np.float32), np.zeros(2, bool)
    body = """%c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    kernel.grid () in () {
      %s, %m, %h, %l, %any, %all = kernel.reduce add, mul, max, min, max, min (%j) in (%n) {
        %v = kernel.load %a[%j] : !kernel.buf<[n], f32>
        %p = kernel.load %b[%j] : !kernel.buf<[n], i1>
        kernel.yield %v, %v, %v, %v, %p, %p : f32, f32, f32, f32, i1, i1
      }
      kernel.store %s, %c[%c0] : !kernel.buf<[4], f32>
      kernel.store %m, %c[%c1] : !kernel.buf<[4], f32>
      kernel.store %h, %c[%c2] : !kernel.buf<[4], f32>
      kernel.store %l, %c[%c3] : !kernel.buf<[4], f32>
      kernel.store %any, %d[%c0] : !kernel.buf<[2], i1>
      kernel.store %all, %d[%c1] : !kernel.buf<[2], i1>
    }"""
    run(body, [x, p, out, flags], {"n": n}, "[n], f32; [n], i1; [4], f32; [2], i1")
    np.testing.assert_array_equal(out, [x.sum(), x.prod(), x.max(initial=-np.inf), x.min(initial=np.inf)])
    np.testing.assert_array_equal(flags, [p.any(), p.all()])


def test_a_varying_loop_and_branch_run_each_lane_by_itself() -> None:
    n, out = np.array([0, 1, 5, 10], np.int64), np.zeros(4, np.int64)
    body = """%c1 = arith.constant 1 : index
    kernel.grid () in () { kernel.lanes (%j) in (%n) {
      %v = kernel.load %a[%j] : !kernel.buf<[n], i64>
      %top = arith.index_cast %v : i64 to index
      %zero = arith.constant 0 : i64
      %three = arith.constant 3 : i64
      %sum = scf.for %k = %c0 to %top step %c1 iter_args(%acc = %zero) -> (i64) {
        %i = arith.index_cast %k : index to i64
        %odd = arith.remsi %i, %three : i64
        %skip = arith.cmpi eq, %odd, %zero : i64
        %next = scf.if %skip -> (i64) {
          scf.yield %acc : i64
        } else {
          kernel.store %i, %c[%j] : !kernel.buf<[n], i64>
          %0 = arith.addi %acc, %i : i64
          scf.yield %0 : i64
        }
        scf.yield %next : i64
      }
      kernel.store %sum, %b[%j] : !kernel.buf<[n], i64>
    } }"""
    last = np.full(4, -1, np.int64)
    run(body, [n, out, last], {"n": 4}, "[n], i64; [n], i64; [n], i64")
    np.testing.assert_array_equal(out, [sum(i for i in range(top) if i % 3) for top in n])
    np.testing.assert_array_equal(last, [-1, -1, 4, 8])


def test_items_pick_part_of_the_grid() -> None:
    out = np.zeros((3, 4), np.int64)
    body = """kernel.grid (%i, %k) in (%m, %n) {
      %0 = arith.muli %i, %n : index
      %1 = arith.addi %0, %k : index
      %2 = arith.index_cast %1 : index to i64
      kernel.store %2, %a[%i, %k] : !kernel.buf<[m, n], i64>
    }"""
    run(body, [out], {"m": 3, "n": 4}, "[m, n], i64", range(2, 7))
    np.testing.assert_array_equal(out.reshape(-1), [0, 0, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0])


def test_the_lowest_failing_index_is_reported() -> None:
    x = np.array([1, 2, 30, 4, 50], np.int64)
    body = """%c9 = arith.constant 9 : index
    kernel.grid () in () { kernel.lanes (%j) in (%n) {
      %v = kernel.load %a[%j] : !kernel.buf<[n], i64>
      %k = arith.index_cast %v : i64 to index
      %ok = arith.cmpi ult, %k, %c9 : index
      %back = arith.subi %n, %j : index
      kernel.check 1 %ok at %back, %k : index
    } }"""
    assert run(body, [x], {"n": 5}, "[n], i64") == Failure(1, 1, 50)
    assert run(body, [x[:2].copy()], {"n": 2}, "[n], i64") is None


def test_an_access_outside_a_buffer_is_an_error() -> None:
    body = """kernel.grid (%i) in (%n) {
      %j = arith.addi %i, %n : index
      %v = kernel.load %a[%j] : !kernel.buf<[n], f32>
    }"""
    with pytest.raises(InternalError, match="a kernel reaches outside a buffer"):
        run(body, [np.zeros(3, np.float32)], {"n": 3}, "[n], f32")


def test_scratch_starts_undefined() -> None:
    out = np.zeros(4, np.float32)
    body = """kernel.grid () in () {
      %t = kernel.scratch : !kernel.buf<[4], f32, team>
      kernel.lanes (%j) in (%n) {
        %v = kernel.load %t[%j] : !kernel.buf<[4], f32, team>
        kernel.store %v, %a[%j] : !kernel.buf<[n], f32>
      }
    }"""
    run(body, [out], {"n": 4}, "[n], f32")
    assert np.isnan(out).all()


def test_an_unknown_op_is_named() -> None:
    with pytest.raises(CompileError, match=r"does not know math\.cbrt"):
        scalar("math.cbrt %x : f32", "f32", "f32", np.ones(2, np.float32))


def test_partial_results_of_a_product_are_rounded_where_the_call_says() -> None:
    rng = np.random.default_rng(2)
    a, w, y = rng.random((3, 2100), np.float32), rng.random((2100, 4), np.float32), np.empty((3, 4), np.float32)
    body = """kernel.call @matmul(%a, %b) with {partial = bf16} : (!kernel.buf<[m, k], f32>, !kernel.buf<[k, n], f32>)
      epilogue (%acc : f32, %i : index, %j : index) { kernel.store %acc, %c[%i, %j] : !kernel.buf<[m, n], f32> }"""
    run(body, [a, w, y], {"m": 3, "k": 2100, "n": 4}, "[m, k], f32; [k, n], f32; [m, n], f32")
    wide = [a[:, k : k + 1024].astype(np.float64) @ w[k : k + 1024] for k in (0, 1024, 2048)]
    kept = [part.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64) for part in wide]
    np.testing.assert_array_equal(y, np.sum(kept, 0).astype(np.float32))
    assert np.any(y != np.sum(wide, 0).astype(np.float32))
