"""bert.py - a BERT of GPT-2's sizes under GPT-2's names: what differs is where norms stand, the
activation, and that every token sees all others."""
import json
import os

import numpy

import gpt2

N_VOCAB = 30522
EPS = 1e-12


def is_in(folder):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        return json.load(file)["model_type"] == "bert"


def load(folder):
    """The tensors by GPT-2's names; ln_f is the norm of the embedding, ln_1 and ln_2 stand after
    the sums. Products read [in, out]."""
    tensors = {name.removeprefix("bert."): values for name, values in gpt2.load(folder).items()}
    found = {"wte.weight": tensors["embeddings.word_embeddings.weight"],
             "wpe.weight": tensors["embeddings.position_embeddings.weight"]
             + tensors["embeddings.token_type_embeddings.weight"][0]}

    def add(name, *parts):
        weights = [tensors[part + ".weight"] for part in parts]
        found[name + ".weight"] = (weights[0] if weights[0].ndim == 1
                                   else numpy.concatenate(weights).T)
        found[name + ".bias"] = numpy.concatenate([tensors[part + ".bias"] for part in parts])

    add("ln_f", "embeddings.LayerNorm")
    for layer in range(gpt2.N_LAYER):
        h, theirs = f"h.{layer}.", f"encoder.layer.{layer}."
        add(h + "attn.c_attn", *(f"{theirs}attention.self.{part}"
                                 for part in ("query", "key", "value")))
        add(h + "attn.c_proj", theirs + "attention.output.dense")
        add(h + "ln_1", theirs + "attention.output.LayerNorm")
        add(h + "mlp.c_fc", theirs + "intermediate.dense")
        add(h + "mlp.c_proj", theirs + "output.dense")
        add(h + "ln_2", theirs + "output.LayerNorm")
    return found
