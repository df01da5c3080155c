"""One model as vLLM 0.25 to 0.33 would register it: other fields, other tensors, the same blocks.

The field sets are those that the captured registrations of each version show (tests/registrations,
`live-*`); 0.29 and 0.31 were not captured and stand as their neighbours, 0.33 has a field nobody
knows yet.
"""

import dataclasses
import json
import sys
from types import SimpleNamespace

import pytest

import kvedit
import standins
from conftest import GIVEN
from kvedit.integrations import lmcache

BLOCKS, TOKENS, KERNEL = 6, 256, 32
PAGE, STATES = 131072, 67840  # bytes; 3 x 384 bfloat16 and 4 x 64 x 64 float32
LATENT = 576

OF_ALL = {
    "block_size": TOKENS, "page_size_bytes": PAGE,
}  # fmt: skip
ATTENTION = OF_ALL | {
    "num_kv_heads": 2, "head_size": 64, "head_size_v": 64, "dtype": "bfloat16",
    "kv_quant_mode": "none", "non_causal": False, "real_page_size_bytes": PAGE,
}  # fmt: skip
MAMBA = OF_ALL | {
    "shapes": [[3, 384], [4, 64, 64]], "dtypes": ["bfloat16", "float32"], "page_size_padded": PAGE,
    "mamba_type": "mamba2", "mamba_cache_mode": "align", "num_speculative_blocks": 0,
}  # fmt: skip
UNTIL_28 = {"storage_block_size": TOKENS}
FROM_30 = {"num_states": TOKENS, "tokens_per_state": 1, "has_layer_views": True,
           "prefix_cacheable": True, "uses_slot_mapping": True, "num_heads": 2,
           "state_content_size_bytes": 256, "unpadded_page_size_bytes": PAGE}  # fmt: skip
FROM_32 = FROM_30 | {"dcp_sharded": True, "block_stride_alignment": {"multiple_of": 256},
                     "prefix_replay_tokens": 0}  # fmt: skip
STATE_FROM_30 = {"num_states": 1, "tokens_per_state": -1, "num_heads": 1, "tp_replicated": False,
                 "num_prefill_checkpoint_blocks": 0, "state_content_size_bytes": STATES,
                 "real_page_size_bytes": STATES, "has_layer_views": True,
                 "prefix_cacheable": True}  # fmt: skip
STATE_FROM_32 = STATE_FROM_30 | {"dcp_sharded": False, "prefix_replay_tokens": 0,
                                 "prefill_checkpoint_alignment": None}  # fmt: skip


@dataclasses.dataclass
class Version:
    """How a version says it: fields of attention, of states, and of a latent with four tokens a
    state; what is registered for each; how they are placed."""

    attention: dict
    states: dict
    compressed: dict
    rank: int
    row: str  # "list", "page" or "tight"
    placed: str  # "", "shared_by" or "layers"


