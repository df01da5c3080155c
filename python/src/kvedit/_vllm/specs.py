"""What a spec says of a layer's page."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._core import make_spec
from .._errors import Error

if TYPE_CHECKING:
    from .._core import Spec

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
_DEEPEST = 16
_AS_THEY_ARE = frozenset((int, str, bool, float, type(None)))


class Specs:
    """Equal specs are read once; groups of one kind have equal specs."""

    def __init__(self, cache_dtype: str) -> None:
        self._cache_dtype = cache_dtype
        self._known: dict[Any, Spec] = {}

    def of(self, spec: Any, where: str) -> Spec:
        cls: Any = type(spec)
        if _equal_when_alike(cls):
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
def _equal_when_alike(cls: Any) -> bool:
    """Frozen, and no field is left out of what two of them are compared by."""
    given: Any = getattr(cls, "__dataclass_fields__", None)
    parameters: Any = getattr(cls, "__dataclass_params__", None)
    frozen = getattr(parameters, "frozen", False) is True and parameters.eq is True
    return frozen and isinstance(given, dict) and all(each.compare for each in given.values())


@lru_cache(maxsize=256)
def _frozen_spec(spec: Any, cache_dtype: str) -> Spec:
    """vLLM's own specs are frozen and equal by value; an engine has few and shows them often."""
    return _spec(spec, "", cache_dtype)


def _spec(spec: Any, where: str, cache_dtype: str) -> Spec:
    name, bases, fields = read_spec(spec, where)
    # Formats of 8 bits are registered as bytes, and most classes do not say which it is.
    if cache_dtype and fields.get("dtype") in ("uint8", "int8"):
        fields.setdefault("cache_dtype_str", cache_dtype)
    return make_spec(name, bases, fields, where)


def read_spec(spec: Any, where: str) -> tuple[str, list[str], dict[str, object]]:
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
