"""Attention with K and V: ranks, memory orders, kernel pages, planes, quantised content."""

import specs
from case import case, in_memory, ranges, tensor, view


@case("LMCache/LMCache@d88a910c", "0.26.0", "NHD")
def physically_tokens_first_k25(c):
    """[pages, 64, 4, 256] as it lies in memory, not the logical [pages, 4, 64, 256]: axis 2 has the
    4 heads. A block of 1600 tokens has 1600 · 4 · 2 · 128 · 2 = 3,276,800 bytes, 25 kernel
    pages."""
    blocks = c.blocks(3)
    c.storage("s0", blocks * 3276800)
    c.group(["attn.0"], specs.old_attention(1600, 4, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 25, 64, 4, 256]))
    c.page("attn.0", 0, 3276800, 3276800, k=25, slots=1600, tokens=1600,
           native=view([3, 2, 1600, 1, 512], [1638400, 819200, 512, 512, 1], "bfloat16"),
           packed=view([3, 1600, 1, 1024], [1638400, 1024, 1024, 1], "bfloat16"))


@case("LMCache/LMCache@d88a910c", "0.26.0", "NHD")
def physically_tokens_first_whole_blocks(c):
    """[3, 1600, 4, 256]: the block size is in axis 1 and nothing is to be done."""
    blocks = c.blocks(3)
    c.storage("s0", blocks * 3276800)
    c.group(["attn.0"], specs.old_attention(1600, 4, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 1600, 4, 256]))
    c.page("attn.0", 0, 3276800, 3276800, slots=1600, tokens=1600,
           native=view([3, 1600, 4, 256], [1638400, 1024, 256, 1], "bfloat16"))


@case("LMCache/LMCache#4253", "0.25.0", "HND")
def as_many_heads_as_kernel_tokens(c):
    """16 heads, 16 tokens a kernel page, block 64: shapes cannot tell heads from tokens, bytes need
    not. A kernel page has 2 · 16 · 16 · 64 · 2 = 65,536 bytes."""
    blocks = c.blocks(7)
    c.storage("s0", blocks * 262144)
    c.group(["attn.0", "attn.1"], specs.old_attention(64, 16, 64))
    shape = [blocks * 4, 2, 16, 16, 64]
    c.cache("attn.0", tensor("s0", "bfloat16", shape, in_memory(shape, (0, 1, 3, 2, 4))))
    c.storage("s1", blocks * 262144)
    c.cache("attn.1", tensor("s1", "bfloat16", shape))
    for storage, layer in (("s0", "attn.0"), ("s1", "attn.1")):
        c.page(layer, 0, 262144, 262144, storage=storage, k=4, slots=64, tokens=64,
               native=view([7, 2, 64, 1, 1024], [131072, 65536, 1024, 1024, 1], "bfloat16"))


@case("vllm-project/vllm, AttentionSpec", "0.32.0", "LBNHC")
def one_head_in_kernel_pages(c):
    """One K/V head: heads-first and tokens-first strides are the same. 4 kernel pages of 64 tokens,
    each 64 · 256 · 2 = 32,768 bytes."""
    blocks = c.blocks(11)
    c.storage("s0", blocks * 131072)
    c.group(["attn.0"], specs.attention(256, 1, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 4, 1, 64, 256], [16384, 256, 256, 1]))
    c.page("attn.0", 0, 131072, 131072, k=4, slots=256, tokens=256,
           native=view([11, 2, 256, 1, 128], [65536, 32768, 128, 128, 1], "bfloat16"))


@case("vllm-project/vllm, MiMo and DeepSeek without absorption", "0.32.0", "LBHNC")
def keys_wider_than_values(c):
    """Keys of 192 and values of 128 elements: 640 bytes of content, 2 kernel pages of 64 tokens."""
    blocks = c.blocks(9)
    page = 128 * 640
    c.storage("s0", blocks * page)
    c.group(["attn.0"], specs.attention(128, 1, 192, content=640, head_size_v=128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 2, 1, 64, 320]))
    c.page("attn.0", 0, page, page, k=2, slots=128, tokens=128,
           native=view([9, 2, 128, 1, 160], [40960, 20480, 160, 160, 1], "bfloat16"))


@case("LMCache/LMCache#4154", "0.26.0", "HND")
def minimax_m3_mixed_ranks(c):
    """Rank-4 attention caches and rank-3 keys of the lightning indexer in one group of leaves:
    [3554, 4, 128, 256], 262,144 bytes a block, and [3554, 128, 128], 32,768 bytes."""
    blocks = c.blocks(3554)
    leaves = {}
    for i in range(2):
        leaves[f"attn.{i}"] = specs.attention(128, 4, 128)
        c.cache(f"attn.{i}", tensor(c.storage(f"a{i}", blocks * 262144), "bfloat16",
                                    [blocks, 4, 128, 256]))
        c.page(f"attn.{i}", 0, 262144, 262144, storage=f"a{i}", slots=128, tokens=128)
        leaves[f"indexer.{i}"] = specs.old_latent(128, 128)
        c.cache(f"indexer.{i}", tensor(c.storage(f"i{i}", blocks * 32768), "bfloat16",
                                       [blocks, 128, 128]))
        c.page(f"indexer.{i}", 0, 32768, 32768, storage=f"i{i}", slots=128, tokens=128,
               native=view([3554, 128, 128], [16384, 128, 1], "bfloat16"))
    c.group(list(leaves), specs.uniform(128, 2 * (262144 + 32768), "unknown"), leaves)


