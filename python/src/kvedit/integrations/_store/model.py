"""Which model computes the blocks: all that decides what a token prefix becomes, and is neither in
the layout nor in vLLM's hash of the prefix."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from functools import reduce
from typing import TYPE_CHECKING, Any

from .weights import weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMAT = "kvedit.store/2"
_FACTS = (
    # how the model is computed with
    "model_config.dtype",
    "model_config.quantization",
    "model_config.quantization_config",
    "model_config.model_impl",
    "model_config.model_class_overrides",
    "model_config.code_revision",
    "model_config.disable_sliding_window",
    "attention_config.use_non_causal",
    "diffusion_config.canvas_length",
    "additional_config",  # of other platforms, Ascend's layout of blocks for one
    # where else weights come from
    "load_config.model_loader_extra_config",
    # what values a block holds, in bytes that look alike
    "cache_config.cache_dtype",
    "cache_config.kv_cache_dtype_skip_layers",
    "cache_config.mamba_cache_dtype",
    "cache_config.mamba_ssm_cache_dtype",
    "attention_config.indexer_kv_dtype",
    # which of them are computed at all
    "cache_config.kv_sharing_fast_prefill",
    "cache_config.swa_bounded_replay",
    "cache_config.use_replayssm",
    # what vLLM's hash of an image does not have
    "model_config.multimodal_config.mm_processor_kwargs",
    "model_config.multimodal_config.media_io_kwargs",
    "model_config.multimodal_config.mm_device_do_normalize",
    "model_config.multimodal_config.mm_encoder_attn_dtype",
    "model_config.multimodal_config.video_pruning_rate",
    "model_config.multimodal_config.video_pruning_method",
    # what vLLM's hash is
    "cache_config.prefix_caching_hash_algo",
)
_ENVIRONMENT = (
    "VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT",
    "VLLM_SSM_CONV_STATE_LAYOUT",
    "VLLM_MOE_ROUTING_SIMULATION_STRATEGY",
    "VLLM_HUMMING_ONLINE_QUANT_CONFIG",
    "VLLM_HUMMING_INPUT_QUANT_CONFIG",
    "VLLM_MARLIN_INPUT_DTYPE",
)


def model_name(vllm_config: Any, name: str | None) -> str:
    """A digest. Given a `name`, it stands for the weights."""
    model, load = vllm_config.model_config, getattr(vllm_config, "load_config", None)
    draft = _at(vllm_config, "speculative_config.draft_model_config")
    own_draft = draft is not None and draft.model != model.model
    facts = {
        "format": _FORMAT,
        "weights": name if name is not None else weights_of(model, load),
        "not loaded": _dummy(model, load),
        "config": _config_facts(getattr(model, "hf_config", None)),
        "longest": _longest(model),
        "draft": _at(vllm_config, "speculative_config.model"),
        "draft weights": weights_of(draft, load) if own_draft else None,
        "scales": _own_scales(vllm_config),
        "engine": getattr(sys.modules.get("vllm"), "__version__", None),
        "platform": _platform(),
        "kernels": sorted(set(_kernels(vllm_config))),
        "environment": {name: os.environ.get(name) for name in _ENVIRONMENT},
        **{path: _at(vllm_config, path) for path in _FACTS},
    }
    text = json.dumps(_plain(facts), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _at(thing: Any, path: str) -> Any:
    """None where it is not: versions of vLLM differ."""
    return reduce(lambda each, name: getattr(each, name, None), path.split("."), thing)


def _plain(value: Any) -> Any:
    """What JSON can say, in one way whatever the process."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(str(each) for each in value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def _config_facts(config: Any) -> Any:
    """As it is in the end, with all that was given over it."""
    as_dict = getattr(config, "to_dict", None)
    if as_dict is None:
        return None
    facts = dict(as_dict())
    for name in ("_name_or_path", "transformers_version"):
        facts.pop(name, None)
    return facts


def _longest(model: Any) -> Any:
    """LongRoPE turns keys by one list of factors or the other: by how long a request may become."""
    config = json.dumps(_plain(_config_facts(getattr(model, "hf_config", None))))
    return getattr(model, "max_model_len", None) if "long_factor" in config else None


def _dummy(model: Any, load: Any) -> Any:
    """Weights that are made up, whatever lies in the folder."""
    dummy = str(getattr(load, "load_format", None)).rpartition(".")[2].lower() == "dummy"
    return ["dummy", getattr(model, "seed", None)] if dummy else None


def _own_scales(vllm_config: Any) -> str | None:
    """Scales that an engine works out from the first tokens it sees are no other engine's."""
    own = _at(vllm_config, "cache_config.calculate_kv_scales")
    return secrets.token_hex(16) if own is True else None


def _platform() -> Any:
    """One 8-bit type has one name on all and other values on some."""
    platform = getattr(sys.modules.get("vllm.platforms"), "current_platform", None)
    fp8 = getattr(platform, "fp8_dtype", None)
    return [getattr(platform, "device_name", None), str(fp8()) if callable(fp8) else None]


def _kernels(vllm_config: Any) -> Iterator[str]:
    """Instruction sets of the CPU backend: with AMX a block has its values in another order, in
    a cache that looks the same."""
    layers = _at(vllm_config, "compilation_config.static_forward_context")
    for layer in layers.values() if isinstance(layers, dict) else ():
        for each in layer, getattr(layer, "impl", None):  # the latter before vLLM 0.30
            kernel = getattr(each, "isa", None)
            if isinstance(kernel, str):
                yield kernel
