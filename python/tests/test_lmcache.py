"""LMCache's two functions as kvedit answers them, and how they come under LMCache's callers.

No engine and no LMCache is needed: its package is written to a folder, with the names that its
connector looks up.
"""

import importlib
import logging
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import kvedit
import standins
from conftest import GIVEN
from kvedit.integrations import lmcache

PACKAGE = Path(kvedit.__file__).parent
HINTS = {"LBNHC": "NHD", "LBHNC": "HND"}


@pytest.fixture(autouse=True)
def fake_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", standins.fake_torch())


def live(facts, device=None):
    """Config, caches and hints as LMCache's connector has them."""
    storages = standins.storages_of(facts)
    for storage in storages.values():
        storage.device = device or storage.device
    layout = facts.get("layout")
    hints = {"kv_layout": HINTS.get(layout, layout)} if layout else {}
    return standins.config_object(facts), standins.caches_of(facts, storages), hints


def tensors(given):
    return given if isinstance(given, (list, tuple)) else [given]


@pytest.mark.parametrize("device", ["cuda:0", "cpu"])
def test_views_are_those_of_the_profile(given, device):
    config, caches, hints = live(given.facts, device)
    rows = "page" if device == "cpu" else "tight"
    registration = kvedit.Registration.from_vllm(config, caches, layout=hints.get("kv_layout"))
    right = kvedit.Host().edit(
        registration, profile="lmcache", pass_ungrouped=True, recurrent_rows=rows
    )
    if not right.ok:
        with pytest.raises(ValueError) as raised:
            lmcache.apply_kv_cache_group_edits(config, caches, hints)
        assert raised.value.problems == right.problems
        assert all(each.message in str(raised.value) for each in right.problems
                   if each.severity == "error")  # fmt: skip
        return
    views = lmcache.apply_kv_cache_group_edits(config, caches, hints)
    assert list(views) == list(caches) and views is not caches
    for name, layer in right.layers.items():
        if layer.outcome == "excluded":
            assert name not in caches or views[name] is caches[name]
            continue
        for tensor, view in zip(tensors(views[name]), layer.views, strict=True):
            assert str(tensor.dtype) == f"torch.{view.dtype}"
            assert (tensor.shape, tensor.stride(), tensor.storage_offset()) == (
                view.shape, view.stride, view.storage_offset,
            )  # fmt: skip
            assert tensor.storage in [each.storage for each in tensors(caches[name])]


def config_of(spec, layers, num_blocks):
    group = SimpleNamespace(layer_names=layers, kv_cache_spec=spec)
    return SimpleNamespace(num_blocks=num_blocks, kv_cache_groups=[group], kv_cache_tensors=[])


def mamba(block, page, shapes, dtypes, mode="align"):
    spec = standins.spec_class("MambaSpec", ["KVCacheSpec"])()
    spec.__dict__.update(block_size=block, page_size_bytes=page, page_size_padded=page,
                         shapes=shapes, dtypes=tuple(map(standins.dtype, dtypes)),
                         mamba_cache_mode=mode)  # fmt: skip
    return spec


def attention(name, bases, block, page, **fields):
    spec = standins.spec_class(name, [*bases, "AttentionSpec", "KVCacheSpec"])()
    spec.__dict__.update(block_size=block, page_size_bytes=page, **fields)
    return spec


def one(config, tensor, layout, device="cuda:0"):
    for each in tensors(tensor):
        each.storage.device = device
    views = lmcache.apply_kv_cache_group_edits(config, {"a": tensor}, {"kv_layout": layout})
    return views["a"]


@pytest.mark.parametrize(
    ("layout", "shape", "inner"),
    [("NHD", (93, 1552, 1, 2080), (2080, 2080, 1)), ("BLNHC", (93, 1552, 1, 2080), (2080, 2080, 1)),
     ("HND", (93, 1, 1552, 2080), (1552 * 2080, 2080, 1)),
     ("BLHNC", (93, 1, 1552, 2080), (1552 * 2080, 2080, 1))],
)  # fmt: skip
def test_a_state_row_is_cut_into_aligned_tokens(layout, shape, inner):
    """Row 3,207,168, step 3,228,160, 1552 tokens: ceil is 2067, the next multiple of 16 is 2080."""
    row, page = 3207168, 3228160
    spec = mamba(1552, page, ((row,),), ("int8",))
    tensor = standins.Tensor(standins.Storage(93 * page), "int8", (93, 1, 1, row), (page, row, row, 1))
    view = one(config_of(spec, ["a"], 93), tensor, layout)
    assert (view.shape, view.stride()) == (shape, (page, *inner))


