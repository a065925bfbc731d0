#!/usr/bin/env python3
"""Writes tests/fixtures/gguf/rows.tar: GGUF files of models of row.tar, with the package gguf, in the names, keys and order of rows that
llama.cpp's converter of November 2026 makes: python3 tests/tools/make_gguf_rows.py. Tensors are F32, so that each gives the bits of its twin."""
import io
import json
import math
import pathlib
import tarfile
import tempfile

import gguf
import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).parents[1] / "fixtures"
ARCHITECTURES = {"ministral3": "MISTRAL3", "ernie4-5": "ERNIE4_5", "hunyuan-v1-dense": "HUNYUAN_DENSE", "arcee": "ARCEE",
                 "apertus": "APERTUS", "nemotron": "NEMOTRON", "seed-oss": "SEED_OSS", "granitemoehybrid": "GRANITE",
                 "granitemoeshared": "GRANITE_MOE", "internlm3": "LLAMA"}
PERMUTED = ("ministral3", "arcee", "granitemoehybrid", "granitemoeshared", "internlm3")


def permute(x, n_head):
    return x.reshape(n_head, 2, x.shape[0] // n_head // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def write_rope(w, c, name, d_head):
    rope = c.get("rope_scaling") or c.get("rope_parameters") or {}
    theta = rope.get("rope_theta", c.get("rope_theta", 10000.0))
    kind, d_rotary = rope.get("rope_type", rope.get("type", "default")), d_head
    if name == "nemotron":
        d_rotary = int(rope.get("partial_rotary_factor", c.get("partial_rotary_factor", 0.5)) * c["hidden_size"]) // c["num_attention_heads"]
    if kind == "dynamic":  # with alpha
        theta *= rope["alpha"] ** (d_head / (d_head - 2))
        w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    w.add_rope_freq_base(theta)
    w.add_rope_dimension_count(d_rotary)
    if kind == "linear":
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(rope["factor"])
    if kind == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(rope["factor"])
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        w.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        w.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    if name == "ministral3":
        w.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        w.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if kind == "llama3":
        w.add_tensor("rope_freqs.weight", factors(rope, theta, d_head))


def factors(rope, theta, d_head):
    found, low, high, length = [], rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]
    for i in range(0, d_head, 2):
        wavelength = 2 * math.pi * theta ** (i / d_head)
        smooth = (length / wavelength - low) / (high - low)
        found.append(1 if wavelength < length / high else rope["factor"] if wavelength > length / low else
                     1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(found, np.float32)


def write_sizes(w, c, name, d_head):
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    n_kv = c["num_key_value_heads"]
    w.add_head_count_kv([n_kv] * c["num_hidden_layers"] if name == "granitemoehybrid" else n_kv)
    w.add_key_length(d_head)
    w.add_value_length(d_head)
    w.add_layer_norm_eps(c["norm_eps"]) if "norm_eps" in c else w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    for key, add in (("attention_multiplier", w.add_attention_scale), ("embedding_multiplier", w.add_embedding_scale),
                     ("residual_multiplier", w.add_residual_scale), ("logits_scaling", w.add_logit_scale),
                     ("shared_intermediate_size", w.add_expert_shared_feed_forward_length)):
        if key in c:
            add(c[key])
    if c.get("num_local_experts", 0) > 0:
        w.add_expert_count(c["num_local_experts"])
        w.add_expert_used_count(c["num_experts_per_tok"])


def write_tensors(w, c, name, architecture):
    names, xielu = gguf.get_tensor_name_map(architecture, c["num_hidden_layers"]), {}
    for key, x in load_file(ROOT / f"row-{name}/model.safetensors").items():
        stem, kind = key.rsplit(".", 1)
        x = x.astype(np.float32)
        if ".act_fn." in key:
            xielu.setdefault(kind, []).append((stem, float(x.reshape(-1)[0])))
            continue
        if "shared_mlp" in key or "block_sparse_moe.input_linear" in key:
            which = "_exps" if "block_sparse_moe" in key else "_shexp" if name == "granitemoeshared" else ""
            parts = {"down": x} if "output" in key else dict(zip(("gate", "up"), np.split(x, 2, axis=-2)))
            for part, half in parts.items():
                w.add_tensor(f"blk.{key.split('.')[2]}.ffn_{part}{which}.weight", np.ascontiguousarray(half))
            continue
        if name in PERMUTED and ("q_proj" in key or "k_proj" in key):
            x = permute(x, c["num_attention_heads" if "q_proj" in key else "num_key_value_heads"])
        if name == "nemotron" and key.endswith("norm.weight"):
            x = x + np.float32(1)
        w.add_tensor(f"{names.get_name(stem)}.{kind}", x)
    for kind, values in xielu.items():
        getattr(w, f"add_xielu_{kind}")([value for _, value in sorted(values)])


def write(path, name):
    architecture = getattr(gguf.MODEL_ARCH, ARCHITECTURES[name])
    c = json.loads((ROOT / f"row-{name}/config.json").read_text())
    d_head = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    write_sizes(w, c, name, d_head)
    write_rope(w, c, name, d_head)
    write_tensors(w, c, name, architecture)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


with tempfile.TemporaryDirectory() as scratch, tarfile.open(ROOT / "gguf/rows.tar", "w") as archive:
    for name in ARCHITECTURES:
        path = pathlib.Path(scratch) / f"{name}.gguf"
        write(path, name)
        info, data = tarfile.TarInfo(f"{name}.gguf"), path.read_bytes()
        info.size, info.mode = len(data), 0o644
        archive.addfile(info, io.BytesIO(data))
