"""What the authors of LMCache's edits ask of them in their own tests, asked of kvedit's.

Four suites, each after one way to do the edits. They contradict each other, and LMCache's
detection, in places; what kvedit does there is said in the tests whose names begin with
`test_otherwise`, and in docs/lmcache.md. `maker` makes the objects; tests/interop runs all of it
with vLLM's own.
"""

import logging
import math
import sys

import numpy as np
import pytest

import kvedit
import standins
from kvedit.integrations import lmcache

BLOCK, KERNEL, K = 1600, 64, 25
ITEM = 2  # bytes of bfloat16


class StandIns:
    def install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", standins.fake_torch())

    def config(self, registration):
        return standins.config_object(registration)

    def caches(self, registration):
        return standins.caches_of(registration, standins.storages_of(registration))

    def storage(self, tensor):
        return tensor.storage

    def look_at(self, given, views, hints):
        """What LMCache makes of the views is seen where it is installed."""


@pytest.fixture
def maker(monkeypatch):
    made = StandIns()
    made.install(monkeypatch)
    return made


# --- registrations ---


def attention(page, block=BLOCK, heads=2, size=8, **more):
    return {"type": "FullAttentionSpec", "bases": ["AttentionSpec", "KVCacheSpec"],
            "block_size": block, "page_size_bytes": page, "num_kv_heads": heads, "head_size": size,
            "dtype": "bfloat16", **more}  # fmt: skip


def page_of(heads=2, size=8, block=BLOCK):
    return 2 * block * heads * size * ITEM


def latent(block, rows, width, dtype, states=None):
    item = 1 if dtype == "uint8" else ITEM
    ratio = block // (states or block)
    return {"type": "MLAAttentionSpec",
            "bases": ["FullAttentionSpec", "AttentionSpec", "KVCacheSpec"], "block_size": block,
            "page_size_bytes": rows * width * item, "num_kv_heads": 1, "head_size": width,
            "head_size_v": 0, "dtype": dtype, "num_states": states or block,
            "tokens_per_state": ratio}  # fmt: skip


def states(page, shapes, dtypes, block=BLOCK):
    return {"type": "MambaSpec", "bases": ["KVCacheSpec"], "block_size": block,
            "page_size_bytes": page, "page_size_padded": page, "shapes": shapes, "dtypes": dtypes,
            "mamba_cache_mode": "align"}  # fmt: skip


def contiguous(shape):
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def tensor(shape, stride=None, dtype="bfloat16", offset=0, storage="s"):
    return {"dtype": dtype, "shape": list(shape), "stride": list(stride or contiguous(shape)),
            "storage_offset": offset, "storage": storage}  # fmt: skip


def permuted(shape, order, dtype="bfloat16"):
    """Contiguous memory of that shape, its axes shown in another order."""
    stride = contiguous(shape)
    return tensor([shape[axis] for axis in order], [stride[axis] for axis in order], dtype)


