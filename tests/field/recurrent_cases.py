"""Recurrent states: rows that cannot be cut, lists, planes apart, numbers of blocks of their
own."""

import specs
from case import case, ranges, tensor, view

KDA_12 = [((3, 4608), "bfloat16"), ((12, 128, 128), "float32")]


@case("LMCache/LMCache#4729", "0.26.1rc1", "NHD")
def qwen_27b_int8_per_token_and_head(c):
    """(93, 1, 1, 3207168), 3,228,160 bytes from row to row = 1,552 tokens of 2,080 bytes: 4 heads
    of 256 + 256 int8 and 8 bytes of scales, so C is 520. Attention has 97 kernel pages of 16
    tokens."""
    blocks = c.blocks(93)
    page = 3228160
    c.storage("s0", blocks * page)
    c.group(["linear.0"], specs.mamba(1552, [((3, 10240), "bfloat16"), ((48, 128, 128), "float32")],
                                      page))
    c.cache("linear.0", tensor("s0", "int8", [blocks, 1, 1, 3207168], [page, 3207168, 3207168, 1]))
    c.page("linear.0", 0, page, 3207168, page, slots=1552, tokens=1552,
           native=view([93, 1552, 1, 2080], [page, 2080, 2080, 1], "int8"))
    c.group(["attn.0"], specs.attention(1552, 4, 256, "int8", content=520,
                                        kv_quant_mode="int8_per_token_head"))
    c.cache("attn.0", tensor("s0", "int8", [blocks * 97, 4, 16, 520], [33280, 520, 2080, 1]))
    c.page("attn.0", 0, page, page, k=97, slots=1552, tokens=1552,
           native=view([93, 2, 1552, 1, 1040], [page, page // 2, 1040, 1040, 1], "int8"),
           packed=view([93, 1552, 1, 2080], [page, 2080, 2080, 1], "int8"))


@case("InferenceX recipe for Kimi-K3 on MI355X", "0.28.0", "LBNHC")
def kimi_k3_exact_rows(c):
    """1,974 blocks of 832,512 bytes, 1,643,378,688 in all: 1,536 tokens of 542 bytes exactly."""
    blocks = c.blocks(1974)
    c.storage("s0", 1643378688)
    spec = specs.mamba(1536, [((7, 6576), "bfloat16"), ((740448,), "uint8")], kind="kda")
    c.group(["kda.0"], spec)
    c.cache("kda.0", tensor("s0", "int8", [blocks, 1, 1, 832512]))
    c.page("kda.0", 0, 832512, 832512, slots=1536, tokens=1536,
           native=view([1974, 1536, 1, 542], [832512, 542, 542, 1], "int8"))


@case("InferenceX recipe for Kimi-K3 on MI355X", "0.28.0", "LBNHC")
def kimi_k3_rows_that_do_not_divide(c):
    """The same rows under a forced block of 4,608 tokens, 180.67 bytes each: one slot."""
    blocks = c.blocks(1974)
    c.storage("s0", 1643378688)
    spec = specs.mamba(4608, [((7, 6576), "bfloat16"), ((740448,), "uint8")], kind="kda")
    c.group(["kda.0"], spec)
    c.cache("kda.0", tensor("s0", "int8", [blocks, 1, 1, 832512]))
    c.page("kda.0", 0, 832512, 832512, slots=1, tokens=4608,
           native=view([1974, 1, 1, 832512], [832512, 832512, 832512, 1], "int8"))


@case("InferenceX recipe for Kimi-K3 on MI355X", "0.28.0", "LBNHC", dcp=8)
def kimi_k3_padded_rows_under_dcp(c):
    """Rows of 814,080 bytes in pages of 1,007,616: 4,608 slots of 192 bytes fit. DCP 8 scales the
    latent group, 1,536 · 8 = 12,288, not the states, 24,576; the smallest chunk has both."""
    blocks = c.blocks(40)
    page = 1007616
    c.storage("s0", blocks * page)
    c.group(["kda.0"], specs.mamba(24576, KDA_12, page, kind="kda"))
    c.cache("kda.0", tensor("s0", "int8", [blocks, 1, 1, 814080], [page, 814080, 814080, 1]))
    c.page("kda.0", 0, page, 814080, page, slots=24576, tokens=24576,
           native=view([40, 24576, 1, 40], [page, 40, 40, 1], "int8"))
    c.group(["kda.4608"], specs.mamba(4608, KDA_12, page, kind="kda"))
    c.cache("kda.4608", tensor("s0", "int8", [blocks, 1, 1, 814080], [page, 814080, 814080, 1]))
    c.page("kda.4608", 0, page, 814080, page, slots=4608, tokens=4608,
           native=view([40, 4608, 1, 192], [page, 192, 192, 1], "int8"))
    c.group(["mla.0"], specs.latent(1536, 328))  # 656 bytes a token
    c.cache("mla.0", tensor("s0", "bfloat16", [blocks * 24, 1, 64, 328]))
    c.page("mla.0", 0, page, page, k=24, slots=1536, tokens=12288)
    c.chunk(73728)  # lcm(24576, 4608, 12288)


@case("MiaAI-Lab, boot log of GLM-5.3-Flash", "0.29.0", "LBHNC")
def pages_of_a_boot_log(c):
    """Block 3,584: indexer pages of 118,272 = 896 · 132 bytes, state pages of 2,351,104 = 3,584 ·
    656, tails of 4 tokens in pages of 118,272."""
    blocks = c.blocks(14)
    c.storage("states", blocks * 2351104)
    c.storage("indexer", blocks * 118272)
    c.group(["kda.0"], specs.mamba(3584, [((3, 12288), "bfloat16"), ((32, 128, 128), "float32")],
                                   2351104, kind="kda"))
    c.cache("kda.0", tensor("states", "int8", [blocks, 1, 1, 2170880],
                            [2351104, 2170880, 2170880, 1]))
    c.page("kda.0", 0, 2351104, 2170880, 2351104, storage="states", slots=3584, tokens=3584,
           native=view([14, 1, 3584, 608], [2351104, 3584 * 608, 608, 1], "int8"))
    c.group(["mla.0"], specs.latent(3584, 656, "uint8"))
    c.cache("mla.0", tensor("states", "uint8", [blocks * 56, 1, 64, 656]))
    c.page("mla.0", 0, 2351104, 2351104, storage="states", k=56, slots=3584, tokens=3584)
    leaves = {"indexer.0": specs.latent(3584, 132, "uint8", tokens_per_state=4)}
    c.group(list(leaves), specs.uniform(3584, 22 * 118272), leaves)
    c.cache("indexer.0", tensor("indexer", "uint8", [blocks * 14, 1, 64, 132]))
    c.page("indexer.0", 0, 118272, 118272, storage="indexer", k=14, slots=896, tokens=3584)
    c.group(["tail.0"], specs.ring(4, 118272, "KpoolTailSpec", page_size_padded=118272,
                                   unpadded_page_size_bytes=1024))
    c.cache("tail.0", tensor("indexer", "bfloat16", [blocks, 1, 4, 128], [59136, 512, 128, 1]))
    c.page("tail.0", 0, 118272, 1024, 118272, storage="indexer", slots=4, tokens=4,
           outcome="scratch")
    c.chunk(3584)


@case("vllm-project/vllm-ascend#6887, ModelEngine/UCM#1075", "0.19.0")
def states_and_keys_in_pools_of_planes(c):
    """Qwen3-Next TP4 on NPU: three tensors a pool, [pad|conv], [K|ssm], [pad|V]. A plane of a block
    has 262,144 bytes = 512 tokens of 512; conv has 12,288 and lies at the end of its slot."""
    blocks = c.blocks(10)
    for name in ("conv", "ssm", "value"):
        c.storage(name, blocks * 262144, "npu:0")
    states = [((3, 2048), "bfloat16"), ((8, 128, 128), "bfloat16")]
    c.group(["linear.0"], specs.mamba(512, states, 524288))
    c.cache("linear.0",
            tensor("conv", "bfloat16", [blocks, 3, 2048], [131072, 2048, 1], 124928),
            tensor("ssm", "bfloat16", [blocks, 8, 128, 128]))
    c.parts("linear.0", [ranges("conv", 249856, 262144, (0, 12288)),
                         ranges("ssm", 0, 262144, (0, 262144))], slots=1, tokens=512)
    c.group(["attn.0"], specs.old_attention(512, 1, 256))
    c.cache("attn.0", tensor("ssm", "bfloat16", [blocks, 512, 1, 256]),
            tensor("value", "bfloat16", [blocks, 512, 1, 256]))
    c.parts("attn.0", [ranges("ssm", 0, 262144, (0, 262144)),
                       ranges("value", 0, 262144, (0, 262144))], slots=512, tokens=512)
    c.refuses("lmcache", "states in a list")


@case("vllm-project/vllm-ascend#16261", "0.19.0")
def keys_and_values_apart_in_kernel_pages(c):
    """The attention layers of the same model with kernel pages of 128 tokens: 4 a block and
    plane."""
    blocks = c.blocks(10)
    for name in ("key", "value"):
        c.storage(name, blocks * 262144, "npu:0")
    c.group(["attn.0"], specs.old_attention(512, 1, 256))
    c.cache("attn.0", tensor("key", "bfloat16", [blocks * 4, 128, 1, 256]),
            tensor("value", "bfloat16", [blocks * 4, 128, 1, 256]))
    c.parts("attn.0", [ranges("key", 0, 262144, (0, 262144)),
                       ranges("value", 0, 262144, (0, 262144))], k=4, slots=512, tokens=512)


@case("vllm-project/tpu-inference#2416", "0.26.0", "NHD")
def states_with_blocks_of_their_own(c):
    """TPU: a state for each of 64 running requests and one more, 65 blocks; attention has 400."""
    blocks = c.blocks(400)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.storage("attn", blocks * 65536, "tpu:0")
    c.storage("conv", 65 * 36864, "tpu:0")
    c.storage("ssm", 65 * 1048576, "tpu:0")
    c.group(["attn.0"], specs.old_attention(16, 8, 128))
    c.cache("attn.0", tensor("attn", "bfloat16", [blocks, 16, 16, 128]))  # K, V in turns
    c.page("attn.0", 0, 65536, 65536, storage="attn", slots=16, tokens=16)
    c.group(["linear.0"], specs.mamba(544, states), num_blocks=65)
    c.cache("linear.0", tensor("conv", "bfloat16", [65, 3, 6144]),
            tensor("ssm", "float32", [65, 16, 128, 128]))
    c.parts("linear.0", [ranges("conv", 0, 36864, (0, 36864)),
                         ranges("ssm", 0, 1048576, (0, 1048576))], blocks=65, slots=1, tokens=544)
    c.refuses("lmcache", "a list of tensors")


@case("vllm-project/vllm, KDA before its convolutions were fused", "0.25.0", "HND")
def three_convolutions_and_a_state(c):
    """q, k and v convolutions and the recurrent state, four tensors in one page of 552,960 bytes
    (480 tokens of 1,152): 3 · 6,144 + 524,288 bytes of states."""
    blocks = c.blocks(25)
    page = 552960
    conv = ((3, 1024), "bfloat16")
    c.storage("s0", blocks * page)
    c.group(["kda.0"], specs.mamba(480, [conv, conv, conv, ((8, 128, 128), "float32")], page,
                                   kind="kda"))
    c.cache("kda.0",
            *[tensor("s0", "bfloat16", [blocks, 3, 1024], [page // 2, 1024, 1], i * 3072)
              for i in range(3)],
            tensor("s0", "float32", [blocks, 8, 128, 128], [page // 4, 16384, 128, 1], 4608))
    c.page("kda.0", 0, page, 542720, page, slots=480, tokens=480,
           native=view([25, 2, 480, 1, 288], [276480, 138240, 288, 288, 1], "bfloat16"))


@case("vllm-project/vllm, lists that do not divide", "0.25.0", "NHD")
def list_that_cannot_be_cut(c):
    """Page 1,085,440 over 2 · 544 slots of bfloat16 is 498.8: the page is one slot."""
    blocks = c.blocks(13)
    page = 1085440
    c.storage("s0", blocks * page)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.group(["linear.0"], specs.mamba(544, states, mode="all"))
    c.cache("linear.0", tensor("s0", "bfloat16", [blocks, 3, 6144], [page // 2, 6144, 1]),
            tensor("s0", "float32", [blocks, 16, 128, 128], [page // 4, 16384, 128, 1], 9216))
    c.page("linear.0", 0, page, page, slots=1, tokens=544,
           native=view([13, 1, 542720], [542720, 542720, 1], "bfloat16"))


@case("vllm-project/vllm, convolution states with swapped axes", "0.25.0", "NHD")
def convolution_of_swapped_axes(c):
    """The conv state [B, dim, 3] as a transposed view of [B, 3, dim]: other strides, the same
    bytes."""
    blocks = c.blocks(18)
    page = 1114112
    c.storage("s0", blocks * page)
    states = [((6144, 3), "bfloat16"), ((16, 128, 128), "float32")]
    c.group(["linear.0"], specs.mamba(544, states, page))
    c.cache("linear.0", tensor("s0", "bfloat16", [blocks, 6144, 3], [page // 2, 1, 6144]),
            tensor("s0", "float32", [blocks, 16, 128, 128], [page // 4, 16384, 128, 1], 9216))
    c.page("linear.0", 0, page, 1085440, page, slots=544, tokens=544,
           native=view([18, 2, 544, 1, 512], [557056, 278528, 512, 512, 1], "bfloat16"))


@case("vllm-project/vllm#43626", "0.26.0", "NHD")
def states_with_a_block_smaller_than_their_page(c):
    """The state page is padded to a drafter's larger one and keeps its block of 272 tokens: pages
    of 1,114,112 bytes hold 274,432 bytes of states."""
    blocks = c.blocks(22)
    page = 1114112
    c.storage("s0", blocks * page)
    states = [((3, 2048), "bfloat16"), ((8, 128, 128), "bfloat16")]
    c.group(["linear.0"], specs.mamba(272, states, page))
    c.cache("linear.0", tensor("s0", "int8", [blocks, 1, 1, 274432], [page, 274432, 274432, 1]))
    c.page("linear.0", 0, page, 274432, page, slots=272, tokens=272,
           native=view([22, 272, 1, 1024], [page, 1024, 1024, 1], "int8"))


@case("PyTorch, axes of extent 1", "0.32.0", "LBHNC")
def strides_of_axes_of_extent_one(c):
    """An axis of one entry may carry any stride: they are left behind by slicing and permuting. A
    row, a latent and one K/V head, each with its odd strides; and one block only of a fourth
    group."""
    blocks = c.blocks(12)
    c.storage("s0", blocks * 1114112)
    states = [((3, 6144), "bfloat16"), ((16, 128, 128), "float32")]
    c.group(["linear.0"], specs.mamba(544, states, 1114112))
    c.cache("linear.0", tensor("s0", "int8", [blocks, 1, 1, 1085440], [1114112, 1, 13369344, 1]))
    c.page("linear.0", 0, 1114112, 1085440, 1114112, slots=544, tokens=544,
           native=view([12, 1, 544, 2000], [1114112, 1088000, 2000, 1], "int8"))
    c.storage("s1", blocks * 147456)
    c.group(["mla.0"], specs.latent(128, 576))
    c.cache("mla.0", tensor("s1", "bfloat16", [blocks * 2, 1, 64, 576], [36864, 576, 576, 1]))
    c.page("mla.0", 0, 147456, 147456, storage="s1", k=2, slots=128, tokens=128,
           native=view([12, 1, 128, 576], [73728, 73728, 576, 1], "bfloat16"))
    c.storage("s2", blocks * 65536)
    c.group(["attn.0"], specs.attention(128, 1, 128))
    c.cache("attn.0", tensor("s2", "bfloat16", [blocks * 2, 1, 64, 256], [16384, 3, 256, 1]))
    c.page("attn.0", 0, 65536, 65536, storage="s2", k=2, slots=128, tokens=128,
           native=view([12, 2, 128, 1, 128], [32768, 16384, 128, 128, 1], "bfloat16"))
    c.storage("s3", 16384)
    c.group(["lone.0"], specs.attention(16, 2, 128), num_blocks=1)
    c.cache("lone.0", tensor("s3", "bfloat16", [1, 2, 16, 256], [5, 4096, 256, 1]))
    c.page("lone.0", 0, 5 * 2, 16384, storage="s3", blocks=1, slots=16, tokens=16)
