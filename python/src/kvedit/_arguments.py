"""What callers give, checked before it goes to the core: a wrong type is said at once, by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any


def wrong(name: str, given: object, wanted: str) -> TypeError:
    """To be raised: names the argument, what it is and what to pass."""
    kind = "None" if given is None else f"a value of type {type(given).__name__}"
    return TypeError(f"{name}: {kind} where {wanted} is wanted")


def _items(name: str, given: object, of: str) -> Iterable[object]:
    if isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"{name}: one {type(given).__name__} where a list of {of} is wanted; "
                        f"pass [{given!r}]")  # fmt: skip
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise wrong(name, given, f"a list of {of}")
    return given


def path(name: str, given: object) -> str:
    """One path, as text."""
    if not isinstance(given, (str, os.PathLike)):
        raise wrong(name, given, "a path (str or os.PathLike)")
    found: str | bytes = os.fspath(given)
    if not isinstance(found, str):
        raise wrong(name, found, "a path of str")
    return found


def paths(name: str, given: object) -> list[str]:
    """A list of them; a lone path is no list of its letters."""
    return [path(f"{name}[{at}]", each) for at, each in enumerate(_items(name, given, "paths"))]


def texts(name: str, given: object) -> list[str]:
    """A list of str; a lone str is no list of its letters."""
    found: list[str] = []
    for at, each in enumerate(_items(name, given, "str")):
        if not isinstance(each, str):
            raise wrong(f"{name}[{at}]", each, "a str")
        found.append(each)
    return found


def mapping(name: str, given: object, wanted: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise wrong(name, given, wanted)
    return given
