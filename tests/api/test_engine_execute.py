"""What a loaded model refuses and what it defines: inputs, checks while it runs, edges; compiled and interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.runtime.model import Model

BOOL, F32, I32, I64, CPU = DType.bool, DType.float32, DType.int32, DType.int64, DeviceRef.CPU()


@pytest.fixture(params=["compiled", "interpreted"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "interpreted":
        monkeypatch.setenv("PELTON_INTERPRET", "1")
    yield request.param


def model(function: Callable[..., Any], *types: tuple[DType, Sequence[int | str]], **weights: Any) -> Model:
    graph = Graph("g", function, [TensorType(dtype, list(shape), CPU) for dtype, shape in types])
    return InferenceSession().load(graph, weights_registry=weights)


def run(loaded: Model, *arguments: Any) -> list[Any]:
    return [buffer.to_numpy() for buffer in loaded.execute(*arguments)]


@pytest.fixture
def product() -> Model:
    """[n, 3] @ [3, 2]"""
    w = np.arange(6, dtype=np.float32).reshape(3, 2)
    return model(lambda x: x @ Weight("w", F32, [3, 2], CPU), (F32, ("n", 3)), w=w)


X = np.ones((4, 3), np.float32)
WRONG: dict[str, tuple[tuple[Any, ...], str]] = {
    "none": ((), r"wrong number of inputs\n.*1 \(input0\)\n.*0"),
    "too many": ((X, X), r"wrong number of inputs\n.*1 \(input0\)\n.*2"),
    "dtype": ((X.astype(np.float64),), r"input 0 \('input0'\).*\n.*\[\(n, 3\), f32\]\n.*\[\(4, 3\), f64\]"),
    "rank": ((X[0],), r"input 0 \('input0'\).*\n.*\[\(n, 3\), f32\]\n.*\[\(3\), f32\]"),
    "shape": ((np.ones((3, 4), np.float32),), r"input 0 \('input0'\).*\n.*\[\(n, 3\), f32\]\n.*\[\(3, 4\), f32\]"),
    "a scalar": ((1.0,), r"\[\(n, 3\), f32\]\n.*\[\(\), f32\]"),
    "Fortran order": ((np.asfortranarray(X),), "is not C-contiguous"),
    "every other row": ((np.ones((8, 3), np.float32)[::2],), "is not C-contiguous"),
    "backwards": ((X[::-1],), "is not C-contiguous"),
    "a strided Buffer": ((Buffer.from_numpy(np.ones((4, 6), np.float32))[:, :3],), "is not C-contiguous"),
    "byte order": ((X.astype(">f4"),), "byte order"),
    "objects": ((np.full((4, 3), None),), "cannot be used"),
    "a list": (([[1.0, 2.0, 3.0]],), "input 0 .* is a list"),
    "a text": (("ones",), "input 0 .* is a str"),
    "None": ((None,), "input 0 .* is a NoneType"),
}


@pytest.mark.parametrize("what", WRONG)
def test_inputs_that_do_not_fit(what: str, product: Model) -> None:
    arguments, message = WRONG[what]
    with pytest.raises(ValueError, match=message):
        product.execute(*arguments)
    np.testing.assert_array_equal(run(product, X), [[np.full((4, 2), [6, 9], np.float32)]][0])


@pytest.mark.parametrize("bound", [((), {}), ((X, X), {}), ((X,), {"input0": X}), ((), {"input1": X})])
def test_calling_binds_like_a_function(bound: tuple[tuple[Any, ...], dict[str, Any]], product: Model) -> None:
    with pytest.raises(TypeError):
        product(*bound[0], **bound[1])
    assert product(input0=X)[0].shape == (4, 2)


def test_one_symbol_is_one_size() -> None:
    add = model(lambda x, y: x + y, (F32, ("n",)), (F32, ("n",)))
    three, four = np.ones(3, np.float32), np.ones(4, np.float32)
    with pytest.raises(ValueError, match=r"input 1 \('input1'\) gives the dim 'n' another size") as caught:
        add.execute(three, four)
    assert "n = 3" in str(caught.value) and "n = 4" in str(caught.value)
    square = model(ops.relu, (F32, ("n", "n")))
    with pytest.raises(ValueError, match="gives the dim 'n' another size"):
        square.execute(np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(run(add, four, four), [[2, 2, 2, 2]])


# while it runs
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("bad", [4, -5, 2**62, -(2**63)])
def test_an_index_out_of_range(bad: int) -> None:
    take = model(lambda x, i: ops.gather(x, i, 0), (F32, ("n", 3)), (I64, ("k",)))
    with pytest.raises(RuntimeError, match=rf"gather(.*\n)*.*{bad}"):
        take.execute(TABLE, np.array([0, bad, 1]))
    np.testing.assert_array_equal(run(take, TABLE, np.array([3, -1]))[0], TABLE[[3, -1]])
    with pytest.raises(RuntimeError, match="gather"):
        take.execute(TABLE[:0], np.array([0]))
    assert run(take, TABLE[:0], np.zeros(0, np.int64))[0].shape == (0, 3)


def test_sizes_that_do_not_fit_what_the_graph_says() -> None:
    rows = model(lambda x: ops.rebind(x, ["n", 3]) + 1, (F32, ("n", "m")))
    with pytest.raises(RuntimeError, match=r"rebind of \[n, m\] to \[n, 3\]"):
        rows.execute(np.ones((2, 4), np.float32))
    np.testing.assert_array_equal(run(rows, np.ones((1, 3), np.float32)), [[[2, 2, 2]]])
    flat = model(lambda x: ops.reshape(x, [2, -1]), (F32, ("n",)))
    with pytest.raises(RuntimeError, match="reshape"):
        flat.execute(np.ones(3, np.float32))
    assert run(flat, np.ones(6, np.float32))[0].shape == (2, 3)


def test_memory_that_is_not_there() -> None:
    huge = model(lambda x: ops.broadcast_to(x, [2**50]) + 1, (F32, (1,)))
    with pytest.raises(MemoryError):
        huge.execute(np.ones(1, np.float32))


def test_integers_divided_by_zero() -> None:
    """Defined: the quotient and the remainder are 0; the lowest number divided by -1 wraps."""
    divide = model(lambda x, y: (x // y, x % y), (I32, ("n",)), (I32, ("n",)))
    x, y = np.array([1, -7, 0, -(2**31), -7], np.int32), np.array([0, 0, 0, -1, 2], np.int32)
    quotient, remainder = run(divide, x, y)
    np.testing.assert_array_equal(quotient, [0, 0, 0, -(2**31), -4])
    np.testing.assert_array_equal(remainder, [0, 0, 0, 0, 1])


# edges
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0, 0)])
def test_zero_sizes(shape: tuple[int, int]) -> None:
    both = model(lambda x: (ops.softmax(x), ops.sum(x, axis=0), x @ ops.transpose(x, 0, 1)), (F32, ("n", "m")))
    x = np.zeros(shape, np.float32)
    soft, total, gram = run(both, x)
    assert soft.shape == shape
    np.testing.assert_array_equal(total, np.zeros((1, shape[1])))
    np.testing.assert_array_equal(gram, np.zeros((shape[0], shape[0])))


def test_rank_zero_and_bool_scalars() -> None:
    pick = model(ops.where, (BOOL, ()), (F32, ()), (F32, ()))
    assert run(pick, True, 1.5, 2)[0] == 1.5 and run(pick, np.bool_(False), np.float32(1.5), np.array(2, "f4"))[0] == 2


def outputs_of_all_kinds(x: Any) -> tuple[Any, ...]:
    sum_ = x + 1
    return x, x, sum_, sum_, ops.reshape(x, [-1]), ops.constant(np.arange(3, dtype=np.float32), F32, CPU)


def test_outputs_never_share_memory() -> None:
    """Not with inputs, weights, constants or each other: each can be written without changing anything else."""
    weight = np.ones(2, np.float32)
    weight.flags.writeable = False
    all_kinds = model(
        lambda x: (*outputs_of_all_kinds(x), Weight("w", F32, [2], CPU)), (F32, ("n", 2)), w=weight
    )  # fmt: skip
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    kept = x.copy()
    want = [x, x, x + 1, x + 1, x.reshape(-1), np.arange(3), np.ones(2)]
    for _ in range(2):
        outputs = run(all_kinds, x)
        for k, output in enumerate(outputs):
            np.testing.assert_array_equal(output, want[k])
            output += 100
            assert not any(np.shares_memory(output, other) for j, other in enumerate([*outputs, x]) if j != k)
    np.testing.assert_array_equal(x, kept)


def test_no_inputs_and_no_outputs() -> None:
    assert run(model(lambda: ops.constant(np.float32(3), F32, CPU)))[0] == 3
    assert model(lambda x: None, (F32, ("n",))).execute(np.ones(2, np.float32)) == []


def test_outputs_outlive_later_calls() -> None:
    double = model(lambda x: x * 2, (F32, ("n",)))
    arguments = [np.full(1000, k, np.float32) for k in range(20)]
    outputs = [double.execute(argument)[0] for argument in arguments]
    for output, argument in zip(outputs, arguments, strict=True):
        np.testing.assert_array_equal(output.to_numpy(), argument * 2)


def test_a_chain_of_hundreds_of_ops() -> None:
    def chain(x: Any) -> Any:
        for _ in range(250):
            x = ops.relu(ops.negate(x - 1))
        return x

    np.testing.assert_array_equal(run(model(chain, (F32, ("n",))), np.zeros(3, np.float32)), [[0, 0, 0]])
