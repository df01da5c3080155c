"""Which prefix of a prompt is stored, on every shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .keys import Key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .files import BlockFiles
    from .keys import GroupLayout, ShardLayout


class Prefix:
    """The hashes of a prompt: one for every `unit` tokens, each of everything up to there."""

    def __init__(self, hashes: Sequence[bytes], unit: int, era: str = "") -> None:
        self._hashes, self.unit, self._era = hashes, unit, era

    @property
    def hashed_tokens(self) -> int:
        return len(self._hashes) * self.unit

    def key(self, group: int, end: int) -> Key:
        """Of the block that holds the tokens up to `end`, a multiple of the unit."""
        return Key(group, bytes(self._hashes[end // self.unit - 1]), self._era)


class Lookup:
    """Of one prompt. Files are asked once each, so that a lookup sees one state of the store."""

    def __init__(
        self, files: BlockFiles, shards: Sequence[ShardLayout], prefix: Prefix, verify: bool
    ) -> None:
        self._files, self._shards, self._prefix, self._verify = files, shards, prefix, verify
        self._groups = dict(groups_of(shards))
        self._found: dict[Key, bool] = {}
        self._verified: set[Key] = set()

    def longest(self, computed: int, most: int, step: int) -> int:
        """The most tokens that can be brought back for a request that has `computed` of them.

        At most `most`, of which a request must still compute one; a multiple of `step`. Blocks of
        the computed tokens are not asked for.
        """
        tokens = min(most, self._prefix.hashed_tokens) // step * step
        tokens = min(tokens, self._reach(computed, tokens) // step * step)
        while tokens > computed:
            there = all(map(self._has, self._needed(computed, tokens)))
            if there and self._all_right(self._needed(computed, tokens)):
                return tokens
            tokens -= step
        return computed

    def _reach(self, computed: int, tokens: int) -> int:
        """No more than groups that keep every block have without a gap."""
        for number, group in self._groups.items():
            if group.recurrent or group.retention == "window":
                continue
            end = computed
            while end < tokens:
                whole = end + group.tokens
                if whole > tokens or not self._has(self._prefix.key(number, whole)):
                    break
                end = whole
            # the block after them may be there up to a boundary inside it
            tokens = min(tokens, end + group.tokens - 1)
        return tokens

    def _needed(self, computed: int, tokens: int) -> Iterator[Key]:
        """Those that are likely to be missing first."""
        for number, group in sorted(self._groups.items(), key=lambda each: not each[1].recurrent):
            first = max(group.first_block(tokens), computed // group.tokens)
            for block in reversed(range(first, group.blocks_of(tokens))):
                yield self._prefix.key(number, min((block + 1) * group.tokens, tokens))

    def _has(self, key: Key) -> bool:
        found = self._found.get(key)
        if found is None:
            found = all(self._files.has(name, size) for name, size in self._files_of(key))
            self._found[key] = found
        return found

    def _all_right(self, keys: Iterator[Key]) -> bool:
        """Also after a wrong one: all of them are to be stored anew."""
        return not self._verify or sum(not self._reads(key) for key in keys) == 0

    def _reads(self, key: Key) -> bool:
        """Whether the bytes are right, not just the name and the size."""
        if key in self._verified:
            return True
        for name, size in self._files_of(key):
            if not self._files.read(name, np.empty(size, np.uint8)):
                self._found[key] = False
                return False
        self._verified.add(key)
        return True

    def _files_of(self, key: Key) -> Iterator[tuple[str, int]]:
        for shard in self._shards:
            name, group = shard.name(key), shard.groups[key.group]
            if name is not None and group is not None:
                yield name, group.block_bytes


def groups_of(shards: Sequence[ShardLayout]) -> Iterator[tuple[int, GroupLayout]]:
    """The groups that some shard keeps blocks of: their tokens and retention are the same on
    all."""
    for number in range(len(shards[0].groups)):
        for shard in shards:
            group = shard.groups[number]
            if group is not None and group.fingerprint is not None:
                yield number, group
                break
