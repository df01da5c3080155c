"""What has no right answer: two readings, another allocation, another number of blocks, specs and
placements that do not belong to the tensors. Each states the one problem with its numbers."""

import specs
from case import case, tensor


@case("NVIDIA/Model-Optimizer#2084", "0.26.0", "NHD")
def refused_two_blocks_or_two_planes(c):
    """(2, 2, 16, 1, 16) with two blocks: K and V of each, or a plane of each."""
    c.blocks(2)
    c.storage("s0", 2048)
    c.group(["attn.0"], specs.old_attention(16, 1, 16))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, 2, 16, 1, 16]))
    c.refused("granularity-mismatch", "attn.0", "two blocks, or two planes",
              "Register with a placement", "1024 bytes", axis=0, other_axis=1, page_size_bytes=1024)


@case("NVIDIA/Model-Optimizer#2084", "0.26.0", "NHD")
def refused_two_blocks_or_two_planes_in_kernel_pages(c):
    """(2, 4, 16, 8, 128) with two blocks of 32 tokens: two kernel pages a block and plane, or the
    first axis has the blocks. Refused even though kernel pages would fit a rule."""
    c.blocks(2)
    c.storage("s0", 262144)
    c.group(["attn.0"], specs.old_attention(32, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [2, 4, 16, 8, 128]))
    c.refused("granularity-mismatch", "attn.0", "axis 1 (4 entries, 2 a block)",
              "Register with a placement", axis=0, other_axis=1, page_size_bytes=131072)


@case("vllm-project/vllm#51718", "0.32.0", "LHBNC")
def refused_as_many_heads_as_blocks(c):
    """LHBNC, 8 heads and 8 blocks, no placement."""
    c.blocks(8)
    c.storage("s0", 8 * 32768)
    c.group(["attn.0"], specs.attention(16, 8, 64))
    c.cache("attn.0", tensor("s0", "bfloat16", [8, 8, 16, 128], [2048, 16384, 128, 1]))
    c.refused("granularity-mismatch", "attn.0", "layout LHBNC puts heads before blocks",
              "Register with a placement", axis=1, other_axis=0, page_size_bytes=32768)


@case("dingodb/DingoCache#234", "0.26.0", "LBHNC")
def refused_tensor_is_the_whole_allocation(c):
    """One tensor for all 20 layers, (B, 20, 2, 16, 8, 128), registered as each of them."""
    blocks = c.blocks(9)
    c.storage("s0", blocks * 20 * 65536)
    c.group(["attn.0", "attn.1"], specs.old_attention(16, 8, 128))
    for layer in ("attn.0", "attn.1"):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, 20, 2, 16, 8, 128]))
    c.refused("not-tiled", "attn.0", "11796480 bytes in all, 20 times its 9 pages",
              "register each layer's own view", page_size_bytes=65536, nearest=1310720)


@case("vllm-project/vllm, one int8 buffer for all groups", "0.32.0", "LBHNC")
def refused_flat_buffer_of_all_layers(c):
    """The raw int8 buffer itself, without axes."""
    blocks = c.blocks(9)
    c.storage("s0", blocks * 20 * 65536)
    c.group(["attn.0"], specs.attention(16, 8, 128))
    c.cache("attn.0", tensor("s0", "int8", [blocks * 20 * 65536]))
    c.refused("block-count", "attn.0", "11796480 bytes in all, 20 times its 9 pages",
              "register each layer's own view", entries=11796480, needed=589824, num_blocks=9,
              page_size_bytes=65536)


@case("vllm-project/vllm, recurrent layers of one pool", "0.28.0", "LBNHC")
def refused_state_row_is_the_whole_allocation(c):
    """(9, 1, 1, 6 · 1114112): the row of each block holds the pages of six layers."""
    blocks = c.blocks(9)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.storage("s0", blocks * 6684672)
    c.group(["linear.0"], specs.mamba(544, states, 1114112))
    c.cache("linear.0", tensor("s0", "int8", [blocks, 1, 1, 6684672]))
    c.refused("not-tiled", "linear.0", "60162048 bytes in all, 6 times its 9 pages",
              "the states alone have 1085440", "register each layer's own view",
              page_size_bytes=1114112, nearest=6684672)