@case("taco-project/FlexKV#252", "0.27.0", "HND")
def nvfp4_scales_beside_the_values(c):
    """(NB, 2·H, BS, D/2 + D/16): half a byte for a value and a scale for 16 of them, so 64 + 8
    bytes for K or V of a head; 16 · 16 · 72 = 18,432 bytes a block."""
    blocks = c.blocks(23)
    c.storage("s0", blocks * 18432)
    c.storage("s1", blocks * 18432)
    c.group(["attn.0", "attn.1"],
            specs.attention(16, 8, 128, "uint8", content=144, kv_quant_mode="nvfp4"))
    c.cache("attn.0", tensor("s0", "uint8", [blocks, 16, 16, 72]))
    c.cache("attn.1", tensor("s1", "uint8", [blocks, 2, 16, 8, 72]))  # as versions before had it
    for storage, layer in (("s0", "attn.0"), ("s1", "attn.1")):
        c.page(layer, 0, 18432, 18432, storage=storage, slots=16, tokens=16)


@case("NVIDIA/Model-Optimizer#2084", "0.26.0", "NHD")
def three_shapes_of_one_backend(c):
    """What FlashAttention answered, by version, for 3 blocks of 16 tokens, one head of 16 elements:
    (2,3,16,1,16), (3,2,16,1,16), (3,1,16,32). A block has 1,024 bytes in each."""
    c.blocks(3)
    c.chunk(16)
    for i, shape in enumerate(([2, 3, 16, 1, 16], [3, 2, 16, 1, 16], [3, 1, 16, 32])):
        c.storage(f"s{i}", 3072)
        c.group([f"attn.{i}"], specs.old_attention(16, 1, 16))
        c.cache(f"attn.{i}", tensor(f"s{i}", "bfloat16", shape))
    c.parts("attn.0", [ranges("s0", 0, 512, (0, 512), (1536, 512))], slots=16, tokens=16)
    c.page("attn.1", 0, 1024, 1024, storage="s1", slots=16, tokens=16)
    c.page("attn.2", 0, 1024, 1024, storage="s2", slots=16, tokens=16)


@case("ovg-project/kvcached#391", "0.23.0", "NHD")
def blocks_first_by_shape_planes_by_stride(c):
    """(B, 2, 16, 8, 128) with all K in one half of the memory and all V in the other: K and V of a
    block are 41 · 32,768 bytes apart."""
    blocks = c.blocks(41)
    c.storage("s0", blocks * 65536)
    c.group(["attn.0"], specs.old_attention(16, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 2, 16, 8, 128],
                             [16384, 41 * 16384, 1024, 128, 1]))
    c.parts("attn.0", [ranges("s0", 0, 32768, (0, 32768), (41 * 32768, 32768))], slots=16,
            tokens=16, native=view([41, 2, 16, 8, 128], [16384, 41 * 16384, 1024, 128, 1],
                                   "bfloat16"))


@case("vllm-project/vllm, FlashAttention in hybrids up to 0.25", "0.22.0", "NHD")
def planes_laid_block_by_block(c):
    """[2, NB, 16, 8, 128] whose K and V of a block touch: axis 1 steps two planes, axis 0 one. The
    page is one run."""
    blocks = c.blocks(13)
    c.storage("s0", blocks * 65536)
    c.group(["attn.0"], specs.old_attention(16, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, blocks, 16, 8, 128],
                             [16384, 32768, 1024, 128, 1]))
    c.page("attn.0", 0, 65536, 65536, slots=16, tokens=16,
           native=view([2, 13, 16, 8, 128], [16384, 32768, 1024, 128, 1], "bfloat16"))


