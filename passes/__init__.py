"""The passes: one file, one class, one name each (`fuse_groups.py`, `FuseGroups`, `fuse-groups`).

`compiler.py` puts them in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from pelton.support.errors import CompileError


def expect_option(stage: str, wrong: str, got: str, known: Sequence[str]) -> None:
    """Raise CompileError, saying `wrong` and listing what is known, for an option of a pass that is none of that."""
    if got not in known:
        raise CompileError(wrong, stage=stage, expected=f"one of {', '.join(known)}", got=got)
