"""The reference connector where the engine's cache is too small: loads wait, running requests are
preempted and loaded anew, one is aborted while its blocks come in."""

import pytest
import zoo
from crowd_scenarios import ABORTED, ASKING, TOKENS

pytestmark = pytest.mark.engines

KIB = 1 << 10
# memory of the caches: hardly more than one request of full length needs
CASES = {
    "llama": {"kv_cache_memory_bytes": 1664 * KIB, "block_size": 128, "max_model_len": 1024},
    "gemma3": {"kv_cache_memory_bytes": 1792 * KIB, "block_size": 128, "max_model_len": 1024},
    "nemotron_h": {"kv_cache_memory_bytes": 2304 * KIB, "step": 256},
}


def beginning(answer, count):
    return answer["tokens"][:count], answer["logprobs"][:count]


@pytest.mark.parametrize("model", CASES)
def test_more_requests_than_the_cache_holds(engines, model_folder, tmp_path, model):
    """After a preemption vLLM computes a recurrent state of generated tokens anew, in one go instead
    of step by step, and differs by itself; until then, and in every other model, nothing does."""
    got = engines.run("crowd_scenarios:crowd", model=model, folder=model_folder, store=str(tmp_path),
                      kernel_pages=32, **CASES[model])  # fmt: skip
    assert got["aborted"]
    assert sorted(map(int, got["answers"])) == [i for i in range(ASKING) if i != ABORTED]
    assert got["preempted"]
    for number, answer in got["answers"].items():
        right = got["right"][int(number)]
        equal = got["preempted"].get(number, TOKENS) if model in zoo.HYBRID else TOKENS
        assert answer["cached"] == got["cached"][int(number)], number
        assert beginning(answer, equal) == beginning(right, equal), number
    for number, answer in enumerate(got["alone"]):  # what was stored meanwhile is right
        assert answer["cached"] == got["cached"][number], number
        assert beginning(answer, 8) == beginning(got["right"][number], 8), number