@case("ovg-project/kvcached#330", "0.16.0", "NHD")
def planes_in_kernel_pages_k33(c):
    """Qwen3.5-9B: (2, 33·B, 16, 4, 256), block 528, page 2,162,688 bytes: 33 kernel pages of 32,768
    bytes in the plane of K and as many in that of V."""
    blocks = c.blocks(29)
    plane = blocks * 1081344
    c.storage("s0", 2 * plane)
    c.group(["attn.0"], specs.old_attention(528, 4, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, blocks * 33, 16, 4, 256]))
    c.parts("attn.0", [ranges("s0", 0, 1081344, (0, 1081344), (plane, 1081344))], k=33, slots=528,
            tokens=528,
            native=view([2, 29, 528, 4, 256], [plane // 2, 540672, 1024, 256, 1], "bfloat16",
                        "kv block token head content"))


@case("ovg-project/kvcached#330", "0.16.0", "HND")
def planes_in_kernel_pages_heads_first(c):
    """The same planes with heads outside tokens in memory: a block of a plane is one run, and the
    tokens of a head lie in 33 pieces of it."""
    blocks = c.blocks(29)
    plane = blocks * 1081344
    c.storage("s0", 2 * plane)
    c.group(["attn.0"], specs.old_attention(528, 4, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, blocks * 33, 16, 4, 256],
                             [plane // 2, 16384, 256, 4096, 1]))
    c.parts("attn.0", [ranges("s0", 0, 1081344, (0, 1081344), (plane, 1081344))], k=33, slots=528,
            tokens=528, native=view([2, 29, 528, 1, 1024], [plane // 2, 540672, 1024, 1024, 1],
                                    "bfloat16"))


@case("vllm-project/vllm, FlashAttention in hybrids up to 0.25", "0.17.0", "NHD")
def planes_laid_page_by_page_k33(c):
    """The same planes re-strided: K and V of a kernel page touch, so 33 pages are one run."""
    blocks = c.blocks(29)
    c.storage("s0", blocks * 2162688)
    c.group(["attn.0"], specs.old_attention(528, 4, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, blocks * 33, 16, 4, 256],
                             [16384, 32768, 1024, 256, 1]))
    c.page("attn.0", 0, 2162688, 2162688, k=33, slots=528, tokens=528,
           native=view([29, 2, 528, 1, 1024], [1081344, 540672, 1024, 1024, 1], "bfloat16"))


@case("vllm-project/vllm, paged attention on ROCm", "0.11.0", "NHD")
def planes_of_flat_blocks(c):
    """(2, B, 16·8·128) and (2, B, 16, 8·128): K and V of a block are 19 · 32,768 bytes apart."""
    blocks = c.blocks(19)
    for i, rest in enumerate(([16384], [16, 1024])):
        c.storage(f"s{i}", blocks * 65536)
        c.cache(f"attn.{i}", tensor(f"s{i}", "bfloat16", [2, blocks, *rest]))
        c.parts(f"attn.{i}", [ranges(f"s{i}", 0, 32768, (0, 32768), (19 * 32768, 32768))],
                slots=16, tokens=16)
    c.group(["attn.0", "attn.1"], specs.old_attention(16, 8, 128))


@case("vllm-project/vllm-gaudi#1450", "0.27.0", "NHD")
def key_and_value_tensors_of_one_allocation(c):
    """HPU: a (key, value) pair for each layer, here both in one allocation, K before V."""
    blocks = c.blocks(21)
    plane = blocks * 262144
    c.storage("s0", 2 * plane + 4096)  # the allocator rounds up
    c.group(["attn.0"], specs.old_attention(128, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 128, 8, 128]),
            tensor("s0", "bfloat16", [blocks, 128, 8, 128], None, plane // 2))
    c.parts("attn.0", [ranges("s0", 0, 262144, (0, 262144), (plane, 262144))], slots=128,
            tokens=128)
    c.refuses("lmcache", "a list of tensors")


@case("vllm-project/vllm#51718, group_kernel_blocks", "0.28.0", "LBHNC")
def kernel_pages_grouped_heads_first(c):
    """[B, 17, 2, 32, 512]: dim 0 was unflattened, kernel pages have an axis of their own."""
    blocks = c.blocks(31)
    c.storage("s0", blocks * 1114112)
    c.group(["attn.0"], specs.attention(544, 2, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 17, 2, 32, 512]))
    c.page("attn.0", 0, 1114112, 1114112, slots=544, tokens=544,
           native=view([31, 2, 544, 1, 512], [557056, 278528, 512, 512, 1], "bfloat16"))


@case("vllm-project/vllm#51718, group_kernel_blocks", "0.28.0", "LBNHC")
def kernel_pages_grouped_two_a_block(c):
    """[B, 2, 8, 64, 256], tokens first in memory: the axis of two is kernel pages, not K and V."""
    blocks = c.blocks(37)
    page = 128 * 8 * 512
    c.storage("s0", blocks * page)
    c.group(["attn.0"], specs.attention(128, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 2, 8, 64, 256],
                             [262144, 131072, 256, 2048, 1]))
    c.page("attn.0", 0, page, page, slots=128, tokens=128,
           native=view([37, 8, 128, 256], [262144, 256, 2048, 1], "bfloat16",
                       "block head token content"))


@case("vllm-project/vllm#28677", "0.32.0", "LBNHC")
def dense_model_in_kernel_pages(c):
    """No recurrent layer at all: user block 128, FlashInfer pages of 64 tokens, fp8. Two layers one
    behind the other in an arena."""
    blocks = c.blocks(36)
    page = 128 * 8 * 256
    c.storage("s0", 2 * blocks * page)
    layers = ["attn.0", "attn.1"]
    c.group(layers, specs.attention(128, 8, 128, "float8_e4m3fn"))
    c.place(layers, 0, blocks * page, page)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "float8_e4m3fn", [blocks * 2, 8, 64, 256],
                              [131072, 256, 2048, 1], i * blocks * page))
        c.page(layer, i * blocks * page, page, page, k=2, slots=128, tokens=128,
               native=view([36, 2, 128, 1, 1024], [262144, 131072, 1024, 1024, 1],
                           "float8_e4m3fn"))


@case("devinkuhn/LMCache@20c4d495", "0.26.0", "HND")
def kernel_pages_left_over(c):
    """The pool holds 59 · 17 + 9 kernel pages for 59 blocks; no block id reaches the last 9."""
    blocks = c.blocks(59)
    c.storage("s0", (blocks * 17 + 9) * 65536)
    c.group(["attn.0"], specs.old_attention(544, 2, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 17 + 9, 2, 32, 512]))
    c.page("attn.0", 0, 1114112, 1114112, k=17, slots=544, tokens=544,
           native=view([59, 2, 544, 1, 512], [557056, 278528, 512, 512, 1], "bfloat16"))


