#!/usr/bin/env python3
"""Makes tests/fixtures/attn-*: directories of our own type, each with other parts than the next,
random weights and expected values in float64 (reference.py, itself checked against transformers by
make_gpt2_fixtures.py).

    make_attn_fixtures.py               run in the repository root
"""

import pathlib
import shutil

import numpy as np

from model_directory import expected_arrays, write_archive, write_model
from reference import Decoder

FIXTURES = pathlib.Path("tests/fixtures")
WORDS = ("a cat sat on the mat and looked at one dog that slept under an old chair by some door "
         "until rain came").split()

DEFAULTS = dict(n_layer=1, norm="none", positions="none", source_positions="none", residual=False, causal=True, scale=True,
                eps=1e-5, d_mlp=0, act_fn="gelu_new", projections="qkv", out_proj=False,
                output="none")

# Keys that are no config keys: length of the text, mlp_bias and unembed_bias (those tensors exist).
MODELS = {
    # The attention-only models of the interpretability literature.
    "attn-only-2l": dict(d_model=15, n_head=3, d_head=5, n_layer=2, n_ctx=19, n_vocab=23,
                         positions="learned", residual=True, out_proj=True, bias=True,
                         output="own", unembed_bias=True, length=13),
    "attn-only-norm": dict(d_model=14, n_head=2, d_head=5, n_layer=2, n_ctx=11, n_vocab=21,
                           norm="layernorm", eps=2e-3, positions="learned", residual=True,
                           out_proj=True, output="own", length=11),
    "attn-values": dict(d_model=7, n_head=3, d_head=3, d_value=4, n_vocab=13, causal=False,
                        qkv_bias=True, length=9),
    "attn-grouped": dict(d_model=11, n_head=6, n_kv_head=2, d_head=3, d_value=5, n_layer=2,
                         n_ctx=17, n_vocab=19, positions="learned", residual=True, out_proj=True,
                         qkv_bias=True, output="own", length=17),
    "attn-multi-query": dict(d_model=13, n_head=5, n_kv_head=1, d_head=4, n_layer=2, n_vocab=19,
                             residual=True, out_proj=True, out_bias=True, output="tied",
                             length=7),
    "attn-mlp": dict(d_model=10, n_head=2, n_layer=2, n_ctx=9, n_vocab=17, d_mlp=23,
                     act_fn="gelu", norm="layernorm", eps=1e-4, positions="learned",
                     residual=True, out_proj=True, bias=True, mlp_bias=True, output="own",
                     unembed_bias=True, length=9),
    "attn-stack": dict(d_model=6, n_head=2, d_head=5, d_value=3, n_layer=3, n_vocab=11,
                       scale=False, output="tied", length=7),
    "attn-one-head": dict(d_model=9, n_head=1, d_head=4, n_layer=2, n_vocab=13, d_mlp=5,
                          act_fn="relu", norm="layernorm", residual=True, out_proj=True,
                          output="tied", length=8),
    "attn-mlp-stack": dict(d_model=8, n_head=2, d_head=4, n_layer=2, n_vocab=13, d_mlp=7,
                           act_fn="silu", causal=False, mlp_bias=True, length=7),
    "attn-plain": dict(d_model=5, n_head=1, n_layer=2, n_vocab=13, projections="none",
                       residual=True, length=11),
    "attn-bidirectional": dict(d_model=12, n_head=3, d_head=5, n_layer=2, n_ctx=71, n_vocab=23,
                               positions="learned", residual=True, out_proj=True, causal=False,
                               length=67, row0=50),
    # Alternating self and cross-attention; the source is longer than the text and narrower.
    "attn-cross": dict(d_model=8, n_head=4, n_kv_head=2, d_head=3, d_value=5, n_layer=3,
                       n_vocab=13, d_source=5, blocks=["cross", "self", "cross"], residual=True,
                       out_proj=True, qkv_bias=True, output="own", length=7, source_length=11),
    # The same parts in another order; the rows of the source, which are wider than the text's, get
    # positions.
    "attn-source-positions": dict(d_model=6, n_head=3, d_head=5, n_layer=2, n_ctx=9, n_vocab=17,
                                  d_source=13, n_source=12, source_positions="learned",
                                  blocks=["self", "cross"], norm="layernorm", positions="learned",
                                  residual=True, out_proj=True, bias=True, d_mlp=11, mlp_bias=True,
                                  output="tied", length=9, source_length=10),
    # The parts of data/microgpt, and the biases of attention.
    "attn-rms": dict(d_model=12, n_head=3, n_layer=2, n_ctx=10, n_vocab=15, d_mlp=21, act_fn="relu2", norm="rms",
                     embed_norm=True, final_norm=False, positions="learned", residual=True, out_proj=True, out_bias=True,
                     output="own", length=10),
    "attn-rms-final": dict(d_model=9, n_head=3, n_layer=1, n_vocab=12, norm="rms", eps=1e-2, residual=True, out_proj=True,
                           output="tied", length=8),
}
KEYS_OF_OURS = ("length", "mlp_bias", "unembed_bias", "row0", "source_length")


