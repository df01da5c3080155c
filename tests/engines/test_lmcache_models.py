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


def answers_from_the_server(engines, lmcache_server, given):
    """Stored through shared memory, asked for by a new engine: what an engine without cache answers."""
    right = engines.run("scenarios:answer", **given)
    given = {**given, "server_log": str(lmcache_server.log), "shared_memory": True}
    given["connector"] = lmcache_server.connector("lmcache_driven")
    stored = engines.run("scenarios:store", stored=STORED, environment=DROP_IN, **given)
    loaded = engines.run("scenarios:load", environment=DROP_IN, **given)
    for each in stored, loaded:
        assert (each["tokens"], each["logprobs"]) == (right["tokens"], right["logprobs"])
    assert (stored["cached"], loaded["cached"], loaded["retrieved"]) == (0, STORED, STORED)


HYBRIDS = [
    pytest.param(model, pages, id=f"{model}-{pages or 'manager'}")
    for model in ("nemotron_h", "qwen3_next", "falcon_h1", "granite_hybrid")
    for pages in (None, 32)
]


@pytest.mark.parametrize(("model", "kernel_pages"), HYBRIDS)
def test_hybrid(engines, lmcache_server, model_folder, model, kernel_pages):
    answers_from_the_server(engines, lmcache_server, engine_of(model, model_folder, kernel_pages))


@pytest.mark.parametrize(
    ("mode", "drop_in", "words"),
    [
        # LMCache moves one group in this way, whoever made the views.
        ("engine_driven", False, "does not support multiple KV transfer groups"),
        ("engine_driven", True, "does not support multiple KV transfer groups"),
        # Its own view of a state row is tight; its way through shared memory wants dense tensors.
        ("lmcache_driven", False, "migrate_to_shm_and_wrap requires a contiguous tensor"),
    ],
)
def test_hybrid_refused_by_lmcache(engines, lmcache_server, model_folder, mode, drop_in, words):
    given = engine_of("nemotron_h", model_folder, None)
    given["connector"] = lmcache_server.connector(mode)
    given["shared_memory"] = mode == "lmcache_driven"
    with pytest.raises(EngineError, match=words):
        engines.run("scenarios:answer", environment=DROP_IN if drop_in else {}, **given)


def test_views_that_would_lose_their_memory_are_refused(engines, lmcache_server, model_folder):
    """Without caches in shared memory LMCache turns the tensors it was handed to a copy of its own:
    the views, not those that vLLM writes to."""
    given = engine_of("nemotron_h", model_folder, None)
    given["connector"] = lmcache_server.connector("lmcache_driven")
    with pytest.raises(EngineError, match="shared memory") as raised:
        engines.run("scenarios:answer", environment=DROP_IN, **given)
    assert raised.value.kind == "Error"


OTHER_TAIL = PROMPT[:STORED] + zoo.prompt(76, seed=3)


@pytest.fixture(scope="module")
def local_hit(engines, tmp_path_factory):
    """On CPU vLLM computes a prompt with a cached prefix in another way than a whole one: the
    difference is its own, so what is right is what a hit in its own cache gives."""
    given = engine_of("deepseek_v2", str(tmp_path_factory.mktemp("model") / "local"), None)
    given["prompts"] = [given.pop("prompt"), OTHER_TAIL]
    answers = engines.run("scenarios:answers", keep_prefix_caching=True, **given)["answers"]
    assert [each["cached"] for each in answers] == [0, STORED]
    return answers[1]


@pytest.mark.parametrize("mode", ["engine_driven", "lmcache_driven"])
def test_latent_attention(engines, lmcache_server, model_folder, local_hit, mode):
    given = engine_of("deepseek_v2", model_folder, None)
    given["server_log"] = str(lmcache_server.log)
    given["connector"] = lmcache_server.connector(mode)
    given["shared_memory"] = mode == "lmcache_driven"
    stored = engines.run("scenarios:store", stored=STORED, environment=DROP_IN, **given)
    given["prompt"] = OTHER_TAIL
    loaded = engines.run("scenarios:load", environment=DROP_IN, **given)
    assert stored["cached"] == 0
    assert (loaded["cached"], loaded["retrieved"]) == (STORED, STORED)
    assert loaded["tokens"] == local_hit["tokens"]
    assert loaded["logprobs"] == local_hit["logprobs"]


@pytest.mark.parametrize("kernel_pages", [None, 32])
def test_sliding_windows_of_whole_blocks(engines, lmcache_server, model_folder, kernel_pages):
    given = engine_of("gemma3", model_folder, kernel_pages)
    given["changes"] = {"sliding_window": 256}
    answers_from_the_server(engines, lmcache_server, given)


@pytest.mark.parametrize("drop_in", [False, True])
def test_a_window_below_a_block(engines, lmcache_server, model_folder, drop_in):
    """64 tokens in blocks of 128: LMCache's server refuses that, and the engine waits for its answer
    until it gives up. kvedit says so, with both numbers, before anything is registered."""
    words = r"window of 64 tokens is no multiple of the 128" if drop_in else "did not respond"
    given = engine_of("gemma3", model_folder, None)
    given["connector"] = lmcache_server.connector("lmcache_driven", patience=3)
    given["shared_memory"] = True
    with pytest.raises(EngineError, match=words):
        engines.run("scenarios:answer", environment=DROP_IN if drop_in else {}, **given)
