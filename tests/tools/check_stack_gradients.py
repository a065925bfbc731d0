#!/usr/bin/env python3
"""Compares gradients of models with an encoder and a decoder with automatic differentiation of transformers in float64.

    check_stack_gradients.py FOLDER [MODEL ...]       run in the repository root; needs torch and transformers

FOLDER has the models of tests/fixtures/stacks.tar, unpacked. `run --grad` of all sites is compared where transformers shows
the tensor: embeddings, patterns of the three kinds, the stream into each layer and the final rows. `attribute --continuation`
is compared with the gradients of each target: their lengths (saliency), and times the embedding (grad_x_input). A number is
good within 1e-4 of the largest of its tensor: T5 and the softmax are float32 inside. One line a model.
"""

import pathlib
import sys

import numpy as np
import peers
import torch
import transformers
from peers import TOOL, joined


def stacks(model):
    inner = model.model if hasattr(model, "model") else model
    return inner.encoder, inner.decoder


class Pass:
    """A forward pass, and the tensors whose gradients are compared, by their names in archives."""

    def __init__(self, model, source, ids):
        self.seen, self.queue, self.scales = {}, [], {}
        encoder, decoder = stacks(model)
        for name, stack in (("encoder", encoder), ("decoder", decoder)):
            if hasattr(stack, "embed_tokens"):
                self.queue.append("hook_embed" if name == "encoder" else "decoder.hook_embed")
                self.scales[self.queue[-1]] = getattr(stack, "embed_scale", 1)  # which Marian's stacks multiply by
        tables = {id(s.embed_tokens): s.embed_tokens for s in (encoder, decoder) if hasattr(s, "embed_tokens")}
        handles = [table.register_forward_hook(self.on_embed) for table in tables.values()]
        given = ({"input_features": torch.tensor(source[None]).double()} if isinstance(source, np.ndarray)
                 else {"input_ids": torch.tensor([source])})
        out = model(**given, decoder_input_ids=torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
        for handle in handles:
            handle.remove()
        for name, maps, hidden in (("encoder", out.encoder_attentions, out.encoder_hidden_states),
                                   ("decoder", out.decoder_attentions, out.decoder_hidden_states)):
            for i, pattern in enumerate(maps):
                self.keep(f"{name}.{i}.attn.hook_pattern", pattern)
                self.keep(f"{name}.{i}.hook_resid_pre", hidden[i])
        for i, pattern in enumerate(out.cross_attentions):
            self.keep(f"decoder.{i}.cross_attn.hook_pattern", pattern)
        self.keep("encoder_final", out.encoder_last_hidden_state)
        self.logits = out.logits[0]

    def on_embed(self, module, arguments, result):
        if not result.requires_grad:
            result.requires_grad_(True)
        self.keep(self.queue.pop(0), result)
        return result

    def keep(self, name, tensor):
        tensor.retain_grad()
        self.seen[name] = tensor

    def gradients(self, row, target):
        for tensor in self.seen.values():
            tensor.grad = None
        torch.log_softmax(self.logits[row], -1)[target].backward(retain_graph=True)
        return {name: x.grad[0].numpy() / self.scales.get(name, 1) for name, x in self.seen.items()}

    def embedding(self, name):
        return self.seen[name][0].detach().numpy() * self.scales[name]


def share(seen, expected):
    return peers.share_of(seen, expected, 1e-4 * np.abs(expected).max())


def check_run(folder, model, source, given, ids, target):
    expected = Pass(model, source, ids).gradients(len(ids) - 1, target)
    seen = peers.arrays(TOOL, "run", "-m", folder, *given, "--ids", joined(ids), "--grad", "--target", f"ids:{target}", "--metric", "log_prob",
                        "--sites", "*")
    layers = sum(name.startswith("encoder.") and name.endswith("resid_pre") for name in seen)
    final = "encoder_final_ln.hook_normalized_grad"
    final = final if final in seen else f"encoder.{layers - 1}.hook_normalized_resid_post_grad"
    worst = (0, "")
    for name, x in expected.items():
        named = final if name == "encoder_final" else name + "_grad"
        if name.startswith("decoder") and name.endswith(".attn.hook_pattern"):
            x = x * np.tril(np.ones(x.shape[1:]))  # masked cells are 0
        worst = max(worst, (share(seen[named], x), named))
    return len(expected), worst


def check_attribute(folder, model, source, given, ids):
    made = Pass(model, source, ids)
    worst = (0, "")
    for method in ("saliency", "grad_x_input"):
        rows = peers.rows(TOOL, "attribute", "-m", folder, *given, "--ids", joined(ids), "--metric", "log_prob", "--method", method)
        assert len(rows) == len(ids) - 1
        for step, row in enumerate(rows):
            d = made.gradients(step, ids[step + 1])
            for name, prefix in (("hook_embed", "source:"), ("decoder.hook_embed", "")):
                x, e = d[name], made.embedding(name)
                x = np.sqrt((x * x).sum(-1)) if method == "saliency" else (x * e).sum(-1)
                seen = [float(v or 0) for k, v in row.items()
                        if k.startswith(prefix) and k[len(prefix):].split("|")[0].isdigit()]
                assert len(seen) == len(x) - (name == "decoder.hook_embed")
                if name == "decoder.hook_embed":
                    x = np.where(np.arange(len(x)) <= step, x, 0)
                worst = max(worst, (share(np.array(seen), x[:len(seen)]), f"{method} {name}"))
    return worst


def main():
    root = pathlib.Path(sys.argv[1])
    names = sys.argv[2:] or ["t5", "flan_t5", "bart", "marian", "whole_opus", "nllb", "whisper"]
    for name in names:
        folder = root / name
        model = transformers.AutoModelForSpeechSeq2Seq if name == "whisper" else transformers.AutoModelForSeq2SeqLM
        model = model.from_pretrained(folder, attn_implementation="eager").double().eval()
        source, ids = [5, 17, 9, 33, 1], [model.config.decoder_start_token_id, 11, 7, 22]
        given = ["--source", f"ids:{joined(source)}"]
        if name == "whisper":
            source, ids, given = np.load(folder / "mel_0.npy"), [1, 5, 9], ["--source", f'file:{folder / "mel_0.npy"}']
        n, worst = check_run(folder, model, source, given, ids, 13)
        print(f"{name:12} {n:3} tensors  {worst[0]:.3f} of the bound: {worst[1]}")
        assert worst[0] <= 1
        if name == "whisper":
            continue
        worst = check_attribute(folder, model, source, given, ids)
        print(f"{name:12} attributions {worst[0]:.3f} of the bound: {worst[1]}")
        assert worst[0] <= 1


if __name__ == "__main__":
    main()
