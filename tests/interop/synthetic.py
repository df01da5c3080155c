"""Small registrations that LMCache reads wrongly, refuses, or reads well only in one shape."""


def full(block=16, page=32768, kind="FullAttentionSpec", **more):
    bases = {"FullAttentionSpec": [], "SlidingWindowSpec": [],
             "MLAAttentionSpec": ["FullAttentionSpec"]}[kind] + ["AttentionSpec", "KVCacheSpec"]
    return {"type": kind, "bases": bases, "block_size": block, "page_size_bytes": page, **more}


def mamba(block, page, state):
    return {"type": "MambaSpec", "bases": ["KVCacheSpec"], "block_size": block,
            "page_size_bytes": page, "page_size_padded": page, "shapes": [[state]],
            "dtypes": ["int8"], "mamba_cache_mode": "align"}


def contiguous(shape):
    stride = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        stride[axis - 1] = stride[axis] * shape[axis]
    return stride


def tensor(shape, dtype="bfloat16", stride=None, offset=0, storage="s"):
    return {"dtype": dtype, "shape": shape, "stride": stride or contiguous(shape),
            "storage_offset": offset, "storage": storage}


def registration(layout, blocks, groups, caches, device="cuda:0", nbytes=1 << 30, placements=(),
                 dcp=1):
    storages = {}
    for value in caches.values():
        for each in value if isinstance(value, list) else [value]:
            storages[each["storage"]] = {"nbytes": nbytes, "device": device}
    return {"schema": "kvedit.registration/1", "layout": layout, "num_blocks": blocks,
            "parallel": {"dcp": dcp}, "groups": groups, "placements": list(placements),
            "storages": storages, "caches": caches}


def placed(layer, block_stride, offset=0, storage="s"):
    return {"storage": storage, "layers": [layer], "offset": offset, "layer_stride": 0,
            "block_stride": block_stride}


def dense(layout, blocks=8, shape=(4, 16, 256), **more):
    return registration(layout, blocks, [{"layers": ["a"], "spec": full(num_kv_heads=4)}],
                        {"a": tensor([blocks, *shape])}, **more)


def sub_paged(layout, blocks):
    """Two kernel pages of 16 tokens, 4 heads, 256 elements: 65,536 bytes a block of 32 tokens."""
    spec = full(32, 65536, num_kv_heads=4, head_size=128)
    shape = [2 * blocks, 4, 16, 256]
    return registration(layout, blocks, [{"layers": ["a"], "spec": spec}], {"a": tensor(shape)})


def latent(layout, middle, kernel_pages=1, blocks=8):
    """32 states of 576 elements, the axis of their one head before or behind them."""
    spec = full(32, 32 * 576 * 2, "MLAAttentionSpec", num_kv_heads=1, head_size=576)
    rows = 32 // kernel_pages
    shape = [blocks * kernel_pages, *((1, rows) if middle == "heads" else (rows, 1)), 576]
    return registration(layout, blocks, [{"layers": ["a"], "spec": spec}], {"a": tensor(shape)})


def halves(layout, blocks, stride=None):
    """K and V apart in each block: [blocks, 2, 16 tokens, 4 heads, 128]."""
    inner = [2, 16, 4, 128] if layout in ("NHD", "BLNHC") else [2, 4, 16, 128]
    shape = [blocks, *inner]
    strides = contiguous(shape)
    strides[0] = stride or strides[0]
    spec = full(num_kv_heads=4, head_size=128)
    return registration(layout, blocks, [{"layers": ["a"], "spec": spec}],
                        {"a": tensor(shape, stride=strides)},
                        placements=[placed("a", strides[0] * 2)])


def planes(layout, blocks=8):
    inner = [16, 4, 128] if layout == "NHD" else [4, 16, 128]
    spec = full(num_kv_heads=4, head_size=128)
    return registration(layout, blocks, [{"layers": ["a"], "spec": spec}],
                        {"a": tensor([2, blocks, *inner])}, placements=[placed("a", 16384)])


def mixed_strides():
    spec = full(num_kv_heads=4)
    return registration(
        "HND", 8, [{"layers": ["a", "b"], "spec": spec}],
        {"a": tensor([8, 4, 16, 256], storage="s0"),
         "b": tensor([8, 4, 16, 256], stride=[32768, 4096, 256, 1], storage="s1")},
        placements=[placed("b", 65536, storage="s1")])


def window(tokens, block=16):
    spec = full(block, 2048 * block, "SlidingWindowSpec", num_kv_heads=4, sliding_window=tokens)
    return registration("HND", 8, [{"layers": ["a"], "spec": spec}],
                        {"a": tensor([8, 4, block, 256])})


def two_windows():
    """Two windows in one group of equal shapes."""
    leaves = {name: full(16, 32768, "SlidingWindowSpec", num_kv_heads=4, sliding_window=tokens)
              for name, tokens in (("a", 64), ("b", 128))}
    spec = {"type": "UniformTypeKVCacheSpecs", "bases": ["KVCacheSpec"], "block_size": 16,
            "page_size_bytes": 65536}
    return registration("HND", 8, [{"layers": ["a", "b"], "spec": spec, "layer_specs": leaves}],
                        {name: tensor([8, 4, 16, 256], storage=name) for name in "ab"})