@case("vllm-project/vllm, RSWASpec", "0.32.0", "LBHNC")
def class_known_by_its_base(c):
    """A spec class without a kind of its own, sub-paged: 4 kernel pages of 64 tokens."""
    blocks = c.blocks(10)
    page = 256 * 2 * 512
    spec = specs.attention(256, 2, 128, rswa_window=4096)
    spec.update(type="RSWASpec", bases=["FullAttentionSpec", "AttentionSpec", "KVCacheSpec"])
    del spec["kind"]
    c.storage("s0", blocks * page)
    c.group(["attn.0"], spec)
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 4, 2, 64, 256]))
    c.page("attn.0", 0, page, page, k=4, slots=256, tokens=256)


@case("vllm-project/vllm, gpt-oss with sinks", "0.32.0", "LBHNC")
def sinks_and_windows_in_kernel_pages(c):
    """ROCm AITER pages of 32 tokens in blocks of 64: a full group with sinks and a sliding one over
    the same arena, 8 heads of 64."""
    blocks = c.blocks(15)
    page = 64 * 8 * 256
    c.storage("s0", 2 * blocks * page)
    groups = {"sink_full_attention": ["attn.1", "attn.3"], "sliding_window": ["attn.0", "attn.2"]}
    for kind, layers in groups.items():
        more = {"sink_len": 4} if kind == "sink_full_attention" else {"sliding_window": 128}
        c.group(layers, specs.attention(64, 8, 64, kind=kind, **more))
        c.place(layers, 0, blocks * page, page)
        for i, layer in enumerate(layers):
            c.cache(layer, tensor("s0", "bfloat16", [blocks * 2, 8, 32, 128], None,
                                  i * blocks * page // 2))
            c.page(layer, i * blocks * page, page, page, k=2, slots=64, tokens=64)
    c.chunk(64)


@case("ROCm/rocm-aic#105", "0.26.0", "NHD")
def gpt_oss_full_and_sliding(c):
    """18 full and 18 sliding layers in 18 tensors, each used by one layer of either group."""
    blocks = c.blocks(44)
    full = [f"layers.{2 * i + 1}.attn" for i in range(18)]
    sliding = [f"layers.{2 * i}.attn" for i in range(18)]
    c.group(full, specs.old_attention(16, 8, 64))
    c.group(sliding, specs.old_attention(16, 8, 64, kind="sliding_window", sliding_window=128))
    for i in range(18):
        c.storage(f"s{i}", blocks * 32768)
        for layer in (full[i], sliding[i]):
            c.cache(layer, tensor(f"s{i}", "bfloat16", [blocks, 8, 16, 128], [16384, 128, 1024, 1]))
            c.page(layer, 0, 32768, 32768, storage=f"s{i}", slots=16, tokens=16)
    c.chunk(16)


@case("vllm-project/vllm#23079", "0.10.1", "NHD")
def gemma_3_thirty_four_layers_in_five_tensors(c):
    """29 sliding layers in groups of 5 and 5 full ones; group g's i-th layer lies in tensor i."""
    blocks = c.blocks(27)
    page = 2 * 16 * 4 * 256 * 2
    for i in range(5):
        c.storage(f"s{i}", blocks * page)
    full = [5, 11, 17, 23, 29]
    sliding = [i for i in range(34) if i not in full]
    for kind, numbers in [("full_attention", full), *(("sliding_window", sliding[g:g + 5])
                                                     for g in range(0, 29, 5))]:
        more = {} if kind == "full_attention" else {"sliding_window": 1024}
        layers = [f"layers.{n}.attn" for n in numbers]
        c.group(layers, specs.old_attention(16, 4, 256, kind=kind, **more))
        for i, layer in enumerate(layers):
            c.cache(layer, tensor(f"s{i}", "bfloat16", [blocks, 2, 16, 4, 256]))
            c.page(layer, 0, page, page, storage=f"s{i}", slots=16, tokens=16)
    c.chunk(16)


@case("LMCache/LMCache#3521", "0.20.1", "NHD")
def gemma_4_two_head_sizes_and_block_sizes(c):
    """Sliding layers with heads of 256 in blocks of 32, global ones with heads of 512 in blocks of
    16: 65,536 bytes a block in both, and two tensors for all."""
    blocks = c.blocks(33)
    for kind, block, size, more in (("sliding_window", 32, 256, {"sliding_window": 512}),
                                    ("full_attention", 16, 512, {})):
        layers = [f"{kind}.{i}" for i in range(2)]
        c.group(layers, specs.old_attention(block, 2, size, kind=kind, **more))
        for i, layer in enumerate(layers):
            c.storage(f"s{i}", blocks * 65536)
            c.cache(layer, tensor(f"s{i}", "bfloat16", [blocks, 2, block, 2, size]))
            c.page(layer, 0, 65536, 65536, storage=f"s{i}", slots=block, tokens=block)
    c.chunk(32)


@case("vllm-project/vllm#42637", "0.26.0", "HND")
def turboquant_beside_native(c):
    """Sliding layers keep bfloat16, global ones 136 bytes a head: 16 · 4 · 136 = 8,704 bytes a
    page, which is padded to the 16 · 2 · 512 = 16,384 bytes of the others."""
    blocks = c.blocks(25)
    c.storage("s0", blocks * 16384)
    c.group(["sliding"], specs.attention(16, 2, 128, kind="sliding_window", sliding_window=1024))
    c.cache("sliding", tensor("s0", "bfloat16", [blocks, 2, 16, 256]))
    c.page("sliding", 0, 16384, 16384, slots=16, tokens=16)
    spec = specs.attention(16, 4, 128, "uint8", content=136, padded=16384, tq_slot_size=136)
    spec.update(type="TQFullAttentionSpec", bases=["FullAttentionSpec", *specs.ATTENTION])
    c.group(["global"], spec)
    c.cache("global", tensor("s0", "uint8", [blocks, 4, 16, 136], [16384, 2176, 136, 1]))
    c.page("global", 0, 16384, 8704, 16384, slots=16, tokens=16)


@case("vllm-project/vllm, Llama 4", "0.25.0", "NHD")
def chunked_and_full(c):
    """Chunked local attention over 8,192 tokens beside full attention, K and V apart."""
    blocks = c.blocks(17)
    for i, (kind, more) in enumerate((("chunked_local_attention", {"attention_chunk_size": 8192}),
                                      ("full_attention", {}))):
        c.storage(f"s{i}", blocks * 65536)
        c.group([f"attn.{i}"], specs.old_attention(16, 8, 128, kind=kind, **more))
        c.cache(f"attn.{i}", tensor(f"s{i}", "bfloat16", [blocks, 2, 16, 8, 128]))
        c.page(f"attn.{i}", 0, 65536, 65536, storage=f"s{i}", slots=16, tokens=16)
    c.chunk(16)


@case("vllm-project/vllm, int8 per token and head", "0.25.0", "NHD")
def scales_behind_the_visible_axes(c):
    """[B, 2, 16, 4, 128] of int8 shows 16,384 bytes of a page of 16,896: the 512 bytes of scales
    (4 for each K and V of a head) follow. The spec declares the padded page and no unpadded one, so
    the whole page is what must come back."""
    blocks = c.blocks(20)
    c.storage("s0", blocks * 16896)
    spec = specs.old_attention(16, 4, 128, "int8", page_size_bytes=16896, page_size_padded=16896)
    c.group(["attn.0"], spec)
    c.cache("attn.0", tensor("s0", "int8", [blocks, 2, 16, 4, 128], [16896, 8192, 512, 128, 1]))
    c.page("attn.0", 0, 16896, 16896, slots=16, tokens=16,
           native=view([20, 1, 16896], [16896, 16896, 1], "int8"))


@case("vllm-project/vllm#45207", "0.23.0", "HND")
def attention_page_padded_to_the_largest(c):
    """Two attention groups whose pages do not divide each other: 16 · 5 · 512 = 40,960 bytes padded
    to 65,536 in one pool. In the second, kernel pages of 8 tokens, each padded to half the page."""
    blocks = c.blocks(18)
    c.storage("s0", blocks * 65536)
    c.group(["wide"], specs.old_attention(16, 8, 128))
    c.cache("wide", tensor("s0", "bfloat16", [blocks, 8, 16, 256]))
    c.page("wide", 0, 65536, 65536, slots=16, tokens=16)
    padded = specs.attention(16, 5, 128, padded=65536)
    c.group(["padded"], padded)
    c.cache("padded", tensor("s0", "bfloat16", [blocks, 5, 16, 256], [32768, 4096, 256, 1]))
    c.page("padded", 0, 65536, 40960, 65536, slots=16, tokens=16,
           native=view([18, 5, 16, 256], [32768, 4096, 256, 1], "bfloat16"))
    c.group(["cut"], padded)
    c.cache("cut", tensor("s0", "bfloat16", [blocks * 2, 5, 8, 256], [16384, 2048, 256, 1]))
    c.parts("cut", [ranges("s0", 0, 65536, (0, 20480), (32768, 20480))], {"s0": [[0, 65536]]}, k=2,
            slots=16, tokens=16)
    c.refuses("lmcache", "a gap within a block")


@case("vllm-project/vllm#43626", "0.23.0", "NHD")
def draft_model_padded_to_the_state_page(c):
    """An EAGLE drafter beside a hybrid: its page of 128 · 8 · 512 = 524,288 bytes is padded to the
    1,114,112 of the target, in the same pool; its group is marked as such."""
    blocks = c.blocks(12)
    c.storage("s0", blocks * 1114112)
    c.group(["target.attn"], specs.old_attention(544, 2, 256))
    c.cache("target.attn", tensor("s0", "bfloat16", [blocks * 17, 2, 32, 2, 256]))
    c.page("target.attn", 0, 1114112, 1114112, k=17, slots=544, tokens=544)
    c.group(["draft.attn"], specs.attention(128, 8, 128, padded=1114112), is_eagle_group=True)
    c.cache("draft.attn", tensor("s0", "bfloat16", [blocks, 2, 128, 8, 128],
                                 [557056, 131072, 1024, 128, 1]))
    c.page("draft.attn", 0, 1114112, 524288, 1114112, slots=128, tokens=128)
    c.chunk(2176)  # lcm(544, 128)


@case("vllm-project/vllm, Whisper pooling", "0.32.0", "BLHNC")
def two_states_for_a_token_in_an_arena(c):
    """tokens_per_state 1/2: 16 tokens are 32 states, 32 · 4 · 256 = 32,768 bytes; two layers side
    by side in every block of the arena."""
    blocks = c.blocks(14)
    c.storage("s0", blocks * 65536)
    layers = ["pool.0", "pool.1"]
    spec = specs.attention(16, 4, 64)
    spec.update(tokens_per_state="1/2", num_states=32, page_size_bytes=32768,
                unpadded_page_size_bytes=32768)
    c.group(layers, spec)
    c.place(layers, 0, 32768, 65536)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, 4, 32, 128], [32768, 4096, 128, 1],
                              i * 16384))
        c.page(layer, i * 32768, 65536, 32768, slots=32, tokens=16)


