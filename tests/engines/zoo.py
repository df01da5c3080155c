"""Tiny models, one of each architecture that matters: written by hand, without weights or tokenizer.

Geometry is as small as the engine takes it and still what the architecture does at full size: state
pages that are larger than an attention page of its natural block, several groups, one arena.
"""

import json
from pathlib import Path

VOCABULARY = 256
FIRST_TOKEN = 3  # the ones below are padding, begin and end

_EVERY = {
    "vocab_size": VOCABULARY,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "rms_norm_eps": 1e-6,
    "initializer_range": 0.02,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    "rope_theta": 10000.0,
}
_MAMBA2 = {
    "mamba_n_heads": 4,
    "mamba_d_head": 64,
    "mamba_n_groups": 1,
    "mamba_d_state": 64,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_chunk_size": 64,
    "mamba_conv_bias": True,
    "mamba_proj_bias": False,
    "attention_bias": False,
}
_GATED_DELTA = {
    "head_dim": 64,
    "partial_rotary_factor": 0.25,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "full_attention_interval": 4,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "attention_bias": False,
}

CONFIGS = {
    "llama": {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "head_dim": 32,
    },
    "gemma3": {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "head_dim": 32,
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": 64,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "query_pre_attn_scalar": 32,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
    },
    "deepseek_v2": {
        "architectures": ["DeepseekV2ForCausalLM"],
        "model_type": "deepseek_v2",
        "moe_intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_key_value_heads": 4,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 3,
        "kv_lora_rank": 512,
        "q_lora_rank": None,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "topk_method": "greedy",
        "n_group": 1,
        "topk_group": 1,
        "scoring_func": "softmax",
        "norm_topk_prob": False,
        "routed_scaling_factor": 1.0,
        "moe_layer_freq": 1,
        "aux_loss_alpha": 0.0,
        "seq_aux": True,
    },
    "nemotron_h": {
        "architectures": ["NemotronHForCausalLM"],
        "model_type": "nemotron_h",
        "hybrid_override_pattern": "M*M-",
        "head_dim": 64,
        "attention_head_dim": 64,
        "mamba_num_heads": 4,
        "mamba_head_dim": 64,
        "ssm_state_size": 64,
        "n_groups": 1,
        "conv_kernel": 4,
        "chunk_size": 64,
        "expand": 2,
        "mamba_hidden_act": "silu",
        "mlp_hidden_act": "relu2",
        "use_bias": False,
        "use_conv_bias": True,
        "mlp_bias": False,
        "attention_bias": False,
        "layer_norm_epsilon": 1e-5,
        "num_logits_to_keep": 1,
        "residual_in_fp32": False,
        "rescale_prenorm_residual": False,
        "mamba_ssm_cache_dtype": "float32",
        "sliding_window": None,
        "time_step_limit": [0.0, 1e9],
        "time_step_min": 0.001,
        "time_step_max": 0.1,
        "time_step_floor": 1e-4,
    },
    "falcon_h1": {
        "architectures": ["FalconH1ForCausalLM"],
        "model_type": "falcon_h1",
        "num_hidden_layers": 3,
        "head_dim": 32,
        **_MAMBA2,
        "mamba_d_ssm": 256,
        "mamba_norm_before_gate": True,
        "mamba_rms_norm": False,
        "mlp_bias": False,
        "projectors_bias": False,
        "key_multiplier": 1.0,
        "attention_in_multiplier": 1.0,
        "attention_out_multiplier": 1.0,
        "lm_head_multiplier": 1.0,
        "embedding_multiplier": 1.0,
        "mlp_multipliers": [1.0, 1.0],
        "ssm_multipliers": [1.0] * 5,
        "ssm_in_multiplier": 1.0,
        "ssm_out_multiplier": 1.0,
        "num_logits_to_keep": 1,
    },
    "granite_hybrid": {
        "architectures": ["GraniteMoeHybridForCausalLM"],
        "model_type": "granitemoehybrid",
        "shared_intermediate_size": 256,
        "layer_types": ["mamba", "mamba", "attention", "mamba"],
        **_MAMBA2,
        "embedding_multiplier": 1.0,
        "logits_scaling": 1.0,
        "residual_multiplier": 1.0,
        "attention_multiplier": 0.176,
        "num_local_experts": 0,
        "num_experts_per_tok": 0,
        "position_embedding_type": "nope",
        "router_aux_loss_coef": 0.0,
        "output_router_logits": False,
    },
    "qwen3_next": {
        "architectures": ["Qwen3NextForCausalLM"],
        "model_type": "qwen3_next",
        **_GATED_DELTA,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": 64,
        "shared_expert_intermediate_size": 64,
        "num_experts_per_tok": 2,
        "num_experts": 4,
        "norm_topk_prob": True,
        "mlp_only_layers": [0, 1, 2],
    },
    "qwen3_5_text": {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        **_GATED_DELTA,
        "attn_output_gate": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.25,
        },
    },
    "mamba2": {
        "architectures": ["Mamba2ForCausalLM"],
        "model_type": "mamba2",
        "num_hidden_layers": 3,
        "num_heads": 4,
        "head_dim": 64,
        "state_size": 64,
        "expand": 2,
        "conv_kernel": 4,
        "n_groups": 1,
        "chunk_size": 64,
        "use_bias": False,
        "use_conv_bias": True,
        "layer_norm_epsilon": 1e-5,
        "residual_in_fp32": False,
        "rms_norm": True,
        "time_step_limit": [0.0, 1e9],
    },
    # Registers; its forward dies on vLLM 0.32's CPU build (IndexError in mamba_mixer.forward_impl;
    # without AVX512 there is no selective_scan_fwd).
    "jamba": {
        "architectures": ["JambaForCausalLM"],
        "model_type": "jamba",
        "attn_layer_period": 4,
        "attn_layer_offset": 1,
        "expert_layer_period": 8,
        "expert_layer_offset": 7,
        "num_experts": 1,
        "num_experts_per_tok": 1,
        "mamba_d_state": 16,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_dt_rank": 8,
        "mamba_conv_bias": True,
        "mamba_proj_bias": False,
        "use_mamba_kernels": False,
    },
}

