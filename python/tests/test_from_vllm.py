"""Registrations made from stand-ins of vLLM's objects: the same facts as in the files."""

import dataclasses
import json
import re
from enum import Enum
from types import SimpleNamespace

import pytest

import kvedit
import standins
from conftest import GIVEN
from kvedit.integrations.lmcache import apply_kv_cache_group_edits
from standins import small


def normal(facts):
    """Without what is only another way to say the same: order, defaults, names of storages."""
    facts = json.loads(json.dumps(facts))
    names = {}
    for cache in facts["caches"].values():
        for tensor in cache if isinstance(cache, list) else [cache]:
            tensor["storage"] = names.setdefault(tensor["storage"], f"s{len(names)}")
    facts["storages"] = {names[old]: each for old, each in facts["storages"].items() if old in names}
    for placement in facts.get("placements") or []:
        placement["storage"] = names[placement["storage"]]
    facts["placements"] = facts.get("placements") or []
    facts["backends"] = {layer: name for layer, name in (facts.get("backends") or {}).items()
                         if layer in facts["caches"] and "." in name}  # fmt: skip
    facts["parallel"] = {size: facts.get("parallel", {}).get(size, 1)
                         for size in ("tp", "pp", "dcp", "pcp", "cp_interleave")}  # fmt: skip
    facts.pop("kernel_block_sizes", None)
    facts.setdefault("model", "")
    for group in facts["groups"]:
        for flag, default in (("enable_kv_transfer", True), ("host_resident", False),
                              ("is_eagle_group", False)):  # fmt: skip
            group.setdefault(flag, default)
        if not group.get("layer_specs"):
            group.pop("layer_specs", None)
            group["spec"].pop("kind", None)
        if group["spec"].get("kind") == "unknown":
            group["spec"].pop("kind")
        for leaf in (group.get("layer_specs") or {}).values():
            leaf.pop("kind", None)
        if group.get("layer_specs"):
            group["layer_specs"] = {layer: spec for layer, spec in group["layer_specs"].items()
                                    if layer in group["layers"]}  # fmt: skip
    return facts


def rebuilt(given, old=False, **options):
    facts = given.facts
    caches = standins.caches_of(facts, standins.storages_of(facts))
    options.setdefault("layout", facts.get("layout"))
    options.setdefault("vllm_config", standins.vllm_config_object(facts))
    options.setdefault("engine_version", facts.get("engine", {}).get("version", ""))
    return kvedit.Registration.from_vllm(standins.config_object(facts, old), caches, **options)


@pytest.mark.parametrize("old", [False, True], ids=["placements", "shared_by"])
def test_the_same_facts_and_the_same_report(host, given, old):
    registration = rebuilt(given, old)
    made, right = normal(json.loads(registration.to_json())), normal(given.facts)
    right["engine"] = {"name": "vllm", "version": given.facts.get("engine", {}).get("version", "")}
    for key in right:
        if key != "schema":
            assert made.get(key) == right[key], key
    report = host.edit(registration).report()
    reread = host.edit(kvedit.Registration.from_json(registration.to_json())).report()
    assert report == reread
    theirs = host.edit(kvedit.Registration.from_json(given.text)).report()
    assert [(g["kind"], g["outcome"], g["tokens_per_block"], g["block_bytes"])
            for g in report["groups"]] == [
        (g["kind"], g["outcome"], g["tokens_per_block"], g["block_bytes"])
        for g in theirs["groups"]]  # fmt: skip
    assert report["ok"] == theirs["ok"] and report["chunk_tokens"] == theirs["chunk_tokens"]
    assert [layer["outcome"] for layer in report["layers"]] == [
        layer["outcome"] for layer in theirs["layers"]
    ]


class KVCacheLayout(Enum):
    LBNHC = (0, 1, 3, 2, 4)


