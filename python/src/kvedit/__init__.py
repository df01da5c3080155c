"""Which bytes a block id owns in every KV cache layer: found, proved, given as views or addresses.

    host = kvedit.Host()
    registration = kvedit.Registration.from_vllm(kv_cache_config, kv_caches, layout="LBHNC")
    result = host.edit(registration)
    result.raise_for_problems()
    views = result.views(kv_caches)            # one entry of the block axis is one block id
    pages = result.pages["model.layers.3.self_attn.attn"]
    pages.addresses([0, 7], result.bases(kv_caches))

Nothing here imports torch or numpy before a call needs it.
"""

from ._addresses import AddressMap
from ._core import __version__
from ._errors import Error, Problem
from ._host import Host
from ._registration import Registration
from ._result import Group, Layer, PageMap, Part, Result, Tried, View

KvEditError = Error

__all__ = [
    "AddressMap",
    "Error",
    "Group",
    "Host",
    "KvEditError",
    "Layer",
    "PageMap",
    "Part",
    "Problem",
    "Registration",
    "Result",
    "Tried",
    "View",
    "__version__",
]
