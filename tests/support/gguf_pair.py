#!/usr/bin/env python3
"""Makes GGUF files of a model of tests/fixtures/vision.tar or sight.tar, with the names, keys and changes of llama.cpp's converter:

    gguf_pair.py MODEL FOLDER [KEY=VALUE ...]    FOLDER/model.gguf and FOLDER/mmproj.gguf
    gguf_pair.py MODEL FOLDER inside             FOLDER/model.gguf alone, as Ollama writes Gemma 3
    gguf_pair.py MODEL FOLDER exchanged          ffn_up and ffn_down of the tower exchanged, as the script for LLaVA of 2023 did

KEY=VALUE replaces a key of mmproj.gguf, a number or a text; KEY= leaves it out. `rows=N` keeps N rows of the embedding.
Weights have the type that they have in MODEL, so that both models have the same bits. Only the standard library is used.
"""
import json, pathlib, re, struct, sys

TEXT = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "post_attention_layernorm": "ffn_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
BLOCK = {"layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "norm1": "ln1", "norm2": "ln2", "attn.proj": "attn_out",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.linear_fc1": "ffn_up",
         "mlp.linear_fc2": "ffn_down", "layernorm_before": "ln1", "layernorm_after": "ln2", "attention.q_proj": "attn_q",
         "attention.k_proj": "attn_k", "attention.v_proj": "attn_v", "attention.projection_layer": "attn_out",
         "attention.q_norm": "attn_q_norm", "attention.k_norm": "attn_k_norm", "attention.o_proj": "attn_out", "attention_norm": "ln1", "ffn_norm": "ln2", "feed_forward.gate_proj": "ffn_gate",
         "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down"}
TOWER = {"pre_layrnorm": "v.pre_ln", "projector.linear_1": "mm.0", "projector.linear_2": "mm.2",
         "pos_embed": "v.position_embd", "merger.norm": "v.post_ln", "merger.linear_fc1": "mm.0", "merger.linear_fc2": "mm.2",
         "embeddings.patch_embedding": "v.patch_embd", "embeddings.position_embedding": "v.position_embd", "post_layernorm": "v.post_ln",
         "modality_projection.proj": "mm.model.fc", "mm_soft_emb_norm": "mm.soft_emb_norm", "merger.ln_q": "v.post_ln",
         "merger.mlp.0": "mm.0", "merger.mlp.2": "mm.2", "patch_embeddings.projection": "v.patch_embd",
         "projector.layer_norm": "mm.model.mlp.0", "modal_mlp.1": "mm.model.mlp.1", "modal_mlp.3": "mm.model.mlp.3",
         "patch_conv": "v.patch_embd", "ln_pre": "v.pre_ln", "projector.norm": "mm.input_norm", "merging_layer": "mm.patch_merger",
         "modal_mm.1": "mm.1", "modal_mm.2": "mm.2"}
SINGLE = {"class_embedding": "v.class_embd", "cls_token": "v.class_embd", "position_embeddings": "v.position_embd.weight",
          "lambda_1": "ls1.weight", "lambda_2": "ls2.weight"}
OLLAMA = {"ln1": "layer_norm1", "ln2": "layer_norm2", "attn_out": "attn_output", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2",
          "v.patch_embd": "v.patch_embedding", "v.position_embd": "v.position_embedding", "v.post_ln": "v.post_layernorm",
          "mm.soft_emb_norm": "mm.mm_soft_emb_norm", "mm.input_projection": "mm.mm_input_projection"}
TYPES = {"F32": (0, 4), "F16": (1, 2), "BF16": (30, 2)}


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            yield name, entry["dtype"], entry["shape"], data[8 + size:][slice(*entry["data_offsets"])]


