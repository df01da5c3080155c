"""Values of ``kv_connector_extra_config``. Each raises `kvedit.Error` with the name of what cannot
be, what was given and what can be."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from .._errors import Error

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_WORD = 256
_PREFIX = re.compile(r"^kvedit[._-]")
_WORD = re.compile(r"\w[\w.:@+ -]*(/\w[\w.:@+ -]*)*")


def _wrong(name: str, given: object, wanted: str) -> Error:
    return Error(f"{name}: {given!r} where {wanted} is wanted", name)


def known(extra: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Nothing else of kvedit's may be there, nor an option by another name; what is of others may."""
    for name in map(str, extra):
        if name in names:
            continue
        lower = name.lower()
        meant = "kvedit." + _PREFIX.sub("", lower).replace("-", "_")
        if meant in names:
            raise Error(f"{name} is no option; did you mean {meant}?", name)
        if lower.startswith("kvedit"):
            raise Error(f"{name} is no option; there are {', '.join(names)}", name)


def choice(extra: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    """One of them; the first where it is not given."""
    given = extra.get(name, choices[0])
    if not isinstance(given, str) or given not in choices:
        raise _wrong(name, given, f"one of {', '.join(choices)}")
    return given


def folder(extra: Mapping[str, Any], name: str, otherwise: str) -> str:
    """As an absolute path: ``~`` is a home directory, as in a shell, and what is relative lies in
    the working directory."""
    given = extra.get(name, otherwise)
    if not isinstance(given, (str, os.PathLike)):
        raise _wrong(name, given, "the path of a folder")
    path = os.fspath(given)
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise _wrong(name, given, "the path of a folder")
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        raise Error(
            f"{name}: {path!r}: there is no home directory of that name; give the whole path, or "
            f"{'./' + path!r} where the folder is called so",
            name,
        )
    try:
        os.fsencode(expanded)
    except UnicodeEncodeError:
        raise _wrong(name, given, "the path of a folder, which file systems can name,") from None
    return os.path.abspath(expanded)


def word(extra: Mapping[str, Any], name: str) -> str | None:
    """A name, as models have one; None where it is not given."""
    given = extra.get(name)
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > _LONGEST_WORD or not _WORD.fullmatch(given):
        shown = f"{len(given)} characters" if _is_long(given) else repr(given)
        raise Error(
            f"{name}: {shown} where a name of 1 to {_LONGEST_WORD} characters is wanted, such as "
            "'llama-3.1-8b' or 'org/model'; no path",
            name,
        )
    return given


def _is_long(given: object) -> bool:
    return isinstance(given, str) and len(given) > _LONGEST_WORD


def switch(extra: Mapping[str, Any], name: str, otherwise: bool) -> bool:
    given = extra.get(name, otherwise)
    if not isinstance(given, bool):  # "false" is no false
        raise _wrong(name, given, "true or false")
    return given


def number(extra: Mapping[str, Any], name: str, otherwise: int, least: int, most: int) -> int:
    given = extra.get(name, otherwise)
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise _wrong(name, given, f"a number from {least} to {most}")
    return given
