"""Layers that share one allocation: axis orders, foreign pages between blocks, far offsets."""

import specs
from case import case, in_memory, ranges, tensor, view

LAYERS = ["layers.0.attn", "layers.1.attn", "layers.2.attn"]


def whole_cache(c, blocks, order, heads=4):
    """Three layers of 16 tokens and heads of 64 (4,096 bytes a head and block) as the engine lays
    out [L, B, H, N, C] when the axes lie in this order. Placements give where each page begins."""
    extents = (3, blocks, heads, 16, 128)
    steps = in_memory(extents, ["LBHNC".index(axis) for axis in order])
    c.blocks(blocks)
    c.storage("s0", 2 * 3 * blocks * heads * 2048)
    c.group(LAYERS, specs.attention(16, heads, 64))
    for i, layer in enumerate(LAYERS):
        c.cache(layer, tensor("s0", "bfloat16", extents[1:], steps[1:], i * steps[0]))
    return steps


@case("vllm-project/vllm#51718", "0.32.0", "LBNHC")
def arena_tokens_first(c):
    """LBNHC: a layer is one region of 23 pages of 16,384 bytes."""
    whole_cache(c, 23, "LBNHC")
    c.place(LAYERS, 0, 23 * 16384, 16384)
    for i, layer in enumerate(LAYERS):
        c.page(layer, i * 23 * 16384, 16384, 16384, slots=16, tokens=16)


@case("vllm-project/vllm#51718", "0.32.0", "BLHNC")
def arena_blocks_outermost(c):
    """BLHNC: the pages of three layers side by side make the block of 49,152 bytes."""
    whole_cache(c, 23, "BLHNC")
    c.place(LAYERS, 0, 16384, 49152)
    for i, layer in enumerate(LAYERS):
        c.page(layer, i * 16384, 49152, 16384, slots=16, tokens=16)


@case("vllm-project/vllm#51718", "0.27.0", "BLNHC")
def arena_blocks_outermost_without_placements(c):
    """BLNHC from an engine that gives no placements: strides alone say it."""
    whole_cache(c, 23, "BLNHC")
    for i, layer in enumerate(LAYERS):
        c.page(layer, i * 16384, 49152, 16384, slots=16, tokens=16)


@case("vllm-project/vllm#51718", "0.32.0", "LHBNC")
def arena_heads_before_blocks(c):
    """LHBNC: a block is one run of 4,096 bytes for each head, 23 · 4,096 bytes apart."""
    whole_cache(c, 23, "LHBNC")
    c.place(LAYERS, 0, 23 * 16384, 4096)
    for i, layer in enumerate(LAYERS):
        heads = [(head * 23 * 4096, 4096) for head in range(4)]
        c.parts(layer, [ranges("s0", i * 23 * 16384, 4096, *heads)], slots=16, tokens=16)
    c.refuses("lmcache", "heads stand before blocks")


@case("vllm-project/vllm#51718", "0.32.0", "LHBNC")
def arena_as_many_heads_as_blocks(c):
    """LHBNC with 8 heads and 8 blocks: both outer axes make up pages; the placement says which."""
    whole_cache(c, 8, "LHBNC", heads=8)
    c.place(LAYERS, 0, 8 * 32768, 4096)
    for i, layer in enumerate(LAYERS):
        heads = [(head * 8 * 4096, 4096) for head in range(8)]
        c.parts(layer, [ranges("s0", i * 8 * 32768, 4096, *heads)], slots=16, tokens=16)
    c.refuses("lmcache", "heads stand before blocks")


@case("vllm-project/vllm#51718", "0.32.0", "BHLNC")
def arena_layers_inside_heads(c):
    """BHLNC: within a block of 49,152 bytes each head has the 4,096 bytes of layer 0, 1, 2."""
    whole_cache(c, 23, "BHLNC")
    c.place(LAYERS, 0, 4096, 49152)
    for i, layer in enumerate(LAYERS):
        heads = [(head * 12288, 4096) for head in range(4)]
        c.parts(layer, [ranges("s0", i * 4096, 49152, *heads)], slots=16, tokens=16)
    c.refuses("lmcache", "heads stand before blocks")


@case("vllm-project/vllm#51718", "0.32.0", "BLHNC")
def arena_kernel_pages_in_one_layer(c):
    """A single layer under a blocks-outermost layout is dense, so it may be cut: 2 pages of 64."""
    blocks = c.blocks(26)
    c.storage("s0", blocks * 262144)
    c.group(["attn.0"], specs.attention(128, 4, 128))
    c.place(["attn.0"], 0, 262144, 262144)
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 2, 4, 64, 256]))
    c.page("attn.0", 0, 262144, 262144, k=2, slots=128, tokens=128,
           packed=view([26, 1, 128, 1024], [131072, 131072, 1024, 1], "bfloat16"))


