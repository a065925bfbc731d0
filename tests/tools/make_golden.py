#!/usr/bin/env python3
"""Makes, from the golden files of the articles, the models and numbers that test_golden.c checks.

    make_golden.py GOLDEN_FOLDER        run in the repository root

Reads GOLDEN_FOLDER/00[012]_*.json: tensors as float32 ("data") and, where an operation
was computed in float64 too, "f64". Writes models/life-is-short, models/your-journey,
tests/fixtures/golden-*, and tests/golden/NAME.npz: ids and one float64 array a site, named as in
archives, with the heads assembled ([T, H, E] and [H, T, S]). What the command line reads in tests/cli
lies in folders tests/golden/NAME/ instead, one .npy an array.
"""

import json
import pathlib
import re
import sys

import numpy as np

from model_directory import expected_arrays, write_archive, write_model

SHORT = ["Life", "dessert", "eat", "first", "is", "short"]
SHORT_IDS = [0, 4, 5, 2, 1, 3]
JOURNEY = ["Your", "journey", "starts", "with", "one", "step"]
ATTN = "blocks.0.attn.hook_"
GOLDEN = pathlib.Path("tests/golden")
FOLDERS = ("000_cross_attention", "002_mask4", "004_simple_attention")

# What each archive or folder of tests/golden holds: arrays by the name of the archive, then by theirs.
collected = {}


class Golden:
    """One golden file; tensors are float64 arrays that hold the float32 or float64 values."""

    def __init__(self, folder, name):
        with open(folder / f"{name}.json", encoding="utf-8") as file:
            self.tensors = json.load(file)["tensors"]

    def inputs(self, name):
        t = self.tensors[name]
        return np.array([float(x) for x in np.ravel(t["data"])], np.float32).reshape(t["shape"])

    def __getitem__(self, name):
        t = self.tensors[name]
        if "f64" not in t:
            return self.inputs(name).astype(np.float64)
        return np.array([float(x) for x in np.ravel(t["f64"])], np.float64).reshape(t["shape"])


def add(name, arrays):
    collected.setdefault(name, {}).update(arrays)


def write_collected():
    for name, arrays in collected.items():
        path = GOLDEN / name
        if name not in FOLDERS:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_archive(path.with_name(f"{path.name}.npz"), arrays)
            continue
        path.mkdir(parents=True, exist_ok=True)
        for array, x in arrays.items():
            np.save(path / f"{array}.npy", x)


def add_expected(name, ids, sites):
    add(name, expected_arrays(ids, sites))


def heads(golden, names, axis):
    return np.stack([golden[name] for name in names], axis)


def config(**keys):
    return {"model_type": "attn", **keys, "tokenizer": {"type": "word", "drop": ",", "unk": None}}


def self_attention(golden, query, key, value):
    """Expected sites of one head whose scores are unscaled in the golden file."""
    return {
        "hook_embed": golden["x"],
        ATTN + "q": golden[query][:, None],
        ATTN + "k": golden[key][:, None],
        ATTN + "v": golden[value][:, None],
        ATTN + "qk": golden["scores"][None],
    }