def test_the_layout_is_asked_of_the_config(qwen):
    facts = qwen.facts
    caches = standins.caches_of(facts, standins.storages_of(facts))
    config = standins.config_object(facts)
    make = kvedit.Registration.from_vllm
    assert make(config, caches).layout == ""
    assert make(config, caches, layout=KVCacheLayout.LBNHC).layout == "LBNHC"
    asked = SimpleNamespace(
        parallel_config=SimpleNamespace(tensor_parallel_size=1),
        cache_config=SimpleNamespace(get_resolved_kv_cache_layout=lambda: KVCacheLayout.LBNHC),
    )
    assert make(config, caches, vllm_config=asked).layout == "LBNHC"
    config.kv_cache_layout = "BLNHC"
    assert make(config, caches, vllm_config=asked).layout == "BLNHC"
    assert make(config, caches, layout="NHD").layout == "NHD"


@pytest.mark.parametrize(
    ("layout", "words"),
    [("NHWC", "'NHWC' is no known layout; known are LBHNC, LBNHC,"), ("", "'' is no known layout; known"),
     ("nhd", "'nhd' is no known layout; did you mean 'NHD'. known are"),
     (" LBnhc ", "' LBnhc ' is no known layout; did you mean 'LBNHC'."),
     (3, "a value of type int where a layout is wanted; known are"),
     (["NHD"], "a value of type list where a layout is wanted")],
)  # fmt: skip
def test_a_layout_is_named_as_the_user_knows_it(layout, words):
    config, caches = small()
    asked = SimpleNamespace(
        parallel_config=SimpleNamespace(tensor_parallel_size=1),
        cache_config=SimpleNamespace(get_resolved_kv_cache_layout=lambda: layout),
    )
    of_config = SimpleNamespace(**vars(config), kv_cache_layout=layout)
    resolved = "vllm_config.cache_config.get_resolved_kv_cache_layout()"
    make = kvedit.Registration.from_vllm
    for called, call in (
        ("layout", lambda: make(config, caches, layout=layout)),
        ("kv_cache_config.kv_cache_layout", lambda: make(of_config, caches)),
        (resolved, lambda: make(config, caches, vllm_config=asked)),
        ("layout_hints['kv_layout']",
         lambda: apply_kv_cache_group_edits(config, caches, {"kv_layout": layout})),
    ):  # fmt: skip
        if called == "layout" and not isinstance(layout, str):
            continue  # an argument of the wrong kind
        with pytest.raises(kvedit.Error) as raised:
            call()
        assert raised.value.where == called
        assert re.match(re.escape(called) + ": " + words, str(raised.value)), str(raised.value)


def test_unset_strides_of_old_versions_place_nothing():
    facts = GIVEN["live-v0251-nemotron-h"].facts
    config = standins.config_object(facts)
    config.kv_cache_tensors = [
        SimpleNamespace(size=1 << 30, shared_by=list(facts["caches"]), offset=0, block_stride=0),
        SimpleNamespace(size=1 << 30, shared_by=list(facts["caches"])),
    ]
    registration = kvedit.Registration.from_vllm(
        config, standins.caches_of(facts, standins.storages_of(facts)), layout="HND"
    )
    assert json.loads(registration.to_json())["placements"] == []


def test_the_smallest_config_that_can_be_read(host):
    config, caches = small()
    del config.kv_cache_tensors
    result = host.edit(kvedit.Registration.from_vllm(config, caches))
    assert result.ok and result.chunk_tokens == 16
    assert result.pages["a"].parts[0].ranges == ((0, 4096),)


def test_a_spec_of_another_package_counts_by_its_bases(host):
    config, caches = small()
    config.kv_cache_groups[0].kv_cache_spec.__class__ = standins.spec_class(
        "AcmeSlidingSpec", ["SlidingWindowSpec", "AttentionSpec", "KVCacheSpec"]
    )
    config.kv_cache_groups[0].kv_cache_spec.acme_planes = [1, (2, 3)]
    registration = kvedit.Registration.from_vllm(config, caches)
    assert host.edit(registration).groups[0].kind == "sliding_window"
    assert json.loads(registration.to_json())["groups"][0]["spec"]["acme_planes"] == [1, [2, 3]]


def without(name):
    def change(config, caches):
        delattr(config, name)

    return change


def with_spec(**fields):
    return lambda config, caches: config.kv_cache_groups[0].kv_cache_spec.__dict__.update(fields)


def without_spec(name):
    return lambda config, caches: config.kv_cache_groups[0].kv_cache_spec.__dict__.pop(name)


def with_tensor(**fields):
    return lambda config, caches: caches["a"].__dict__.update(fields)


