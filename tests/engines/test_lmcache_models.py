"""Every kind of model through the real LMCache server with the drop-in: what a restarted engine
finds there is what the first one would have gone on with."""

import pytest
import zoo
from engines import EngineError

pytestmark = pytest.mark.engines

DROP_IN = {"KVEDIT_LMCACHE": "1"}
PROMPT = zoo.prompt(1100, seed=2)
STORED = 1024

# Attention so wide that a block is as long as LMCache's chunk: 256 tokens.
WIDE = {
    "falcon_h1": {"head_dim": 64},
    "granite_hybrid": {"num_key_value_heads": 4},
}


def engine_of(model, folder, kernel_pages):
    return {
        "model": model,
        "folder": folder,
        "kernel_pages": kernel_pages,
        "changes": WIDE.get(model, {}),
        "step": 256 if model in zoo.STEP_IS_A_BLOCK else None,
        "prompt": PROMPT,
    }


HYBRIDS = [
    pytest.param(model, pages, id=f"{model}-{pages or 'manager'}")
    for model in ("nemotron_h", "qwen3_next", "falcon_h1", "granite_hybrid")
    for pages in (None, 32)
]


@pytest.mark.parametrize(("model", "kernel_pages"), HYBRIDS)
def test_hybrid(engines, lmcache_server, model_folder, model, kernel_pages):
    given = engine_of(model, model_folder, kernel_pages)
    right = engines.run("scenarios:answer", **given)
    given["server_log"] = str(lmcache_server.log)
    given["connector"] = lmcache_server.connector("lmcache_driven")
    given["shared_memory"] = True
    stored = engines.run("scenarios:store", stored=STORED, environment=DROP_IN, **given)
    loaded = engines.run("scenarios:load", environment=DROP_IN, **given)
    for each in stored, loaded:
        assert (each["tokens"], each["logprobs"]) == (right["tokens"], right["logprobs"])
    assert (stored["cached"], loaded["cached"]) == (0, STORED)
    assert loaded["retrieved"] == STORED
