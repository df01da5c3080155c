"""Views over live tensors: torch's when there is one, else stand-ins that answer like them."""

import gc
import json
import sys
from types import SimpleNamespace

import pytest

import kvedit
import standins
from conftest import GIVEN
from spans import inside, of_block, of_view, some_blocks

try:
    import torch
except ImportError:
    torch = None


class StandIn:
    """Where torch is not: the same calls, on stand-ins."""

    name = "stand-in"

    def caches(self, facts, nbytes=None):
        storages = standins.storages_of(facts)
        for name, size in (nbytes or {}).items():
            storages[name].size = size
        return standins.caches_of(facts, storages)

    def tensor_like(self, tensor, shape=None, stride=None, offset=None, dtype=None, storage=None):
        return standins.Tensor(
            storage or tensor.storage, dtype or tensor.dtype.name, shape or tensor.shape,
            stride or tensor.stride(), tensor.storage_offset() if offset is None else offset,
        )  # fmt: skip

    def copy_of(self, tensor):
        return self.tensor_like(tensor, storage=standins.Storage(tensor.storage.size))

    def storage_of(self, tensor):
        return tensor.storage

    def install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", standins.fake_torch())


class Torch:
    """Tensors without memory; what is asked of them is the same as of others."""

    name = "torch"

    def caches(self, facts, nbytes=None):
        def storage(name, size):
            size = (nbytes or {}).get(name, size)
            return torch.empty(size, dtype=torch.uint8, device="meta")

        storages = {name: storage(name, each["nbytes"]) for name, each in facts["storages"].items()}

        def tensor(given):
            dtype = getattr(torch, given["dtype"], torch.uint8)
            whole = storages[given["storage"]]
            items = whole.numel() // torch.empty(0, dtype=dtype).element_size()
            flat = torch.empty(0, dtype=dtype, device="meta").set_(untyped(whole), 0, (items,), (1,))
            return flat.as_strided(given["shape"], given["stride"], given["storage_offset"])

        return {layer: [tensor(each) for each in given] if isinstance(given, list) else tensor(given)
                for layer, given in facts["caches"].items()}  # fmt: skip

    def tensor_like(self, tensor, shape=None, stride=None, offset=None, dtype=None):
        if dtype is not None:
            like, whole = tensor, torch.empty(0, dtype=getattr(torch, dtype), device="meta")
            items = untyped(like).nbytes() // whole.element_size()
            whole.set_(untyped(like), 0, (items,), (1,))
            tensor = whole.as_strided(like.shape, like.stride(), like.storage_offset())
        return tensor.as_strided(
            shape or tensor.shape, stride or tensor.stride(),
            tensor.storage_offset() if offset is None else offset,
        )  # fmt: skip

    def copy_of(self, tensor):
        whole = torch.empty(untyped(tensor).nbytes(), dtype=torch.uint8, device="meta")
        made = torch.empty(0, dtype=tensor.dtype, device="meta")
        return made.set_(untyped(whole), tensor.storage_offset(), tensor.shape, tensor.stride())

    def storage_of(self, tensor):
        return untyped(tensor)._cdata

    def install(self, monkeypatch):
        pass


