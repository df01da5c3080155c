"""The decision table of docs/fingerprint.md: pairs of registrations that must have equal layout
fingerprints, and pairs that must not. A name is the table's; `a` and `b` make the two sides."""

import copy

from registrations import LAYER, attention, recurrent

TOKENS_FIRST = "block token head content"
HEADS_FIRST = "block head token content"
SPLIT = "block kv token head content"
PLANES = "kv block token head content"
CPU = "vllm.v1.attention.backends.cpu_attn.CPUAttentionBackend"


def changed(document, *path, to):
    document = copy.deepcopy(document)
    at = document
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = to
    return document


def with_spec(**fields):
    return attention(spec=fields)


def groups_swapped(document):
    document = copy.deepcopy(document)
    document["groups"].reverse()
    return document


def two_groups():
    first, second = attention(), attention(layers=("model.layers.1.self_attn.attn",))
    for name, storage in second["storages"].items():
        first["storages"]["other " + name] = storage
    for name, cache in second["caches"].items():
        first["caches"][name] = {**cache, "storage": "other " + cache["storage"]}
    first["groups"] += second["groups"]
    first["backends"].update(second["backends"])
    return first


def with_scratch(prefix_cacheable=False):
    document = two_groups()
    document["groups"][1]["spec"]["prefix_cacheable"] = prefix_cacheable
    return document


def without_second_group():
    document = two_groups()
    document["groups"][1]["enable_kv_transfer"] = False
    return document


def empty_group_before():
    document = attention()
    document["groups"].insert(0, {"layers": [], "spec": document["groups"][0]["spec"]})
    return document


