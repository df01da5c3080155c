"""What a stored block is called.

    MODEL / SHARD / GROUP FINGERPRINT / ab / abcdef….kv
    MODEL-ERA / …

A name says all that must be equal for two blocks to be interchangeable: the weights, the rank, how
the group's bytes are laid out, and the prefix. The prefix is vLLM's own hash of it, which carries
LoRA adapter, multimodal input and cache salt. What an engine computes after it was told to forget
is of an era that no other has, and no file of before is of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .model import model_name

if TYPE_CHECKING:
    from ... import Result


class Key(NamedTuple):
    """A block as the scheduler knows it: one file for each shard."""

    group: int
    hash: bytes
    era: str = ""
    """Since when; empty from the engine's start until it is first told to forget."""


@dataclass(frozen=True)
class GroupLayout:
    """What both halves of the connector need to know of a group."""

    tokens: int
    """That a block id spans."""
    retention: str
    """``full``, ``window``, ``chunk`` or ``recurrent``."""
    window: int | None
    fingerprint: str | None
    """None where a shard has no layer of the group, and nothing to keep of it."""
    block_bytes: int

    @property
    def recurrent(self) -> bool:
        return self.retention == "recurrent"

    def blocks_of(self, tokens: int) -> int:
        return -(-tokens // self.tokens)

    def first_block(self, tokens: int) -> int:
        """The first block that a request resuming after so many tokens still reads."""
        if self.recurrent:
            return self.blocks_of(tokens) - 1
        if self.retention == "window" and self.window is not None:
            return max(0, tokens - self.window + 1) // self.tokens
        return 0


@dataclass(frozen=True)
class ShardLayout:
    """What one worker keeps: travels from worker to scheduler."""

    folder: str
    """MODEL / SHARD"""
    groups: tuple[GroupLayout | None, ...]
    """None for a group that is not kept: scratch, or not transferred."""

    @property
    def keeps_all_blocks(self) -> bool:
        """One group, whose requests have every block: each prefix of them can be gone on from."""
        return [group.retention if group else None for group in self.groups] == ["full"]

    def folder_in(self, era: str) -> str:
        """MODEL-ERA / SHARD"""
        model, _, shard = self.folder.partition("/")
        return f"{model}-{era}/{shard}" if era else self.folder

    def name(self, key: Key) -> str | None:
        """The file of a block, relative to the store; None where the shard has nothing of it."""
        group = self.groups[key.group]
        if group is None or group.fingerprint is None:
            return None
        digits = key.hash.hex()
        return f"{self.folder_in(key.era)}/{group.fingerprint}/{digits[:2]}/{digits}.kv"


def shard_layout(vllm_config: Any, result: Result, model: str | None) -> ShardLayout:
    """Of one worker, whose result is ok."""
    groups = tuple(
        GroupLayout(
            each.tokens_per_block,
            each.retention or "full",
            each.window_tokens,
            each.fingerprint,
            each.block_bytes or 0,
        )
        if each.outcome == "served"
        else None
        for each in result.groups
    )
    return ShardLayout(f"{model_name(vllm_config, model)}/{shard_name(vllm_config)}", groups)


def shard_name(vllm_config: Any) -> str:
    """Ranks that hold other heads or tokens. Pipeline ranks differ by the names of their layers,
    which are part of the fingerprint."""
    parallel = vllm_config.parallel_config
    tensor_size = getattr(parallel, "tensor_parallel_size", 1)
    context_size = getattr(parallel, "prefill_context_parallel_size", 1)
    rank = getattr(parallel, "rank", 0)
    return f"tp{rank % tensor_size}-pcp{rank // tensor_size % context_size}"
