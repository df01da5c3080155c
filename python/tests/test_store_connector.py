"""The halves of the reference connector, each with the other and without an engine."""

import errno
import logging
import time
from types import SimpleNamespace

import numpy as np
import pytest

import standins
import vllm_base
from conftest import GIVEN

from kvedit.integrations._store.files import BlockFiles
from kvedit.integrations._store.keys import GroupLayout, Key, ShardLayout, model_name, shard_name
from kvedit.integrations._store.lookup import Lookup, Prefix
from kvedit.integrations._store.options import Options
from kvedit.integrations._store.plan import Move, Plan
from kvedit.integrations._store.scheduler import Roles, Scheduler
from kvedit.integrations._store.worker import Worker

LOG = logging.getLogger("store")
UNIT = 16


def hashes(count, start=0):
    return [bytes([number + start]) * 32 for number in range(count)]


def layout(*groups, folder="model/tp0-pcp0"):
    return ShardLayout(folder, groups)


FULL = GroupLayout(16, "full", None, "kvx1-full", 64)
WINDOW = GroupLayout(16, "window", 33, "kvx1-window", 32)
RECURRENT = GroupLayout(32, "recurrent", None, "kvx1-recurrent", 48)


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


@pytest.fixture
def files(tmp_path):
    return BlockFiles(str(tmp_path))


def longest(files, shards, computed=0, most=1000, step=16, verify=True, count=8):
    return Lookup(files, shards, Prefix(hashes(count), UNIT), verify).longest(computed, most, step)


# --- what can be brought back ---


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
    BlockFiles.remove(files, shard.name(Key(1, hashes(6)[-1])))
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


# --- the scheduler's half ---


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


def test_one_token_is_left_to_compute(files, tmp_path):
    for tokens in (16, 32, 48, 64):
        put(files, layout(FULL), 0, tokens)
    half = scheduler(tmp_path, FULL)
    assert matched(half, Request(64)) == 48
    assert matched(half, Request(65, "other")) == 64
    assert matched(half, Request(65, "third"), computed=32) == 32
    skipping = Request(65, "skips")
    skipping.skip_reading_prefix_cache = True
    assert matched(half, skipping) == 0


def test_loads_are_every_block_that_the_engine_has_made_room_for(files, tmp_path):
    shard = layout(FULL, WINDOW, RECURRENT)
    for tokens in range(16, 97, 16):
        put(files, shard, 0, tokens)
        put(files, shard, 1, tokens)
    put(files, shard, 2, 96)
    half = scheduler(tmp_path, FULL, WINDOW, RECURRENT)
    request = Request(100)
    assert matched(half, request, computed=32) == 64
    tables = [[1, 2, 3, 4, 5, 6, 99], [0, 0, 0, 0, 7, 8], [0, 0, 9]]
    half.admitted(request, tables, 64)
    plan = half.plan(step({}, {}))
    assert plan.loads == {"r": [
        Move(key(0, 48), 3), Move(key(0, 64), 4), Move(key(0, 80), 5), Move(key(0, 96), 6),
        Move(key(1, 80), 7), Move(key(1, 96), 8), Move(key(2, 96), 9),
    ]}  # fmt: skip
    half.admitted(request, tables, 0)  # when the load is through
    assert half.plan(step({}, {})) == Plan()


