"""Groups of layers with their specs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from .. import _arguments
from .._core import make_spec
from .._errors import Error
from .attributes import names_of, needed
from .specs import Specs, read_spec

if TYPE_CHECKING:
    from .._core import Spec, _Group


def groups_of(groups: Iterable[Any], kv_cache_config: Any, cache_dtype: str) -> list[_Group]:
    specs = Specs(cache_dtype)
    made: list[_Group] = []
    group: Any = None
    try:
        for group in groups:
            made.append(_group(len(made), group, kv_cache_config, specs))
    except Exception as error:
        raise _arguments.unreadable(f"/groups/{len(made)}", group, error)
    return made


def _group(at: int, group: Any, kv_cache_config: Any, specs: Specs) -> _Group:
    where = f"/groups/{at}"
    layers = names_of(needed(group, "layer_names", where + "/layers"), where + "/layers")
    spec = needed(group, "kv_cache_spec", where + "/spec")
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
    layers: Iterable[str], leaves: Mapping[str, Any], where: str, specs: Specs
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
    name, bases, fields = read_spec(spec, where + "/spec")
    kinds = {leaf.kind for leaf in leaves.values()}
    if len(kinds) == 1 and kinds != {"unknown"}:
        fields.setdefault("kind", kinds.pop())
    return make_spec(name, bases, fields, where + "/spec")
