"""A registration as vLLM's connector would be given it: vLLM's own spec classes, torch's tensors.

Specs are those of the installed vLLM. A registration of another version has fields that they lack,
lacks fields that they have, or has pages that they count otherwise: then the class is derived from
theirs, under the same name, and answers as the registration says.
"""

import json
import re
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction

import torch
from vllm.v1 import kv_cache_interface as engine
from vllm.v1.attention.backend import MultipleOf
from vllm.v1.attention.backends.registry import MambaAttentionBackendEnum

LATEST = (0, 32)
# What a spec of the installed vLLM answers beside its fields.
DERIVED = ("page_size_bytes", "unpadded_page_size_bytes", "real_page_size_bytes", "num_heads",
           "num_states", "tokens_per_state", "state_content_size_bytes", "prefix_cacheable",
           "has_layer_views")  # fmt: skip
NOT_FIELDS = ("type", "bases", "kind")
# In place of a field that a registration leaves out and the engine needs to make a spec.
FILLED = {"dtype": torch.uint8, "shapes": (), "dtypes": (), "kv_cache_specs": {},
          "sliding_window": -1}  # fmt: skip
# Asked of every spec that should have them.
ALWAYS = {"kv_cache_specs", "sliding_window"}


def version_of(registration):
    """(major, minor) of the engine; the installed one when it is not given."""
    text = (registration.get("engine") or {}).get("version", "")
    found = re.match(r"(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else LATEST


ENUMS = {"kv_quant_mode": engine.KVQuantMode, "cache_role": engine.SparseCacheRole,
         "mamba_type": MambaAttentionBackendEnum}  # fmt: skip


def member(enum, name):
    """A name that the installed engine does not have stays a text."""
    return next((each for each in enum if each.name.lower() == name), name)


def live_value(name, value):
    """A JSON value as the spec of the engine has it."""
    if name == "dtype":
        return getattr(torch, value)
    if name == "dtypes":
        return tuple(getattr(torch, each) for each in value)
    if name == "shapes":
        return tuple(map(tuple, value))
    if name in ENUMS:
        return member(ENUMS[name], value)
    if name == "tokens_per_state" and isinstance(value, str):
        return Fraction(value)
    if name == "block_stride_alignment" and isinstance(value, dict):
        return MultipleOf(value.get("multiple_of", value.get("base")))
    return value


def engine_class(given):
    names = [given["type"], *given.get("bases", ())]
    return next(getattr(engine, name) for name in names if hasattr(engine, name))


class Says:
    """An attribute of a derived class: what the registration says, or that there is none."""

    def __init__(self, value=MISSING):
        self.value = value

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, spec, owner=None):
        if self.value is MISSING:
            raise AttributeError(f"a spec of that version has no {self.name}")
        return self.value

    def __set__(self, spec, value):
        """Dataclasses set their fields; what the registration says stays."""


_specs = {}


def spec_of(given, version=LATEST):
    """The spec that answers as given; of equal facts one object, as the engine's groups have."""
    key = (json.dumps(given, sort_keys=True), version)
    if key not in _specs:
        _specs[key] = make_spec(given, version)
    return _specs[key]


def make_spec(given, version):
    cls = engine_class(given)
    values = {name: live_value(name, value) for name, value in given.items()
              if name not in NOT_FIELDS}  # fmt: skip
    known = [each.name for each in fields(cls)]
    needed = [each.name for each in fields(cls)
              if each.default is MISSING and each.default_factory is MISSING]  # fmt: skip
    made = cls(**({name: FILLED.get(name, 1) for name in needed}
                  | {name: values[name] for name in known if name in values}))  # fmt: skip
    absent = (set(needed) if version >= LATEST else {*known, *DERIVED}) - set(values)
    absent -= ALWAYS & set(needed)
    says = {name: Says(value) for name, value in values.items()
            if absent or answer(made, name) != value}  # fmt: skip
    return as_registered(made, given["type"], says, absent)


def as_registered(spec, name, says, absent):
    """The spec with what the registration says of it; itself when it says the same."""
    if not says and not absent and type(spec).__name__ == name:
        return spec
    own = says | {each: Says() for each in absent}
    theirs = type(spec).__dataclass_fields__
    own["__dataclass_fields__"] = theirs | {each: theirs["block_size"] for each in says}
    own |= {"__eq__": object.__eq__, "__hash__": object.__hash__}  # theirs ask for every field
    object.__setattr__(spec, "__class__", type(name, (type(spec),), own))
    return spec


