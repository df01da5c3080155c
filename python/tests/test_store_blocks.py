"""Blocks gathered from real memory and scattered into it, in every layout that kvedit serves:
against the bytes written down in `tests/registrations/expected`."""

import ctypes
import mmap
from types import SimpleNamespace

import numpy as np
import pytest

import kvedit
from conftest import GIVEN
from spans import of_block, union

from kvedit.integrations._store.blocks import GroupBlocks

try:
    import torch
    assert hasattr(torch.Tensor, "untyped_storage")  # 2.0 and later
except (ImportError, AssertionError):
    torch = None

_NORESERVE = 0x4000  # memory is there when it is touched


class Memory:
    """Storages as large as registered, of which pages exist once they are touched."""

    def __init__(self, facts, through_torch):
        self.bytes, self.storages = {}, {}
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        for name, given in facts["storages"].items():
            memory = mmap.mmap(-1, max(given["nbytes"], 1), flags=flags)
            self.bytes[name] = np.frombuffer(memory, np.uint8)[: given["nbytes"]]
            if through_torch:
                self.storages[name] = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
                continue
            address = ctypes.addressof(ctypes.c_uint8.from_buffer(memory))
            self.storages[name] = SimpleNamespace(
                nbytes=lambda size=given["nbytes"]: size, data_ptr=lambda at=address: at, device="cpu"
            )

    def paint(self, spans, byte=None):
        """Each byte tells where it lies; or all have the same value."""
        for storage, each in spans.items():
            for begin, end in each:
                self.bytes[storage][begin:end] = picture(storage, begin, end) if byte is None else byte


def picture(storage, begin, end):
    at = np.arange(begin, end, dtype=np.uint64) + np.uint64(sum(storage.encode()))
    return (at * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(37)).astype(np.uint8)


def payload_of(layers, block):
    """What a stored block is: the payload of layer after layer, in order."""
    return np.concatenate([
        picture(part["storage"], begin + offset, begin + offset + length)
        for layer in layers for part in layer["parts"]
        for begin in [part["base"] + block * part["block_stride"]]
        for offset, length in part["ranges"]
    ])  # fmt: skip


def owned_of(layers, blocks):
    """Storage → spans of all bytes of these blocks, padding too."""
    found = {}
    for layer in layers:
        for storage, spans in layer["owned"].items():
            for begin, length in spans:
                stride = next(
                    part["block_stride"] for part in layer["parts"] if part["storage"] == storage
                    and any(begin <= part["base"] + at < begin + length for at, _ in part["ranges"])
                )  # fmt: skip
                starts = [begin + block * stride for block in blocks]
                found.setdefault(storage, []).extend((start, start + length) for start in starts)
    return {storage: union(spans) for storage, spans in found.items()}


def groups_of(given, host):
    """Served groups; of several alike, the first."""
    result = host.edit(kvedit.Registration.from_json(given.text))
    alike = {(group.kind, group.layers, group.block_bytes): group for group in result.groups[::-1]}
    for group in alike.values():
        names = [name for name, layer in result.layers.items()
                 if layer.group == group.index and layer.pages]  # fmt: skip
        if names and group.outcome == "served":
            yield result, group, [given.expected["layers"][name] for name in names]


WAYS = ["host", pytest.param("device", marks=pytest.mark.skipif(torch is None, reason="no torch"))]


@pytest.mark.parametrize("way", WAYS)
def test_payload_goes_out_and_comes_in_and_nothing_else_does(host, given, way):
    if given.refused_as:
        pytest.skip("refused")
    for result, group, layers in groups_of(given, host):
        memory = Memory(given.facts, way == "device")
        blocks = GroupBlocks(result, group.index, memory.storages, way == "host")
        assert blocks.block_bytes == group.block_bytes
        last = blocks.count - 1
        around = owned_of(layers, sorted({0, 1, last}))
        memory.paint(around)
        stored = blocks.gather([last, 1])
        for row, block in zip(stored, (last, 1)):
            assert np.array_equal(row, payload_of(layers, block)), group.index

        memory.paint(around, 0xEE)
        blocks.scatter([1, last], stored)  # each under the id of the other
        for block, source in ((1, last), (last, 1)):
            assert np.array_equal(blocks.gather([block])[0], payload_of(layers, source))
        for block in {1, last}:
            for layer in layers:
                memory.paint(of_block(layer["parts"], block), 0xEE)
        for storage, spans in around.items():
            for begin, end in spans:
                assert (memory.bytes[storage][begin:end] == 0xEE).all(), "padding or a neighbour"


def test_ids_that_the_group_does_not_have_are_refused(host):
    given = GIVEN["live-v0320-llama"]
    result, group, _ = next(groups_of(given, host))
    blocks = GroupBlocks(result, group.index, Memory(given.facts, False).storages)
    for wrong in (-1, blocks.count):
        with pytest.raises(IndexError, match=str(blocks.count)):
            blocks.gather([0, wrong])
        with pytest.raises(IndexError):
            blocks.scatter([wrong], np.zeros((1, blocks.block_bytes), np.uint8))
    assert blocks.gather([]).shape == (0, blocks.block_bytes)
    blocks.scatter([], blocks.gather([]))


@pytest.mark.skipif(torch is None, reason="no torch")
def test_storages_are_found_by_their_addresses(host):
    from kvedit.integrations._store.blocks import storages_of

    whole = torch.zeros(4 * 4096, dtype=torch.uint8)
    config = SimpleNamespace(num_blocks=4, kv_cache_tensors=[], kv_cache_groups=[SimpleNamespace(
        layer_names=["a", "b"], kv_cache_spec=type("FullAttentionSpec", (), {
            "block_size": 16, "page_size_bytes": 2048, "num_kv_heads": 2, "head_size": 16,
            "dtype": torch.bfloat16})())])  # fmt: skip
    caches = {name: whole.view(torch.bfloat16)[at : at + 4096].view(4, 2, 16, 32)
              for name, at in (("a", 0), ("b", 4096))}  # fmt: skip
    result, _ = host.edit_live(config, caches, layout="LBHNC")
    result.raise_for_problems()
    storages = storages_of(result, caches)
    assert [each.data_ptr() for each in storages.values()] == [whole.untyped_storage().data_ptr()]
    blocks = GroupBlocks(result, 0, storages)
    blocks.scatter([2], np.full((1, 4096), 7, np.uint8))
    assert whole.view(2, 4, 2048)[:, 2].eq(7).all() and int(whole.eq(7).sum()) == 4096
