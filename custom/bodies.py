"""Bodies by their digests. A text enters, a digest leaves; whoever has the digest (an op of the IR) finds the text.

A digest says what a text is, so one table serves all graphs of a process. The IR holds digests and no code: a `.mlir`
file is data, and runs only with the extension that it was made with.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class BodyText(NamedTuple):
    """What `closure.standalone` made: the CPU body, and the CUDA body where there is one."""

    op: str
    place: str
    cpu: str
    cuda: str = ""


_BODIES: dict[str, BodyText] = {}


def keep(body: BodyText) -> str:
    """The digest under which `find` gives the body."""
    digest = hashlib.blake2b(f"{body.cpu}\0{body.cuda}".encode(), digest_size=8).hexdigest()
    _BODIES[digest] = body
    return digest


def find(digest: str) -> BodyText | None:
    """The body of that digest; None where this process has not seen it."""
    return _BODIES.get(digest)
