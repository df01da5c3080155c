"""The capturing connector, on stand-ins of vLLM's base classes: no engine is needed."""

import json
import logging
import subprocess
import types
from pathlib import Path

import pytest

import kvedit
import standins
import vllm_base
from conftest import GIVEN

PROGRAM = Path(kvedit.__file__).parent / "bin" / "kvedit"
@pytest.fixture
def connectors(monkeypatch):
    yield vllm_base.connectors(monkeypatch)
    vllm_base.forget()


def connector_of(connectors, facts, extra, **parallel):
    vllm_config = standins.vllm_config_object(facts)
    vllm_config.kv_transfer_config = types.SimpleNamespace(kv_connector_extra_config=extra)
    vllm_config.parallel_config.__dict__.update(parallel)
    config = standins.config_object(facts)
    config.kv_cache_layout = facts.get("layout")
    return connectors.CaptureConnector(
        vllm_config=vllm_config, role="worker", kv_cache_config=config
    )


def caches_of(facts):
    return standins.caches_of(facts, standins.storages_of(facts))


def test_registration_and_report_lie_in_the_folder(connectors, tmp_path, given, caplog):
    caplog.set_level(logging.INFO)
    folder = tmp_path / "a" / "b"
    connector = connector_of(connectors, given.facts, {"kvedit.path": str(folder)})
    connector.register_kv_caches(caches_of(given.facts))
    assert sorted(path.name for path in folder.iterdir()) == ["registration.json", "report.json"]
    done = subprocess.run([PROGRAM, "explain", "--json", folder / "registration.json"],
                          capture_output=True, text=True, check=False, env={})  # fmt: skip
    assert (folder / "report.json").read_text() == done.stdout
    assert done.returncode == (1 if given.refused_as else 0)
    captured = json.loads((folder / "registration.json").read_text())
    assert captured["caches"].keys() == given.facts["caches"].keys()
    assert str(folder / "registration.json") in caplog.text
    for code in given.refused_as:
        assert code in caplog.text


def test_workers_write_files_of_their_own(connectors, tmp_path):
    facts = GIVEN["live-v0320-llama"].facts
    for rank in range(2):
        connector_of(
            connectors, facts, {"kvedit.path": str(tmp_path)}, world_size=2, rank=rank,
            data_parallel_size=4, data_parallel_rank=3,
        ).register_kv_caches(caches_of(facts))  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "registration.dp3.rank0.json", "registration.dp3.rank1.json",
        "report.dp3.rank0.json", "report.dp3.rank1.json",
    ]  # fmt: skip


def test_the_profile_is_the_asked_one(connectors, tmp_path):
    facts = GIVEN["live-v0320-llama"].facts
    extra = {"kvedit.path": str(tmp_path), "kvedit.profile": "bytes"}
    connector_of(connectors, facts, extra).register_kv_caches(caches_of(facts))
    assert json.loads((tmp_path / "report.json").read_text())["profile"] == "bytes"


class Raises:
    tensor_parallel_size = pipeline_parallel_size = 1

    @property
    def data_parallel_size(self):
        raise RuntimeError("boom")


@pytest.mark.parametrize("extra", [{"kvedit.profile": "widescreen"}, {"kvedit.profile": 5}, {"path": "/tmp"}])
def test_wrong_options_end_the_start(connectors, extra):
    """As those of StoreConnector: on the scheduler and every worker, before anything is loaded."""
    with pytest.raises(kvedit.Error, match=next(iter(extra))):
        connector_of(connectors, GIVEN["live-v0320-llama"].facts, extra)


@pytest.mark.parametrize("wrong", ["a folder that is a file", "no groups", "a rank"])
def test_the_engine_starts_whatever_happens(connectors, tmp_path, wrong, caplog):
    facts = GIVEN["live-v0320-llama"].facts
    extra = {"kvedit.path": str(tmp_path / "file" / "x" if wrong.startswith("a folder") else tmp_path)}
    (tmp_path / "file").write_text("")
    connector = connector_of(connectors, facts, extra)
    if wrong == "no groups":
        connector._captured_config = None
    if wrong == "a rank":
        connector._captured_vllm_config.parallel_config = Raises()
    connector.register_kv_caches(caches_of(facts))
    assert "could not be captured" in caplog.text
    assert not list(tmp_path.glob(".writing-*"))


def test_nothing_is_loaded_or_saved(connectors):
    facts = GIVEN["live-v0320-llama"].facts
    connector = connector_of(connectors, facts, None)
    assert connector.get_num_new_matched_tokens(None, 0) == (0, False)
    assert connector.request_finished(None, [1]) == (False, None)
    assert connector.request_finished_all_groups(None, ([1], [2])) == (False, None)
    assert isinstance(connector.build_connector_meta(None), vllm_base.KVConnectorMetadata)
    assert isinstance(connector, vllm_base.SupportsHMA)
    for call in (lambda: connector.start_load_kv(None, any=1), connector.wait_for_save,
                 lambda: connector.wait_for_layer_load("a"),
                 lambda: connector.save_kv_layer("a", None, None),
                 lambda: connector.update_state_after_alloc(None, None, 0)):  # fmt: skip
        assert call() is None