@case("vllm-project/vllm, block_stride_alignment", "0.32.0", "LBHNC")
def block_stride_raised_by_alignment(c):
    """16 · 5 · 512 = 40,960 bytes a page, 65,536 from block to block: what lies between belongs to
    nobody."""
    blocks = c.blocks(22)
    c.storage("s0", 2 * blocks * 65536)
    layers = ["attn.0", "attn.1"]
    c.group(layers, specs.attention(16, 5, 128, block_stride_alignment=65536))
    c.place(layers, 0, blocks * 65536, 65536)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, 5, 16, 256], [32768, 4096, 256, 1],
                              i * blocks * 32768))
        c.page(layer, i * blocks * 65536, 65536, 40960, slots=16, tokens=16)


@case("LMCache/LMCache#4679", "0.32.0", "LBHNC", dcp=4)
def dcp_of_attention_and_states(c):
    """A block id spans 4 · 544 tokens of sharded attention, 4 · 544 tokens of nothing else: the
    states and a drafter that says it is not sharded span 544 and 64."""
    blocks = c.blocks(16)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.storage("s0", 2 * blocks * 1114112)
    c.group(["attn"], specs.attention(544, 2, 256))
    c.group(["linear"], specs.mamba(544, states, 1114112))
    c.group(["draft"], specs.attention(64, 2, 256, padded=1114112, dcp_sharded=False))
    for layer in ("attn", "linear", "draft"):
        c.place([layer], 0, 0, 1114112)
    c.cache("attn", tensor("s0", "bfloat16", [blocks * 17, 2, 32, 512]))
    c.page("attn", 0, 1114112, 1114112, k=17, slots=544, tokens=2176)
    c.cache("linear", tensor("s0", "int8", [blocks, 1, 1, 1085440], [1114112, 1085440, 1085440, 1]))
    c.page("linear", 0, 1114112, 1085440, 1114112, slots=544, tokens=544)
    c.cache("draft", tensor("s0", "bfloat16", [blocks, 2, 64, 512], [557056, 32768, 512, 1]))
    c.page("draft", 0, 1114112, 131072, 1114112, slots=64, tokens=64)
    c.chunk(2176)
    c.refuses("lmcache", "it multiplies all attention by dcp")


