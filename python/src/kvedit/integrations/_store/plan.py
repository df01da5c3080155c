"""What the scheduler's half tells the workers' halves in a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .keys import Key


class Move(NamedTuple):
    """A stored block and a block id of the engine."""

    key: Key
    block: int


@dataclass
class Plan:
    era: str = ""
    """Of the step. What is planned for another comes too late."""
    loads: dict[str, list[Move]] = field(default_factory=dict)
    """By request. Its blocks are its own until every worker has reported it."""
    saves: list[Move] = field(default_factory=list)
    """To be copied in this very step, after the forward pass."""
    held: set[str] = field(default_factory=set)
    """Finished requests whose blocks the engine keeps until this step's saves are copied."""