def untyped(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


@pytest.fixture(params=[StandIn, pytest.param(Torch, marks=pytest.mark.torch)], ids=lambda m: m.name)
def maker(request, monkeypatch):
    if request.param is Torch and torch is None:
        pytest.skip("no torch")
    made = request.param()
    made.install(monkeypatch)
    return made


def known(facts):
    """Whether this torch has all dtypes."""
    names = {tensor["dtype"] for cache in facts["caches"].values()
             for tensor in (cache if isinstance(cache, list) else [cache])}  # fmt: skip
    return torch is None or all(hasattr(torch, name) for name in names)


def tensors(given):
    return given if isinstance(given, list) else [given]


@pytest.mark.parametrize("profile", ["native", "packed", "bytes"])
def test_views_are_as_planned_and_show_what_a_block_owns(host, maker, given, profile):
    if not known(given.facts):
        pytest.skip("a dtype that this torch does not have")
    registration = kvedit.Registration.from_json(given.text)
    result = host.edit(registration, profile=profile)
    caches = maker.caches(given.facts)
    if not result.ok:
        with pytest.raises(kvedit.Error) as raised:
            result.views(caches)
        assert raised.value.problems == result.problems
        return
    views = result.views(caches)
    assert list(views) == list(caches)
    for name, layer in result.layers.items():
        if not layer.views:
            assert name not in caches or views[name] is caches[name]
            continue
        shown = tensors(views[name])
        assert len(shown) == len(layer.views)
        right = given.expected["layers"][name]
        for block in some_blocks(right["blocks"]):
            bytes_shown = {}
            for tensor, view in zip(shown, layer.views):
                assert str(tensor.dtype) == f"torch.{view.dtype}"
                assert tuple(tensor.shape) == view.shape and tuple(tensor.stride()) == view.stride
                assert tensor.storage_offset() == view.storage_offset
                bytes_shown.setdefault(view.storage, []).extend(
                    of_view(view.shape, view.stride, view.storage_offset, tensor.element_size(),
                            view.block_axis, block))  # fmt: skip
            for storage, payload in of_block(right["parts"], block).items():
                assert inside(payload, bytes_shown[storage]), (name, block)
        own = [maker.storage_of(each) for each in tensors(caches[name])]
        assert all(maker.storage_of(each) in own for each in shown), name


def test_what_is_shown_as_registered_is_the_object_itself(host, maker):
    given = GIVEN["llama-3.1-8b-block16-nhd"]
    result = host.edit(kvedit.Registration.from_json(given.text))
    caches = maker.caches(given.facts)
    views = result.views(caches)
    assert all(views[name] is caches[name] for name in caches)


def changed(maker, change):
    given = GIVEN["qwen3.5-0.8b-flashinfer-nhd"]
    caches = maker.caches(given.facts)
    change(maker, caches)
    return caches


LAYER = "model.layers.3.self_attn.attn"


def replace(**how):
    return lambda maker, caches: caches.update({LAYER: maker.tensor_like(caches[LAYER], **how)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda maker, caches: caches.pop(LAYER), "no tensor given"),
        (lambda maker, caches: caches.update(extra=caches[LAYER]), "not registered"),
        (replace(shape=(1088, 2, 32, 256)), "shape"),
        (replace(stride=(16384, 512, 512, 1)), "stride"),
        (replace(offset=16), "storage offset 16"),
        (replace(dtype="float16"), "float16"),
        (lambda maker, caches: caches.update({LAYER: maker.copy_of(caches[LAYER])}), "another storage"),
        (lambda maker, caches: caches.update({LAYER: [caches[LAYER]] * 2}), "2 tensors given"),
        (lambda maker, caches: caches.update({LAYER: None}), "no plain strided tensor"),
        (lambda maker, caches: caches.update({LAYER: "a tensor"}), "no plain strided tensor"),
    ],
)  # fmt: skip
def test_other_tensors_are_refused(host, maker, change, message):
    given = GIVEN["qwen3.5-0.8b-flashinfer-nhd"]
    result = host.edit(kvedit.Registration.from_json(given.text))
    with pytest.raises(kvedit.Error, match=message) as raised:
        result.views(changed(maker, change))
    assert "layer " in raised.value.where
    with pytest.raises(kvedit.Error, match=message):
        result.bases(changed(maker, change))


def test_a_shorter_storage_is_refused(host, monkeypatch):
    """Same metadata, same places, fewer bytes behind them: nothing may be built over it."""
    maker = StandIn()
    maker.install(monkeypatch)
    given = GIVEN["qwen3.5-0.8b-flashinfer-nhd"]
    result = host.edit(kvedit.Registration.from_json(given.text))
    size = given.facts["storages"]["s0"]["nbytes"]
    with pytest.raises(kvedit.Error, match=f"has {size - 1} bytes"):
        result.views(maker.caches(given.facts, {"s0": size - 1}))
    assert result.views(maker.caches(given.facts, {"s0": size + 64}))


def test_storages_registered_apart_must_lie_apart(host, monkeypatch):
    maker = StandIn()
    maker.install(monkeypatch)
    given = GIVEN["kv-tuple-two-allocations"]
    result = host.edit(kvedit.Registration.from_json(given.text))
    storages = standins.storages_of(given.facts)
    first, second = list(storages)[:2]
    assert result.views(standins.caches_of(given.facts, storages))
    storages[second].address = storages[first].address + storages[first].size - 64
    with pytest.raises(kvedit.Error, match="share 64 bytes"):
        result.views(standins.caches_of(given.facts, storages))
    storages[second] = storages[first]
    with pytest.raises(kvedit.Error, match="in one storage"):
        result.views(standins.caches_of(given.facts, storages))


def test_bases_are_where_the_storages_begin(host):
    given = GIVEN["kv-tuple-two-allocations"]
    storages = standins.storages_of(given.facts)
    caches = standins.caches_of(given.facts, storages)
    result = host.edit(kvedit.Registration.from_json(given.text))
    used = {tensor["storage"] for cache in given.facts["caches"].values() for tensor in tensors(cache)}
    assert result.bases(caches) == {
        name: storage.address if name in used else 0 for name, storage in storages.items()
    }


def test_views_hold_no_more_than_they_need(host, maker):
    given = GIVEN["live-v0251-nemotron-h"]
    result = host.edit(kvedit.Registration.from_json(given.text), profile="bytes")
    caches = maker.caches(given.facts)
    watched = [each for cache in caches.values() for each in tensors(cache)]
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(40):
        result.views(caches)
        result.bases(caches)
        with pytest.raises(kvedit.Error):
            result.views({})
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


