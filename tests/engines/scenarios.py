"""What engine processes do in the tests: each function is one process, its result is JSON."""

import time
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