STATES = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]


@case("vllm-project/vllm, KVCacheTensor.offset and block_stride", "0.26.0", "HND")
def state_lists_inside_an_arena(c):
    """Two recurrent layers and one attention layer of another group over an arena whose blocks have
    2 · 1,114,112 bytes. conv at the start of its page, ssm 36,864 bytes on; the second layer's page
    begins 1,114,112 bytes into the block."""
    blocks = c.blocks(9)
    page, stride = 1114112, 2228224
    c.storage("s0", blocks * stride)
    layers = ["linear.0", "linear.1"]
    c.group(layers, specs.mamba(544, STATES, page))
    for i, layer in enumerate(layers):
        c.cache(layer,
                tensor("s0", "bfloat16", [blocks, 3, 6144], [stride // 2, 6144, 1], i * page // 2),
                tensor("s0", "float32", [blocks, 16, 128, 128], [stride // 4, 16384, 128, 1],
                       (i * page + 36864) // 4))
        c.page(layer, i * page, stride, 1085440, page, slots=544, tokens=544,
               native=view([9, 2, 544, 1, 512], [stride // 2, 278528, 512, 512, 1], "bfloat16"))
    c.group(["attn.0"], specs.attention(544, 2, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 2, 544, 512], [stride // 2, 278528, 512, 1],
                             page // 2))
    c.page("attn.0", page, stride, page, slots=544, tokens=544)


@case("vllm-project/vllm, GLM-5.3-Flash", "0.29.0", "LBHNC")
def latent_region_then_indexer_region(c):
    """Two MLA layers of 1,179,648 bytes a block, then two indexers of 38,016; the states of a
    recurrent group lie over the first region, scratch tails over the second."""
    blocks = c.blocks(10)
    mla, indexer = 1179648, 38016
    second = 2 * blocks * mla
    c.storage("s0", second + 2 * blocks * indexer)
    leaves = {}
    for i in range(2):
        leaves[f"mla.{i}"] = specs.latent(1152, 512)
        leaves[f"indexer.{i}"] = specs.latent(1152, 132, "uint8", tokens_per_state=4)
        c.place([f"mla.{i}"], i * blocks * mla, 0, mla)
        c.cache(f"mla.{i}", tensor("s0", "bfloat16", [blocks * 18, 1, 64, 512], None,
                                   i * blocks * mla // 2))
        c.page(f"mla.{i}", i * blocks * mla, mla, mla, k=18, slots=1152, tokens=1152,
               native=view([10, 1, 1152, 512], [589824, 589824, 512, 1], "bfloat16"))
        base = second + i * blocks * indexer
        c.place([f"indexer.{i}"], base, 0, indexer)
        c.cache(f"indexer.{i}", tensor("s0", "uint8", [blocks * 9, 1, 32, 132], None, base))
        c.page(f"indexer.{i}", base, indexer, indexer, k=9, slots=288, tokens=1152,
               native=view([10, 1, 288, 132], [indexer, indexer, 132, 1], "uint8"))
    c.group(list(leaves), specs.uniform(1152, 2 * (mla + indexer)), leaves)
    c.group(["kda.0"], specs.mamba(1152, [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")],
                                   mla))
    c.place(["kda.0"], 0, 0, mla)
    c.cache("kda.0", tensor("s0", "int8", [blocks, 1, 1, 1085440], [mla, 1085440, 1085440, 1]))
    c.page("kda.0", 0, mla, 1085440, mla, slots=1152, tokens=1152,
           native=view([10, 1, 1152, 944], [mla, 1152 * 944, 944, 1], "int8"))
    c.group(["tail.0"], specs.ring(4, indexer, page_size_padded=indexer,
                                   unpadded_page_size_bytes=1024))
    c.place(["tail.0"], second, 0, indexer)
    c.cache("tail.0", tensor("s0", "bfloat16", [blocks, 1, 4, 128], [19008, 512, 128, 1],
                             second // 2))
    c.page("tail.0", second, indexer, 1024, indexer, slots=4, tokens=4, outcome="scratch")
    c.chunk(1152)


@case("vllm-project/vllm, sub-tensors of other page sizes in a group", "0.32.0", "LBNHC")
def pages_of_two_sizes_in_one_group(c):
    """Leaves with 8 and with 2 heads: the regions of the second begin behind those of the first."""
    blocks = c.blocks(21)
    c.storage("s0", blocks * (2 * 32768 + 8192))
    leaves = {"wide.0": specs.attention(16, 8, 64), "wide.1": specs.attention(16, 8, 64),
              "narrow.0": specs.attention(16, 2, 64)}
    c.group(list(leaves), specs.uniform(16, 2 * 32768 + 8192, "full_attention"), leaves)
    c.place(["wide.0", "wide.1"], 0, blocks * 32768, 32768)
    c.place(["narrow.0"], 2 * blocks * 32768, 0, 8192)
    for layer, heads, base, page in (("wide.0", 8, 0, 32768), ("wide.1", 8, blocks * 32768, 32768),
                                     ("narrow.0", 2, 2 * blocks * 32768, 8192)):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, heads, 16, 128],
                              [page // 2, 128, heads * 128, 1], base // 2))
        c.page(layer, base, page, page, slots=16, tokens=16)


@case("vllm-project/vllm#57662", "0.32.0", "BLHNC")
def one_address_two_lengths(c):
    """DeepSeek-V4.1: a state cache of 8,448 bytes and a sliding cache of 37,440 begin at the same
    byte of every block, in groups of their own; a key of the address alone mixes them up."""
    blocks = c.blocks(30)
    c.storage("s0", blocks * 37440)
    c.group(["swa"], specs.latent(64, 584, "uint8", padded=37440, kind="sliding_window_mla",
                                  sliding_window=128, cache_dtype_str="fp8_ds_mla"))
    c.group(["state"], specs.latent(64, 132, "uint8"))
    c.place(["swa"], 0, 0, 37440)
    c.place(["state"], 0, 0, 37440)
    c.cache("swa", tensor("s0", "uint8", [blocks, 1, 64, 584], [37440, 37376, 584, 1]))
    c.page("swa", 0, 37440, 37376, 37440, slots=64, tokens=64)
    c.cache("state", tensor("s0", "uint8", [blocks, 1, 64, 132], [37440, 8448, 132, 1]))
    c.page("state", 0, 37440, 8448, slots=64, tokens=64)


@case("vllm-project/vllm-gaudi#1751", "0.29.0", "LBHNC")
def listed_layers_are_distinct_regions(c):
    """One placement lists four layers: the fourth lies three regions behind the first."""
    blocks = c.blocks(20)
    layers = [f"attn.{i}" for i in range(4)]
    c.storage("s0", 4 * blocks * 16384)
    c.group(layers, specs.attention(16, 2, 128))
    c.place(layers, 0, blocks * 16384, 16384)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, 2, 16, 256], None, i * blocks * 8192))
        c.page(layer, i * blocks * 16384, 16384, 16384, slots=16, tokens=16)


@case("public LMCache fork, offsets beyond 2 GiB", "0.32.0", "LBHNC")
def pages_beyond_two_gigabytes(c):
    """2,200 pages of 1,007,616 bytes; page 2,198 begins at byte 2,214,739,968, beyond 2^31."""
    blocks = c.blocks(2200)
    states = [((3, 4608), "bfloat16"), ((12, 128, 128), "float32")]
    c.storage("s0", 2 * blocks * 1007616)
    c.group(["kda.0", "kda.1"], specs.mamba(1536, states, 1007616))
    c.place(["kda.0", "kda.1"], 0, blocks * 1007616, 1007616)
    for i in range(2):  # the second begins beyond 2^31, its last page beyond 2^32
        base = i * blocks * 1007616
        c.cache(f"kda.{i}", tensor("s0", "int8", [blocks, 1, 1, 814080],
                                   [1007616, 814080, 814080, 1], base))
        c.page(f"kda.{i}", base, 1007616, 814080, 1007616, slots=1536, tokens=1536,
               native=view([2200, 1, 1536, 544], [1007616, 1536 * 544, 544, 1], "int8"))


@case("llm-d, Nemotron-3-Nano rows", "0.28.0", "LBNHC")
def rows_beyond_four_gigabytes(c):
    """(5542, 1, 1, 1085440), 1,097,728 bytes from row to row, block 1072 tokens of 1,024 bytes: the
    storage has 6,083,608,576 bytes."""
    blocks = c.blocks(5542)
    c.storage("s0", 6083608576)
    states = [((3, 6144), "bfloat16"), ((64, 64, 128), "bfloat16")]
    c.group(["mixer.0"], specs.mamba(1072, states, 1097728))
    c.cache("mixer.0", tensor("s0", "int8", [blocks, 1, 1, 1085440],
                              [1097728, 1085440, 1085440, 1]))
    c.page("mixer.0", 0, 1097728, 1085440, 1097728, slots=1072, tokens=1072,
           native=view([5542, 1072, 1, 1024], [1097728, 1024, 1024, 1], "int8"))


@case("vllm-project/vllm, DeepSeek-V3.2 with 79 MLA layers and 22 indexers", "0.28.0", "LBHNC")
def leaves_of_a_cache_of_130_gigabytes(c):
    """42,072 blocks of 79 · 36,864 + 22 · 8,448 bytes: 130,343,768,064 in one allocation. First and
    last layer of either kind; the wrapper's page is no leaf's."""
    blocks = c.blocks(42072)
    c.storage("s0", 130343768064)
    mla, indexer = blocks * 36864, blocks * 8448
    leaves = {}
    for layer, base, width, page in (("mla.0", 0, 576, 36864), ("mla.78", 78 * mla, 576, 36864),
                                     ("indexer.0", 79 * mla, 132, 8448),
                                     ("indexer.21", 79 * mla + 21 * indexer, 132, 8448)):
        leaves[layer] = specs.latent(64, width, "uint8")
        c.place([layer], base, 0, page)
        c.cache(layer, tensor("s0", "uint8", [blocks, 1, 64, width], None, base))
        c.page(layer, base, page, page, slots=64, tokens=64)
    c.group(list(leaves), specs.uniform(64, 3098112), leaves)


@case("dingodb/DingoCache#234", "0.26.0", "BLHNC")
def pool_of_about_a_megabyte_a_block(c):
    """DeepSeek-V4-Flash: every block of 1,039,680 bytes holds an indexer page of 8,448, an
    attention page of 37,376 and four sliding pages of 37,376 behind each other, 259,920 bytes
    apart. The page is the spec's, not the region over the number of blocks."""
    blocks = c.blocks(24)
    stride = 1039680  # 4 · 259,920
    c.storage("s0", blocks * stride)
    leaves = {"indexer": specs.latent(256, 132, "uint8", tokens_per_state=4),
              "attn": specs.latent(256, 584, "uint8", tokens_per_state=4)}
    for layer, base, width, page in (("indexer", 37376, 132, 8448), ("attn", 0, 584, 37376)):
        c.cache(layer, tensor("s0", "uint8", [blocks, 64, width], [stride, width, 1], base))
        c.page(layer, base, stride, page, slots=64, tokens=256)
    c.group(list(leaves), specs.uniform(256, 37376 + 8448), leaves)
    sliding = [f"swa.{i}" for i in range(4)]
    c.group(sliding, specs.latent(64, 584, "uint8", kind="sliding_window_mla", sliding_window=128))
    for i, layer in enumerate(sliding):
        c.cache(layer, tensor("s0", "uint8", [blocks, 64, 584], [stride, 584, 1], i * 259920))
        c.page(layer, i * 259920, stride, 37376, slots=64, tokens=64)
    c.chunk(256)


@case("vllm-project/vllm, HiSparse", "0.32.0", "BLHNC")
def resident_hot_and_source_pages(c):
    """Resident indexer pages are a strided view of the device arena (block 16,896 bytes), hot pages
    have no view of their own, and the source pool is host memory with 77 blocks of its own."""
    blocks = c.blocks(40)
    c.storage("device", blocks * 16896)
    c.storage("host", 77 * 41984, "cpu")
    c.group(["resident"], specs.latent(64, 132, "uint8"))
    c.place(["resident"], 8448, 0, 16896, "device")
    c.cache("resident", tensor("device", "uint8", [blocks, 1, 64, 132], [16896, 8448, 132, 1],
                               8448))
    c.page("resident", 8448, 16896, 8448, storage="device", slots=64, tokens=64)
    c.group(["hot"], specs.latent(64, 656, "uint8", has_layer_views=False, prefix_cacheable=False))
    c.excluded("hot")
    c.group(["source"], specs.latent(64, 656, "uint8"), host_resident=True, num_blocks=77)
    c.cache("source", tensor("host", "uint8", [77, 1, 64, 656]))
    c.page("source", 0, 41984, 41984, storage="host", blocks=77, slots=64, tokens=64)
    c.chunk(64)
    c.refuses("lmcache", "host memory taken for the device's")


@case("vllm-project/vllm, pipeline ranks", "0.32.0", "LBHNC", pp=4)
def rank_without_recurrent_layers(c):
    """The groups are those of the model, the layers those of the rank: the recurrent group and a
    wrapper are empty. Their blocks still count: lcm(544, 544, 128)."""
    blocks = c.blocks(12)
    c.storage("s0", blocks * 1114112)
    c.group([], specs.mamba(544, STATES, 1114112))
    c.group(["attn.0"], specs.attention(544, 2, 256))
    c.group([], specs.uniform(128, 0, "mla_attention", prefix_cacheable=True), {})
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 17, 2, 32, 512]))
    c.page("attn.0", 0, 1114112, 1114112, k=17, slots=544, tokens=544)
    c.chunk(2176)
