"""What callers give, checked before it goes to the core: a wrong type is said at once, by name."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


def kind(given: object) -> str:
    """What it is, for messages."""
    return "None" if given is None else f"a value of type {type(given).__name__}"


def wrong(name: str, given: object, wanted: str) -> TypeError:
    """To be raised: names the argument, what it is and what to pass."""
    return TypeError(f"{name}: {kind(given)} where {wanted} is wanted")


def refused(where: str, given: object, wanted: str) -> Error:
    """The same of what an object holds: `where` is a JSON pointer."""
    return Error(f"{where}: {kind(given)} where {wanted} is wanted", where)


def unreadable(where: str, thing: object, error: Exception) -> Error:
    """What an object of others raised while it was read."""
    if isinstance(error, Error):
        return error
    return Error(
        f"{where}: {kind(thing)} raises {_shown(error)} when it is read; give the objects of a "
        "running engine, or ones whose attributes can be read",
        where,
    )


def read(where: str, thing: Any, reader: Callable[..., _T], *more: Any) -> _T:
    """``reader(thing, *more)``, or `Error` with what an object of others raises meanwhile."""
    try:
        return reader(thing, *more)
    except Exception as error:
        raise unreadable(where, thing, error)


def _shown(error: Exception) -> str:
    try:
        return repr(error)
    except Exception:
        return type(error).__name__


def _items(name: str, given: object, of: str) -> Iterable[object]:
    if isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"{name}: one {type(given).__name__} where a list of {of} is wanted; "
                        f"pass [{given!r}]")  # fmt: skip
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise wrong(name, given, f"a list of {of}")
    return given


def path(name: str, given: object) -> str:
    """One path, as text, that can be that of a file."""
    if not isinstance(given, (str, os.PathLike)):
        raise wrong(name, given, "a path (str or os.PathLike)")
    found: str | bytes = os.fspath(given)
    if not isinstance(found, str):
        raise wrong(name, found, "a path of str")
    flaw = _flaw_of(found)
    if flaw:
        raise Error(f"{name}: {found!r} is no path that a file can have: {flaw}", name)
    return found


def _flaw_of(path: str) -> str:
    if not path:
        return "it is empty"
    if "\0" in path:
        return f"it has a NUL character, at {path.index(chr(0))}"
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        return f"it has half a surrogate pair, at {error.start}"
    return ""


def text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise wrong(name, given, "a str")
    return given


def integer(name: str, given: object, wanted: str) -> int:
    """Also of numpy's kinds; no bool."""
    try:
        if not isinstance(given, bool):
            return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise wrong(name, given, wanted)


def switch(name: str, given: object) -> bool:
    """Neither 0 nor "no" is one."""
    if not isinstance(given, bool):
        raise wrong(name, given, "True or False")
    return given


def paths(name: str, given: object) -> list[str]:
    """A list of them; a lone path is no list of its letters."""
    return [path(f"{name}[{at}]", each) for at, each in enumerate(_items(name, given, "paths"))]


def texts(name: str, given: object) -> list[str]:
    """A list of str; a lone str is no list of its letters."""
    found: list[str] = []
    for at, each in enumerate(_items(name, given, "str")):
        found.append(text(f"{name}[{at}]", each))
    return found


def mapping(name: str, given: object, wanted: str) -> Mapping[Any, Any]:
    if not isinstance(given, (dict, Mapping)):  # a dict is seen at once
        raise wrong(name, given, wanted)
    return given


def caches(given: object) -> dict[str, Any]:
    """What an engine registered: layer → tensor or list of tensors."""
    return read("kv_caches", mapping("kv_caches", given, "a dict of layer to tensors"), dict)