@case("vllm-project/vllm, a layout that the strides contradict", "0.26.0", "HND")
def layout_name_against_the_strides(c):
    """The engine says HND, the strides have tokens outside heads. The bytes decide: a block is the
    same 262,144 bytes, and what is shown as tokens are tokens."""
    blocks = c.blocks(15)
    for i, (pages, kernel) in enumerate(((2, 64), (1, 128))):
        c.storage(f"s{i}", blocks * 262144)
        c.group([f"attn.{i}"], specs.attention(128, 4, 128))
        c.cache(f"attn.{i}", tensor(f"s{i}", "bfloat16", [blocks * pages, 4, kernel, 256],
                                    [kernel * 1024, 256, 1024, 1]))
    c.page("attn.0", 0, 262144, 262144, k=2, slots=128, tokens=128,
           packed=view([15, 128, 1, 1024], [131072, 1024, 1024, 1], "bfloat16"))
    c.page("attn.1", 0, 262144, 262144, storage="s1", slots=128, tokens=128,
           native=view([15, 4, 128, 256], [131072, 256, 1024, 1], "bfloat16",
                       "block head token content"))


@case("vllm-project/vllm, as many heads as tokens", "0.26.0", "NHD")
def as_many_heads_as_block_tokens(c):
    """16 heads, 16 tokens, NHD. Strided as the layout says, axis 1 has the heads. Dense, it may be
    the physical [B, tokens, heads, C], or the layout may be wrong: the axes stay unnamed."""
    blocks = c.blocks(6)
    c.group(["attn.0", "attn.1"], specs.attention(16, 16, 64))
    for i, (stride, axes) in enumerate((([32768, 128, 2048, 1], "block head token content"),
                                        ([32768, 2048, 128, 1], "block opaque opaque opaque"))):
        c.storage(f"s{i}", blocks * 65536)
        c.cache(f"attn.{i}", tensor(f"s{i}", "bfloat16", [blocks, 16, 16, 128], stride))
        c.page(f"attn.{i}", 0, 65536, 65536, storage=f"s{i}", slots=16, tokens=16,
               native=view([6, 16, 16, 128], stride, "bfloat16", axes))


