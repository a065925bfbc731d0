"""The model type 'attn' of attn-cli in PyTorch, as far as models/interpreter needs it: self- and
cross-attention blocks, of which the latter read embeddings and positions of the source as they are.
"""

import json
import math
import os

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn


class Attention(nn.Module):
    def __init__(self, c, is_cross):
        super().__init__()
        self.is_cross = is_cross
        d, h, e, v = c["d_model"], c["n_head"], c["d_head"], c["d_value"]
        self.W_Q = nn.Parameter(torch.randn(h, d, e) / math.sqrt(d))
        self.W_K = nn.Parameter(torch.randn(h, d, e) / math.sqrt(d))
        self.W_V = nn.Parameter(torch.randn(h, d, v) / math.sqrt(d))
        self.W_O = nn.Parameter(torch.randn(h, v, d) * 0.02)
        self.b_Q = nn.Parameter(torch.zeros(h, e))
        self.b_K = nn.Parameter(torch.zeros(h, e))
        self.b_V = nn.Parameter(torch.zeros(h, v))
        self.b_O = nn.Parameter(torch.zeros(d))
        self.drop = 0.0  # share of the heads that training leaves out, sentence by sentence

    def forward(self, x, keys, mask):
        q = torch.einsum("btd,hde->bhte", x, self.W_Q) + self.b_Q[:, None]
        k = torch.einsum("bsd,hde->bhse", keys, self.W_K) + self.b_K[:, None]
        v = torch.einsum("bsd,hde->bhse", keys, self.W_V) + self.b_V[:, None]
        pattern = ((q @ k.mT) / math.sqrt(q.shape[-1]) + mask).softmax(-1)
        z = pattern @ v
        if self.training and self.drop > 0:
            keep = (torch.rand(z.shape[0], z.shape[1], 1, 1) >= self.drop).float()
            z = z * keep / keep.mean(1, keepdim=True).clamp(min=1 / z.shape[1])
        return torch.einsum("bhtv,hvd->btd", z, self.W_O) + self.b_O, pattern


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, f = c["d_model"], c["d_mlp"]
        self.W_in = nn.Parameter(torch.randn(d, f) / math.sqrt(d))
        self.b_in = nn.Parameter(torch.zeros(f))
        self.W_out = nn.Parameter(torch.randn(f, d) * 0.02)
        self.b_out = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return F.gelu(x @ self.W_in + self.b_in, approximate="tanh") @ self.W_out + self.b_out


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))
        self.b = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.w, self.b, 1e-5)


class Block(nn.Module):
    def __init__(self, c, is_cross):
        super().__init__()
        self.ln1, self.attn = Norm(c["d_model"]), Attention(c, is_cross)
        self.ln2, self.mlp = Norm(c["d_model"]), Mlp(c)


class Table(nn.Module):
    def __init__(self, name, rows, d, spread):
        super().__init__()
        self.register_parameter(name, nn.Parameter(torch.randn(rows, d) * spread))


class Interpreter(nn.Module):
    """Logits [B, T, V] of ids [B, T] and source [B, S]; sources are padded with -1."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed = Table("W_E", c["n_vocab"], c["d_model"], 0.1)
        if c["positions"] == "learned":
            self.pos_embed = Table("W_pos", c["n_ctx"], c["d_model"], 0.1)
        self.source_pos_embed = Table("W_pos", c["n_source"], c["d_model"], 0.1)
        self.blocks = nn.ModuleList(Block(c, kind == "cross") for kind in c["blocks"])
        self.ln_final = Norm(c["d_model"])

    def forward(self, ids, source):
        n, s = ids.shape[1], source.shape[1]
        x = self.embed.W_E[ids]
        if self.c["positions"] == "learned":
            x = x + self.pos_embed.W_pos[:n]
        keys = self.embed.W_E[source.clamp(min=0)] + self.source_pos_embed.W_pos[:s]
        causal = torch.full((n, n), -math.inf).triu(1)
        padding = torch.zeros(source.shape).masked_fill(source < 0, -math.inf)[:, None, None]
        patterns = []
        for block in self.blocks:
            normed = block.ln1(x)
            if block.attn.is_cross:
                out, pattern = block.attn(normed, keys, padding)
            else:
                out, pattern = block.attn(normed, normed, causal)
            patterns.append(pattern)
            x = x + out
            x = x + block.mlp(block.ln2(x))
        return self.ln_final(x) @ self.embed.W_E.t(), patterns


def save(model, directory, dtype=torch.float32):
    """config.json and model.safetensors as attn-cli reads them."""
    os.makedirs(directory, exist_ok=True)
    tensors = {
        name: tensor.detach().to(dtype).contiguous() for name, tensor in model.state_dict().items()
    }
    save_file(tensors, os.path.join(directory, "model.safetensors"))
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(
            {"model_type": "attn"} | model.c | {"dtype": str(dtype).removeprefix("torch.")},
            file,
            indent=2,
        )
        file.write("\n")


def load(directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config.pop("model_type")
    config.pop("dtype")
    model = Interpreter(config)
    tensors = load_file(os.path.join(directory, "model.safetensors"))
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model
