"""Texts that UTF-8 can hold: a str enters, which may have half of a surrogate pair; a check or an escaped text leaves.

Python takes such a str for a name, and file names that are no UTF-8 for one; IR, artifacts and cache keys are UTF-8.
"""

from __future__ import annotations

from pelton.support.errors import GraphError


def is_unicode(text: str) -> bool:
    """Whether the text has no unpaired surrogate."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def escaped(text: str) -> str:
    """The text; unpaired surrogates as `\\udcff`."""
    return text if is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def require_unicode(what: str, text: str, place: str = "") -> None:
    """Raises GraphError where `text`, which `what` says the meaning of, has an unpaired surrogate."""
    if not is_unicode(text):
        raise GraphError(
            f"{what} is no text: it has an unpaired surrogate", location=place, expected="Unicode", got=ascii(text)
        )