OLD = UNTIL_28 | {"indexes_kv_by_block_stride": True}
PACKED = OLD | {"unpadded_page_size_bytes": PAGE}
CELLS = PACKED | {"num_heads": 2, "state_content_size_bytes": 256}
RATIO = {"compress_ratio": 4}
COUNTED = {"num_states": TOKENS // 4, "tokens_per_state": 4}
VERSIONS = {
    "0.25": Version(OLD, UNTIL_28, RATIO, 5, "list", ""),
    "0.26": Version(PACKED, UNTIL_28, RATIO, 4, "list", ""),
    "0.27": Version(PACKED, UNTIL_28, RATIO, 4, "page", "shared_by"),
    "0.28": Version(CELLS, UNTIL_28, RATIO, 4, "page", "shared_by"),
    "0.29": Version(CELLS, UNTIL_28, RATIO | {"prefix_cacheable": True}, 4, "tight", "shared_by"),
    "0.30": Version(FROM_30, STATE_FROM_30, COUNTED, 4, "tight", "layers"),
    "0.31": Version(FROM_30, STATE_FROM_30, COUNTED, 4, "tight", "layers"),
    "0.32": Version(FROM_32, STATE_FROM_32, COUNTED, 4, "tight", "layers"),
    "0.33": Version(FROM_32 | {"not_known_yet": 7}, STATE_FROM_32, COUNTED, 4, "tight", "layers"),
}


@pytest.fixture(params=VERSIONS)
def version(request, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", standins.fake_torch())
    return VERSIONS[request.param]


def spec(name, bases, fields):
    """A frozen dataclass with exactly these fields, as the engine's own are."""
    base = standins.spec_class(bases[0], bases[1:])
    made = dataclasses.make_dataclass(name, list(fields), bases=(base,), frozen=True)
    values = {each: standins.spec_value(each, value) for each, value in fields.items()}
    return made(**values)


def contiguous(storage, dtype, shape, stride=None, offset=0):
    steps = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        steps[axis - 1] = steps[axis] * shape[axis]
    return standins.Tensor(storage, dtype, shape, tuple(stride or steps), offset)


def attention_tensor(version, storage):
    k = TOKENS // KERNEL
    shape = (BLOCKS * k, 2, KERNEL, 128) if version.rank == 4 else (BLOCKS * k, 2, KERNEL, 2, 64)
    return contiguous(storage, "bfloat16", shape)


def states_tensor(version, storage):
    if version.row == "list":
        convolution, state = (BLOCKS, 3, 384), (BLOCKS, 4, 64, 64)
        return [contiguous(storage, "bfloat16", convolution, (PAGE // 2, 384, 1)),
                contiguous(storage, "float32", state, (PAGE // 4, 4096, 64, 1), 576)]  # fmt: skip
    row = PAGE if version.row == "page" else STATES
    return contiguous(storage, "int8", (BLOCKS, 1, 1, row), (PAGE, row, row, 1))


def latent_page(version):
    return TOKENS // 4 * LATENT * 2


def latent_tensor(version, storage):
    """Two kernel pages of 32 states a block; rank 3 until 0.27."""
    states = (32,) if version.row == "list" else (1, 32)
    return contiguous(storage, "bfloat16", (BLOCKS * 2, *states, LATENT))


def placements(version, sizes):
    if not version.placed:
        return [SimpleNamespace(size=size * BLOCKS, shared_by=[name]) for name, size in sizes]
    if version.placed == "shared_by":
        return [SimpleNamespace(size=size * BLOCKS, shared_by=[name], offset=0, block_stride=size)
                for name, size in sizes]  # fmt: skip
    return [SimpleNamespace(size=size * BLOCKS, layers=[name], layer_stride=size * BLOCKS,
                            block_stride=size, offset=0, host_resident=False)
            for name, size in sizes]  # fmt: skip


def model(version):
    """Config and caches: attention in kernel pages, states, a compressed latent."""
    latent = latent_page(version)
    sizes = [("attn", PAGE), ("states", PAGE), ("latent", latent)]
    storages = {name: standins.Storage(size * BLOCKS, "cuda:0") for name, size in sizes}
    caches = {"attn": attention_tensor(version, storages["attn"]),
              "states": states_tensor(version, storages["states"]),
              "latent": latent_tensor(version, storages["latent"])}  # fmt: skip
    rest = {name: value for name, value in version.attention.items()
            if name not in ("num_states", "tokens_per_state")}  # fmt: skip
    compressed = ATTENTION | rest | version.compressed | {
        "head_size": LATENT, "head_size_v": 0, "num_kv_heads": 1, "page_size_bytes": latent,
        "real_page_size_bytes": latent,
    }  # fmt: skip
    for name, value in (("unpadded_page_size_bytes", latent), ("num_heads", 1),
                        ("state_content_size_bytes", LATENT * 2)):  # fmt: skip
        if name in compressed:
            compressed[name] = value
    specs = {
        "attn": spec("FullAttentionSpec", ["AttentionSpec", "KVCacheSpec"],
                     ATTENTION | version.attention),
        "states": spec("MambaSpec", ["KVCacheSpec"], MAMBA | version.states),
        "latent": spec("MLAAttentionSpec", ["FullAttentionSpec", "AttentionSpec", "KVCacheSpec"],
                       compressed),
    }  # fmt: skip
    config = SimpleNamespace(
        num_blocks=BLOCKS, kv_cache_tensors=placements(version, sizes),
        kv_cache_groups=[
            SimpleNamespace(layer_names=[name], kv_cache_spec=each, is_eagle_group=False)
            for name, each in specs.items()])  # fmt: skip
    return config, caches


def test_a_block_owns_the_same_bytes(version):
    config, caches = model(version)
    registration = kvedit.Registration.from_vllm(config, caches, layout="HND")
    result = kvedit.Host().edit(registration)
    result.raise_for_problems()
    wanted = {"attn": (PAGE, PAGE, 8, TOKENS), "states": (STATES, PAGE, 1, TOKENS),
              "latent": (latent_page(version), latent_page(version), 2, TOKENS // 4)}  # fmt: skip
    for name, (size, step, kernel_pages, slots) in wanted.items():
        pages = result.pages[name]
        (part,) = pages.parts
        assert (part.block_stride, part.ranges) == (step, ((0, size),))
        assert (pages.kernel_pages, pages.tokens, pages.blocks) == (kernel_pages, TOKENS, BLOCKS)
        assert pages.slots == slots


def test_the_drop_in_gives_views_of_whole_blocks(version):
    config, caches = model(version)
    views = lmcache.apply_kv_cache_group_edits(config, caches, {"kv_layout": "HND"})
    assert (views["attn"].shape, views["attn"].stride()) == (
        (BLOCKS, 1, TOKENS, 256), (65536, 65536, 256, 1),
    )  # fmt: skip
    shape = {"list": (BLOCKS, 1, TOKENS, 256), "page": (BLOCKS, 1, TOKENS, 512),
             "tight": (BLOCKS, 1, TOKENS, 272)}[version.row]  # fmt: skip
    assert views["states"].shape == shape
    assert views["states"].stride()[0] * views["states"].element_size() == PAGE
    rows = TOKENS // 4
    latent = (BLOCKS, rows, LATENT) if version.row == "list" else (BLOCKS, 1, rows, LATENT)
    assert views["latent"].shape == latent
    lmcache.validate_kv_cache_groups(config)


def test_what_needs_no_edit_is_the_object_itself(version):
    """Whole blocks, a cache that is shared, one of no group: in every version."""
    config, caches = model(version)
    shape = (BLOCKS, 2, TOKENS, 128)
    caches["attn"] = contiguous(caches["attn"].storage, "bfloat16", shape)
    caches["shares"] = contiguous(caches["attn"].storage, "bfloat16", shape)
    caches["of no group"] = contiguous(standins.Storage(64, "cuda:0"), "int8", (64,))
    views = lmcache.apply_kv_cache_group_edits(config, caches, {"kv_layout": "HND"})
    assert list(views) == list(caches)
    for name in ("attn", "shares", "of no group"):
        assert views[name] is caches[name]


def test_a_group_that_is_not_transferred_is_refused_by_name(version):
    """LMCache knows neither flag; only versions that have them can say so."""
    for flag, value in (("enable_kv_transfer", False), ("host_resident", True)):
        config, caches = model(version)
        setattr(config.kv_cache_groups[0], flag, value)
        config.hisparse_host_num_blocks = BLOCKS
        with pytest.raises(ValueError, match=flag):
            lmcache.apply_kv_cache_group_edits(config, caches, {"kv_layout": "HND"})


def test_the_field_sets_are_those_of_captured_registrations():
    """But for a few that decide nothing here."""
    added = {"not_known_yet", "page_size_padded", "prefill_checkpoint_alignment",
             "block_stride_alignment", "block_table_token_alignment", "uses_slot_mapping",
             "prefix_replay_tokens"}  # fmt: skip
    seen = {}
    for name, given in GIVEN.items():
        if name.startswith("live-"):
            minor = ".".join(given.facts["engine"]["version"].split(".")[:2])
            for group in given.facts["groups"]:
                each = group["spec"]
                if each["type"] in ("FullAttentionSpec", "MambaSpec"):
                    seen.setdefault((minor, each["type"]), set()).update(each)
    for (minor, kind), fields in seen.items():
        of = VERSIONS[minor]
        ours = ATTENTION | of.attention if kind == "FullAttentionSpec" else MAMBA | of.states
        assert set(ours) ^ (fields - {"type", "bases", "kind"}) <= added, (minor, kind)
    assert {minor for minor, _ in seen} == {"0.25", "0.26", "0.27", "0.28", "0.30", "0.32"}


def test_what_nobody_knows_yet_is_kept():
    config, caches = model(VERSIONS["0.33"])
    facts = json.loads(kvedit.Registration.from_vllm(config, caches).to_json())
    assert facts["groups"][0]["spec"]["not_known_yet"] == 7
