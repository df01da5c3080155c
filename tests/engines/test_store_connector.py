"""The reference connector on running models: what it brings back is what the engine had computed.

Each model runs with attention pages as the engine's manager has them, and cut into kernel pages.
Equal means equal tokens and equal log-probabilities, to the bit.
"""

import pytest
import zoo
from store_scenarios import prompts_of

pytestmark = pytest.mark.engines

# tokens of a step: one block where the CPU build keeps no states between blocks
STEPS = {"nemotron_h": 256, "falcon_h1": 384, "granite_hybrid": 384}
MODELS = ["nemotron_h", "qwen3_next", "falcon_h1", "granite_hybrid", "llama", "gemma3"]
CASES = [(model, pages) for model in MODELS for pages in (None, 32)] + [("deepseek_v2", None)]


def of(model, folder):
    options = {"model": model, "folder": folder, "step": STEPS.get(model)}
    if model in ("llama", "gemma3"):
        options["block_size"] = 128
    return options


def same(answer, right):
    return (answer["tokens"], answer["logprobs"]) == (right["tokens"], right["logprobs"])


def cached(length, block):
    """What can be brought back of a prompt: whole blocks, and one token is left to compute."""
    return (length - 1) // block * block


@pytest.mark.parametrize(("model", "pages"), CASES)
def test_stored_wiped_and_brought_back(engines, model_folder, tmp_path, model, pages):
    latent = model == "deepseek_v2"  # on CPU its prefill differs with the number of cached tokens
    given = {**of(model, model_folder), "store": str(tmp_path), "kernel_pages": pages}
    kept = engines.run("store_scenarios:keep", local_hit=latent, **given)
    block, right = kept["block"], kept["right"]
    whole = {name: cached(len(each), block) for name, each in prompts_of(block).items()}
    for wipe in ("zeros", "garbage"):
        for name in whole:
            answer = kept["answers"][wipe][name]
            assert answer["cached"] == whole[name], (wipe, name)
            assert same(answer, right[name]), (wipe, name)
    for answer, name in zip(kept["both"], ("long", "sibling"), strict=True):
        assert answer["cached"] >= 2 * block
        assert answer["tokens"] == right[name]["tokens"] or latent

    # the controls: damage that the comparison must see
    assert kept["answers"]["half"]["long"]["cached"] == whole["long"]
    assert not same(kept["answers"]["half"]["long"], right["long"])
    if pages:
        assert kept["answers"]["kernel page"]["long"]["cached"] == whole["long"]
        assert not same(kept["answers"]["kernel page"]["long"], right["long"])

    # payload and nothing else lies in the files
    for payload, *sizes in kept["bytes"]:
        assert sizes == [payload + 88]
    assert ("recurrent" in kept["groups"]) == (model in zoo.HYBRID)
    assert ("window" in kept["groups"]) == (model == "gemma3")

    back = engines.run("store_scenarios:bring_back", **given)
    for name in whole:
        assert back["answers"][name]["cached"] == whole[name], name
        assert same(back["answers"][name], right[name]), name
    for how, (answer, again) in back["damaged"].items():
        assert answer["cached"] < whole["long"], how
        assert again["cached"] == whole["long"], how
        for each in (answer, again):
            assert same(each, right["long"]) or latent, how
    assert back["vanished"]["finish"] == "length"
    assert same(back["vanished"], right["long"]) or latent
    assert back["after"]["cached"] == whole["long"]
    assert same(back["after"], right["long"]) or latent


@pytest.mark.parametrize("model", ["llama", "nemotron_h"])
def test_a_failed_load_fails_one_request_where_the_policy_says_so(
    engines, model_folder, tmp_path, model
):
    got = engines.run("store_scenarios:fail", store=str(tmp_path), **of(model, model_folder))
    assert got["failed"]["finish"] == "error" and not got["failed"]["tokens"]
    assert same(got["next"], got["right"])
    assert got["next"]["cached"] == 3 * (STEPS.get(model) or 128)


@pytest.mark.parametrize("model", ["llama", "nemotron_h"])
def test_weights_that_change_in_place_with_a_reset(engines, model_folder, tmp_path, model):
    given = {**of(model, model_folder), "store": str(tmp_path)}
    got = engines.run("store_scenarios:change_weights", **given)
    assert got["reset"] and got["late"] >= 3  # blocks of before, written when all was forgotten
    assert not same(got["before"], got["right"])
    assert got["first"]["cached"] == 0 and same(got["first"], got["right"])
    assert got["again"]["cached"] == 3 * (STEPS.get(model) or 128)
    assert same(got["again"], got["right"])
    assert list(tmp_path.iterdir()) == []  # neither is of use to another engine


@pytest.mark.parametrize("model", ["llama", "nemotron_h", "qwen3_next"])
def test_generated_tokens_are_kept(engines, model_folder, tmp_path, model):
    got = engines.run("store_scenarios:conversation", store=str(tmp_path), **of(model, model_folder))
    blocks = 2 if model in zoo.HYBRID else 3  # the engine keeps no states of decoding steps
    assert got["loaded"]["cached"] == got["right"]["cached"] == blocks * got["block"]
    assert same(got["loaded"], got["right"])


def test_hits_inside_a_block(engines, model_folder, tmp_path):
    given = {**of("nemotron_h", model_folder), "store": str(tmp_path), "prefix_match_unit": 32}
    got = engines.run("store_scenarios:tails", length=2 * 256 + 96, **given)
    for name in ("went on", "ended"):
        assert got[name]["loaded"]["cached"] == 2 * 256 + 96, name
        assert same(got[name]["loaded"], got[name]["right"]), name


def test_prompts_that_only_begin_alike(engines, model_folder, tmp_path):
    given = {**of("nemotron_h", model_folder), "store": str(tmp_path)}
    got = engines.run("store_scenarios:junctions", prefix_cache_retention_interval=256, **given)
    assert got["loaded"]["cached"] == got["right"]["cached"] == 2 * got["block"]
    assert same(got["loaded"], got["right"])


def test_a_block_is_there_when_every_worker_has_it(engines, model_folder, tmp_path):
    blocks = 3 + 2  # of attention; states of two groups
    given = {**of("nemotron_h", model_folder), "store": str(tmp_path), "files": 2 * blocks,
             "prompt": zoo.prompt(3 * 256 + 9)}  # fmt: skip
    right, without = engines.run("store_scenarios:shards", reset=False, **given)
    assert right["cached"] == 0 and without["cached"] < 3 * 256
    for shard in (0, 1):
        assert len(list(tmp_path.glob(f"*/tp{shard}-pcp0/**/*.kv"))) == blocks
    loaded, again, anew, kept = engines.run("store_scenarios:shards", reset=True, **given)
    assert loaded["cached"] == 3 * 256 and again["cached"] < 3 * 256
    assert anew["cached"] == 0 and kept["cached"] == 3 * 256
    assert list(tmp_path.iterdir()) == []  # each worker has left
    for answer in (without, loaded, again, anew, kept):
        assert same(answer, right)
    assert max(right["logprobs"]) > -1  # weights that answer something
