"""What a stored block is called.

    MODEL / SHARD / GROUP FINGERPRINT / ab / abcdef….kv
    MODEL-ERA / …

A name says all that must be equal for two blocks to be interchangeable: the weights, the rank, how
the group's bytes are laid out, and the prefix. The prefix is vLLM's own hash of it, which carries
LoRA adapter, multimodal input and cache salt. What an engine computes after it was told to forget
is of an era that no other has, and no file of before is of.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ... import Result

_FORMAT = "kvedit.store/1"
_WEIGHT_FILES = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


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


def model_name(vllm_config: Any, name: str | None) -> str:
    """A digest of all that decides what a token prefix becomes: weights, and how they are computed
    with. Given a `name`, it stands for the weights."""
    model = vllm_config.model_config
    config = getattr(model, "hf_config", None)
    speculative = getattr(vllm_config, "speculative_config", None)
    facts: dict[str, Any] = {
        "format": _FORMAT,
        "weights": name if name is not None else _weights(model, config),
        "config": _config_facts(config),
        "dtype": str(getattr(model, "dtype", None)),
        "quantization": str(getattr(model, "quantization", None)),
        "draft": str(getattr(speculative, "model", None)),
        "hash": str(getattr(vllm_config.cache_config, "prefix_caching_hash_algo", None)),
    }
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _weights(model: Any, config: Any) -> Sequence[Any]:
    """A model of the hub by its commit; one in a folder by the names, sizes and times of its
    files."""
    path = str(model.model)
    files = []
    if os.path.isdir(path):
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.endswith(_WEIGHT_FILES):
                    status = entry.stat()
                    files.append([entry.name, status.st_size, int(status.st_mtime)])
    if files:
        return sorted(files)
    return [path, str(getattr(model, "revision", None)), getattr(config, "_commit_hash", None)]


def _config_facts(config: Any) -> Any:
    as_dict = getattr(config, "to_dict", None)
    if as_dict is None:
        return None
    facts = as_dict()
    for name in ("_name_or_path", "transformers_version"):
        facts.pop(name, None)
    return facts
