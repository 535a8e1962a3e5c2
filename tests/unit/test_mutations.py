"""Faults planted in PTX are caught: a dozen that no kernel survives; `python -m pelton.tests.mutations` plants more."""

from __future__ import annotations

from functools import cache

import pytest

from pelton.tests.mutations.families import Case
from pelton.tests.mutations.faults import Fault, faults_in
from pelton.tests.mutations.trial import SURVIVED, WRONG_VALUE, Family
from pelton.tests.unit import test_cuda_kernels as kernels

CASES = {
    "softmax": Case(kernels.test_softmax, {"m": 5, "n": 33}),
    "sums": Case(kernels.test_reductions_of_floats, {"m": 5, "n": 33}),
    "transpose": Case(kernels.test_transpose, {"m": 33, "n": 31}),
    "gather": Case(kernels.test_gather, {"m": 3, "n": 32}),
    "linear": Case(kernels.test_matmul, {"m": 5, "k": 100, "n": 20}),
}
FAULTS = [
    ("softmax", "barrier removed", "Race"),
    ("sums", "exchange dropped", WRONG_VALUE),
    ("sums", "exchange distance", WRONG_VALUE),
    ("softmax", "store removed", "Uninitialised"),
    ("softmax", "argument exchanged", WRONG_VALUE),
    ("transpose", "barrier removed", "Race"),
    ("transpose", "store removed", "Uninitialised"),
    ("gather", "argument exchanged", "OutOfBounds"),
    ("gather", "offset ± 1", "OutOfBounds"),
    ("linear", "barrier removed", "Race"),
    ("linear", "factors swapped", WRONG_VALUE),
    ("linear", "store removed", "Uninitialised"),
]


@cache
def family(name: str) -> tuple[Family, str]:
    """A family of one case, and the PTX that it runs."""
    found = Family(name, [CASES[name]])
    (text,) = found.runs
    return found, text


@pytest.mark.parametrize(("name", "kind", "by"), FAULTS)
def test_a_planted_fault_is_caught(name: str, kind: str, by: str) -> None:
    found, text = family(name)
    fault = next(f for f in faults_in(text) if f.kind == kind and f.line in found.reached[text])
    assert found.judged(text, fault) == (by, str(CASES[name]))


def test_a_fault_that_changes_nothing_survives() -> None:
    found, text = family("gather")
    line, old = next((k, line.strip()) for k, line in enumerate(text.splitlines()) if line.strip() == "ret;")
    assert found.judged(text, Fault("none", line, old, old)) == (SURVIVED, "")
