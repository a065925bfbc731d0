"""Runs random tiny models of every family with attn-cli and with transformers, and compares them.

    python tests/tools/check_families.py [--count 100] [--seed 0] [--family llama] [--keep FOLDER] [--tool attn-cli]
    python tests/tools/check_families.py --fields [SHARE] [--family llama]

The second form changes each field of a config alone (check_fields.py), or a SHARE of the fields that --seed draws. It also knows
encoders, models with two stacks, of pictures, CLIP and Whisper.

A model gets a random config of its family: grouped heads, head_dim beside D/H, biases, windows, rope of
every type, soft caps, a tied or an own head. It is saved as transformers saves it, as shards, in F16 or
BF16, or its files are then rewritten as they were in older versions: names without the prefix,
`rope_scaling` and `rope_theta` at the top level, `rotary_pct`. Transformers reads the same directory.

The reference is transformers in float64 with its casts to float32 taken out (Float64). Only RoPE's
angles are float32 in it, as the models define them. What attn-cli may be off is 16 times what
transformers itself is off in float32 (random models may be chaotic), and 4e-6 of the largest value.
"""

import json
import math
import pathlib
import random
import shutil
import sys
import tempfile

import numpy as np
import peers
import torch
import transformers
from huggingface_hub.errors import StrictDataclassClassValidationError
from safetensors.torch import load_file, save_file

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def run_transformers(directory, ids, is_double):
    """Patterns, block inputs, last block output, final norm, logits as float64; and the number of parameters."""
    config = transformers.AutoConfig.from_pretrained(directory)
    adds_twice = config.model_type == "falcon" and config.alibi  # its bias, unless this is sdpa without patterns
    model = transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="sdpa" if adds_twice else "eager",
        experts_implementation="eager")
    n_parameter = sum({p.data_ptr(): p.numel() for p in model.parameters()}.values())
    if is_double:
        peers.to_double(model)
    blocks = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))
    last = []
    blocks[-1].register_forward_hook(
        lambda _, __, out: last.append(out[0] if isinstance(out, tuple) else out))
    arguments = {"output_attentions": not adds_twice, "output_hidden_states": True, "use_cache": False}
    with torch.no_grad(), peers.exact(model):
        out = model(torch.tensor([ids]), **arguments)
    assert out.logits.dtype == (torch.float64 if is_double else torch.float32)
    result = {"logits": out.logits[0], "ln_final.hook_normalized": out.hidden_states[-1][0],
              f"blocks.{len(blocks) - 1}.hook_resid_post": last[0].reshape(-1, last[0].shape[-1])}
    if getattr(model.config, "do_layer_norm_before", True) is False:  # its blocks end with a norm, and no other follows
        result[f"blocks.{len(blocks) - 1}.hook_normalized_resid_post"] = result.pop(f"blocks.{len(blocks) - 1}.hook_resid_post")
        del result["ln_final.hook_normalized"]
    elif getattr(model.config, "word_embed_proj_dim", 0) not in (0, model.config.hidden_size):
        del result["ln_final.hook_normalized"]  # it is shown before project_out
    for layer in range(len(blocks)):
        result[f"blocks.{layer}.hook_resid_pre"] = out.hidden_states[layer][0]
    kinds = getattr(model.config, "layer_types", None) or ["attention"] * len(blocks)
    attended = [i for i, kind in enumerate(kinds) if kind not in ("conv", "linear_attention", "mlp", "moe")]  # the layers with patterns
    for layer, pattern in zip(attended, out.attentions) if not adds_twice else ():
        result[f"blocks.{layer}.attn.hook_pattern"] = pattern[0]
    return {k: v.double().numpy() for k, v in result.items()}, n_parameter


# --- random configs -------------------------------------------------------------------------------


def sizes(r, head_multiple=2):
    """Query heads, key/value heads, head_dim; D is not always their product."""
    n_kv = r.choice([1, 1, 2, 3])
    n_head = n_kv * r.choice([1, 2, 3])
    d_head = head_multiple * r.randint(2, 9)
    return n_head, n_kv, d_head


def rope(r, types=("default", "linear", "llama3", "yarn", "dynamic"), n_ctx=64):
    rope = {"rope_type": r.choice(types), "rope_theta": r.choice([100.0, 5000.0, 10000.0, 1e6])}
    if rope["rope_type"] != "default":
        rope["factor"] = r.choice([1.5, 2.0, 4.0, 8.0])
    if rope["rope_type"] == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": r.choice([2.0, 4.0]),
                 "original_max_position_embeddings": r.choice([8, 16, 24])}
    if rope["rope_type"] == "yarn":
        if r.random() < 0.7:
            rope["original_max_position_embeddings"] = r.choice([8, 16, 32])
        for key, values in {"beta_fast": [32, 16.0], "beta_slow": [1, 2.0], "truncate": [True, False],
                            "attention_factor": [0.9, 1.3], "mscale": [0.7, 1.0],
                            "mscale_all_dim": [0.5, 1.0]}.items():
            if r.random() < 0.3:
                rope[key] = r.choice(values)
    return rope


def common(r):
    return {"vocab_size": r.randint(40, 99), "num_hidden_layers": r.randint(1, 3),
            "max_position_embeddings": r.choice([64, 64, 400]), "tie_word_embeddings": r.random() < 0.5,
            "pad_token_id": None, "bos_token_id": 1, "eos_token_id": 2}