def plus_one(dtype, shape, data):
    floats = [w[0] for w in struct.iter_unpack("<f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)) if dtype == "BF16" else data)]
    return "F32", shape, b"".join(struct.pack("<f", 1 + w) for w in floats)


def interleave(shape, data, heads):
    row, half = len(data) // shape[0], shape[0] // heads // 2
    order = [head * 2 * half + i % 2 * half + i // 2 for head in range(heads) for i in range(2 * half)]
    return b"".join(data[r * row:(r + 1) * row] for r in order)


def split(kind, stem, dtype, shape, data, deep):
    """Yields the tensors of GGUF that one of Hugging Face is. DEEP: the layers that DeepStack reads, of Qwen3-VL."""
    connector = re.search(r"deepstack_merger_list\.(\d+)\.(.*)", stem)
    block = re.search(r"(?:layers?|blocks)\.(\d+)\.?(.*)", stem)
    name = f"v.blk.{block[1]}.{BLOCK.get(block[2], block[2])}" if block else next((TOWER[k] for k in TOWER if stem.endswith(k)), stem)
    if "image_newline" in (stem, kind):
        yield "v.image_newline", dtype, shape, data
    elif kind in SINGLE:
        yield (f"v.blk.{block[1]}." if block else "") + SINGLE[kind], dtype, shape[2 if kind == "cls_token" else kind == "position_embeddings":], data
    elif connector:
        yield f"v.deepstack.{deep[int(connector[1])]}.{connector[2].replace('linear_', '')}.{kind}", dtype, shape, data
    elif deep is not None and name.endswith("attn.qkv"):
        yield f"v.blk.{block[1]}.attn_qkv.{kind}", dtype, shape, data
    elif name.endswith("attn.qkv"):
        third = len(data) // 3
        for i, letter in enumerate("qkv"):
            yield f"v.blk.{block[1]}.attn_{letter}.{kind}", dtype, [shape[0] // 3, *shape[1:]], data[i * third:(i + 1) * third]
    elif stem.endswith("patch_embed.proj") and kind == "bias":
        yield "v.patch_embd.bias", dtype, shape, data
    elif stem.endswith("patch_embed.proj"):
        n = shape[3] * shape[4] * TYPES[dtype][1]
        for frame in range(2):
            yield ("v.patch_embd.weight" + ".1" * frame, dtype, [shape[0], shape[1], *shape[3:]],
                   b"".join(data[i + frame * n:i + (frame + 1) * n] for i in range(0, len(data), 2 * n)))
    elif name == "mm.soft_emb_norm":
        yield (f"{name}.{kind}", *plus_one(dtype, shape, data))
    else:
        yield f"{name}.{kind}", dtype, shape, data


def tensors_of(model, config, rows):
    text, tower = [], []
    is_gemma, is_llama = config["model_type"] == "gemma3", config["text_config"]["model_type"] in ("llama", "mistral")
    heads = {"q": config["text_config"]["num_attention_heads"], "k": config["text_config"]["num_key_value_heads"]}
    for name, dtype, shape, data in read(model / "model.safetensors"):
        stem, kind = (name[:-7], "weight") if name.endswith("_weight") else name.rsplit(".", 1) if name != "image_newline" else (name, "")
        if stem.endswith("mm_input_projection"):
            tower.append(("mm.input_projection.weight", dtype, shape, data))
            continue
        if name == "image_newline" and "image_grid_pinpoints" not in config:
            continue
        if re.search("vision|visual|connector|projector|image_newline", name):
            if name.rsplit(".", 1)[-1] != "position_ids" and not (config["model_type"].startswith("llava") and "post_layernorm" in name):
                if config["model_type"] == "internvl":
                    stem = stem.replace("projector.linear_1", "mlp.1").replace("projector.linear_2", "mlp.3")  # not those of LLaVA
                if config["vision_config"].get("model_type") == "pixtral":
                    stem = stem.replace("projector.linear_", "mm.")
                    if re.search("attention.[qk]_proj", stem):
                        data = interleave(shape, data, config["vision_config"]["num_attention_heads"])
                tower += split(kind, stem, dtype, shape, data, config["vision_config"].get("deepstack_visual_indexes"))
            continue
        layer = re.search(r"layers\.(\d+)\.(.*)", stem)
        part = LAYER[layer[2]] if layer else TEXT[stem.split(".")[-1]]
        if is_gemma and part == "ffn_norm" and layer[2].startswith("post"):
            part = "post_attention_norm"
        if is_gemma and "norm" in part:
            dtype, shape, data = plus_one(dtype, shape, data)
        if is_llama and part in ("attn_q", "attn_k"):
            data = interleave(shape, data, heads[part[-1]])
        if part == "token_embd" and rows:
            shape, data = [rows, shape[1]], data[:rows * len(data) // shape[0]]
        text.append(((f"blk.{layer[1]}." if layer else "") + f"{part}.{kind}", dtype, shape, data))
    return text, tower


def value(v):
    if isinstance(v, str):
        return 8, struct.pack("<Q", len(v.encode())) + v.encode()
    if isinstance(v, bool):
        return 7, bytes([v])
    if isinstance(v, list):
        return 9, struct.pack("<IQ", value(v[0])[0], len(v)) + b"".join(value(x)[1] for x in v)
    return (6, struct.pack("<f", v)) if isinstance(v, float) else (4 if v >= 0 else 5, struct.pack("<i", v))


def write(path, keys, tensors):
    head, at, body = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys)), 0, b""
    for key, v in keys.items():
        kind, data = value(v)
        head += struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + data
    for name, dtype, shape, data in tensors:
        head += struct.pack("<Q", len(name)) + name.encode() + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], TYPES[dtype][0], at)
        body += data + b"\0" * (-len(data) % 32)
        at = len(body)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)


