"""Specs under the engine's own field names. `old` has what an engine up to 0.25 gives; the others
what 0.28 and later derive as well."""

from case import ITEMSIZE, product

ATTENTION = ["AttentionSpec", "KVCacheSpec"]
LATENT = ["FullAttentionSpec", "AttentionSpec", "KVCacheSpec"]
NAMES = {"full_attention": "FullAttentionSpec", "sliding_window": "SlidingWindowSpec",
         "chunked_local_attention": "ChunkedLocalAttentionSpec",
         "sink_full_attention": "SinkFullAttentionSpec",
         "cross_attention": "CrossAttentionSpec"}


def old_attention(block, heads, size, dtype="bfloat16", kind="full_attention", **more):
    spec = {"type": NAMES[kind], "bases": ATTENTION, "kind": kind, "block_size": block,
            "num_kv_heads": heads, "head_size": size, "dtype": dtype,
            "page_size_bytes": 2 * block * heads * size * ITEMSIZE[dtype]}
    spec.update(more)
    return spec


def attention(block, heads, size, dtype="bfloat16", kind="full_attention", content=None,
              padded=None, **more):
    """`content`: bytes of one state of one head, where they are not K and V of the dtype."""
    content_bytes = content or 2 * size * ITEMSIZE[dtype]
    unpadded = block * heads * content_bytes
    spec = {"type": NAMES[kind], "bases": ATTENTION, "kind": kind, "block_size": block,
            "num_kv_heads": heads, "head_size": size, "head_size_v": size, "dtype": dtype,
            "tokens_per_state": 1, "num_states": block, "num_heads": heads,
            "state_content_size_bytes": content_bytes, "unpadded_page_size_bytes": unpadded,
            "page_size_bytes": padded or unpadded}
    if content:
        spec["state_content_bytes"] = content
    if padded:
        spec["page_size_padded"] = padded
    spec.update(more)
    return spec


def latent(block, width, dtype="bfloat16", tokens_per_state=1, padded=None,
           kind="mla_attention", **more):
    """One vector of `width` elements for each state."""
    states = block // tokens_per_state
    content = width * ITEMSIZE[dtype]
    spec = {"type": {"mla_attention": "MLAAttentionSpec",
                     "sliding_window_mla": "SlidingWindowMLASpec"}[kind],
            "bases": LATENT if kind == "mla_attention" else ["SlidingWindowSpec", *ATTENTION],
            "kind": kind, "block_size": block, "num_kv_heads": 1, "head_size": width,
            "head_size_v": 0, "dtype": dtype, "tokens_per_state": tokens_per_state,
            "num_states": states, "num_heads": 1, "state_content_size_bytes": content,
            "unpadded_page_size_bytes": states * content,
            "page_size_bytes": padded or states * content}
    if padded:
        spec["page_size_padded"] = padded
    spec.update(more)
    return spec


def old_latent(block, width, dtype="bfloat16", **more):
    spec = {"type": "MLAAttentionSpec", "bases": LATENT, "kind": "mla_attention",
            "block_size": block, "num_kv_heads": 1, "head_size": width, "dtype": dtype,
            "page_size_bytes": block * width * ITEMSIZE[dtype]}
    spec.update(more)
    return spec


def state_bytes(states):
    """states: (shape, dtype) of each."""
    return sum(product(shape) * ITEMSIZE[dtype] for shape, dtype in states)


def mamba(block, states, padded=None, mode="align", kind="gdn_attention", **more):
    spec = {"type": "MambaSpec", "bases": ["KVCacheSpec"], "kind": "mamba", "block_size": block,
            "shapes": [list(shape) for shape, _ in states],
            "dtypes": [dtype for _, dtype in states], "mamba_type": kind,
            "mamba_cache_mode": mode, "page_size_bytes": padded or state_bytes(states)}
    if padded:
        spec["page_size_padded"] = padded
    spec.update(more)
    return spec


def ring(block, page, type_name="CircularBufferSpec", **more):
    """Scratch of one request; no prefix can use it."""
    spec = {"type": type_name, "bases": ["AttentionSpec", "KVCacheSpec"], "kind": "unknown",
            "block_size": block, "num_kv_heads": 1, "page_size_bytes": page,
            "prefix_cacheable": False}
    spec.update(more)
    return spec


def uniform(block, page, kind="mla_attention", **more):
    """The wrapper; its page is the sum over its leaves."""
    return {"type": "UniformTypeKVCacheSpecs", "bases": ["KVCacheSpec"], "kind": kind,
            "block_size": block, "page_size_bytes": page, **more}


def slot_width(row, block, page, step):
    """Bytes of a slot of a recurrent row of int8: the row over the block's tokens, rounded up to
    the widest of 16, 8, 4, 2 bytes that divides the block stride and keeps all slots in the page;
    0 when none does, and the row stays one slot."""
    share = -(-row // block)
    for width in (16, 8, 4, 2):
        rounded = -(-share // width) * width
        if step % width == 0 and rounded * block <= page:
            return rounded
    return 0