def make_000(folder):
    embedding = Golden(folder, "000_embedding").inputs("table_first6_rows_of_50000")
    g = Golden(folder, "000_self_attention")
    causal = Golden(folder, "000_causal")
    assert np.array_equal(embedding[SHORT_IDS], g.inputs("x"))
    sizes = dict(d_model=3, n_head=1, d_head=2, d_value=4)
    weights = {
        "embed.W_E": embedding,
        "blocks.0.attn.W_Q": g.inputs("W_query")[None],
        "blocks.0.attn.W_K": g.inputs("W_key")[None],
        "blocks.0.attn.W_V": g.inputs("W_value")[None],
    }
    write_model("models/life-is-short", config(**sizes, causal=True, n_vocab=6), SHORT, weights)
    write_model("tests/fixtures/golden-000-self-attention", config(**sizes, causal=False, n_vocab=6), SHORT,
                weights)

    sites = self_attention(g, "queries", "keys", "values")
    add_expected("000_embedding", SHORT_IDS,
                   {"hook_embed": Golden(folder, "000_embedding")["embedded"]})
    add_expected("000_self_attention", SHORT_IDS, sites | {
        ATTN + "attn_scores": g["scores_scaled"][None],
        ATTN + "pattern": g["weights"][None],
        ATTN + "z": g["context"][:, None],
    })
    add_expected("000_causal", SHORT_IDS, sites | {
        ATTN + "attn_scores": causal["scores_masked"][None] / np.sqrt(2),
        ATTN + "pattern": causal["weights_masked_softmax"][None],
        ATTN + "z": causal["context_causal"][:, None],
    })
    add_expected("000_self_attention_noavx", SHORT_IDS, {
        "hook_embed": g["x_noavx"], ATTN + "z": g["context_noavx"][:, None]})
    make_query2(folder)
    make_cross(folder, embedding)
    for n_head in (1, 4):
        make_multi_head(folder, n_head, embedding)


def make_cross(folder, embedding):
    """Queries from the sentence, keys and values from eight rows of features."""
    g = Golden(folder, "000_cross_attention")
    write_model("tests/fixtures/golden-000-cross-attention",
                config(d_model=3, n_head=1, d_head=2, d_value=4, n_vocab=6, d_source=3,
                       blocks=["cross"]),
                SHORT, {
                    "embed.W_E": embedding,
                    "blocks.0.attn.W_Q": g.inputs("W_query")[None],
                    "blocks.0.attn.W_K": g.inputs("W_key")[None],
                    "blocks.0.attn.W_V": g.inputs("W_value")[None],
                })
    add_expected("000_cross_attention", SHORT_IDS, {
        ATTN + "q": g["queries"][:, None],
        ATTN + "k": g["keys"][:, None],
        ATTN + "v": g["values"][:, None],
        ATTN + "qk": g["scores"][None],
        ATTN + "pattern": g["weights"][None],
        ATTN + "z": g["context"][:, None],
    })
    add("000_cross_attention", {"source": g.inputs("x_2")})


def make_rng(folder):
    """The generator's numbers: float32, without AVX2; and weights that are drawn in known orders."""
    g = Golden(folder, "rng_123")
    for name, tensor in g.tensors.items():
        if name == "randn_100" or re.fullmatch(r"randn_\d+x\d+", name):
            continue  # by AVX2
        integer = tensor["dtype"] == "int64"
        add("rng_123", {name.replace("_noavx", ""):
                        np.array(tensor["data"], np.int64) if integer else g[name]})
    for name, pattern in (("001_multi_head_attention", r"x|W_.*"), ("003_multi_head", r"x|W_.*")):
        g = Golden(folder, name)
        add(f"init/{name}", {tensor: g.inputs(tensor).astype(np.float64)
                             for tensor in g.tensors if re.fullmatch(pattern, tensor)})
    add("000_embedding", {"embedded_noavx": Golden(folder, "000_embedding")["embedded_noavx"]})


def make_arrays(folder, name, tensors):
    """Tensors as they are, for tests that feed q, k and v themselves."""
    g = Golden(folder, name)
    add(name, {tensor: g[tensor] for tensor in tensors})