def unsharded():
    made = dense("NHD", shape=(16, 4, 256), dcp=2)
    made["groups"][0]["spec"]["dcp_sharded"] = False
    return made


def scratch(also_full=True):
    spec = full(num_kv_heads=4, prefix_cacheable=False)
    made = dense("HND")
    made["groups"].append({"layers": ["b"], "spec": spec})
    made["caches"]["b"] = tensor([8, 4, 16, 256], storage="t")
    made["storages"]["t"] = {"nbytes": 1 << 30, "device": "cuda:0"}
    if not also_full:
        made["groups"].pop(0)
        made["caches"].pop("a")
    return made


def scratch_with_gaps():
    made = scratch()
    made["caches"]["b"] = tensor([8, 4, 16, 256], stride=[65536, 8192, 256, 1], storage="t")
    made["groups"][1]["spec"].update(
        page_size_padded=131072, page_size_bytes=131072, unpadded_page_size_bytes=32768)
    made["placements"] = [placed("b", 131072, storage="t")]
    return made


def scratch_in_an_arena():
    made = scratch()
    made["caches"]["b"] = tensor([8, 4, 16, 256], stride=[32768, 4096, 256, 1], storage="t")
    made["placements"] = [placed("b", 65536, storage="t")]
    return made


def latent_planes():
    """A latent and its positions in tensors of their own, as engines on npu register them."""
    spec = full(16, 16 * 576 * 2, "MLAAttentionSpec", num_kv_heads=1, head_size=576)
    return registration(
        "NHD", 8, [{"layers": ["a"], "spec": spec}],
        {"a": [tensor([8, 16, 1, width], storage=f"s{width}") for width in (512, 64)]},
        device="npu:0")


def twin(kernel_pages):
    made = sub_paged("HND", 8) if kernel_pages == 2 else dense("HND")
    made["caches"]["b"] = dict(made["caches"]["a"])
    made["groups"][0]["layers"].append("b")
    return made


def row(layout, blocks=8, page=131072, state=67840, stride=None):
    step = stride or page
    return registration(layout, blocks, [{"layers": ["a"], "spec": mamba(256, page, state)}],
                        {"a": tensor([blocks, 1, 1, state], "int8", [step, state, state, 1])},
                        placements=[placed("a", step)])


def heads_where_tokens_belong():
    """Heads before tokens in memory under a layout that says otherwise."""
    return dense("NHD")


def key_value(widths=(128, 128), device="cuda:0"):
    spec = full(16, 16 * 4 * sum(widths) * 2, num_kv_heads=4)
    return registration(
        "NHD", 8, [{"layers": ["a"], "spec": spec}],
        {"a": [tensor([8, 16, 4, width], storage=f"s{i}") for i, width in enumerate(widths)]},
        device=device)


def cases():
    """Name, registration, options of `kvedit explain`."""
    for layout in ("HND", "NHD", "BLHNC", "BLNHC"):
        yield f"dense-{layout}", dense(layout), []
        for blocks in (2, 3, 8):
            yield f"sub-paged-{layout}-{blocks}", sub_paged(layout, blocks), []
        for middle in ("heads", "tokens"):
            for pages in (1, 2):
                yield f"latent-{layout}-{middle}-{pages}", latent(layout, middle, pages), []
        yield f"row-{layout}", row(layout), []
        yield f"row-{layout}-page", row(layout), ["--recurrent", "page"]
        yield f"row-{layout}-arena", row(layout, stride=262144), []
        yield f"row-{layout}-arena-page", row(layout, stride=262144), ["--recurrent", "page"]
        for blocks in (2, 8):
            yield f"halves-{layout}-{blocks}", halves(layout, blocks), []
        yield f"halves-{layout}-arena", halves(layout, 8, 32768), []
    for layout in ("HND", "NHD"):
        yield f"planes-{layout}", planes(layout), []
        yield f"planes-{layout}-2", planes(layout, 2), []
    for device in ("cpu", "cuda:0", ""):
        yield f"no-layout-dense-{device or 'unknown'}", dense(None, device=device), []
        made = sub_paged(None, 8)
        made["storages"]["s"]["device"] = device
        yield f"no-layout-sub-paged-{device or 'unknown'}", made, []
    yield "mixed-strides", mixed_strides(), []
    for tokens in (4, 8, 16, 24, 64, 100):
        yield f"window-{tokens}", window(tokens), []
    yield "window-128-of-544", window(128, 544), []
    yield "two-windows", two_windows(), []
    yield "dcp-unsharded", unsharded(), []
    yield "dcp-sharded", dense("NHD", shape=(16, 4, 256), dcp=2), []
    yield "scratch", scratch(), []
    yield "scratch-transfer", scratch(), ["--purpose", "transfer"]
    yield "scratch-only", scratch(False), []
    yield "scratch-with-gaps", scratch_with_gaps(), []
    yield "scratch-beside-whole-pages", scratch_in_an_arena(), ["--recurrent", "page"]
    yield "latent-planes", latent_planes(), []
    for pages in (1, 2):
        yield f"twin-{pages}", twin(pages), []
    yield "heads-outermost", dense("LHBNC"), []
    yield "heads-where-tokens-belong", heads_where_tokens_belong(), []
    for device in ("cuda:0", "npu:0"):
        yield f"key-value-{device}", key_value(device=device), []
        yield f"key-value-widths-{device}", key_value((128, 64), device), []
