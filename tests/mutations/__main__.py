"""Faults planted in generated PTX, which the tests have to catch: a table leaves, and the faults that nobody noticed.

    python -m pelton.tests.mutations                     # all families, each with its usual number of faults: minutes
    python -m pelton.tests.mutations rows checks --count 40 --seed 7
    python -m pelton.tests.mutations --list

Each fault is one changed instruction, of those that the tests reach. It is caught if a test of the family fails: a
wrong value, or what the emulator refuses. Survivors that are known stand in `survivors.py`, with the reason; any other
fails the run. `reached` is the share of instructions that the tests run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

from pelton.tests.mutations.families import FAMILIES
from pelton.tests.mutations.survivors import EQUIVALENT, reason_for
from pelton.tests.mutations.trial import SURVIVED, Family, Verdict

COUNT, SEED = 10, 1


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m pelton.tests.mutations", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("families", nargs="*", help=", ".join(FAMILIES))
    parser.add_argument("--count", type=int, default=COUNT, help=f"faults per family ({COUNT})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"which faults ({SEED})")
    parser.add_argument("--all", action="store_true", help="say of each fault what caught it")
    parser.add_argument("--list", action="store_true", help="say which families there are")
    options = parser.parse_args()
    if options.list:
        print(*FAMILIES, sep="\n")
        return
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"no such families: {', '.join(sorted(unknown))}; known: {', '.join(FAMILIES)}")
    found: list[Verdict] = []
    print(f"{'family':14}{'reached':>8}{'faults':>7}{'caught':>7}{'seconds':>8}  by", flush=True)
    for name in options.families or FAMILIES:
        begun = time.monotonic()
        family = Family(name)
        verdicts = list(family.verdicts(options.count, options.seed))
        print(row(family, verdicts, time.monotonic() - begun), flush=True)
        found += verdicts
        if options.all:
            print(*[f"    {v.by:16} {v.kernel}: {v.fault.kind}: {v.fault}  {v.case}" for v in verdicts], sep="\n")
    sys.exit(report(found))


def row(family: Family, verdicts: Sequence[Verdict], seconds: float) -> str:
    """A line of the table."""
    by = Counter(v.by for v in verdicts)
    survived = by.pop(SURVIVED, 0)
    words = ", ".join(f"{how} {count}" for how, count in by.most_common())
    share, caught = family.share_reached, len(verdicts) - survived
    return f"{family.name:14}{share:8.0%}{len(verdicts):7}{caught:7}{seconds:8.1f}  {words}"


def report(verdicts: Sequence[Verdict]) -> int:
    """The survivors with their reasons; 1 if one has none."""
    survivors = [v for v in verdicts if v.by == SURVIVED]
    caught, real = len(verdicts) - len(survivors), sum(v.by != SURVIVED or v.key not in EQUIVALENT for v in verdicts)
    print(f"{caught} of {len(verdicts)} caught: {caught / max(real, 1):.1%} of the {real} that change anything")
    unexpected = 0
    for v in survivors:
        reason = reason_for(v.key)
        unexpected += not reason
        print(f"survived: {v.kernel}: {v.fault.kind}: line {v.fault.line + 1}: {v.fault}\n    {reason or 'UNEXPECTED'}")
    return min(unexpected, 1)


if __name__ == "__main__":
    main()
