#!/usr/bin/env python3
"""Makes tests/fixtures/gpt2-*: small random GPT-2 directories saved by transformers, with expected
values in float64, and the expected values of models/tiny-gpt2.

    make_gpt2_fixtures.py               run in the repository root

The expected values are those of reference.py; each model is also run by transformers itself in
float64, and the largest difference between the two is printed (it must be below 1e-12 of the
largest value). F16 and BF16 models are computed from their rounded weights.
"""

import json
import pathlib
import shutil
import struct

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from model_directory import expected_arrays, write_archive, write_json
from reference import Decoder

FIXTURES = pathlib.Path("tests/fixtures")

# Sizes are different and mostly odd. Keys that are not transformers': length of the text, dtype and
# shard size of the file, row0 (the first row kept), spread of the scores (standard deviation).
SMALL = dict(vocab_size=29, n_positions=17, n_embd=15, n_layer=2, n_head=3)
MODELS = {
    "gpt2-gelu-new": dict(SMALL, n_positions=7, length=7),
    "gpt2-gelu": dict(SMALL, activation_function="gelu", n_embd=21, n_inner=31, n_positions=19,
                      layer_norm_epsilon=3e-3, length=13),
    "gpt2-relu": dict(SMALL, activation_function="relu", n_embd=10, n_head=2, n_layer=1,
                      n_inner=17, scale_attn_weights=False, scores=4.0, length=17),
    "gpt2-silu": dict(SMALL, activation_function="silu", n_embd=9, n_layer=3, n_inner=13,
                      scale_attn_by_inverse_layer_idx=True, length=17),
    "gpt2-tanh": dict(SMALL, activation_function="tanh", n_embd=13, n_head=1, n_inner=5,
                      tie_word_embeddings=False, length=11),
    "gpt2-no-prefix": dict(SMALL, n_inner=11, reorder_and_upcast_attn=True, length=7),
    "gpt2-old": dict(SMALL, n_embd=14, n_head=2, n_inner=11, n_positions=9, length=9),
    "gpt2-f16": dict(SMALL, n_inner=23, dtype=torch.float16, length=7),
    "gpt2-bf16": dict(SMALL, n_inner=23, dtype=torch.bfloat16, length=7),
    "gpt2-sharded": dict(SMALL, n_inner=7, length=7, shard="6KB"),
    "gpt2-odd-offset": dict(SMALL, n_inner=19, n_layer=1, length=7),
    # Crosses panels of 64 keys and tiles of 48 rows.
    "gpt2-long": dict(SMALL, vocab_size=31, n_positions=71, n_embd=10, n_head=2, n_inner=19,
                      n_layer=1, length=70),
    # Crosses two panels; only the last rows are kept.
    "gpt2-wide": dict(vocab_size=61, n_positions=131, n_embd=96, n_head=4, n_inner=97, n_layer=1,
                      dtype=torch.float16, length=130, row0=111),
}
KEYS_OF_OURS = ("length", "dtype", "shard", "row0", "scores")


def make_ids(length, n_vocab, seed):
    """Random, but with the first and the last id, and one repeated."""
    ids = np.random.default_rng(seed).integers(0, n_vocab, length)
    ids[1], ids[2], ids[-1] = n_vocab - 1, 0, ids[0]
    return ids


def make_model(keys, seed):
    hf = {k: v for k, v in keys.items() if k not in KEYS_OF_OURS}
    spread = (keys.get("scores", 1.5) / keys["n_embd"]) ** 0.5
    config = GPT2Config(**hf, initializer_range=round(spread, 3), bos_token_id=0, eos_token_id=0)
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(config)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            is_norm_weight = ".ln_" in name and name.endswith("weight")
            parameter.data.normal_(1.0 if is_norm_weight else 0.0, 0.25)
    return model.to(keys.get("dtype", torch.float32))


def drop_prefix(directory):
    path = directory / "model.safetensors"
    tensors = {name.removeprefix("transformer."): t for name, t in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})
    return tensors


