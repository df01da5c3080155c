"""What the tests of the reference connector's halves share: prompts, layouts, files, steps."""

import logging
import time
from types import SimpleNamespace

import numpy as np

from kvedit.integrations._store.keys import GroupLayout, Key, ShardLayout
from kvedit.integrations._store.lookup import Lookup, Prefix
from kvedit.integrations._store.options import Options
from kvedit.integrations._store.scheduler import Roles, Scheduler

LOG = logging.getLogger("store")
UNIT = 16


def hashes(count, start=0):
    return [bytes([number + start]) * 32 for number in range(count)]


def layout(*groups, folder="model/tp0-pcp0"):
    return ShardLayout(folder, groups)


FULL = GroupLayout(16, "full", None, "kvx1-full", 64)
WINDOW = GroupLayout(16, "window", 33, "kvx1-window", 32)
RECURRENT = GroupLayout(32, "recurrent", None, "kvx1-recurrent", 48)
WIDE = GroupLayout(64, "full", None, "kvx1-wide", 64)


class Request(SimpleNamespace):
    def __init__(self, tokens, name="r", computed=0, start=0):
        super().__init__(
            request_id=name, num_tokens=tokens, num_computed_tokens=computed,
            block_hashes=hashes(tokens // UNIT, start),
        )  # fmt: skip


def put(files, shard, group, tokens):
    """Stores the block that ends after so many tokens of the prompt."""
    name = shard.name(Key(group, hashes(tokens // UNIT)[-1]))
    files.write(name, np.zeros(shard.groups[group].block_bytes, np.uint8))
    return name


def longest(files, shards, computed=0, most=1000, step=16, verify=True, count=8):
    return Lookup(files, shards, Prefix(hashes(count), UNIT), verify).longest(computed, most, step)


def scheduler(tmp_path, *groups, unit=UNIT, alignment=None, roles=Roles(True, True), **options):
    made = Scheduler(Options(folder=str(tmp_path), **options), unit, roles, LOG)
    made.set_shards([layout(*groups)], 1, alignment)
    return made


def matched(half, request, computed=0):
    for _ in range(10_000):
        found = half.matched_tokens(request, computed)
        if found is not None:
            return found
        time.sleep(0.001)
    raise AssertionError("no end of it")


def step(scheduled, tables, offers=None):
    return SimpleNamespace(
        num_scheduled_tokens=scheduled,
        kv_connector_block_state=SimpleNamespace(
            get_block_ids=tables.get, boundary_state_offloads=offers or {}
        ),
    )


def key(group, tokens, start=0):
    return Key(group, hashes(tokens // UNIT, start)[-1])


class Blocks:
    """Memory of a group: one byte for each block."""

    block_bytes = 4

    def __init__(self):
        self.memory = {}

    def gather(self, ids):
        return np.array([[block] * 4 for block in ids], np.uint8)

    def scatter(self, ids, payload):
        for block, row in zip(ids, payload, strict=True):
            self.memory[block] = row.tolist()