def text_keys(model, config, architecture, rows):
    text, name = config["text_config"], lambda key: f"{architecture}.{key}"
    rope = text.get("rope_parameters", {})
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    if rows: # of the embedding: later tokens are not in the file
        tokenizer["added_tokens"] = [token for token in tokenizer["added_tokens"] if token["id"] < rows]
    ids = tokenizer["model"]["vocab"] | {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
    tokens = sorted((i, t) for t, i in ids.items() if not rows or i < rows)
    keys = {"general.architecture": architecture, "general.type": "model", name("block_count"): text["num_hidden_layers"],
            name("context_length"): text["max_position_embeddings"], name("embedding_length"): text["hidden_size"],
            name("feed_forward_length"): text["intermediate_size"], name("attention.head_count"): text["num_attention_heads"],
            name("attention.head_count_kv"): text["num_key_value_heads"], name("attention.layer_norm_rms_epsilon"): text["rms_norm_eps"],
            name("rope.freq_base"): float(rope.get("rope_theta", text.get("rope_theta", 1e6))), "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.tokens": [t for _, t in tokens], "tokenizer.ggml.eos_token_id": text["eos_token_id"],
            "tokenizer.huggingface.json": json.dumps(tokenizer)}
    if "head_dim" in text:
        keys |= {name("attention.key_length"): text["head_dim"], name("attention.value_length"): text["head_dim"]}
    if "mrope_section" in rope:
        keys[name("rope.dimension_sections")] = [*rope["mrope_section"], 0]
    if architecture == "gemma3":
        keys |= {name("rope.freq_base_swa"): 10000.0, name("attention.sliding_window"): text["sliding_window"],
                 name("attention.sliding_window_pattern"): [t == "sliding_attention" for t in text["layer_types"]]}
    return keys


def tower_keys(model, config, kind):
    vision, steps = config["vision_config"], json.loads((model / "preprocessor_config.json").read_text())
    clip = lambda key: f"clip.vision.{key}"
    image, patch = (size[0] if isinstance(size, list) else size for size in (vision.get("image_size", 560), vision["patch_size"]))
    keys = {"general.architecture": "clip", "general.type": "mmproj", "clip.has_vision_encoder": True, "clip.projector_type": kind,
            clip("projection_dim"): config["text_config"]["hidden_size"], clip("image_size"): image, clip("patch_size"): patch,
            clip("embedding_length"): vision.get("embed_dim", vision["hidden_size"]), clip("feed_forward_length"): 1,
            clip("block_count"): vision.get("num_hidden_layers", vision.get("depth")),
            clip("attention.head_count"): vision.get("num_attention_heads", vision.get("num_heads")),
            clip("attention.layer_norm_epsilon"): vision.get("layer_norm_eps", 1e-6)}
    if "image_mean" in steps:
        keys |= {clip("image_mean"): steps["image_mean"], clip("image_std"): steps["image_std"]}
    if vision["hidden_act"] != "quick_gelu":
        keys["clip.use_silu" if vision["hidden_act"] == "silu" else "clip.use_gelu"] = True
    if kind == "idefics3":
        keys |= {clip("projector.scale_factor"): config["scale_factor"], clip("preproc_image_size"): steps["size"]["longest_edge"]}
    elif kind == "gemma3":
        keys[clip("projector.scale_factor")] = image // vision["patch_size"] // round(config["mm_tokens_per_image"] ** 0.5)
    elif kind == "internvl":
        keys |= {clip("projector.scale_factor"): int(1 / config["downsample_ratio"]), clip("preproc_min_tiles"): steps["min_patches"],
                 clip("preproc_max_tiles"): steps["max_patches"]}
    elif kind == "pixtral":
        keys |= {clip("image_size"): steps["size"]["longest_edge"], clip("spatial_merge_size"): config.get("spatial_merge_size", 1)}
    elif kind != "mlp":
        size = steps.get("size", {})
        keys |= {clip("image_min_pixels"): size.get("shortest_edge", steps.get("min_pixels")),
                 clip("image_max_pixels"): size.get("longest_edge", steps.get("max_pixels"))}
    if kind == "mlp":
        layers = keys[clip("block_count")]
        keys[clip("feature_layer")] = [config["vision_feature_layer"] % (layers + 1)]
        if "image_grid_pinpoints" in config:
            keys[clip("image_grid_pinpoints")] = [side for size in config["image_grid_pinpoints"] for side in size]
    if kind == "qwen3vl_merger":
        keys |= {clip("spatial_merge_size"): vision["spatial_merge_size"], clip("image_size"): round(vision["num_position_embeddings"] ** .5) * vision["patch_size"],
                 clip("is_deepstack_layers"): [layer in vision["deepstack_visual_indexes"] for layer in range(vision["depth"])]}
    if kind == "qwen2.5vl_merger":
        keys |= {clip("n_wa_pattern"): vision["fullatt_block_indexes"][0] + 1, clip("window_size"): vision["window_size"]}
    return keys


def main(model, folder, *changes):
    config = json.loads((model / "config.json").read_text())
    architecture, kind = {"smolvlm": ("llama", "idefics3"), "gemma3": ("gemma3", "gemma3"), "qwen2_vl": ("qwen2vl", "qwen2vl_merger"),
                          "qwen2_5_vl": ("qwen2vl", "qwen2.5vl_merger"), "llava": ("llama", "mlp"),
                          "qwen3_vl": ("qwen3vl", "qwen3vl_merger"), "internvl": ("qwen2", "internvl"), "mistral3": ("llama", "pixtral"), "llava_next": ("llama", "mlp")}[config["model_type"]]
    if config["vision_config"].get("model_type") == "pixtral":
        kind = "pixtral"
    if config["text_config"]["model_type"] == "qwen2" and architecture == "llama":
        architecture = "qwen2"
    edits = dict(change.split("=", 1) for change in changes if "=" in change)
    rows = int(edits.pop("rows", 0))
    text, tower = tensors_of(model, config, rows)
    keys, own = text_keys(model, config, architecture, rows), tower_keys(model, config, kind)
    for key, v in edits.items():
        own.pop(key, None)
        if v:
            own[key] = int(v) if v.isdigit() else v
    folder.mkdir(exist_ok=True)
    if "inside" in changes:
        keys |= {key.replace("clip.vision", f"{architecture}.vision"): own[key] for key in own if re.search("length|count|_size|epsilon", key)}
        for key in ("attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.freq_base_swa"):  # Ollama's converter writes none
            del keys[f"{architecture}.{key}"]
        keys[f"{architecture}.mm.tokens_per_image"] = config["mm_tokens_per_image"]
        rename = lambda name: re.sub("|".join(OLLAMA).replace(".", r"\."), lambda found: OLLAMA[found[0]], name)
        write(folder / "model.gguf", keys, text + [(rename(name), *rest) for name, *rest in tower])
        return
    if "exchanged" in changes:
        other = {"ffn_up": "ffn_down", "ffn_down": "ffn_up"}
        tower = [(re.sub("ffn_up|ffn_down", lambda found: other[found[0]], name), *rest) for name, *rest in tower]
    write(folder / "model.gguf", keys, text)
    write(folder / "mmproj.gguf", own, tower)


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:])