@case("vllm-project/vllm, int8 per token and head", "0.25.0", "NHD")
def refused_scales_nobody_declared(c):
    """[B, 2, 16, 4, 128] of int8 shows 16,384 of 16,896 bytes; no page_size_padded says so."""
    blocks = c.blocks(20)
    c.storage("s0", blocks * 16896)
    c.group(["attn.0"], specs.old_attention(16, 4, 128, "int8", page_size_bytes=16896))
    c.cache("attn.0", tensor("s0", "int8", [blocks, 2, 16, 4, 128], [16896, 8192, 512, 128, 1]))
    c.refused("not-tiled", "attn.0", "Blocks are 16896 bytes apart",
              "must declare it (page_size_padded)", page_size_bytes=16896, nearest=16384)


@case("LMCache/LMCache#5042, a fork without tokens_per_state", "0.26.0")
def refused_compression_nobody_declared(c):
    """The spec says 784 tokens of 256 bytes, the tensor keeps a state for 4 tokens: (B, 196,
    128)."""
    blocks = c.blocks(30)
    c.storage("s0", blocks * 50176)
    c.group(["keys.0"], specs.old_latent(784, 128, "float16"))
    c.cache("keys.0", tensor("s0", "float16", [blocks, 196, 128]))
    c.refused("block-count", "keys.0", "50176 bytes where the page has 200704", "tokens_per_state",
              entries=30, needed=120, num_blocks=30, page_size_bytes=200704)


@case("LMCache/LMCache, GLM-5.3-Flash on Hopper", "0.29.0", "LBHNC")
def refused_width_of_another_spec(c):
    """Width 256 where the spec has 512: 18 pages of 32,768 bytes are half of 1,179,648."""
    blocks = c.blocks(8)
    c.storage("s0", blocks * 589824)
    c.group(["mla.0"], specs.latent(1152, 512))
    c.cache("mla.0", tensor("s0", "bfloat16", [blocks * 18, 1, 64, 256]))
    c.refused("block-count", "mla.0", "18 of 32768 bytes for each of 8 blocks: 589824 bytes",
              "check num_blocks, dtype and shape", entries=144, needed=288, num_blocks=8,
              page_size_bytes=1179648)


@case("LMCache/LMCache#4253", "0.26.0", "HND")
def refused_page_of_two_bytes_more(c):
    """25 kernel pages of 131,072 bytes and a page of 3,276,802."""
    blocks = c.blocks(4)
    c.storage("s0", blocks * 3276800)
    c.group(["attn.0"], specs.old_attention(1600, 2, 256, page_size_bytes=3276802))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 25, 2, 64, 512]))
    c.refused("not-tiled", "attn.0", "25 for each of 4 blocks: 3276800 bytes",
              "check page_size_bytes", page_size_bytes=3276802, nearest=131072)


@case("LMCache/LMCache#4253", "0.26.0", "HND")
def refused_page_doubled(c):
    """The page says 50 kernel pages, the pool has 25 for each block."""
    blocks = c.blocks(4)
    c.storage("s0", blocks * 3276800)
    c.group(["attn.0"], specs.old_attention(1600, 2, 256, page_size_bytes=6553600))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 25, 2, 64, 512]))
    c.refused("block-count", "attn.0", "25 of 131072 bytes for each of 4 blocks: 3276800 bytes",
              "check num_blocks", entries=100, needed=200, num_blocks=4, page_size_bytes=6553600)


@case("vllm-project/tpu-inference#2416", "0.26.0", "NHD")
def refused_states_of_another_number_of_blocks(c):
    """Attention has 400 blocks, the states 65, and the group does not say so."""
    blocks = c.blocks(400)
    c.storage("attn", blocks * 65536)
    c.storage("ssm", 65 * 1114112)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.group(["attn.0"], specs.old_attention(16, 8, 128))
    c.cache("attn.0", tensor("attn", "bfloat16", [blocks, 16, 16, 128]))
    c.group(["linear.0"], specs.mamba(544, states, 1114112))
    c.cache("linear.0", tensor("ssm", "int8", [65, 1, 1, 1085440], [1114112, 1085440, 1085440, 1]))
    c.refused("block-count", "linear.0", "of group 1", "The tensor holds 65 blocks",
              "its own num_blocks", group=1, entries=65, needed=400, num_blocks=400)


@case("vllm-project/vllm, extensible caches", "0.29.0", "LBHNC")
def refused_prefix_of_a_growing_cache(c):
    """Only the committed prefix is registered: 96 of 128 blocks."""
    c.blocks(128)
    c.storage("s0", 96 * 65536)
    c.group(["attn.0"], specs.attention(16, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [96, 8, 16, 256]))
    c.refused("block-count", "attn.0", "The tensor holds 96 blocks", "its own num_blocks",
              entries=96, needed=128, num_blocks=128)


