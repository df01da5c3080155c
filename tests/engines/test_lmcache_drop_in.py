"""What the drop-in changes in an engine, and what it costs at its start."""

import pytest

pytestmark = pytest.mark.engines

SIXTY_FOUR_LAYERS = {
    "num_hidden_layers": 64,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
    "mlp_only_layers": list(range(63)),
    "hidden_size": 64,
    "intermediate_size": 64,
}


def engine_of(model, folder, connector, **more):
    return {"model": model, "folder": folder, "connector": connector, "kernel_pages": 32, **more}


@pytest.mark.parametrize("value", [None, "0", ""])
def test_not_asked_for(engines, lmcache_server, model_folder, value):
    """Installed and not switched on: LMCache's own functions stay where they are."""
    given = engine_of("llama", model_folder, lmcache_server.connector("engine_driven"))
    environment = {} if value is None else {"KVEDIT_LMCACHE": value}
    seen = engines.run("scenarios:drop_in", environment=environment, **given)
    assert seen["modules"] == ["lmcache.integration.vllm.kv_cache_group_edits"]


def test_cost_at_start(engines, lmcache_server, model_folder):
    """Entry point, import of kvedit, its rules, both functions, on a hybrid of 64 layers: less than
    50 ms of the start of an engine."""
    given = engine_of(
        "qwen3_next",
        model_folder,
        lmcache_server.connector("lmcache_driven"),
        changes=SIXTY_FOUR_LAYERS,
        shared_memory=True,
    )
    taken = []
    for attempt in range(3):  # the shortest: other processes' time is not kvedit's
        seen = engines.run("scenarios:drop_in", environment={"KVEDIT_LMCACHE": "1"}, **given)
        assert seen["modules"] == ["kvedit.integrations.lmcache"]
        assert seen["seconds"]["apply_kv_cache_group_edits"] > 0
        taken.append(seen["seconds"])
        if sum(taken[-1].values()) < 0.05:
            break
    best = min(taken, key=lambda seconds: sum(seconds.values()))
    print("".join(f"\n{name}: {1000 * value:.1f} ms" for name, value in best.items()))
    assert sum(best.values()) < 0.05, taken