def test_another_connector_was_chosen(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    assert matched(half, Request(20)) == 16
    half.admitted(Request(20), [[1, 2]], 0)
    assert half.plan(step({}, {})).loads == {}


def test_full_blocks_are_saved_once(tmp_path):
    half = scheduler(tmp_path, FULL, RECURRENT)
    request = Request(80, computed=16)
    half.admitted(request, [[1, 2, 3], [0]], 0)
    tables = {"r": [[1, 2, 3, 4, 5], [0, 7, 8]]}
    plan = half.plan(step({"r": 30}, tables))
    assert plan.saves == [Move(key(0, 32), 2)]  # block 1 was there; 3 is not full
    request.num_computed_tokens = 46
    tables["r"][0][2] = 30  # the table as it is now counts
    assert half.plan(step({"r": 34}, tables)).saves == [
        Move(key(0, 48), 30), Move(key(0, 64), 4), Move(key(0, 80), 5)
    ]  # fmt: skip
    request.num_computed_tokens = 80
    assert half.plan(step({"r": 16}, tables)).saves == []  # tokens that are not confirmed
    request.num_tokens, request.block_hashes = 96, hashes(6)
    tables["r"][0].append(0)
    assert half.plan(step({"r": 1}, tables)).saves == []  # null block
    assert half.plan(step({}, {})).saves == []


def test_states_are_saved_where_the_engine_says(tmp_path):
    half = scheduler(tmp_path, FULL, RECURRENT)
    half.admitted(Request(80, computed=0), [[], []], 0)
    offers = {"r": [(1, 9, 64), (1, 0, 32), (0, 5, 1000)], "unknown": [(1, 3, 32)]}
    plan = half.plan(step({}, {"r": [[1, 2, 3, 4], [0, 9]]}, offers))
    assert plan.saves == [Move(key(1, 64), 9)]


WIDE = GroupLayout(64, "full", None, "kvx1-wide", 64)


def test_a_boundary_inside_a_block_takes_that_block_along(files, tmp_path):
    half = scheduler(tmp_path, WIDE, RECURRENT, alignment=16)
    request = Request(120)
    half.admitted(request, [[], []], 0)
    plan = half.plan(step({}, {"r": [[1, 2], [0, 0, 9]]}, {"r": [(1, 9, 80)]}))
    assert plan.saves == [Move(key(1, 80), 9), Move(key(0, 80), 2)]
    shard = layout(WIDE, RECURRENT)
    for group, tokens in ((0, 64), (0, 80), (1, 80)):
        put(files, shard, group, tokens)
    other = Request(100, "other")
    assert matched(half, other) == 80
    half.admitted(other, [[5, 6], [0, 0, 7]], 80)
    assert half.plan(step({}, {})).loads == {"other": [
        Move(key(0, 64), 5), Move(key(0, 80), 6), Move(key(1, 80), 7)]}  # fmt: skip


def test_blocks_of_a_finished_request_are_held_until_they_are_saved(tmp_path):
    half = scheduler(tmp_path, WIDE, RECURRENT, alignment=16)
    request = Request(80)
    half.admitted(request, [[], []], 0)
    assert half.finished_at_boundary(request, ([1, 2], [0, 0, 9]), [(1, 9, 80)])
    half.finished(request, ())
    plan = half.plan(step({}, {}))
    assert plan.held == {"r"} and plan.saves == [Move(key(1, 80), 9), Move(key(0, 80), 2)]
    assert half.plan(step({}, {})).held == set()
    assert not half.finished_at_boundary(request, ([], [0]), [(1, 0, 80)])


def test_what_failed_is_not_looked_up_again(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    first, second = Request(20), Request(20, "second")
    for number, request in enumerate((first, second)):
        assert matched(half, request) == 16
        half.admitted(request, [[number + 1, 9]], 16)
    half.loads_ended(set(), {2})
    assert matched(half, second) == 0 and matched(half, first) == 16
    half.loads_ended({"r"}, set())
    assert matched(half, first) == 0
    half.finished(first, ())
    assert matched(half, first) == 16  # the name again, another request


def test_roles(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    producer = scheduler(tmp_path, FULL, roles=Roles(loads=False, saves=True))
    consumer = scheduler(tmp_path, FULL, roles=Roles(loads=True, saves=False))
    assert matched(producer, Request(20)) == 0 and matched(consumer, Request(20)) == 16
    for half, saves in ((producer, 1), (consumer, 0)):
        half.admitted(Request(20), [[1, 2]], 0)
        assert len(half.plan(step({"r": 20}, {"r": [[1, 2]]})).saves) == saves


@pytest.mark.parametrize("shards", [[], [None], [layout(FULL)], [layout(FULL), None]])
def test_a_worker_that_cannot_serve_is_enough_to_store_nothing(files, tmp_path, shards, caplog):
    put(files, layout(FULL), 0, 16)
    half = Scheduler(Options(folder=str(tmp_path)), UNIT, Roles(True, True), LOG)
    half.set_shards(shards, 2, None)
    assert "of 2 workers" in caplog.text
    half.admitted(Request(20), [[1, 2]], 0)
    assert matched(half, Request(20)) == 0
    assert half.plan(step({"r": 20}, {"r": [[1, 2]]})).saves == []


def test_hashes_wider_than_a_block_are_refused(tmp_path, caplog):
    half = scheduler(tmp_path, FULL, unit=32)
    assert "nothing will be stored" in caplog.text and matched(half, Request(20)) == 0


# --- the worker's half ---


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
    worker._files.remove(worker.layout.name(key(0, 48)))
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


def test_a_store_that_cannot_keep_up_loses_blocks(worker, monkeypatch, caplog):
    worker._options = Options(folder=worker._options.folder, unwritten_bytes=3)
    for tokens in (16, 32):
        worker.save(Plan(saves=[Move(key(0, tokens), 1)]))
    worker.wait()
    assert caplog.text.count("not stored") == 1
    assert not worker._files.has(worker.layout.name(key(0, 16)), 4)


# --- names ---


def config_of(folder, rank=0, **parallel):
    sizes = {"tensor_parallel_size": 1, "prefill_context_parallel_size": 1, **parallel}
    model = SimpleNamespace(
        model=str(folder), revision=None, dtype="bfloat16", quantization=None,
        hf_config=SimpleNamespace(to_dict=lambda: {"rope": 1, "_name_or_path": "x"}),
    )  # fmt: skip
    return SimpleNamespace(
        model_config=model, speculative_config=None,
        cache_config=SimpleNamespace(prefix_caching_hash_algo="sha256"),
        parallel_config=SimpleNamespace(rank=rank, **sizes),
    )  # fmt: skip


def test_models_are_told_apart_by_their_weights(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "README.md").write_bytes(b"read")
    config = config_of(tmp_path)
    name = model_name(config, None)
    (tmp_path / "README.md").write_bytes(b"read again")
    assert model_name(config, None) == name
    (tmp_path / "model.safetensors").write_bytes(b"others")
    other = model_name(config, None)
    assert other != name
    assert model_name(config, "mine") not in (name, other)
    assert model_name(config_of("elsewhere"), "mine") == model_name(config, "mine")
    assert model_name(config_of("org/model"), None) != model_name(config_of("org/other"), None)
    config.model_config.dtype = "float16"
    assert model_name(config, None) != other


def test_ranks_that_hold_other_bytes_have_other_names():
    sizes = {"tensor_parallel_size": 2, "prefill_context_parallel_size": 2}
    names = [shard_name(config_of("m", rank, **sizes)) for rank in range(8)]
    assert names[:4] == ["tp0-pcp0", "tp1-pcp0", "tp0-pcp1", "tp1-pcp1"] and names[4:] == names[:4]


# --- the class that vLLM makes ---


@pytest.fixture
def connectors(monkeypatch):
    yield vllm_base.connectors(monkeypatch)
    vllm_base.forget()


def connector(connectors, role, facts, folder, **config):
    vllm_config = standins.vllm_config_object(facts)
    vllm_config.kv_transfer_config = SimpleNamespace(
        kv_connector_extra_config={"kvedit.path": str(folder)},
        is_kv_producer=True, is_kv_consumer=True,
    )  # fmt: skip
    vllm_config.parallel_config.world_size = 1
    vllm_config.cache_config = SimpleNamespace(prefix_caching_hash_algo="sha256")
    kv_cache_config = standins.config_object(facts)
    kv_cache_config.kv_cache_layout = facts.get("layout")
    kv_cache_config.hash_block_size = facts["groups"][0]["spec"]["block_size"]
    kv_cache_config.__dict__.update(config)
    return connectors.StoreConnector(vllm_config, role, kv_cache_config)


def test_a_registration_that_is_refused_stores_nothing(connectors, tmp_path, caplog):
    facts = GIVEN["qwen3.5-0.8b-mode-none"].facts
    made = connector(connectors, "WORKER", facts, tmp_path)
    made.register_kv_caches(standins.caches_of(facts, standins.storages_of(facts)))
    assert "mamba-cache-mode" in caplog.text
    half = connector(connectors, "SCHEDULER", facts, tmp_path)
    half.set_xfer_handshake_metadata({0: made.get_handshake_metadata()})
    assert half.get_num_new_matched_tokens(Request(2000), 0) == (0, False)
    assert not half.requires_kv_delivery


@pytest.mark.parametrize(("name", "several"), [("live-v0320-llama", False),
                                               ("live-v0320-nemotron-h", True)])  # fmt: skip
def test_failures_are_told_as_the_engine_wants_them(connectors, tmp_path, name, several):
    facts = GIVEN[name].facts
    made = connector(connectors, "WORKER", facts, tmp_path)
    made.register_kv_caches(standins.caches_of(facts, standins.storages_of(facts)))
    assert made._worker.layout is not None
    assert made.get_handshake_metadata().layout == made._worker.layout
    made._worker._groups = {0: Blocks()}
    from kvedit.integrations._store.connector import StoreMetadata

    metadata = StoreMetadata(Plan(loads={"r": [Move(Key(0, bytes(32)), 5)]}))
    made.bind_connector_metadata(metadata)
    made.start_load_kv(None, more=1)
    made.wait_for_save()
    while True:
        found = made.get_transfer_results(set())
        failed = made.get_block_ids_with_load_errors()
        if found.finished_recving:
            break
    assert found.finished_recving == {"r"} and not found.finished_sending
    assert found.failed_recving == ({"r"} if several else set())
    assert failed == (set() if several else {5})
    assert made.get_block_ids_with_load_errors() == set()
    assert made.get_finished(set()) == (None, None)
    made.shutdown()


def test_only_where_every_block_is_kept_a_failed_one_leaves_a_prefix():
    assert layout(FULL).keeps_all_blocks
    for others in ((FULL, FULL), (RECURRENT,), (WINDOW,), (FULL, None), (None,)):
        assert not layout(*others).keeps_all_blocks


def test_engines_that_cannot_be_told_of_failures_get_nothing_loaded(files, tmp_path, caplog):
    roles = Roles(loads=True, saves=True, fails_requests=False)
    for group, tokens in ((RECURRENT, 0), (FULL, 16)):
        put(files, layout(group), 0, 32)
        put(files, layout(group), 0, 16)
        assert matched(scheduler(tmp_path, group, alignment=16, roles=roles), Request(20)) == tokens
    assert caplog.text.count("nothing is loaded") == 1


def test_engines_that_show_tables_only_at_the_end(files, tmp_path):
    """Before vLLM 0.30; where every block is kept they are still right then."""
    for groups, saves in ((FULL,), 2), ((FULL, RECURRENT), 0):
        half = scheduler(tmp_path, *groups)
        request = Request(40)
        half.admitted(request, [[1, 2, 3]] * len(groups), 0)
        old_step = SimpleNamespace(num_scheduled_tokens={"r": 40})
        assert half.plan(old_step).saves == []
        request.num_computed_tokens = 40
        assert half.finished(request, ([1, 2, 3],) * len(groups)) == bool(saves)
        plan = half.plan(old_step)
        assert plan.saves == [Move(key(0, 16), 1), Move(key(0, 32), 2)][:saves]
        assert plan.held == ({"r"} if saves else set())
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    half.plan(old_step)
    waits = Request(40)
    assert matched(half, waits) == 16
    half.admitted(waits, [[1]], 16)
    waits.num_computed_tokens = 16
    assert not half.finished(waits, ([1],))  # ended before its blocks had come


def test_what_is_stored_can_be_forgotten(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    put(files, layout(FULL, folder="other/tp0-pcp0"), 0, 16)
    half = scheduler(tmp_path, FULL)
    assert half.forget() and matched(half, Request(20)) == 0
    assert longest(files, [layout(FULL, folder="other/tp0-pcp0")]) == 16
