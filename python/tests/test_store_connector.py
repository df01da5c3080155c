"""The class that vLLM makes of the reference connector, and what it calls a block."""

from types import SimpleNamespace

import pytest

import kvedit
import standins
import vllm_base
from conftest import GIVEN
from kvedit.integrations._store.keys import Key, shard_name
from kvedit.integrations._store.plan import Move, Plan
from store_parts import FULL, RECURRENT, WINDOW, Blocks, Request, layout


def test_ranks_that_hold_other_bytes_have_other_names():
    def name(rank):
        return shard_name(SimpleNamespace(parallel_config=SimpleNamespace(
            rank=rank, tensor_parallel_size=2, prefill_context_parallel_size=2)))  # fmt: skip

    names = [name(rank) for rank in range(8)]
    assert names[:4] == ["tp0-pcp0", "tp1-pcp0", "tp0-pcp1", "tp1-pcp1"] and names[4:] == names[:4]


# --- the class that vLLM makes ---


@pytest.fixture
def connectors(monkeypatch):
    yield vllm_base.connectors(monkeypatch)
    vllm_base.forget()


def connector(connectors, role, facts, folder, saves=True, **config):
    vllm_config = standins.vllm_config_object(facts)
    vllm_config.kv_transfer_config = SimpleNamespace(
        kv_connector_extra_config={"kvedit.path": str(folder)},
        is_kv_producer=saves, is_kv_consumer=True,
    )  # fmt: skip
    vllm_config.parallel_config.world_size = 1
    vllm_config.cache_config = SimpleNamespace(prefix_caching_hash_algo="sha256")
    kv_cache_config = standins.config_object(facts)
    kv_cache_config.kv_cache_layout = facts.get("layout")
    kv_cache_config.hash_block_size = facts["groups"][0]["spec"]["block_size"]
    kv_cache_config.__dict__.update(config)
    return connectors.StoreConnector(vllm_config, role, kv_cache_config)


@pytest.mark.parametrize("role", ["WORKER", "SCHEDULER"])
def test_a_folder_that_cannot_be_used_ends_the_engine_s_start(connectors, tmp_path, role):
    facts = GIVEN["live-v0320-llama"].facts
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "store", "/proc", "/proc/kvedit"):
        with pytest.raises(kvedit.Error, match=f"^kvedit.path: {folder}.*; give a folder"):
            connector(connectors, role, facts, folder)
    connector(connectors, role, facts, "/proc", saves=False).shutdown()  # is only read
    connector(connectors, role, facts, tmp_path / "new" / "store").shutdown()
    assert (tmp_path / "new" / "store").is_dir()


def test_a_registration_that_is_refused_stores_nothing(connectors, tmp_path, caplog):
    facts = GIVEN["qwen3.5-0.8b-mode-none"].facts
    made = connector(connectors, "WORKER", facts, tmp_path)
    made.register_kv_caches(standins.caches_of(facts, standins.storages_of(facts)))
    assert "mamba-cache-mode" in caplog.text
    half = connector(connectors, "SCHEDULER", facts, tmp_path)
    half.set_xfer_handshake_metadata({0: made.get_handshake_metadata()})
    assert half.get_num_new_matched_tokens(Request(2000), 0) == (0, False)
    assert not half.requires_kv_delivery


def test_a_model_that_cannot_be_read_stores_nothing(connectors, tmp_path, caplog):
    facts = GIVEN["live-v0320-llama"].facts
    made = connector(connectors, "WORKER", facts, tmp_path)
    made._engine_config.model_config.hf_config = SimpleNamespace(to_dict=lambda: 1 / 0)
    made.register_kv_caches(standins.caches_of(facts, standins.storages_of(facts)))
    assert "nothing will be stored" in caplog.text and "vllm_config: a value of type" in caplog.text
    assert made.get_handshake_metadata().layout is None


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
