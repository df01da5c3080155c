"""Reads vLLM's KV cache config by attribute: versions 0.25 to 0.33, and stand-ins for them."""

from __future__ import annotations

import sys
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _arguments
from ._core import make_spec
from ._errors import Error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._core import Spec, _Facts, _Group, _Placement

# Derived properties that classes give beside their fields; others may run anything.
_DERIVED = (
    "block_size",
    "page_size_bytes",
    "page_size_padded",
    "unpadded_page_size_bytes",
    "num_heads",
    "num_states",
    "tokens_per_state",
    "state_content_size_bytes",
    "storage_block_size",
    "prefix_cacheable",
    "has_layer_views",
    "dcp_sharded",
)
_KINDS = frozenset(
    "full_attention mla_attention sliding_window sliding_window_mla mamba chunked_local_attention "
    "sink_full_attention encoder_only_attention cross_attention unknown".split()
)
_LAYOUTS = ("LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC", "HND", "NHD")
_DEEPEST = 16
_AS_THEY_ARE = frozenset((int, str, bool, float, type(None)))
_MISSING: Any = object()


def facts_of(
    kv_cache_config: Any,
    kv_caches: Mapping[str, Any],
    layout: Any,
    vllm_config: Any,
    engine_version: str | None,
) -> _Facts:
    """What `_core.build_registration` takes."""
    _arguments.mapping("kv_caches", kv_caches, "a dict of layer to tensors")
    groups = getattr(kv_cache_config, "kv_cache_groups", _MISSING)
    if groups is _MISSING:
        name = type(kv_cache_config).__name__
        raise Error(f"kv_cache_config: a {name} without kv_cache_groups", "kv_cache_config")
    if not isinstance(groups, (list, tuple)):
        raise Error(f"/groups: a {type(groups).__name__} where a list is wanted", "/groups")
    num_blocks = getattr(kv_cache_config, "num_blocks", _MISSING)
    if num_blocks is _MISSING:
        raise Error("/num_blocks: kv_cache_config does not give it", "/num_blocks")
    return (
        "vllm",
        _loaded_version() if engine_version is None else engine_version,
        _model_of(vllm_config),
        _layout_of(layout, kv_cache_config, vllm_config),
        num_blocks,
        _parallel_of(vllm_config),
        _groups(groups, kv_cache_config),
        list(_placements(kv_cache_config)),
        _backends_of(vllm_config, kv_caches),
        list(kv_caches.items()),
    )


def _loaded_version() -> str:
    version = getattr(sys.modules.get("vllm"), "__version__", "")
    return version if isinstance(version, str) else ""


def _model_of(vllm_config: Any) -> str:
    model = getattr(getattr(vllm_config, "model_config", None), "model", None)
    return model if isinstance(model, str) else ""


def _layout_of(layout: Any, kv_cache_config: Any, vllm_config: Any) -> str:
    if layout is None:
        layout = getattr(kv_cache_config, "kv_cache_layout", None)
    if layout is None:
        resolved = getattr(
            getattr(vllm_config, "cache_config", None), "get_resolved_kv_cache_layout", None
        )
        layout = resolved() if callable(resolved) else None
    if layout is None:  # until 0.27
        module = sys.modules.get("vllm.v1.attention.backends.utils")
        asked = getattr(module, "get_kv_cache_layout", None)
        layout = asked() if callable(asked) else None
    if layout is None:
        return ""
    name = layout.name if isinstance(layout, Enum) else layout
    if name not in _LAYOUTS:
        known = ", ".join(_LAYOUTS)
        raise Error(f"/layout: {name!r} is no known layout; known are {known}", "/layout")
    return str(name)


def _parallel_of(vllm_config: Any) -> tuple[int, int, int, int, int]:
    config = getattr(vllm_config, "parallel_config", None)
    if config is None:
        return 1, 1, 1, 1, 1

    def size(*names: str) -> int:
        for name in names:
            value = getattr(config, name, None)
            if isinstance(value, int):
                return value
        return 1

    return (
        size("tensor_parallel_size"),
        size("pipeline_parallel_size"),
        size("decode_context_parallel_size"),
        size("prefill_context_parallel_size"),
        size("cp_kv_cache_interleave_size", "dcp_kv_cache_interleave_size"),
    )


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


def _groups(groups: Iterable[Any], kv_cache_config: Any) -> list[_Group]:
    specs = _Specs()
    return [_group(at, group, kv_cache_config, specs) for at, group in enumerate(groups)]


def _group(at: int, group: Any, kv_cache_config: Any, specs: _Specs) -> _Group:
    where = f"/groups/{at}"
    layers = _needed(group, "layer_names", where + "/layers")
    spec = _needed(group, "kv_cache_spec", where + "/spec")
    leaves: Any = getattr(spec, "kv_cache_specs", None)
    layer_specs = {} if leaves is None else _leaves(layers, leaves, where, specs)
    host_resident = bool(getattr(group, "host_resident", False))
    return (
        layers,
        _wrapper(spec, layer_specs, where) if layer_specs else specs.of(spec, where + "/spec"),
        layer_specs,
        bool(getattr(group, "enable_kv_transfer", True)),
        host_resident,
        bool(getattr(group, "is_eagle_group", False)),
        _role_of(group),
        _num_blocks_of(group, host_resident, kv_cache_config),
    )


def _needed(thing: Any, name: str, where: str) -> Any:
    value = getattr(thing, name, _MISSING)
    if value is _MISSING:
        raise Error(f"{where}: {type(thing).__name__} does not give {name}", where)
    return value