def make_old(directory):
    """As saved years ago: no prefix, the mask among the weights, `n_ctx` in the config."""
    tensors = drop_prefix(directory)
    config = json.loads((directory / "config.json").read_text())
    n = config.pop("n_positions")
    config["n_ctx"] = n
    write_json(directory / "config.json", config)
    mask = torch.tril(torch.ones(1, 1, n, n))
    for layer, dtype in enumerate((torch.float32, torch.uint8)):
        tensors[f"h.{layer}.attn.bias"] = mask.to(dtype)
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})


def move_to_odd_offset(directory):
    """Pads the header with spaces until the data begins at an odd offset."""
    path = directory / "model.safetensors"
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header, data = raw[8:8 + n].rstrip(b" "), raw[8 + n:]
    header += b" " * (1 if (8 + len(header)) % 2 == 0 else 2)
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def to_reference(model):
    """The reference decoder with the model's weights under their `attn` names."""
    c = model.config
    d, h = c.n_embd, c.n_head
    tensors = {n.removeprefix("transformer."): t.double().numpy()
               for n, t in model.state_dict().items()}
    weights = {"embed.W_E": tensors["wte.weight"], "pos_embed.W_pos": tensors["wpe.weight"],
               "ln_final.w": tensors["ln_f.weight"], "ln_final.b": tensors["ln_f.bias"],
               "unembed.W_U": tensors["lm_head.weight"].T}
    for i in range(c.n_layer):
        hf, b = f"h.{i}.", f"blocks.{i}."
        fused_w = tensors[hf + "attn.c_attn.weight"]
        fused_b = tensors[hf + "attn.c_attn.bias"]
        for j, letter in enumerate("QKV"):
            columns = slice(j * d, (j + 1) * d)
            weights[f"{b}attn.W_{letter}"] = fused_w[:, columns].reshape(d, h, -1).swapaxes(0, 1)
            weights[f"{b}attn.b_{letter}"] = fused_b[columns].reshape(h, -1)
        weights[b + "attn.W_O"] = tensors[hf + "attn.c_proj.weight"].reshape(h, -1, d)
        weights[b + "attn.b_O"] = tensors[hf + "attn.c_proj.bias"]
        for ours, theirs in (("ln1.w", "ln_1.weight"), ("ln1.b", "ln_1.bias"),
                             ("ln2.w", "ln_2.weight"), ("ln2.b", "ln_2.bias"),
                             ("mlp.W_in", "mlp.c_fc.weight"), ("mlp.b_in", "mlp.c_fc.bias"),
                             ("mlp.W_out", "mlp.c_proj.weight"), ("mlp.b_out", "mlp.c_proj.bias")):
            weights[b + ours] = tensors[hf + theirs]
    by_layer = c.scale_attn_by_inverse_layer_idx
    config = dict(n_layer=c.n_layer, n_head=h, n_kv_head=h, d_model=d, d_mlp=c.n_inner or 4 * d,
                  norm="layernorm", eps=c.layer_norm_epsilon, positions="learned",
                  act_fn=c.activation_function, projections="qkv", out_proj=True, residual=True,
                  causal=True, scale=c.scale_attn_weights, output="own",
                  factors=[1 / (i + 1) if by_layer else 1.0 for i in range(c.n_layer)])
    return Decoder(config, weights)


