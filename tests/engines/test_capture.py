"""CaptureConnector on running engines writes the registrations that the other tests are built on."""

import json
from pathlib import Path

import kvedit
import pytest
import zoo

pytestmark = pytest.mark.engines

REGISTRATIONS = Path(__file__).resolve().parent.parent / "registrations"
SIXTY_FOUR = {
    "num_hidden_layers": 64,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
    "mlp_only_layers": list(range(63)),
    "hidden_size": 64,
    "intermediate_size": 64,
}
# registration given with the project → model, kernel pages, changes of its configuration
GIVEN = {
    "live-v0320-llama": ("llama", None, {}),
    "live-v0320-gemma3": ("gemma3", None, {}),
    "live-v0320-falcon-h1": ("falcon_h1", None, {}),
    "live-v0320-nemotron-h": ("nemotron_h", None, {}),
    "live-v0320-nemotron-h-kbs32": ("nemotron_h", 32, {}),
    "live-v0320-qwen3-5-text": ("qwen3_5_text", None, {}),
    "live-v0320-qwen3-next-64-kbs32": ("qwen3_next", 32, SIXTY_FOUR),
    "live-v0320-mamba2": ("mamba2", None, {}),
}
GIBIBYTE = 1 << 30  # the memory those engines had: it decides how many blocks there are


def connector(written):
    return {
        "kv_connector": "CaptureConnector",
        "kv_connector_module_path": "kvedit.integrations.vllm",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"kvedit.path": str(written)},
    }


# Derived facts that those files have and the connector leaves out: no rule reads them, or they follow
# from the rest. And what the connector adds: names of the backends, an option that is not set.
LEFT_OUT = {
    "block_stride_alignment",  # an object of vLLM's; the placements have the stride it led to
    "block_table_token_alignment",
    "kind",  # follows from the class
    "prefix_replay_tokens",
    "real_page_size_bytes",
    "uses_slot_mapping",
}


def compared(registration):
    """All that is known of both: layers, groups and specs, layout, placements, parallel sizes, the
    size of every storage, dtype, shape, stride and offset of every cache, the number of blocks."""
    facts = {key: value for key, value in registration.items() if key not in ("model", "backends")}
    facts["parallel"] = {
        key: value for key, value in facts["parallel"].items() if (key, value) != ("cp_interleave", 1)
    }
    facts["groups"] = [
        {**group, "spec": {k: v for k, v in group["spec"].items() if k not in LEFT_OUT}}
        for group in facts["groups"]
    ]
    return facts


def bytes_of(report):
    """Of each layer all but what its axes and elements are."""
    return [
        {
            **layer,
            "view": {**layer["view"], "axes": None},
            "pages": {**layer["pages"], "opaque": None, "opaque_because": None, "content": None},
        }
        for layer in report["layers"]
    ]


@pytest.mark.parametrize("name", GIVEN)
def test_as_given(engines, model_folder, tmp_path, name):
    model, kernel_pages, changes = GIVEN[name]
    captured = engines.run(
        "scenarios:capture",
        written=str(tmp_path),
        model=model,
        folder=model_folder,
        kernel_pages=kernel_pages,
        changes=changes,
        connector=connector(tmp_path),
        kv_cache_memory_bytes=GIBIBYTE,
    )
    path = REGISTRATIONS / f"{name}.json"
    registration, report = captured["registration"], captured["report"]
    assert compared(registration) == compared(json.loads(path.read_text()))
    assert registration["model"] == model_folder
    assert set(registration["backends"]) == set(registration["caches"])

    # The same answers. Backends go into the fingerprints, and vLLM's on CPU takes the names from what
    # lies inside heads: both are compared without.
    expected = kvedit.Host().edit(kvedit.Registration.load(path)).report()
    assert report["ok"]
    for answer in "chunk_tokens", "allocations":
        assert report[answer] == expected[answer], answer
    assert bytes_of(report) == bytes_of(expected)
    opaque = {each["pages"]["opaque_because"] for each in report["layers"]}
    assert opaque - {"recurrent"} == ({"backend"} if model != "mamba2" else set())
    del registration["backends"]
    plain = kvedit.Host().edit(kvedit.Registration.from_json(json.dumps(registration))).report()
    for answer in "layers", "groups", "fingerprint":
        assert plain[answer] == expected[answer], answer


def test_jamba(engines, model_folder, tmp_path):
    """Mamba-1 beside attention: vLLM's CPU build registers it and can do no more."""
    captured = engines.run(
        "scenarios:capture",
        written=str(tmp_path),
        model="jamba",
        folder=model_folder,
        connector=connector(tmp_path),
    )
    report = captured["report"]
    assert report["ok"]
    assert [group["kind"] for group in report["groups"]].count("mamba") == 3
    assert {group["kind"] for group in report["groups"]} == {"mamba", "full_attention"}


def test_beside_lmcache(engines, lmcache_server, model_folder, tmp_path):
    """As a child of vLLM's MultiConnector, beside one that moves: the same, and it moves on."""
    prompt = zoo.prompt(600, seed=4)
    multi = {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "connectors": [connector(tmp_path), lmcache_server.connector("engine_driven")]
        },
    }
    given = {"model": "llama", "folder": model_folder, "kv_cache_memory_bytes": GIBIBYTE}
    captured = engines.run(
        "scenarios:capture", written=str(tmp_path), connector=multi, prompt=prompt, **given
    )
    path = REGISTRATIONS / "live-v0320-llama.json"
    assert compared(captured["registration"]) == compared(json.loads(path.read_text()))
    right = engines.run("scenarios:answer", prompt=prompt, **given)
    answer = captured["answer"]
    assert (answer["tokens"], answer["logprobs"]) == (right["tokens"], right["logprobs"])
