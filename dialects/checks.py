"""Ops that a run may refuse: what they share, and how `apply-assert-level` silences them.

Such an op says which of its elements are refused (`failure`, in NumPy) and how compiled code finds them (in `element`,
through `Scalars.check`). Its property `checks` says what follows: without it the run stops with an AssertionFailed;
`"report"` has it logged; `"off"` leaves no check in the code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_prop_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.fold import constant_arrays
from pelton.dialects.op import Array, NnOp, Sizes

MODES = ("report", "off")


class Failure(NamedTuple):
    """The refused element of lowest linear index, and its values: NumPy scalars."""

    place: int
    values: tuple[Any, ...]


class Checked(NnOp):
    """An op some of whose elements a run may refuse."""

    checks = opt_prop_def(StringAttr)
    GUARDS_MEMORY: ClassVar[bool] = False
    """Whether what is refused would have been a place in memory: such checks are kept at the level SAFE."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What to tell the user."""

    @property
    @abstractmethod
    def recorded(self) -> Sequence[Attribute]:
        """The dtypes of the values that a failure shows, at least one."""

    @abstractmethod
    def failure(self, sizes: Sizes, *inputs: Array) -> Failure | None:
        """The first refused element of `inputs`; None where all are right."""

    @property
    def mode(self) -> str:
        """`fail`, `report` or `off`."""
        return self.checks.data if self.checks else "fail"

    @property
    def row_values(self) -> int:
        """How many values stand in a row of reports; 0 where the check leaves none. What fails with one value needs
        no row: the context of the call has room for it.
        """
        count = len(self.recorded)
        return count if self.mode == "report" or (self.mode == "fail" and count > 1) else 0

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """As other ops, but what a run would refuse is left to the run."""
        arrays = constant_arrays(self)
        return None if arrays is not None and self.failure({}, *arrays) is not None else super().fold()

    def verify_(self) -> None:
        if self.checks is not None and self.checks.data not in MODES:
            raise VerifyException(f"'{self.name}' expects checks out of {', '.join(MODES)}, got {self.checks.data}")
        super().verify_()