def run_transformers(directory, ids, n_positions):
    """Sites that transformers computes in float64 from what was saved. It must be told the number
    of positions, since it does not know the old key n_ctx."""
    model = GPT2LMHeadModel.from_pretrained(directory, dtype=torch.float64,
                                            n_positions=n_positions, attn_implementation="eager")
    model.config.reorder_and_upcast_attn = False  # it would go through float32
    for block in model.transformer.h:
        block.attn.reorder_and_upcast_attn = False
    model.eval()
    sites, hooks = {}, []

    def keep(name):
        return lambda module, inputs, output: sites.__setitem__(name, output[0].numpy())

    def keep_input(name):
        return lambda module, inputs: sites.__setitem__(name, inputs[0][0].numpy())

    for i, block in enumerate(model.transformer.h):
        hooks += [block.mlp.c_fc.register_forward_hook(keep(f"blocks.{i}.mlp.hook_pre")),
                  block.mlp.register_forward_hook(keep(f"blocks.{i}.hook_mlp_out")),
                  block.attn.c_proj.register_forward_hook(keep(f"blocks.{i}.hook_attn_out")),
                  block.attn.c_proj.register_forward_pre_hook(keep_input(f"z{i}"))]
    with torch.no_grad():
        out = model(torch.tensor(ids)[None], output_attentions=True, output_hidden_states=True)
    n_layer = model.config.n_layer
    for i in range(n_layer):
        sites[f"blocks.{i}.attn.hook_pattern"] = out.attentions[i][0].numpy()
        sites[f"blocks.{i}.hook_resid_pre"] = out.hidden_states[i][0].numpy()
        z = sites.pop(f"z{i}")
        sites[f"blocks.{i}.attn.hook_z"] = z.reshape(len(ids), model.config.n_head, -1)
    sites["ln_final.hook_normalized"] = out.hidden_states[n_layer][0].numpy()
    sites["logits"] = out.logits[0].numpy()
    return sites


def largest_difference(sites, others):
    worst = 0.0
    for name, x in others.items():
        worst = max(worst, np.abs(sites[name] - x).max() / np.abs(x).max())
    return worst


def keep_rows(sites, row0):
    """Rows from ROW0 on of everything but keys and values, of the sites that show the most."""
    kept = {}
    for name, x in sites.items():
        if name.endswith("pattern") or name.endswith("attn_scores"):
            kept[name] = x[:, row0:]
        elif name.endswith(("hook_z", "resid_mid", "resid_post", "logits")):
            kept[name] = x[row0:]
    return kept


def make_fixture(name, keys, seed):
    directory = FIXTURES / name
    shutil.rmtree(directory, ignore_errors=True)
    model = make_model(keys, seed)
    model.save_pretrained(directory, max_shard_size=keys.get("shard", "1GB"))
    (directory / "generation_config.json").unlink(missing_ok=True)
    if name == "gpt2-no-prefix":
        drop_prefix(directory)
    if name == "gpt2-old":
        make_old(directory)
    if name == "gpt2-odd-offset":
        move_to_odd_offset(directory)
    write_sites(name, directory, model, make_ids(keys["length"], keys["vocab_size"], seed),
                keys.get("row0", 0))


def write_sites(name, model_directory, model, ids, row0):
    decoder = to_reference(model)
    sites = decoder.run(ids)
    worst = largest_difference(sites, run_transformers(model_directory, ids,
                                                        model.config.n_positions))
    assert worst < 1e-12, (name, worst)
    scores = max(np.abs(x[np.isfinite(x)]).max() for n, x in sites.items() if "attn_scores" in n)
    print(f"{name}: largest difference to transformers {worst:.1e}, largest score {scores:.1f}")
    (FIXTURES / name).mkdir(parents=True, exist_ok=True)
    write_archive(FIXTURES / name / "expected.npz",
                  expected_arrays(ids, keep_rows(sites, row0) if row0 else sites))


def make_tiny_gpt2():
    path = pathlib.Path("models/tiny-gpt2")
    model = GPT2LMHeadModel.from_pretrained(path)
    ids = [43, 72, 69, 68, 284, 414, 266, 83, 11, 282, 293, 290, 441, 350]
    write_sites("tiny-gpt2", path, model, np.array(ids), 0)


def main():
    for seed, (name, keys) in enumerate(MODELS.items(), 1000):
        make_fixture(name, keys, seed)
    make_tiny_gpt2()


if __name__ == "__main__":
    main()
