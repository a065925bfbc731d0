#!/usr/bin/env python3
"""Makes tests/golden/experiments/transformer-lens.npz: what TransformerLens's own functions say of
models/tiny-gpt2, in float64, for the ids of tests/golden/experiments/tiny-gpt2.npz.

    make_transformer_lens.py          run in the repository root, with transformer_lens installed

Detectors are run on `repeated`, the same ids said twice, in which each detector has rows. They are
quotients of whole matrices in TransformerLens, and means over the rows that have a target here: so
the fixture also has the number of these rows, `rows_...`, of all.
"""

import pathlib
import sys

import numpy as np
import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig, head_detector, patching
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
from transformers import GPT2LMHeadModel

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from model_directory import write_archive  # noqa: E402

MODEL = "models/tiny-gpt2"
GOLDEN = pathlib.Path("tests/golden/experiments")


def open_model():
    theirs = GPT2LMHeadModel.from_pretrained(MODEL).double().eval()
    c = theirs.config
    cfg = HookedTransformerConfig(
        n_layers=c.n_layer,
        d_model=c.n_embd,
        n_ctx=c.n_positions,
        d_head=c.n_embd // c.n_head,
        n_heads=c.n_head,
        d_mlp=c.n_inner or 4 * c.n_embd,
        d_vocab=c.vocab_size,
        act_fn="gelu_new",
        normalization_type="LN",
        eps=c.layer_norm_epsilon,
        original_architecture="GPT2LMHeadModel",
        dtype=torch.float64,
    )
    model = HookedTransformer(cfg)
    model.load_and_process_state_dict(
        convert_gpt2_weights(theirs, cfg),
        fold_ln=True,
        center_writing_weights=False,
        center_unembed=False,
        fold_value_biases=False,
    )
    return model.double().eval()


def detect(model, ids):
    """Scores of each detector [layer, head], and how many rows have a target."""
    tokens = torch.tensor([ids])
    model.to_tokens = lambda _: tokens
    _, cache = model.run_with_cache(tokens, remove_batch_dim=True)
    found = {}
    for name in ("previous_token_head", "duplicate_token_head", "induction_head"):
        scores = head_detector.detect_head(model, "ids", name, cache=cache, error_measure="mul")
        mask = getattr(head_detector, f"get_{name}_detection_pattern")(tokens)
        key = name.split("_")[0]
        found[f"detect_{key}"] = scores
        found[f"rows_{key}"] = np.array(float(mask.any(-1).sum()))
    return found


def patch(model, clean, corrupted, answer):
    tokens = [torch.tensor([ids]) for ids in (clean, corrupted)]
    target, foil = answer

    def difference(logits):
        return logits[0, -1, target] - logits[0, -1, foil]

    with torch.no_grad():
        _, cache = model.run_with_cache(tokens[0])
        best, worst = (difference(model(ids)) for ids in tokens)

        def effect(logits):
            return (difference(logits) - worst) / (best - worst)

        functions = {
            "resid_pre": patching.get_act_patch_resid_pre,
            "resid_mid": patching.get_act_patch_resid_mid,
            "attn_out": patching.get_act_patch_attn_out,
            "mlp_out": patching.get_act_patch_mlp_out,
            "q": patching.get_act_patch_attn_head_q_all_pos,
            "k": patching.get_act_patch_attn_head_k_all_pos,
            "v": patching.get_act_patch_attn_head_v_all_pos,
            "z": patching.get_act_patch_attn_head_out_all_pos,
            "pattern": patching.get_act_patch_attn_head_pattern_all_pos,
        }
        return {
            f"patch_{site}": function(model, tokens[1], cache, effect)
            for site, function in functions.items()
        }


def attribute(model, ids, answer):
    with torch.no_grad():
        _, cache = model.run_with_cache(torch.tensor([ids]))
        target, foil = answer
        heads = cache.stack_head_results(layer=-1, pos_slice=-1)
        parts, names = cache.decompose_resid(layer=-1, mode="all", pos_slice=-1, return_labels=True)
        of_heads = cache.logit_attrs(heads, target, pos_slice=-1, incorrect_tokens=foil)
        of_parts = cache.logit_attrs(parts, target, pos_slice=-1, incorrect_tokens=foil)
    of_parts = dict(zip(names, of_parts[:, 0].tolist()))
    n = model.cfg.n_layers
    return {
        "attribute_heads": of_heads[:, 0].reshape(n, -1),
        "attribute_embed": np.array([of_parts["embed"]]),
        "attribute_pos": np.array([of_parts["pos_embed"]]),
        "attribute_mlp": np.array([of_parts[f"{layer}_mlp_out"] for layer in range(n)]),
    }


def main():
    golden = np.load(GOLDEN / "tiny-gpt2.npz")
    clean, corrupted, answer = (
        golden[name].astype(int).tolist() for name in ("ids", "corrupted", "answer")
    )
    model = open_model()
    repeated = (clean[: len(clean) // 2 + 1] * 2)[: model.cfg.n_ctx]
    found = {"repeated": np.array(repeated, np.int64)}
    found.update(detect(model, repeated))
    found.update(patch(model, clean, corrupted, answer))
    found.update(attribute(model, clean, answer))
    arrays = {
        name: np.asarray(value, np.int64 if name == "repeated" else np.float64)
        for name, value in found.items()
    }
    write_archive(GOLDEN / "transformer-lens.npz", arrays)
    for name, value in arrays.items():
        print(name, value.shape)


if __name__ == "__main__":
    main()
