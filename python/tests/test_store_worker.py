"""The worker's half of the reference connector, over memory of one byte a block."""

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kvedit.integrations._store.files import BlockFiles
from kvedit.integrations._store.keys import GroupLayout
from kvedit.integrations._store.options import Options
from kvedit.integrations._store.plan import Move, Plan
from kvedit.integrations._store.worker import Worker
from store_parts import LOG, Blocks, Request, key, layout, matched, scheduler, step


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
    assert caplog.text.count("a block is not stored") == 2  # twice each, for one cause each
    assert names[16] in caplog.text and os.path.dirname(names[32]) in caplog.text


def test_each_cause_is_said_once(worker, monkeypatch, caplog):
    write, causes = worker._files.write, [errno.EISDIR, errno.ENOSPC, errno.ELOOP, errno.EROFS]

    def fails(name, row):
        raise OSError(causes[0], f"cause {causes[0]}", name)

    monkeypatch.setattr(worker._files, "write", fails)
    for tokens in (16, 32, 48, 64) * 2:
        worker.save(Plan(saves=[Move(key(0, tokens), 1)]))
        worker.wait()
        causes.append(causes.pop(0))
    for cause in causes:
        assert caplog.text.count(f"cause {cause}") == 1, cause
    monkeypatch.setattr(worker._files, "write", write)


def test_the_store_may_become_a_file_or_a_circle(worker, tmp_path, caplog):
    """After a block's place was taken, which was said."""
    root = tmp_path / "store"
    worker._files = BlockFiles(str(root))
    name = worker.layout.name(key(0, 16))
    (root / name / "mine").mkdir(parents=True)
    for damage in (
        lambda: None,
        lambda: root.rename(tmp_path / "moved") and root.write_text(""),
        lambda: root.unlink() or root.symlink_to(root),
    ):
        damage()
        for _ in range(2):
            worker.save(Plan(saves=[Move(key(0, 16), 1), Move(key(0, 32), 2)]))
            worker.wait()
    for cause in (errno.EISDIR, errno.ENOTDIR, errno.ELOOP):
        assert caplog.text.count(f"Errno {cause}") == 1, caplog.text


def test_a_store_that_cannot_keep_up_loses_blocks(worker, monkeypatch, caplog):
    worker._options = Options(folder=worker._options.folder, unwritten_bytes=3)
    for tokens in (16, 32):
        worker.save(Plan(saves=[Move(key(0, tokens), 1)]))
    worker.wait()
    assert caplog.text.count("not stored") == 1
    assert not worker._files.has(worker.layout.name(key(0, 16)), 4)


# --- eras ---


def of(era, *tokens):
    return [Move(key(0, end)._replace(era=era), end) for end in tokens]


def stored(worker, era):
    return [end for end in (16, 32, 48) if worker._files.has(worker._name(of(era, end)[0]), 4)]


@pytest.fixture
def slow(worker, monkeypatch):
    """A disk that writes when it is told to; one thread, so that the second batch waits."""
    worker._threads = ThreadPoolExecutor(1)
    monkeypatch.setattr("kvedit.integrations._store.worker._BATCH_BYTES", 4)
    begun, go, write = threading.Event(), threading.Event(), worker._files.write

    def held_back(*given):
        begun.set()
        assert go.wait(10)
        write(*given)

    monkeypatch.setattr(worker._files, "write", held_back)
    return begun, go


def test_what_is_written_after_a_reset_is_not_served(worker, slow, tmp_path):
    """The scheduler removes the files when blocks are still to be written."""
    half = scheduler(tmp_path, worker.layout.groups[0])
    begun, go = slow
    worker.save(Plan(saves=of("", 16, 32)))
    assert begun.wait(10)
    assert half.forget()
    go.set()
    worker.wait()
    assert stored(worker, "") == [16, 32]  # nobody could know
    assert matched(half, Request(40)) == 0
    plan = half.plan(step({}, {}))
    worker.start_loads(plan)
    worker.wait()
    assert os.listdir(tmp_path) == []
    worker.save(Plan(plan.era, saves=of(plan.era, 16)))
    worker.wait()
    assert matched(half, Request(40, "after")) == 16


def test_what_waits_to_be_written_is_dropped_and_what_is_being_written_is_removed(
    worker, slow, tmp_path
):
    begun, go = slow
    worker.save(Plan(saves=of("", 16, 32)))
    assert begun.wait(10)
    worker.save(Plan("new", saves=of("new", 48)))
    go.set()
    worker.wait()
    assert stored(worker, "") == [] and stored(worker, "new") == [48]
    assert os.listdir(tmp_path) == ["model-new"] and worker._unwritten == 0


def test_who_has_stored_nothing_removes_nothing(worker):
    other = Worker(worker._options, LOG)
    other.layout, other._groups = worker.layout, worker._groups
    other.save(Plan(saves=of("", 16)))
    other.wait()
    worker.start_loads(Plan("new"))
    worker.wait()
    assert stored(other, "") == [16]
    other.close()


def test_loads_of_an_era_read_its_files(worker):
    worker.save(Plan("new", saves=of("new", 16)))
    worker.wait()
    worker.start_loads(Plan("new", loads={"r": [of("new", 16)[0]._replace(block=9)]}))
    assert not results(worker, until_loaded=True).failed
    assert worker._groups[0].memory == {9: [16] * 4}
    worker.start_loads(Plan("newer", loads={"r": [of("new", 16)[0]._replace(block=9)]}))
    worker.wait()
    worker.start_loads(Plan("newer", loads={"s": of("new", 16)}))
    loaded = set()
    while "s" not in loaded:
        found = worker.results()
        loaded |= found.loaded
    assert "s" in found.failed


def test_an_era_s_files_end_with_the_worker_and_others_stay(worker, tmp_path):
    worker.save(Plan(saves=of("", 16)))
    worker.wait()
    worker.close()
    assert stored(worker, "") == [16]
    worker._threads = ThreadPoolExecutor(1)
    worker.save(Plan("new", saves=of("new", 16)))
    worker.close()
    assert os.listdir(tmp_path) == []
