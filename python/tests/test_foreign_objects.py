"""Objects of others that are something else than documented, or raise while they are read: that is
said with its place, and nothing of theirs comes through raw."""

import json
import sys
from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest

import kvedit
import standins
from kvedit.integrations import lmcache
from standins import small


@pytest.fixture(autouse=True)
def fake_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", standins.fake_torch())


def placed(**changes):
    """As vLLM places layers since 0.30."""
    fields = {"layers": ["a"], "layer_stride": 0, "block_stride": 4096, "offset": 0}
    return SimpleNamespace(**{**fields, **changes})


def drop_in(config, caches):
    lmcache.apply_kv_cache_group_edits(config, caches, {"kv_layout": "HND"})


def without_tensors(config, caches):
    lmcache.validate_kv_cache_groups(config)


def from_vllm(config, caches):
    kvedit.Registration.from_vllm(config, caches)


def edit_live(config, caches):
    kvedit.Host().edit_live(config, caches)


READERS = [drop_in, without_tensors, from_vllm, edit_live]
CACHES = [drop_in, from_vllm, edit_live]


@pytest.mark.parametrize("hints", [3, "HND", ["HND"], [("kv_layout", "HND")], (), "", False])
def test_hints_that_are_no_mapping(hints):
    with pytest.raises(TypeError, match="^layout_hints: .* where a dict with kv_layout, or None"):
        lmcache.apply_kv_cache_group_edits(*small(), hints)


@pytest.mark.parametrize("hints", [None, {}, {"kv_layout": None}, {"tp_size": 2}])
def test_hints_that_say_nothing(hints):
    config, caches = small()
    assert list(lmcache.apply_kv_cache_group_edits(config, caches, hints)) == ["a"]


@pytest.mark.parametrize("caches", [None, [], [1], 3, "ab", ()])
@pytest.mark.parametrize("config", [None, small()[0]], ids=["no config", "config"])
def test_caches_that_are_no_mapping(config, caches):
    with pytest.raises(TypeError, match="^kv_caches: .* where a dict of layer to tensors"):
        lmcache.apply_kv_cache_group_edits(config, caches, {})
    result = kvedit.Host().edit(kvedit.Registration.from_vllm(*small()))
    for call in (result.views, result.bases):
        with pytest.raises(TypeError, match="^kv_caches: .* where a dict of layer to tensors"):
            call(caches)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("config", "words"),
    [(SimpleNamespace(kv_cache_groups=None), "/groups: None where a list of groups"),
     (SimpleNamespace(kv_cache_groups=3), "/groups: a value of type int where a list of groups"),
     (SimpleNamespace(kv_cache_groups=[None], num_blocks=4), "/groups/0/layers: None does not"),
     (SimpleNamespace(kv_cache_groups=[3], num_blocks=4),
      "/groups/0/layers: a value of type int does not give layer_names")],
)  # fmt: skip
def test_what_is_no_config(read, config, words):
    with pytest.raises(kvedit.Error, match="^" + words):
        read(config, small()[1])


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("config", [3, SimpleNamespace(), "config"])
def test_what_has_no_groups(read, config):
    words = "^kv_cache_config: a value of type .* without kv_cache_groups where vLLM's KVCacheConfig"
    with pytest.raises(TypeError, match=words):
        read(config, small()[1])


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("names", [None, 3, "a", b"a", {"a": 1}, {"a"}, object()])
def test_names_of_layers_that_are_no_list(read, names):
    config, caches = small()
    config.kv_cache_groups[0].layer_names = names
    with pytest.raises(kvedit.Error, match="^/groups/0/layers: .* where a list of str is wanted"):
        read(config, caches)


def test_names_of_layers_that_can_be_read_once():
    config, caches = small()
    spec = config.kv_cache_groups[0].kv_cache_spec
    spec.kv_cache_specs = {"a": small()[0].kv_cache_groups[0].kv_cache_spec}
    config.kv_cache_groups[0].layer_names = iter(["a"])
    result = kvedit.Host().edit(kvedit.Registration.from_vllm(config, caches))
    assert result.ok and list(result.layers) == ["a"]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("specs", [3, "a", [], ["a"]])
def test_specs_of_a_wrapper_that_are_no_dict(read, specs):
    config, caches = small()
    config.kv_cache_groups[0].kv_cache_spec.kv_cache_specs = specs
    with pytest.raises(kvedit.Error, match="^/groups/0/layer_specs: .* where a dict of layer"):
        read(config, caches)