@pytest.mark.torch
def test_bytes_written_through_a_view_lie_at_the_addresses(host):
    """Real memory: what a view's block holds is what numpy finds at the extents of the block."""
    if torch is None:
        pytest.skip("no torch")
    import numpy as np

    page, blocks, kernel = 4096, 6, 4
    memory = torch.zeros(2 * blocks * page, dtype=torch.uint8)
    raw = memory.numpy()
    spec = standins.spec_class("FullAttentionSpec", ["AttentionSpec", "KVCacheSpec"])()
    spec.__dict__.update(block_size=16, page_size_bytes=page, num_kv_heads=2, head_size=32,
                         dtype=torch.bfloat16)  # fmt: skip
    caches = {}
    for i, name in enumerate("ab"):
        flat = torch.empty(0, dtype=torch.bfloat16).set_(
            untyped(memory), i * blocks * page // 2, (blocks * page // 2,), (1,)
        )
        caches[name] = flat.view(blocks * kernel, 2, 4, 64)
    config = standins.SimpleNamespace(
        num_blocks=blocks,
        kv_cache_groups=[standins.SimpleNamespace(layer_names=["a", "b"], kv_cache_spec=spec)],
    )
    result = host.edit(kvedit.Registration.from_vllm(config, caches, layout="HND"))
    views = result.views(caches)
    extents = result.address_map(["a", "b"], result.bases(caches)).extents([4, 1])
    for name in "ab":
        assert views[name].shape[0] == blocks and untyped(views[name]).data_ptr() == memory.data_ptr()
    for block in (4, 1):
        views["a"][block] = 1.0
        views["b"][block] = 2.0
    written = np.flatnonzero(raw.reshape(-1, 2).any(axis=1)) * 2
    expected = np.concatenate([np.arange(start, start + length, 2) for start, length, _ in extents.tolist()])
    assert sorted((expected - memory.data_ptr()).tolist()) == written.tolist()


@pytest.mark.torch
def test_no_view_can_leave_its_storage(host):
    if torch is None:
        pytest.skip("no torch")
    given = GIVEN["live-v0320-llama"]
    caches = Torch().caches(given.facts)
    registration = kvedit.Registration.from_json(given.text)
    views = host.edit(registration, profile="bytes").views(caches)
    for view in views.values():
        last = sum((extent - 1) * step for extent, step in zip(view.shape, view.stride()))
        end = view.storage_offset() + last + 1
        assert end <= untyped(view).nbytes() == given.facts["storages"]["s0"]["nbytes"]


def test_layers_that_show_the_same_bytes_alike_get_one_tensor(host, maker):
    """Groups lie over each other: layer 0 of three groups of states, and of attention, at one place."""
    given = GIVEN["qwen3.5-27b-aiter"]
    registration = kvedit.Registration.from_json(given.text)
    views = host.edit(registration).views(maker.caches(given.facts))
    states = [views[f"model.layers.{number}.linear_attn"] for number in (0, 1, 2)]
    assert states[0] is states[1] is states[2]
    assert views["model.layers.4.linear_attn"] is not states[0]
    attention = views["model.layers.3.self_attn.attn"]
    assert attention is not states[0] and len({id(view) for view in views.values()}) == 32


@pytest.mark.torch
def test_tensors_read_at_once_and_by_attribute_are_the_same():
    """torch's own class shows all in one call (2.10 and later); a subclass may answer otherwise."""
    if torch is None:
        pytest.skip("no torch")

    class Asked(torch.Tensor):
        pass

    memory = torch.zeros(1 << 16, dtype=torch.uint8)
    whole = memory.view(torch.bfloat16)
    tensors = {
        "offset": whole[48:].as_strided((3, 5, 7), (1024, 7, 1)),
        "permuted": whole.as_strided((4, 2, 8), (64, 1, 2), 96),
        "bytes": memory[:4096].view(4, 1024),
        "one byte": memory[64:128].view(getattr(torch, "float8_e4m3fn", torch.int8)),
        "bool": memory[128:256].view(torch.bool),
        "complex": memory[512:1024].view(torch.complex64),
        "scalar": memory[9],
        "other": torch.zeros(4, 4, dtype=torch.int64),
        "empty": torch.zeros(0, 4),
        "no memory": torch.zeros(4, 4, device="meta"),
        "list": [whole.view(2, -1)[1], torch.zeros(8, dtype=torch.float16)],
    }
    asked = {
        name: [each.as_subclass(Asked) for each in given] if isinstance(given, list)
        else given.as_subclass(Asked)
        for name, given in tensors.items()
    }  # fmt: skip
    config = SimpleNamespace(kv_cache_groups=[], num_blocks=4)
    registration = kvedit.Registration.from_vllm(config, tensors)
    assert registration.to_json() == kvedit.Registration.from_vllm(config, asked).to_json()
    facts = json.loads(registration.to_json())["caches"]
    for name, tensor in tensors.items():
        for got, each in zip(*([given] if not isinstance(given, list) else given
                               for given in (facts[name], tensor))):  # fmt: skip
            assert got["shape"] == list(each.shape) and got["stride"] == list(each.stride())
            assert got["storage_offset"] == each.storage_offset()
            assert f"torch.{got['dtype']}" == str(each.dtype)

    mixed = {name: (asked if at % 2 else tensors)[name] for at, name in enumerate(tensors)}
    assert registration.to_json() == kvedit.Registration.from_vllm(config, mixed).to_json()