HYBRID = frozenset(
    {"nemotron_h", "falcon_h1", "granite_hybrid", "qwen3_next", "qwen3_5_text", "jamba"}
)
RECURRENT = HYBRID | {"mamba2"}

# vLLM 0.32's CPU scan of Mamba-2 keeps no states between blocks, which its spec promises: a last
# step over more than one block ends in an IndexError. One block a step is the way around it.
STEP_IS_A_BLOCK = frozenset({"nemotron_h", "falcon_h1", "granite_hybrid"})


def options(model: str) -> dict[str, object]:
    """What vLLM is asked for with a model. What it would choose by the processor's instruction set is
    given, so that every machine runs the same: "auto" states are 32 bits with AVX512-BF16 and as wide
    as the model without, latent attention has another backend and other blocks with AMX."""
    if model in RECURRENT:
        return {"mamba_cache_mode": "align", "mamba_ssm_cache_dtype": "float32"}
    return {"attention_backend": "CPU_MLA"} if model == "deepseek_v2" else {}


def write(model: str, folder: Path, **changes: object) -> Path:
    """The folder of a model, as an engine takes it; `changes` go over its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**_EVERY, **CONFIGS[model], **changes}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    generation = {"bos_token_id": 1, "eos_token_id": 2}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def prompt(length: int, seed: int = 0) -> list[int]:
    """Tokens that neither repeat with a short period nor depend on the version of a library."""
    span = VOCABULARY - FIRST_TOKEN
    tokens, state = [], seed * 2654435761 % 2**32 + 1
    for _ in range(length):
        state = (state * 1664525 + 1013904223) % 2**32
        tokens.append(FIRST_TOKEN + (state >> 16) % span)
    return tokens