def complete(keys):
    """Every key with its default, for the reference."""
    c = DEFAULTS | keys
    c.setdefault("n_kv_head", c["n_head"])
    c.setdefault("d_head", c["d_model"] // c["n_head"])
    c.setdefault("d_value", c["d_head"])
    c["factors"] = [1.0] * c["n_layer"]
    for key in ("qkv_bias", "out_bias"):
        c.setdefault(key, c.get("bias", False))
    return c


def make_weights(c, random):
    """Products keep the size of what they multiply; scores spread by about 1.5."""
    weights = {}

    def draw(name, *shape, spread=None):
        spread = 1 / shape[-2] ** 0.5 if spread is None else spread
        weights[name] = random.normal(0, spread, shape).astype(np.float32)

    def draw_norm(name):
        weights[name + ".w"] = random.normal(1, 0.25, c["d_model"]).astype(np.float32)
        draw(name + ".b", c["d_model"], spread=0.25)

    d, h, g, e, ev = (c[key] for key in ("d_model", "n_head", "n_kv_head", "d_head", "d_value"))
    draw("embed.W_E", c["n_vocab"], d, spread=1)
    if c["positions"] == "learned":
        draw("pos_embed.W_pos", c["n_ctx"], d, spread=0.5)
    if c["source_positions"] == "learned":
        draw("source_pos_embed.W_pos", c["n_source"], c["d_source"], spread=0.5)
    for layer in range(c["n_layer"]):
        b = f"blocks.{layer}."
        if c["norm"] == "layernorm":
            draw_norm(b + "ln1")
        if c["projections"] == "qkv":
            is_cross = c.get("blocks", ["self"] * c["n_layer"])[layer] == "cross"
            d_key = c["d_source"] if is_cross else d
            draw(b + "attn.W_Q", h, d, e, spread=(1.5 / d) ** 0.5)
            draw(b + "attn.W_K", g, d_key, e)
            draw(b + "attn.W_V", g, d_key, ev)
        if c["qkv_bias"]:
            draw(b + "attn.b_Q", h, e, spread=0.3)
            draw(b + "attn.b_K", g, e, spread=0.3)
            draw(b + "attn.b_V", g, ev, spread=0.3)
        if c["out_proj"]:
            draw(b + "attn.W_O", h, ev, d, spread=(h * ev) ** -0.5)
        if c["out_bias"]:
            draw(b + "attn.b_O", d, spread=0.3)
        if c["d_mlp"]:
            draw_mlp(c, b, draw, draw_norm)
    if c["norm"] == "layernorm":
        draw_norm("ln_final")
    if c["output"] == "own":
        draw("unembed.W_U", d, c["n_vocab"])
    if c.get("unembed_bias"):
        draw("unembed.b_U", c["n_vocab"], spread=0.3)
    return weights


def draw_mlp(c, b, draw, draw_norm):
    d, f = c["d_model"], c["d_mlp"]
    if c["norm"] == "layernorm":
        draw_norm(b + "ln2")
    draw(b + "mlp.W_in", d, f)
    draw(b + "mlp.W_out", f, d)
    if c.get("mlp_bias"):
        draw(b + "mlp.b_in", f, spread=0.3)
        draw(b + "mlp.b_out", d, spread=0.3)


def keep_rows(sites, row0):
    """Rows from ROW0 on of everything but keys and values."""
    kept = {}
    for name, x in sites.items():
        is_matrix = name.endswith(("hook_qk", "attn_scores", "pattern"))
        is_key = name.endswith(("hook_k", "hook_v"))
        kept[name] = x if is_key else x[:, row0:] if is_matrix else x[row0:]
    return kept


def make_fixture(name, keys, seed):
    directory = FIXTURES / name
    shutil.rmtree(directory, ignore_errors=True)
    random = np.random.default_rng(seed)
    c = complete(keys)
    weights = make_weights(c, random)
    config = {"model_type": "attn"} | {k: v for k, v in keys.items() if k not in KEYS_OF_OURS}
    config["tokenizer"] = {"type": "word", "drop": "", "unk": None}
    write_model(directory, config, WORDS[: c["n_vocab"]], weights)
    ids = random.integers(0, c["n_vocab"], c["length"])
    ids[1], ids[2], ids[-1] = c["n_vocab"] - 1, 0, ids[0]
    source = None
    if "source_length" in c:
        source = random.normal(0, 1, (c["source_length"], c["d_source"])).astype(np.float32)
    sites = Decoder(c, weights).run(ids, source)
    scores = max(np.abs(x[np.isfinite(x)]).max() for n, x in sites.items() if "attn_scores" in n)
    print(f"{name}: largest score {scores:.1f}")
    row0 = c.get("row0", 0)
    expected = expected_arrays(ids, keep_rows(sites, row0) if row0 else sites)
    if source is not None:
        expected["source"] = source
    write_archive(directory / "expected.npz", expected)


def main():
    for seed, (name, keys) in enumerate(MODELS.items(), 2000):
        make_fixture(name, keys, seed)


if __name__ == "__main__":
    main()