def llama_like(r, with_head_dim=True):
    n_head, n_kv, d_head = sizes(r)
    config = common(r) | {
        "num_attention_heads": n_head, "num_key_value_heads": n_kv,
        "intermediate_size": r.randint(3, 70), "rms_norm_eps": r.choice([1e-5, 1e-6, 1e-6, 1e-3]),
        "hidden_act": r.choice(["silu", "silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh",
                                "relu", "tanh", "quick_gelu", "relu2", "gelu_fast", "gelu_python"])}
    config["hidden_size"] = n_head * d_head
    if with_head_dim and r.random() < 0.6:
        config["head_dim"] = d_head
        config["hidden_size"] = n_head * r.randint(3, 20)
    config["rope_parameters"] = rope(r)
    return config


def llama(r):
    return llama_like(r) | {"attention_bias": r.random() < 0.5, "mlp_bias": r.random() < 0.5}


def mistral(r):
    if r.random() < 0.3:  # transformers reads it as a ministral then
        return ministral(r)
    return llama_like(r) | {"sliding_window": r.choice([None, 1, 3, 7, 64, 4096])}


def layer_types(r, config):
    return [r.choice(["full_attention", "sliding_attention"])
            for _ in range(config["num_hidden_layers"])]


def qwen2(r):
    config = llama_like(r) | {"use_sliding_window": r.random() < 0.5, "sliding_window": r.randint(2, 9),
                              "max_window_layers": r.randint(0, 3)}
    if config["use_sliding_window"] and r.random() < 0.5:
        config["layer_types"] = layer_types(r, config)
    return config


def qwen3(r):
    config = qwen2(r) | {"attention_bias": r.random() < 0.5}
    return config | {"head_dim": config.get("head_dim") or
                     config["hidden_size"] // config["num_attention_heads"]}


def olmo2(r):
    return llama_like(r, r.random() < 0.4) | {"attention_bias": r.random() < 0.5}


def gemma2(r):
    config = llama_like(r)
    config["hidden_activation"] = config.pop("hidden_act")
    config["head_dim"] = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    config |= {"attention_bias": r.random() < 0.3, "query_pre_attn_scalar": r.choice([4, 16, 30, 256]),
               "sliding_window": r.randint(2, 9),
               "attn_logit_softcapping": r.choice([None, 3.0, 50.0]),
               "final_logit_softcapping": r.choice([None, 2.0, 30.0])}
    if r.random() < 0.5:
        config["layer_types"] = layer_types(r, config)
    return config


def gemma3_text(r):
    config = gemma2(r) | {"num_hidden_layers": r.randint(1, 7)}
    config.pop("layer_types", None)
    if r.random() < 0.5:
        config["layer_types"] = layer_types(r, config)
    config["rope_parameters"] = {"full_attention": rope(r, ("default", "linear", "yarn")),
                                 "sliding_attention": rope(r, ("default", "linear"))}
    return config


def gpt_neox(r):
    n_head, factor = r.randint(1, 4), r.choice([0.25, 0.4, 0.5, 1.0])
    d_head = r.randint(6, 24)
    while int(d_head * factor) % 2 or int(d_head * factor) < 4:
        d_head += 1
    return common(r) | {
        "num_attention_heads": n_head, "hidden_size": n_head * d_head,
        "intermediate_size": r.randint(3, 80), "layer_norm_eps": r.choice([1e-5, 1e-3]),
        "hidden_act": r.choice(["gelu", "gelu_new", "relu", "gelu_fast"]),
        "use_parallel_residual": r.random() < 0.5, "attention_bias": r.random() < 0.7,
        "rope_parameters": rope(r) | {"partial_rotary_factor": factor}}


def phi(r):
    n_head, n_kv, _ = sizes(r)
    factor = r.choice([0.4, 0.5, 1.0])
    d_head = r.randint(6, 24)
    while int(d_head * factor) % 2 or int(d_head * factor) < 4:
        d_head += 1
    return common(r) | {
        "num_attention_heads": n_head, "num_key_value_heads": n_kv, "hidden_size": n_head * d_head,
        "intermediate_size": r.randint(3, 80), "layer_norm_eps": r.choice([1e-5, 1e-3]),
        "hidden_act": r.choice(["gelu_new", "gelu", "relu"]), "qk_layernorm": r.random() < 0.4,
        "tie_word_embeddings": False,
        "rope_parameters": rope(r) | {"partial_rotary_factor": factor}}


def gpt_neo(r):
    n_head, kinds = r.randint(1, 4), r.choice([["global", "local"], ["local"], ["global"],
                                               ["local", "global", "global"]])
    times = r.randint(1, 2)
    attention = [[kinds, times]]
    if r.random() < 0.3:
        attention.append([["local"], 1])
    n_layer = sum(len(k) * t for k, t in attention)
    config = common(r) | {
        "num_heads": n_head, "hidden_size": n_head * r.randint(3, 16), "num_layers": n_layer,
        "attention_types": attention, "window_size": r.choice([1, 2, 5, 9, 256]),
        "intermediate_size": r.choice([None, r.randint(3, 60)]),
        "layer_norm_epsilon": r.choice([1e-5, 1e-3]),
        "activation_function": r.choice(["gelu_new", "relu", "gelu"])}
    del config["num_hidden_layers"]
    return config


def gemma(r):
    config = llama_like(r)
    return config | {"attention_bias": r.random() < 0.3, "hidden_act": r.choice(["gelu", "gelu_pytorch_tanh", "silu"]),
                     "head_dim": config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]}


