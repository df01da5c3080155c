"""Stand-ins for what vLLM and torch hand a connector, rebuilt from a registration.

Spec classes carry vLLM's class names, bases and attributes and nothing of kvedit; tensors answer what
torch's answer, so that the tests need neither package.
"""

from enum import Enum
from fractions import Fraction
from types import SimpleNamespace

ITEMSIZE = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "int16": 2,
    "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4, "int64": 8, "float64": 8,
}  # fmt: skip


class dtype:
    """Named as torch names it: `torch.bfloat16`."""

    known = {}

    def __new__(cls, name):
        if name not in cls.known:
            cls.known[name] = object.__new__(cls)
            cls.known[name].name = name
        return cls.known[name]

    @property
    def itemsize(self):
        return ITEMSIZE[self.name]

    def __str__(self):
        return f"torch.{self.name}"


class Storage:
    next_address = 1 << 30

    def __init__(self, nbytes, device="cpu", address=None):
        if address is None:
            address = Storage.next_address
            Storage.next_address += max(nbytes, 1) + 4096
        self.address, self.size, self.device = address, nbytes, device
        self._cdata = id(self)

    def nbytes(self):
        return self.size

    def data_ptr(self):
        return self.address


class Tensor:
    def __init__(self, storage, dtype_name, shape, stride, offset=0):
        self.storage, self.dtype = storage, dtype(dtype_name)
        self.shape, self.steps, self.offset = tuple(shape), tuple(stride), offset

    def stride(self):
        return self.steps

    def storage_offset(self):
        return self.offset

    def data_ptr(self):
        return self.storage.data_ptr() + self.offset * self.dtype.itemsize  # torch's meta tensors too

    def get_device(self):
        return -1 if self.storage.device == "cpu" else int(self.storage.device.split(":")[-1])

    @property
    def device(self):
        return self.storage.device

    def element_size(self):
        return self.dtype.itemsize

    def untyped_storage(self):
        return self.storage

    def as_strided(self, shape, stride, offset=None):
        offset = self.offset if offset is None else offset
        last = offset + sum((extent - 1) * step for extent, step in zip(shape, stride))
        if (last + 1) * self.dtype.itemsize > self.storage.nbytes():
            raise RuntimeError("out of bounds")
        return Tensor(self.storage, self.dtype.name, shape, stride, offset)

    def set_(self, storage, offset, shape, stride):
        return Tensor(storage, self.dtype.name, shape, stride, offset)


def fake_torch():
    """What views need of the module."""
    names = {name: dtype(name) for name in ITEMSIZE}
    empty = lambda shape, dtype, device: Tensor(Storage(0, device), dtype.name, shape, (1,))  # noqa: E731
    return SimpleNamespace(empty=empty, **names)


class MultipleOf:
    def __init__(self, base):
        self.base = base


def spec_class(name, bases):
    """A class of that name with that chain of bases."""
    made = object
    for each in reversed([name, *bases]):
        made = type(each, (made,), {})
    return made


def enum_member(enum, name):
    return Enum(enum, [name.upper()])[name.upper()]


def spec_value(name, value):
    if name == "dtype":
        return dtype(value)
    if name == "dtypes":
        return tuple(dtype(each) for each in value)
    if name == "shapes":
        return tuple(tuple(each) for each in value)
    if name in ("kv_quant_mode", "mamba_type", "cache_role"):
        return enum_member(name, value)
    if name == "tokens_per_state" and isinstance(value, str):
        return Fraction(value)
    if name == "block_stride_alignment" and isinstance(value, dict) and "multiple_of" in value:
        return MultipleOf(value["multiple_of"])
    return value


def spec_object(given):
    """Without `kind`: vLLM's specs have none."""
    made = spec_class(given["type"], given["bases"])()
    for name, value in given.items():
        if name not in ("type", "bases", "kind"):
            setattr(made, name, spec_value(name, value))
    return made