def make_attend(folder):
    """Attention on arrays: inputs as float32, one folder per case, and what each site must hold."""
    sites = {}

    def write(case, golden, inputs, expected):
        path = pathlib.Path("tests/golden/attend") / case
        path.mkdir(parents=True, exist_ok=True)
        for name, tensor in inputs.items():
            np.save(path / f"{name}.npy", golden.inputs(tensor))
        for site, tensor in expected.items():
            sites[f"{case}.{site}"] = golden[tensor]

    g = Golden(folder, "000_causal")
    inputs = {"q": "queries", "k": "keys", "v": "values"}
    write("000_causal_none", g, inputs, {"qk": "scores", "pattern": "weights_unmasked", "z": "context_unmasked"})
    write("000_causal_inf", g, inputs, {"pattern": "weights_masked_softmax", "z": "context_causal"})
    write("000_causal_renormalize", g, inputs, {"pattern": "weights_renormalised", "z": "context_causal"})
    write("000_causal_zero", g, inputs, {"pattern": "weights_zeroed", "z": "context_zeroed_only"})
    g = Golden(folder, "000_cross_attention")
    write("000_cross_attention", g, inputs, {"qk": "scores", "pattern": "weights", "z": "context"})
    g = Golden(folder, "002_mask4")
    write("002_mask4", g, {"scores": "masked_scores_example"}, {"pattern": "softmax_of_example"})
    g = Golden(folder, "003_simplified")
    write("003_simplified", g, {"x": "x"}, {"pattern": "alpha", "z": "a"})
    g = Golden(folder, "004_cross_attention")
    write("004_cross_attention", g, {"q": "Q", "k": "K", "v": "V"},
          {"attn_scores": "scores_scaled", "pattern": "weights", "z": "output"})
    g = Golden(folder, "004_score_table")
    for name in ("scores", "softmax"):
        g.tensors[name]["shape"] = [1, 5]
    write("004_score_table", g, {"scores": "scores"}, {"pattern": "softmax"})
    g = Golden(folder, "004_simple_attention")
    inputs = {"q": "q", "k": "k", "v": "v"}
    write("004_simple_attention", g, inputs, {"attn_scores": "scores_scaled", "pattern": "weights", "z": "output"})
    for mask in ("causal", "padding"):
        write(f"004_simple_attention_{mask}", g, inputs | {"mask": f"{mask}.mask"},
              {"attn_scores": f"{mask}.scores_scaled", "pattern": f"{mask}.weights", "z": f"{mask}.output"})
    np.savez("tests/golden/attend/expected.npz", **sites)


def make_query2(folder):
    """The second word alone: rows of queries have length 1, keys and values are whole."""
    g = Golden(folder, "000_query2")
    add_expected("000_query2", SHORT_IDS, {
        ATTN + "q": g["query_2"][None, None],
        ATTN + "k": g["keys"][:, None],
        ATTN + "v": g["values"][:, None],
        ATTN + "qk": g["omega_2"][None, None],
        ATTN + "pattern": g["attention_weights_2"][None, None],
        ATTN + "z": g["context_vector_2"][None, None],
    })


def make_multi_head(folder, n_head, embedding):
    g = Golden(folder, f"000_multi_head_{n_head}")

    def names(tensor):
        return [f"head{h}.{tensor}" for h in range(n_head)]

    def weight(tensor):
        return np.stack([g.inputs(name) for name in names(tensor)])

    write_model(f"tests/fixtures/golden-000-multi-head-{n_head}",
                config(d_model=3, n_head=n_head, d_head=2, d_value=1, n_vocab=6, causal=False),
                SHORT, {
                    "embed.W_E": embedding,
                    "blocks.0.attn.W_Q": weight("W_query"),
                    "blocks.0.attn.W_K": weight("W_key"),
                    "blocks.0.attn.W_V": weight("W_value"),
                })
    z = heads(g, names("context"), 1)
    assert np.array_equal(z[:, :, 0], g["context"])
    add_expected(f"000_multi_head_{n_head}", SHORT_IDS, {
        ATTN + "q": heads(g, names("queries"), 1),
        ATTN + "k": heads(g, names("keys"), 1),
        ATTN + "v": heads(g, names("values"), 1),
        ATTN + "qk": heads(g, names("scores"), 0),
        ATTN + "attn_scores": heads(g, names("scores_scaled"), 0),
        ATTN + "pattern": heads(g, names("weights"), 0),
        ATTN + "z": z,
    })


