"""Values of ``kv_connector_extra_config``. Each raises `kvedit.Error` with the name of what is of the
wrong type."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._errors import Error

if TYPE_CHECKING:
    from collections.abc import Mapping


def _wrong(name: str, given: object, wanted: str) -> Error:
    return Error(f"{name}: {given!r} where {wanted} is wanted", name)


def text(extra: Mapping[str, Any], name: str, otherwise: str) -> str:
    given = extra.get(name, otherwise)
    if not isinstance(given, (str, os.PathLike)):
        raise _wrong(name, given, "a str")
    return str(given)


def switch(extra: Mapping[str, Any], name: str, otherwise: bool) -> bool:
    given = extra.get(name, otherwise)
    if not isinstance(given, bool):  # "false" is no false
        raise _wrong(name, given, "true or false")
    return given


def number(extra: Mapping[str, Any], name: str, otherwise: int, least: int) -> int:
    given = extra.get(name, otherwise)
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise _wrong(name, given, f"a number of at least {least}")
    return given
