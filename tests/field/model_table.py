"""Hybrid models: a recurrent state padded to the page of the attention layers.

For each model the block that the engine chooses is worked out from its public configuration,

    block = a · ceil(M / (a · tok)),  page = block · tok,

M the bytes of the states, tok the attention bytes of a token, a the alignment of the backend, and
compared with the number that logs and documents give. The kernel pages are the largest of the
backend's sizes that divides the block. Every model is registered as several engine versions do:

    v025   states as a list in the page; K and V apart, tokens first
    v025h  the same with heads first in memory
    v026   list; K and V side by side, permuted so that tokens come first in memory
    v027   one int8 row of the whole page; K and V side by side, heads first
    v032   one int8 row of the states, in an arena with placements; heads or tokens first
"""

from dataclasses import dataclass

import specs
from case import case, product, tensor, view
from case import ITEMSIZE

BF16, FP32, FP8 = "bfloat16", "float32", "uint8"


@dataclass
class Model:
    name: str
    states: list  # (shape, dtype) of each
    heads: int  # K/V heads of this rank; 0: latent
    size: int  # of a head, or of the latent
    dtype: str  # of K and V
    block: int  # as published
    k: int
    bytes: int  # of the states, as published
    align: int = 16
    kernels: tuple = (16, 32, 64)

    @property
    def token(self):
        return (2 * self.heads if self.heads else 1) * self.size * ITEMSIZE[self.dtype]

    @property
    def page(self):
        return self.block * self.token

    @property
    def kernel(self):
        return self.block // self.k

    def check(self):
        block = self.align * -(-self.bytes // (self.align * self.token))
        kernel = max(size for size in self.kernels if block % size == 0)
        worked_out = (specs.state_bytes(self.states), block, block // kernel)
        if worked_out != (self.bytes, self.block, self.k):
            raise SystemExit(f"{self.name}: worked out {worked_out}")


def gdn(key_heads, value_heads, kept=3, state=FP32):
    return [((kept, 2 * key_heads * 128 + value_heads * 128), BF16),
            ((value_heads, 128, 128), state)]


def mamba2(heads, dim, size, groups, state=BF16):
    return [((3, heads * dim + 2 * groups * size), BF16), ((heads, dim, size), state)]


def kda(heads):
    return [((3, 3 * heads * 128), BF16), ((heads, 128, 128), FP32)]


MODELS = [
    Model("qwen3.5-0.8b", gdn(16, 16), 2, 256, BF16, 544, 17, 1085440),
    Model("qwen3.5-9b", gdn(16, 32), 4, 256, BF16, 528, 33, 2146304),
    Model("qwen3.5-9b-fp8", gdn(16, 32), 4, 256, FP8, 1056, 33, 2146304),
    Model("qwen3.5-27b", gdn(16, 48), 4, 256, BF16, 784, 49, 3207168),
    Model("qwen3.5-27b-fp8", gdn(16, 48), 4, 256, FP8, 1568, 49, 3207168),
    Model("qwen3.5-27b-fp8-mtp1", gdn(16, 48, 4), 4, 256, FP8, 1584, 99, 3227648),
    Model("qwen3.5-27b-fp8-mtp3", gdn(16, 48, 6), 4, 256, FP8, 1600, 25, 3268608),
    Model("qwen3.5-35b-a3b", gdn(16, 32), 2, 256, BF16, 1056, 33, 2146304),
    Model("qwen3.5-35b-a3b-fp8", gdn(16, 32), 2, 256, FP8, 2096, 131, 2146304),
    Model("qwen3.5-397b", gdn(16, 64), 2, 256, BF16, 2096, 131, 4268032),
    Model("qwen3-next-tp4", [((3, 2048), BF16), ((8, 128, 128), BF16)], 1, 256, BF16, 272, 17,
          274432),
    Model("nemotron-nano-9b-v2-fp32", mamba2(128, 80, 128, 8, FP32), 8, 128, BF16, 1312, 41,
          5316608),
    Model("nemotron-3-nano-30b", mamba2(64, 64, 128, 8), 2, 128, BF16, 1072, 67, 1085440),
    Model("nemotron-3-nano-30b-fp8-tp1", mamba2(64, 64, 128, 8, FP32), 2, 128, FP8, 4192, 131,
          2134016, align=32),
    Model("nemotron-3-nano-30b-fp8-tp4", mamba2(16, 64, 128, 2, FP32), 1, 128, FP8, 2112, 33,
          533504, align=32),
    Model("falcon-h1-1.5b", mamba2(48, 64, 256, 1), 2, 128, BF16, 1568, 49, 1594368),
    Model("granite-4.0-h-tiny", mamba2(48, 64, 128, 1), 4, 128, BF16, 400, 25, 806400),
    Model("granite-4.0-h-small", mamba2(128, 64, 128, 1), 8, 128, BF16, 528, 33, 2147840),
    Model("jamba-mini-fp32", [((8192, 3), BF16), ((8192, 16), FP32)], 8, 128, BF16, 144, 9,
          573440),
    Model("lfm2-1.2b", [((2, 2048), BF16)], 8, 64, BF16, 16, 1, 8192),
    Model("minimax-text-01-tp8", [((8, 128, 128), BF16)], 1, 128, BF16, 512, 8, 262144),
    Model("minimax-text-01-tp8-fp32", [((8, 128, 128), FP32)], 1, 128, BF16, 1024, 16, 524288),
    Model("kimi-linear-tp1", kda(32), 0, 576, BF16, 1920, 30, 2170880, 64, (64,)),
    Model("kimi-linear-tp4", kda(8), 0, 576, BF16, 512, 8, 542720, 64, (64,)),
    Model("kimi-k3-tp8", kda(12), 0, 576, BF16, 768, 12, 814080, 64, (64,)),
    Model("glm-5.3-flash-tp2", kda(32), 0, 512, BF16, 2176, 34, 2170880, 128, (64,)),
    Model("glm-5.3-flash-tp8", kda(8), 0, 512, BF16, 640, 10, 542720, 128, (64,)),
    Model("glm-5.3-flash-fp8", kda(64), 0, 512, FP8, 8704, 34, 4341760, 256, (256,)),
]

ATTENTION_LAYERS = ("model.layers.3.self_attn.attn", "model.layers.7.self_attn.attn")
RECURRENT_LAYERS = (("model.layers.0.linear_attn", "model.layers.4.linear_attn"),
                    ("model.layers.2.linear_attn", "model.layers.6.linear_attn"))


def register_list(c, model, blocks):
    """The states one behind the other at the start of the page."""
    dtypes = [dtype for _, dtype in model.states]
    for group in RECURRENT_LAYERS:
        c.group(group, specs.mamba(model.block, model.states, model.page))
        for place, layer in enumerate(group):
            tensors, begin = [], 0
            for shape, dtype in model.states:
                inner = [product(shape[i + 1:]) for i in range(len(shape))]
                tensors.append(tensor(f"s{place}", dtype, [blocks, *shape],
                                      [model.page // ITEMSIZE[dtype], *inner],
                                      begin // ITEMSIZE[dtype]))
                begin += product(shape) * ITEMSIZE[dtype]
            c.registration["caches"][layer] = tensors
            width = model.page // ITEMSIZE[dtypes[0]] // 2 // model.block
            whole = 2 * width * model.block * ITEMSIZE[dtypes[0]] == model.page
            if len(tensors) > 1 and whole:
                shown = view([blocks, 2, model.block, 1, width],
                             [model.page // ITEMSIZE[dtypes[0]], model.block * width, width, width,
                              1], dtypes[0])
                c.page(layer, 0, model.page, model.bytes, model.page, storage=f"s{place}",
                       slots=model.block, tokens=model.block, native=shown)
            else:  # a list of one state is a row
                c.page(layer, 0, model.page, model.bytes, model.page, storage=f"s{place}",
                       slots=model.block if cut_row(model, model.states[0]) else 1,
                       tokens=model.block)


def cut_row(model, state):
    """A row of bfloat16 is cut like one of bytes, in whole elements."""
    return specs.slot_width(product(state[0]) * ITEMSIZE[state[1]], model.block, model.page,
                            model.page)


def register_rows(c, model, blocks, row, tokens_first, base=lambda place: 0, storage=None):
    width = specs.slot_width(row, model.block, model.page, model.page)
    for group in RECURRENT_LAYERS:
        c.group(group, specs.mamba(model.block, model.states, model.page))
        for place, layer in enumerate(group):
            where = storage or f"s{place}"
            c.cache(layer, tensor(where, "int8", [blocks, 1, 1, row], [model.page, row, row, 1],
                                  base(place)))
            views = {}
            if width and tokens_first:
                views["native"] = view([blocks, model.block, 1, width],
                                       [model.page, width, width, 1], "int8")
            elif width:
                views["native"] = view([blocks, 1, model.block, width],
                                       [model.page, model.block * width, width, 1], "int8")
            c.page(layer, base(place), model.page, model.bytes, model.page, storage=where,
                   slots=model.block if width else 1, tokens=model.block, **views)


def attention_views(model, blocks, tokens_first, rank):
    """What the consumer gets: for K and V two opaque halves, or one; a latent keeps its rank."""
    item = ITEMSIZE[model.dtype]
    page = model.page // item
    if not model.heads:
        shape, stride = [blocks, model.block, model.size], [page, model.size, 1]
        if rank == 4:
            shape.insert(1, 1)
            stride.insert(1, page)
        shown = view(shape, stride, model.dtype)
        return {"native": shown, "packed": shown}
    if model.k == 1:
        return {}
    half = model.heads * model.size
    packed = (view([blocks, model.block, 1, 2 * half], [page, 2 * half, 2 * half, 1], model.dtype)
              if tokens_first else
              view([blocks, 1, model.block, 2 * half], [page, page, 2 * half, 1], model.dtype))
    return {"native": view([blocks, 2, model.block, 1, half],
                           [page, page // 2, half, half, 1], model.dtype), "packed": packed}


def attention_tensor(model, blocks, form, tokens_first, storage, offset):
    """One kernel page for each entry of axis 0."""
    pages, kernel, heads, size = blocks * model.k, model.kernel, model.heads, model.size
    entry = kernel * model.token // ITEMSIZE[model.dtype]
    if not heads:
        shape = [pages, kernel, size] if form < "v028" else [pages, 1, kernel, size]
        stride = [entry, size, 1] if form < "v028" else [entry, entry, size, 1]
    elif form < "v026":
        shape = [pages, 2, kernel, heads, size]
        stride = ([entry, entry // 2, heads * size, size, 1] if tokens_first else
                  [entry, entry // 2, size, kernel * size, 1])
    else:
        shape = [pages, heads, kernel, 2 * size]
        stride = ([entry, 2 * size, heads * 2 * size, 1] if tokens_first else
                  [entry, kernel * 2 * size, 2 * size, 1])
    return tensor(storage, model.dtype, shape, stride, offset // ITEMSIZE[model.dtype])


def register_attention(c, model, blocks, form, tokens_first, base=lambda place: 0, storage=None):
    old = form < "v028"
    if model.heads:
        make = specs.old_attention if old else specs.attention
        spec = make(model.block, model.heads, model.size, model.dtype)
    else:
        spec = (specs.old_latent if old else specs.latent)(model.block, model.size, model.dtype)
    c.group(ATTENTION_LAYERS, spec)
    for place, layer in enumerate(ATTENTION_LAYERS):
        where = storage or f"s{place}"
        made = attention_tensor(model, blocks, form, tokens_first, where, base(place))
        c.cache(layer, made)
        c.page(layer, base(place), model.page, model.page, storage=where, k=model.k,
               slots=model.block, tokens=model.block,
               **attention_views(model, blocks, tokens_first, len(made["shape"])))


def register(c, model, form, tokens_first):
    blocks = c.blocks(37)
    c.chunk(model.block)
    if form < "v028":
        for place in range(2):
            c.storage(f"s{place}", blocks * model.page)
        if form == "v027":
            register_rows(c, model, blocks, model.page, tokens_first)
        else:
            register_list(c, model, blocks)
        register_attention(c, model, blocks, form, tokens_first)
        return
    # One arena: the first layers of all groups lie over each other, then the second ones.
    region = blocks * model.page
    c.storage("s0", 2 * region)
    for layers in (*RECURRENT_LAYERS, ATTENTION_LAYERS):
        c.place(layers, 0, region, model.page)
    register_rows(c, model, blocks, model.bytes, tokens_first, lambda place: place * region, "s0")
    register_attention(c, model, blocks, form, tokens_first, lambda place: place * region, "s0")


FORMS = {  # form: engine version, layout, tokens first in memory
    "v025": ("0.25.0", "NHD", True), "v025h": ("0.25.0", "HND", False),
    "v026": ("0.26.0", "NHD", True), "v027": ("0.27.0", "HND", False),
    "v032": ("0.32.0", "LBNHC", True), "v032h": ("0.32.0", "LBHNC", False)}


def forms_of(number):
    """Two forms for each model, all forms over the table."""
    names = list(FORMS)
    return names[number % 6], names[(number + 4 + number // 6) % 6]


def add(model, form):
    vllm, layout, tokens_first = FORMS[form]

    @case("vllm-project/vllm, _align_hybrid_block_size", vllm, layout,
          name=f"{form}-{model.name}")
    def fill(c):
        register(c, model, form, tokens_first)


for NUMBER, MODEL in enumerate(MODELS):
    MODEL.check()
    for FORM in dict.fromkeys(forms_of(NUMBER)):
        add(MODEL, FORM)
