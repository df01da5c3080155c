"""What engine processes do in the tests: each function is one process, its result is JSON."""

import importlib
import json
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import lmcache_server
from engine import Engine


def answers(prompts: list[list[int]], tokens: int = 8, **engine: Any) -> dict[str, Any]:
    """Answers to the prompts, one after the other."""
    with Engine(**engine) as running:
        return {
            "answers": [running.generate(prompt, tokens) for prompt in prompts],
            "start_seconds": running.start_seconds,
        }


def answer(prompt: list[int], tokens: int = 8, **engine: Any) -> dict[str, Any]:
    """The first answer of an engine."""
    with Engine(**engine) as running:
        return running.generate(prompt, tokens)


def store(
    prompt: list[int], server_log: str, stored: int, tokens: int = 8, **engine: Any
) -> dict[str, Any]:
    """The first answer of an engine with LMCache; ends when its server has `stored` so many tokens
    more, which it says in its log."""
    before = lmcache_server.tokens("Stored", server_log)
    with Engine(**engine) as running:
        answer = running.generate(prompt, tokens)
        deadline = time.monotonic() + 60
        while lmcache_server.tokens("Stored", server_log) < before + stored:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the server has not stored {stored} tokens")
            time.sleep(0.05)
        return answer


def load(
    prompt: list[int], server_log: str, garbage: int = 0x55, tokens: int = 8, **engine: Any
) -> dict[str, Any]:
    """The first answer of a new engine whose caches are full of garbage, and how many tokens the
    server says it was given."""
    before = lmcache_server.tokens("Retrieved", server_log)
    with Engine(**engine) as running:
        running.fill(garbage)
        answer = running.generate(prompt, tokens)
        return {**answer, "retrieved": lmcache_server.tokens("Retrieved", server_log) - before}


def capture(written: str, **engine: Any) -> dict[str, Any]:
    """What `CaptureConnector` wrote while the engine started, and the answer to a short prompt when
    there is one."""
    prompt = engine.pop("prompt", None)
    with Engine(**engine) as running:
        answer = running.generate(prompt) if prompt else None
    return {
        "registration": json.loads(Path(written, "registration.json").read_text()),
        "report": json.loads(Path(written, "report.json").read_text()),
        "answer": answer,
    }


def drop_in(**engine: Any) -> dict[str, Any]:
    """Which functions LMCache's connector calls while an engine starts, and the seconds that kvedit
    takes of that: what vLLM does with its plugin, and each call of the functions."""
    assert not any(name.split(".")[0] == "kvedit" for name in sys.modules)
    started = time.perf_counter()
    (entry,) = entry_points(group="vllm.general_plugins", name="kvedit")
    entry.load()()
    seconds = {"plugin": time.perf_counter() - started}

    importlib.import_module("vllm.plugins").load_general_plugins()  # once, and no more
    edits = importlib.import_module("lmcache.integration.vllm.kv_cache_group_edits")
    connector = importlib.import_module("lmcache.integration.vllm.lmcache_mp_connector")
    names = ("apply_kv_cache_group_edits", "validate_kv_cache_groups")
    modules = {getattr(module, name).__module__ for module in (edits, connector) for name in names}

    def timed(name: str, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - started

        return call

    for name in names:
        setattr(connector, name, timed(name, getattr(connector, name)))
    with Engine(**engine) as running:
        answer = running.generate([3] * 40)
    return {"modules": sorted(modules), "seconds": seconds, "answer": answer}