@case("vllm-project/vllm-gaudi#1450", "0.27.0", "NHD")
def refused_keys_and_values_of_other_blocks(c):
    """Keys for 21 blocks, values for 20."""
    blocks = c.blocks(21)
    c.storage("key", blocks * 262144)
    c.storage("value", blocks * 262144)
    c.group(["attn.0"], specs.old_attention(128, 8, 128))
    c.cache("attn.0", tensor("key", "bfloat16", [21, 128, 8, 128]),
            tensor("value", "bfloat16", [20, 128, 8, 128]))
    c.refused("block-count", "attn.0", "tensor 1",
              "its outermost axis has 20 entries, that of tensor 0 21", entries=20,
              entries_of_first=21, num_blocks=21)


def placed(c, offset=0, layer_stride=376832, block_stride=16384, storage="s0"):
    """Two layers of 23 pages of 16,384 bytes behind each other, placed as given."""
    blocks = c.blocks(23)
    layers = ["attn.0", "attn.1"]
    c.storage("s0", 2 * blocks * 16384)
    c.storage("s1", 2 * blocks * 16384)
    c.group(layers, specs.attention(16, 4, 64))
    c.place(layers, offset, layer_stride, block_stride, storage)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, 4, 16, 128], None, i * blocks * 8192))


@case("vllm-project/vllm-gaudi#1751", "0.29.0", "LBHNC")
def refused_placement_of_another_layer(c):
    """layer_stride 16,384 puts layer 1 where block 1 of layer 0 is."""
    placed(c, layer_stride=16384)
    c.refused("placement-mismatch", "attn.1",
              "starts at byte 376832 of storage s0 and the placement puts it at 16384",
              registered=376832, placed=16384)


@case("vllm-project/vllm#51718", "0.32.0", "LBHNC")
def refused_placement_with_another_block_stride(c):
    """The placement moves 24,576 bytes from block to block, the tensor 16,384."""
    placed(c, block_stride=24576)
    c.refused("placement-mismatch", "attn.0", "and 1 more like it of group 0",
              "of different engines or moments", block_stride=24576, entry_stride=16384,
              kernel_pages=1)


@case("vllm-project/vllm#51718", "0.32.0", "BLHNC")
def refused_placement_with_twice_the_block_stride(c):
    """The placement moves 32,768 bytes: two entries would be 32,768 bytes for a page of 16,384."""
    placed(c, block_stride=32768)
    c.refused("placement-mismatch", "attn.0", "and 1 more like it of group 0",
              "of different engines or moments", block_stride=32768, entry_stride=16384,
              kernel_pages=1)


@case("vllm-project/vllm#51718", "0.32.0", "LBHNC")
def refused_placement_in_another_storage(c):
    placed(c, storage="s1")
    c.refused("placement-mismatch", "attn.0", "registered in storage s0 and placed in storage s1",
              registered="s0", placed="s1")


@case("vllm-project/vllm#51718", "0.32.0", "LBHNC")
def refused_layers_of_a_group_over_each_other(c):
    """Two layers of one group, the second half a page further on."""
    blocks = c.blocks(10)
    c.storage("s0", (blocks + 1) * 65536)
    c.group(["attn.0", "attn.1"], specs.attention(16, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 8, 16, 256]))
    c.cache("attn.1", tensor("s0", "bfloat16", [blocks, 8, 16, 256], None, 16384))
    c.refused("overlap", "attn.1", "of the same group",
              "check offset, block stride and page_size_bytes", storage="s0", begin=32768,
              end=688128, other="attn.0", other_begin=0, other_end=655360)


@case("vllm-project/vllm-ascend#16564", "0.27.0", "LBHNC")
def refused_leaves_over_each_other(c):
    """A latent and an indexer of one wrapper at the same first byte."""
    blocks = c.blocks(10)
    c.storage("s0", blocks * 41984)
    leaves = {"mla.0": specs.latent(64, 656, "uint8"), "indexer.0": specs.latent(64, 132, "uint8")}
    c.group(list(leaves), specs.uniform(64, 41984 + 8448), leaves)
    for layer, width in (("mla.0", 656), ("indexer.0", 132)):
        c.cache(layer, tensor("s0", "uint8", [blocks, 1, 64, width]))
    c.refused("overlap", "indexer.0", "of the same group",
              "check offset, block stride and page_size_bytes", storage="s0", begin=0, end=84480,
              other="mla.0", other_begin=0, other_end=419840)


