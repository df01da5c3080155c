"""What the engine's own config adds, and the layout."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

from .. import _arguments
from .._errors import Error

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Parallel: TypeAlias = tuple[int, int, int, int, int]
    Engine: TypeAlias = tuple[str, Parallel, dict[str, str], str]  # the last: the cache's dtype

_LAYOUTS = ("LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC", "HND", "NHD")
NO_ENGINE: Engine = "", (1, 1, 1, 1, 1), {}, ""


def engine_of(vllm_config: Any, kv_caches: Mapping[str, Any]) -> Engine | None:
    """None: it is something else. Without parallel sizes other blocks would have the same name."""
    config = getattr(vllm_config, "parallel_config", None)
    if config is None:
        return None
    return (
        _model_of(vllm_config),
        _parallel_of(config),
        _backends_of(vllm_config, kv_caches),
        _cache_dtype_of(vllm_config),
    )


def _model_of(vllm_config: Any) -> str:
    model = getattr(getattr(vllm_config, "model_config", None), "model", None)
    return model if isinstance(model, str) else ""


def layout_of(layout: Any, kv_cache_config: Any, vllm_config: Any) -> str:
    if layout is not None:
        if not isinstance(layout, (str, Enum)):
            raise _arguments.wrong("layout", layout, "the name of a layout, or an enum with one,")
        return layout_name(layout, "layout")
    layout = _arguments.read("kv_cache_config", kv_cache_config, getattr, "kv_cache_layout", None)
    if layout is not None:
        return layout_name(layout, "kv_cache_config.kv_cache_layout")
    layout = _arguments.read("vllm_config", vllm_config, _resolved_layout)
    if layout is not None:
        return layout_name(layout, "vllm_config.cache_config.get_resolved_kv_cache_layout()")
    module = sys.modules.get("vllm.v1.attention.backends.utils")  # until 0.27
    asked = getattr(module, "get_kv_cache_layout", None)
    layout = _arguments.read("get_kv_cache_layout()", asked, _called)
    return "" if layout is None else layout_name(layout, "get_kv_cache_layout()")


def _resolved_layout(vllm_config: Any) -> Any:
    cache_config = getattr(vllm_config, "cache_config", None)
    return _called(getattr(cache_config, "get_resolved_kv_cache_layout", None))


def _called(asked: Any) -> Any:
    return asked() if callable(asked) else None


def layout_name(given: Any, called: str) -> str:
    """A known layout's name, or that of vLLM's enum. `called`: what the user knows it as."""
    name = given.name if isinstance(given, Enum) else given
    if name in _LAYOUTS:
        return str(name)
    known = f"known are {', '.join(_LAYOUTS)}"
    if not isinstance(name, str):
        raise Error(f"{called}: {_arguments.kind(name)} where a layout is wanted; {known}", called)
    meant = name.strip().upper()
    hint = f"did you mean {meant!r}? " if meant in _LAYOUTS else ""
    raise Error(f"{called}: {name!r} is no known layout; {hint}{known}", called)


def _parallel_of(config: Any) -> Parallel:
    """1 for what a version does not have yet."""
    tp = getattr(config, "tensor_parallel_size", None)
    pp = getattr(config, "pipeline_parallel_size", None)
    dcp = getattr(config, "decode_context_parallel_size", None)
    pcp = getattr(config, "prefill_context_parallel_size", None)
    interleave = getattr(config, "cp_kv_cache_interleave_size", None)
    if interleave is None:
        interleave = getattr(config, "dcp_kv_cache_interleave_size", None)
    if tp is pp is dcp is pcp is interleave is None:
        place, kind = "vllm_config.parallel_config", _arguments.kind(config)
        raise Error(f"{place}: {kind} without tensor_parallel_size where vLLM's is wanted", place)
    return (
        _size(tp, "tensor_parallel_size"),
        _size(pp, "pipeline_parallel_size"),
        _size(dcp, "decode_context_parallel_size"),
        _size(pcp, "prefill_context_parallel_size"),
        _size(interleave, "cp_kv_cache_interleave_size"),
    )


def _size(given: Any, name: str) -> int:
    if type(given) is int:
        return given
    if given is None:
        return 1
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise _arguments.refused(f"vllm_config.parallel_config.{name}", given, "an int")
    return int(given)


def _backends_of(vllm_config: Any, kv_caches: Mapping[str, Any]) -> dict[str, str]:
    compilation = getattr(vllm_config, "compilation_config", None)
    layers = getattr(compilation, "static_forward_context", None)
    backends: dict[str, str] = {}
    if not layers:
        return backends
    names: dict[int, str] = {}
    for name in kv_caches:
        layer = layers.get(name)
        ask = getattr(layer, "get_attn_backend", None)
        backend = ask() if callable(ask) else getattr(layer, "attn_backend", None)
        if isinstance(backend, type):
            if id(backend) not in names:
                names[id(backend)] = f"{backend.__module__}.{backend.__qualname__}"
            backends[name] = names[id(backend)]
    return backends


def _cache_dtype_of(vllm_config: Any) -> str:
    cache_dtype = getattr(getattr(vllm_config, "cache_config", None), "cache_dtype", None)
    return cache_dtype if isinstance(cache_dtype, str) else ""