def test_a_state_row_is_a_whole_page_on_cpu():
    row, page = 67840, 131072
    spec = mamba(256, page, ((row,),), ("int8",))
    tensor = standins.Tensor(standins.Storage(8 * page), "int8", (8, 1, 1, row), (page, row, row, 1))
    view = one(config_of(spec, ["a"], 8), tensor, "HND", "cpu")
    assert (view.shape, view.stride()) == ((8, 1, 256, 512), (page, page, 512, 1))


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_views_on_cpu_keep_their_memory(device):
    """What LMCache calls to turn a tensor to shared memory raises on views, and only there: the
    engine's own tensors may be turned."""
    row, page = 67840, 131072
    storage = standins.Storage(8 * page)
    state = standins.Tensor(storage, "int8", (8, 1, 1, row), (page, row, row, 1))
    tokens = standins.Tensor(storage, "bfloat16", (8, 2, 256, 128), (65536, 32768, 128, 1))
    storage.device = device
    config = config_of(mamba(256, page, ((row,),), ("int8",)), ["state"], 8)
    full = attention("FullAttentionSpec", [], 256, page, num_kv_heads=2, head_size=64,
                     dtype=standins.dtype("bfloat16"))  # fmt: skip
    config.kv_cache_groups.append(SimpleNamespace(layer_names=["full"], kv_cache_spec=full))
    views = lmcache.apply_kv_cache_group_edits(
        config, {"state": state, "full": tokens}, {"kv_layout": "HND"}
    )
    assert views["full"] is tokens and views["state"] is not state
    moved = standins.Storage(8 * page)
    for untouched in tokens, state:
        assert untouched.set_(moved, 0, untouched.shape, untouched.stride()).storage is moved
    view = views["state"]
    if device == "cpu":
        with pytest.raises(kvedit.Error, match="layer state.*shared memory"):
            view.set_(moved, 0, view.shape, view.stride())
    else:
        assert view.set_(moved, 0, view.shape, view.stride()).storage is moved


