"""The scheduler's half: which blocks are where, and which are moved in a step."""

from __future__ import annotations

import math
import secrets
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .files import BlockFiles
from .lookup import Lookup, Prefix, groups_of
from .plan import Move, Plan

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from .keys import GroupLayout, ShardLayout
    from .options import Options

    BlockTables = Sequence[Sequence[int]]

NULL_BLOCK = 0  # stands in tables where a group has no block of its own
_PATIENCE_SECONDS = 0.002  # most prompts are not stored, which is seen at once


class Roles(NamedTuple):
    loads: bool
    saves: bool
    fails_requests: bool = True
    """The engine can be told that a load failed, without naming blocks of its only group."""


class _Lookup(NamedTuple):
    computed: int
    tokens: Future[int]


@dataclass
class _Known:
    """A request that the engine has admitted."""

    request: Any
    saved: int | None = None
    """Tokens whose blocks have been saved, or need not be."""
    loading: frozenset[int] = frozenset()
    failed: bool = False
    """A load of it failed: what is recomputed is not looked up again."""
    mixed: bool = False
    """What it computes rests on what was to be forgotten, until it begins anew."""


class Scheduler:
    """Called by the engine's scheduler."""

    def __init__(
        self, options: Options, hash_unit: int, roles: Roles, logger: logging.Logger
    ) -> None:
        self._options, self._unit, self._roles, self._logger = options, hash_unit, roles, logger
        self._files = BlockFiles(options.folder)
        self._threads = ThreadPoolExecutor(options.threads, thread_name_prefix="kvedit-lookup")
        self._shards: list[ShardLayout] = []
        self._groups: dict[int, GroupLayout] = {}
        self._step = 0
        self._known: dict[str, _Known] = {}
        self._lookups: dict[str, _Lookup] = {}
        self._plan = Plan()
        self._era = ""
        self._shows_tables = True

    def _prefix(self, hashes: Sequence[bytes]) -> Prefix:
        return Prefix(hashes, self._unit, self._era)

    def set_shards(
        self, shards: Sequence[ShardLayout | None], expected: int, alignment: int | None
    ) -> None:
        """What the workers found. One of them that cannot serve is enough to store nothing."""
        there = [shard for shard in shards if shard is not None]
        if len(there) != expected:
            self._logger.error("kvedit: %d of %d workers serve", len(there), expected)
            return
        self._shards = there
        self._groups = dict(groups_of(there))
        blocks = math.lcm(1, *(group.tokens for group in self._groups.values()))
        self._step = alignment or blocks
        bad = [group.tokens for group in self._groups.values() if group.tokens % self._unit]
        if bad or self._step % self._unit or not self._groups:
            self._logger.error(
                "kvedit: nothing will be stored: blocks of %s tokens, hits every %d, hashes every %d",
                bad, self._step, self._unit,
            )  # fmt: skip
            self._shards = []
        if not self._roles.fails_requests and not all(shard.keeps_all_blocks for shard in there):
            self._logger.warning("kvedit: nothing is loaded: this vLLM cannot be told of failures")
            self._roles = self._roles._replace(loads=False)

    # --- loads ---

    def matched_tokens(self, request: Any, computed: int) -> int | None:
        """Tokens to be had beyond those computed; None while files are being read."""
        known = self._known.get(request.request_id)
        if known is not None:
            known.mixed = known.mixed and computed > 0
        if not self._shards or not self._roles.loads or (known is not None and known.failed):
            return 0
        if getattr(request, "skip_reading_prefix_cache", False):
            return 0
        lookup = self._lookups.get(request.request_id)
        if lookup is None or lookup.computed != computed:
            prefix = self._prefix(list(request.block_hashes))
            # One token is left to compute: there is no other way to the next one, and no way back
            # in a recurrent state.
            search = Lookup(self._files, self._shards, prefix, self._options.verify)
            most = request.num_tokens - 1
            tokens = self._threads.submit(search.longest, computed, most, self._step)
            lookup = self._lookups[request.request_id] = _Lookup(computed, tokens)
            wait([tokens], _PATIENCE_SECONDS)
        if not lookup.tokens.done():
            return None
        if lookup.tokens.exception() is not None:
            self._logger.error("kvedit: lookup failed", exc_info=lookup.tokens.exception())
            return 0
        return lookup.tokens.result() - computed

    def admitted(self, request: Any, tables: BlockTables, external: int) -> None:
        """Called again without external tokens when a load is through."""
        known = self._known.setdefault(request.request_id, _Known(request))
        known.request, known.loading = request, frozenset()
        lookup = self._lookups.pop(request.request_id, None)
        if external == 0 or lookup is None:
            return
        computed, tokens = lookup.computed, lookup.computed + external
        prefix = self._prefix(request.block_hashes)
        moves = [
            move
            for number, group in self._groups.items()
            for move in _moves(
                prefix, number, group, tables[number],
                range(computed // group.tokens, group.blocks_of(tokens)), tokens,
            )
        ]  # fmt: skip
        known.loading = frozenset(move.block for move in moves)
        self._plan.loads[request.request_id] = moves

    def loads_ended(self, failed: set[str], failed_blocks: set[int]) -> None:
        """failed_blocks: by engines with one group, which name no request."""
        for request_id, known in self._known.items():
            if request_id in failed or known.loading & failed_blocks:
                known.failed = True

    # --- saves ---

    def plan(self, output: Any) -> Plan:
        """Of the step that the engine has just scheduled."""
        plan, self._plan = self._plan, Plan(self._era)
        state = getattr(output, "kv_connector_block_state", None)
        if not self._shards or not self._roles.saves:
            return plan
        self._shows_tables = state is not None
        if state is None:
            return plan
        for request_id, count in output.num_scheduled_tokens.items():
            known = self._known.get(request_id)
            tables = state.get_block_ids(request_id)
            if known is not None and not known.mixed and tables is not None:
                plan.saves += self._filled(known, tables, count)
        for request_id, offers in state.boundary_state_offloads.items():
            known = self._known.get(request_id)
            if known is not None and not known.mixed:
                tables = state.get_block_ids(request_id)
                plan.saves += self._boundary(known.request, tables or (), offers)
        return plan

    def _filled(self, known: _Known, tables: BlockTables, count: int) -> Iterator[Move]:
        """Blocks that are full after the step, of groups whose blocks stay where they are. Tokens
        not yet confirmed have no hash."""
        prefix = self._prefix(known.request.block_hashes)
        computed = known.request.num_computed_tokens
        begin = computed if known.saved is None else known.saved
        end = max(begin, min(computed + count, prefix.hashed_tokens))
        known.saved = end
        for number, group in self._groups.items():
            if not group.recurrent:
                blocks = range(begin // group.tokens, end // group.tokens)
                yield from _moves(prefix, number, group, tables[number], blocks, end)

    def _boundary(
        self, request: Any, tables: BlockTables, offers: Sequence[tuple[int, int, int]]
    ) -> Iterator[Move]:
        """Recurrent states are only where the engine says so: (group, block, tokens). A boundary
        inside a block of other groups is of use with that block as it is there."""
        prefix = self._prefix(request.block_hashes)
        for boundary in {tokens for _, _, tokens in offers}:
            if boundary % self._unit or not 0 < boundary <= prefix.hashed_tokens:
                continue
            for number, block, tokens in offers:
                if tokens == boundary and block != NULL_BLOCK and number in self._groups:
                    yield Move(prefix.key(number, boundary), block)
            for number, group in self._groups.items():
                if not group.recurrent and boundary % group.tokens and tables:
                    last = boundary // group.tokens
                    blocks = range(last, last + 1)
                    yield from _moves(prefix, number, group, tables[number], blocks, boundary)

    def finished_at_boundary(
        self, request: Any, tables: BlockTables, offers: Sequence[tuple[int, int, int]]
    ) -> bool:
        """Whether the engine is to keep the request's blocks until the workers have saved them."""
        known = self._known.get(request.request_id)
        if not self._shards or not self._roles.saves or (known is not None and known.mixed):
            return False
        moves = list(self._boundary(request, tables, offers))
        if moves:
            self._plan.saves += moves
            self._plan.held.add(request.request_id)
        return bool(moves)

    def finished(self, request: Any, tables: BlockTables) -> bool:
        """Whether the engine is to keep the request's blocks: engines before 0.30 show their tables
        only now, which is of use where tables only grow."""
        known = self._known.pop(request.request_id, None)
        self._lookups.pop(request.request_id, None)
        if self._shows_tables or known is None or known.loading or known.mixed:
            return False
        if not self._shards or not self._roles.saves:
            return False
        if not all(shard.keeps_all_blocks for shard in self._shards):
            return False
        known.saved = 0
        self._plan.saves += self._filled(known, tables, 0)
        self._plan.held.add(request.request_id)
        return True

    def forget(self) -> bool:
        """Begins an era: nothing that was stored before is found again, whenever it is written.
        What is there is removed; what comes too late the workers remove, once they know."""
        self._remove_era()
        self._era = self._plan.era = secrets.token_hex(8)
        self._plan.saves.clear()
        self._lookups.clear()
        for known in self._known.values():
            known.saved, known.mixed = None, known.request.num_computed_tokens > 0
        return True  # engines take a no, also of who stores nothing, for a failure

    def _remove_era(self) -> None:
        for shard in self._shards if self._roles.saves else ():
            self._files.remove_all(shard.folder_in(self._era))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._era:
            self._remove_era()


def _moves(
    prefix: Prefix,
    number: int,
    group: GroupLayout,
    table: Sequence[int],
    blocks: range,
    tokens: int,
) -> Iterator[Move]:
    """Those of the table's blocks that are there, each with the hash of its last token; the last
    may end at `tokens`, before its own end."""
    for at in blocks:
        if at < len(table) and table[at] != NULL_BLOCK:
            yield Move(prefix.key(number, min((at + 1) * group.tokens, tokens)), table[at])
