"""The math of the CPU vocabulary against extended precision: error in ulp over random and special arguments, and
equal bits.

What is held: the error bounds that the modules of codegen/cpu state; NaN, infinities and the sign of zero exactly;
the scalar form bit for bit as the vector form; and the code for AVX-512, where this machine can run it, bit for bit
as that for AVX2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu.target import TARGETS, CpuTarget
from pelton.tests.support.words import RUNNABLE, STORAGE_DTYPE, Array, apply_word, same_bits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

COUNT = 40_000
HALF_PI = math.pi / 2


def erf_reference(x: Array) -> Array:
    """erf by its series of positive terms (Abramowitz and Stegun 7.1.6), in extended precision."""
    a = np.minimum(np.abs(x), np.longdouble(6.5))
    term, total = np.ones_like(a), np.ones_like(a)
    for n in range(1, 240):
        term = term * (2 * a * a / (2 * n + 1))
        total = total + term
    pi = np.arctan(np.longdouble(1)) * 4
    value = np.minimum(2 / np.sqrt(pi) * a * np.exp(-a * a) * total, np.longdouble(1))
    return np.copysign(np.where(np.isnan(x), x, value), x)


REFERENCE: dict[str, tuple[Callable[[Array], Array], float, float]] = {
    "exp": (np.exp, 1.2, 1.2),
    "tanh": (np.tanh, 1.6, 1.6),
    "erf": (erf_reference, 1.5, 1.5),
    "log": (np.log, 0.9, 0.9),
    "log1p": (np.log1p, 0.51, 1.5),
    "atanh": (np.arctanh, 0.51, 2.3),
    "sin": (np.sin, 0.51, 0.8),
    "cos": (np.cos, 0.51, 0.8),
    "tan": (np.tan, 0.51, 2.1),
    "asin": (np.arcsin, 0.51, 0.9),
    "acos": (np.arccos, 0.51, 0.9),
    "atan": (np.arctan, 0.51, 1.8),
    "sqrt": (np.sqrt, 0.5, 0.5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5, 1.5),
}
"""name: (meaning, bound in ulp for f32, for f64)"""


def arguments(name: str, dtype: type[Any]) -> Array:
    """Specials, every binade with both signs, and the range where the function is interesting."""
    rng = np.random.default_rng(11)
    info = np.finfo(dtype)
    width = {4: np.uint32, 8: np.uint64}[info.bits // 8]
    special = [0.0, 1.0, 0.5, 2.0, np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max, 1e-10]
    bits = rng.integers(0, np.iinfo(width).max, COUNT, dtype=width).view(dtype)
    spread = np.exp2(rng.uniform(-20, 20, COUNT))
    limits = {"exp": 90.0 if info.bits == 32 else 711.0, "asin": 1.0, "acos": 1.0, "atanh": 1.0, "log1p": 1.0}
    near = rng.uniform(-1, 1, COUNT) * limits.get(name, 6.0)
    turns = np.arange(-500, 500) * HALF_PI
    parts = [special, np.negative(special), bits, spread, -spread, near, near * 1e-3, turns]
    return np.concatenate([np.asarray(p).astype(dtype) for p in parts])


def ulp_error(got: Array, reference: Array) -> Array:
    """|got - reference| in units in the last place of the rounded reference; inf where the kind of number differs."""
    rounded = reference.astype(got.dtype)
    spacing = np.spacing(np.minimum(np.abs(rounded), np.finfo(got.dtype).max)).astype(np.longdouble)
    error = np.abs(got.astype(np.longdouble) - reference) / spacing
    number = np.isfinite(got) & np.isfinite(rounded) & ((got != 0) | (rounded != 0))
    return np.where(number, error, np.where(same_bits(got, rounded), 0, np.inf))


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", REFERENCE)
def test_error_is_within_the_stated_bound(name: str, element: str) -> None:
    meaning, *bounds = REFERENCE[name]
    x = arguments(name, STORAGE_DTYPE[element])
    x = x[::5] if name == "erf" else x
    reference = meaning(x.astype(np.longdouble))
    for target in RUNNABLE:
        vectors, scalars = apply_word(target, f"{name}(a)", [element], element, [x])
        error = ulp_error(vectors, reference)
        worst = int(np.argmax(error))
        assert error[worst] <= bounds[element == "f64"], (target.name, x[worst], vectors[worst], reference[worst])
        assert same_bits(vectors, scalars).all(), target.name


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_pow_is_within_its_bound_and_keeps_the_special_cases_of_c(element: str) -> None:
    rng = np.random.default_rng(5)
    dtype = STORAGE_DTYPE[element]
    numbers = [0.0, 1.0, 2.0, 0.5, 3.0, np.inf, np.nan, 1e-40, 1e30, 2.5, 1e9 + 1, 2.0**53 + 2, np.nextafter(1, 2)]
    special = np.concatenate([numbers, np.negative(numbers)])
    bases, exponents = (v.ravel() for v in np.meshgrid(special, special))
    x = np.exp2(rng.uniform(-30, 30, COUNT))
    y = rng.uniform(-1, 1, COUNT) * (127 if element == "f32" else 1022) / np.log2(x)
    near, steep = 1 + rng.standard_normal(COUNT) * 1e-3, rng.standard_normal(COUNT) * 3e4
    base = np.concatenate([bases, x, near]).astype(dtype)
    exponent = np.concatenate([exponents, y, steep]).astype(dtype)
    reference = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
    for target in RUNNABLE:
        vectors, scalars = apply_word(target, "pow(a, b)", [element, element], element, [base, exponent])
        error = ulp_error(vectors, reference)
        worst = int(np.argmax(error))
        assert error[worst] <= (0.51 if element == "f32" else 1.2), (base[worst], exponent[worst], vectors[worst])
        assert same_bits(vectors, scalars).all()


ROUNDING: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "absolute": np.abs,
}


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_rounding_is_exact(element: str) -> None:
    dtype = STORAGE_DTYPE[element]
    x = np.concatenate([arguments("floor", dtype), np.arange(-8, 8, 0.25).astype(dtype)])
    for target in RUNNABLE:
        for name, meaning in ROUNDING.items():
            for got in apply_word(target, f"{name}(a)", [element], element, [x]):
                assert same_bits(got, meaning(x)).all(), (target.name, name)


def _pairs(dtype: type[Any]) -> tuple[Array, Array]:
    rng = np.random.default_rng(9)
    numbers = [0.0, 1.0, np.inf, np.nan, 1e-40, 3.5, 2.5, 1e30, 7.0]
    special = np.concatenate([numbers, np.negative(numbers)])
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    wide = [rng.standard_normal(300) * 10.0 ** rng.uniform(-30, 30, 300) for _ in range(2)]
    return np.concatenate([a, wide[0]]).astype(dtype), np.concatenate([b, wide[1]]).astype(dtype)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_remainders_are_exact(element: str) -> None:
    a, b = _pairs(STORAGE_DTYPE[element])
    for target in RUNNABLE:
        for got in apply_word(target, "truncmod(a, b)", [element, element], element, [a, b]):
            assert same_bits(got, np.fmod(a, b)).all(), target.name


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_extrema_order_zeros_and_treat_nan_as_their_names_say(element: str) -> None:
    dtype = STORAGE_DTYPE[element]
    a, b = _pairs(dtype)
    zeros = (a == 0) & (b == 0)
    both, either = np.signbit(a) & np.signbit(b), np.signbit(a) | np.signbit(b)
    larger = np.where(zeros, np.where(both, -0.0, 0.0), np.maximum(a, b)).astype(dtype)
    smaller = np.where(zeros, np.where(either, -0.0, 0.0), np.minimum(a, b)).astype(dtype)

    def ignoring_nan(extremum: Array) -> Array:
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, extremum))

    meanings = {
        "maximum": larger,
        "minimum": smaller,
        "maxnum": ignoring_nan(larger),
        "minnum": ignoring_nan(smaller),
        "copysign": np.copysign(a, b),
    }
    for target in RUNNABLE:
        for name, reference in meanings.items():
            for got in apply_word(target, f"{name}(a, b)", [element, element], element, [a, b]):
                assert same_bits(got, reference).all(), (target.name, name)


def _widest() -> CpuTarget:
    return TARGETS[-1]


@pytest.mark.skipif(_widest() not in RUNNABLE, reason=f"this CPU cannot run {_widest().name} code")
@pytest.mark.parametrize("name", [*REFERENCE, "floor"])
def test_bits_do_not_depend_on_the_width_of_registers(name: str) -> None:
    for element in ("f32", "f64"):
        x = arguments(name, STORAGE_DTYPE[element])
        narrow, wide = (apply_word(t, f"{name}(a)", [element], element, [x])[0] for t in TARGETS[1:])
        assert same_bits(narrow, wide).all(), element
