"""Small registrations in many memory forms, and what each stored byte of them means.

A form names the axes of one block in memory order, outermost first. The meaning of a byte is worked
out element by element from the registered tensors alone, so that it can judge what kvedit says.
"""

import copy
import itertools
from math import prod

SIZES = {"bfloat16": 2, "float16": 2, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float32": 4}
LAYER = "model.layers.0.self_attn.attn"


def strides_of(axes, order, block_stride):
    """Dense strides of named axes in a memory order; blocks move by `block_stride`."""
    strides, inner = {}, 1
    for name in reversed(order):
        if name == "block":
            continue
        strides[name] = inner
        inner *= axes[name]
    strides["block"] = block_stride or inner
    return strides, inner


def tensor(axes, logical, order, dtype, storage="s0", offset=0, block_stride=None):
    strides, entry = strides_of(axes, order, block_stride)
    return {"dtype": dtype, "shape": [axes[name] for name in logical],
            "stride": [strides[name] for name in logical], "storage_offset": offset,
            "storage": storage, "axes": list(logical)}, entry


def attention(form="packed", order="block token head content", heads=2, block=16, size=8, kernel=None,
              blocks=5, dtype="bfloat16", offset=0, block_stride=None, page=None, layers=(LAYER,),
              backend="FLASHINFER", spec=None, **whole):
    """One attention group. `packed`: K beside V; `split`: K and V on an axis; `tuple`: two tensors.

    `order` is the memory order of the axes; planes are `split` with `kv` before `block`.
    """
    kernel = kernel or block
    k = block // kernel
    axes = {"block": blocks * k, "head": heads, "token": kernel, "kv": 2,
            "content": size * (2 if form == "packed" else 1)}
    logical = {"packed": "block head token content", "split": "block kv token head content",
               "tuple": "block token head content"}[form].split()
    order = order.split()
    if form == "split" and order[0] == "kv":
        logical = "kv block token head content".split()
    item = SIZES[dtype]
    unpadded = block * heads * size * 2 * item
    fields = {"type": "FullAttentionSpec", "bases": ["AttentionSpec", "KVCacheSpec"],
              "kind": "full_attention", "block_size": block, "num_kv_heads": heads,
              "head_size": size, "dtype": dtype, "page_size_bytes": page or unpadded}
    if page:
        fields.update(page_size_padded=page, unpadded_page_size_bytes=unpadded)
    fields.update(spec or {})
    fields = {name: value for name, value in fields.items() if value is not None}
    document = {"schema": "kvedit.registration/1", "engine": {"name": "vllm", "version": "0.32.0"},
                "model": "drawn", "num_blocks": blocks, "parallel": {},
                "groups": [{"layers": list(layers), "spec": fields}], "storages": {}, "caches": {},
                "backends": {name: backend for name in layers} if backend else {}}
    for number, name in enumerate(layers):
        document["caches"][name] = caches(document, number, form, axes, logical, order, dtype,
                                          offset, block_stride)
    document.update(whole)
    return document


def caches(document, number, form, axes, logical, order, dtype, offset, block_stride):
    """The tensors of one layer, each layer in storages of its own."""
    made = []
    for plane in range(2 if form == "tuple" else 1):
        storage = f"s{number}" + ("kv"[plane] if form == "tuple" else "")
        outside = order.index("block") > 0
        if outside:  # heads or planes outside: dense over all axes
            strides, inner = {}, 1
            for name in reversed(order):
                strides[name] = inner
                inner *= axes[name]
            one = {"dtype": dtype, "shape": [axes[n] for n in logical],
                   "stride": [strides[n] for n in logical], "storage_offset": offset,
                   "storage": storage, "axes": list(logical)}
            total = inner + offset
        else:
            one, entry = tensor(axes, logical, order, dtype, storage, offset, block_stride)
            total = offset + axes["block"] * max(entry, block_stride or entry)
        document["storages"][storage] = {"nbytes": total * SIZES[dtype] + 4096, "device": "cpu"}
        if form == "tuple":
            one["plane"] = plane
        made.append(one)
    return made if form == "tuple" else made[0]


def recurrent(form="row", shapes=((3, 64), (4, 8, 8)), dtypes=("bfloat16", "float32"), block=16,
              page=2048, blocks=5, row=None, swapped=False, transposed=False, spec=None, **whole):
    """One Mamba group: `row` (one int8 row), `list` (states in one page) or `apart` (two storages)."""
    sizes = [prod(shape) * SIZES[dtype] for shape, dtype in zip(shapes, dtypes)]
    fields = {"type": "MambaSpec", "bases": ["KVCacheSpec"], "kind": "mamba", "block_size": block,
              "shapes": [list(shape) for shape in shapes], "dtypes": list(dtypes),
              "page_size_bytes": page, "page_size_padded": page, "mamba_cache_mode": "align"}
    fields.update(spec or {})
    name = "model.layers.0.linear_attn"
    storages = {"s0": {"nbytes": blocks * page, "device": "cpu"}}
    if form == "row":
        row = row or sum(sizes)
        cache = {"dtype": "int8", "shape": [blocks, 1, 1, row], "stride": [page, row, row, 1],
                 "storage_offset": 0, "storage": "s0"}
    else:
        places = list(itertools.accumulate([0] + sizes[:-1]))
        if swapped:
            places = [sizes[1], 0]
        cache = []
        for number, (shape, dtype) in enumerate(zip(shapes, dtypes)):
            item = SIZES[dtype]
            inner = [prod(shape[a + 1:]) for a in range(len(shape))]
            if transposed and number == 0:
                inner = list(reversed([prod(shape[::-1][a + 1:]) for a in range(len(shape))]))
            storage, at, step = "s0", places[number], page
            if form == "apart":
                storage, at, step = f"s{number}", 0, sizes[number]
                storages[storage] = {"nbytes": blocks * sizes[number], "device": "cpu"}
            cache.append({"dtype": dtype, "shape": [blocks, *shape],
                          "stride": [step // item, *inner], "storage_offset": at // item,
                          "storage": storage})
    document = {"schema": "kvedit.registration/1", "engine": {"name": "vllm", "version": "0.32.0"},
                "model": "drawn", "num_blocks": blocks, "layout": "LBNHC", "parallel": {},
                "groups": [{"layers": [name], "spec": fields}], "storages": storages,
                "caches": {name: cache}, "backends": {}}
    document.update(whole)
    return document


def plain(document):
    """The registration without what only this file knows."""
    document = copy.deepcopy(document)
    for cache in document["caches"].values():
        for each in cache if isinstance(cache, list) else [cache]:
            each.pop("axes", None)
            each.pop("plane", None)
    return document


def meanings(document, layer, block):
    """(storage, byte) -> what it holds, for one block of an attention layer."""
    spec = document["groups"][0]["spec"]
    cache = document["caches"][layer]
    held = {}
    for each in cache if isinstance(cache, list) else [cache]:
        k = each["shape"][each["axes"].index("block")] // document["num_blocks"]
        ranges = [range(block * k, (block + 1) * k) if name == "block" else range(extent)
                  for name, extent in zip(each["axes"], each["shape"])]
        for index in itertools.product(*ranges):
            at = dict(zip(each["axes"], index))
            token = (at["block"] - block * k) * each["shape"][each["axes"].index("token")] + at["token"]
            kv, element = at.get("kv", each.get("plane")), at["content"]
            if kv is None:
                kv, element = divmod(element, spec["head_size"])
            item = SIZES[each["dtype"]]
            first = (each["storage_offset"] + sum(i * s for i, s in zip(index, each["stride"]))) * item
            for byte in range(item):
                held[each["storage"], first + byte] = (token, at["head"], kv, element, byte)
    return held


def stream(report, document, layer, block):
    """What the stored bytes of one block hold, in storing order, by the page map of the report."""
    held = meanings(document, layer, block)
    pages = next(each for each in report["layers"] if each["name"] == layer)["pages"]
    return [held[part["storage"], part["base"] + block * part["block_stride"] + at]
            for part in pages["parts"] for offset, length in part["ranges"]
            for at in range(offset, offset + length)]
