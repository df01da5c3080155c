"""What ``kv_connector_extra_config`` may say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._options import folder, known, number, switch, word

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
        """Raises `kvedit.Error` with the name of what cannot be, or is no option."""
        known(extra, _NAMES)
        return cls(
            folder=folder(extra, "kvedit.path", cls.folder),
            model=word(extra, "kvedit.model"),
            verify=switch(extra, "kvedit.verify", cls.verify),
            threads=number(extra, "kvedit.threads", cls.threads, 1, 1024),
            unwritten_bytes=number(
                extra, "kvedit.unwritten_bytes", cls.unwritten_bytes, 0, (1 << 63) - 1
            ),
        )
