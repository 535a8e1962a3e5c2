"""Custom ops: Python functions of users that graphs call by name.

`registry.py` holds what `pelton.register` was told, `patterns.py` reads what an op says of its values, `extensions.py`
loads files of ops, `closure.py` makes a text that stands alone of a function, `specialize.py` puts parameters in,
`bodies.py` finds such a text again by its digest.
"""

from __future__ import annotations

from pelton.custom.registry import register

__all__ = ["register"]