def make_journey(folder, name, directory, words):
    """The simplified attention of article 002: dot products of the inputs, not scaled, no mask."""
    g = Golden(folder, name)
    sizes = dict(d_model=3, n_head=1, n_vocab=len(words))
    write_model(directory,
                config(**sizes, projections="none", scale=False, causal=False), words,
                {"embed.W_E": g.inputs("x")})
    add_expected(name, range(len(words)), {
        "hook_embed": g["x"],
        ATTN + "qk": g["scores"][None],
        ATTN + "attn_scores": g["scores"][None],
        ATTN + "pattern": g["weights"][None],
        ATTN + "z": g["context"][:, None],
    })


def linear_model(golden, directory, d_head, causal, bias):
    """nn.Linear keeps [out, in]; our tensors are [in, out]."""
    weights = {"embed.W_E": golden.inputs("x")}
    for ours, theirs in (("Q", "W_query"), ("K", "W_key"), ("V", "W_value")):
        weights[f"blocks.0.attn.W_{ours}"] = golden.inputs(f"{theirs}.weight").T[None]
        if bias:
            weights[f"blocks.0.attn.b_{ours}"] = golden.inputs(f"{theirs}.bias")[None]
    keys = dict(d_model=3, n_head=1, d_head=d_head, n_vocab=6, causal=causal)
    write_model(directory, config(**keys, **({"qkv_bias": True} if bias else {})), JOURNEY, weights)
    return weights


def make_linear(folder, name, directory, bias):
    g = Golden(folder, name)
    linear_model(g, directory, d_head=2, causal=False, bias=bias)
    add_expected(name, range(6), self_attention(g, "queries", "keys", "values")
                   | {ATTN + "pattern": g["weights"][None], ATTN + "z": g["context"][:, None]})


def make_causal_1024(folder):
    """The golden context is float32 only, so the float64 one is computed here from the weights."""
    g = Golden(folder, "002_causal_attention_1024")
    weights = linear_model(g, "tests/fixtures/golden-002-causal-attention-1024", d_head=1024,
                           causal=True, bias=False)
    v = g["x"] @ weights["blocks.0.attn.W_V"][0].astype(np.float64)
    z = g["weights"] @ v
    assert np.abs(z - g["context"]).max() < 1e-6
    add_expected("002_causal_attention_1024", range(6), {
        "hook_embed": g["x"],
        ATTN + "attn_scores": g["scores_masked"][None] / np.sqrt(1024),
        ATTN + "pattern": g["weights"][None],
        ATTN + "z": z[:, None],
    })