@case("vllm-project/vllm#51718", "0.32.0", "LBHNC")
def refused_blocks_over_each_other(c):
    """Blocks 32,768 bytes apart with pages of 65,536: block n ends in the middle of block n+1."""
    blocks = c.blocks(10)
    c.storage("s0", blocks * 65536)
    c.group(["attn.0"], specs.attention(16, 8, 128))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 8, 16, 256], [16384, 4096, 256, 1]))
    c.refused("overlap", "attn.0", "blocks are 32768 bytes apart and each owns a page of 65536",
              block_stride=32768, page_size_bytes=65536)


@case("vllm-project/vllm, CircularBufferSpec", "0.29.0", "LBHNC")
def refused_kernel_pages_of_unknown_kind(c):
    """A ring in kernel pages: 4 of 4,096 bytes a block. No standard rule claims what it does not
    know."""
    blocks = c.blocks(10)
    c.storage("s0", blocks * 16384)
    c.group(["ring.0"], specs.ring(64, 16384))
    c.cache("ring.0", tensor("s0", "bfloat16", [blocks * 4, 1, 16, 128]))
    c.refused("granularity-mismatch", "ring.0", "4 of 40 make a block",
              "Add a rule pack that claims this layout", kernel_pages=4, kernel_page_bytes=4096,
              page_size_bytes=16384)


@case("LMCache/LMCache#5002", "0.28.0", "LBHNC")
def refused_layer_without_a_cache(c):
    """An indexer of the group was not registered."""
    blocks = c.blocks(10)
    c.storage("s0", blocks * 41984)
    leaves = {"mla.0": specs.latent(64, 656, "uint8"), "indexer.0": specs.latent(64, 132, "uint8")}
    c.group(list(leaves), specs.uniform(64, 41984 + 8448), leaves)
    c.cache("mla.0", tensor("s0", "uint8", [blocks, 1, 64, 656]))
    c.refused("missing-cache", "indexer.0", "register it, or exclude its group")


@case("vllm-project/vllm#55622", "0.29.0", "LBHNC")
def refused_draft_layer_of_no_group(c):
    """A drafter registered its cache, and no group has it."""
    blocks = c.blocks(10)
    c.storage("s0", blocks * 65536)
    c.storage("s1", blocks * 65536)
    c.group(["attn.0"], specs.attention(16, 8, 128))
    for layer, storage in (("attn.0", "s0"), ("draft.0", "s1")):
        c.cache(layer, tensor(storage, "bfloat16", [blocks, 8, 16, 256]))
    c.refused("missing-spec", "draft.0", "Give it a group and a spec, or leave it out", group=-1)


@case("vllm-project/vllm#54678", "0.29.0", "LBHNC")
def refused_wrapper_page_as_leaf(c):
    """The page of the wrapper, the sum of both leaves, was written into each leaf."""
    blocks = c.blocks(10)
    c.storage("s0", blocks * 2 * 41984)
    leaf = specs.latent(64, 656, "uint8", page_size_bytes=83968)
    leaves = {"mla.0": leaf, "mla.1": leaf}
    c.group(list(leaves), specs.uniform(64, 83968), leaves)
    for i, layer in enumerate(leaves):
        c.cache(layer, tensor("s0", "uint8", [blocks, 1, 64, 656], None, i * blocks * 41984))
    c.refused("bad-geometry", "mla.0", "the spec contradicts itself",
              unpadded_page_size_bytes=41984, page_size_bytes=83968)


@case("vllm-project/vllm, rows without their states", "0.28.0", "LBNHC")
def refused_row_short_of_its_states(c):
    """Rows of 1,048,576 bytes hold the ssm state and not the 36,864 of the convolution."""
    blocks = c.blocks(9)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.storage("s0", blocks * 1114112)
    c.group(["linear.0"], specs.mamba(544, states, 1114112))
    c.cache("linear.0", tensor("s0", "int8", [blocks, 1, 1, 1048576],
                               [1114112, 1048576, 1048576, 1]))
    c.refused("not-tiled", "linear.0", "fewer than the states' 1085440", page_size_bytes=1114112,
              nearest=1048576)


