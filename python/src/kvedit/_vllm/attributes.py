"""What several readers ask of a foreign object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from .. import _arguments
from .._errors import Error

MISSING: Any = object()


def names_of(given: Any, where: str) -> Sequence[str]:
    """Of layers; what is no str in a list of them is found by the core."""
    if isinstance(given, (list, tuple)):
        return given
    if isinstance(given, (str, bytes, Mapping, Set)) or not isinstance(given, Iterable):
        raise _arguments.refused(where, given, "a list of str")
    return list(given)


def needed(thing: Any, name: str, where: str) -> Any:
    value = getattr(thing, name, MISSING)
    if value is MISSING:
        raise Error(f"{where}: {_arguments.kind(thing)} does not give {name}", where)
    return value