def fused(blocks, heads=2, size=8, k=K):
    """Kernel pages of K beside V for each head, heads before tokens."""
    return tensor([blocks * k, heads, BLOCK // k, 2 * size])


def fused_tokens_first(blocks, heads=2, size=8, k=K):
    """The same shape over memory with tokens before heads."""
    return permuted([blocks * k, BLOCK // k, heads, 2 * size], (0, 2, 1, 3))


def split(blocks, heads=2, size=8, k=K):
    """Kernel pages of K, then V."""
    return tensor([blocks * k, 2, BLOCK // k, heads, size])


def registration(blocks, groups, caches, nbytes=1 << 30, version="0.26.0", placements=()):
    used = [each["storage"] for cache in caches.values()
            for each in (cache if isinstance(cache, list) else [cache])]  # fmt: skip
    return {"schema": "kvedit.registration/1", "engine": {"name": "vllm", "version": version},
            "num_blocks": blocks, "groups": [{"layers": list(layers), "spec": spec}
                                             for layers, spec in groups],
            "placements": list(placements),
            "storages": {name: {"nbytes": nbytes, "device": "cuda:0"} for name in used},
            "caches": caches}  # fmt: skip


def alone(blocks, given, spec=None):
    return registration(blocks, [("a", spec or attention(page_of()))], {"a": given})


def hybrid(blocks, attention_cache):
    """Four groups of states, each page whole, and one of attention."""
    page = page_of()
    spec = states(page, [[3, 64], [4, 8, 8]], ["bfloat16", "bfloat16"])
    caches = {"attn": attention_cache}
    for name in ("m0", "m1", "m2", "m3"):
        caches[name] = [
            tensor([blocks, 3, 64], [page // ITEM, 64, 1], storage=name),
            tensor([blocks, 4, 8, 8], [page // ITEM, 64, 8, 1], offset=192, storage=name),
        ]
    groups = [([name], spec) for name in ("m0", "m1", "m2", "m3")]
    return registration(blocks, [*groups, (["attn"], attention(page))], caches)


# --- what they get ---


def edited(maker, given, **hints):
    """Views of all layers, and what was registered."""
    caches = maker.caches(given)
    views = lmcache.apply_kv_cache_group_edits(maker.config(given), caches, hints)
    maker.look_at(given, views, hints)
    return views, caches


def layer(maker, given, **hints):
    views, caches = edited(maker, given, **hints)
    return views["a"], caches["a"]


def refused(maker, given, **hints):
    with pytest.raises(ValueError) as raised:
        edited(maker, given, **hints)
    return raised.value


# By what else the spec says of its page.
OTHER_BYTES = {"block-count", "not-tiled", "bad-geometry"}


def codes(error):
    """Of the reasons: what is warned of beside them is none."""
    return {each.code for each in error.problems if each.severity == "error"}


def elements(view):
    """Where each element lies, in the order in which the view is flattened."""
    places = np.full((1,), view.storage_offset(), dtype=np.int64)
    for extent, step in zip(view.shape, view.stride()):
        places = (places[:, None] + np.arange(extent, dtype=np.int64) * step).ravel()
    return places


def is_memory_order(view):
    return np.array_equal(elements(view), np.arange(math.prod(view.shape)))


def same_memory(maker, view, given):
    return maker.storage(view) == maker.storage(given) and (
        math.prod(view.shape) == math.prod(given.shape) and str(view.dtype) == str(given.dtype)
    )


def bytes_of_block(view):
    return math.prod(view.shape[1:]) * ITEM


BOTH = pytest.mark.parametrize("kernel_paged", [fused, split])
HINTS = pytest.mark.parametrize("hint", ["NHD", "HND"])


# --- A: without hints, a block is two halves ---


@BOTH
def test_a_block_comes_back_from_its_kernel_pages(maker, kernel_paged):
    view, given = layer(maker, alone(4, kernel_paged(4)))
    assert tuple(view.shape) == (4, 2, BLOCK, 1, 16)
    assert same_memory(maker, view, given) and is_memory_order(view)


@BOTH
def test_kernel_pages_of_a_block_are_consecutive(maker, kernel_paged):
    view, given = layer(maker, alone(4, kernel_paged(4)))
    for number in range(4):
        mine = elements(view).reshape(4, -1)[number]
        pages = elements(given).reshape(4 * K, -1)[number * K : (number + 1) * K]
        assert np.array_equal(np.sort(mine), np.sort(pages.ravel()))


def test_whole_blocks_are_left_alone(maker):
    for given, hints in ((split(4, k=1), {}), (fused(4, k=1), {"kv_layout": "HND"}),
                         (fused_tokens_first(4, k=1), {})):  # fmt: skip
        view, registered = layer(maker, alone(4, given), **hints)
        assert view is registered


def test_permuted_kernel_pages_are_shown_in_memory_order(maker):
    view, given = layer(maker, alone(4, fused_tokens_first(4)))
    assert tuple(view.shape) == (4, 2, BLOCK, 1, 16)
    assert same_memory(maker, view, given) and is_memory_order(view)


@BOTH
def test_a_page_that_is_not_tiled_is_refused(maker, kernel_paged):
    doubled = attention(2 * page_of())
    error = refused(maker, alone(4, kernel_paged(4), doubled))
    assert codes(error) <= OTHER_BYTES and str(2 * page_of()) in str(error)


@pytest.mark.parametrize(
    "shape", [(4, BLOCK * 32), (4 * K, KERNEL, 32), (4, K, 2, 1, KERNEL, 8, 1, 2)]
)
def test_a_rank_nobody_knows_is_whole_blocks_or_refused(maker, shape):
    """Never a shape that LMCache knows nothing of, nor kernel pages."""
    try:
        view, _ = layer(maker, alone(4, tensor(shape)))
    except kvedit.Error as error:
        assert codes(error) <= {"profile", "granularity-mismatch", "not-tiled"}
        return
    assert view.shape[0] == 4 and len(view.shape) in (3, 4, 5) and is_memory_order(view)


def test_states_and_attention_of_a_hybrid_are_both_edited(maker, caplog):
    caplog.set_level(logging.INFO)
    views, caches = edited(maker, hybrid(4, fused(4)))
    for view in views.values():
        assert len(view.shape) == 5 and view.shape[0] == 4
        assert tuple(view.shape[2:4]) == (BLOCK, 1)
    (line,) = [each for each in caplog.records if "KV cache group edits applied" in each.msg]
    assert dict(line.args) == {"mamba-page-view": 4, "subpaged-attention-view": 1}
    assert views.keys() == caches.keys()


def test_a_hybrid_whose_backend_takes_whole_blocks_keeps_its_attention(maker):
    views, caches = edited(maker, hybrid(4, split(4, k=1)))
    assert views["attn"] is caches["attn"]
    assert all(views[name].shape[2] == BLOCK for name in ("m0", "m1", "m2", "m3"))


# --- B: hints, vLLM's own specs ---


def four_heads(given, page=None, **more):
    size = page_of(4, 128)
    return alone(3, given, attention(page or size, heads=4, size=128, **more))


def test_the_page_is_one_logical_block(maker):
    spec = maker.config(four_heads(split(3, 4, 128))).kv_cache_groups[0].kv_cache_spec
    assert spec.page_size_bytes == 2 * BLOCK * 4 * 128 * ITEM == 3276800


@HINTS
def test_kernel_pages_in_halves_under_a_hint(maker, hint):
    view, given = layer(maker, four_heads(split(3, 4, 128)), kv_layout=hint)
    assert (view.shape[0], view.shape[2]) == (3, BLOCK)
    assert same_memory(maker, view, given)


@HINTS
def test_packed_kernel_pages_under_a_hint(maker, hint):
    given = fused_tokens_first(3, 4, 128) if hint == "NHD" else fused(3, 4, 128)
    view, registered = layer(maker, four_heads(given), kv_layout=hint)
    assert bytes_of_block(view) == page_of(4, 128)
    assert same_memory(maker, view, registered) and is_memory_order(view)
    # As the released LMCache under NHD; under HND it would read the five axes as one slot.
    assert tuple(view.shape) == ((3, 2, BLOCK, 1, 512) if hint == "NHD" else (3, 1, BLOCK, 1024))


def test_packed_blocks_with_tokens_before_heads_are_left_alone(maker):
    """Its third axis has 4 entries, not 1600: an edit that asks that axis would fire."""
    given = tensor([3, BLOCK, 4, 256])
    view, registered = layer(maker, four_heads(given), kv_layout="NHD")
    assert view is registered


def test_a_page_with_two_bytes_more_is_refused(maker):
    error = refused(maker, four_heads(fused(3, 4, 128), page_of(4, 128) + 2), kv_layout="HND")
    assert codes(error) <= OTHER_BYTES and str(page_of(4, 128) + 2) in str(error)


def test_a_hint_that_names_no_layout_is_refused(maker):
    for hint in ("none", "NDH", ""):
        error = refused(maker, four_heads(fused(3, 4, 128)), kv_layout=hint)
        assert repr(hint) in str(error) and "known are" in str(error)


@HINTS
def test_dense_blocks_without_states_are_left_alone(maker, hint):
    given = fused_tokens_first(3, k=1) if hint == "NHD" else fused(3, k=1)
    view, registered = layer(maker, alone(3, given), kv_layout=hint)
    assert view is registered


def test_a_row_of_states_is_no_attention(maker):
    row, page = 203000, 204800
    spec = states(page, [[row]], ["int8"])
    given = tensor([3, 1, 1, row], [page, row, row, 1], "int8")
    view, _ = layer(maker, alone(3, given, spec), kv_layout="NHD")
    assert (tuple(view.shape), view.stride()) == ((3, BLOCK, 1, 128), (page, 128, 128, 1))


# --- C: shaped after the hint; two blocks ---


@HINTS
@pytest.mark.parametrize("heads", [1, 2, 32])
def test_kernel_pages_of_two_blocks_take_the_shape_of_the_hint(maker, hint, heads):
    """Five axes of two blocks would be read as K and V."""
    given = fused_tokens_first(2, heads) if hint == "NHD" else fused(2, heads)
    facts = alone(2, given, attention(page_of(heads), heads=heads))
    view, registered = layer(maker, facts, kv_layout=hint)
    width = 16 * heads
    assert tuple(view.shape) == ((2, BLOCK, 1, width) if hint == "NHD" else (2, 1, BLOCK, width))
    assert same_memory(maker, view, registered) and is_memory_order(view)


def test_kernel_pages_shaped_as_they_lie_are_taken(maker):
    given = tensor([2 * K, KERNEL, 2, 16])
    view, registered = layer(maker, alone(2, given), kv_layout="NHD")
    assert tuple(view.shape) == (2, BLOCK, 1, 32)
    assert same_memory(maker, view, registered) and is_memory_order(view)


@HINTS
@pytest.mark.parametrize("heads", [2, 32])
def test_a_doubled_page_is_refused_whatever_the_heads(maker, hint, heads):
    facts = alone(2, fused(2, heads), attention(2 * page_of(heads), heads=heads))
    error = refused(maker, facts, kv_layout=hint)
    assert codes(error) <= OTHER_BYTES and str(2 * page_of(heads)) in str(error)


def test_content_that_the_spec_declares_wider_is_refused(maker):
    """64 bytes a state and head where the tensor has 32."""
    spec = attention(2 * page_of(), num_heads=2, state_content_size_bytes=64, num_states=BLOCK)
    error = refused(maker, alone(2, fused(2), spec), kv_layout="HND")
    assert codes(error) <= OTHER_BYTES and str(2 * page_of()) in str(error)


@HINTS
def test_kernel_pages_with_others_between_are_refused(maker, hint):
    """Every second page of a larger pool."""
    page = 2 * KERNEL * 16
    given = tensor([2 * K, 2, KERNEL, 16], [2 * page, KERNEL * 16, 16, 1])
    error = refused(maker, alone(2, given), kv_layout=hint)
    assert codes(error) <= {"profile", "granularity-mismatch", "not-tiled", "outside-page"}


def test_the_rule_is_named_in_the_log(maker, caplog):
    caplog.set_level(logging.INFO)
    edited(maker, alone(2, fused(2)), kv_layout="HND")
    (line,) = [each for each in caplog.records if "KV cache group edits applied" in each.msg]
    assert dict(line.args) == {"subpaged-attention-view": 1}


# --- D: latents and indexers ---


LATENT = latent(1152, 1152, 512, "bfloat16")
INDEXER = latent(1152, 288, 132, "uint8", states=288)


def wrapped(caches):
    """A latent and its indexer as leaves of one group."""
    made = registration(2, [(caches, None)], caches)
    leaves = {name: LATENT if name == "mla" else INDEXER for name in caches}
    made["groups"][0]["layer_specs"] = leaves
    made["groups"][0]["spec"] = {
        "type": "UniformTypeKVCacheSpecs", "bases": ["KVCacheSpec"], "block_size": 1152,
        "page_size_bytes": sum(leaf["page_size_bytes"] for leaf in leaves.values()),
    }  # fmt: skip
    return made


def test_latent_kernel_pages_become_blocks_and_keep_their_rank(maker):
    given = tensor([36, 1, 64, 512])
    view, registered = layer(maker, alone(2, given, LATENT))
    assert tuple(view.shape) == (2, 1, 1152, 512)
    assert same_memory(maker, view, registered) and is_memory_order(view)


def test_an_indexer_keeps_its_compression(maker):
    given = tensor([18, 1, 32, 132], dtype="uint8")
    view, _ = layer(maker, alone(2, given, INDEXER))
    assert tuple(view.shape) == (2, 1, 288, 132) and is_memory_order(view)


def test_leaves_of_a_wrapper_are_edited_one_by_one(maker):
    views, _ = edited(maker, wrapped({
        "mla": tensor([36, 1, 64, 512], storage="s0"),
        "indexer": tensor([18, 1, 32, 132], dtype="uint8", storage="s1")}))  # fmt: skip
    assert tuple(views["mla"].shape) == (2, 1, 1152, 512)
    assert tuple(views["indexer"].shape) == (2, 1, 288, 132)


def test_latents_of_whole_blocks_are_left_alone(maker):
    given = wrapped({"mla": tensor([2, 1, 1152, 512], storage="s0"),
                     "indexer": tensor([2, 1, 288, 132], dtype="uint8", storage="s1")})  # fmt: skip
    views, caches = edited(maker, given, kv_layout="HND")
    assert all(views[name] is caches[name] for name in caches)


def test_latent_kernel_pages_of_other_bytes_are_refused(maker):
    error = refused(maker, alone(2, tensor([36, 1, 64, 500]), LATENT))
    assert codes(error) & {"not-tiled", "block-count", "granularity-mismatch"}


# --- where kvedit does otherwise ---


def test_otherwise_heads_before_tokens_without_a_hint(maker):
    """A: left alone. LMCache takes the first axis for tokens then, and counts 2 slots of 1600."""
    view, given = layer(maker, alone(4, fused(4, k=1)))
    assert tuple(view.shape) == (4, BLOCK, 1, 32)
    assert same_memory(maker, view, given) and is_memory_order(view)


def test_otherwise_latents_before_tokens_without_a_hint(maker):
    """D: left alone. The axis of the one head is read as tokens then: its stride moves it."""
    view, given = layer(maker, alone(2, tensor([2, 1, 1152, 512]), LATENT))
    assert (tuple(view.shape), view.stride()) == ((2, 1, 1152, 512), (589824, 512, 512, 1))
    assert same_memory(maker, view, given)


def test_otherwise_permuted_kernel_pages_in_halves(maker):
    """A: refused as not contiguous. Each page is one run of bytes, whatever the order in it."""
    given = permuted([4 * K, 2, 2, KERNEL, 8], (0, 1, 3, 2, 4))
    view, registered = layer(maker, alone(4, given), kv_layout="HND")
    assert tuple(view.shape) == (4, 1, BLOCK, 32)
    assert same_memory(maker, view, registered) and is_memory_order(view)


@pytest.mark.parametrize("ratio", [2, 4])
def test_otherwise_kernel_pages_of_compressed_tokens(maker, ratio):
    """A, C: left alone, so that a kernel page is moved for a block. They make a block of fewer
    slots."""
    size = page_of() // ratio
    given = tensor([4 * K, 2, KERNEL // ratio, 16])
    spec = attention(size, tokens_per_state=ratio, num_states=BLOCK // ratio)
    view, registered = layer(maker, alone(4, given, spec), kv_layout="NHD")
    assert tuple(view.shape) == (4, 2, BLOCK // ratio, 1, 16)
    assert same_memory(maker, view, registered) and is_memory_order(view)


@HINTS
def test_otherwise_kernel_pages_of_a_model_without_states(maker, hint):
    """B, C: left alone, as every model without Mamba layers is."""
    given = fused_tokens_first(4) if hint == "NHD" else fused(4)
    view, registered = layer(maker, alone(4, given), kv_layout=hint)
    assert view is not registered and view.shape[2] == BLOCK


def test_otherwise_packed_kernel_pages_without_a_hint(maker):
    """C: refused. A: edited, as LMCache's detection has an order without a hint too."""
    view, _ = layer(maker, alone(4, fused(4)))
    assert tuple(view.shape) == (4, 2, BLOCK, 1, 16)


def test_otherwise_halves_of_two_blocks(maker):
    """C: five axes stay five. Two blocks are read as K and V then."""
    view, registered = layer(maker, alone(2, split(2)), kv_layout="NHD")
    assert tuple(view.shape) == (2, BLOCK, 1, 32)
    assert same_memory(maker, view, registered)


def test_otherwise_states_whose_pages_lie_apart(maker):
    """A: left alone, and refused for the list later. They are whole pages of a longer step."""
    page = page_of()
    given = [tensor([4, 3, 64], [page, 64, 1]), tensor([4, 4, 8, 8], [page, 64, 8, 1], offset=192)]
    spec = states(page, [[3, 64], [4, 8, 8]], ["bfloat16", "bfloat16"])
    facts = alone(4, given, spec)
    facts["placements"] = [{"storage": "s", "layers": ["a"], "offset": 0, "layer_stride": 0,
                            "block_stride": 2 * page}]  # fmt: skip
    view, _ = layer(maker, facts, kv_layout="NHD")
    assert (tuple(view.shape), view.stride()) == ((4, BLOCK, 1, 32), (page, 32, 32, 1))
