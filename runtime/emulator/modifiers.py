"""The words that may stand behind an opcode. What is none of them is refused, so that no meaning is passed over.

Enters: an opcode's stem and modifiers (`::` written as `_`). Leaves: the first word that the emulator does not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pelton.runtime.emulator.values import TYPES

_BY_KIND = {
    "types": "u16x2 s16x2 e4m3 e5m2 e4m3x2 e5m2x2 tf32",
    "rounding": "rn rz rm rp rni rzi rmi rpi rna ftz sat satfinite relu approx full NaN xorsign abs noftz",
    "parts": "lo hi wide cc wrap clamp l r shiftamt pack f4e b4e rc8 ecl ecr rc16",
    "comparisons": "eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan",
    "kinds": "finite infinite number notanumber normal subnormal",
    "changes": "add min max and or xor exch cas inc dec popc",
    "spaces": "global shared local param const shared_cta shared_cluster to nc v2 v4 ca cg cs cv lu wb wt",
    "order": "volatile relaxed acquire release acq_rel sc weak mmio cta cluster gpu sys",
    "meeting": "uni sync aligned warp arrive red wait all any ballot up down bfly idx",
    "copies": "async bulk tensor tile reduce prefetch read commit_group wait_group wait_all noinc bulk_group",
    "boxes": "1d 2d 3d 4d 5d mbarrier_complete_tx_bytes multicast_cluster",
    "mbarriers": "mbarrier init inval arrive_drop expect_tx complete_tx test_wait try_wait parity noComplete",
    "fences": "mbarrier_init proxy alias generic fence",
    "matrices": "m8n8 x1 x2 x4 trans row col mma_async",
}
_WORDS = frozenset(TYPES) | {word for words in _BY_KIND.values() for word in words.split()}
_FAMILIES = re.compile(r"m\d+n\d+k\d+|L[12]_\w+|async_\w+")
_BESIDE = {"async": ("cp", "fence"), "bulk": ("cp",)}
"""Words that mean something else behind other opcodes."""


def unknown(stem: str, modifiers: Sequence[str]) -> str | None:
    """A word that is not understood behind the opcode; None if all are."""
    for word in modifiers:
        if word not in _WORDS and not _FAMILIES.fullmatch(word):
            return word
        if word in _BESIDE and stem not in _BESIDE[word]:
            return word
    return None
