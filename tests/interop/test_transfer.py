"""Blocks moved in memory by LMCache's own gather and scatter, through the views that kvedit gives.

The engine-driven transfer of LMCache, its default without a GPU: a chunk of two blocks is gathered
and scattered into other blocks of zeroed memory, whole, and with the first block skipped because the
engine has it. Bytes are counted against `expected`.
"""

import math

import pytest

pytest.importorskip("vllm")
pytest.importorskip("lmcache")

import side_by_side as sides  # noqa: E402
import torch  # noqa: E402
from lmcache.v1.gpu_connector.kv_format.detectors import vllm as vllm_detector  # noqa: E402
from lmcache.v1.multiprocess.transfer_context import base  # noqa: E402

pytestmark = pytest.mark.engines


# Never zero; of a prime length, so that no block repeats another.
NOISE = torch.randint(1, 256, (1048573,), dtype=torch.uint8, generator=torch.Generator().manual_seed(7))


class Layer:
    """One view with memory of its own: its first blocks, from its first byte on."""

    def __init__(self, case, name, view, right):
        self.case, self.right = case, right
        (shown,) = sides.shown_as(case, view)
        self.dtype = getattr(torch, shown["dtype"])
        if shown["dtype"].startswith("float8"):
            self.dtype = torch.int8  # torch's CPU kernels do not copy those
        self.shape, self.stride = shown["shape"], shown["stride"]
        self.storage = shown["storage"]
        self.begin = shown["storage_offset"] * self.dtype.itemsize
        self.blocks = right["blocks"]
        if self.shape[0] == self.blocks and self.blocks > 3:
            self.shape[0] = self.blocks = 3
        last = sum((extent - 1) * step for extent, step in zip(self.shape, self.stride))
        self.size = (last + 1) * self.dtype.itemsize
        self.reach = max([self.size, *(end for block in range(self.blocks)
                                       for _, end in self.spans(self.right_bytes(block)))])  # fmt: skip

    def spans(self, bytes_of_block):
        """Relative to the first byte of the view."""
        return [(begin - self.begin, end - self.begin) for begin, end in bytes_of_block[self.storage]]

    def right_bytes(self, block):
        return sides.of_block(self.right["parts"], block)

    def owned(self, block):
        return sides.owned_by(self.right, block)

    def memory(self, fill):
        made = torch.zeros(self.reach + self.dtype.itemsize, dtype=torch.uint8)
        if fill:
            for begin in range(0, made.numel(), len(NOISE)):
                part = made[begin : begin + len(NOISE)]
                part.copy_(NOISE[: len(part)])
        return made

    def view(self, memory):
        empty = torch.empty(0, dtype=self.dtype)
        items = memory.numel() // self.dtype.itemsize
        whole = empty.set_(memory.untyped_storage(), 0, (items,), (1,))
        return {"layer": whole.as_strided(self.shape, self.stride, 0)}

    def payload(self, memory, block):
        return torch.cat([memory[begin:end] for begin, end in self.spans(self.right_bytes(block))])

    def transfer(self, pairs, skip=0):
        """Memory from which blocks were stored, and other memory into which they were loaded."""
        stored, loaded = self.memory(fill=True), self.memory(fill=False)
        hints = self.case.hints
        sources, targets = zip(*pairs)
        chunks = base.gather_paged_kv_to_cpu(
            self.view(stored), list(sources), len(sources), layout_hints=hints)  # fmt: skip
        base.scatter_cpu_to_paged_kv(
            self.view(loaded), list(targets), chunks, len(targets), skip_first_n_tokens=skip,
            layout_hints=hints)  # fmt: skip
        return stored, loaded


@pytest.fixture(autouse=True)
def device_of_the_case(monkeypatch):
    """Without a hint the order of heads and tokens follows from the device."""

    def set_to(case):
        kind = "cpu" if case.memory else "cuda"
        monkeypatch.setattr(vllm_detector, "torch_device_type", kind)

    return set_to


def layers(case, answer):
    """Of each kind of view one."""
    kinds = {}
    for name, right in case.served.items():
        views = sides.listed(answer.views[name])
        if len(views) == 1 and answer.reads[name]["format"] != "NL_X_TWO_NB_NH_ONE_BS_HS":
            kinds.setdefault((tuple(sides.signature(views[0])[0][:3]), right["slots"]), (name, right))
    return [Layer(case, name, answer.views[name], right) for name, right in kinds.values()]


def pairs_of(layer):
    """Stored from and loaded into; never the same block where there is another."""
    return {1: [(0, 0)], 2: [(0, 1), (1, 0)]}.get(layer.blocks, [(0, 2), (2, 1)])


ACCEPTED = [name for name in sides.names() if sides.ours_of(name).verdict == "right"]


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_block_is_brought_back_and_nothing_else_changes(name, device_of_the_case):
    case = sides.case(name)
    device_of_the_case(case)
    for layer in layers(case, sides.ours_of(name)):
        pairs = pairs_of(layer)
        stored, loaded = layer.transfer(pairs)
        for source, target in pairs:
            assert torch.equal(layer.payload(loaded, target), layer.payload(stored, source))
            for begin, end in layer.spans(layer.owned(target)):
                loaded[max(begin, 0) : end] = 0
        assert not loaded.any()


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_engine_has_is_skipped_and_the_rest_brought_back(name, device_of_the_case):
    """LMCache skips by slots, so a wrong count skips more, or less, than the engine has."""
    case = sides.case(name)
    device_of_the_case(case)
    for layer in layers(case, sides.ours_of(name)):
        if layer.blocks == 1 or math.gcd(layer.right["slots"], layer.right["tokens"]) == 1:
            continue  # one slot for all tokens: it has nothing to skip by
        (_, first), (source, second) = pairs = pairs_of(layer)
        slots = min(layer.right["slots"], layer.right["tokens"])
        stored, loaded = layer.transfer(pairs, skip=slots)
        assert not layer.payload(loaded, first).any()
        assert torch.equal(layer.payload(loaded, second), layer.payload(stored, source))


MISCOUNTED = [name for name in sides.names() if sides.theirs_of(name).verdict == "slots"]


def test_lmcaches_own_views_lose_what_is_skipped_by_slots(device_of_the_case):
    """The control: where slots are miscounted the bytes come back whole, and not after a skip."""
    lost = 0
    few = MISCOUNTED[::4]
    for name in few:
        case = sides.case(name)
        device_of_the_case(case)
        for layer in layers(case, sides.theirs_of(name)):
            if layer.blocks == 1 or layer.right["slots"] < layer.right["tokens"]:
                continue
            pairs = pairs_of(layer)
            stored, loaded = layer.transfer(pairs, skip=layer.right["tokens"])
            (source, target) = pairs[1]
            lost += not torch.equal(layer.payload(loaded, target), layer.payload(stored, source))
    assert lost >= len(few) / 2
