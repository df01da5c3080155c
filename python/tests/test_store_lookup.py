"""Which prefix of a prompt the reference connector finds in its folder."""

import os

import pytest

from kvedit.integrations._store.files import BlockFiles
from kvedit.integrations._store.keys import GroupLayout, Key
from store_parts import FULL, RECURRENT, WINDOW, hashes, layout, longest, put


@pytest.fixture
def files(tmp_path):
    return BlockFiles(str(tmp_path))


def test_a_prefix_without_a_gap(files):
    shard = layout(FULL)
    for tokens in (16, 32, 64):
        put(files, shard, 0, tokens)
    assert longest(files, [shard]) == 32
    assert longest(files, [shard], most=31) == 16
    assert longest(files, [shard], computed=48) == 64
    assert longest(files, [shard], computed=64) == 64
    put(files, shard, 0, 48)
    assert longest(files, [shard]) == 64
    assert longest(files, [shard], step=32, most=63) == 32


def test_a_window_needs_no_more_than_its_tokens(files):
    shard = layout(FULL, WINDOW)
    for tokens in range(16, 129, 16):
        put(files, shard, 0, tokens)
    assert longest(files, [shard]) == 0
    for tokens in (96, 112):
        put(files, shard, 1, tokens)
    assert longest(files, [shard]) == 112  # the next token sees 80 to 111 beside itself
    os.unlink(files.path(shard.name(Key(1, hashes(6)[-1]))))
    assert longest(files, [shard]) == 0
    assert longest(files, [shard], computed=96) == 112


def test_a_recurrent_state_is_at_the_end_or_nowhere(files):
    shard = layout(RECURRENT, FULL)
    for tokens in range(16, 129, 16):
        put(files, shard, 1, tokens)
    put(files, shard, 0, 64)
    assert longest(files, [shard], step=32) == 64
    assert longest(files, [shard], most=63, step=32) == 0
    put(files, shard, 0, 112)  # inside a block of its group
    assert longest(files, [shard], step=32) == 64
    assert longest(files, [shard], step=16) == 112


def test_every_shard_must_have_it(files):
    nothing = GroupLayout(16, "full", None, None, 0)
    shards = [layout(FULL), layout(FULL, folder="model/tp1-pcp0"), layout(nothing)]
    for shard in shards[:2]:
        put(files, shard, 0, 16)
    put(files, shards[0], 0, 32)
    assert longest(files, shards) == 16
    put(files, shards[1], 0, 32)
    assert longest(files, shards) == 32


def test_wrong_bytes_are_found_before_they_are_promised(files, tmp_path):
    shard = layout(FULL, RECURRENT)
    for tokens in (16, 32, 48, 64):
        put(files, shard, 0, tokens)
    wrong = [tmp_path / put(files, shard, 1, 64), tmp_path / shard.name(Key(0, hashes(3)[-1]))]
    for path in wrong:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert longest(files, [shard], step=32, verify=False) == 64
    assert longest(files, [shard], step=32) == 0
    assert not any(path.exists() for path in wrong)  # both: they are to be stored anew