@pytest.mark.parametrize("read", CACHES)
@pytest.mark.parametrize(
    ("tensors", "words"),
    [(3, "/placements: a value of type int where a list .kv_cache_tensors. is wanted"),
     ("x", "/placements: a value of type str where a list"),
     ("", "/placements: a value of type str where a list"),
     (0, "/placements: a value of type int where a list"),
     ({}, "/placements: a value of type dict where a list"),
     ([None], "/placements/0: None without layers and without shared_by where vLLM's KVCacheTensor"),
     (["x"], "/placements/0: a value of type str without layers"),
     ([SimpleNamespace(block_stride=4096)], "/placements/0: a value of type SimpleNamespace without"),
     ([placed(layers=3)], "/placements/0/layers: a value of type int"),
     ([placed(layers="am")], "/placements/0/layers: a value of type str"),
     ([placed(layers=None)], "/placements/0/layers: None where a list of str"),
     ([placed(layers={"a"})], "/placements/0/layers: a value of type set where a list of str"),
     ([placed(), placed(layers=[3])], "/placements/1/layers/0: a value of type int"),
     ([placed(block_stride=None)], "/placements/0/block_stride: None where an int"),
     ([placed(block_stride="4096")], "/placements/0/block_stride: a value of type str where an int"),
     ([placed(block_stride=0)], "/placements/0/block_stride: 0 .* all blocks of its layers"),
     ([placed(), placed(block_stride=False)], "/placements/1/block_stride: a value of type bool"),
     ([placed(layer_stride=None)], "/placements/0/layer_stride: None where an int"),
     ([SimpleNamespace(layers=["a"], layer_stride=0, offset=0)], "/placements/0/block_stride: a value"),
     ([SimpleNamespace(layers=["a"], block_stride=4096, offset=0)], "/placements/0/layer_stride: a val"),
     ([SimpleNamespace(block_stride=4096, shared_by=None)], "/placements/0/layers: None where"),
     ([SimpleNamespace(block_stride=0, shared_by="am")], "/placements/0/layers: a value of type str"),
     ([SimpleNamespace(shared_by=None)], "/placements/0/layers: None where"),
     ([SimpleNamespace(shared_by=["a"]), SimpleNamespace(shared_by=["a"], block_stride="x")],
      "/placements/1/block_stride: a value of type str")],
)  # fmt: skip
def test_placements_that_are_none(read, tensors, words):
    """Each is numbered as in `kv_cache_tensors`, also behind those that place nothing."""
    config, caches = small()
    config.kv_cache_tensors = tensors
    with pytest.raises(kvedit.Error, match="^" + words) as raised:
        read(config, caches)
    assert words.startswith(raised.value.where + ":")


@pytest.mark.parametrize("tensors", [None, [], ()])
def test_no_placements_at_all(tensors):
    config, caches = small()
    config.kv_cache_tensors = tensors
    assert "placements" in kvedit.Registration.from_vllm(config, caches).to_json()


ERRORS = [RuntimeError("boom"), NotImplementedError("boom"), KeyError("boom"), TypeError("boom"),
          ValueError("boom"), AssertionError("boom")]  # fmt: skip


def raising(thing, name, error):
    """A copy with an attribute that raises."""

    def get(self):
        raise error

    made = type(type(thing).__name__, (type(thing),), {name: property(get)})
    copy = made.__new__(made)
    copy.__dict__.update({key: value for key, value in vars(thing).items() if key != name})
    return copy


def config_that_raises(name, error):
    config, caches = small()
    return raising(config, name, error), caches


def group_that_raises(name, error):
    config, caches = small()
    config.kv_cache_groups = [raising(config.kv_cache_groups[0], name, error)]
    return config, caches


def spec_that_raises(name, error):
    config, caches = small()
    group = config.kv_cache_groups[0]
    group.kv_cache_spec = raising(group.kv_cache_spec, name, error)
    return config, caches


def placement_that_raises(name, error):
    config, caches = small()
    fields = {"layers": ["a"], "layer_stride": 0, "block_stride": 4096, "offset": 0}
    placement = SimpleNamespace(**fields)
    config.kv_cache_tensors = [placement, raising(placement, name, error)]
    return config, caches


def tensor_that_raises(name, error):
    config, caches = small()
    return config, {"a": raising(caches["a"], name, error)}


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    ("make", "name", "where"),
    [(config_that_raises, "kv_cache_groups", "kv_cache_config: a value of type SimpleNamespace"),
     (config_that_raises, "num_blocks", "kv_cache_config: a value"),
     (config_that_raises, "kv_cache_tensors", "kv_cache_config: a value"),
     *((group_that_raises, name, "/groups/0: a value") for name in
       ("layer_names", "kv_cache_spec", "host_resident", "enable_kv_transfer", "is_eagle_group",
        "role", "num_blocks")),
     (spec_that_raises, "kv_cache_specs", "/groups/0: a value"),
     (spec_that_raises, "block_size", "/groups/0/spec/block_size: FullAttentionSpec"),
     *((placement_that_raises, name, "/placements/1: a value") for name in
       ("layers", "layer_stride", "block_stride", "offset")),
     *((tensor_that_raises, name, "/caches/a: a value of type Tensor") for name in
       ("dtype", "shape", "stride", "storage_offset", "data_ptr", "get_device", "untyped_storage",
        "device"))],
)  # fmt: skip
def test_what_an_attribute_raises_is_said_with_where_it_was(make, name, where, error):
    for read in CACHES if make is tensor_that_raises else READERS:
        config, caches = make(name, error)
        with pytest.raises(kvedit.Error, match="^" + where) as raised:
            read(config, caches)
        assert "boom" in str(raised.value)


