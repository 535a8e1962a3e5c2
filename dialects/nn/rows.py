"""The table of elementwise ops: one row, one class. What a row's columns mean is said in `elementwise.py`."""

from __future__ import annotations

from pelton.dialects.nn import division
from pelton.dialects.nn import formulas as f
from pelton.dialects.nn.elementwise import CLOSE, Binary, Row, Unary, op_of

SMOOTH = {"f32": 4.0, "f64": 8.0, "f16": 1.0, "bf16": 1.0}
"""A function of one exponential, with two roundings after it."""

# arithmetic
AddOp = op_of(Binary, Row("add", "lhs + rhs; integers wrap", "number", f.binary("add"), f.numpy("add"), commutes=True))
SubOp = op_of(Binary, Row("sub", "lhs - rhs; integers wrap", "number", f.binary("sub"), f.numpy("subtract")))
MulOp = op_of(
    Binary, Row("mul", "lhs * rhs; integers wrap", "number", f.binary("mul"), f.numpy("multiply"), commutes=True)
)
DivOp = op_of(Binary, Row("div", "lhs / rhs", "float", f.binary("div"), f.numpy("divide")))
FloorDivOp = op_of(
    division.Quotient,
    Row(
        "floor_div",
        "floor(lhs / rhs); an integer by 0 is 0, the smallest integer by -1 wraps",
        "number",
        division.floor_div,
        division.floor_div_value,
    ),
)
ModOp = op_of(
    division.Remainder,
    Row(
        "mod",
        "lhs - floor(lhs / rhs) * rhs, which has the sign of rhs; an integer by 0 is 0",
        "number",
        division.mod,
        f.numpy("remainder"),
    ),
)
PowOp = op_of(Binary, Row("pow", "lhs to the power rhs", "float", f.binary("pow"), f.numpy("power"), CLOSE))
MaximumOp = op_of(
    Binary,
    Row("maximum", "the larger; NaN where either is NaN", "number", f.binary("max"), f.maximum_value, commutes=True),
)
MinimumOp = op_of(
    Binary,
    Row("minimum", "the smaller; NaN where either is NaN", "number", f.binary("min"), f.minimum_value, commutes=True),
)

# comparisons: false where either is NaN, but for not_equal
EqualOp = op_of(
    Binary, Row("equal", "lhs = rhs", "any", f.compare("eq"), f.numpy("equal"), gives_bool=True, commutes=True)
)
NotEqualOp = op_of(
    Binary,
    Row(
        "not_equal",
        "lhs ≠ rhs; true where either is NaN",
        "any",
        f.compare("ne"),
        f.numpy("not_equal"),
        gives_bool=True,
        commutes=True,
    ),
)
GreaterOp = op_of(Binary, Row("greater", "lhs > rhs", "any", f.compare("gt"), f.numpy("greater"), gives_bool=True))
GreaterEqualOp = op_of(
    Binary, Row("greater_equal", "lhs ≥ rhs", "any", f.compare("ge"), f.numpy("greater_equal"), gives_bool=True)
)
LessOp = op_of(Binary, Row("less", "lhs < rhs", "any", f.compare("lt"), f.numpy("less"), gives_bool=True))
LessEqualOp = op_of(
    Binary, Row("less_equal", "lhs ≤ rhs", "any", f.compare("le"), f.numpy("less_equal"), gives_bool=True)
)

# bools and bits
LogicalAndOp = op_of(Binary, Row("logical_and", "both", "bool", f.binary("and"), f.numpy("logical_and"), commutes=True))
LogicalOrOp = op_of(
    Binary, Row("logical_or", "either or both", "bool", f.binary("or"), f.numpy("logical_or"), commutes=True)
)
LogicalXorOp = op_of(
    Binary, Row("logical_xor", "one but not both", "bool", f.binary("xor"), f.numpy("logical_xor"), commutes=True)
)
LogicalNotOp = op_of(Unary, Row("logical_not", "not x", "bool", f.invert, f.numpy("logical_not")))
BitwiseAndOp = op_of(
    Binary, Row("bitwise_and", "and, bit by bit", "bits", f.binary("and"), f.numpy("bitwise_and"), commutes=True)
)
BitwiseOrOp = op_of(
    Binary, Row("bitwise_or", "or, bit by bit", "bits", f.binary("or"), f.numpy("bitwise_or"), commutes=True)
)
BitwiseXorOp = op_of(
    Binary,
    Row("bitwise_xor", "exclusive or, bit by bit", "bits", f.binary("xor"), f.numpy("bitwise_xor"), commutes=True),
)
BitwiseNotOp = op_of(Unary, Row("bitwise_not", "every bit turned over", "bits", f.invert, f.numpy("invert")))

