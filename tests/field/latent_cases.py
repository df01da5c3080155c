"""Latent caches: MLA, sliding-window MLA, indexers, declared compression, odd widths."""

import specs
from case import case, ranges, tensor, view


@case("LMCache/LMCache, GLM-5.3-Flash on Hopper", "0.29.0", "LBHNC")
def leaf_of_a_wrapper_k18(c):
    """(N·18, 1, 64, 512) bfloat16: 18 pages of 65,536 bytes make the leaf's 1,179,648; an already
    logical one passes. The wrapper says 2,359,296."""
    blocks = c.blocks(8)
    page = 1179648
    leaves = {"mla.0": specs.latent(1152, 512), "mla.1": specs.latent(1152, 512)}
    c.group(list(leaves), specs.uniform(1152, 2 * page), leaves)
    for i, layer in enumerate(leaves):
        c.storage(f"s{i}", blocks * page)
    c.cache("mla.0", tensor("s0", "bfloat16", [blocks * 18, 1, 64, 512]))
    c.page("mla.0", 0, page, page, k=18, slots=1152, tokens=1152,
           native=view([8, 1, 1152, 512], [589824, 589824, 512, 1], "bfloat16"))
    c.cache("mla.1", tensor("s1", "bfloat16", [blocks, 1, 1152, 512]))
    c.page("mla.1", 0, page, page, storage="s1", slots=1152, tokens=1152,
           native=view([8, 1, 1152, 512], [589824, 589824, 512, 1], "bfloat16"))


@case("LMCache/LMCache#3218", "0.24.0")
def tail_padding_of_64_bytes(c):
    """DeepSeek-V4: 64 states of 584 bytes, 37,376, in pages of 37,440 = 65 · 576; rank 3."""
    blocks = c.blocks(28)
    c.storage("s0", blocks * 37440)
    c.group(["mla.0"], specs.latent(256, 584, "uint8", tokens_per_state=4, padded=37440,
                                    alignment=576, cache_dtype_str="fp8_ds_mla"))
    c.cache("mla.0", tensor("s0", "uint8", [blocks, 64, 584], [37440, 584, 1]))
    c.page("mla.0", 0, 37440, 37376, 37440, slots=64, tokens=256,
           native=view([28, 64, 584], [37440, 584, 1], "uint8"))


@case("LMCache/LMCache#3218", "0.24.0")
def tail_padding_an_old_spec_declares(c):
    """The same from a spec without the unpadded size and with compress_ratio: the whole page counts
    as payload, since nothing says what may be left out."""
    blocks = c.blocks(28)
    c.storage("s0", blocks * 37440)
    spec = specs.old_latent(256, 584, "uint8", page_size_bytes=37440, page_size_padded=37440,
                            compress_ratio=4)
    c.group(["mla.0"], spec)
    c.cache("mla.0", tensor("s0", "uint8", [blocks, 64, 584], [37440, 584, 1]))
    c.page("mla.0", 0, 37440, 37440, slots=64, tokens=256)


@case("vllm-project/vllm, fp8_ds_mla and nvfp4_ds_mla", "0.32.0", "LBHNC")
def rows_of_656_584_416_and_352_bytes(c):
    """Widths that are no power of two, two kernel pages of 64 states for a block of 128."""
    blocks = c.blocks(13)
    for width in (656, 584, 416, 352):
        layer, page = f"mla.{width}", 128 * width
        c.storage(layer, blocks * page)
        c.group([layer], specs.latent(128, width, "uint8", cache_dtype_str="fp8_ds_mla"))
        c.cache(layer, tensor(layer, "uint8", [blocks * 2, 1, 64, width]))
        c.page(layer, 0, page, page, storage=layer, k=2, slots=128, tokens=128,
               native=view([13, 1, 128, width], [page, page, width, 1], "uint8"))


@case("LMCache/LMCache#5002", "0.28.0", "LBHNC")
def every_indexer_is_a_layer(c):
    """DeepSeek-V3.2: MLA caches of 656 bytes and indexers of 132 a token in one group of leaves;
    none may be dropped because there are more tensors than model layers."""
    blocks = c.blocks(17)
    leaves = {}
    for i in range(3):
        leaves[f"mla.{i}"] = specs.latent(64, 656, "uint8")
        leaves[f"indexer.{i}"] = specs.latent(64, 132, "uint8")
        for layer, width in ((f"mla.{i}", 656), (f"indexer.{i}", 132)):
            c.storage(layer, blocks * 64 * width)
            c.cache(layer, tensor(layer, "uint8", [blocks, 64, width]))
            c.page(layer, 0, 64 * width, 64 * width, storage=layer, slots=64, tokens=64)
    c.group(list(leaves), specs.uniform(64, 3 * 64 * 788), leaves)
    c.chunk(64)