def answer(spec, name):
    try:
        return getattr(spec, name, MISSING)
    except (AssertionError, NotImplementedError):  # theirs, of pages that are not
        return MISSING


def is_engines_own(spec):
    """Whether no attribute had to be put in."""
    return type(spec).__module__ == engine.__name__


def group_spec(group, version):
    leaves = group.get("layer_specs")
    if not leaves:
        return spec_of(group["spec"], version)
    made = engine.UniformTypeKVCacheSpecs(group["spec"]["block_size"], kv_cache_specs={})
    given = {name: spec_of(leaf, version) for name, leaf in leaves.items()}
    object.__setattr__(made, "kv_cache_specs", given)
    if version < LATEST:
        return as_registered(made, group["spec"]["type"], {}, {"dcp_sharded"})
    made.__post_init__()
    return made


def group_of(group, version):
    made = engine.KVCacheGroupSpec(
        layer_names=group["layers"], kv_cache_spec=group_spec(group, version),
        is_eagle_group=group.get("is_eagle_group", False),
        host_resident=group.get("host_resident", False),
        enable_kv_transfer=group.get("enable_kv_transfer", True))  # fmt: skip
    if group.get("num_blocks") is not None and not group.get("host_resident"):
        made.num_blocks = group["num_blocks"]
    return made


@dataclass
class KVCacheTensor:
    """As engines before 0.30 have it: all layers at one place."""

    size: int
    shared_by: list = field(default_factory=list)
    offset: int = 0
    block_stride: int = 0


def placed(placement, version):
    if version < (0, 30) and placement["layer_stride"] == 0:
        return KVCacheTensor(0, placement["layers"], placement["offset"], placement["block_stride"])
    return engine.KVCacheTensor(
        size=0, layers=placement["layers"], layer_stride=placement["layer_stride"],
        block_stride=placement["block_stride"], offset=placement["offset"])  # fmt: skip


def config_of(registration):
    version = version_of(registration)
    groups = [group_of(group, version) for group in registration["groups"]]
    hosts = [group["num_blocks"] for group in registration["groups"]
             if group.get("host_resident") and group.get("num_blocks") is not None]  # fmt: skip
    return engine.KVCacheConfig(
        num_blocks=registration["num_blocks"],
        kv_cache_tensors=[placed(each, version) for each in registration.get("placements") or ()],
        kv_cache_groups=groups, hisparse_host_num_blocks=hosts[0] if hosts else None)  # fmt: skip


class Elsewhere(torch.Tensor):
    """A tensor without memory that names the device of the registration."""

    place = None

    @property
    def device(self):
        return self.place


_elsewhere = {}


def class_on(device):
    if device not in _elsewhere:
        _elsewhere[device] = type("Elsewhere", (Elsewhere,), {"place": Device(device)})
    return _elsewhere[device]


class Device(str):
    """A device of torch, also one that this build of it does not have."""

    @property
    def type(self):
        return self.partition(":")[0]


def storages_of(registration, device="meta"):
    return {name: torch.empty(each["nbytes"], dtype=torch.uint8, device=device).untyped_storage()
            for name, each in registration["storages"].items()}  # fmt: skip


def tensor_of(given, storage, place=None):
    """place: the device it claims to be on; its own when None."""
    dtype = getattr(torch, given["dtype"])
    made = torch.empty(0, dtype=dtype, device=storage.device)
    items = storage.nbytes() // made.element_size()
    made = made.set_(storage, 0, (items,), (1,))
    made = made.as_strided(given["shape"], given["stride"], given["storage_offset"])
    return made if place is None else made.as_subclass(class_on(place))


def caches_of(registration, device="meta", claim=True):
    """In registration order. claim: tensors name the device of the registration."""
    storages = storages_of(registration, device)

    def made(given):
        place = registration["storages"][given["storage"]].get("device") if claim else None
        return tensor_of(given, storages[given["storage"]], place or None)

    return {layer: [made(each) for each in given] if isinstance(given, list) else made(given)
            for layer, given in registration["caches"].items()}  # fmt: skip


HINTS = {"LBNHC": "NHD", "LBHNC": "HND"}


def hints_of(registration):
    """As LMCache's connector names the layout."""
    layout = registration.get("layout")
    return {"kv_layout": HINTS.get(layout, layout)} if layout else {}
