"""The worker's half of the reference connector, over memory of one byte a block."""

import errno
import os

import pytest

from kvedit.integrations._store.keys import GroupLayout
from kvedit.integrations._store.options import Options
from kvedit.integrations._store.plan import Move, Plan
from kvedit.integrations._store.worker import Worker
from store_parts import LOG, Blocks, key, layout


@pytest.fixture
def worker(tmp_path):
    made = Worker(Options(folder=str(tmp_path)), LOG)
    made.layout = layout(
        *(GroupLayout(16, "full", None, f"kvx1-{number}", 4) for number in range(2))
    )
    made._groups = {0: Blocks(), 1: Blocks()}
    yield made
    made.close()


def results(worker, *, until_loaded):
    while True:
        found = worker.results()
        if found.loaded or not until_loaded:
            return found


def test_blocks_come_back_under_other_ids(worker):
    saves = [Move(key(0, 16), 1), Move(key(1, 16), 2), Move(key(0, 32), 3)]
    worker.save(Plan(saves=saves, held={"finished"}))
    worker.wait()
    assert worker.results().saved == {"finished"} and worker.results().saved == set()
    loads = [Move(key(0, 16), 11), Move(key(0, 32), 12), Move(key(1, 16), 11)]
    worker.start_loads(Plan(loads={"r": loads, "nothing": []}))
    found = worker.results()
    assert "nothing" in found.loaded
    loaded = found if "r" in found.loaded else results(worker, until_loaded=True)
    assert "r" in loaded.loaded and not loaded.failed and not loaded.failed_blocks
    assert worker._groups[0].memory == {11: [1] * 4, 12: [3] * 4}
    assert worker._groups[1].memory == {11: [2] * 4}


def test_what_is_there_is_not_saved_again(worker, monkeypatch):
    worker.save(Plan(saves=[Move(key(0, 16), 1)]))
    worker.wait()
    monkeypatch.setattr(worker._files, "write", lambda *_: pytest.fail("written again"))
    worker.save(Plan(saves=[Move(key(0, 16), 1)]))
    worker.wait()


def test_a_missing_block_fails_the_load(worker, monkeypatch, caplog):
    monkeypatch.setattr("kvedit.integrations._store.worker._BATCH_BYTES", 8)
    worker.save(Plan(saves=[Move(key(0, tokens), tokens // 16) for tokens in range(16, 129, 16)]))
    worker.wait()
    os.unlink(worker._files.path(worker.layout.name(key(0, 48))))
    moves = [Move(key(0, tokens), 20 + tokens // 16) for tokens in range(16, 129, 16)]
    worker.start_loads(Plan(loads={"r": moves, "fine": [Move(key(0, 16), 40)]}))
    failed, blocks = set(), set()
    loaded = set()
    while loaded != {"r", "fine"}:
        found = worker.results()
        loaded, failed = loaded | found.loaded, failed | found.failed
        blocks |= found.failed_blocks
    assert failed == {"r"} and {23, 24} <= blocks and not blocks & {21, 22}
    memory = worker._groups[0].memory
    assert blocks.isdisjoint(memory) and blocks | set(memory) == {40, *range(21, 29)}
    assert caplog.text.count("cannot be used") == 1


def test_a_full_disk_is_said_once(worker, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(worker._files, "write", full)
    for tokens in (16, 32):
        worker.save(Plan(saves=[Move(key(0, tokens), 1)]))
        worker.wait()
    assert caplog.text.count("no space left") == 1
    assert worker._unwritten == 0


def test_what_stands_in_a_block_s_place_is_said_once_and_costs_that_block_only(worker, caplog):
    ends = (16, 32, 48, 64)
    names = {tokens: worker.layout.name(key(0, tokens)) for tokens in ends}
    os.makedirs(worker._files.path(names[16]) + "/mine")
    os.makedirs(os.path.dirname(os.path.dirname(worker._files.path(names[32]))), exist_ok=True)
    with open(os.path.dirname(worker._files.path(names[32])), "w", encoding="utf-8"):
        pass  # where a folder is to be
    os.makedirs(worker._files.path(names[48]))  # empty: it gives way
    for _ in range(2):
        worker.save(Plan(saves=[Move(key(0, tokens), tokens) for tokens in ends]))
        worker.wait()
    there = [tokens for tokens in ends if worker._files.has(names[tokens], 4)]
    assert there == [48, 64] and worker._unwritten == 0
    assert caplog.text.count("a block is not stored") == 1 and names[16] in caplog.text


def test_a_store_that_cannot_keep_up_loses_blocks(worker, monkeypatch, caplog):
    worker._options = Options(folder=worker._options.folder, unwritten_bytes=3)
    for tokens in (16, 32):
        worker.save(Plan(saves=[Move(key(0, tokens), 1)]))
    worker.wait()
    assert caplog.text.count("not stored") == 1
    assert not worker._files.has(worker.layout.name(key(0, 16)), 4)