def _role_of(group: Any) -> str:
    role = getattr(group, "role", None)
    if isinstance(role, Enum):
        role = role.name.lower()
    return role if isinstance(role, str) and role != "default" else ""


def _num_blocks_of(group: Any, host_resident: bool, kv_cache_config: Any) -> int | None:
    own = getattr(group, "num_blocks", None)
    if own is None and host_resident:
        own = getattr(kv_cache_config, "hisparse_host_num_blocks", None)
    return own if isinstance(own, int) else None


def _leaves(
    layers: Iterable[str], leaves: Mapping[str, Any], where: str, specs: _Specs
) -> dict[str, Spec]:
    read: dict[str, Spec] = {}
    for layer in layers:
        place = f"{where}/layer_specs/{layer}"
        leaf = leaves.get(layer)
        if leaf is None:
            raise Error(f"{place}: missing; the group's spec wraps one for each layer", place)
        read[layer] = specs.of(leaf, place)
    return read


# A wrapper has the kind of its leaves when they are of one.
def _wrapper(spec: Any, leaves: Mapping[str, Spec], where: str) -> Spec:
    name, bases, fields = _read(spec, where + "/spec")
    kinds = {leaf.kind for leaf in leaves.values()}
    if len(kinds) == 1 and kinds != {"unknown"}:
        fields.setdefault("kind", kinds.pop())
    return make_spec(name, bases, fields, where + "/spec")


class _Specs:
    """Equal specs are read once; groups of one kind have equal specs."""

    def __init__(self) -> None:
        self._known: dict[Any, Spec] = {}

    def of(self, spec: Any, where: str) -> Spec:
        parameters = getattr(spec, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            try:
                return _frozen_spec(spec)
            except Exception:  # cannot be read, or not hashed: some field of it raises
                return _spec(spec, where)
        try:
            found = self._known.get(spec)
        except Exception:  # cannot be hashed
            return _spec(spec, where)
        if found is None:
            found = self._known[spec] = _spec(spec, where)
        return found


@lru_cache(maxsize=256)
def _frozen_spec(spec: Any) -> Spec:
    """vLLM's own specs are frozen and equal by value; an engine has few and shows them often."""
    return _spec(spec, "")


def _spec(spec: Any, where: str) -> Spec:
    return make_spec(*_read(spec, where), where)


def _read(spec: Any, where: str) -> tuple[str, list[str], dict[str, object]]:
    """Name, names of bases and fields."""
    cls: Any = type(spec)
    name, bases, known = _class_facts(cls)
    fields: dict[str, object] = {}
    for field in known or dict.fromkeys((*_own_fields(spec), *_DERIVED)):
        try:
            value = getattr(spec, field, None)
        except Exception as error:
            if field not in ("block_size", "page_size_bytes"):
                continue
            place = f"{where}/{field}"
            raise Error(f"{place}: {name} raises {error!r}", place) from None
        if type(value) not in _AS_THEY_ARE:
            value = _plain(value, _DEEPEST)
        if value is not None and not (field == "kind" and value not in _KINDS):
            fields[field] = value
    return name, bases, fields


@lru_cache(maxsize=256)
def _class_facts(cls: type) -> tuple[str, list[str], tuple[str, ...]]:
    """Name, names of bases, and the fields of a dataclass with the derived ones; none for others."""
    given: Any = getattr(cls, "__dataclass_fields__", None)
    names = () if given is None else tuple(dict.fromkeys((*_public(given), *_DERIVED)))
    return cls.__name__, [base.__name__ for base in cls.__mro__[1:-1]], names


def _own_fields(spec: Any) -> Iterable[str]:
    return _public(getattr(spec, "__dict__", ()))


def _public(names: Iterable[str]) -> Iterable[str]:
    return (name for name in names if not name.startswith("_") and name != "kv_cache_specs")


def _plain(value: Any, depth: int) -> object:
    """As JSON has it; None for what no rule could read."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, (int, str)):
        return value
    if depth <= 0 or callable(value):
        return None
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth - 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(each, depth - 1) for each in value), key=repr)
    if isinstance(value, dict):
        return {str(key): _plain(each, depth - 1) for key, each in value.items()}
    return _other(value, depth)


def _other(value: Any, depth: int) -> object:
    name = type(value).__name__
    if name == "dtype":
        return str(value).removeprefix("torch.")
    if name == "Fraction":
        top, bottom = value.numerator, value.denominator
        return int(top) if bottom == 1 else f"{top}/{bottom}"
    if name == "MultipleOf":
        return {"multiple_of": _plain(value.base, depth - 1)}
    if hasattr(value, "__index__"):
        return int(value)
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {each: _plain(getattr(value, each, None), depth - 1) for each in fields}
    return None


def _placements(kv_cache_config: Any) -> Iterable[_Placement]:
    """Of 0.30 and later `layers`, `layer_stride`, `block_stride`, `offset`; before that `shared_by`:
    every layer at one place, and a block stride of 0 (or none) where nothing is placed."""
    for tensor in getattr(kv_cache_config, "kv_cache_tensors", None) or ():
        block_stride = getattr(tensor, "block_stride", None)
        if block_stride is None or block_stride == 0:
            continue
        layers: Any = getattr(tensor, "layers", None)
        layer_stride = getattr(tensor, "layer_stride", 0)
        if layers is None:
            layers, layer_stride = getattr(tensor, "shared_by", ()), 0
        yield list(layers), getattr(tensor, "offset", 0), layer_stride, block_stride
