"""What ``kv_connector_extra_config`` may say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..._errors import Error

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_FOLDER = "kvedit-store"
_NAMES = ("kvedit.path", "kvedit.model", "kvedit.verify", "kvedit.threads", "kvedit.unwritten_bytes")


@dataclass(frozen=True)
class Options:
    folder: str = DEFAULT_FOLDER
    model: str | None = None
    """Stands for the weights in the names of blocks."""
    verify: bool = True
    """Blocks are read and their checksums compared before the engine is promised them."""
    threads: int = 4
    unwritten_bytes: int = 1 << 30
    """Of blocks that wait to be written; further ones are not stored."""

    @classmethod
    def of(cls, extra: Mapping[str, Any]) -> Options:
        """Raises `kvedit.Error` with the name of what is of the wrong type, or is no option."""
        for name in extra:
            if str(name).startswith("kvedit.") and name not in _NAMES:
                raise Error(f"{name} is no option; there are {', '.join(_NAMES)}", str(name))
        model = extra.get("kvedit.model")
        return cls(
            folder=_text(extra, "kvedit.path", cls.folder),
            model=None if model is None else _text(extra, "kvedit.model", ""),
            verify=_switch(extra, "kvedit.verify", cls.verify),
            threads=_number(extra, "kvedit.threads", cls.threads, 1),
            unwritten_bytes=_number(extra, "kvedit.unwritten_bytes", cls.unwritten_bytes, 0),
        )


def _wrong(name: str, given: object, wanted: str) -> Error:
    return Error(f"{name}: {given!r} where {wanted} is wanted", name)


def _text(extra: Mapping[str, Any], name: str, otherwise: str) -> str:
    given = extra.get(name, otherwise)
    if not isinstance(given, (str, os.PathLike)):
        raise _wrong(name, given, "a str")
    return str(given)


def _switch(extra: Mapping[str, Any], name: str, otherwise: bool) -> bool:
    given = extra.get(name, otherwise)
    if not isinstance(given, bool):  # "false" is no false
        raise _wrong(name, given, "true or false")
    return given


def _number(extra: Mapping[str, Any], name: str, otherwise: int, least: int) -> int:
    given = extra.get(name, otherwise)
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise _wrong(name, given, f"a number of at least {least}")
    return given
