"""kvedit under LMCache's vLLM connector: its two functions, and how they come to be called.

`apply_kv_cache_group_edits` and `validate_kv_cache_groups` take what LMCache's own take and give
proved views of profile ``lmcache``, or a `kvedit.Error` (a `ValueError`) with everything that is
wrong. `install` puts them where LMCache looks them up. vLLM calls `plugin` at start-up; it installs
them when ``KVEDIT_LMCACHE`` is 1. Nothing of LMCache, vLLM or torch is imported before they are.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .. import Error, Host, Problem, Registration, _arguments
from .._vllm import layout_name
from ._replaced import Replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "apply_kv_cache_group_edits",
    "install",
    "plugin",
    "uninstall",
    "validate_kv_cache_groups",
]

_RANKS_MODULE = "vllm.distributed.parallel_state"
_EDITS_MODULE = "lmcache.integration.vllm.kv_cache_group_edits"
_TARGETS = (_EDITS_MODULE, "lmcache.integration.vllm.lmcache_mp_connector")

# LMCache's names of what it would have done; other rules keep their own.
_RULE_NAMES = {
    "kvedit.mamba-row": "mamba-unified-view",
    "kvedit.mamba-page": "mamba-page-view",
    "kvedit.subpaged-mla": "subpaged-mla-attention-view",
    "kvedit.subpaged-attention": "subpaged-attention-view",
}
_OF_GROUPS = ("cross-attention", "mamba-cache-mode", "unsupported-spec", "pack-missing", "pack-refused")


@lru_cache(maxsize=1)
def _host() -> Host:
    return Host(environment=True)


def _logger() -> logging.Logger:
    theirs = getattr(sys.modules.get(_EDITS_MODULE), "logger", None)
    return theirs if theirs is not None else logging.getLogger(__name__)


# For who serves a model, and chooses no profile and calls no page map.
_FOR_THE_SHAPE = (
    "When you serve a model: try another --block-size, layout (VLLM_KV_CACHE_LAYOUT) or attention "
    "backend; or serve it without LMCache, or with another connector, such as kvedit's "
    "StoreConnector. Without KVEDIT_LMCACHE LMCache may take other bytes, or refuse. See "
    'docs/lmcache.md, "When kvedit refuses"'
)
_FOR_THE_FACTS = (
    "When you serve a model and nothing above can be changed: serve it without LMCache, and capture "
    "the registration for a bug report (kvedit's CaptureConnector). See docs/lmcache.md, "
    '"When kvedit refuses"'
)


def _refusal(problems: Iterable[Problem], what: str) -> Error:
    found = tuple(problems)
    errors = [each for each in found if each.severity == "error"]
    shape = all(each.code == "profile" for each in errors)
    lines = [f"kvedit: {what}:", *map(str, errors), _FOR_THE_SHAPE if shape else _FOR_THE_FACTS]
    return Error("\n".join(lines), problems=found)


def validate_kv_cache_groups(kv_cache_config: Any) -> None:
    """Refuses groups whose blocks cannot be found again by token prefix, all of them in one error.

    Needs no tensors: vLLM's scheduler has none. ``None`` passes.
    """
    if kv_cache_config is None:
        return
    registration = Registration.from_vllm(kv_cache_config, {})
    problems = [each for each in _host().edit(registration).problems if each.code in _OF_GROUPS]
    if any(each.severity == "error" for each in problems):
        raise _refusal(problems, "LMCache cannot serve this model's KV cache groups")


def _tensors(cache: Any) -> Sequence[Any]:
    return cache if isinstance(cache, (list, tuple)) else (cache,)


def _on_cpu(kv_caches: Mapping[str, Any]) -> bool:
    try:
        for cache in kv_caches.values():
            for tensor in _tensors(cache):
                return str(getattr(tensor, "device", None)).startswith("cpu")
    except Exception:  # whatever it is, reading the caches says it with the layer's name
        pass
    return False


def _keep_memory(views: Mapping[str, Any], kv_caches: Mapping[str, Any]) -> None:
    """On CPU LMCache's own driving of transfers copies what it is handed into shared memory and turns
    those tensors to the copy (``set_``), unless the storage is shared memory that it knows. A view
    turned so parts from the tensors that the engine writes to, and every answer from the cache is
    wrong."""

    def set_(*_: Any, **__: Any) -> Any:
        raise Error(
            f"kvedit: layer {edited[0]} and {len(edited) - 1} more: LMCache would move their views to "
            "shared memory of its own, and the engine would go on writing to the memory it has. Use "
            "lmcache.mp.mp_transfer_mode engine_driven, or allocate the caches in shared memory that "
            "LMCache knows"
        )

    edited = [name for name, view in views.items() if view is not kv_caches[name]]
    for name in edited:
        for tensor in _tensors(views[name]):
            tensor.set_ = set_


def _dcp_size(module: Any) -> Any:
    try:
        return module.get_dcp_group().world_size
    except (AttributeError, AssertionError):  # the last one before it is set up
        return None


def _ranks_of_a_block() -> Any:
    """What LMCache does not hand on: over how many ranks vLLM's decode context parallelism spreads
    the tokens of an attention block. Nothing where it does not, or no engine runs here."""
    module = sys.modules.get(_RANKS_MODULE)
    ranks = _arguments.read("vllm's get_dcp_group() of a worker", module, _dcp_size)
    if not isinstance(ranks, int) or ranks <= 1:
        return None
    return SimpleNamespace(parallel_config=SimpleNamespace(decode_context_parallel_size=ranks))


def _layout_of(layout_hints: Mapping[str, Any]) -> str | None:
    layout = layout_hints.get("kv_layout")
    return None if layout is None else layout_name(layout, "layout_hints['kv_layout']")


def apply_kv_cache_group_edits(
    kv_cache_config: Any, kv_caches: Mapping[str, Any], layout_hints: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Every layer as LMCache will read it rightly, over the same storage.

    Layers that need no other view, that share another's cache, are not transferred or are in no
    group come back as the very objects that were given. Unlike LMCache's own function it looks at
    models without Mamba layers too. Raises `kvedit.Error` with all problems.
    """
    _arguments.mapping("kv_caches", kv_caches, "a dict of layer to tensors")
    if kv_cache_config is None:
        return _arguments.caches(kv_caches)
    layout = None
    if layout_hints is not None:
        _arguments.mapping("layout_hints", layout_hints, "a dict with kv_layout, or None,")
        layout = _arguments.read("layout_hints", layout_hints, _layout_of)
    on_cpu = _on_cpu(kv_caches)
    result, views = _host().edit_live(
        kv_cache_config,
        kv_caches,
        layout=layout,
        vllm_config=_ranks_of_a_block(),
        profile="lmcache",
        # Whole pages where LMCache goes through shared memory, which takes dense tensors only.
        recurrent_rows="page" if on_cpu else "tight",
        pass_ungrouped=True,
    )
    if views is None:
        raise _refusal(result.problems, "this registration cannot be handed to LMCache")
    if on_cpu:
        _keep_memory(views, kv_caches)
    logger = _logger()
    for problem in result.problems:
        logger.warning("kvedit: %s", problem)
    counts = {_RULE_NAMES.get(rule, rule): layers for rule, layers in result.edits.items()}
    logger.info("KV cache group edits applied: %s", counts or "none")
    return views


_replaced = Replaced(
    modules=_TARGETS,
    functions={
        "apply_kv_cache_group_edits": apply_kv_cache_group_edits,
        "validate_kv_cache_groups": validate_kv_cache_groups,
    },
)


def install() -> None:
    """Puts kvedit's functions under LMCache's connector, now and whenever it is imported. May be
    called often; imports nothing."""
    _replaced.install()


def uninstall() -> None:
    """Gives LMCache its own functions back."""
    _replaced.uninstall()


def plugin() -> None:
    """What vLLM calls in each of its processes (entry point group ``vllm.general_plugins``)."""
    wanted = os.environ.get("KVEDIT_LMCACHE", "0")
    if wanted == "1":
        install()
    elif wanted not in ("", "0"):
        logging.getLogger(__name__).warning(
            "kvedit: KVEDIT_LMCACHE is %r and LMCache is left as it is: give 1", wanted
        )