# signs and rounding
AbsOp = op_of(Unary, Row("abs", "|x|; the smallest integer stays", "number", f.absolute, f.numpy("abs")))
NegateOp = op_of(Unary, Row("negate", "-x; the smallest integer stays", "number", f.negate, f.numpy("negative")))
FloorOp = op_of(Unary, Row("floor", "the largest integer ≤ x", "float", f.unary("floor"), f.numpy("floor")))
CeilOp = op_of(Unary, Row("ceil", "the smallest integer ≥ x", "float", f.unary("ceil"), f.numpy("ceil")))
RoundOp = op_of(
    Unary, Row("round", "the nearest integer, the even one of two", "float", f.unary("roundeven"), f.numpy("rint"))
)
TruncOp = op_of(Unary, Row("trunc", "x without its fraction", "float", f.unary("trunc"), f.numpy("trunc")))
IsNanOp = op_of(Unary, Row("is_nan", "whether x is NaN", "float", f.is_nan, f.numpy("isnan"), gives_bool=True))
IsInfOp = op_of(Unary, Row("is_inf", "whether x is infinite", "float", f.is_inf, f.numpy("isinf"), gives_bool=True))

# functions
ExpOp = op_of(Unary, Row("exp", "e to the power x", "float", f.unary("exp"), f.numpy("exp"), CLOSE))
LogOp = op_of(Unary, Row("log", "the natural logarithm", "float", f.unary("log"), f.numpy("log"), CLOSE))
Log1pOp = op_of(Unary, Row("log1p", "log(1 + x), accurate near 0", "float", f.unary("log1p"), f.numpy("log1p"), CLOSE))
SqrtOp = op_of(Unary, Row("sqrt", "the square root", "float", f.unary("sqrt"), f.numpy("sqrt")))
RsqrtOp = op_of(Unary, Row("rsqrt", "1 / √x", "float", f.unary("rsqrt"), f.rsqrt_value, CLOSE))
SinOp = op_of(Unary, Row("sin", "the sine of x in radians", "float", f.unary("sin"), f.numpy("sin"), CLOSE))
CosOp = op_of(Unary, Row("cos", "the cosine of x in radians", "float", f.unary("cos"), f.numpy("cos"), CLOSE))
TanOp = op_of(Unary, Row("tan", "the tangent of x in radians", "float", f.unary("tan"), f.numpy("tan"), CLOSE))
AsinOp = op_of(
    Unary, Row("asin", "the angle in [-π/2, π/2] whose sine is x", "float", f.unary("asin"), f.numpy("arcsin"), CLOSE)
)
AcosOp = op_of(
    Unary, Row("acos", "the angle in [0, π] whose cosine is x", "float", f.unary("acos"), f.numpy("arccos"), CLOSE)
)
AtanOp = op_of(
    Unary,
    Row("atan", "the angle in (-π/2, π/2) whose tangent is x", "float", f.unary("atan"), f.numpy("arctan"), CLOSE),
)
AtanhOp = op_of(
    Unary, Row("atanh", "the area hyperbolic tangent", "float", f.unary("atanh"), f.numpy("arctanh"), CLOSE)
)
TanhOp = op_of(Unary, Row("tanh", "the hyperbolic tangent", "float", f.unary("tanh"), f.numpy("tanh"), CLOSE))
ErfOp = op_of(Unary, Row("erf", "the error function", "float", f.unary("erf"), f.erf_value, CLOSE))
ReluOp = op_of(Unary, Row("relu", "max(x, 0); NaN stays", "number", f.relu, f.relu_value))
SigmoidOp = op_of(Unary, Row("sigmoid", "1 / (1 + exp(-x))", "float", f.sigmoid, f.sigmoid_value, SMOOTH))
SiluOp = op_of(Unary, Row("silu", "x / (1 + exp(-x))", "float", f.silu, f.silu_value, SMOOTH, subnormals=128))

ROWS = (
    AddOp, SubOp, MulOp, DivOp, FloorDivOp, ModOp, PowOp, MaximumOp, MinimumOp, EqualOp, NotEqualOp, GreaterOp,
    GreaterEqualOp, LessOp, LessEqualOp, LogicalAndOp, LogicalOrOp, LogicalXorOp, LogicalNotOp, BitwiseAndOp,
    BitwiseOrOp, BitwiseXorOp, BitwiseNotOp, AbsOp, NegateOp, FloorOp, CeilOp, RoundOp, TruncOp, IsNanOp, IsInfOp,
    ExpOp, LogOp, Log1pOp, SqrtOp, RsqrtOp, SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, AtanhOp, TanhOp, ErfOp, ReluOp,
    SigmoidOp, SiluOp,
)  # fmt: skip
