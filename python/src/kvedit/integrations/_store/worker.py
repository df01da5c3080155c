"""The worker's half: moves blocks between the engine's memory and files.

Threads touch files only. The engine's memory is touched by the engine's thread alone, in its order:
blocks are gathered when the step that filled them is through, and scattered into blocks that belong
to a request that waits for them.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import Error, Host, Registration, _arguments
from .blocks import GroupBlocks, storages_of
from .files import BlockFiles
from .keys import ShardLayout, shard_layout

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from .blocks import Bytes
    from .options import Options
    from .plan import Move, Plan

_BATCH_BYTES = 16 << 20
_BATCHES_AHEAD = 4
# Something else stands where a block or its folder is to be: no reason for the others.
_OF_ITS_PLACE = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP)


class Results(NamedTuple):
    """Of a step: ids of requests."""

    saved: set[str]
    loaded: set[str]
    """Also those that failed: the engine waits for each."""
    failed: set[str]
    failed_blocks: set[int]


class _Read(NamedTuple):
    """Blocks of one group that were asked for, and as many of them as could be read."""

    moves: list[Move]
    payload: Bytes
    good: int


@dataclass(eq=False)
class _Load:
    request: str
    batches: deque[list[Move]]
    reading: deque[Future[_Read]] = field(default_factory=deque)
    failed_blocks: set[int] = field(default_factory=set)


class Worker:
    """Called by the engine's thread."""

    def __init__(self, options: Options, logger: logging.Logger) -> None:
        self._options = options
        self._logger = logger
        self._files = BlockFiles(options.folder)
        self._threads = ThreadPoolExecutor(options.threads, thread_name_prefix="kvedit-store")
        self._groups: dict[int, GroupBlocks] = {}
        self.layout: ShardLayout | None = None
        self._loads: list[_Load] = []
        self._saved: set[str] = set()
        self._complained: set[object] = set()
        self._era = ""
        self._wrote = False  # since then
        self._writing: set[Future[None]] = set()
        self._unwritten = 0
        self._lock = threading.Lock()

    def register(
        self, kv_cache_config: Any, kv_caches: Mapping[str, Any], vllm_config: Any
    ) -> None:
        """Finds and proves the bytes of every block. What cannot be proved is not stored."""
        try:
            registration = Registration.from_vllm(
                kv_cache_config, kv_caches, vllm_config=vllm_config
            )
            result = Host(environment=True).edit(registration)
            result.raise_for_problems()
            layout = _arguments.read(
                "vllm_config", vllm_config, shard_layout, result, self._options.model
            )
            storages = storages_of(result, kv_caches)
            for number, group in enumerate(layout.groups):
                if group is not None and group.fingerprint is not None:
                    self._groups[number] = GroupBlocks(result, number, storages)
        except (Error, TypeError, OSError) as error:
            self._logger.error("kvedit: nothing will be stored or loaded: %s", error)
            return
        self.layout = layout
        self._logger.info("kvedit: %r, stored in %s", result, self._files.path(layout.folder))

    # --- eras ---

    def _enter(self, era: str) -> None:
        """What was computed before is of no use to anybody: it may be of other weights than the
        files of the model. What waits to be written is not, and what was written is removed."""
        if era == self._era or self.layout is None:
            return
        left, wrote = self._era, self._wrote
        self._era, self._wrote = era, False
        with self._lock:
            before = set(self._writing)
        if wrote:
            self._later(self._remove_era, self.layout.folder_in(left), before)

    def _remove_era(self, folder: str, before: set[Future[None]]) -> None:
        wait(before)  # threads take their work in order: none of it waits for this one
        self._files.remove_all(folder)

    # --- loads ---

    def start_loads(self, plan: Plan) -> None:
        self._enter(plan.era)
        for request, moves in plan.loads.items():
            load = _Load(request, deque(self._batches(moves)))
            self._loads.append(load)
            self._read_ahead(load)

    def _batches(self, moves: list[Move]) -> list[list[Move]]:
        """Neighbours of one group, of bounded size."""
        batches: list[list[Move]] = []
        for move in moves:
            if move.key.group not in self._groups:
                continue  # no layer of it on this worker
            most = max(1, _BATCH_BYTES // self._groups[move.key.group].block_bytes)
            last = batches[-1] if batches else []
            if last and last[0].key.group == move.key.group and len(last) < most:
                last.append(move)
            else:
                batches.append([move])
        return batches

    def _read_ahead(self, load: _Load) -> None:
        while load.batches and len(load.reading) < _BATCHES_AHEAD:
            load.reading.append(self._threads.submit(self._read, load.batches.popleft()))

    def _read(self, moves: list[Move]) -> _Read:
        block_bytes = self._groups[moves[0].key.group].block_bytes
        payload = np.empty((len(moves), block_bytes), np.uint8)
        for at, move in enumerate(moves):
            if not self._files.read(self._name(move), payload[at]):
                return _Read(moves, payload, at)
        return _Read(moves, payload, len(moves))

    def _advance(self, load: _Load) -> bool:
        """Whether the load is through."""
        while load.reading and load.reading[0].done():
            read = load.reading.popleft().result()
            good = [move.block for move in read.moves[: read.good]]
            self._groups[read.moves[0].key.group].scatter(good, read.payload[: read.good])
            if read.good < len(read.moves):
                self._give_up(load, read)
            self._read_ahead(load)
        return not load.reading

    def _give_up(self, load: _Load, read: _Read) -> None:
        bad = read.moves[read.good]
        self._complain("read", "block file %s cannot be used any more", self._name(bad))
        load.failed_blocks.update(move.block for move in read.moves[read.good :])
        for batch in load.batches:
            load.failed_blocks.update(move.block for move in batch)
        load.batches.clear()

    # --- saves ---

    def save(self, plan: Plan) -> None:
        """Copies the blocks before it returns; files are written later."""
        self._enter(plan.era)
        by_group: dict[int, list[Move]] = {}
        for move in plan.saves:
            group = self._groups.get(move.key.group)
            if group is not None and not self._files.has(self._name(move), group.block_bytes):
                by_group.setdefault(move.key.group, []).append(move)
        for number, moves in by_group.items():
            group = self._groups[number]
            most = max(1, _BATCH_BYTES // group.block_bytes)
            for begin in range(0, len(moves), most):
                some = moves[begin : begin + most]
                if self._reserve(len(some) * group.block_bytes):
                    payload = group.gather([move.block for move in some])
                    self._wrote = True
                    self._later(self._write, some, payload)
        self._saved |= plan.held

    def _reserve(self, nbytes: int) -> bool:
        """A store that cannot keep up loses blocks; the engine does not wait for it."""
        with self._lock:
            fits = self._unwritten + nbytes <= self._options.unwritten_bytes
            if fits:
                self._unwritten += nbytes
        if not fits:
            self._complain("slow", "blocks are not stored: %d bytes wait already", self._unwritten)
        return fits

    def _later(self, work: Callable[..., None], *given: object) -> None:
        job = self._threads.submit(work, *given)
        with self._lock:
            self._writing.add(job)
        job.add_done_callback(self._written)

    def _write(self, moves: list[Move], payload: Bytes) -> None:
        try:
            for move, row in zip(moves, payload):
                if move.key.era == self._era:
                    self._write_one(self._name(move), row)
        except OSError as error:
            if all(move.key.era == self._era for move in moves):  # else it is being removed
                self._complain(("write", error.errno), "blocks cannot be stored: %s", error)
        finally:
            with self._lock:
                self._unwritten -= payload.nbytes

    def _write_one(self, name: str, row: Bytes) -> None:
        try:
            self._files.write(name, row)
        except OSError as error:
            if error.errno not in _OF_ITS_PLACE:
                raise
            self._complain(("place", error.errno), "a block is not stored: %s", error)

    def _written(self, job: Future[None]) -> None:
        with self._lock:
            self._writing.discard(job)

    # --- both ---

    def results(self) -> Results:
        saved, self._saved = self._saved, set()
        done = [load for load in self._loads if self._advance(load)]
        self._loads = [load for load in self._loads if load not in done]
        failed = [load for load in done if load.failed_blocks]
        return Results(
            saved,
            {load.request for load in done},
            {load.request for load in failed},
            {block for load in failed for block in load.failed_blocks},
        )

    def wait(self) -> None:
        """Until everything saved so far is in files."""
        with self._lock:
            writing = set(self._writing)
        wait(writing)

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        if self._era and self.layout is not None:
            self._files.remove_all(self.layout.folder_in(self._era))

    def _name(self, move: Move) -> str:
        assert self.layout is not None
        name = self.layout.name(move.key)
        assert name is not None
        return name

    def _complain(self, topic: object, message: str, *values: object) -> None:
        """Once for each topic and cause: the engine goes on, and so would the log."""
        with self._lock:
            first = topic not in self._complained
            self._complained.add(topic)
        if first:
            self._logger.warning(
                "kvedit: " + message + " (said once, process %d)", *values, os.getpid()
            )
