"""How the user's line is found for what a run says: a module leaves its ops' numbers on them, a number finds the line.

A line must not stand in cached code. So `number_ops` gives every op of the user's module its number in walking order,
as the name of its location, which passes carry along; sites of the compiled plan keep numbers; and `placed` looks them
up in the module that is being loaded, be the code compiled now or taken from the cache.
"""

from __future__ import annotations

from xdsl.dialects.builtin import NameLoc, StringAttr
from xdsl.ir import Operation

from pelton.artifact import Artifact
from pelton.dialects.check import location_text
from pelton.dialects.sites import UNKNOWN


def number_ops(module: Operation) -> None:
    """Give every op of a module its number."""
    for number, op in enumerate(module.walk()):
        op.location = NameLoc(StringAttr(str(number)), op.location)


def ordinal_of(op: Operation) -> int:
    """The number of the user's op that `op` came from; UNKNOWN where none were given."""
    location = op.location
    return int(location.desc.data) if isinstance(location, NameLoc) and location.desc.data.isdigit() else UNKNOWN


def placed(artifact: Artifact, module: Operation) -> Artifact:
    """The artifact with the lines (`file:line:column`) that its sites stand for in `module`, which it was made from."""
    wanted = {site.ordinal for program in (artifact.init, artifact.main) for site in program.sites} - {UNKNOWN}
    if not wanted:
        return artifact
    places = tuple((k, place) for k, op in enumerate(module.walk()) if k in wanted and (place := location_text(op)))
    return artifact._replace(places=places)
