#!/usr/bin/env python3
"""Trains a microgpt on the names of names.txt, written from its equations, and saves it as a folder of the attn format.

    python3 train.py [STEPS] [FOLDER]       default: 1000 microgpt; needs numpy, takes some seconds

x = rms(wte[id] + wpe[position]); then x += wo attention(rms(x)), x += fc2 relu(fc1 rms(x)); logits = lm_head x.
"""

import json
import pathlib
import re
import struct
import sys

import numpy as np

E, N_HEAD, N_CTX, RATE = 16, 4, 16, 0.01
names = pathlib.Path(__file__).with_name("names.txt").read_text().split()
uchars = sorted(set("".join(names)))
BOS = len(uchars)
random = np.random.default_rng(42)
shapes = {"wte": (BOS + 1, E), "wpe": (N_CTX, E), "lm_head": (BOS + 1, E), "layer0.attn_wq": (E, E), "layer0.attn_wk": (E, E),
          "layer0.attn_wv": (E, E), "layer0.attn_wo": (E, E), "layer0.mlp_fc1": (4 * E, E), "layer0.mlp_fc2": (E, 4 * E)}
state_dict = {name: random.normal(0, 0.08, shape) for name, shape in shapes.items()}


def rms(x):
    """The normalized x, and its scale, which the way back needs."""
    scale = (np.mean(x * x, -1, keepdims=True) + 1e-5) ** -0.5
    return x * scale, scale


def rms_back(y, scale, dy):
    return scale * (dy - y * np.mean(dy * y, -1, keepdims=True))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def find_gradients(ids):
    """The mean of -ln p of each next letter, and its gradient by every matrix."""
    wte, wpe, lm_head, wq, wk, wv, wo, fc1, fc2 = state_dict.values()
    given, wanted, n = ids[:-1], ids[1:], len(ids) - 1
    heads = lambda x: x.reshape(n, N_HEAD, -1).transpose(1, 0, 2)
    joined = lambda x: x.transpose(1, 0, 2).reshape(n, E)
    # There ...
    x0, scale0 = rms(wte[given] + wpe[:n])
    a, scale_a = rms(x0)
    q, k, v = (heads(a @ w.T) for w in (wq, wk, wv))
    hidden = np.triu(np.full((n, n), -np.inf), 1)
    pattern = softmax(q @ k.transpose(0, 2, 1) / (E / N_HEAD) ** 0.5 + hidden)
    z = joined(pattern @ v)
    x1 = x0 + z @ wo.T
    b, scale_b = rms(x1)
    h = np.maximum(b @ fc1.T, 0)
    x2 = x1 + h @ fc2.T
    p = softmax(x2 @ lm_head.T)
    # ... and back again, line by line.
    d_logits = (p - np.eye(BOS + 1)[wanted]) / n
    dx2 = d_logits @ lm_head
    dh = (dx2 @ fc2) * (h > 0)
    dx1 = dx2 + rms_back(b, scale_b, dh @ fc1)
    dz = heads(dx1 @ wo)
    d_pattern = dz @ v.transpose(0, 2, 1)
    d_scores = pattern * (d_pattern - (d_pattern * pattern).sum(-1, keepdims=True)) / (E / N_HEAD) ** 0.5
    dq, dk, dv = (joined(x) for x in (d_scores @ k, d_scores.transpose(0, 2, 1) @ q, pattern.transpose(0, 2, 1) @ dz))
    dx0 = dx1 + rms_back(a, scale_a, dq @ wq + dk @ wk + dv @ wv)
    d_embed = rms_back(x0, scale0, dx0)
    d_wte, d_wpe = np.zeros_like(wte), np.zeros_like(wpe)
    np.add.at(d_wte, given, d_embed)
    d_wpe[:n] = d_embed
    gradients = (d_wte, d_wpe, d_logits.T @ x2, dq.T @ a, dk.T @ a, dv.T @ a, dx1.T @ z, dh.T @ b, dx2.T @ h)
    return -np.log(p[range(n), wanted]).mean(), dict(zip(state_dict, gradients))


def train(n_step):
    mean, square = ({name: np.zeros(shape) for name, shape in shapes.items()} for _ in range(2))
    order = random.permutation(len(names))
    for step in range(n_step):
        name = names[order[step % len(names)]]
        loss, gradients = find_gradients([BOS, *map(uchars.index, name), BOS])
        for key, g in gradients.items():  # Adam
            mean[key] = 0.85 * mean[key] + 0.15 * g
            square[key] = 0.99 * square[key] + 0.01 * g * g
            change = mean[key] / (1 - 0.85 ** (step + 1)) / (np.sqrt(square[key] / (1 - 0.99 ** (step + 1))) + 1e-8)
            state_dict[key] -= RATE * (1 - step / n_step) * change
        if (step + 1) % 200 == 0:
            print(f"step {step + 1}: loss {loss:.3f}")


def save(folder, letters, n_head, matrices):
    """Writes the model as the attn format has it: matrices are [in][out] instead of [out][in], and those of attention are one a head."""
    names = {"wte": "embed.W_E", "wpe": "pos_embed.W_pos", "lm_head": "unembed.W_U", "fc1": "mlp.W_in", "fc2": "mlp.W_out",
             "wq": "attn.W_Q", "wk": "attn.W_K", "wv": "attn.W_V", "wo": "attn.W_O"}
    header, data = {}, b""
    for name, matrix in matrices.items():
        layer, part = re.fullmatch(r"(?:layer(\d+)\.(?:attn|mlp)_)?(\w+)", name).groups()
        w = np.array(matrix) if part in ("wte", "wpe") else np.array(matrix).T
        if part in ("wq", "wk", "wv"):
            w = w.reshape(len(w), n_head, -1).transpose(1, 0, 2)
        elif part == "wo":
            w = w.reshape(n_head, -1, w.shape[1])
        start, data = len(data), data + w.round(5).astype("<f4").tobytes()
        header[(f"blocks.{layer}." if layer else "") + names[part]] = {"dtype": "F32", "shape": w.shape, "data_offsets": [start, len(data)]}
    head, (n_ctx, d_model) = json.dumps(header).encode(), np.shape(matrices["wpe"])
    config = {"model_type": "attn", "n_layer": sum("wq" in name for name in matrices), "n_head": n_head, "d_model": d_model,
              "d_mlp": len(matrices["layer0.mlp_fc1"]), "n_ctx": n_ctx, "n_vocab": len(letters) + 1, "act_fn": "relu", "norm": "rms",
              "embed_norm": True, "final_norm": False, "positions": "learned", "out_proj": True, "residual": True, "output": "own",
              "eos_token_id": len(letters), "tokenizer": {"type": "char", "bos": "<BOS>"}}
    vocab = {letter: id for id, letter in enumerate([*letters, "<BOS>"])}
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "vocab.json").write_text(json.dumps(vocab) + "\n")
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)


def main():
    train(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    save(sys.argv[2] if len(sys.argv) > 2 else "microgpt", uchars, N_HEAD, state_dict)


if __name__ == "__main__":
    main()
