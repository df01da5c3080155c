"""From block ids to addresses: against the parts of the report, counted one by one."""

import numpy as np
import pytest

import kvedit
from conftest import GIVEN
from spans import of_block, union


def served(host, name):
    return host.edit(kvedit.Registration.from_json(GIVEN[name].text))


def spans_of(extents, names):
    found = {}
    for address, length, storage in extents.tolist():
        found.setdefault(names[storage], []).append((address, address + length))
    return {storage: union(each) for storage, each in found.items()}


def test_extents_of_a_layer_are_its_pages(host, given):
    if given.refused_as:
        pytest.skip("refused")
    result = served(host, given.name)
    for name, pages in result.pages.items():
        ids = [pages.blocks - 1, 0, pages.blocks // 2]
        extents = pages.addresses(ids)
        assert int(extents["length"].sum()) == len(set(ids)) * pages.block_bytes or len(set(ids)) < 3
        expected = {}
        for block in ids:
            for storage, spans in of_block(pages.fields["parts"], block).items():
                expected.setdefault(storage, []).extend(spans)
        expected = {storage: union(spans) for storage, spans in expected.items()}
        assert spans_of(extents, result.registration.storages) == expected, name


def test_a_dense_page_is_block_by_block(host):
    result = served(host, "qwen3.5-0.8b-flashinfer-nhd")
    pages = result.pages["model.layers.3.self_attn.attn"]
    page = pages.block_bytes
    assert page == 1114112
    extents = pages.addresses(np.array([9, 2, 40], dtype=np.int32))
    (part,) = pages.parts
    assert extents["address"].tolist() == [part.base + block * page for block in (9, 2, 40)]
    assert extents["length"].tolist() == [page] * 3
    assert extents["address"].dtype == np.uint64 and extents["length"].dtype == np.uint64
    together = pages.addresses(range(4))
    assert together["length"].tolist() == [4 * page]


def test_a_group_is_its_layers_in_order(host):
    result = served(host, "qwen3.5-0.8b-flashinfer-nhd")
    names = [name for name, layer in result.layers.items() if layer.group == 3]
    by_group, by_name = result.address_map(3), result.address_map(names)
    assert by_group.block_bytes == result.groups[3].block_bytes == by_name.block_bytes
    ids = [5, 1]
    assert by_group.extents(ids).tolist() == by_name.extents(ids).tolist()
    starts = [pages.parts[0].base + 1114112 * block for pages in map(result.pages.get, names)
              for block in ids]  # fmt: skip
    assert by_group.extents(ids)["address"].tolist() == starts
    block_major = result.address_map(3, order="block_major").extents(ids)["address"].tolist()
    assert block_major == [start for block in range(2) for start in starts[block::2]]


def test_bases_are_added(host):
    result = served(host, "kv-tuple-two-allocations")
    name, pages = next(iter(result.pages.items()))
    bases = {storage: 1 << (40 + i) for i, storage in enumerate(result.registration.storages)}
    plain = result.address_map(name).extents([3, 1])
    based = result.address_map(name, bases).extents([3, 1])
    added = [bases[result.registration.storages[number]] for number in plain["storage"]]
    assert based["address"].tolist() == (plain["address"] + np.array(added, np.uint64)).tolist()
    del bases[result.registration.storages[0]]
    with pytest.raises(kvedit.Error, match="no address of storage"):
        result.address_map(name, bases)


def test_what_an_extent_has(host):
    """24 bytes, as C++ has them; storage numbers `Registration.storages`, address counts from there."""
    result = served(host, "kv-tuple-two-allocations")
    name, pages = next(iter(result.pages.items()))
    extents = pages.addresses([3])
    assert extents.dtype == result.address_map(name).dtype and extents.dtype.itemsize == 24
    fields = {name: (str(dtype), at) for name, (dtype, at, *_) in extents.dtype.fields.items()}
    assert fields == {"address": ("uint64", 0), "length": ("uint64", 8), "storage": ("int32", 16)}
    storages = [result.registration.storages[number] for number in extents["storage"]]
    assert storages == [part.storage for part in pages.parts for _ in part.ranges]
    starts = [part.base + 3 * part.block_stride + offset for part in pages.parts
              for offset, _ in part.ranges]  # fmt: skip
    assert extents["address"].tolist() == starts


def test_out_is_written_and_its_beginning_given(host):
    result = served(host, "qwen3.5-0.8b-flashinfer-nhd")
    map = result.address_map(3)
    out = np.zeros(map.capacity(2), dtype=map.dtype)
    extents = map.extents([0, 9], out=out)
    assert np.shares_memory(extents, out) and extents.tolist() == map.extents([0, 9]).tolist()
    with pytest.raises(kvedit.Error, match="capacity"):
        map.extents([0, 9, 11], out=out)


@pytest.mark.parametrize("ids", [[-1], [64], [0, 1 << 40], np.array([2**64 - 1], np.uint64)])
def test_ids_that_are_none(host, ids):
    pages = served(host, "qwen3.5-0.8b-flashinfer-nhd").pages["model.layers.3.self_attn.attn"]
    with pytest.raises(kvedit.Error):
        pages.addresses(ids)


def test_no_ids_no_extents(host):
    pages = served(host, "qwen3.5-0.8b-flashinfer-nhd").pages["model.layers.3.self_attn.attn"]
    assert len(pages.addresses([])) == 0
    assert len(pages.addresses(np.arange(64)[::2])) == 32


def test_wrong_choices_are_named(host):
    result = served(host, "qwen3.5-0.8b-flashinfer-nhd")
    for wrong in ("no.layer", ["model.layers.3.self_attn.attn", "model.layers.0.linear_attn"], 17, []):
        with pytest.raises(kvedit.Error):
            result.address_map(wrong)
    with pytest.raises(kvedit.Error, match="order"):
        result.address_map(0, order="random")
    refused = kvedit.Host(standard_rules=False).edit(result.registration)
    with pytest.raises(kvedit.Error) as raised:
        refused.address_map(0)
    assert raised.value.problems


def test_the_pages_keep_what_they_need(host):
    pages = served(host, "live-v0320-llama").pages
    first = next(iter(pages.values()))
    del pages
    assert len(first.addresses([1])) == 1
