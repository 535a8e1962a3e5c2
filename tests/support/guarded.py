"""Memory with forbidden pages before and behind it: a kernel that touches one byte too many dies at once.

    python -m pelton.tests.support.guarded 0 100

runs the random graphs of seeds 0 to 99 with all inputs, weights, outputs and scratch memory in such memory: once with
its end at a forbidden page, once with its begin. It prints the seed before it runs it, and dies of what it finds.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import mmap
from typing import Any

import numpy as np

from pelton.runtime import plan
from pelton.runtime.model import Model
from pelton.support.errors import PeltonError
from pelton.tests.support import compiled
from pelton.tests.support.random_graphs import Recipe, Sizes, arrays, build, weights
from pelton.tests.support.random_steps import generate, sizes_of

PAGE = mmap.PAGESIZE
NONE = 0


class Guarded:
    """`size` bytes, all 0xA5, directly before a forbidden page or directly behind one."""

    def __init__(self, size: int, at_end: bool) -> None:
        room = -(-max(size, 1) // PAGE) * PAGE
        self.size = size
        self.memory = mmap.mmap(-1, room + 2 * PAGE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for page in (self.base, self.base + PAGE + room):
            protect(page, NONE)
        self.address = self.base + PAGE + (room - size if at_end else 0)
        ctypes.memset(self.address, 0xA5, size)

    def array(self, like: Any) -> Any:
        """A copy of an array in this memory."""
        memory: Any = (ctypes.c_uint8 * self.size).from_address(self.address)
        found = np.frombuffer(memory, np.uint8).view(like.dtype).reshape(like.shape) if self.size else like
        if self.size:
            found[...] = like
        return found


def protect(page: int, mode: int) -> None:
    """What a page may be used for from now on. OSError where that cannot be said."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), mode):
        raise OSError(ctypes.get_errno(), "mprotect")


class GuardedPool:
    """Gives outputs and scratch memory, as `runtime.memory.Pool` does; never takes any back."""

    def __init__(self, kept: list[Guarded], at_end: bool) -> None:
        self.kept, self.at_end = kept, at_end

    def take(self, size: int) -> Guarded:
        self.kept.append(Guarded(size, self.at_end))
        return self.kept[-1]

    take_block = take

    def small(self, size: int) -> None:
        """No memory comes from elsewhere."""


def execute(model: Model, inputs: list[Any], at_end: bool) -> None:
    """One run on guarded memory."""
    kept: list[Guarded] = []
    usual = plan.pool, plan.rounded
    plan.pool, plan.rounded = GuardedPool(kept, at_end), int  # pyright: ignore[reportAttributeAccessIssue]
    kept += [Guarded(x.nbytes, at_end) for x in inputs]
    runner: Any = model._executable.run  # pyright: ignore[reportPrivateUsage]
    runner._frames.clear()
    runner._layouts.clear()
    try:
        with contextlib.suppress(PeltonError):  # sizes that the graph refuses
            model.execute(*(g.array(x) for g, x in zip(kept, inputs, strict=True)))
    finally:
        plan.pool, plan.rounded = usual
        runner._frames.clear()
        runner._layouts.clear()


def run(recipe: Recipe, all_sizes: list[Sizes]) -> None:
    """A recipe fused and unfused, and with known sizes where it can have them."""
    graph, given = build(recipe), weights(recipe)
    held = {name: (Guarded(w.nbytes, True), w) for name, w in given.items()}
    bound = {name: memory.array(w) for name, (memory, w) in held.items()}
    forms = [(compiled.compiled(graph.module, graph.constants, bound, separate=s), all_sizes) for s in (False, True)]
    for known in all_sizes[:2]:
        with contextlib.suppress(PeltonError):  # these sizes are refused
            static = build(recipe, known)
            forms.append((compiled.compiled(static.module, static.constants, bound), [known]))
    for model, chosen in forms:
        for sizes in chosen:
            for at_end in (True, False):
                execute(model, arrays(recipe, sizes), at_end)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("last", type=int, help="the seed to stop before")
    chosen = parser.parse_args()
    faulthandler.enable()
    for seed in range(chosen.first, chosen.last):
        print(seed, flush=True)
        run(generate(seed), list(sizes_of(seed, 4)))
        if len(compiled.STORE.codes) > 20_000:
            compiled.STORE.codes.clear()


if __name__ == "__main__":
    main()