@case("LMCache/LMCache#5042, notes of 2026-09", "0.29.0")
def indexer_ratio_in_bytes_not_tokens(c):
    """2,924 blocks of 1,792 tokens, 448 states of 132 bytes: (20468, 64, 132) is 7 kernel pages of
    8,448 bytes a block (59,136), though 1,792 tokens are 28 times 64. Its MLA leaf has 1,792 rows
    of 512 in 28 pages. Tails of request scratch lie over the indexer, 29,568 elements apart."""
    blocks = c.blocks(2924)
    mla, indexer = 1792 * 1024, 59136
    c.storage("m0", blocks * mla)
    c.storage("i0", blocks * indexer)
    leaves = {"mla.0": specs.latent(1792, 512),
              "indexer.0": specs.latent(1792, 132, "uint8", tokens_per_state=4)}
    c.group(list(leaves), specs.uniform(1792, 11 * (mla + indexer)), leaves)
    c.cache("mla.0", tensor("m0", "bfloat16", [blocks * 28, 64, 512]))
    c.page("mla.0", 0, mla, mla, storage="m0", k=28, slots=1792, tokens=1792,
           native=view([2924, 1792, 512], [917504, 512, 1], "bfloat16"))
    c.cache("indexer.0", tensor("i0", "uint8", [20468, 64, 132]))
    c.page("indexer.0", 0, indexer, indexer, storage="i0", k=7, slots=448, tokens=1792,
           native=view([2924, 448, 132], [59136, 132, 1], "uint8"))
    c.group(["tail.0"], specs.ring(4, indexer, "KpoolTailSpec", page_size_padded=indexer,
                                   unpadded_page_size_bytes=2048))
    c.cache("tail.0", tensor("i0", "bfloat16", [blocks, 2, 4, 128], [29568, 512, 128, 1]))
    c.page("tail.0", 0, indexer, 2048, indexer, storage="i0", slots=4, tokens=4, outcome="scratch")
    c.chunk(1792)


@case("novitalabs/pegaflow#457", "0.29.0")
def indexer_of_8960_tokens_k35(c):
    """17,885 = 511 · 35 pages of 64 states; a block of 8,960 tokens has 2,240 states, not 140
    pages."""
    blocks = c.blocks(511)
    page = 2240 * 132
    c.storage("s0", blocks * page)
    c.group(["indexer.0"], specs.latent(8960, 132, "uint8", tokens_per_state=4))
    c.cache("indexer.0", tensor("s0", "uint8", [17885, 64, 132]))
    c.page("indexer.0", 0, page, page, k=35, slots=2240, tokens=8960,
           native=view([511, 2240, 132], [295680, 132, 1], "uint8"))


@case("LMCache/LMCache, indexer 132 wide", "0.29.0", "LBHNC")
def indexer_of_288_states_k9(c):
    """(N·9, 1, 32, 132) → (N, 1, 288, 132); a page of 38,016 bytes."""
    blocks = c.blocks(6)
    c.storage("s0", blocks * 38016)
    c.group(["indexer.0"], specs.latent(1152, 132, "uint8", tokens_per_state=4))
    c.cache("indexer.0", tensor("s0", "uint8", [blocks * 9, 1, 32, 132]))
    c.page("indexer.0", 0, 38016, 38016, k=9, slots=288, tokens=1152,
           native=view([6, 1, 288, 132], [38016, 38016, 132, 1], "uint8"))


@case("vllm-project/vllm, sliding-window MLA", "0.32.0", "LBHNC")
def sliding_window_mla_in_kernel_pages(c):
    """Kind sliding_window_mla, 4 kernel pages of 64 rows of 584 bytes."""
    blocks = c.blocks(16)
    page = 256 * 584
    c.storage("s0", blocks * page)
    c.group(["swa.0"], specs.latent(256, 584, "uint8", kind="sliding_window_mla",
                                    sliding_window=512))
    c.cache("swa.0", tensor("s0", "uint8", [blocks * 4, 1, 64, 584]))
    c.page("swa.0", 0, page, page, k=4, slots=256, tokens=256,
           native=view([16, 1, 256, 584], [149504, 149504, 584, 1], "uint8"))