@case("vllm-project/vllm#51718", "0.28.0", "LBNHC")
def two_blocks_with_a_placement(c):
    """(2, 2, 16, 8, 128) with two blocks: ambiguous by shape; the placement says 65,536 bytes from
    block to block, so axis 1 is K and V. The planes of the second layer are told the same way."""
    c.blocks(2)
    c.storage("s0", 131072)
    c.storage("s1", 131072)
    c.group(["attn.0"], specs.attention(16, 8, 128))
    c.place(["attn.0"], 0, 0, 65536)
    c.cache("attn.0", tensor("s0", "bfloat16", [2, 2, 16, 8, 128]))
    c.page("attn.0", 0, 65536, 65536, slots=16, tokens=16,
           native=view([2, 2, 16, 8, 128], [32768, 16384, 1024, 128, 1], "bfloat16"))
    c.group(["attn.1"], specs.attention(16, 8, 128))
    c.place(["attn.1"], 0, 0, 32768, "s1")
    c.cache("attn.1", tensor("s1", "bfloat16", [2, 2, 16, 8, 128]))
    c.parts("attn.1", [ranges("s1", 0, 32768, (0, 32768), (65536, 32768))], slots=16, tokens=16)


@case("rebellions-sw/vllm-rbln", "0.20.0", "HND")
def six_axes_with_planes_outside(c):
    """[2, B, 8, 1, 1024, 128]: K and V planes, one group of query heads, blocks of 1,024 tokens."""
    blocks = c.blocks(12)
    plane = 8 * 1024 * 256
    c.storage("s0", 2 * blocks * plane, "rbln:0")
    c.group(["attn.0"], specs.old_attention(1024, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, blocks, 8, 1, 1024, 128]))
    c.parts("attn.0", [ranges("s0", 0, plane, (0, plane), (blocks * plane, plane))], slots=1024,
            tokens=1024)


@case("NVIDIA/TensorRT-LLM, block pools", "1.0")
def pool_of_blocks_of_all_layers(c):
    """A pool [blocks, layers, 2, heads · tokens · size]: a layer's tensor is one index of axis 1,
    K and V of a block adjacent, 3 · 131,072 bytes from block to block."""
    blocks = c.blocks(17)
    c.storage("s0", blocks * 3 * 131072)
    c.group([f"attn.{i}" for i in range(3)], specs.old_attention(32, 8, 128))
    for i in range(3):
        c.cache(f"attn.{i}", tensor("s0", "bfloat16", [blocks, 2, 32768], [196608, 32768, 1],
                                    i * 65536))
        c.page(f"attn.{i}", i * 131072, 3 * 131072, 131072, slots=32, tokens=32)


@case("sgl-project/sglang, MHATokenToKVPool", "0.5")
def pools_of_tokens(c):
    """K and V pools of (size + page, 8, 128): a kernel page is one token, 64 make a page. The first
    page is never given out, so there is one block more than size / 64."""
    blocks = c.blocks(21)
    c.storage("k0", blocks * 131072)
    c.storage("v0", blocks * 131072)
    c.group(["attn.0"], specs.old_attention(64, 8, 128))
    c.cache("attn.0", tensor("k0", "bfloat16", [blocks * 64, 8, 128]),
            tensor("v0", "bfloat16", [blocks * 64, 8, 128]))
    shown = view([21, 64, 8, 128], [65536, 1024, 128, 1], "bfloat16", "block token head content")
    c.parts("attn.0", [ranges("k0", 0, 131072, (0, 131072)), ranges("v0", 0, 131072, (0, 131072))],
            k=64, slots=64, tokens=64, native=[shown, shown])
    c.refuses("lmcache", "a list of tensors")


@case("sgl-project/sglang, one pool for K and V", "0.5")
def planes_of_tokens(c):
    """(2, tokens, 8, 128): K and V planes of a pool of tokens, 32 to a page."""
    blocks = c.blocks(27)
    c.storage("s0", 2 * blocks * 65536)
    c.group(["attn.0"], specs.old_attention(32, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, blocks * 32, 8, 128]))
    c.parts("attn.0", [ranges("s0", 0, 65536, (0, 65536), (blocks * 65536, 65536))], k=32,
            slots=32, tokens=32,
            native=view([2, 27, 32, 8, 128], [27 * 32768, 32768, 1024, 128, 1], "bfloat16",
                        "kv block token head content"))


@case("vllm-project/vllm#51718", "0.32.0", "LHBNC")
def heads_before_blocks_in_kernel_pages(c):
    """LHBNC, block 128 in 2 kernel pages of 64: for each of 4 heads one run of 128 · 512 bytes,
    19 blocks apart."""
    blocks = c.blocks(19)
    run = 128 * 512
    c.storage("s0", 4 * blocks * run)
    c.group(["attn.0"], specs.attention(128, 4, 128))
    c.place(["attn.0"], 0, 0, run)
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 2, 4, 64, 256],
                             [16384, blocks * run // 2, 256, 1]))
    c.parts("attn.0", [ranges("s0", 0, run, *[(head * blocks * run, run) for head in range(4)])],
            k=2, slots=128, tokens=128,
            native=view([19, 4, 128, 256], [32768, blocks * run // 2, 256, 1], "bfloat16",
                        "block head token content"))
    c.refuses("lmcache", "heads stand before blocks")


@case("vllm-project/vllm#51718", "0.32.0", "LHBNC")
def heads_before_blocks_without_placements(c):
    """Four heads of 23 blocks: only the second axis in memory makes up pages."""
    blocks = c.blocks(23)
    c.storage("s0", 4 * blocks * 4096)
    c.group(["attn.0"], specs.attention(16, 4, 64))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 4, 16, 128],
                             [2048, blocks * 2048, 128, 1]))
    c.parts("attn.0", [ranges("s0", 0, 4096, *[(head * blocks * 4096, 4096) for head in range(4)])],
            slots=16, tokens=16)
    c.refuses("lmcache", "heads stand before blocks")