class Unreadable(Mapping):
    def __getitem__(self, name):
        raise RuntimeError("boom")

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1


def test_a_mapping_that_raises():
    for read in CACHES:
        with pytest.raises(kvedit.Error, match="^kv_caches: a value of type Unreadable raises"):
            read(small()[0], Unreadable())
    with pytest.raises(kvedit.Error, match="^kv_caches: .* raises"):
        lmcache.apply_kv_cache_group_edits(None, Unreadable(), {})
    with pytest.raises(kvedit.Error, match="^layout_hints: .* raises"):
        lmcache.apply_kv_cache_group_edits(*small(), Unreadable())
    result = kvedit.Host().edit(kvedit.Registration.from_vllm(*small()))
    for call in (result.views, result.bases):
        with pytest.raises(kvedit.Error, match="^kv_caches: .* raises .*boom"):
            call(Unreadable())
    with pytest.raises(kvedit.Error, match="^bases: .* raises .*boom"):
        result.address_map("a", Unreadable())


def engine(**configs):
    """The least that can be told of one."""
    return SimpleNamespace(**{"parallel_config": SimpleNamespace(tensor_parallel_size=1), **configs})


class Raises:
    def __getattr__(self, name):
        raise RuntimeError(f"boom: {name}")


@pytest.mark.parametrize(
    "config",
    [Raises(), engine(model_config=Raises()), engine(cache_config=Raises()),
     engine(parallel_config=Raises()), engine(compilation_config=Raises()),
     engine(compilation_config=SimpleNamespace(static_forward_context={"a": Raises()})),
     engine(compilation_config=SimpleNamespace(static_forward_context=["a"])),
     engine(cache_config=SimpleNamespace(get_resolved_kv_cache_layout=lambda: 1 / 0))],
    ids=range(8),
)  # fmt: skip
def test_what_an_engine_s_config_raises(config):
    with pytest.raises(kvedit.Error, match="^vllm_config: a value of type .* raises"):
        kvedit.Registration.from_vllm(*small(), vllm_config=config)


@pytest.mark.parametrize("name", ["tensor", "pipeline", "decode_context", "prefill_context"])
@pytest.mark.parametrize("size", ["2", 2.0, True, [2], object()])
def test_sizes_that_are_no_numbers(name, size):
    """Taken for 1 they would give other blocks the same name."""
    config = engine()
    setattr(config.parallel_config, f"{name}_parallel_size", size)
    with pytest.raises(kvedit.Error, match=f"^vllm_config.parallel_config.{name}_parallel_size: a value"):
        kvedit.Registration.from_vllm(*small(), vllm_config=config)


def test_a_config_of_no_sizes():
    for wrong in (3, SimpleNamespace()):
        with pytest.raises(kvedit.Error, match="^vllm_config.parallel_config: .* without tensor_para"):
            kvedit.Registration.from_vllm(*small(), vllm_config=engine(parallel_config=wrong))
    with pytest.raises(TypeError, match="^vllm_config: .* without parallel_config where"):
        kvedit.Registration.from_vllm(*small(), vllm_config=engine(parallel_config=None))


def test_sizes_of_any_kind_of_number():
    config = engine()
    config.parallel_config.tensor_parallel_size = np.int64(2)
    config.parallel_config.cp_kv_cache_interleave_size = None
    config.parallel_config.dcp_kv_cache_interleave_size = 4
    made = json.loads(kvedit.Registration.from_vllm(*small(), vllm_config=config).to_json())
    assert (made["parallel"]["tp"], made["parallel"]["cp_interleave"]) == (2, 4)


def test_what_the_engine_s_parallel_state_raises(monkeypatch):
    state = SimpleNamespace(get_dcp_group=lambda: 1 / 0)
    monkeypatch.setitem(sys.modules, "vllm.distributed.parallel_state", state)
    with pytest.raises(kvedit.Error, match="^vllm's get_dcp_group.. of a worker: .* raises Zero"):
        drop_in(*small())


class Mute(Exception):
    def __repr__(self):
        raise self


def test_an_error_that_cannot_be_shown_is_named():
    with pytest.raises(kvedit.Error, match="^/groups/0: a value of type .* raises Mute "):
        from_vllm(*group_that_raises("role", Mute()))