def test_states_in_one_page_become_that_page():
    """conv 3 x 384 bfloat16, ssm 4 x 64 x 64 float32 behind it, in pages of 131,072 bytes."""
    page, blocks = 131072, 8
    storage = standins.Storage(blocks * page)
    conv = standins.Tensor(storage, "bfloat16", (blocks, 3, 384), (page // 2, 384, 1))
    ssm = standins.Tensor(storage, "float32", (blocks, 4, 64, 64), (page // 4, 4096, 64, 1), 576)
    spec = mamba(256, page, ((3, 384), (4, 64, 64)), ("bfloat16", "float32"))
    view = one(config_of(spec, ["a"], blocks), [conv, ssm], "NHD")
    assert (view.shape, str(view.dtype)) == ((blocks, 2, 256, 1, 128), "torch.bfloat16")
    assert view.stride() == (65536, 32768, 128, 128, 1)


@pytest.mark.parametrize("rank", [4, 5])
def test_kernel_pages_become_blocks(rank):
    """17 kernel pages of 32 tokens, 2 heads of 256, K and V: 544 tokens, 1,114,112 bytes."""
    blocks, k = 64, 17
    shape = (blocks * k, 2, 32, 512) if rank == 4 else (blocks * k, 2, 32, 2, 256)
    stride = (32768, 512, 1024, 1) if rank == 4 else (32768, 16384, 512, 256, 1)
    spec = attention("FullAttentionSpec", [], 544, 1114112, num_kv_heads=2, head_size=256,
                     dtype=standins.dtype("bfloat16"))  # fmt: skip
    storage = standins.Storage(blocks * 1114112)
    tensor = standins.Tensor(storage, "bfloat16", shape, stride)
    view = one(config_of(spec, ["a"], blocks), tensor, "NHD")
    assert (view.shape, view.stride()) == (
        (64, 2, 544, 1, 512), (557056, 278528, 512, 512, 1),
    )  # fmt: skip


def test_kernel_pages_of_a_model_without_mamba_become_blocks_too():
    """What LMCache 0.5.6 leaves alone and then moves a quarter of."""
    blocks, k, page = 16, 4, 128 * 2 * 2 * 64 * 2
    spec = attention("FullAttentionSpec", [], 128, page, num_kv_heads=2, head_size=64,
                     dtype=standins.dtype("bfloat16"))  # fmt: skip
    tensor = standins.Tensor(standins.Storage(blocks * page), "bfloat16", (blocks * k, 2, 32, 128),
                             (8192, 4096, 128, 1))  # fmt: skip
    view = one(config_of(spec, ["a"], blocks), tensor, "HND")
    assert (view.shape, view.stride()) == ((16, 1, 128, 256), (32768, 32768, 256, 1))


def test_latent_kernel_pages_keep_their_rank():
    """Twelve kernel pages of 64 states of 576: (N x 12, 64, 576) becomes (N, 768, 576)."""
    blocks, page = 10, 768 * 576 * 2
    spec = attention("MLAAttentionSpec", ["FullAttentionSpec"], 768, page, num_kv_heads=1,
                     head_size=576, head_size_v=0, dtype=standins.dtype("bfloat16"))  # fmt: skip
    tensor = standins.Tensor(standins.Storage(blocks * page), "bfloat16", (blocks * 12, 64, 576),
                             (36864, 576, 1))  # fmt: skip
    view = one(config_of(spec, ["a"], blocks), tensor, "NHD")
    assert (view.shape, view.stride()) == ((10, 768, 576), (442368, 576, 1))


def test_what_is_right_already_is_the_object_itself():
    facts = GIVEN["llama-3.1-8b-block16-nhd"].facts
    config, caches, hints = live(facts)
    views = lmcache.apply_kv_cache_group_edits(config, caches, hints)
    assert all(views[name] is caches[name] for name in caches)


def test_a_cache_of_no_group_and_one_that_is_shared_come_back_as_they_are():
    facts = GIVEN["shared-cache-layer"].facts
    config, caches, hints = live(facts)
    caches["of.no.group"] = standins.Tensor(standins.Storage(4096), "int8", (4096,), (1,))
    views = lmcache.apply_kv_cache_group_edits(config, caches, hints)
    assert views["of.no.group"] is caches["of.no.group"]
    shared = [name for name, each in GIVEN["shared-cache-layer"].expected["layers"].items()
              if each.get("outcome") == "excluded"]  # fmt: skip
    assert shared and all(views[name] is caches[name] for name in shared)


def test_no_config_no_edits():
    caches = {"a": object()}
    assert lmcache.apply_kv_cache_group_edits(None, caches, {}) == caches
    assert lmcache.validate_kv_cache_groups(None) is None


def test_groups_that_cannot_be_served_are_refused_in_one_error():
    cross = attention("CrossAttentionSpec", [], 16, 4096)
    none = mamba(16, 4096, ((4096,),), ("int8",), mode="none")
    unset = mamba(16, 4096, ((4096,),), ("int8",))
    del unset.mamba_cache_mode
    fine = mamba(16, 4096, ((4096,),), ("int8",), mode="all")
    wrapper = standins.spec_class("UniformTypeKVCacheSpecs", ["KVCacheSpec"])()
    wrapper.__dict__.update(block_size=16, page_size_bytes=8192, kv_cache_specs={"e": fine, "f": none})
    config = SimpleNamespace(num_blocks=4, kv_cache_groups=[
        SimpleNamespace(layer_names=list(names), kv_cache_spec=spec)
        for names, spec in (("a", cross), ("b", none), ("c", unset), ("d", fine), ("ef", wrapper))
    ])  # fmt: skip
    with pytest.raises(ValueError) as raised:
        lmcache.validate_kv_cache_groups(config)
    assert [(each.code, each.group) for each in raised.value.problems] == [
        ("cross-attention", 0), ("mamba-cache-mode", 1), ("mamba-cache-mode", 2),
        ("mamba-cache-mode", 4),
    ]  # fmt: skip
    assert all(each.message in str(raised.value) for each in raised.value.problems)
    config.kv_cache_groups = config.kv_cache_groups[3:4]
    lmcache.validate_kv_cache_groups(config)


def last_line(config, caches, hints):
    with pytest.raises(kvedit.Error) as raised:
        lmcache.apply_kv_cache_group_edits(config, caches, hints)
    *problems, last = str(raised.value).split("\n")
    assert len(problems) == 1 + sum(each.severity == "error" for each in raised.value.problems)
    return last


def test_who_serves_a_model_is_told_what_to_do_once(monkeypatch):
    """Profiles and page maps are no remedy for the user of a command line."""
    for name in ("llama-lhbnc", "kv-tuple-two-allocations", "live-v0320-gemma3"):
        last = last_line(*live(GIVEN[name].facts, "cuda:0"))
        for way in ("--block-size", "VLLM_KV_CACHE_LAYOUT", "without LMCache", "StoreConnector"):
            assert way in last, name
    config, caches, hints = live(GIVEN["llama-3.1-8b-block16-nhd"].facts)
    config.num_blocks += 1  # no connector can help
    last = last_line(config, caches, hints)
    assert "without LMCache" in last and "CaptureConnector" in last
    assert "StoreConnector" not in last and "--block-size" not in last
    with pytest.raises(kvedit.Error) as raised:
        lmcache.validate_kv_cache_groups(live(GIVEN["qwen3.5-0.8b-mode-none"].facts)[0])
    assert str(raised.value).count("without LMCache") == 1
    for line in lmcache._FOR_THE_SHAPE, lmcache._FOR_THE_FACTS:
        assert HEADING in line


HEADING = "When kvedit refuses"


def test_the_documents_have_what_the_refusals_point_to():
    docs = Path(__file__).resolve().parents[2] / "docs" / "lmcache.md"
    if not docs.exists():
        pytest.skip("no clone")
    assert f"### {HEADING}\n" in docs.read_text()


def test_a_layer_that_is_not_registered_is_a_value_error():
    config, caches, hints = live(GIVEN["llama-3.1-8b-block16-nhd"].facts)
    gone = next(iter(caches))
    del caches[gone]
    with pytest.raises(ValueError, match=f"missing-cache: .*{gone}"):
        lmcache.apply_kv_cache_group_edits(config, caches, hints)


def sharded(monkeypatch, ranks):
    """A worker of vLLM under that decode context parallelism; None: before it is set up."""
    def group():
        assert ranks is not None, "decode context model parallel group is not initialized"
        return SimpleNamespace(world_size=ranks)

    monkeypatch.setitem(sys.modules, "vllm.distributed.parallel_state",
                        SimpleNamespace(get_dcp_group=group))  # fmt: skip


def test_tokens_of_a_block_are_those_of_all_ranks(monkeypatch, caplog):
    """LMCache multiplies the tokens of all attention by dcp: right where it is sharded, wrong where
    it is not, and kvedit must ask the engine, since LMCache does not hand it on."""
    spec = attention("FullAttentionSpec", [], 16, 32768, num_kv_heads=4, head_size=128,
                     dtype=standins.dtype("bfloat16"))  # fmt: skip
    tensor = standins.Tensor(standins.Storage(8 * 32768), "bfloat16", (8, 16, 4, 256),
                             (16384, 1024, 256, 1))  # fmt: skip
    for ranks in (None, 1, 2):
        sharded(monkeypatch, ranks)
        caplog.clear()
        assert one(config_of(spec, ["a"], 8), tensor, "NHD") is tensor
        assert ("32 tokens in 16 slots" in caplog.text) == (ranks == 2)
    spec.dcp_sharded = False
    with pytest.raises(ValueError, match="takes a block id for 32 tokens and it spans 16"):
        one(config_of(spec, ["a"], 8), tensor, "NHD")
    sharded(monkeypatch, 1)
    assert one(config_of(spec, ["a"], 8), tensor, "NHD") is tensor


@pytest.mark.parametrize(
    ("layout", "shape", "stride"),
    [("NHD", (8, 2, 16, 1, 256), (8192, 4096, 256, 256, 1)),
     ("HND", (8, 1, 16, 512), (8192, 8192, 512, 1))],
)  # fmt: skip
def test_a_list_of_one_state_becomes_its_page(layout, shape, stride):
    """A short convolution of 2 x 2048, registered as a list until 0.26: LMCache's edits go by the
    list, however many states are in it."""
    spec = mamba(16, 16384, ((2, 2048),), ("bfloat16",))
    state = standins.Tensor(standins.Storage(8 * 16384), "bfloat16", (8, 2, 2048), (8192, 2048, 1))
    view = one(config_of(spec, ["a"], 8), [state], layout)
    assert (view.shape, view.stride()) == (shape, stride)
    row = one(config_of(spec, ["a"], 8), state, "NHD")
    assert row.shape == (8, 16, 1, 256)


THEIRS = """
import logging
logger = logging.getLogger("lmcache.theirs")
_EDITS = ("_MambaUnifiedViewEdit", "_SubpagedMLAAttentionViewEdit")
def apply_kv_cache_group_edits(kv_cache_config, kv_caches, layout_hints):
    return "theirs"
def validate_kv_cache_groups(kv_cache_config):
    return "theirs"
"""
CONNECTOR = """
from lmcache.integration.vllm.kv_cache_group_edits import (
    apply_kv_cache_group_edits,
    validate_kv_cache_groups,
)
class LMCacheMPConnector:
    def register(self, config, caches):
        return apply_kv_cache_group_edits(config, caches, layout_hints={})
"""
EDITS_NAME = "lmcache.integration.vllm.kv_cache_group_edits"
CONNECTOR_NAME = "lmcache.integration.vllm.lmcache_mp_connector"


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A package with the names of LMCache's, not yet imported."""
    folder = tmp_path / "lmcache" / "integration" / "vllm"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    (folder / "kv_cache_group_edits.py").write_text(THEIRS)
    (folder / "lmcache_mp_connector.py").write_text(CONNECTOR)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    lmcache.uninstall()
    for name in [name for name in sys.modules if name == "lmcache" or name.startswith("lmcache.")]:
        del sys.modules[name]


def edits():
    return importlib.import_module(EDITS_NAME)


def connector():
    return importlib.import_module(CONNECTOR_NAME)


def test_installed_before_lmcache_is_imported(theirs):
    lmcache.install()
    assert not any(name.startswith("lmcache") for name in sys.modules)
    assert edits().apply_kv_cache_group_edits is lmcache.apply_kv_cache_group_edits
    assert connector().validate_kv_cache_groups is lmcache.validate_kv_cache_groups
    assert connector().LMCacheMPConnector().register(None, {"a": 1}) == {"a": 1}
    assert edits()._EDITS == ("_MambaUnifiedViewEdit", "_SubpagedMLAAttentionViewEdit")
    assert "_ReplacingLoader" not in type(edits().__loader__).__name__
    assert edits().__spec__.loader is edits().__loader__
    assert importlib.reload(edits()).apply_kv_cache_group_edits is lmcache.apply_kv_cache_group_edits


def test_installed_after_lmcache_was_imported(theirs):
    assert connector().LMCacheMPConnector().register(None, {}) == "theirs"
    lmcache.install()
    assert connector().LMCacheMPConnector().register(None, {}) == {}


def test_installed_often_and_taken_out_again(theirs):
    before = list(sys.meta_path)
    for _ in range(3):
        lmcache.install()
    assert len(sys.meta_path) == len(before) + 1
    assert connector().LMCacheMPConnector().register(None, {}) == {}
    lmcache.install()
    lmcache.uninstall()
    assert sys.meta_path == before
    assert connector().LMCacheMPConnector().register(None, {}) == "theirs"
    assert edits().validate_kv_cache_groups(None) == "theirs"
    lmcache.uninstall()


@pytest.mark.parametrize(("value", "ours"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_plugin_asks_the_environment(theirs, monkeypatch, value, ours):
    if value is None:
        monkeypatch.delenv("KVEDIT_LMCACHE", raising=False)
    else:
        monkeypatch.setenv("KVEDIT_LMCACHE", value)
    lmcache.plugin()
    lmcache.plugin()
    assert (connector().LMCacheMPConnector().register(None, {}) == {}) == ours


def test_the_plugin_says_of_other_words_that_it_does_nothing(theirs, monkeypatch, caplog):
    monkeypatch.setenv("KVEDIT_LMCACHE", "yes")
    lmcache.plugin()
    assert connector().LMCacheMPConnector().register(None, {}) != {}
    assert "KVEDIT_LMCACHE is 'yes'" in caplog.text


def test_the_plugin_imports_nothing_heavy_and_is_quick():
    code = ("import time; begin = time.process_time(); "
            "from kvedit.integrations.lmcache import plugin; plugin(); "
            "took = time.process_time() - begin; import sys; "
            "print(took, *{'torch', 'numpy', 'vllm', 'lmcache'} & set(sys.modules))")  # fmt: skip
    environment = {"PYTHONPATH": str(PACKAGE.parent), "KVEDIT_LMCACHE": "1"}
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           check=True, env=environment).stdout.split() for _ in range(5)]  # fmt: skip
    assert all(len(run) == 1 for run in runs)
    assert min(float(run[0]) for run in runs) < 0.05


def test_vllm_finds_the_plugin():
    project = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())
    (entry,) = project["project"]["entry-points"]["vllm.general_plugins"].values()
    module, name = entry.split(":")
    assert getattr(importlib.import_module(module), name) is lmcache.plugin


def test_the_log_line_is_theirs(theirs, caplog):
    caplog.set_level(logging.INFO, logger="lmcache.theirs")
    lmcache.install()
    config, caches, hints = live(GIVEN["qwen3.5-0.8b-flashinfer-nhd"].facts)
    edits().apply_kv_cache_group_edits(config, caches, hints)
    (record,) = [each for each in caplog.records if "KV cache group edits applied" in each.message]
    assert record.name == "lmcache.theirs"
    assert record.args == {"mamba-unified-view": 18, "subpaged-attention-view": 6}
    caplog.clear()
    config, caches, hints = live(GIVEN["llama-3.1-8b-block16-nhd"].facts)
    edits().apply_kv_cache_group_edits(config, caches, hints)
    assert "KV cache group edits applied: none" in caplog.text