@case("vllm-project/vllm, tensors beyond their allocation", "0.28.0", "LBNHC")
def refused_last_page_beyond_the_storage(c):
    """The rows fit, the padding of the last page does not: 8 · 1,114,112 + 1,085,440 bytes."""
    blocks = c.blocks(9)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.storage("s0", 8 * 1114112 + 1085440)
    c.group(["linear.0"], specs.mamba(544, states, 1114112))
    c.cache("linear.0", tensor("s0", "int8", [blocks, 1, 1, 1085440],
                               [1114112, 1085440, 1085440, 1]))
    c.refused("bad-geometry", "linear.0", "all 9 pages lie in the storage, padding included",
              begin=0, end=10027008, nbytes=9998336)


@case("ai-dynamo/dynamo#13300", "0.25.0", "NHD")
def refused_mode_none_inside_a_hybrid(c):
    """mamba_cache_mode was left at its default."""
    blocks = c.blocks(9)
    c.storage("s0", blocks * 1114112)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.group(["attn.0"], specs.old_attention(544, 2, 256))
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks * 17, 2, 32, 2, 256]))
    c.group(["linear.0", "linear.1"], specs.mamba(544, states, 1114112, "none"))
    for i in range(2):
        c.storage(f"m{i}", blocks * 1114112)
        c.cache(f"linear.{i}", tensor(f"m{i}", "int8", [blocks, 1, 1, 1085440],
                                      [1114112, 1085440, 1085440, 1]))
    c.refused("mamba-cache-mode", "linear.0", "group 1 (2 layers",
              "start the engine with mamba_cache_mode align or all", group=1,
              mamba_cache_mode="none")


@case("vllm-project/vllm#51718", "0.32.0", "LBHNC")
def refused_placements_over_each_other(c):
    """Tensors and placements agree, and both put layer 1 eight pages into layer 0."""
    blocks = c.blocks(23)
    layers = ["attn.0", "attn.1"]
    c.storage("s0", 31 * 16384)
    c.group(layers, specs.attention(16, 4, 64))
    c.place(layers, 0, 8 * 16384, 16384)
    for i, layer in enumerate(layers):
        c.cache(layer, tensor("s0", "bfloat16", [blocks, 4, 16, 128], None, i * 8 * 8192))
    c.refused("overlap", "attn.1", "of the same group", storage="s0", begin=131072, end=507904,
              other="attn.0", other_begin=0, other_end=376832)


@case("vllm-project/vllm-ascend#16261", "0.19.0")
def refused_planes_cut_differently(c):
    """Keys in 4 kernel pages a block, values in 2."""
    blocks = c.blocks(10)
    for name in ("key", "value"):
        c.storage(name, blocks * 262144, "npu:0")
    c.group(["attn.0"], specs.old_attention(512, 1, 256))
    c.cache("attn.0", tensor("key", "bfloat16", [blocks * 4, 128, 1, 256]),
            tensor("value", "bfloat16", [blocks * 2, 256, 1, 256]))
    c.refused("block-count", "attn.0", "tensor 1 and tensor 0 do not count the same 10 blocks",
              entries=20, entries_of_first=40, num_blocks=10)


@case("sgl-project/sglang, pools of tokens", "0.5")
def refused_pool_with_a_page_too_many(c):
    """(25 · 64 + 64) rows for 25 blocks: a whole page that no block id reaches is no tail."""
    c.blocks(25)
    c.storage("s0", 26 * 73728)
    c.group(["mla.0"], specs.old_latent(64, 576))
    c.cache("mla.0", tensor("s0", "bfloat16", [26 * 64, 1, 576]))
    c.refused("block-count", "mla.0", "The tensor holds 26 blocks", entries=1664, needed=1600,
              num_blocks=25)


@case("vllm-project/vllm-gaudi#1450", "0.29.0", "LBNHC")
def refused_placement_of_one_plane(c):
    """Keys are 32,768 bytes apart as the placement says, values 36,864."""
    blocks = c.blocks(11)
    c.storage("s0", blocks * (32768 + 36864))
    c.group(["attn.0"], specs.attention(16, 8, 128))
    c.place(["attn.0"], 0, 0, 32768)
    c.cache("attn.0", tensor("s0", "bfloat16", [blocks, 16, 8, 128]),
            tensor("s0", "bfloat16", [blocks, 16, 8, 128], [18432, 1024, 128, 1], blocks * 16384))
    c.refused("placement-mismatch", "attn.0", "axis 0 of tensor 1 36864 from entry to entry",
              block_stride=32768, entry_stride=36864, kernel_pages=1)
