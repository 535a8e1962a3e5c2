"""How many cores there are. Enters: nothing. Leaves: a number; next: `engine.py`, the default of `num_threads`."""

from __future__ import annotations

import os

TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def usable_cpus() -> frozenset[int]:
    """The logical CPUs that the process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def physical_cores() -> int:
    """Physical cores that the process may use: logical CPUs that share one count once. At least 1."""
    return max(len({_siblings(cpu) for cpu in usable_cpus()}), 1)


def _siblings(cpu: int) -> str:
    """The logical CPUs of a CPU's core, as the kernel lists them; itself where the kernel does not tell."""
    try:
        with open(TOPOLOGY.format(cpu), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return str(cpu)
