"""Every tensor of an encoder's forward pass in float64, from its config.json and model.safetensors.

Written from the equations, not from the tool: BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT, ModernBERT; ViT, DINOv2,
CLIP's tower of pictures. Names of tensors are those of transformers, with gamma and beta, with or without the
prefix. Angles of rotary positions are float32, as transformers makes them.
"""

import json
import math
import pathlib

import numpy as np
from safetensors.numpy import load_file

DEFAULTS = {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2}
HEADS = {"bert": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                  "cls.predictions.decoder", "cls.predictions.bias"),
         "roberta": ("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"),
         "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector", None),
         "electra": ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head", None),
         "albert": ("predictions.dense", "predictions.LayerNorm", "predictions.decoder", "predictions.bias"),
         "modernbert": ("head.dense", "head.norm", "decoder", None)}
ERF = np.vectorize(math.erf, otypes=[float])


def act(name, x):
    return {"gelu": lambda: 0.5 * x * (1 + ERF(x / math.sqrt(2))),
            "gelu_new": lambda: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
            "relu": lambda: np.maximum(x, 0), "silu": lambda: x / (1 + np.exp(-x)),
            "quick_gelu": lambda: x / (1 + np.exp(-1.702 * x))}[name]()


class Weights:
    def __init__(self, path, prefix):
        self.all = {name: x.astype(np.float64) for name, x in load_file(path).items()}
        self.prefix = prefix if any(name.startswith(prefix) for name in self.all) else ""

    def find(self, name):
        for spelling in (name, name.replace(".weight", ".gamma").replace(".bias", ".beta")):
            for full in (self.prefix + spelling, spelling):
                if full in self.all:
                    return self.all[full]
        return None

    def linear(self, name, x):
        bias = self.find(name + ".bias")
        y = x @ self.find(name + ".weight").T
        return y if bias is None else y + bias

    def norm(self, name, x, eps):
        centred = x - x.mean(-1, keepdims=True)
        bias = self.find(name + ".bias")
        y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * self.find(name + ".weight")
        return y if bias is None else y + bias


def attend(sites, at, q, k, v, allowed):
    """z [T, D] of q, k, v [T, H, E], where ALLOWED [T, T]; keeps what is made on the way."""
    qk = np.einsum("thd,shd->hts", q, k)
    scores = np.where(allowed, qk / math.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    pattern = weights / weights.sum(-1, keepdims=True)
    z = np.einsum("hts,shd->thd", pattern, v)
    sites |= {at + "hook_qk": qk, at + "hook_attn_scores": scores, at + "hook_pattern": pattern, at + "hook_z": z}
    return z.reshape(len(z), -1)


def head(sites, w, config, family, x, eps, activation):
    dense, norm, matrix, bias = HEADS[family]
    if w.find(dense + ".weight") is None:
        return sites
    sites["mlm_head.hook_normalized"] = y = w.norm(norm, act(activation, w.linear(dense, x)), eps)
    own = w.find(matrix + ".weight")
    embed = w.find("embeddings.tok_embeddings.weight" if family == "modernbert" else "embeddings.word_embeddings.weight")
    logits = y @ (embed if own is None else own).T
    b = w.find(matrix + ".bias")
    b = w.find(bias) if b is None and bias else b
    sites["logits"] = logits if b is None else logits + b
    return sites


def bert(config, w, family, ids, types, seen):
    sites, T = {}, len(ids)
    n_head, n_layer = config["num_attention_heads"], config["num_hidden_layers"]
    eps, activation = config["layer_norm_eps"], config["hidden_act"]
    positions = np.arange(T)
    if family == "roberta":
        pad = config.get("pad_token_id", 1)
        positions = np.where(ids != pad, pad + np.cumsum(ids != pad), pad)
    sites["hook_embed"] = x = w.find("embeddings.word_embeddings.weight")[ids]
    if family != "distilbert":
        x = x + w.find("embeddings.token_type_embeddings.weight")[types]
    x = w.norm("embeddings.LayerNorm", x + w.find("embeddings.position_embeddings.weight")[positions], eps)
    for name in ("embeddings_project", "encoder.embedding_hidden_mapping_in"):
        if w.find(name + ".weight") is not None:
            x = w.linear(name, x)
    for layer in range(n_layer):
        group = int(layer / (n_layer / config.get("num_hidden_groups", 1)))
        block = {"distilbert": f"transformer.layer.{layer}.",
                 "albert": f"encoder.albert_layer_groups.{group}.albert_layers.0."}.get(
                     family, f"encoder.layer.{layer}.")
        names = {"distilbert": ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
                                "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"],
                 "albert": ["attention.query", "attention.key", "attention.value", "attention.dense",
                            "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm"]}.get(
                     family, ["attention.self.query", "attention.self.key", "attention.self.value",
                              "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense",
                              "output.dense", "output.LayerNorm"])
        wq, wk, wv, wo, ln1, w_in, w_out, ln2 = [block + name for name in names]
        at = f"blocks.{layer}."
        sites[at + "hook_resid_pre"] = x
        q, k, v = [w.linear(name, x).reshape(T, n_head, -1) for name in (wq, wk, wv)]
        sites |= {at + "attn.hook_q": q, at + "attn.hook_k": k, at + "attn.hook_v": v}
        out = w.linear(wo, attend(sites, at + "attn.", q, k, v, np.ones((T, T), bool) & seen))
        mid = x + out
        n = w.norm(ln1, mid, eps)
        pre = w.linear(w_in, n)
        post = act(activation, pre)
        mlp = w.linear(w_out, post)
        x = w.norm(ln2, n + mlp, eps)
        sites |= {at + "hook_attn_out": out, at + "hook_resid_mid": mid, at + "hook_normalized_resid_mid": n,
                  at + "mlp.hook_pre": pre, at + "mlp.hook_post": post, at + "hook_mlp_out": mlp,
                  at + "hook_resid_post": n + mlp, at + "hook_normalized_resid_post": x}
    fixed = family in ("roberta", "electra")
    return head(sites, w, config, family, x, eps, "gelu" if fixed else activation)


