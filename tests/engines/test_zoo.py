"""The tiny models are worth testing with: they run, repeat themselves, and hear their prefix."""

import pytest
import zoo

pytestmark = pytest.mark.engines

TAIL = zoo.prompt(40, seed=9)
PROMPTS = [zoo.prompt(560, seed) + TAIL for seed in (1, 2)]
BLOCKS = {"nemotron_h": 256, "falcon_h1": 384, "granite_hybrid": 384}


@pytest.mark.parametrize("model", ["llama", "nemotron_h"])
def test_answers_depend_on_the_prefix(engines, model_folder, model):
    given = {
        "model": model,
        "folder": model_folder,
        "step": BLOCKS.get(model),
        "enable_prefix_caching": False,
    }
    if model in zoo.RECURRENT:
        given["enable_prefix_caching"] = True
    first, other = engines.run("scenarios:answers", prompts=PROMPTS, **given)["answers"]
    again = engines.run("scenarios:answers", prompts=PROMPTS[:1], **given)["answers"][0]
    assert (first["tokens"], first["logprobs"]) == (again["tokens"], again["logprobs"])
    assert first["logprobs"] != other["logprobs"]
