"""Reads vLLM's KV cache config by attribute: versions 0.25 to 0.33, and stand-ins for them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _arguments
from ._core import make_spec
from ._errors import Error

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._core import Spec, _Facts, _Group, _Placement

    _Parallel: TypeAlias = tuple[int, int, int, int, int]
    _Engine: TypeAlias = tuple[str, _Parallel, dict[str, str], str]  # the last: the cache's dtype

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
    model, parallel, backends, cache_dtype = _NO_ENGINE
    if vllm_config is not None:
        engine = _arguments.read("vllm_config", vllm_config, _engine, kv_caches)
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
        _layout_of(layout, kv_cache_config, vllm_config),
        num_blocks,
        parallel,
        _groups(groups, kv_cache_config, cache_dtype),
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
    groups = getattr(kv_cache_config, "kv_cache_groups", _MISSING)
    if groups is _MISSING:
        return None
    if not isinstance(groups, (list, tuple)):
        raise _arguments.refused("/groups", groups, "a list of groups")
    num_blocks = getattr(kv_cache_config, "num_blocks", _MISSING)
    if num_blocks is _MISSING:
        raise Error("/num_blocks: kv_cache_config does not give it", "/num_blocks")
    return groups, num_blocks, _placements(kv_cache_config)


def _loaded_version() -> str:
    version = getattr(sys.modules.get("vllm"), "__version__", "")
    return version if isinstance(version, str) else ""


_NO_ENGINE: _Engine = "", (1, 1, 1, 1, 1), {}, ""


def _engine(vllm_config: Any, kv_caches: Mapping[str, Any]) -> _Engine | None:
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


def _layout_of(layout: Any, kv_cache_config: Any, vllm_config: Any) -> str:
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


def _parallel_of(config: Any) -> _Parallel:
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


def _groups(groups: Iterable[Any], kv_cache_config: Any, cache_dtype: str) -> list[_Group]:
    specs = _Specs(cache_dtype)
    made: list[_Group] = []
    group: Any = None
    try:
        for group in groups:
            made.append(_group(len(made), group, kv_cache_config, specs))
    except Exception as error:
        raise _arguments.unreadable(f"/groups/{len(made)}", group, error)
    return made


def _group(at: int, group: Any, kv_cache_config: Any, specs: _Specs) -> _Group:
    where = f"/groups/{at}"
    layers = _names(_needed(group, "layer_names", where + "/layers"), where + "/layers")
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


def _names(given: Any, where: str) -> Sequence[str]:
    """Of layers; what is no str in a list of them is found by the core."""
    if isinstance(given, (list, tuple)):
        return given
    if isinstance(given, (str, bytes, Mapping, Set)) or not isinstance(given, Iterable):
        raise _arguments.refused(where, given, "a list of str")
    return list(given)


def _needed(thing: Any, name: str, where: str) -> Any:
    value = getattr(thing, name, _MISSING)
    if value is _MISSING:
        raise Error(f"{where}: {_arguments.kind(thing)} does not give {name}", where)
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
    if not isinstance(leaves, (dict, Mapping)):
        raise _arguments.refused(where + "/layer_specs", leaves, "a dict of layer to spec")
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

    def __init__(self, cache_dtype: str) -> None:
        self._cache_dtype = cache_dtype
        self._known: dict[Any, Spec] = {}

    def of(self, spec: Any, where: str) -> Spec:
        parameters = getattr(spec, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            try:
                return _frozen_spec(spec, self._cache_dtype)
            except Exception:  # cannot be read, or not hashed: some field of it raises
                return self._made(spec, where)
        try:
            found = self._known.get(spec)
        except Exception:  # cannot be hashed
            return self._made(spec, where)
        if found is None:
            found = self._known[spec] = self._made(spec, where)
        return found

    def _made(self, spec: Any, where: str) -> Spec:
        return _spec(spec, where, self._cache_dtype)


@lru_cache(maxsize=256)
def _frozen_spec(spec: Any, cache_dtype: str) -> Spec:
    """vLLM's own specs are frozen and equal by value; an engine has few and shows them often."""
    return _spec(spec, "", cache_dtype)


def _spec(spec: Any, where: str, cache_dtype: str) -> Spec:
    name, bases, fields = _read(spec, where)
    # Formats of 8 bits are registered as bytes, and most classes do not say which it is.
    if cache_dtype and fields.get("dtype") in ("uint8", "int8"):
        fields.setdefault("cache_dtype_str", cache_dtype)
    return make_spec(name, bases, fields, where)


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


def _placements(kv_cache_config: Any) -> list[_Placement]:
    tensors = getattr(kv_cache_config, "kv_cache_tensors", None)
    if tensors is None:
        return []
    if not isinstance(tensors, (list, tuple)):
        raise _arguments.refused("/placements", tensors, "a list (kv_cache_tensors)")
    placed: list[_Placement] = []
    at, tensor = -1, None
    try:
        for at, tensor in enumerate(tensors):
            layers = getattr(tensor, "layers", _MISSING)
            if layers is not _MISSING:
                placed.append(_placement(at, tensor, layers))
            elif hasattr(tensor, "shared_by"):
                _add_shared(at, tensor, placed)
            else:
                raise _no_placement(at, tensor)
    except Exception as error:
        raise _arguments.unreadable(f"/placements/{at}", tensor, error)
    return placed


def _placement(at: int, tensor: Any, layers: Any) -> _Placement:
    """Of 0.30 and later."""
    names = _names(layers, f"/placements/{at}/layers")
    block_stride = getattr(tensor, "block_stride", _MISSING)
    layer_stride = getattr(tensor, "layer_stride", _MISSING)
    if block_stride is _MISSING or layer_stride is _MISSING:
        name = "block_stride" if block_stride is _MISSING else "layer_stride"
        _needed(tensor, name, f"/placements/{at}/{name}")
    if block_stride == 0 and block_stride is not False:
        where = f"/placements/{at}/block_stride"
        raise Error(
            f"{where}: 0 puts all blocks of its layers at one place; give the bytes from a block to "
            "the next (before vLLM 0.30, with shared_by, 0 stands for no placement)",
            where,
        )
    return names, getattr(tensor, "offset", 0), layer_stride, block_stride, at


def _add_shared(at: int, tensor: Any, placed: list[_Placement]) -> None:
    """Until 0.29: every layer at one place, and a block stride of 0 (or none) where the tensor is its
    layers' own and nothing is placed."""
    names = _names(tensor.shared_by, f"/placements/{at}/layers")
    block_stride = getattr(tensor, "block_stride", None)
    if block_stride is not None and block_stride != 0:
        placed.append((names, getattr(tensor, "offset", 0), 0, block_stride, at))


def _no_placement(at: int, tensor: Any) -> Error:
    where = f"/placements/{at}"
    return Error(
        f"{where}: {_arguments.kind(tensor)} without layers and without shared_by where vLLM's "
        "KVCacheTensor is wanted",
        where,
    )
