"""What `fake_cuda.py` keeps: contexts, streams whose work is done late, graphs, modules, memory."""

from __future__ import annotations

import ctypes
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from pelton.runtime.emulator.heap import Global
from pelton.runtime.emulator.launch import prepare, run_grid
from pelton.runtime.emulator.memory import CONSTANTS
from pelton.tests.support.fake_cuda.types import CUgraphNodeType, CUresult, Handle

_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+\.[a-z](\d+)")
_TARGET = re.compile(r"\.target\s+sm_(\d+)(\d)")


class Refused(Exception):
    """A call that the driver refuses, with the end of the result's name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.code = CUresult[f"CUDA_ERROR_{name}"]


@dataclass(eq=False)
class Context:
    device: int
    cc: tuple[int, int]
    pools: bool
    total: int = 64 << 20
    used: int = 0
    users: int = 0
    sticky: CUresult | None = None
    time: float = 0.0
    """In milliseconds: each kernel takes one."""


@dataclass(eq=False)
class Node:
    type: Any
    params: Any
    run: Callable[[], None]
    held: tuple[Any, ...] = ()


@dataclass(eq=False)
class Graph:
    nodes: list[Node] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Stream:
    """Work is done when somebody waits for it, so that a buffer that is used again too early shows."""

    context: Context
    work: deque[Callable[[], None]] = field(default_factory=deque)
    capture: Graph | None = None
    thread: int = 0
    invalid: bool = False

    def add(self, node: Node) -> None:
        if self.capture is None:
            self.work.append(node.run)
        elif self.invalid:
            raise Refused("STREAM_CAPTURE_INVALIDATED")
        elif self.thread != threading.get_ident():
            raise Refused("STREAM_CAPTURE_WRONG_THREAD")
        else:
            self.capture.nodes.append(node)

    def drain(self, until: Callable[[], bool] = lambda: False) -> None:
        while self.work and not until() and self.context.sticky is None:
            try:
                self.work.popleft()()
            except Refused as error:
                self.context.sticky = error.code


@dataclass(eq=False)
class Event:
    stream: Stream | None = None
    begun: int = 0
    done: int = 0
    time: float = 0.0
    timed: bool = True


@dataclass(eq=False)
class Function:
    entry: str
    sizes: list[int]
    context: Context
    module: object
    text: str = ""
    dynamic: int = 48 << 10
    loaded: bool = False

    @property
    def offsets(self) -> list[int]:
        found, end = list[int](), 0
        for size in self.sizes:
            found.append(-(-end // size) * size)
            end = found[-1] + size
        return found


@dataclass(eq=False)
class Pool:
    device: int
    keeps: int = 0
    reserved: int = 0
    used: int = 0
    kept: list[int] = field(default_factory=list)
    """Sizes of what was given back."""


class Memory:
    """The bytes of all devices: addresses are never used twice."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[ctypes.Array[ctypes.c_char], int]] = {}
        self._next = 0x7F00_0000_0000

    def take(self, size: int) -> int:
        address, room = self._next, -(-size // 16) * 16
        self._next += (size // 512 + 2) * 512
        self._blocks[address] = ctypes.create_string_buffer(b"\xa5" * room, room), size
        return address

    def drop(self, address: int) -> None:
        del self._blocks[address]

    def host(self, address: int, size: int) -> int:
        """Where the simulated bytes really are."""
        for start, (block, length) in self._blocks.items():
            if start <= address and address + size <= start + length:
                return ctypes.addressof(block) + address - start
        raise Refused("ILLEGAL_ADDRESS")

    def run(self, text: str, entry: str, grid: int, block: int, shared: int, args: Sequence[bytes]) -> None:
        """Runs a text on the emulator."""
        code, reached = prepare(text, entry, CONSTANTS), Global(CONSTANTS)
        reached.load(code.program.constants)
        for start, (content, size) in self._blocks.items():
            reached._next = start
            reached.place(np.frombuffer(memoryview(content), np.uint8), size=size)
        run_grid(code, reached, grid, block, [int.from_bytes(data, "little", signed=True) for data in args], shared)


def image_text(image: bytes) -> tuple[str, bool]:
    """The text of an image, and whether it is a cubin: here an ELF file with a text behind it."""
    if not image.startswith(b"\x7fELF"):
        if not image.endswith(b"\0"):
            raise Refused("INVALID_VALUE")
        return image[:-1].decode(), False
    return image[max(image.rfind(b".version "), 0) :].decode(errors="replace"), True


def entries(text: str, cc: tuple[int, int], exact: bool) -> dict[str, list[int]]:
    """The entries of a PTX text and the sizes of their parameters; a cubin runs on its own architecture alone."""
    target = _TARGET.search(text)
    found = {name: [int(bits) // 8 for bits in _PARAMETER.findall(params)] for name, params in _ENTRY.findall(text)}
    if not target or not found:
        raise Refused("INVALID_IMAGE" if exact else "INVALID_PTX")
    wanted = int(target[1]), int(target[2])
    if wanted > cc or (exact and wanted[0] != cc[0]):
        raise Refused("NO_BINARY_FOR_GPU" if exact else "INVALID_PTX")
    return found


def kernel_node(function: Handle, given: tuple[Any, ...], params: list[bytes], run: Callable[[], None]) -> Node:
    """A launch as graphs keep it: with copies of the arguments."""
    copies = [ctypes.create_string_buffer(value, len(value)) for value in params]
    table = (ctypes.c_void_p * len(copies))(*(ctypes.addressof(copy) for copy in copies))
    names = ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes")
    described = SimpleNamespace(
        func=function, kernelParams=ctypes.addressof(table), **dict(zip(names, given, strict=True))
    )
    return Node(CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL, described, run, (copies, table))


def copy_node(target: int, source: int, size: int, run: Callable[[], None]) -> Node:
    """A copy within a device as graphs keep it."""
    described = SimpleNamespace(
        dstDevice=Handle(target), srcDevice=Handle(source), WidthInBytes=size, Height=1, Depth=1
    )
    return Node(CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMCPY, described, run)