def linear_heads(golden, name, letter, n_head):
    """nn.Linear [out, in] as one matrix a head, [H, in, out / H], and its bias [H, out / H]."""
    w = golden.inputs(f"{name}.weight")
    heads_of = {f"blocks.0.attn.W_{letter}":
                w.reshape(n_head, w.shape[0] // n_head, w.shape[1]).transpose(0, 2, 1)}
    if f"{name}.bias" in golden.tensors:
        heads_of[f"blocks.0.attn.b_{letter}"] = golden.inputs(f"{name}.bias").reshape(n_head, -1)
    return heads_of


def names_of(n):
    return [f"x{i + 1}" for i in range(n)]


def make_split_heads(folder):
    """001's layer: one projection split into four heads, biases, W_O, no mask; a batch of two."""
    g = Golden(folder, "001_multi_head_attention")
    x = g.inputs("x").reshape(14, 16)
    weights = {"embed.W_E": x}
    for letter in "QKV":
        weights |= linear_heads(g, f"W_{letter}", letter, 4)
    weights["blocks.0.attn.W_O"] = g.inputs("W_O.weight").T.reshape(4, 4, 16)
    weights["blocks.0.attn.b_O"] = g.inputs("W_O.bias")
    write_model("tests/fixtures/golden-001-multi-head",
                config(d_model=16, n_head=4, n_vocab=14, causal=False, qkv_bias=True, out_proj=True,
                       out_bias=True), names_of(14), weights)
    for b in range(2):
        add_expected(f"001_multi_head_attention_{b}", range(7 * b, 7 * b + 7), {
            ATTN + "q": g["Q"][b].transpose(1, 0, 2),
            ATTN + "k": g["K"][b].transpose(1, 0, 2),
            ATTN + "v": g["V"][b].transpose(1, 0, 2),
            ATTN + "attn_scores": g["scores_scaled"][b],
            ATTN + "pattern": g["weights"][b],
            ATTN + "z": g["heads_concat"][b].reshape(7, 4, 4),
            "blocks.0.hook_attn_out": g["output"][b],
        })


def make_multi_head_002(folder):
    """From 16 numbers to 4 heads of 8, and on to 32: d_out."""
    g = Golden(folder, "002_multi_head_attention")
    weights = {"embed.W_E": g.inputs("x").reshape(10, 16)}
    for letter, name in (("Q", "W_query"), ("K", "W_key"), ("V", "W_value")):
        weights |= linear_heads(g, name, letter, 4)
    weights["blocks.0.attn.W_O"] = g.inputs("out_proj.weight").T.reshape(4, 8, 32)
    weights["blocks.0.attn.b_O"] = g.inputs("out_proj.bias")
    write_model("tests/fixtures/golden-002-multi-head",
                config(d_model=16, n_head=4, d_head=8, d_out=32, n_vocab=10, n_ctx=5, out_proj=True,
                       out_bias=True), names_of(10), weights)
    for b in range(2):
        name = f"002_multi_head_attention_{b}"
        scores = g["scores_masked"][b] / np.sqrt(8)
        exp = np.exp(scores - scores.max(-1, keepdims=True))
        assert np.abs(exp / exp.sum(-1, keepdims=True) - g["weights"][b]).max() < 1e-12
        add_expected(name, range(5 * b, 5 * b + 5), {
            ATTN + "q": g["queries"][b].transpose(1, 0, 2),
            ATTN + "k": g["keys"][b].transpose(1, 0, 2),
            ATTN + "v": g["values"][b].transpose(1, 0, 2),
            ATTN + "attn_scores": scores,
            ATTN + "pattern": g["weights"][b],
            ATTN + "z": g["heads_concat"][b].reshape(5, 4, 8),
            "blocks.0.hook_attn_out": g["output"][b],
        })
        add_expected(f"{name}_dropout", range(5 * b, 5 * b + 5), {
            ATTN + "pattern": g["weights"][b],
            ATTN + "pattern_dropped": g["train.weights_after_dropout"][b],
            "blocks.0.hook_attn_out": g["train.output"][b],
        })


def make_003(folder):
    """Equations 8.10 to 8.20: values narrower than keys, W_O, one head and two."""
    multi, single = Golden(folder, "003_multi_head"), Golden(folder, "003_single_head")
    sizes = dict(d_model=10, d_head=4, d_value=3, n_vocab=7, out_proj=True)

    def write(g, directory, name, n_head, suffixes, site):
        weights = {"embed.W_E": g.inputs("x")}
        for letter in "QKV":
            weights[f"blocks.0.attn.W_{letter}"] = np.stack(
                [g.inputs(f"W_{letter}{suffix}") for suffix in suffixes])
        weights["blocks.0.attn.W_O"] = g.inputs("W_O").reshape(n_head, 3, 10)
        write_model(directory, config(n_head=n_head, **sizes), names_of(7), weights)
        add_expected(name, range(7), {
            ATTN + "q": heads(g, site("q"), 1),
            ATTN + "k": heads(g, site("k"), 1),
            ATTN + "v": heads(g, site("v"), 1),
            ATTN + "attn_scores": heads(g, site("score"), 0),
            ATTN + "pattern": heads(g, site("alpha"), 0),
            ATTN + "z": heads(g, site("head"), 1),
            "blocks.0.hook_attn_out": g["a"],
        })

    write(single, "tests/fixtures/golden-003-one-head", "003_single_head", 1, [""],
          lambda name: [name])
    write(multi, "tests/fixtures/golden-003-two-heads", "003_multi_head", 2, ["0", "1"],
          lambda name: [f"head0.{name}", f"head1.{name}"])


def make_cross_004(folder):
    """A decoder of width 8 looks at an encoder of width 5; layers with biases."""
    g = Golden(folder, "004_cross_attention")
    weights = {"embed.W_E": g.inputs("q_from_decoder")}
    for letter in "QKV":
        weights |= linear_heads(g, f"linear_{letter.lower()}", letter, 1)
    write_model("tests/fixtures/golden-004-cross-attention",
                config(d_model=8, n_head=1, d_head=6, n_vocab=3, d_source=5, blocks=["cross"],
                       qkv_bias=True), names_of(3), weights)
    add_expected("004_cross_attention", range(3), {
        ATTN + "q": g["Q"][:, None],
        ATTN + "k": g["K"][:, None],
        ATTN + "v": g["V"][:, None],
        ATTN + "attn_scores": g["scores_scaled"][None],
        ATTN + "pattern": g["weights"][None],
        ATTN + "z": g["output"][:, None],
    })
    add("004_cross_attention", {"source": g.inputs("kv_from_encoder")})


def main():
    folder = pathlib.Path(sys.argv[1])
    make_000(folder)
    make_journey(folder, "002_journey", "models/your-journey", JOURNEY)
    make_journey(folder, "002_journey_7", "tests/fixtures/golden-002-journey-7",
                 JOURNEY + ["(journey)"])
    make_linear(folder, "002_self_attention_linear", "tests/fixtures/golden-002-linear", False)
    make_linear(folder, "002_self_attention_linear_bias", "tests/fixtures/golden-002-linear-bias",
                True)
    make_causal_1024(folder)
    make_split_heads(folder)
    make_multi_head_002(folder)
    make_003(folder)
    make_cross_004(folder)
    make_rng(folder)
    make_arrays(folder, "001_linear_attention",
                ["q", "k", "v", "phi_q", "phi_k", "phi_k_T_v", "output_as_in_seed", "normaliser",
                 "output_normalised", "implied_weights", "causal_output_normalised",
                 "softmax_reference"])
    make_arrays(folder, "001_blockwise", ["q", "k", "v", "running_max", "running_sum", "output"])
    make_attend(folder)
    make_arrays(folder, "000_causal",
                ["queries", "keys", "values", "scores", "weights_unmasked", "weights_zeroed",
                 "weights_renormalised", "weights_masked_softmax", "context_unmasked",
                 "context_zeroed_only", "context_causal"])
    make_arrays(folder, "000_epsilon",
                [f"eps={eps}.{tensor}" for eps in ("0", "1e-08", "1e-06", "0.001", "0.1", "1")
                 for tensor in ("weights", "context")])
    make_arrays(folder, "001_sparse_attention",
                ["q", "k", "v"] +
                [f"{kind}.{tensor}" for kind in ("local_w2", "causal_local_w3", "strided_causal_4",
                                                 "block_diag_4", "dilated_pow2_causal", "full")
                 for tensor in ("weights", "output")])
    make_arrays(folder, "002_journey", ["x", "cosine"])
    make_arrays(folder, "002_mask4", ["masked_scores_example", "softmax_of_example"])
    make_arrays(folder, "003_simplified", ["x", "scores", "alpha", "a"])
    make_arrays(folder, "004_score_table", ["scores", "softmax"])
    make_arrays(folder, "004_simple_attention",
                ["q", "k", "v", "scores_scaled", "weights", "output", "causal.mask",
                 "causal.weights", "causal.output", "padding.mask", "padding.weights",
                 "padding.output"])
    # The sentence and its ids are 000_tokenise; the other files check nothing but numbers.
    tokens = Golden(folder, "000_tokenise").inputs("ids")
    assert np.array_equal(tokens, SHORT_IDS)
    write_collected()


if __name__ == "__main__":
    main()
