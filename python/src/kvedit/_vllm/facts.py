"""All that a registration is made of, from a KV cache config and the caches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .. import _arguments
from .._errors import Error
from .attributes import MISSING
from .engine import NO_ENGINE, engine_of, layout_of
from .groups import groups_of
from .placements import placements_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._core import _Facts, _Placement


def facts_of(
    kv_cache_config: Any,
    kv_caches: Mapping[str, Any],
    layout: Any,
    vllm_config: Any,
    engine_version: str | None,
) -> _Facts:
    """What `_core.build_registration` takes."""
    _arguments.mapping("kv_caches", kv_caches, "a dict of layer to tensors")
    model, parallel, backends, cache_dtype = NO_ENGINE
    if vllm_config is not None:
        engine = _arguments.read("vllm_config", vllm_config, engine_of, kv_caches)
        if engine is None:
            raise _without("vllm_config", vllm_config, "parallel_config", "VllmConfig")
        model, parallel, backends, cache_dtype = engine
    head = _arguments.read("kv_cache_config", kv_cache_config, _head_of)
    if head is None:
        raise _without("kv_cache_config", kv_cache_config, "kv_cache_groups", "KVCacheConfig")
    groups, num_blocks, placements = head
    return (
        "vllm",
        _loaded_version() if engine_version is None else engine_version,
        model,
        layout_of(layout, kv_cache_config, vllm_config),
        num_blocks,
        parallel,
        groups_of(groups, kv_cache_config, cache_dtype),
        placements,
        backends,
        _arguments.read("kv_caches", kv_caches, _items),
    )


def _without(name: str, given: Any, attribute: str, wanted: str) -> TypeError:
    kind = _arguments.kind(given)
    return TypeError(f"{name}: {kind} without {attribute} where vLLM's {wanted} is wanted")


def _items(kv_caches: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(kv_caches.items())


def _head_of(kv_cache_config: Any) -> tuple[Sequence[Any], int, list[_Placement]] | None:
    """None: it is something else."""
    groups = getattr(kv_cache_config, "kv_cache_groups", MISSING)
    if groups is MISSING:
        return None
    if not isinstance(groups, (list, tuple)):
        raise _arguments.refused("/groups", groups, "a list of groups")
    num_blocks = getattr(kv_cache_config, "num_blocks", MISSING)
    if num_blocks is MISSING:
        raise Error("/num_blocks: kv_cache_config does not give it", "/num_blocks")
    return groups, num_blocks, placements_of(kv_cache_config)


def _loaded_version() -> str:
    version = getattr(sys.modules.get("vllm"), "__version__", "")
    return version if isinstance(version, str) else ""