@case("LMCache/LMCache#3261", "0.24.0", "LBHNC")
def five_groups_of_other_block_sizes(c):
    """DeepSeek-V4: 256 tokens (MLA, 4 a state), 64 and 64 (two sliding groups of one shape), 4 and
    8 (state rings that may be used again). Every group has its own blocks."""
    blocks = c.blocks(33)
    groups = (("mla", 256, 4, "mla_attention", {}),
              ("swa.a", 64, 1, "sliding_window_mla", {"sliding_window": 128}),
              ("swa.b", 64, 1, "sliding_window_mla", {"sliding_window": 128}),
              ("c4", 4, 1, "sliding_window_mla", {"sliding_window": 8}),
              ("c128", 8, 1, "sliding_window_mla", {"sliding_window": 128}))
    for layer, block, ratio, kind, more in groups:
        states = block // ratio
        page = states * 584
        c.storage(layer, blocks * page)
        c.group([layer], specs.latent(block, 584, "uint8", ratio, kind=kind, **more))
        c.cache(layer, tensor(layer, "uint8", [blocks, 1, states, 584]))
        c.page(layer, 0, page, page, storage=layer, slots=states, tokens=block)
    c.chunk(256)


@case("ROCm/ATOM#2259", "0.32.0", "LBHNC")
def indexer_in_two_planes(c):
    """FP4 indexer: packed E2M1 (64 bytes a state) and a plane of e8m0 scales (4 bytes) in another
    tensor: 64 · 68 = 4,352 bytes a block in two runs."""
    blocks = c.blocks(18)
    plane = blocks * 4096
    c.storage("s0", plane + blocks * 256)
    c.group(["indexer.0"], specs.latent(64, 68, "uint8"))
    c.cache("indexer.0", tensor("s0", "uint8", [blocks, 64, 64]),
            tensor("s0", "float8_e8m0fnu", [blocks, 64, 4], None, plane))
    c.parts("indexer.0", [ranges("s0", 0, 4096, (0, 4096)), ranges("s0", plane, 256, (0, 256))],
            slots=64, tokens=64)
    c.refuses("lmcache", "a list of tensors")


