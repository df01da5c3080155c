"""An engine whose cache is too small for those who ask: see `test_store_crowd`."""

import contextlib
from typing import Any

import zoo
from store_scenarios import Stored

ASKING = 6
ABORTED = 2
TOKENS = 90


def _wanted() -> Any:
    from vllm import SamplingParams

    return SamplingParams(
        max_tokens=TOKENS, temperature=0, ignore_eos=True, detokenize=False, logprobs=3
    )


def _answer(output: Any) -> dict[str, Any]:
    made = output.outputs[0]
    return {
        "tokens": list(made.token_ids),
        "logprobs": [chances[each].logprob for each, chances in zip(made.token_ids, made.logprobs)],
        "cached": output.num_cached_tokens,
    }


class _Crowd:
    """All prompts at once; one is aborted while its blocks are loaded, and those that have begun to
    answer are preempted once, if the engine has not done so by then."""

    def __init__(self, stored: Stored, prompts: list[list[int]]) -> None:
        self.stored, self.prompts = stored, prompts
        self.engine = stored.engine.llm.llm_engine
        self.scheduler = self.engine.engine_core.engine_core.scheduler
        self.preempted: dict[str, int] = {}  # by number of the prompt: tokens answered by then
        self.answers: dict[str, Any] = {}
        self.aborted = False

    def _note_preemptions(self) -> None:
        theirs = self.scheduler._preempt_request

        def preempt(request: Any, *given: Any, **named: Any) -> Any:
            number = request.request_id.split("-")[0]
            self.preempted.setdefault(number, request.num_output_tokens)
            return theirs(request, *given, **named)

        self.scheduler._preempt_request = preempt

    def _abort_while_loading(self) -> None:
        for name, request in list(self.scheduler.requests.items()):
            number = name.split("-")[0]
            if number == str(ABORTED) and request.status.name == "WAITING_FOR_REMOTE_KVS":
                self.engine.abort_request([number])
                self.aborted = True

    def _preempt(self) -> None:
        if any(request.num_output_tokens >= TOKENS // 3 for request in self.scheduler.running):
            with contextlib.suppress(RuntimeError):  # loads are under way; they are preempted all the same
                self.stored.engine.llm.reset_prefix_cache(reset_running_requests=True)

    def run(self) -> dict[str, Any]:
        self._note_preemptions()
        for number, prompt in enumerate(self.prompts):
            self.engine.add_request(str(number), {"prompt_token_ids": prompt}, _wanted())
        while self.engine.has_unfinished_requests():
            for output in self.engine.step():
                if output.finished and output.outputs[0].finish_reason == "length":
                    self.answers[output.request_id] = _answer(output)
            if not self.aborted:
                self._abort_while_loading()
            if not self.preempted:
                self._preempt()
        self.stored.worker.wait()
        return {"answers": self.answers, "preempted": self.preempted, "aborted": self.aborted}


def crowd(store: str, **engine: Any) -> dict[str, Any]:
    """What each answers alone without any cache; all at once from the store; and what each answers
    alone from the store after that."""
    with Stored(store, policy="recompute", **engine) as stored:
        block = stored.block_tokens
        prompts = [zoo.prompt(2 * block - 60 + 13 * i, seed=10 + i) for i in range(ASKING)]
        right = [stored.ask(prompt, tokens=TOKENS, reading=False) for prompt in prompts]
        for prompt in prompts:
            stored.ask(prompt)
        stored.engine.forget()
        stored.engine.fill(0xA5)
        together = _Crowd(stored, prompts).run()
        alone = [stored.wiped(prompt) for prompt in prompts]
        cached = [(len(prompt) - 1) // block * block for prompt in prompts]
        return {"right": right, "cached": cached, **together, "alone": alone}
