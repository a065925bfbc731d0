#!/usr/bin/env python3
"""Writes tests/fixtures/gguf/models.zip and hostile.zip: python3 tests/tools/make_gguf_fixtures.py FOLDER DECODERS

DECODERS is the folder of make_gguf_decoders.py. FOLDER/models/NAME has model.gguf, cases.jsonl, info.json and the twin hf/ (config.json and
model.safetensors: the decoded values in Hugging Face's names and order). Of the twin the archive
keeps the config and twin.txt: how each of its tensors is made of those of model.gguf, and the
FNV-1a of its bytes (of 1 + w where 1 was in the file), so that unit/test_gguf_models.c makes the same twin and knows that it did.
FOLDER/hostile has damaged files and expected.tsv. Members are stored, without dates."""
import json, pathlib, re, struct, sys, zipfile

import numpy

ROOT = pathlib.Path(__file__).parents[1] / "fixtures/gguf"
NAMES = {  # the last parts of Hugging Face's names: those of GGUF
    "embed_tokens": "token_embd", "wte": "token_embd", "embed_in": "token_embd", "wpe": "position_embd",
    "norm": "output_norm", "ln_f": "output_norm", "final_layer_norm": "output_norm",
    "final_layernorm": "output_norm", "lm_head": "output", "embed_out": "output",
    "input_layernorm": "attn_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
    "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "c_attn": "attn_qkv", "query_key_value": "attn_qkv",
    "attention.dense": "attn_output", "self_attn.dense": "attn_output", "attn.c_proj": "attn_output",
    "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down", "c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down", "dense_h_to_4h": "ffn_up", "dense_4h_to_h": "ffn_down", "fc1": "ffn_up",
    "fc2": "ffn_down", "qkv_proj": "attn_qkv", "gate_up_proj": "ffn_up",
    "post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm",
    "dense": "attn_output", "out_proj": "attn_output", "Wqkv": "attn_qkv", "norm_1": "attn_norm",
    "norm_2": "ffn_norm", "norm_f": "output_norm", "word_embeddings": "token_embd",
    "word_embeddings_layernorm": "token_embd_norm", "ln_attn": "attn_norm_2", "ln_mlp": "attn_norm",
    "mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp", "router.layer": "ffn_gate_inp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "shared_expert.gate_proj": "ffn_gate_shexp",
    "shared_expert.up_proj": "ffn_up_shexp", "shared_expert.down_proj": "ffn_down_shexp",
    "q_layernorm": "attn_q_norm", "k_layernorm": "attn_k_norm", "attn.c_attn": "attn_qkv",
}


def fnv(data):
    number = 0xCBF29CE484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number


def gguf_name(name, architecture):
    layer = re.search(r"\.(\d+)\.", name)
    fused = re.search(r"(down|gate)(_up)?_proj(_bias)?$", name)  # gpt-oss: gate and up in one
    if fused or name.endswith(".sinks"):
        return f"blk.{layer[1]}." + (f"ffn_{fused[1]}_exps." + ("bias" if fused[3] else "weight") if fused else
                                     "attn_sinks.weight")
    if architecture == "gpt-oss" and "post_attention_layernorm" in name:
        return f"blk.{layer[1]}.post_attention_norm.weight"
    expert = re.search(r"\.experts\.\d+\.(\w+)\.weight", name)
    if expert:
        part = dict(w1="gate", w2="down", w3="up").get(expert[1], expert[1].removesuffix("_proj"))
        return f"blk.{layer[1]}.ffn_{part}_exps.weight"
    stem, kind = re.sub(r"\.norms\.\d+", "", name).rsplit(".", 1)
    last, pair = stem.split(".")[-1], ".".join(stem.split(".")[-2:])
    if last == "post_attention_layernorm":
        found = "post_attention_norm" if architecture in (
            "gemma2", "gemma3", "olmo2", "exaone4") else "ffn_norm"
    else:
        found = NAMES.get(pair) or NAMES[last]
    return (f"blk.{layer[1]}." if layer else "") + found + "." + kind


def change(name, architecture, config):
    """What is done to the decoded values: a word and a number."""
    head = re.search(r"\.(?:norms|experts)\.(\d+)", name)
    if "gate_up_proj" in name and architecture == "gpt-oss":
        return "alternate", 0
    if name.endswith("experts.down_proj"):
        return "turned", 0
    if head:
        return "row", int(head[1])
    if architecture in ("llama", "granite", "granitemoe", "smollm3", "olmo") and re.search("[qk]_proj", name):
        return "interleaved", config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    if architecture in ("gemma", "gemma2", "gemma3") and "norm" in name:
        return "minus_one", 0
    if architecture in ("gptneox", "bloom", "falcon") and "query_key_value" in name:
        n_head = config.get("num_attention_heads") or config["n_head"]
        n_group = config["num_kv_heads"] if architecture == "falcon" else n_head
        return "by_head", n_group * 1024 + config["hidden_size"] // n_head
    if architecture == "gpt2" and re.search(r"(c_attn|c_proj|c_fc)\.weight", name):
        return "turned", 0
    return "same", 0


def twin(folder):
    info, config = (json.loads((folder / file).read_text()) for file in ("info.json", "hf/config.json"))
    data = (folder / "hf/model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    for prompt in info["prompts"]:
        if len(prompt["ids"]) > 1:
            yield "prompt " + " ".join(map(str, prompt["ids"]))
    for name, tensor in sorted(header.items()):
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        word, number = change(name, info["architecture"], config)
        values = data[begin:end]
        if word == "minus_one":  # w is not the only float whose 1 + w is in the file
            values = (numpy.float32(1) + numpy.frombuffer(values, "<f4")).tobytes()
        shape = "x".join(map(str, tensor["shape"]))
        assert tensor["dtype"] == "F32" and gguf_name(name, info["architecture"]) in info["tensors"]
        yield (f"tensor {name} {shape} {fnv(values):016x} {word} {number} "
               f"{gguf_name(name, info['architecture'])}")


def add(archive, name, data):
    archive.writestr(zipfile.ZipInfo(name), data)


source, decoders = map(pathlib.Path, sys.argv[1:3])
with zipfile.ZipFile(ROOT / "models.zip", "w") as archive:
    for folder in sorted((source / "models").iterdir()) + sorted((decoders / "models").iterdir()):
        for file in "model.gguf", "cases.jsonl":
            if (folder / file).exists():  # decoders have no words
                add(archive, f"{folder.name}/{file}", (folder / file).read_bytes())
        add(archive, f"{folder.name}/config.json", (folder / "hf/config.json").read_bytes())
        add(archive, f"{folder.name}/twin.txt", "\n".join(twin(folder)) + "\n")
with zipfile.ZipFile(ROOT / "hostile.zip", "w") as archive:
    for path in sorted((source / "hostile").rglob("*")):
        if path.is_file():
            add(archive, str(path.relative_to(source / "hostile")), path.read_bytes())
