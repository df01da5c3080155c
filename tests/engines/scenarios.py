"""What engine processes do in the tests: each function is one process, its result is JSON."""

from typing import Any

from engine import Engine


def answers(prompts: list[list[int]], tokens: int = 8, **engine: Any) -> dict[str, Any]:
    """Answers to the prompts, one after the other."""
    with Engine(**engine) as running:
        return {
            "answers": [running.generate(prompt, tokens) for prompt in prompts],
            "start_seconds": running.start_seconds,
        }