def latent(kernel=None, rank=4, **spec):
    """Kernel pages of a latent cache: one head, so that states always come first."""
    kernel, block, blocks = kernel or 16, 16, 5
    shape = [blocks * block // kernel, 1, kernel, 24]
    stride = [kernel * 24, kernel * 24, 24, 1]
    if rank == 3:
        del shape[1], stride[1]
    document = attention(heads=1)
    document["groups"][0]["spec"] = {
        "type": "MLAAttentionSpec", "bases": ["FullAttentionSpec"], "kind": "mla_attention",
        "block_size": block, "num_kv_heads": 1, "head_size": 24, "dtype": "bfloat16",
        "page_size_bytes": block * 24 * 2, **spec}
    document["caches"][LAYER] = {"dtype": "bfloat16", "shape": shape, "stride": stride,
                                 "storage_offset": 0, "storage": "s0"}
    return document


def indexer(kernel):
    """As latents, of bytes: values of a kernel page, then its scales."""
    document = latent(kernel, dtype="uint8", page_size_bytes=16 * 24)
    document["caches"][LAYER]["dtype"] = "uint8"
    return document


def grouped(kernel, order):
    """Kernel pages on an axis of their own behind the block axis."""
    document = attention(order=order, kernel=kernel)
    cache = document["caches"][LAYER]
    k, entry = 16 // kernel, cache["stride"][0]
    cache.update(shape=[5, k, *cache["shape"][1:]], stride=[k * entry, *cache["stride"]])
    del cache["axes"]
    return document


def sliced_tuple():
    """K and V as two tensors over one packed tensor."""
    document = attention()
    whole = document["caches"][LAYER]
    document["caches"][LAYER] = [
        {**whole, "shape": [*whole["shape"][:-1], 8], "storage_offset": at * 8, "plane": at}
        for at in (0, 1)]
    return document


def fp8(dtype="float8_e4m3fn", **spec):
    return attention(dtype=dtype, spec=spec)


def bytes_of(dtype, name):
    """The same bytes, registered under another dtype than the spec's."""
    document = attention(dtype=dtype)
    for cache in document["caches"].values():
        cache["dtype"] = name
    return document


EQUAL = {
    "kernel pages of 8 against 4, tokens first": (
        lambda: attention(kernel=8), lambda: attention(kernel=4)),
    "kernel pages against one page, tokens first (edited against passed)": (
        lambda: attention(kernel=4), lambda: attention()),
    "kernel pages against one page, heads first, one head": (
        lambda: attention(order=HEADS_FIRST, heads=1, kernel=4),
        lambda: attention(order=HEADS_FIRST, heads=1)),
    "heads first against tokens first, one head": (
        lambda: attention(order=HEADS_FIRST, heads=1), lambda: attention(heads=1)),
    "layout name given against not given": (
        lambda: attention(layout="NHD"), lambda: attention()),
    "legacy layout name against the new one": (
        lambda: attention(layout="NHD"), lambda: attention(layout="LBNHC")),
    "other number of blocks": (lambda: attention(blocks=5), lambda: attention(blocks=9)),
    "other engine version": (
        lambda: attention(),
        lambda: attention(engine={"name": "vllm", "version": "0.26.0"})),
    "moved in its arena": (lambda: attention(), lambda: attention(offset=4096)),
    "other block stride": (lambda: attention(), lambda: attention(block_stride=2048)),
    "padded page against not padded": (lambda: attention(page=4096, block_stride=2048),
                                       lambda: attention()),
    "K and V planes against K before V in each block": (
        lambda: attention("split", PLANES), lambda: attention("split", SPLIT)),
    "K and V in two allocations against planes": (
        lambda: attention("tuple"), lambda: attention("split", PLANES)),
    "K and V as two views of one packed tensor against the packed tensor": (
        sliced_tuple, lambda: attention()),
    "state list against state row": (lambda: recurrent("list"), lambda: recurrent("row")),
    "tight state row against the whole page as row": (
        lambda: recurrent("row"), lambda: recurrent("row", row=2048)),
    "states in two allocations against state row": (
        lambda: recurrent("apart"), lambda: recurrent("row")),
    "state page padded more": (lambda: recurrent("row"), lambda: recurrent("row", page=4096)),
    "latent rank 3 against rank 4": (lambda: latent(rank=3), lambda: latent()),
    "latent kernel pages of 4 against 8": (lambda: latent(4), lambda: latent(8)),
    "latent spec with head_size_v 0 against without": (
        lambda: latent(head_size_v=0), lambda: latent()),
    "head_size_v given against not given": (lambda: with_spec(head_size_v=8), lambda: attention()),
    "num_heads against num_kv_heads": (lambda: with_spec(num_heads=2), lambda: attention()),
    "kv_quant_mode none against not given": (
        lambda: with_spec(kv_quant_mode="none"), lambda: attention()),
    "dtype by its short name": (
        lambda: attention(dtype="float16", spec={"dtype": "half"}),
        lambda: attention(dtype="float16")),
    "fp8 registered as uint8 against as fp8": (
        lambda: bytes_of("float8_e4m3fn", "uint8"), lambda: fp8()),
    "fields of the spec that no byte depends on": (
        lambda: with_spec(sliding_window=128, non_causal=False, alignment=64,
                          real_page_size_bytes=1024, block_stride_alignment=64),
        lambda: attention()),
    "mamba_type and speculative blocks": (
        lambda: recurrent(spec={"mamba_type": "mamba2", "num_speculative_blocks": 2}),
        lambda: recurrent(spec={"mamba_type": "gdn_attention"})),
    "an empty group more": (empty_group_before, lambda: attention()),
    "a scratch group more, purpose prefix": (with_scratch, lambda: attention()),
    "a group that is not transferred more": (without_second_group, lambda: attention()),
    "pipeline ranks counted, same layers": (
        lambda: attention(parallel={"pp": 2}), lambda: attention()),
    "decode context parallel of a recurrent group": (
        lambda: recurrent(parallel={"dcp": 2, "cp_interleave": 4}), lambda: recurrent()),
    "interleave without context parallel": (
        lambda: attention(parallel={"cp_interleave": 16}), lambda: attention()),
    "other number of blocks, K and V in planes, backend with an order of its own": (
        lambda: attention("split", PLANES, blocks=5, backend=CPU),
        lambda: attention("split", PLANES, blocks=7, backend=CPU)),
}

DIFFER = {
    "kernel pages of 8 against 4, heads first": (
        lambda: attention(order=HEADS_FIRST, kernel=8),
        lambda: attention(order=HEADS_FIRST, kernel=4)),
    "kernel pages against one page, heads first": (
        lambda: attention(order=HEADS_FIRST, kernel=8), lambda: attention(order=HEADS_FIRST)),
    "kernel pages of 8 against 4, K and V apart": (
        lambda: attention("split", SPLIT, kernel=8), lambda: attention("split", SPLIT, kernel=4)),
    "heads first against tokens first": (
        lambda: attention(order=HEADS_FIRST), lambda: attention()),
    "heads first against tokens first, as many heads as tokens": (
        lambda: attention(order=HEADS_FIRST, heads=16, layout="HND"),
        lambda: attention(heads=16, layout="NHD")),
    "kernel pages on an axis of their own, of 8 against 4, heads first": (
        lambda: grouped(8, HEADS_FIRST), lambda: grouped(4, HEADS_FIRST)),
    "K beside V against K before V in each block": (
        lambda: attention(), lambda: attention("split", SPLIT)),
    "K beside V against K before V in each block, one head": (
        lambda: attention(heads=1), lambda: attention("split", SPLIT, heads=1)),
    "two heads against K and V on an axis of two": (
        lambda: attention(order=HEADS_FIRST), lambda: attention("split", SPLIT)),
    "float16 against bfloat16": (
        lambda: attention(dtype="float16"), lambda: attention(dtype="bfloat16")),
    "float16 against bfloat16 in the spec, registered alike": (
        lambda: with_spec(dtype="float16"), lambda: attention()),
    "fp8 against int8": (lambda: fp8(), lambda: fp8("int8")),
    "fp8 formats in one registered dtype": (
        lambda: fp8("uint8", cache_dtype_str="fp8_e4m3"),
        lambda: fp8("uint8", cache_dtype_str="fp8_e5m2")),
    "quantisation modes": (
        lambda: fp8("uint8", kv_quant_mode="int8_per_token_head"),
        lambda: fp8("uint8", kv_quant_mode="fp8_per_token_head")),
    "quantised against not": (
        lambda: fp8("uint8", kv_quant_mode="int8_per_token_head"), lambda: fp8("uint8")),
    "kernel pages of 8 against one page, one head, backend with an order of its own": (
        lambda: attention(heads=1, kernel=8, backend=CPU), lambda: attention(heads=1, backend=CPU)),
    "kernel pages of 8 against 4 of bytes, whatever they are": (
        lambda: indexer(8), lambda: indexer(4)),
    "kernel pages of 8 against one page of bytes, whatever they are": (
        lambda: indexer(8), lambda: indexer(16)),
    "other backend": (lambda: attention(), lambda: attention(backend="FLASH_ATTN")),
    "backend given against not given": (lambda: attention(), lambda: attention(backend=None)),
    "full attention against sliding window": (
        lambda: attention(),
        lambda: with_spec(type="SlidingWindowSpec", kind="sliding_window", sliding_window=64)),
    "latent against one head of K alone": (
        lambda: latent(),
        lambda: latent(type="FullAttentionSpec", kind="full_attention", head_size_v=0)),
    "other number of heads, same bytes": (
        lambda: attention(heads=2, size=8), lambda: attention(heads=4, size=4)),
    "K and V of other sizes, same bytes": (
        lambda: with_spec(head_size=10, head_size_v=6), lambda: attention()),
    "other block size": (lambda: attention(block=16), lambda: attention(block=32)),
    "several tokens to a state": (
        lambda: attention(),
        lambda: attention(block=16, spec={"block_size": 32, "tokens_per_state": 2})),
    "tensor parallel size": (
        lambda: attention(parallel={"tp": 2}), lambda: attention(parallel={"tp": 4})),
    "decode context parallel size": (
        lambda: attention(parallel={"dcp": 2}), lambda: attention()),
    "context parallel interleave": (
        lambda: attention(parallel={"dcp": 2, "cp_interleave": 1}),
        lambda: attention(parallel={"dcp": 2, "cp_interleave": 16})),
    "prefill context parallel size": (
        lambda: attention(parallel={"pcp": 2}), lambda: attention()),
    "layers of another pipeline rank": (
        lambda: attention(layers=("model.layers.0.self_attn.attn",)),
        lambda: attention(layers=("model.layers.16.self_attn.attn",))),
    "a layer more": (
        lambda: attention(layers=("a", "b")), lambda: attention(layers=("a",))),
    "layer order": (lambda: attention(layers=("a", "b")), lambda: attention(layers=("b", "a"))),
    "group order": (two_groups, lambda: groups_swapped(two_groups())),
    "a scratch group more, purpose transfer": (with_scratch, lambda: attention()),
    "a group more": (lambda: with_scratch(True), lambda: attention()),
    "state shapes, same bytes": (
        lambda: recurrent(), lambda: recurrent(shapes=((3, 64), (8, 4, 8)))),
    "state dtypes, same bytes": (
        lambda: recurrent(), lambda: recurrent(dtypes=("float16", "float32"))),
    "states in another order in memory": (
        lambda: recurrent("list"), lambda: recurrent("list", swapped=True)),
    "a state transposed in memory": (
        lambda: recurrent("list"), lambda: recurrent("list", transposed=True)),
    "block size of a recurrent group": (lambda: recurrent(), lambda: recurrent(block=32)),
    "unpadded size not given: the padding is stored": (
        lambda: changed(attention(page=4096, block_stride=2048),
                        "groups", 0, "spec", "unpadded_page_size_bytes", to=None),
        lambda: attention()),
}

PURPOSES = {"a scratch group more, purpose transfer": "transfer"}
