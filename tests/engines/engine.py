"""One vLLM engine with a tiny model, in the process that makes it. Scenarios are written on this."""

import contextlib
import time
from pathlib import Path
from typing import Any

import preparations
import zoo

CACHE_BYTES = 64 << 20


class Engine:
    """`folder` becomes the model's folder and so its name: caches that outlive the engine tell
    models apart by it. `kernel_pages` cuts attention pages into so many tokens; `shared_memory` is
    what LMCache's own driving of transfers needs on CPU, `keep_prefix_caching` what vLLM switches off
    for latent attention. What is left goes to `vllm.LLM`."""

    def __init__(
        self,
        model: str,
        folder: str,
        *,
        connector: dict[str, Any] | None = None,
        kernel_pages: int | None = None,
        shared_memory: bool = False,
        keep_prefix_caching: bool = False,
        changes: dict[str, Any] | None = None,
        step: int | None = None,
        **options: Any,
    ) -> None:
        preparations.inspect_models_here()
        preparations.guard_llvmlite()
        preparations.seed_weights()
        if kernel_pages is not None:
            preparations.force_kernel_pages(kernel_pages)
        if keep_prefix_caching:
            preparations.keep_prefix_caching()
        self._shared = shared_memory
        if shared_memory:
            preparations.share_caches()
        from vllm import LLM

        zoo.write(model, Path(folder), **(changes or {}))
        given: dict[str, Any] = {
            "max_model_len": 2048,
            "max_num_seqs": 4,
            "max_num_batched_tokens": step or 2048,
            "kv_cache_memory_bytes": CACHE_BYTES,
            "enable_prefix_caching": True,
            **zoo.options(model),
        }
        if connector is not None:
            given["kv_transfer_config"] = connector
        started = time.monotonic()
        self.llm = LLM(
            model=folder,
            load_format="dummy",
            skip_tokenizer_init=True,
            enforce_eager=True,
            seed=0,
            dtype="bfloat16",
            disable_log_stats=True,
            **{**given, **options},
        )
        self.start_seconds = time.monotonic() - started

    def generate(self, prompt: list[int], tokens: int = 8) -> dict[str, Any]:
        """Greedy: tokens, log-probability of each, and how many tokens of the prompt were cached."""
        from vllm import SamplingParams

        wanted = SamplingParams(
            max_tokens=tokens, temperature=0, ignore_eos=True, detokenize=False, logprobs=3
        )
        started = time.monotonic()
        answer = self.llm.generate([{"prompt_token_ids": prompt}], wanted, use_tqdm=False)[0]
        made = answer.outputs[0]
        return {
            "tokens": list(made.token_ids),
            "logprobs": [
                chances[token].logprob
                for token, chances in zip(made.token_ids, made.logprobs, strict=True)
            ],
            "cached": answer.num_cached_tokens,
            "seconds": time.monotonic() - started,
        }

    @property
    def _runner(self) -> Any:
        return self.llm.llm_engine.model_executor.driver_worker.worker.model_runner

    @property
    def cache_config(self) -> Any:
        """vLLM's ``KVCacheConfig``."""
        return self._runner.kv_cache_config

    @property
    def caches(self) -> dict[str, Any]:
        """The tensors that the layers are bound to, by layer."""
        context = self._runner.compilation_config.static_forward_context
        names = [name for group in self.cache_config.kv_cache_groups for name in group.layer_names]
        return {name: context[name].kv_cache for name in names}

    def forget(self, connector: bool = False) -> None:
        """Drops what the engine has in its own prefix cache, and what its connector has."""
        deadline = time.monotonic() + 20
        while not self.llm.reset_prefix_cache(reset_connector=connector):
            # a connector still holds blocks
            if time.monotonic() > deadline:
                raise TimeoutError("the engine's prefix cache is held by someone")
            time.sleep(0.05)

    def fill(self, byte: int) -> None:
        """Writes over every byte of every cache."""
        import torch

        seen = set()
        for cache in self.caches.values():
            for tensor in cache if isinstance(cache, (list, tuple)) else [cache]:
                storage = tensor.untyped_storage()
                if storage.data_ptr() not in seen:
                    seen.add(storage.data_ptr())
                    torch.empty(0, dtype=torch.uint8).set_(storage).fill_(byte)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.llm.llm_engine.engine_core.shutdown()
        if self._shared:
            preparations.forget_shared_memory()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