@case("vllm-project/vllm-ascend, fractal format", "0.19.0")
def keys_and_values_in_tiles(c):
    """Ascend NZ: [B, heads · size / 16, 128, 16] for K and for V; the axes inside a block are tiles
    and nothing else."""
    blocks = c.blocks(14)
    plane = 128 * 1024 * 2
    for name in ("key", "value"):
        c.storage(name, blocks * plane, "npu:0")
    c.group(["attn.0"], specs.old_attention(128, 8, 128))
    c.cache("attn.0", tensor("key", "bfloat16", [blocks, 64, 128, 16]),
            tensor("value", "bfloat16", [blocks, 64, 128, 16]))
    c.parts("attn.0", [ranges("key", 0, plane, (0, plane)), ranges("value", 0, plane, (0, plane))],
            slots=128, tokens=128)


@case("vllm-project/vllm-ascend, int8 caches", "0.19.0")
def keys_values_and_scales_in_four_tensors(c):
    """K, V, and a float32 scale for each token and head of either: 2 · (16,384 + 512) bytes."""
    blocks = c.blocks(16)
    c.group(["attn.0"], specs.attention(16, 8, 128, "int8", content=264))
    tensors, parts = [], []
    for name, dtype, shape, length in (("k", "int8", [16, 8, 128], 16384),
                                       ("v", "int8", [16, 8, 128], 16384),
                                       ("ks", "float32", [16, 8], 512),
                                       ("vs", "float32", [16, 8], 512)):
        c.storage(name, blocks * length, "npu:0")
        tensors.append(tensor(name, dtype, [blocks, *shape]))
        parts.append(ranges(name, 0, length, (0, length)))
    c.cache("attn.0", *tensors)
    c.parts("attn.0", parts, slots=16, tokens=16)
    c.refuses("lmcache", "a list of tensors")


@case("vllm-project/vllm, int4 per token and head", "0.32.0", "LBNHC")
def four_bits_and_a_scale(c):
    """K and V of a head: 64 bytes each and a scale of 4: content of 136 bytes, kernel pages of 32."""
    blocks = c.blocks(13)
    page = 128 * 2 * 136
    c.storage("s0", blocks * page)
    c.group(["attn.0"], specs.attention(128, 2, 128, "uint8", content=136,
                                        kv_quant_mode="int4_per_token_head"))
    c.cache("attn.0", tensor("s0", "uint8", [blocks * 4, 2, 32, 136], [8704, 136, 272, 1]))
    c.page("attn.0", 0, page, page, k=4, slots=128, tokens=128,
           packed=view([13, 128, 1, 272], [page, 272, 272, 1], "uint8"))


@case("vllm-project/vllm, dense models on FlashInfer up to 0.25", "0.25.0", "HND")
def dense_rank5_in_kernel_pages(c):
    """[2·B, 2, 64, 8, 128] of a dense model with block 128, either memory order."""
    blocks = c.blocks(20)
    shape = [blocks * 2, 2, 64, 8, 128]
    c.group(["attn.0", "attn.1"], specs.old_attention(128, 8, 128))
    for i, order in enumerate(((0, 1, 3, 2, 4), (0, 1, 2, 3, 4))):
        c.storage(f"s{i}", blocks * 524288)
        c.cache(f"attn.{i}", tensor(f"s{i}", "bfloat16", shape, in_memory(shape, order)))
        packed = (view([20, 1, 128, 2048], [262144, 262144, 2048, 1], "bfloat16") if i == 0 else
                  view([20, 128, 1, 2048], [262144, 2048, 2048, 1], "bfloat16"))
        c.page(f"attn.{i}", 0, 524288, 524288, storage=f"s{i}", k=2, slots=128, tokens=128,
               packed=packed)


@case("vllm-project/vllm, one block", "0.32.0", "LBHNC")
def a_single_block(c):
    """One block of 4 kernel pages, and one that is not cut: no axis has as many entries as blocks
    could tell apart, and the bytes are the same however it is read."""
    c.blocks(1)
    c.storage("s0", 262144)
    c.storage("s1", 262144)
    c.group(["attn.0", "attn.1"], specs.attention(256, 2, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [4, 2, 64, 256]))
    c.cache("attn.1", tensor("s1", "bfloat16", [1, 2, 256, 256]))
    c.page("attn.0", 0, 262144, 262144, k=4, slots=256, tokens=256)
    c.page("attn.1", 0, 262144, 262144, storage="s1", slots=256, tokens=256)
