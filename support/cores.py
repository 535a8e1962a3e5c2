"""How many cores there are. Enters: nothing. Leaves: a number; next: `engine.py`, the default of `num_threads`."""

from __future__ import annotations

import os

TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
QUOTAS = (("/sys/fs/cgroup/cpu.max",), ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"))
"""Where Linux tells a container's share of processor time, and the period it is a share of: cgroups of version 2, 1."""
MANY = 1 << 20


def usable_cpus() -> frozenset[int]:
    """The logical CPUs that the process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def physical_cores() -> int:
    """Physical cores that the process may use: logical CPUs that share one count once. At least 1.

    In a container that may use less processor time than so many cores have, as many as it may keep busy.
    """
    return max(min(len({_siblings(cpu) for cpu in usable_cpus()}), _quota()), 1)


def _quota() -> int:
    """How many cores the process's container may keep busy, rounded up; very many where nothing says so."""
    for files in QUOTAS:
        try:
            share, period = " ".join(map(_content, files)).split()
            if int(share) > 0:
                return -(-int(share) // int(period))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return MANY


def _siblings(cpu: int) -> str:
    """The logical CPUs of a CPU's core, as the kernel lists them; itself where the kernel does not tell."""
    try:
        return _content(TOPOLOGY.format(cpu))
    except OSError:
        return str(cpu)


def _content(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read().strip()
