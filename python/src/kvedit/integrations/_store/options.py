"""What ``kv_connector_extra_config`` may say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_FOLDER = "kvedit-store"


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
        model = extra.get("kvedit.model")
        return cls(
            folder=str(extra.get("kvedit.path", cls.folder)),
            model=None if model is None else str(model),
            verify=bool(extra.get("kvedit.verify", cls.verify)),
            threads=max(1, int(extra.get("kvedit.threads", cls.threads))),
            unwritten_bytes=int(extra.get("kvedit.unwritten_bytes", cls.unwritten_bytes)),
        )