def turned(x, theta):
    half = x.shape[-1] // 2
    exponents = np.arange(0, 2 * half, 2, dtype=np.float32) / np.float32(2 * half)
    frequencies = np.float32(1) / np.power(np.float32(theta), exponents, dtype=np.float32)
    angles = (np.arange(len(x), dtype=np.float32)[:, None] * frequencies).astype(np.float64)[:, None]
    a, b = x[..., :half], x[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def modernbert(config, w, ids, seen):
    sites, T = {}, len(ids)
    n_head, eps = config.get("num_attention_heads", 12), config.get("norm_eps", 1e-5)
    every, width = config.get("global_attn_every_n_layers", 3), config.get("local_attention", 128) // 2
    ropes = config.get("rope_parameters") or {}
    distance = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    sites["hook_embed"] = x = w.find("embeddings.tok_embeddings.weight")[ids]
    x = w.norm("embeddings.norm", x, eps)
    for layer in range(config["num_hidden_layers"]):
        types = config.get("layer_types")
        is_local = types[layer] == "sliding_attention" if types else layer % every != 0
        key, old, default = (("sliding_attention", "local_rope_theta", 10000.0) if is_local
                             else ("full_attention", "global_rope_theta", 160000.0))
        theta = ropes.get(key, {}).get("rope_theta", config.get(old, default))
        at, block = f"blocks.{layer}.", f"layers.{layer}."
        sites[at + "hook_resid_pre"] = x
        n = x if layer == 0 else w.norm(block + "attn_norm", x, eps)
        q, k, v = [part.reshape(T, n_head, -1) for part in np.split(w.linear(block + "attn.Wqkv", n), 3, -1)]
        rot_q, rot_k = turned(q, theta), turned(k, theta)
        sites |= {at + "attn.hook_q": q, at + "attn.hook_k": k, at + "attn.hook_v": v,
                  at + "attn.hook_rot_q": rot_q, at + "attn.hook_rot_k": rot_k}
        z = attend(sites, at + "attn.", rot_q, rot_k, v, (distance <= (width if is_local else T)) & seen)
        out = w.linear(block + "attn.Wo", z)
        mid = x + out
        u, g = np.split(w.linear(block + "mlp.Wi", w.norm(block + "mlp_norm", mid, eps)), 2, -1)
        post = act(config.get("hidden_activation", "gelu"), u) * g
        mlp = w.linear(block + "mlp.Wo", post)
        x = mid + mlp
        sites |= {at + "hook_attn_out": out, at + "hook_resid_mid": mid, at + "mlp.hook_pre": u,
                  at + "mlp.hook_pre_linear": g, at + "mlp.hook_post": post, at + "hook_mlp_out": mlp,
                  at + "hook_resid_post": x}
    sites["ln_final.hook_normalized"] = x = w.norm("final_norm", x, eps)
    return head(sites, w, config, "modernbert", x, eps, config.get("classifier_activation", "gelu"))


# --- pictures -----------------------------------------------------------------------------------------------------


PREFIXES = {"vit": "vit.", "dinov2": "dinov2.", "dinov2_with_registers": "dinov2_with_registers.",
            "clip_vision_model": "vision_model."}
IMAGE_DEFAULTS = {"vit": {"patch_size": 16, "layer_norm_eps": 1e-12}, "dinov2": {"patch_size": 14},
                  "dinov2_with_registers": {"patch_size": 16, "num_register_tokens": 4},
                  "clip_vision_model": {"patch_size": 32, "layer_norm_eps": 1e-5, "hidden_act": "quick_gelu"}}


def cubic(t, a):
    t = np.abs(t)
    near, far = (a + 2) * t**3 - (a + 3) * t**2 + 1, a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return np.where(t < 1, near, np.where(t < 2, far, 0))


def resampling(n, m, is_antialiased):
    """[m, n]: of how much of each of N rows each of M is made."""
    made = np.zeros((m, n))
    for i in range(m):
        if is_antialiased:
            wide = max(n / m, 1)
            weights = cubic((np.arange(n) + 0.5 - n / m * (i + 0.5)) / wide, -0.5)
            made[i] = weights / weights.sum()
        else:
            at = n / m * (i + 0.5) - 0.5
            for tap in range(math.floor(at) - 1, math.floor(at) + 3):
                made[i, min(max(tap, 0), n - 1)] += cubic(at - tap, -0.75)
    return made


def embed_picture(config, w, family, pixels):
    """The patches, and the stream that the first block or CLIP's first norm reads."""
    ph, pw = np.broadcast_to(config["patch_size"], 2)
    rows, cols = pixels.shape[1] // ph, pixels.shape[2] // pw
    is_clip = family == "clip_vision_model"
    name = "embeddings.patch_embedding" if is_clip else "embeddings.patch_embeddings.projection"
    matrix = w.find(name + ".weight")
    cut = pixels[:, :rows * ph, :cols * pw].astype(np.float64).reshape(len(pixels), rows, ph, cols, pw)
    patches = cut.transpose(1, 3, 0, 2, 4).reshape(rows * cols, -1) @ matrix.reshape(len(matrix), -1).T
    patches = patches if is_clip else patches + w.find(name + ".bias")
    cls = w.find("embeddings.class_embedding" if is_clip else "embeddings.cls_token").reshape(1, -1)
    table = w.find("embeddings.position_embedding.weight" if is_clip else "embeddings.position_embeddings")
    table = table.reshape(-1, len(matrix))
    places = table[1:]
    if family.startswith("dinov2") and (len(places) != rows * cols or pixels.shape[1] != pixels.shape[2]):
        n = math.isqrt(len(places))
        down, across = (resampling(n, m, family != "dinov2") for m in (rows, cols))
        places = np.einsum("in,jm,nmd->ijd", down, across, places.reshape(n, n, -1)).reshape(rows * cols, -1)
    registers = w.find("embeddings.register_tokens")
    registers = np.zeros((0, len(matrix))) if registers is None else registers[0]
    return patches, np.concatenate([cls + table[:1], registers, patches + places]), len(registers)


def picture(directory, pixels):
    """All tensors of a picture, PIXELS [C, H, W], by their names in archives."""
    directory = pathlib.Path(directory)
    config = json.loads((directory / "config.json").read_text())
    family = config["model_type"]
    config = {"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_act": "gelu",
              "layer_norm_eps": 1e-6} | IMAGE_DEFAULTS[family] | config
    w, eps, is_clip = Weights(directory / "model.safetensors", PREFIXES[family]), config["layer_norm_eps"], False
    sites = {}
    sites["hook_embed"], x, n_register = embed_picture(config, w, family, pixels)
    T, n_head = len(x), config["num_attention_heads"]
    is_clip = family == "clip_vision_model"
    if is_clip:
        x = w.norm("pre_layrnorm", x, eps)
        names = ["layer_norm1", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj",
                 "layer_norm2", "mlp.fc1", "mlp.fc2"]
    else:
        own = ["layernorm_before", "layernorm_after", "intermediate.dense", "output.dense"]
        ln1, ln2, w_in, w_out = own if family == "vit" else ["norm1", "norm2", "mlp.fc1", "mlp.fc2"]
        at = "attention.attention."
        names = [ln1, at + "query", at + "key", at + "value", "attention.output.dense", ln2, w_in, w_out]
    for layer in range(config["num_hidden_layers"]):
        at, block = f"blocks.{layer}.", f"encoder.{'layers' if is_clip else 'layer'}.{layer}."
        ln1, wq, wk, wv, wo, ln2, w_in, w_out = [block + name for name in names]
        scales = [w.find(block + f"layer_scale{i}.lambda1") for i in (1, 2)]
        n = w.norm(ln1, x, eps)
        q, k, v = [w.linear(name, n).reshape(T, n_head, -1) for name in (wq, wk, wv)]
        sites |= {at + "hook_resid_pre": x, at + "attn.hook_q": q, at + "attn.hook_k": k, at + "attn.hook_v": v}
        out = w.linear(wo, attend(sites, at + "attn.", q, k, v, np.ones((T, T), bool)))
        out = out if scales[0] is None else out * scales[0]
        mid = x + out
        n = w.norm(ln2, mid, eps)
        if config.get("use_swiglu_ffn"):
            pre, linear = np.split(w.linear(block + "mlp.weights_in", n), 2, -1)
            post = act("silu", pre) * linear
            sites[at + "mlp.hook_pre_linear"] = linear
            mlp = w.linear(block + "mlp.weights_out", post)
        else:
            pre = w.linear(w_in, n)
            post = act(config["hidden_act"], pre)
            mlp = w.linear(w_out, post)
        mlp = mlp if scales[1] is None else mlp * scales[1]
        x = mid + mlp
        sites |= {at + "hook_attn_out": out, at + "hook_resid_mid": mid, at + "mlp.hook_pre": pre,
                  at + "mlp.hook_post": post, at + "hook_mlp_out": mlp, at + "hook_resid_post": x}
    sites["ln_final.hook_normalized"] = x = w.norm("post_layernorm" if is_clip else "layernorm", x, eps)
    if w.find("classifier.weight") is not None:
        mean = x[1 + n_register:].mean(0)
        sites["head.hook_pooled"] = pooled = (x[0] if family == "vit" else np.concatenate([x[0], mean]))[None]
        sites["logits"] = w.linear("classifier", pooled)
    return sites


def forward(directory, ids, types=None, mask=None):
    """All tensors by their names in archives; TYPES None: all 0; MASK of keys None: all 1."""
    directory = pathlib.Path(directory)
    config = json.loads((directory / "config.json").read_text())
    family = {"xlm-roberta": "roberta"}.get(config["model_type"], config["model_type"])
    ids = np.asarray(ids)
    types = np.zeros(len(ids), int) if types is None else np.asarray(types)
    seen = np.ones(len(ids), bool) if mask is None else np.asarray(mask) != 0
    if family == "modernbert":
        return modernbert(config, Weights(directory / "model.safetensors", "model."), ids, seen)
    if family == "distilbert":
        config |= {"hidden_size": config["dim"], "num_hidden_layers": config["n_layers"],
                   "num_attention_heads": config["n_heads"], "hidden_act": config.get("activation", "gelu")}
    if family == "albert":
        config.setdefault("hidden_act", "gelu_new")
    return bert(DEFAULTS | config, Weights(directory / "model.safetensors", family + "."), family, ids, types, seen)