def ministral(r):
    config = llama_like(r) | {"sliding_window": r.randint(2, 9)}
    config["head_dim"] = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return config | ({"layer_types": layer_types(r, config)} if r.random() < 0.6 else {})


def smollm3(r):
    config = llama(r) | {"num_hidden_layers": r.randint(1, 6), "use_sliding_window": r.random() < 0.4,
                         "sliding_window": r.randint(2, 9), "no_rope_layer_interval": r.randint(1, 4)}
    config.pop("head_dim", None)
    config |= {"hidden_size": config["num_attention_heads"] * 2 * r.randint(2, 9), "pad_token_id": 0}
    if r.random() < 0.5:
        config["no_rope_layers"] = [r.randint(0, 1) for _ in range(config["num_hidden_layers"])]
    if r.random() < 0.4:
        config["layer_types"] = layer_types(r, config)
    return config


def granite(r):
    return llama_like(r, r.random() < 0.4) | {
        "attention_bias": r.random() < 0.5, "mlp_bias": r.random() < 0.5, "embedding_multiplier": r.choice([1.0, 12.0]),
        "residual_multiplier": r.choice([1.0, 0.22]), "attention_multiplier": r.choice([1.0, 0.0625, 0.3]),
        "logits_scaling": r.choice([1.0, 8.0, 0.7])}


def olmo(r):
    config = llama_like(r, r.random() < 0.4) | {"attention_bias": r.random() < 0.5, "clip_qkv": r.choice([None, 0.5, 1.3])}
    config.pop("rms_norm_eps")
    return config


def olmo3(r):
    config = olmo2(r) | {"num_hidden_layers": r.randint(1, 6), "sliding_window": r.randint(2, 9)}
    if r.random() < 0.5:
        config["layer_types"] = layer_types(r, config)
    config["rope_parameters"] = {"full_attention": rope(r), "sliding_attention": rope(r, ("default",))}
    return config


def phi3(r):
    factor, config = r.choice([1.0, 1.0, 0.5, 0.75]), llama_like(r, False)
    d_head = config["hidden_size"] // config["num_attention_heads"]
    while int(d_head * factor) % 2 or int(d_head * factor) < 4:
        d_head += 1
    config |= {"hidden_size": config["num_attention_heads"] * d_head, "sliding_window": r.choice([None, 3, 7]),
               "original_max_position_embeddings": r.choice([8, 17, 32, 64]), "pad_token_id": 0,
               "rope_parameters": rope(r, ("default",)) | {"partial_rotary_factor": factor}}
    if r.random() < 0.7:
        n = int(d_head * factor) // 2
        config["rope_parameters"] |= {"rope_type": "longrope", "short_factor": [r.uniform(1, 2) for _ in range(n)],
                                      "long_factor": [r.uniform(1, 9) for _ in range(n)]}
    return config


def stablelm(r):
    config = phi(r) | {"use_qkv_bias": r.random() < 0.5, "use_parallel_residual": r.random() < 0.5,
                       "hidden_act": r.choice(["silu", "gelu"]), "tie_word_embeddings": r.random() < 0.3}
    return config


def starcoder2(r):
    config = llama_like(r, r.random() < 0.4) | {"use_bias": r.random() < 0.6, "sliding_window": r.choice([None, 4, 9]),
                                     "norm_epsilon": r.choice([1e-5, 1e-3])}
    config.pop("rms_norm_eps")
    return config


def cohere(r, may_have_head_dim=True):
    config = llama_like(r, may_have_head_dim and r.random() < 0.4) | {"attention_bias": r.random() < 0.5, "use_qk_norm": r.random() < 0.5,
                                     "layer_norm_eps": r.choice([1e-5, 1e-3]), "logit_scale": r.choice([0.0625, 0.3, 1.0]),
                                     "pad_token_id": 0}
    config.pop("rms_norm_eps")
    return config


def cohere2(r):
    config = cohere(r, False) | {"num_hidden_layers": r.randint(1, 6), "sliding_window": r.randint(2, 9)}
    config.pop("use_qk_norm")
    if r.random() < 0.5:
        config["layer_types"] = layer_types(r, config)
    return config


def glm(r):
    n_head, n_kv, _ = sizes(r)
    factor, d_head = r.choice([0.5, 0.5, 1.0, 0.25]), 8 * r.randint(1, 3)
    return llama_like(r, False) | {"num_attention_heads": n_head, "num_key_value_heads": n_kv, "head_dim": d_head,
                                   "attention_bias": r.random() < 0.5, "pad_token_id": 0,
                                   "rope_parameters": rope(r) | {"partial_rotary_factor": factor}}


def glm4(r):
    return glm(r)


def helium(r):
    config = llama_like(r, False)
    return config | {"head_dim": config["hidden_size"] // config["num_attention_heads"],
                     "attention_bias": r.random() < 0.5, "mlp_bias": r.random() < 0.5}


def exaone4(r):
    config = llama_like(r) | {"num_hidden_layers": r.randint(1, 6), "sliding_window": r.choice([None, 3, 7])}
    if config["sliding_window"] is None or r.random() < 0.5:
        config["layer_types"] = (["full_attention"] * config["num_hidden_layers"] if config["sliding_window"] is None
                                 else layer_types(r, config))
    return config