@case("vllm-project/vllm#56026", "0.32.0", "BLHNC")
def draft_block_of_three_caches(c):
    """Qwen3.8-Flash-Next MTP: attention of 1,600 tokens in one packed group; compressed keys (4
    tokens a state) in another; a ring of 8 tokens that must not set the block size."""
    blocks = c.blocks(11)
    attn, keys = 1600 * 2 * 1024, 400 * 256
    stride = attn + keys + 4096
    c.storage("s0", blocks * stride)
    c.group(["mtp.attn"], specs.attention(1600, 2, 256), is_eagle_group=True)
    c.place(["mtp.attn"], 0, 0, stride)
    c.cache("mtp.attn", tensor("s0", "bfloat16", [blocks, 2, 1600, 512],
                               [stride // 2, 819200, 512, 1]))
    c.page("mtp.attn", 0, stride, attn, slots=1600, tokens=1600)
    leaves = {"mtp.keys": specs.latent(1600, 128, tokens_per_state=4)}
    c.group(["mtp.keys"], specs.uniform(1600, keys), leaves, is_eagle_group=True)
    c.place(["mtp.keys"], attn, 0, stride)
    c.cache("mtp.keys", tensor("s0", "bfloat16", [blocks, 1, 400, 128],
                               [stride // 2, 51200, 128, 1], attn // 2))
    c.page("mtp.keys", attn, stride, keys, slots=400, tokens=1600)
    c.group(["mtp.ring"], specs.ring(8, 4096))
    c.place(["mtp.ring"], attn + keys, 0, stride)
    c.cache("mtp.ring", tensor("s0", "bfloat16", [blocks, 1, 8, 256], [stride // 2, 2048, 256, 1],
                               (attn + keys) // 2))
    c.page("mtp.ring", attn + keys, stride, 4096, slots=8, tokens=8, outcome="scratch")
    c.chunk(1600)


@case("LMCache/LMCache#3388", "0.27.0")
def latent_drafter_beside_a_latent_model(c):
    """Kimi K2.6 with an Eagle3 drafter, both MLA: 128 tokens a block for CUTLASS MLA, 2 pages of 64
    for the drafter."""
    blocks = c.blocks(15)
    page = 128 * 1152
    for i, (layer, shape, k) in enumerate((("target", [15, 128, 576], 1),
                                           ("draft", [30, 64, 576], 2))):
        c.storage(layer, blocks * page)
        c.group([layer], specs.old_latent(128, 576), is_eagle_group=bool(i))
        c.cache(layer, tensor(layer, "bfloat16", shape))
        c.page(layer, 0, page, page, storage=layer, k=k, slots=128, tokens=128)


@case("vllm-project/vllm#56871", "0.32.0", "LBHNC")
def ring_of_eight_tokens_beside_blocks_of_32(c):
    """DeepSeek-V4.1-Flash: groups of 32 and 64 tokens and an 8-token ring, which takes no part."""
    blocks = c.blocks(19)
    for layer, block in (("swa.0", 32), ("swa.1", 32), ("mla", 64)):
        kind = "sliding_window_mla" if layer[0] == "s" else "mla_attention"
        c.storage(layer, blocks * block * 584)
        c.group([layer], specs.latent(block, 584, "uint8", kind=kind))
        c.cache(layer, tensor(layer, "uint8", [blocks, 1, block, 584]))
        c.page(layer, 0, block * 584, block * 584, storage=layer, slots=block, tokens=block)
    c.storage("ring", blocks * 8192)
    c.group(["ring"], specs.ring(8, 8192))
    c.cache("ring", tensor("ring", "float32", [blocks, 8, 256]))
    c.page("ring", 0, 8192, 8192, storage="ring", slots=8, tokens=8, outcome="scratch")
    c.chunk(64)


@case("vllm-project/vllm, HiddenStateCacheSpec", "0.32.0", "LBHNC")
def hidden_states_are_latent(c):
    """Extracted hidden states: a marker class over MLA, 3 · 2,048 elements a token, 2 kernel
    pages."""
    blocks = c.blocks(7)
    page = 128 * 12288
    spec = specs.latent(128, 6144)
    spec.update(type="HiddenStateCacheSpec", bases=["MLAAttentionSpec", *specs.LATENT])
    del spec["kind"]
    c.storage("s0", blocks * page)
    c.group(["hidden"], spec)
    c.cache("hidden", tensor("s0", "bfloat16", [blocks * 2, 1, 64, 6144]))
    c.page("hidden", 0, page, page, k=2, slots=128, tokens=128,
           native=view([7, 1, 128, 6144], [786432, 786432, 6144, 1], "bfloat16"))


@case("local-inference-lab/LMCache, GLM-5.3-Flash fp8", "0.29.0", "LBHNC")
def draft_tokens_lengthen_the_state(c):
    """GLM-5.3-Flash TP2 with 7 draft tokens: conv keeps 3 + 7 rows, M = 2,342,912 bytes, block
    4,608 of 512 bytes a token (2,359,296), 18 kernel pages of 256."""
    blocks = c.blocks(9)
    page = 2359296
    c.storage("s0", blocks * page)
    states = [((10, 3 * 32 * 128), "bfloat16"), ((32, 128, 128), "float32")]
    c.group(["kda.0"], specs.mamba(4608, states, page, kind="kda", num_speculative_blocks=7))
    c.cache("kda.0", tensor("s0", "int8", [blocks, 1, 1, 2342912], [page, 2342912, 2342912, 1]))
    c.page("kda.0", 0, page, 2342912, page, slots=4608, tokens=4608,
           native=view([9, 1, 4608, 512], [page, page, 512, 1], "int8"))
    c.group(["mla.0"], specs.latent(4608, 512, "uint8"))
    c.cache("mla.0", tensor("s0", "uint8", [blocks * 18, 1, 256, 512]))
    c.page("mla.0", 0, page, page, k=18, slots=4608, tokens=4608)


@case("sgl-project/sglang, MLATokenToKVPool", "0.5")
def pool_of_latent_tokens(c):
    """(size + page, 1, 576): a kernel page is one token, 64 make a page of 73,728 bytes."""
    blocks = c.blocks(25)
    page = 73728
    c.storage("s0", blocks * page)
    c.group(["mla.0"], specs.old_latent(64, 576))
    c.cache("mla.0", tensor("s0", "bfloat16", [blocks * 64, 1, 576]))
    c.page("mla.0", 0, page, page, k=64, slots=64, tokens=64)


@case("LMCache/LMCache#4586", "0.5")
def latent_and_indexer_pools(c):
    """SGLang DSA: the latent pool of tokens and an indexer buffer (pages, 64 · 132) beside it."""
    blocks = c.blocks(25)
    leaves = {"mla.0": specs.latent(64, 656, "uint8"), "indexer.0": specs.latent(64, 132, "uint8")}
    c.group(list(leaves), specs.uniform(64, 41984 + 8448), leaves)
    c.storage("s0", blocks * 41984)
    c.storage("s1", blocks * 8448)
    c.cache("mla.0", tensor("s0", "uint8", [blocks * 64, 1, 656]))
    c.page("mla.0", 0, 41984, 41984, k=64, slots=64, tokens=64)
    c.cache("indexer.0", tensor("s1", "uint8", [blocks, 8448]))
    c.page("indexer.0", 0, 8448, 8448, storage="s1", slots=64, tokens=64)


@case("vllm-project/vllm-ascend, MLA", "0.19.0")
def latent_rope_and_indexer_tensors(c):
    """Ascend keeps the latent (512), the rope part (64) and the keys of the indexer (128) of a layer
    in tensors of their own: 128 · 704 · 2 bytes a block."""
    blocks = c.blocks(11)
    c.group(["mla.0"], specs.latent(128, 704))
    tensors, parts = [], []
    for name, width in (("latent", 512), ("rope", 64), ("indexer", 128)):
        length = 128 * width * 2
        c.storage(name, blocks * length, "npu:0")
        tensors.append(tensor(name, "bfloat16", [blocks, 128, 1, width]))
        parts.append(ranges(name, 0, length, (0, length)))
    c.cache("mla.0", *tensors)
    c.parts("mla.0", parts, slots=128, tokens=128)


@case("vllm-project/vllm, DeepSeek-V4 c128", "0.32.0", "BLHNC")
def one_state_for_128_tokens(c):
    """256 tokens are 2 states of 584 bytes, padded to 1,728 = 3 · 576, in an arena of two layers."""
    blocks = c.blocks(29)
    c.storage("s0", blocks * 3456)
    layers = ["c128.0", "c128.1"]
    c.group(layers, specs.latent(256, 584, "uint8", tokens_per_state=128, padded=1728,
                                 alignment=576))
    c.place(layers, 0, 1728, 3456)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "uint8", [blocks, 1, 2, 584], [3456, 1168, 584, 1], i * 1728))
        c.page(layer, i * 1728, 3456, 1168, 1728, slots=2, tokens=256,
               native=view([29, 1, 2, 584], [3456, 1168, 584, 1], "uint8"))


@case("vllm-project/vllm, decode context parallel", "0.32.0", "LBHNC", dcp=2)
def wrapper_sharded_as_its_first_leaf(c):
    """A wrapper without dcp_sharded has its first leaf's answer, and a block id spans the same
    tokens in all its layers. A kernel page left over is no block's. The other wrapper says for
    itself, and its leaf does not."""
    blocks = c.blocks(10)
    leaves = {"mla.0": specs.latent(128, 576, dcp_sharded=False), "mla.1": specs.latent(128, 576)}
    c.group(list(leaves), specs.uniform(128, 2 * 147456), leaves)
    other = {"other.0": specs.latent(128, 576)}
    c.group(list(other), specs.uniform(128, 147456, dcp_sharded=False), other)
    for i, layer in enumerate((*leaves, *other)):
        c.storage(f"s{i}", (blocks * 2 + 1) * 73728)
        c.cache(layer, tensor(f"s{i}", "bfloat16", [blocks * 2 + 1, 64, 576]))
        c.page(layer, 0, 147456, 147456, storage=f"s{i}", k=2, slots=128, tokens=128,
               native=view([10, 128, 576], [73728, 576, 1], "bfloat16"))
    c.chunk(128)
    c.refuses("lmcache", "it multiplies all attention by dcp")
