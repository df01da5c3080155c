"""The suites of python/tests/test_lmcache_suites.py with vLLM's spec classes and torch's tensors,
and what LMCache's detection makes of each answer."""

import pytest

pytest.importorskip("vllm")
pytest.importorskip("lmcache")

import lmcache_oracle  # noqa: E402
import side_by_side  # noqa: E402
import test_lmcache_suites as suites  # noqa: E402
import torch  # noqa: E402
import vllm_objects  # noqa: E402
from test_lmcache_suites import *  # noqa: E402, F403

pytestmark = pytest.mark.engines


class Real:
    def __init__(self, version):
        self.version = version

    def config(self, registration):
        return vllm_objects.config_of({**registration, "engine": {"version": self.version}})

    def caches(self, registration):
        return vllm_objects.caches_of(registration)

    def storage(self, tensor):
        return side_by_side.storage_of(tensor)

    def look_at(self, given, views, hints):
        """LMCache counts the slots of every block, and every block."""
        reads = side_by_side.quiet(
            lmcache_oracle.readings, self.config(given), views, hints,
            lmcache_oracle.devices_of(given), 1, False,
        )  # fmt: skip
        assert reads.keys() == views.keys()
        for group in given["groups"]:
            for layer in group["layers"]:
                spec = (group.get("layer_specs") or {}).get(layer, group["spec"])
                assert reads[layer]["blocks"] == given["num_blocks"]
                assert reads[layer]["slots"] == spec.get("num_states", spec["block_size"])


@pytest.fixture(params=["0.26.0", "0.32.0"])
def maker(request):
    return Real(request.param)


IN_MEMORY = [
    (suites.fused(4), "HND"), (suites.split(4), "NHD"), (suites.fused_tokens_first(4), "NHD"),
    (suites.fused(2), "HND"), (suites.fused_tokens_first(2), "NHD"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "hint"), IN_MEMORY)
def test_a_block_of_the_view_holds_the_numbers_of_its_kernel_pages(given, hint):
    blocks = given["shape"][0] // suites.K
    facts = suites.alone(blocks, given)
    facts["storages"]["s"]["nbytes"] = blocks * suites.page_of()
    caches = vllm_objects.caches_of(facts, "cpu", claim=False)
    memory = torch.empty(0, dtype=torch.int16).set_(caches["a"].untyped_storage())
    memory.copy_(torch.arange(memory.numel()) % 32749)
    views = suites.lmcache.apply_kv_cache_group_edits(
        vllm_objects.config_of(facts), caches, {"kv_layout": hint}
    )
    pages = memory.view(blocks, -1)
    for block in range(blocks):
        assert torch.equal(views["a"][block].view(torch.int16).flatten(), pages[block])
    views["a"][1].zero_()
    kernel_pages = caches["a"].view(torch.int16)
    assert not kernel_pages[suites.K : 2 * suites.K].any()
    assert kernel_pages[: suites.K].any() and memory.count_nonzero() > memory.numel() // 3
