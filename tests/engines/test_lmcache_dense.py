"""A dense model whose attention is cut into kernel pages, through the real LMCache server.

LMCache looks at models with Mamba layers only before it moves their caches. Here it takes kernel
pages for blocks: with a hit for every stored token the answers are others, and nobody says a word.
"""

import re

import pytest
import zoo

pytestmark = pytest.mark.engines

PROMPT = zoo.prompt(1100, seed=1)
STORED = 1024  # whole chunks of it
BLOCK, KERNEL_PAGE = 128, 32


def told(name, answer):
    tokens = " ".join(f"{token:3}" for token in answer["tokens"][:6])
    chances = " ".join(f"{chance:7.4f}" for chance in answer["logprobs"][:3])
    return f"{name:25} {answer['cached']:4} of {len(PROMPT)} cached  {tokens} …  {chances} …"


@pytest.fixture(scope="module")
def without_cache(engines, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("model") / "llama")
    given = {"model": "llama", "folder": folder, "block_size": BLOCK, "kernel_pages": KERNEL_PAGE}
    return engines.run("scenarios:answers", prompts=[PROMPT], **given)["answers"][0]


@pytest.mark.parametrize("drop_in", [False, True], ids=["without_kvedit", "with_kvedit"])
def test_dense_kernel_paged(engines, lmcache_server, model_folder, without_cache, drop_in):
    given = {
        "environment": {"KVEDIT_LMCACHE": "1"} if drop_in else {},
        "model": "llama",
        "folder": model_folder,
        "block_size": BLOCK,
        "kernel_pages": KERNEL_PAGE,
        "connector": lmcache_server.connector("engine_driven"),
        "prompt": PROMPT,
        "server_log": str(lmcache_server.log),
    }
    stored = engines.run("scenarios:store", stored=STORED, **given)
    # Once in a Python that has imported nothing before: what the plugin waits for is imported later.
    loaded = engines.run("scenarios:load", fresh=drop_in, **given)
    if not drop_in:
        print("\n" + told("no cache", without_cache))
    print("\n" * drop_in + told(f"restarted, with{'' if drop_in else 'out'} kvedit", loaded))

    answer = without_cache["tokens"], without_cache["logprobs"]
    assert (stored["tokens"], stored["logprobs"], stored["cached"]) == (*answer, 0)
    assert (loaded["cached"], loaded["retrieved"]) == (STORED, STORED)  # a perfect hit, both times
    if drop_in:
        assert (loaded["tokens"], loaded["logprobs"]) == answer
    else:
        assert loaded["tokens"] != answer[0]
        assert loaded["logprobs"] != answer[1]
        assert not re.search(r"LMCache.* (WARNING|ERROR)", engines.last_log.read_text())