def opt(r):
    n_head, before = r.randint(1, 4), r.random() < 0.7
    width = n_head * r.randint(3, 16)
    config = common(r) | {"num_attention_heads": n_head, "hidden_size": width, "ffn_dim": r.randint(3, 70),
                          "activation_function": r.choice(["relu", "gelu"]), "do_layer_norm_before": before,
                          "word_embed_proj_dim": width if r.random() < 0.6 else r.randint(4, 40),
                          "enable_bias": r.random() < 0.7, "layer_norm_elementwise_affine": r.random() < 0.7,
                          "pad_token_id": 1, "tie_word_embeddings": r.random() < 0.8}
    return config


def gpt(r):
    n_head = r.randint(1, 4)
    return {"vocab_size": r.randint(40, 99), "n_embd": n_head * r.randint(3, 16), "n_layer": r.randint(1, 3),
            "n_head": n_head, "n_positions": 64, "n_inner": r.choice([None, r.randint(3, 60)]),
            "layer_norm_epsilon": r.choice([1e-5, 1e-3]), "activation_function": r.choice(["gelu_new", "relu", "gelu"]),
            "bos_token_id": 1, "eos_token_id": 2}


def gptj(r):
    config, d_head = gpt(r), r.randint(4, 20)
    return config | {"n_embd": config["n_head"] * d_head, "rotary_dim": 2 * r.randint(1, d_head // 2),
                     "tie_word_embeddings": False}


def codegen(r):
    config = gptj(r)
    d_head = config["n_embd"] // config["n_head"]
    n_head = r.choice([4, 8])
    return config | {"n_head": n_head, "n_embd": n_head * d_head}


def gpt_bigcode(r):
    return gpt(r) | {"multi_query": r.random() < 0.6, "scale_attn_weights": r.random() < 0.8,
                     "tie_word_embeddings": r.random() < 0.7}


def bloom(r):
    config, n_head = common(r), r.randint(1, 21)
    return {"vocab_size": config["vocab_size"], "n_layer": r.randint(1, 3), "n_head": n_head,
            "hidden_size": n_head * r.randint(3, 12), "layer_norm_epsilon": r.choice([1e-5, 1e-3]), "seq_length": 64}


def mpt(r):
    n_head = r.randint(1, 21)
    return {"vocab_size": r.randint(40, 99), "n_layers": r.randint(1, 3), "n_heads": n_head, "max_seq_len": 64,
            "d_model": n_head * r.randint(3, 12), "attn_config": {"clip_qkv": r.choice([None, 0.7]),
                                                                 "softmax_scale": r.choice([None, 0.2])}}


def falcon(r):
    n_kv, new = r.choice([1, 2, 3]), r.random() < 0.5
    n_head = n_kv * r.choice([1, 2, 3])
    return common(r) | {"num_attention_heads": n_head, "num_kv_heads": n_kv if new else n_head, "hidden_size": n_head * 2 * r.randint(2, 9),
                        "new_decoder_architecture": new, "multi_query": r.random() < 0.5, "alibi": r.random() < 0.3,
                        "parallel_attn": new or r.random() < 0.6, "bias": r.random() < 0.5, "ffn_hidden_size": r.randint(5, 60),
                        "num_ln_in_parallel_attn": r.choice([None, 1, 2]) if new else None,
                        "rope_parameters": rope(r, ("default", "linear"))}


def experts(r, config):
    n = r.randint(2, 7)
    config["head_dim"] = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return config | {"num_experts_per_tok": r.randint(1, n), "hidden_act": r.choice(["silu", "gelu"])}, n


def mixtral(r):
    config, n = experts(r, llama_like(r))
    return config | {"num_local_experts": n, "sliding_window": r.choice([None, 5])}


def qwen2_moe(r):
    config, n = experts(r, llama_like(r, r.random() < 0.4))
    return config | {"num_experts": n, "moe_intermediate_size": r.randint(3, 40), "norm_topk_prob": r.random() < 0.5,
                     "shared_expert_intermediate_size": r.randint(3, 40), "decoder_sparse_step": r.choice([1, 1, 2]),
                     "mlp_only_layers": r.choice([[], [0]]), "qkv_bias": r.random() < 0.7}


def qwen3_moe(r):
    config = qwen2_moe(r) | {"attention_bias": r.random() < 0.5}
    for key in "shared_expert_intermediate_size", "qkv_bias":
        config.pop(key)
    return config


def olmoe(r):
    config, n = experts(r, olmo(r))
    config["hidden_size"] = config["num_attention_heads"] * config["head_dim"]  # its norms have that width
    return config | {"num_experts": n, "norm_topk_prob": r.random() < 0.5, "rms_norm_eps": 1e-5}


def granitemoe(r):
    config, n = experts(r, granite(r))
    config.pop("mlp_bias")
    return config | {"num_local_experts": n}


def granitemoeshared(r):
    return granitemoe(r) | {"shared_intermediate_size": r.choice([0, r.randint(3, 40)])}


def gpt_oss(r):
    config, n = experts(r, llama_like(r))
    config |= {"num_local_experts": n, "sliding_window": r.randint(2, 9), "attention_bias": r.random() < 0.8}
    return config | ({"layer_types": layer_types(r, config)} if r.random() < 0.5 else {})


def ministral3(r):
    config = llama_like(r) | {"sliding_window": r.choice([None, 5])}
    config["rope_parameters"] = rope(r, ("yarn",)) | {"llama_4_scaling_beta": r.choice([0.1, 0.5]), "original_max_position_embeddings": 8}
    return config


def ernie4_5(r):
    return llama_like(r) | {"use_bias": r.random() < 0.5}


def hunyuan_v1_dense(r):
    config = llama(r)
    config.pop("mlp_bias")
    config["head_dim"] = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    if config["rope_parameters"]["rope_type"] == "dynamic" and r.random() < 0.7:
        config["rope_parameters"]["alpha"] = r.choice([20.0, 1000.0])
    return config


def arcee(r):
    return llama(r)


def apertus(r):
    return llama_like(r) | {"attention_bias": r.random() < 0.5, "hidden_act": r.choice(["xielu", "xielu", "gelu"])}


def nemotron(r):
    config = llama(r) | {"norm_eps": r.choice([1e-5, 1e-3])}
    config.pop("rms_norm_eps")
    d_head = 4 * r.randint(1, 5)
    config |= {"head_dim": d_head, "rope_parameters": rope(r, ("default", "linear")) | {"partial_rotary_factor": r.choice([0.5, 1.0])}}
    return config


def seed_oss(r):
    return llama(r) | {"attention_out_bias": r.random() < 0.5}


def internlm3(r):
    config = llama(r)
    return config | {"mlp_bias": config["attention_bias"], "hidden_size": config["num_attention_heads"] * 2 * r.randint(2, 9)}


def xglm(r):
    n_head = r.randint(1, 4)
    return {"vocab_size": r.randint(40, 99), "num_layers": r.randint(1, 3), "attention_heads": n_head, "ffn_dim": r.randint(3, 70),
            "d_model": n_head * r.randint(3, 16), "activation_function": r.choice(["gelu", "relu"]), "pad_token_id": r.choice([1, 5]),
            "scale_embedding": r.random() < 0.5, "max_position_embeddings": 64, "tie_word_embeddings": r.random() < 0.7}


def phimoe(r):
    config, n = experts(r, llama_like(r, False))
    config.pop("head_dim")
    return config | {"num_local_experts": n, "attention_bias": r.random() < 0.5, "lm_head_bias": r.random() < 0.5,
                     "router_jitter_noise": r.choice([0.01, 0.2]), "sliding_window": r.choice([None, 5]), "tie_word_embeddings": False,
                     "rope_parameters": rope(r, ("default",))}


def granitemoehybrid(r):
    config, n = experts(r, granite(r))
    config.pop("mlp_bias")
    width = config["hidden_size"]
    return config | mamba(r, width) | {"num_local_experts": r.choice([0, n]), "shared_intermediate_size": r.randint(3, 40),
                                       "layer_types": mixed_layers(r, config, "linear_attention"),
                                       "position_embedding_type": r.choice([None, "rope"])}


def mamba(r, width):
    """Keys of Mamba2 of layers of WIDTH."""
    n_head = r.choice([k for k in range(1, 9) if 2 * width % k == 0])
    return {"mamba_n_heads": n_head, "mamba_n_groups": r.choice([k for k in range(1, n_head + 1) if n_head % k == 0]),
            "mamba_d_state": r.randint(2, 9), "mamba_d_conv": r.randint(2, 5), "mamba_conv_bias": r.random() < 0.7,
            "mamba_proj_bias": r.random() < 0.3, "mamba_d_head": r.choice(["auto", 2 * width // n_head]),
            "time_step_limit": r.choice([(0.0, float("inf")), (0.5, 0.9)])}


def mixed_layers(r, config, kind):
    """Types of layers: attention first, then also those of KIND."""
    return ["full_attention"] + [r.choice([kind, kind, "full_attention"]) for _ in range(config["num_hidden_layers"] - 1)]


def bamba(r):
    config = llama_like(r) | {"attention_bias": r.random() < 0.5, "mlp_bias": r.random() < 0.5}
    config["hidden_size"] = config["num_attention_heads"] * 4 * r.randint(1, 4)
    config["head_dim"] = config["hidden_size"] // config["num_attention_heads"]
    config["rope_parameters"] = rope(r, ("default", "linear")) | {"partial_rotary_factor": r.choice([0.5, 1.0])}
    types = mixed_layers(r, config, "")
    return config | mamba(r, config["hidden_size"]) | {"attn_layer_indices": [i for i, kind in enumerate(types) if kind]}


def falcon_h1(r):
    config = llama_like(r) | {"attention_bias": r.random() < 0.5, "mlp_bias": r.random() < 0.5, "projectors_bias": r.random() < 0.5}
    keys = mamba(r, config["hidden_size"])
    keys["mamba_d_head"] = r.choice(["auto", r.randint(2, 9)])
    keys["mamba_d_ssm"] = keys["mamba_n_heads"] * (keys["mamba_d_head"] if keys["mamba_d_head"] != "auto" else r.randint(2, 9))
    factor = lambda: r.choice([1.0, 0.5, 1.3])
    names = ("lm_head_multiplier", "embedding_multiplier", "key_multiplier", "attention_out_multiplier", "attention_in_multiplier",
             "ssm_in_multiplier", "ssm_out_multiplier")
    config["rope_parameters"] = rope(r, ("default", "linear"))
    return config | keys | {name: factor() for name in names} | {
        "mlp_multipliers": [factor(), factor()], "ssm_multipliers": [factor() for _ in range(5)], "hidden_act": "silu",
        "mamba_rms_norm": r.random() < 0.5, "mamba_norm_before_gate": r.random() < 0.5, "pad_token_id": 0}


def nemotron_h(r):
    n_head, n_kv, d_head = sizes(r)
    n_mixer = r.randint(1, 8)
    kinds = ["full_attention", "linear_attention", "mlp", "moe", "moe"]
    n_group = r.choice([1, 1, 2, 3])
    n_used = r.randint(1, n_group)
    n_expert = n_group * r.randint(2, 4)
    return common(r) | {"hidden_size": r.randint(5, 40), "num_attention_heads": n_head, "num_key_value_heads": n_kv, "head_dim": d_head,
                        "intermediate_size": r.randint(3, 40), "layer_norm_epsilon": r.choice([1e-5, 1e-3]),
                        "mlp_hidden_act": r.choice(["relu2", "silu"]), "mamba_num_heads": n_mixer, "mamba_head_dim": r.randint(2, 9),
                        "n_groups": r.choice([k for k in range(1, n_mixer + 1) if n_mixer % k == 0]), "ssm_state_size": r.randint(2, 9),
                        "conv_kernel": r.randint(2, 5), "use_conv_bias": r.random() < 0.7, "use_bias": r.random() < 0.5,
                        "mlp_bias": r.random() < 0.5, "time_step_min": r.choice([0.001, 0.6]),
                        "n_group": n_group, "topk_group": n_used, "n_routed_experts": n_expert,
                        "num_experts_per_tok": r.randint(1, n_expert // n_group * n_used), "norm_topk_prob": r.random() < 0.7,
                        "routed_scaling_factor": r.choice([1.0, 2.5]), "moe_intermediate_size": r.randint(3, 20),
                        "moe_shared_expert_intermediate_size": r.randint(3, 20), "moe_latent_size": r.choice([None, r.randint(3, 50)]),
                        "layers_block_type": [kinds[0]] + [r.choice(kinds) for _ in range(r.randint(1, 4))]}


def qwen3_next(r):
    config, n = experts(r, qwen3_5_text(r))
    return config | {"num_experts": n, "moe_intermediate_size": r.randint(3, 20), "norm_topk_prob": r.random() < 0.5,
                     "shared_expert_intermediate_size": r.randint(3, 20)}


def lfm2(r):
    config = llama_like(r, False) | {"rope_parameters": rope(r, ("default", "linear"))}
    config["norm_eps"] = config.pop("rms_norm_eps")
    del config["hidden_act"]
    return config | {"conv_L_cache": r.randint(1, 5), "conv_bias": r.random() < 0.5, "block_multiple_of": r.choice([1, 8]),
                     "block_auto_adjust_ff_dim": r.random() < 0.5, "block_ffn_dim_multiplier": r.choice([1.0, 1.5]),
                     "layer_types": mixed_layers(r, config, "conv")}


def lfm3(r):
    config = llama_like(r) | {"conv_L_cache": r.randint(1, 8), "conv_bias": r.random() < 0.5, "attention_bias": r.random() < 0.5,
                              "sliding_window": r.randint(1, 9), "use_attention_gate": r.random() < 0.7,
                              "use_sandwich_norm": r.random() < 0.7, "pad_token_id": 0}
    config["norm_eps"] = config.pop("rms_norm_eps")
    del config["hidden_act"]
    config["head_dim"] = 2 * r.randint(1, 6)
    config["layer_types"] = ["full_attention"] + [r.choice(["conv", "sliding_attention", "full_attention"])
                                                  for _ in range(config["num_hidden_layers"] - 1)]
    partial = {"rope_type": "proportional", "partial_rotary_factor": r.choice([0.25, 0.5, 1.0]), "rope_theta": 1e6}
    return config | {"rope_parameters": {"sliding_attention": rope(r, ("default", "linear")),
                                         "full_attention": r.choice([partial, rope(r, ("default", "linear"))])}}


def qwen3_5_text(r):
    config = llama_like(r) | {"attention_bias": r.random() < 0.5, "rope_parameters": rope(r, ("default", "linear"))}
    config["head_dim"] = 4 * r.randint(1, 6)
    config["rope_parameters"]["partial_rotary_factor"] = r.choice([0.5, 1.0])
    n_key = r.choice([1, 2, 3])
    return config | {"linear_num_key_heads": n_key, "linear_num_value_heads": n_key * r.choice([1, 2, 3]),
                     "linear_key_head_dim": r.randint(2, 9), "linear_value_head_dim": r.randint(2, 9),
                     "linear_conv_kernel_dim": r.randint(2, 5),
                     "layer_types": mixed_layers(r, config, "linear_attention")}


def gemma4_text(r):
    config = llama_like(r) | {"attention_bias": r.random() < 0.5, "attention_k_eq_v": r.random() < 0.5}
    config["hidden_activation"] = config.pop("hidden_act", "gelu_pytorch_tanh")
    n_layer, n_head = config["num_hidden_layers"], config["num_attention_heads"]
    types = [r.choice(["sliding_attention", "full_attention"]) for _ in range(n_layer - 1)] + ["full_attention"]
    shared = r.choice([n for n in range(n_layer) if set(types[n_layer - n:]) <= set(types[:n_layer - n])])
    partial = {"rope_type": "proportional", "partial_rotary_factor": r.choice([0.25, 0.5, 1.0]), "rope_theta": 1e6}
    has_experts, n_expert = r.random() < 0.5, r.randint(1, 6)
    mixture = {"enable_moe_block": True, "num_experts": n_expert, "top_k_experts": r.randint(1, n_expert),
               "moe_intermediate_size": r.randint(3, 20)} if has_experts else {}
    return config | mixture | {"head_dim": 2 * r.randint(1, 6), "global_head_dim": 2 * r.randint(1, 9), "sliding_window": r.randint(1, 9),
                     "num_global_key_value_heads": r.choice([None] + [n for n in range(1, n_head + 1) if n_head % n == 0]),
                     "hidden_size_per_layer_input": r.choice([0, r.randint(2, 9)]), "layer_types": types,
                     "vocab_size_per_layer_input": config["vocab_size"], "num_kv_shared_layers": shared,
                     "use_double_wide_mlp": not has_experts and r.random() < 0.5, "final_logit_softcapping": r.choice([None, 20.0]),
                     "rope_parameters": {"sliding_attention": rope(r, ("default", "linear")),
                                         "full_attention": r.choice([partial, rope(r, ("default", "linear"))])}}


FAMILIES = {f.__name__: f for f in (llama, gpt_neox, qwen2, qwen3, gpt_neo, mistral, olmo2, gemma2, gemma3_text, phi,
                                    gemma, ministral, smollm3, granite, olmo, olmo3, phi3, stablelm, starcoder2, cohere,
                                    cohere2, glm, glm4, helium, exaone4, opt, gptj, codegen, gpt_bigcode, bloom, mpt,
                                    falcon, mixtral, qwen2_moe, qwen3_moe, olmoe, granitemoe, gpt_oss, ministral3, ernie4_5,
                                    hunyuan_v1_dense, arcee, apertus, nemotron, seed_oss, internlm3, xglm, phimoe,
                                    granitemoehybrid, granitemoeshared, lfm2, qwen3_5_text, qwen3_next,
                                    bamba, gemma4_text, lfm3, nemotron_h, falcon_h1)}


# --- models ---------------------------------------------------------------------------------------


def make_model(family, keys, seed):
    config = transformers.AutoConfig.for_model(family, **keys)
    model = transformers.AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if "norm" in name or ".ln_" in name or "router" in name and name.endswith("scale"):
                p.copy_(noise * 0.3 + (0 if name.endswith("bias") or "gemma" in family or family in ("nemotron", "qwen3_5_text", "qwen3_next") and "linear_attn" not in name else 1))
            elif name.endswith("bias") or p.dim() < 2:  # numbers of xIELU
                p.copy_(noise * 0.3)
            else:
                p.copy_(noise * (1.5 / p.shape[-1] ** 0.5))
            if "embed" in name or "wte" in name:
                p.copy_(noise)
        for name, b in model.named_buffers():
            if name.endswith("layer_scalar"):
                b.copy_(1 + torch.randn(b.shape, generator=generator) * 0.3)
            if name.endswith("e_score_correction_bias"):
                b.copy_(torch.randn(b.shape, generator=generator) * 0.3)
    return model


def to_old_config(r, family, config):
    """The keys of transformers before 5."""
    rope = config.pop("rope_parameters", None)
    if rope and "original_max_position_embeddings" in rope and r.random() < 0.5:  # counts first there
        config["original_max_position_embeddings"] = r.choice([8, 16, 32])
    config.pop("dtype", None)
    config["torch_dtype"] = "float32"
    if rope is None:
        return "old"
    if family in ("olmo3", "gemma4_text", "lfm3"):
        config["rope_parameters"] = rope
        return "nested"
    if family == "gemma3_text":
        full, local = rope["full_attention"], rope["sliding_attention"]
        if local["rope_type"] != "default":
            config["rope_parameters"] = rope
            return "nested"
        config["rope_theta"], config["rope_local_base_freq"] = full["rope_theta"], local["rope_theta"]
        rope = full
    theta, factor = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None)
    if family == "gpt_neox":
        config["rotary_emb_base"], config["rotary_pct"] = theta, factor
    else:
        config["rope_theta"] = theta
        if factor is not None:
            config["partial_rotary_factor"] = factor
    config["rope_scaling"] = None
    if rope["rope_type"] != "default":
        if r.random() < 0.5:
            rope["type"] = rope.pop("rope_type")
        config["rope_scaling"] = rope
    return "old"


def drop_defaults(r, config):
    """Leaves keys out whose absence changes nothing for transformers, as old files do."""
    cls = transformers.AutoConfig.for_model(config["model_type"]).__class__
    limits = {k: config.pop(k) for k in ("time_step_limit",) if k in config}  # from_dict does not read how files write infinity
    whole = cls.from_dict(dict(config)).to_dict()
    kept = {"model_type"} | ({"head_dim"} if config["model_type"] == "mistral" else set()) | {"per_layer_config"}  # ministral has no default
    for key in [k for k in config if k not in kept and r.random() < 0.7]:
        rest = json.loads(json.dumps({k: v for k, v in config.items() if k != key}))
        try:
            if cls.from_dict(rest).to_dict() == whole:
                del config[key]
        except (ValueError, IndexError, ZeroDivisionError, StrictDataclassClassValidationError):
            pass
    config |= limits


def rename(directory, change):
    path = directory / "model.safetensors"
    save_file({change(k): v for k, v in load_file(path).items()}, path, metadata={"format": "pt"})


def make_directory(r, family, directory, seed):
    """What was done to it, in words."""
    keys = FAMILIES[family](r)
    model = make_model(family, keys, seed)
    done = []
    dtype = r.choice([torch.float32, torch.float32, torch.float16, torch.bfloat16])
    model.to(dtype)
    shard = r.random() < 0.3
    model.save_pretrained(directory, max_shard_size="20KB" if shard else "1GB")
    path = directory / "config.json"
    config = json.loads(path.read_text())
    if shard:
        done.append("shards")
    if r.random() < 0.4:
        done.append(to_old_config(r, family, config))
    if r.random() < 0.3:
        for key in [k for k in config if config[k] is None]:
            del config[key]
        done.append("no nulls")
    path.write_text(json.dumps(config, indent=2))
    n_vocab, n_ctx = config["vocab_size"], next(
        config[key] for key in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length") if key in config)
    if r.random() < 0.5:
        drop_defaults(r, config)
        path.write_text(json.dumps(config, indent=2))
        done.append("without defaults")
    prefix = {"gpt_neox": "gpt_neox."}.get(family, "transformer." if "gpt" in family and family != "gpt_oss" else "model.")
    if not shard and keys.get("tie_word_embeddings") and r.random() < 0.3:
        rename(directory, lambda k: k.removeprefix(prefix))
        done.append("no prefix")
    elif not shard and keys.get("tie_word_embeddings") and r.random() < 0.2:
        rename(directory, lambda k: "lm_head.weight" if "embed_" in k and "pos" not in k and "per_layer" not in k or "wte" in k else k)
        done.append("head alone")
    if not shard and family == "gpt_neox" and r.random() < 0.4:
        rename(directory, lambda k: k.replace("lm_head", "embed_out"))
        done.append("embed_out")
    return n_vocab, n_ctx, " ".join(done + [str(dtype).removeprefix("torch.")])


# --- comparing ------------------------------------------------------------------------------------


def facts(directory):
    """What inspect must say, read by transformers: also of values that are too near to others to be seen."""
    config = transformers.AutoConfig.from_pretrained(directory)
    eps = [k for k in ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps") if hasattr(config, k)]
    # texts have no limit where positions are dynamic, and in XGLM
    is_open = config.model_type == "xglm" or "'dynamic'" in str(getattr(config, "rope_parameters", None))
    return {"norm_eps": getattr(config, eps[0]) if eps else 1e-5, "n_ctx": None if is_open else next(
        getattr(config, key) for key in ("max_position_embeddings", "max_seq_len", "seq_length") if hasattr(config, key)),
            "n_layer": config.num_hidden_layers, "n_head": config.num_attention_heads,
            "n_vocab": config.vocab_size, "d_model": config.hidden_size}


def check(tool, seed, family, directory):
    r = random.Random(f"{family} {seed}")
    n_vocab, n_ctx, how = make_directory(r, family, directory, seed)
    n = min(r.choice([1, 2, 5, 17, 33, 64, 400]), n_ctx)
    ids = [r.randrange(n_vocab) for _ in range(n)]
    exact, n_parameter = run_transformers(directory, ids, True)
    rounded, _ = run_transformers(directory, ids, False)
    try:
        ours = peers.arrays(tool, "run", "-m", directory, "--ids", peers.joined(ids), "--sites", "*")
        inspection = json.loads(peers.ask(tool, "inspect", directory, "--json"))
    except RuntimeError as e:
        return np.inf, str(e), how
    worst, where = peers.worst_share(ours, exact, peers.bounds_of(exact, rounded))
    found = inspection["config"] | {"parameters": inspection["parameters"]["total"]}
    for key, expected in (facts(directory) | {"parameters": n_parameter}).items():
        if found[key] != expected and (None in (found[key], expected) or not math.isclose(found[key], expected, rel_tol=1e-6)):
            return np.inf, f"{key} is {found[key]}, in transformers {expected}", how
    return worst, f"{where} of {n} positions", how


def main():
    parser = peers.options(__doc__, 100)
    parser.add_argument("--family", action="append")
    parser.add_argument("--fields", type=float, nargs="?", const=1.0, metavar="SHARE")
    parser.add_argument("--keep", type=pathlib.Path, help="where models that fail are kept")
    arguments = parser.parse_args()
    if arguments.fields is not None:
        import check_fields  # which imports this file
        return check_fields.check_all(arguments.tool, arguments.family, arguments.fields, arguments.seed)
    worst = {}
    n_failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        for family in arguments.family or FAMILIES:
            directory = pathlib.Path(tempfile.mkdtemp(prefix="family-"))
            share, where, how = check(arguments.tool, seed, family, directory)
            worst[family] = max(worst.get(family, 0), share)
            if not share <= 1:
                n_failed += 1
                print(f"{family} --seed {seed} ({how}): {share:.2f} of what is allowed: {where}", flush=True)
                if arguments.keep:
                    shutil.copytree(directory, arguments.keep / f"{family}-{seed}", dirs_exist_ok=True)
            shutil.rmtree(directory)
    for family, share in worst.items():
        print(f"{family}: {share:.2f} of what is allowed")
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
