"""Makes a small M2M100 with random weights and NLLB's tokenizer, for make_stack_fixtures.py.

    python tests/tools/make_m2m_model.py DIR      torch 2.13.0 and transformers 5.23.0

DIR/nllb gets the files of the model, info.json and expected/K.npz: what transformers
computes in float64, and how far its float32 is off. Source 1 has a padding token in its middle.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

MERGES = "▁ T,h e,▁T he,c a,ca t,▁ cat,▁ L,▁L e,c h,s a,sa t,▁ sat"


def make_tokenizer():
    merges = [tuple(merge.split(" ")) for merge in MERGES.split(",")]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefghijklmnopqrstuvwxyzTLSAé.,'", *map("".join, merges)]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    return NllbTokenizer(vocab=vocab, merges=merges, src_lang="eng_Latn", tgt_lang="fra_Latn")


def make_model(n_vocab):
    torch.manual_seed(7)
    config = M2M100Config(vocab_size=n_vocab, d_model=20, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=28, init_std=0.3,
                          decoder_ffn_dim=24, encoder_attention_heads=2, decoder_attention_heads=4, max_position_embeddings=40)
    model = M2M100ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name or "layer_norm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    model.set_attn_implementation("eager")
    return model


@torch.no_grad()
def run(model, source, ids):
    """Patterns, rows between layers, rows after the last norms, logits: hooks, since transformers replaces the last rows."""
    hidden, hooks = {"encoder": [], "decoder": []}, []
    for stack, rows in hidden.items():
        layers = getattr(model.model, stack).layers
        hooks.append(layers[0].register_forward_pre_hook(lambda _, args, rows=rows: rows.append(args[0])))
        hooks += [layer.register_forward_hook(lambda _, args, out, rows=rows: rows.append(out[0] if isinstance(out, tuple) else out))
                  for layer in layers]
    finals = {}
    for stack in hidden:
        norm = getattr(model.model, stack).layer_norm
        hooks.append(norm.register_forward_hook(lambda _, args, out, stack=stack: finals.update({f"{stack}_final": out[0]})))
    out = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([ids]), output_attentions=True)
    for hook in hooks:
        hook.remove()
    arrays = {"encoder_attn": torch.cat(out.encoder_attentions), "decoder_attn": torch.cat(out.decoder_attentions),
              "cross_attn": torch.cat(out.cross_attentions), "logits": out.logits[0], **finals}
    arrays |= {f"{stack}_hidden": torch.cat(rows) for stack, rows in hidden.items()}
    return {name: x.double().numpy() for name, x in arrays.items()}


def main():
    directory = pathlib.Path(sys.argv[1]) / "nllb"
    (directory / "expected").mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer))
    french = tokenizer.convert_tokens_to_ids("fra_Latn")
    sources = [tokenizer("The cat sat").input_ids, [98, 41, 1, 44, 50, 9, 2]]
    targets = [[2, *tokenizer(text_target="Le chat").input_ids[:-1]], [2, french, 9, 120, 33, 60]]
    model.generation_config.forced_bos_token_id = french
    tokenizer.save_pretrained(directory)
    model.save_pretrained(directory)
    info = {"family": "m2m_100", "prompts": [], "generate": []}
    for k, (source, ids) in enumerate(zip(sources, targets)):
        single, double = run(model.float(), source, ids), run(model.double(), source, ids)
        np.savez(directory / "expected" / f"{k}.npz", **double)
        info["prompts"].append({"ids": ids, "source_ids": source, "max_abs": {n: abs(x).max() for n, x in double.items()},
                                "float32_minus_float64": {n: abs(single[n] - x).max() for n, x in double.items()}})
        made = model.float().generate(torch.tensor([source]), num_beams=1, do_sample=False, max_new_tokens=8)[0].tolist()
        info["generate"].append({"source_ids": source, "ids": made})
    (directory / "info.json").write_text(json.dumps(info, indent=1))


if __name__ == "__main__":
    main()