def group_object(given, config):
    spec = spec_object(given["spec"])
    leaves = given.get("layer_specs")
    if leaves:
        spec.kv_cache_specs = {name: spec_object(leaf) for name, leaf in leaves.items()}
    group = SimpleNamespace(layer_names=given["layers"], kv_cache_spec=spec)
    for flag in ("enable_kv_transfer", "host_resident", "is_eagle_group"):
        if flag in given:
            setattr(group, flag, given[flag])
    if given.get("num_blocks") is not None:
        config.hisparse_host_num_blocks = given["num_blocks"]
        if not given.get("host_resident"):
            group.num_blocks = given["num_blocks"]
    return group


def placed_tensor(placement, old):
    """Of the form before 0.30 (`shared_by`) when the placement fits into it and `old` asks for it."""
    if old and placement["layer_stride"] == 0:
        return SimpleNamespace(
            size=0, shared_by=placement["layers"], offset=placement["offset"],
            block_stride=placement["block_stride"],
        )  # fmt: skip
    return SimpleNamespace(
        size=0, layers=placement["layers"], layer_stride=placement["layer_stride"],
        block_stride=placement["block_stride"], offset=placement["offset"], host_resident=False,
    )  # fmt: skip


def config_object(registration, old=False):
    config = SimpleNamespace(num_blocks=registration["num_blocks"])
    config.kv_cache_groups = [group_object(group, config) for group in registration["groups"]]
    placements = registration.get("placements") or []
    config.kv_cache_tensors = [placed_tensor(placement, old) for placement in placements]
    return config


def storages_of(registration, make=Storage):
    return {name: make(each["nbytes"], each.get("device", "cpu"))
            for name, each in registration["storages"].items()}  # fmt: skip


def caches_of(registration, storages):
    def tensor(given):
        return Tensor(storages[given["storage"]], given["dtype"], given["shape"], given["stride"],
                      given["storage_offset"])  # fmt: skip

    return {layer: [tensor(each) for each in given] if isinstance(given, list) else tensor(given)
            for layer, given in registration["caches"].items()}  # fmt: skip


def vllm_config_object(registration):
    parallel = registration.get("parallel", {})
    layers = {}
    for layer, name in (registration.get("backends") or {}).items():
        module, _, qualname = name.rpartition(".")
        if not module:  # the name of an enum's member, no class
            continue
        backend = type(qualname, (), {"__module__": module})
        layers[layer] = SimpleNamespace(get_attn_backend=lambda backend=backend: backend)
    return SimpleNamespace(
        model_config=SimpleNamespace(model=registration.get("model", "")),
        parallel_config=SimpleNamespace(
            tensor_parallel_size=parallel.get("tp", 1),
            pipeline_parallel_size=parallel.get("pp", 1),
            decode_context_parallel_size=parallel.get("dcp", 1),
            prefill_context_parallel_size=parallel.get("pcp", 1),
            cp_kv_cache_interleave_size=parallel.get("cp_interleave", 1),
        ),
        compilation_config=SimpleNamespace(static_forward_context=layers),
    )


def small(**changes):
    """One attention layer of 4 blocks of 4096 bytes."""
    spec = spec_class("FullAttentionSpec", ["AttentionSpec", "KVCacheSpec"])()
    spec.__dict__.update(block_size=16, page_size_bytes=4096, num_kv_heads=2, head_size=32,
                         dtype=dtype("bfloat16"))  # fmt: skip
    spec.__dict__.update(changes)
    group = SimpleNamespace(layer_names=["a"], kv_cache_spec=spec)
    config = SimpleNamespace(num_blocks=4, kv_cache_groups=[group], kv_cache_tensors=[])
    tensor = Tensor(Storage(4 * 4096), "bfloat16", (4, 2, 16, 64),
                             (2048, 1024, 64, 1))  # fmt: skip
    return config, {"a": tensor}