def with_cache(value):
    return lambda config, caches: caches.update(a=value)


def with_group(**fields):
    return lambda config, caches: config.kv_cache_groups[0].__dict__.update(fields)


class Raises:
    @property
    def shape(self):
        raise NotImplementedError("no strides here")

    dtype = standins.dtype("int8")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (without("num_blocks"), "/num_blocks"),
        (lambda config, caches: setattr(config, "num_blocks", "4"), "/num_blocks"),
        (lambda config, caches: setattr(config, "num_blocks", 1 << 64), "/num_blocks"),
        (without_spec("block_size"), "/groups/0/spec/block_size"),
        (with_spec(page_size_bytes=4096.0), "/groups/0/spec/page_size_bytes"),
        (with_spec(page_size_bytes=1 << 70), "/groups/0/spec/page_size_bytes"),
        (with_spec(head_size=float("nan")), "/groups/0/spec/head_size"),
        (with_spec(tokens_per_state="four"), "/groups/0/spec/tokens_per_state"),
        (with_group(layer_names="a"), "/groups/0/layers"),
        (with_group(layer_names=[3]), "/groups/0/layers/0"),
        (with_group(layer_names=["\ud800"]), "/groups/0/layers/0"),
        (with_cache(None), "/caches/a"),
        (with_cache([None]), "/caches/a/0"),
        (with_cache([[]]), "/caches/a/0"),
        (with_cache(Raises()), "/caches/a"),
        (with_tensor(shape=("b",)), "/caches/a/shape"),
        (with_tensor(steps=(1 << 63, 1, 1, 1)), "/caches/a/stride"),
        (with_tensor(offset=(1 << 63) - 1), "/caches/a/storage_offset"),
        (lambda config, caches: setattr(config, "kv_cache_tensors", [
            SimpleNamespace(layers=["a"], layer_stride=0, block_stride="x", offset=0)]),
         "/placements/0/block_stride"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_carries_the_pointer(change, where):
    config, caches = small()
    change(config, caches)
    with pytest.raises(kvedit.Error) as raised:
        kvedit.Registration.from_vllm(config, caches)
    assert raised.value.where == where, str(raised.value)
    assert str(raised.value).startswith(where)


@pytest.mark.parametrize(
    "change",
    [
        with_tensor(shape=(4, -2, 16, 64)),
        with_tensor(steps=(2048, -1024, 64, 1)),
        with_tensor(shape=(0, 2, 16, 64)),
        with_tensor(offset=-1),
        with_tensor(shape=((1 << 62), 2, 16, 64)),
        with_spec(page_size_bytes=-1),
        with_cache([]),
        with_group(layer_names=["a", "a"]),
        lambda config, caches: setattr(config, "num_blocks", 0),
    ],
)
def test_what_means_nothing_is_a_problem_of_the_result(host, change):
    config, caches = small()
    change(config, caches)
    result = host.edit(kvedit.Registration.from_vllm(config, caches))
    assert not result.ok and result.problems


def test_a_wrapper_without_a_leaf_is_named():
    facts = GIVEN["deepseek-v3.2-blhnc"].facts
    config = standins.config_object(facts)
    group = config.kv_cache_groups[0]
    del group.kv_cache_spec.kv_cache_specs[group.layer_names[1]]
    with pytest.raises(kvedit.Error) as raised:
        kvedit.Registration.from_vllm(
            config, standins.caches_of(facts, standins.storages_of(facts))
        )
    assert raised.value.where == f"/groups/0/layer_specs/{group.layer_names[1]}"


def test_tensors_of_one_memory_share_a_storage():
    config, caches = small()
    storage = caches["a"].storage
    other = standins.Storage(storage.size, address=storage.address)  # another object, same bytes
    caches["b"] = standins.Tensor(other, "bfloat16", (4, 2, 16, 64), (2048, 1024, 64, 1))
    on_other_device = standins.Storage(storage.size, "cuda:0", storage.address)
    caches["c"] = standins.Tensor(on_other_device, "bfloat16", (4, 2, 16, 64), (2048, 1024, 64, 1))
    for name in "de":  # without memory: told apart by identity
        caches[name] = standins.Tensor(standins.Storage(16384, "meta:0", address=0), "bfloat16",
                                       (4, 2, 16, 64), (2048, 1024, 64, 1))  # fmt: skip
    facts = json.loads(kvedit.Registration.from_vllm(config, caches).to_json())
    assert [cache["storage"] for cache in facts["caches"].values()] == ["s0", "s0", "s1", "s2", "s3"]
    assert [each["device"] for each in facts["storages"].values()] == ["cpu", "cuda:0", "meta:0", "meta:0"]


@pytest.mark.parametrize("order", ["meta first", "memory first"])
def test_real_tensors_with_and_without_memory_are_read_alike(order):
    torch = pytest.importorskip("torch")

    def tensor(device):
        whole = torch.empty(5, 2, 16, 64, dtype=torch.bfloat16, device=device)
        return whole[1:, :, :, ::2]

    config, _ = small()
    devices = ["meta", "cpu", "meta"] if order == "meta first" else ["cpu", "meta", "cpu"]
    caches = {name: tensor(device) for name, device in zip("abc", devices)}
    facts = json.loads(kvedit.Registration.from_vllm(config, caches).to_json())
    for at, name in enumerate("abc"):
        found = dict(facts["caches"][name])
        storage = facts["storages"][found.pop("storage")]
        assert found == {"dtype": "bfloat16", "shape": [4, 2, 16, 32],
                         "stride": [2048, 1024, 64, 2], "storage_offset": 2048}  # fmt: skip
        assert storage == {"nbytes": 5 * 2048 * 2, "device": devices[at]}
    assert len(facts["storages"]) == 3


def test_the_core_takes_no_other_object_for_a_spec():
    from kvedit import _core

    group = (["a"], ("FullAttentionSpec", [], {}), {}, True, False, False, "", None)
    facts = ("vllm", "", "", "", 4, (1, 1, 1, 1, 1), [group], [], {}, [])
    with pytest.raises(kvedit.Error, match="/groups/0/spec: a value of type tuple"):
        _core.build_registration(facts)


def quantised(cache_dtype, frozen, **changes):
    """One layer of 8-bit elements that the engine registers as bytes."""
    config, _ = small(page_size_bytes=2048, dtype=standins.dtype("uint8"),
                      kv_quant_mode="fp8_per_tensor", **changes)  # fmt: skip
    if frozen:
        spec = config.kv_cache_groups[0].kv_cache_spec
        cls = dataclasses.make_dataclass("FullAttentionSpec", spec.__dict__, frozen=True)
        config.kv_cache_groups[0].kv_cache_spec = cls(**spec.__dict__)
    caches = {"a": standins.Tensor(standins.Storage(4 * 2048), "uint8", (4, 2, 16, 64),
                                   (2048, 1024, 64, 1))}  # fmt: skip
    engine = SimpleNamespace(
        parallel_config=SimpleNamespace(tensor_parallel_size=1),
        cache_config=SimpleNamespace(cache_dtype=cache_dtype),
    )
    return kvedit.Registration.from_vllm(config, caches, vllm_config=engine)


@pytest.mark.parametrize("frozen", [False, True])
def test_formats_of_eight_bits_have_the_name_that_the_engine_was_given(host, frozen):
    kinds = [quantised(name, frozen) for name in ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3")]
    specs = [json.loads(each.to_json())["groups"][0]["spec"] for each in kinds]
    assert [each["cache_dtype_str"] for each in specs] == ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3"]
    results = [host.edit(each) for each in kinds]
    for each in results:
        each.raise_for_problems()
    prints = [each.groups[0].fingerprint for each in results]
    assert prints[0] == prints[2] != prints[1]


def test_a_spec_that_names_its_format_is_believed():
    spec = json.loads(quantised("fp8", False, cache_dtype_str="fp8_ds_mla").to_json())
    assert spec["groups"][0]["spec"]["cache_dtype_str"] == "fp8_ds_mla"


def test_elements_of_a_plain_dtype_have_no_other_format(host):
    config, caches = small()
    engine = SimpleNamespace(
        parallel_config=SimpleNamespace(tensor_parallel_size=1),
        cache_config=SimpleNamespace(cache_dtype="bfloat16"),
    )
    told = kvedit.Registration.from_vllm(config, caches, vllm_config=engine)
    assert told.to_json() == kvedit.Registration.from_vllm(config, caches).to_json()


def test_specs_that_are_equal_in_part_only_are_read_each():
    def read(slot_size):
        config, caches = small()
        fields = config.kv_cache_groups[0].kv_cache_spec.__dict__
        kept = ("slot_size", int, dataclasses.field(default=0, compare=False))
        cls = dataclasses.make_dataclass("FullAttentionSpec", [*fields, kept], frozen=True)
        config.kv_cache_groups[0].kv_cache_spec = cls(**fields, slot_size=slot_size)
        registration = kvedit.Registration.from_vllm(config, caches)
        return json.loads(registration.to_json())["groups"][0]["spec"]["slot_size"]

    assert [read(size) for size in (1, 2)] == [1, 2]


@pytest.mark.parametrize("change", ["grows", "shrinks"])
def test_a_list_of_tensors_that_changes_while_it_is_read(host, change):
    config, caches = small()
    listed = [caches["a"]]

    class Restless(standins.Tensor):
        def storage_offset(self):
            if change == "grows":
                listed.extend([self] * 1000)
            else:
                listed.clear()
            return super().storage_offset()

    listed[0] = Restless(caches["a"].storage, "bfloat16", (4, 2, 16, 64), (2048, 1024, 64, 1))
    facts = json.loads(kvedit.Registration.from_vllm(config, {"a": listed}).to_json())
    assert len(facts["caches"]["a"]) == 1
    if change == "grows":
        listed[1:] = []
    else:
        listed.append(Restless(caches["a"].storage, "bfloat16", (4, 2, 16, 64), (2048, 1024, 64, 1)))
    pytest.importorskip("torch")
    with pytest.raises(kvedit.Error, match="layer a: its list of tensors changed"):
        host.edit_live(config, {"a": listed})


def test_an_unknown_dtype_keeps_its_size(host):
    standins.ITEMSIZE["float3_e1m1"] = 2
    config, caches = small()
    caches["a"].dtype = standins.dtype("float3_e1m1")
    registration = kvedit.Registration.from_vllm(config, caches)
    tensor = json.loads(registration.to_json())["caches"]["a"]
    assert (tensor["dtype"], tensor["itemsize"]) == ("float3_e1m1", 2)
    assert host.edit(registration).ok


def test_objects_of_no_meaning_are_left_out():
    config, caches = small(callback=print, handle=object(), nothing=None, _private=3,
                           names={"b", "a"}, table={1: standins.dtype("int8")})  # fmt: skip
    spec = json.loads(kvedit.Registration.from_vllm(config, caches).to_json())["groups"][0]["spec"]
    assert not {"callback", "handle", "nothing", "_private"} & set(spec)
    assert spec["names"] == ["a", "b"] and spec["table"] == {"1": "int8"}


def test_a_property_that_raises_is_left_out_when_it_may_be():
    class FullAttentionSpec:
        block_size, page_size_bytes = 16, 4096

        @property
        def num_states(self):
            raise AssertionError("not here")

    config, caches = small()
    config.kv_cache_groups[0].kv_cache_spec = FullAttentionSpec()
    spec = json.loads(kvedit.Registration.from_vllm(config, caches).to_json())["groups"][0]["spec"]
    assert spec["page_size_bytes"] == 4096 and "num_states" not in spec


def test_a_spec_whose_hash_raises_is_read():
    """A frozen dataclass hashes every field, also one that a stand-in does not have."""

    @dataclasses.dataclass(frozen=True)
    class FullAttentionSpec:
        block_size: int
        page_size_bytes: int
        head_size: int

    class Partly(FullAttentionSpec):
        def __getattribute__(self, name):
            if name == "head_size":
                raise AttributeError(name)
            return super().__getattribute__(name)

    config, caches = small()
    for made in (FullAttentionSpec, Partly):
        config.kv_cache_groups[0].kv_cache_spec = made(16, 4096, 64)
        registration = json.loads(kvedit.Registration.from_vllm(config, caches).to_json())
        spec = registration["groups"][0]["spec"]
        assert spec.get("head_size") == (64 if made is FullAttentionSpec else None)
        assert spec["page_size_bytes"] == 4096
