"""GPT-2 in PyTorch, small enough to read at once, with the tensor names of Hugging Face."""

import json
import math
import os

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn


class Product(torch.autograd.Function):
    """x W with both rounded to bfloat16, and so backwards: four times as fast on a CPU that
    multiplies these."""

    @staticmethod
    def forward(ctx, x, weight):
        x, weight = x.bfloat16(), weight.bfloat16()
        ctx.save_for_backward(x, weight)
        return (x @ weight).float()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        gradient = gradient.bfloat16()
        of_weight = x.flatten(0, -2).t() @ gradient.flatten(0, -2)
        return (gradient @ weight.t()).float(), of_weight.float()


class PredictionLoss(torch.autograd.Function):
    """The mean cross-entropy of targets under softmax(x W^T), in bfloat16 like Product; gradients
    at once."""

    @staticmethod
    def forward(ctx, x, weight, targets):
        x, weight = x.bfloat16(), weight.bfloat16()
        logits = (x @ weight.t()).float()
        logits.sub_(logits.amax(-1, keepdim=True))
        rows = torch.arange(len(targets))
        chosen = logits[rows, targets]
        logits.exp_()
        total = logits.sum(-1, keepdim=True)
        loss = (total.log().squeeze(-1) - chosen).mean()
        logits.div_(total)
        logits[rows, targets] -= 1
        gradient = logits.div_(len(targets)).bfloat16()
        ctx.save_for_backward((gradient @ weight).float(), (gradient.t() @ x).float())
        return loss

    @staticmethod
    def backward(ctx, gradient):
        of_x, of_weight = ctx.saved_tensors
        return gradient * of_x, gradient * of_weight, None


class Projection(nn.Module):
    """x W + b with W stored [in, out], as GPT-2's Conv1D stores it."""

    def __init__(self, inputs, outputs, deviation):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * deviation)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        product = Product.apply(x, self.weight) if self.training else x @ self.weight
        return product + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads, layers):
        super().__init__()
        self.heads = heads
        self.drop = 0.0  # share of the heads that training is without, drawn for each sequence
        self.c_attn = Projection(width, 3 * width, 0.02)
        self.c_proj = Projection(width, width, 0.02 / math.sqrt(2 * layers))

    def forward(self, x, patterns):
        rows, length, width = x.shape
        q, k, v = (
            self.c_attn(x)
            .view(rows, length, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        if patterns is None:
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
            future = torch.ones(length, length, dtype=torch.bool).triu(1)
            patterns.append(scores.masked_fill(future, float("-inf")).softmax(-1))
            z = patterns[-1] @ v
        if self.training and self.drop > 0:
            kept = (torch.rand(rows, self.heads, 1, 1) >= self.drop).float()
            z = z * kept * (self.heads / kept.sum(1, keepdim=True).clamp(min=1))
        return self.c_proj(z.transpose(1, 2).reshape(rows, length, width))


class Mlp(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.c_fc = Projection(width, 4 * width, 0.02)
        self.c_proj = Projection(4 * width, width, 0.02 / math.sqrt(2 * layers))
        self.drop = 0.0  # share of the sequences that training gives nothing here

    def forward(self, x):
        y = self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))
        if self.training and self.drop > 0:
            y = y * (torch.rand(len(x), 1, 1) >= self.drop)
        return y


class Block(nn.Module):
    def __init__(self, width, heads, layers):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, layers)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, layers)

    def forward(self, x, patterns):
        x = x + self.attn(self.ln_1(x), patterns)
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """Logits [rows, length, vocabulary] of ids [rows, length]; the embedding is the output layer
    too.

    Computes in float32 after eval(), partly in bfloat16 after train().
    """

    def __init__(self, vocabulary, positions, width, layers, heads):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(positions, width)
        self.h = nn.ModuleList(Block(width, heads, layers) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.01)

    def hidden(self, ids, patterns=None):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.h:
            x = block(x, patterns)
        return self.ln_f(x)

    def forward(self, ids, with_patterns=False):
        patterns = [] if with_patterns else None
        logits = F.linear(self.hidden(ids, patterns), self.wte.weight)
        return (logits, patterns) if with_patterns else logits

    def loss(self, ids):
        """Of predicting each id but the first of every row."""
        return PredictionLoss.apply(
            self.hidden(ids[:, :-1]).flatten(0, 1), self.wte.weight, ids[:, 1:].flatten()
        )


def configuration(model):
    vocabulary, width = model.wte.weight.shape
    return {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.0,
        "bos_token_id": vocabulary - 1,
        "embd_pdrop": 0.0,
        "eos_token_id": vocabulary - 1,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2",
        "n_ctx": model.wpe.weight.shape[0],
        "n_embd": width,
        "n_head": model.h[0].attn.heads,
        "n_layer": len(model.h),
        "n_positions": model.wpe.weight.shape[0],
        "resid_pdrop": 0.0,
        "tie_word_embeddings": True,
        "vocab_size": vocabulary,
    }


def save(model, directory, dtype=torch.float32):
    """config.json and model.safetensors as Hugging Face's GPT2LMHeadModel reads them."""
    os.makedirs(directory, exist_ok=True)
    tensors = {
        "transformer." + name: tensor.detach().to(dtype).contiguous()
        for name, tensor in model.state_dict().items()
    }
    save_file(tensors, os.path.join(directory, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(
            configuration(model) | {"dtype": str(dtype).removeprefix("torch.")}, file, indent=2
        )
        file.write("\n")


def load(directory):
    """The model of a directory that save() wrote, in float32."""
    from safetensors.torch import load_file

    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    model = GPT2(
        config["vocab_size"],
        config["n_positions"],
        config["n_embd"],
        config["n_layer"],
        config["n_head"],
    )
    tensors = load_file(os.path.join(directory, "model.safetensors"))
    model.load_state_dict(
        {name.removeprefix("transformer."): tensor.float() for name, tensor in tensors.items()}
    )
    return model
